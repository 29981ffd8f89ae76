/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of exports: made whole or not at all. What is the same as before is the same object, so
 * that descriptors, remembered walks and mounts of our own live on; the rest is opened anew.
 * Handles of one export must never be taken for handles of another: that is checked here, over all.
 */
#include "table.h"
#include "cross.h"
#include "index.h"
#include "log.h"
#include "paths.h"
#include "root.h"
#include "store.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 1000 /* for all mounts that do not answer, once in a table's making */

static const struct spot nowhere;

struct making {
	const struct export_env *env;
	const struct plan *plan;
	const struct export_table *old;
	struct export_table *t;
	struct diag *d;
	size_t *at;   /* of each in the plan, its place in t->v; SIZE_MAX: it is not there */
	int patience; /* what is left of it, milliseconds */
};

/* A mount that has not answered, and whoever waits for it. */
struct pending {
	char *path;
	uint64_t mount;
	const struct export *from;
	struct opening *o;
};

void
table_forget_pending(struct export_table *t)
{
	for (size_t i = 0; i < t->npending; i++) {
		opening_put(t->pending[i].o);
		free(t->pending[i].path);
	}
	free(t->pending);
}

static bool
in_state(const struct making *m, const char *path)
{
	const char *state = m->env->store ? store_dir(m->env->store) : NULL;

	return state && path_is_below(path, state);
}

/* The state directory holds the secret key. */
static void
check_state(const struct making *m, const struct plan_export *x)
{
	const char *state = m->env->store ? store_dir(m->env->store) : NULL;
	char text[2 * PATH_MAX + 256];

	if (in_state(m, x->where)) {
		snprintf(text, sizeof text,
			 "lies in the state directory %s, which holds the secret key; it cannot be "
			 "exported",
			 state);
		plan_say(m->d, DIAG_ERROR, m->plan->sources, x->rules->at, x->path, text);
	} else if (state && path_is_below(state, x->where)) {
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

	return statx(AT_FDCWD, ex->where, 0, STATX_TYPE | STATX_INO | 0x1000u /* STATX_MNT_ID */,
		     &x) == 0 &&
	       x.stx_ino == ex->fs.root_ino &&
	       makedev(x.stx_dev_major, x.stx_dev_minor) == ex->fs.root_dev &&
	       x.stx_mnt_id == ex->fs.mnt_id;
}

/* The former table's export of this path, rw as now, or NULL. */
static struct export *
former_at(const struct making *m, const struct plan_export *x)
{
	struct export **at = NULL;

	if (m->old)
		at = bsearch(x->path, m->old->v, m->old->n, sizeof *m->old->v, by_path);
	return at && (*at)->rw == x->rw ? *at : NULL;
}

/* The export of the former table that is the same, or NULL. */
static struct export *
former(const struct making *m, const struct plan_export *x)
{
	struct export *ex = former_at(m, x);

	if (!ex || ex->opts.fsid_kind != x->opts.fsid_kind ||
	    memcmp(ex->opts.fsid, x->opts.fsid, sizeof ex->opts.fsid) != 0 || !same_site(ex))
		return NULL;
	return export_ref(ex);
}

bool
table_add_absent(struct export_table *t, const struct absent *what, const char *path,
		 const char *why)
{
	struct absent *a = &t->absent[t->nabsent];

	*a = *what;
	a->path = strdup(path);
	a->why = strdup(why);
	if (!a->path || !a->why) {
		free(a->path);
		free(a->why);
		return false;
	}
	rules_ref(a->rules);
	t->nabsent++;
	return true;
}

static bool
add_absent(const struct making *m, size_t i, const char *why)
{
	const struct plan_export *x = &m->plan->v[i];
	const struct absent a = {.missing = x->missing, .crossed = x->crossed, .rules = x->rules};

	return table_add_absent(m->t, &a, x->path, why);
}

/* Takes the export over. */
static void
add_export(const struct making *m, size_t i, struct export *ex)
{
	const struct plan_export *x = &m->plan->v[i];
	struct export_table *t = m->t;

	m->at[i] = t->n;
	t->v[t->n] = ex;
	t->crossed[t->n] = x->crossed;
	t->rules[t->n++] = rules_ref(x->rules);
}

/* ---- what is mounted in another export ---- */

static struct export *
export_around(const struct making *m, const struct plan_export *x)
{
	size_t at = x->above == SIZE_MAX ? SIZE_MAX : m->at[x->above];

	return at == SIZE_MAX ? NULL : m->t->v[at];
}

/* No file system is asked: the mount is the same one. */
static struct export *
former_mounted(const struct making *m, const struct plan_export *x)
{
	struct export *ex = former_at(m, x);

	return ex && ex->mount == x->mount ? export_ref(ex) : NULL;
}

static struct crossing *
former_crossing(const struct making *m, const struct plan_export *x, const struct export *from)
{
	for (size_t i = 0; m->old && i < m->old->ncross; i++) {
		struct crossing *c = m->old->cross[i].c;

		if (c->mount == x->mount && c->from == from && strcmp(c->path, x->path) == 0)
			return crossing_ref(c);
	}
	return NULL;
}

static struct opening *
former_opening(const struct making *m, const struct plan_export *x, const struct export *from)
{
	for (size_t i = 0; m->old && i < m->old->npending; i++) {
		const struct pending *p = &m->old->pending[i];

		if (p->mount == x->mount && p->from == from && strcmp(p->path, x->path) == 0)
			return opening_ref(p->o);
	}
	return NULL;
}

static bool
add_pending(const struct making *m, const struct plan_export *x, const struct export *from,
	    struct opening *o)
{
	struct export_table *t = m->t;
	struct pending *v = reallocarray(t->pending, t->npending + 1, sizeof *v);

	if (v) {
		t->pending = v;
		v += t->npending;
		v->path = strdup(x->path);
	}
	if (!v || !v->path) {
		opening_put(o);
		return false;
	}
	t->npending++;
	v->mount = x->mount;
	v->from = from;
	v->o = o;
	return true;
}

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Opens the way to a mount, and the mount itself where that has no line, or goes on with it. What
 * came of it is in *o. */
static bool
open_mounted(struct making *m, const struct plan_export *x, struct export *from, struct opened *o)
{
	struct opening *op = former_opening(m, x, from);
	uint64_t began = now_ms();
	bool again = op, done;

	*o = (struct opened){.code = ENOMEM, .err = "no memory"};
	if (!op)
		op = opening_start(m->env, x, from, x->local && from->fs.local);
	if (!op)
		return true;
	done = opening_wait(op, again ? 0 : m->patience, o);
	if (done && again && o->code == EAGAIN) { /* a table that was not to be had it */
		opening_put(op);
		op = opening_start(m->env, x, from, x->local && from->fs.local);
		done = op && opening_wait(op, m->patience, o);
	}
	if (!op)
		return true;
	m->patience -= (int)(now_ms() - began);
	if (m->patience < 0)
		m->patience = 0;
	if (done) {
		opening_put(op);
		return true;
	}
	*o = (struct opened){.code = ETIMEDOUT, .err = "its file system does not answer"};
	return add_pending(m, x, from, op);
}

static void
add_cross(const struct making *m, struct crossing *c, size_t place)
{
	if (c)
		m->t->cross[m->t->ncross++] = (struct cross){c, place};
}

/* What has no line: export and way. A file that is mounted on a file is nothing to be said. */
static bool
add_crossed(struct making *m, size_t i)
{
	const struct plan_export *x = &m->plan->v[i];
	struct export *from = export_around(m, x), *ex;
	struct crossing *c;
	struct opened o = {0};
	bool good = true;

	if (!from)
		return true;
	ex = former_mounted(m, x);
	c = former_crossing(m, x, from);
	if (!ex || !c) {
		good = open_mounted(m, x, from, &o);
		export_put(ex);
		crossing_put(c);
		ex = o.ex;
		c = o.c;
	}
	if (ex && c) {
		add_cross(m, c, m->t->n);
		add_export(m, i, ex);
		return good;
	}
	export_put(ex);
	crossing_put(c);
	return good && (o.code == ENOTDIR || add_absent(m, i, o.err));
}

/* What has a line: the way only. */
static bool
add_way(struct making *m, size_t i)
{
	const struct plan_export *x = &m->plan->v[i];
	struct export *from = export_around(m, x);
	struct crossing *c;
	struct opened o = {0};
	bool good = true;

	if (!from)
		return true;
	c = former_crossing(m, x, from);
	if (!c)
		good = open_mounted(m, x, from, &o);
	add_cross(m, c ? c : o.c, m->at[i]);
	return good;
}

/* ---- each in the plan ---- */

static bool
add(struct making *m, size_t i)
{
	const struct plan_export *x = &m->plan->v[i];
	char err[PATH_MAX + 512];
	struct export *ex;
	int code;

	m->at[i] = SIZE_MAX;
	if (x->absent)
		return add_absent(m, i, x->absent);
	if (x->crossed && in_state(m, x->where))
		return add_absent(m, i, "it holds the secret key of this server");
	if (x->crossed)
		return add_crossed(m, i);
	check_state(m, x);
	ex = former(m, x);
	if (!ex)
		ex = export_open(m->env, x->path, x->where, &x->opts, x->rw, 0, &code, err,
				 sizeof err);
	if (!ex) {
		struct origin p = x->rules->at;
		const char *file = p.src ? m->plan->sources->v[p.src] : NULL;

		diag_add(m->d, p.src ? DIAG_WARN : DIAG_ERROR, file, (struct spot){p.line, p.col},
			 "%s", err); /* which begins with the path */
		return add_absent(m, i, err);
	}
	add_export(m, i, ex);
	return add_way(m, i);
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
	t->crossed = calloc(p->n + 1, sizeof *t->crossed);
	t->cross = calloc(p->n + 1, sizeof *t->cross);
	t->sources = p->sources ? sources_ref(p->sources) : NULL;
	t->rootdir = p->rootdir ? strdup(p->rootdir) : NULL;
	if (t->v && t->rules && t->absent && t->crossed && t->cross && !t->rootdir == !p->rootdir)
		return t;
	export_table_put(t);
	return NULL;
}

struct export_table *
table_make(const struct export_env *env, const struct plan *p, const struct export_table *old,
	   struct diag *d)
{
	size_t *at = calloc(p->n + 1, sizeof *at);
	struct making m = {env, p, old, table_new(p), d, at, PATIENCE_MS};
	unsigned errors = d->errors;
	bool good = m.t && at;

	for (size_t i = 0; good && i < p->n; i++)
		good = add(&m, i);
	good = good && table_drop_twins(m.t);
	if (good) /* all places are final */
		cross_sort(m.t);
	good = good && check_all(&m) && index_make(m.t) == 0;
	free(at);
	if (!good)
		diag_add(d, DIAG_ERROR, NULL, nowhere, "no memory for the exports");
	if (d->errors == errors)
		return m.t;
	export_table_put(m.t);
	return NULL;
}

bool
table_lacks(void *table, const struct export *ex)
{
	const struct export_table *t = table;

	return export_index(t, ex) == t->n;
}
