/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of exports: made whole or not at all. What is the same as before is the same object, so
 * that descriptors, remembered walks and mounts of our own live on; the rest is opened anew.
 * Handles of one export must never be taken for handles of another: that is checked here, over all.
 */
#include "table.h"
#include "index.h"
#include "log.h"
#include "root.h"
#include "store.h"
#include "walk.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const struct spot nowhere;

struct making {
	const struct export_env *env;
	const struct plan *plan;
	const struct export_table *old;
	struct export_table *t;
	struct diag *d;
};

/* Is path below dir, or dir itself? */
static bool
is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* The state directory holds the secret key. */
static void
check_state(const struct making *m, const struct plan_export *x)
{
	const char *state = m->env->store ? store_dir(m->env->store) : NULL;
	char text[2 * PATH_MAX + 256];

	if (state && is_below(x->path, state)) {
		snprintf(text, sizeof text,
			 "lies in the state directory %s, which holds the secret key; it cannot be "
			 "exported",
			 state);
		plan_say(m->d, DIAG_ERROR, m->plan->sources, x->rules->at, x->path, text);
	} else if (state && is_below(state, x->path)) {
		bool root = x->rules->n && x->rules->v[0].opts.squash == SQUASH_NONE;

		snprintf(text, sizeof text,
			 "the state directory %s lies in this export; choose another one with -s. "
			 "Its files are readable by user %u only%s",
			 state, geteuid(),
			 root ? ", but no_root_squash lets clients be that user" : "");
		plan_say(m->d, DIAG_WARN, m->plan->sources, x->rules->at, x->path, text);
	}
}

/* ---- what is taken over ---- */

static int
by_path(const void *key, const void *v)
{
	return strcmp(key, (*(struct export *const *)v)->path);
}

static bool
same_site(const struct export *ex)
{
	struct statx x;

	return statx(AT_FDCWD, ex->path, 0, STATX_TYPE | STATX_INO | 0x1000u /* STATX_MNT_ID */,
		     &x) == 0 &&
	       x.stx_ino == ex->fs.root_ino &&
	       makedev(x.stx_dev_major, x.stx_dev_minor) == ex->fs.root_dev &&
	       x.stx_mnt_id == ex->fs.mnt_id;
}

/* The export of the former table that is the same, or NULL. */
static struct export *
former(const struct making *m, const struct plan_export *x)
{
	struct export **at = NULL, *ex;

	if (m->old)
		at = bsearch(x->path, m->old->v, m->old->n, sizeof *m->old->v, by_path);
	if (!at)
		return NULL;
	ex = *at;
	if (ex->rw != x->rw || ex->opts.fsid_kind != x->opts.fsid_kind ||
	    memcmp(ex->opts.fsid, x->opts.fsid, sizeof ex->opts.fsid) != 0 || !same_site(ex))
		return NULL;
	return export_ref(ex);
}

static struct export *
open_new(const struct making *m, const struct plan_export *x, char *err, size_t errlen)
{
	struct export *ex = calloc(1, sizeof *ex);

	snprintf(err, errlen, "%s: no memory", x->path);
	if (!ex)
		return NULL;
	ex->fs.root = ex->fs.handles = -1;
	ex->refs = 1;
	ex->opts = x->opts;
	ex->rw = x->rw;
	ex->path = strdup(x->path);
	ex->walk = walk_new();
	if (ex->path && ex->walk && root_open(m->env, ex, &x->opts, x->rw, err, errlen) == 0)
		return ex;
	export_put(ex);
	return NULL;
}

static bool
add_absent(struct export_table *t, const struct plan_export *x, const char *why)
{
	struct absent *a = &t->absent[t->nabsent];

	a->path = strdup(x->path);
	a->why = strdup(why);
	if (!a->path || !a->why) {
		free(a->path);
		free(a->why);
		return false;
	}
	a->missing = x->missing;
	a->rules = rules_ref(x->rules);
	t->nabsent++;
	return true;
}

/* *at: its place in the table, or SIZE_MAX. */
static bool
add(const struct making *m, const struct plan_export *x, size_t *at)
{
	struct export_table *t = m->t;
	char err[PATH_MAX + 512];
	struct export *ex;

	*at = SIZE_MAX;
	if (x->absent)
		return add_absent(t, x, x->absent);
	check_state(m, x);
	ex = former(m, x);
	if (!ex)
		ex = open_new(m, x, err, sizeof err);
	if (!ex) {
		struct origin p = x->rules->at;
		const char *file = p.src ? m->plan->sources->v[p.src] : NULL;

		diag_add(m->d, p.src ? DIAG_WARN : DIAG_ERROR, file, (struct spot){p.line, p.col},
			 "%s", err); /* which begins with the path */
		return add_absent(t, x, err);
	}
	*at = t->n;
	t->v[t->n] = ex;
	t->rules[t->n++] = rules_ref(x->rules);
	return true;
}

/* ---- what can be wrong between two exports ---- */

static void
clash(const struct making *m, const struct export *a, const struct export *b, const char *why)
{
	diag_add(m->d, DIAG_ERROR, NULL, nowhere, "%s and %s: %s", a->path, b->path, why);
}

static int
by_fs(const void *a, const void *b)
{
	const struct export *x = *(struct export *const *)a, *y = *(struct export *const *)b;
	uint64_t dx = x->fs.root_dev, dy = y->fs.root_dev;

	if (x->fs.id != y->fs.id)
		return x->fs.id < y->fs.id ? -1 : 1;
	return dx < dy ? -1 : dx > dy;
}

static int
by_id(const void *a, const void *b)
{
	const struct export *x = *(struct export *const *)a, *y = *(struct export *const *)b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int
by_ns(const void *a, const void *b)
{
	const struct export *x = *(struct export *const *)a, *y = *(struct export *const *)b;

	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static bool
other_fs(const struct making *m, const struct export *a, const struct export *b)
{
	if (a->fs.id != b->fs.id || a->fs.root_dev == b->fs.root_dev)
		return false;
	clash(
	    m, a, b,
	    "two file systems with one identity (a cloned image has its original's UUID, or fsid= "
	    "is the same); give each its own fsid=NUMBER, or the clone a new UUID");
	return true;
}

static void
same_ids(const struct making *m, const struct export *a, const struct export *b)
{
	bool same_fs = a->fs.root_dev == b->fs.root_dev;

	if (a->fs.id == b->fs.id && !same_fs)
		return; /* said already */
	if (a->id == b->id && same_fs && a->fs.root_ino == b->fs.root_ino)
		clash(m, a, b,
		      "are the same directory; export one of them, or give each its own "
		      "fsid=NUMBER");
	else if (a->id == b->id || a->ns == b->ns)
		clash(m, a, b,
		      "have the same fsid=, or ids that are equal by chance; give each its own "
		      "fsid=NUMBER");
}

static bool
check_all(const struct making *m)
{
	size_t n = m->t->n;
	struct export **v = calloc(n + 1, sizeof *v);

	if (!v)
		return false;
	memcpy(v, m->t->v, n * sizeof *v);
	qsort(v, n, sizeof *v, by_fs);
	for (size_t i = 1; i < n; i++)
		other_fs(m, v[i - 1], v[i]);
	qsort(v, n, sizeof *v, by_id);
	for (size_t i = 1; i < n; i++)
		if (v[i - 1]->id == v[i]->id)
			same_ids(m, v[i - 1], v[i]);
	qsort(v, n, sizeof *v, by_ns);
	for (size_t i = 1; i < n; i++)
		if (v[i - 1]->ns == v[i]->ns && v[i - 1]->id != v[i]->id)
			same_ids(m, v[i - 1], v[i]);
	free(v);
	return true;
}

/* ---- the whole ---- */

/* Those that are there now, at their places in the table. */
static bool
add_indexes(struct export_table *t, const struct plan *p, const size_t *at)
{
	struct path_key *keys = calloc(p->naliases + 1, sizeof *keys);
	size_t n = 0, nabsent = t->n;
	bool good = keys != NULL;

	for (size_t i = 0, j = 0; good && i < p->naliases; i++) {
		const struct plan_alias *a = &p->aliases[i];

		for (; j < a->at; j++)
			nabsent += at[j] == SIZE_MAX;
		keys[n].path = strdup(a->path);
		keys[n].at = at[a->at] == SIZE_MAX ? nabsent : at[a->at];
		good = keys[n].path;
		n += good;
	}
	if (keys && index_make(t, keys, n))
		good = false;
	free(keys);
	return good;
}

static struct export_table *
table_new(const struct plan *p)
{
	struct export_table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->refs = 1;
	t->v = calloc(p->n + 1, sizeof *t->v);
	t->rules = calloc(p->n + 1, sizeof *t->rules);
	t->absent = calloc(p->n + 1, sizeof *t->absent);
	t->sources = p->sources ? sources_ref(p->sources) : NULL;
	if (t->v && t->rules && t->absent)
		return t;
	export_table_put(t);
	return NULL;
}

struct export_table *
table_make(const struct export_env *env, const struct plan *p, const struct export_table *old,
	   struct diag *d)
{
	struct making m = {env, p, old, table_new(p), d};
	size_t *at = calloc(p->n + 1, sizeof *at);
	unsigned errors = d->errors;
	bool good = m.t && at;

	for (size_t i = 0; good && i < p->n; i++)
		good = add(&m, &p->v[i], &at[i]);
	good = good && check_all(&m) && add_indexes(m.t, p, at);
	free(at);
	if (!good)
		diag_add(d, DIAG_ERROR, NULL, nowhere, "no memory for the exports");
	if (d->errors == errors) {
		return m.t;
	}
	export_table_put(m.t);
	return NULL;
}

void
table_gone(const struct export_table *old, const struct export_table *t,
	   void (*fn)(void *, const struct export *), void *arg)
{
	for (size_t i = 0; i < old->n; i++)
		if (export_index(t, old->v[i]) == t->n)
			fn(arg, old->v[i]);
}
