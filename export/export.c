/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of exports: made whole or not at all, then never changed.
 */
#include "export.h"
#include "log.h"
#include "root.h"
#include "say.h"
#include "store.h"
#include "walk.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_TEXT_MAX 1024 /* MNTPATHLEN, RFC 1813 5.1.2: no client can ask for more */
#define LOOPBACK "127.0.0.0/8,::1"

/* Messages, a line each, as far as there is room. */
struct errs {
	char *buf;
	size_t len, used;
	unsigned count;
};

static void
add_err(struct errs *e, const char *line)
{
	int n;

	e->count++;
	if (e->len <= e->used)
		return;
	n = snprintf(e->buf + e->used, e->len - e->used, "%s%s", e->used ? "\n" : "", line);
	e->used += (size_t)n < e->len - e->used ? (size_t)n : e->len - e->used;
}

static void __attribute__((format(printf, 2, 3))) add_errf(struct errs *e, const char *fmt, ...)
{
	char line[PATH_MAX + 512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	add_err(e, line);
}

static void
export_free(struct export *ex)
{
	root_close(ex);
	for (size_t i = 0; i < ex->nclients; i++)
		free(ex->clients[i].text);
	free(ex->clients);
	walk_free(ex->walk);
	free(ex->path);
	free(ex);
}

struct export *
export_ref(struct export *ex)
{
	__atomic_fetch_add(&ex->refs, 1, __ATOMIC_RELAXED);
	return ex;
}

void
export_put(struct export *ex)
{
	if (ex && __atomic_sub_fetch(&ex->refs, 1, __ATOMIC_ACQ_REL) == 0)
		export_free(ex);
}

struct export_table *
export_table_ref(struct export_table *t)
{
	__atomic_fetch_add(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void
export_table_put(struct export_table *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (size_t i = 0; i < t->n; i++)
		export_put(t->v[i]);
	free(t->v);
	free(t);
}

/* Is path below dir, or dir itself? */
static bool
is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* The options of a spec. An unprivileged server has one identity, and all that is squashed becomes
 * it. */
static bool
spec_opts(const struct export_env *env, const struct export_spec *sp, struct export_opts *o,
	  struct errs *e)
{
	char err[512];

	export_opts_default(o);
	if (sp->options && export_parse_opts(sp->options, o, err, sizeof err)) {
		add_errf(e, "%s: %s", sp->path, err);
		return false;
	}
	if (!env->unprivileged)
		return true;
	if (o->anon_given && (o->anonuid != geteuid() || o->anongid != getegid())) {
		add_errf(e,
			 "%s: anonuid=/anongid=: this server is not root and can act only as user "
			 "%u, group %u; "
			 "leave them out, or run it as root",
			 sp->path, geteuid(), getegid());
		return false;
	}
	o->anonuid = geteuid();
	o->anongid = getegid();
	if (o->squash == SQUASH_NONE) {
		log_warn("%s: no_root_squash: this server is not root; root of the clients acts as "
			 "user %u",
			 sp->path, geteuid());
		o->squash = SQUASH_ROOT;
	}
	return true;
}

static bool
spec_clients(const struct export_spec *sp, struct export *ex, const struct export_opts *o,
	     struct errs *e)
{
	char err[512], *copy = strdup(sp->clients ? sp->clients : LOOPBACK), *save = NULL;
	struct export_client *v;
	bool good = copy != NULL;

	for (char *c = good ? strtok_r(copy, ", \t", &save) : NULL; c;
	     c = strtok_r(NULL, ", \t", &save)) {
		v = reallocarray(ex->clients, ex->nclients + 1, sizeof *v);
		if (!v) {
			good = false;
			break;
		}
		ex->clients = v;
		v[ex->nclients] = (struct export_client){.opts = *o};
		if (export_parse_client(c, &v[ex->nclients], err, sizeof err)) {
			add_errf(e, "%s: %s", sp->path, err);
			good = false;
		} else {
			ex->nclients++;
		}
	}
	if (good && ex->nclients == 0) {
		add_errf(e, "%s: the list of clients is empty; * means everyone", sp->path);
		good = false;
	}
	free(copy);
	return good;
}

static const char *
why_no_path(int code)
{
	switch (code) {
	case ENOENT:
		return "does not exist; make it, or correct the path";
	case EACCES:
		return "this server may not reach it; give it search permission on the way, or run "
		       "it as root";
	default:
		return strerror(code);
	}
}

static bool
spec_path(const struct export_env *env, const struct export_spec *sp, struct export *ex,
	  struct errs *e)
{
	const char *state = env->store ? store_dir(env->store) : NULL;

	ex->path = *sp->path ? realpath(sp->path, NULL) : NULL;
	if (!ex->path) {
		add_errf(e, "%s: %s", sp->path,
			 *sp->path ? why_no_path(errno) : "the path is empty");
		return false;
	}
	if (strlen(ex->path) > PATH_TEXT_MAX) {
		add_errf(e,
			 "%s: the path is longer than the %d bytes that a client can ask for; "
			 "export a shorter path to it "
			 "(a bind mount)",
			 ex->path, PATH_TEXT_MAX);
		return false;
	}
	if (state && is_below(ex->path, state)) {
		add_errf(e,
			 "%s: lies in the state directory %s, which holds the secret key; it "
			 "cannot be exported",
			 ex->path, state);
		return false;
	}
	if (state && is_below(state, ex->path))
		log_warn("%s: the state directory %s lies in this export; choose another one with "
			 "-s. Its files are readable "
			 "by user %u only%s",
			 ex->path, state, geteuid(),
			 ex->clients[0].opts.squash == SQUASH_NONE
			     ? ", but no_root_squash lets clients be that user"
			     : "");
	return true;
}

/* One export, or NULL with its errors added. */
static struct export *
make_one(const struct export_env *env, const struct export_spec *sp, struct errs *e)
{
	struct export *ex = calloc(1, sizeof *ex);
	struct export_opts o;
	char err[PATH_MAX + 512];
	bool good;

	if (!ex || !(ex->walk = walk_new())) {
		free(ex);
		add_errf(e, "%s: no memory", sp->path);
		return NULL;
	}
	ex->fs.root = ex->fs.handles = -1;
	ex->refs = 1;
	good = spec_opts(env, sp, &o, e);
	good = good && spec_clients(sp, ex, &o, e);
	good = good && spec_path(env, sp, ex, e);
	if (good && root_open(env, ex, &o, o.rw, err, sizeof err)) {
		add_err(e, err);
		good = false;
	}
	if (good)
		return ex;
	export_free(ex);
	return NULL;
}

/* Everything that can be wrong between two exports. Handles of one must never be taken for handles
 * of the other. */
static void
check_pair(const struct export *a, const struct export *b, struct errs *e)
{
	bool same_fs = a->fs.root_dev == b->fs.root_dev;

	if (strcmp(a->path, b->path) == 0)
		add_errf(e, "%s: is exported twice; give it once, with all its clients", a->path);
	else if (a->fs.id == b->fs.id && !same_fs)
		add_errf(e,
			 "%s and %s: two file systems with one identity (a cloned image has its "
			 "original's UUID, or fsid= is "
			 "the same); give each its own fsid=NUMBER, or the clone a new UUID",
			 a->path, b->path);
	else if (a->id == b->id && same_fs && a->fs.root_ino == b->fs.root_ino)
		add_errf(e,
			 "%s and %s: are the same directory; export one of them, or give each its "
			 "own fsid=NUMBER",
			 a->path, b->path);
	else if (a->id == b->id || a->ns == b->ns)
		add_errf(e,
			 "%s and %s: have the same fsid=, or ids that are equal by chance; give "
			 "each its own fsid=NUMBER",
			 a->path, b->path);
}

static int
by_path(const void *a, const void *b)
{
	return strcmp((*(struct export *const *)a)->path, (*(struct export *const *)b)->path);
}

static void
warn_rw(const struct export_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i]->clients[0].opts.rw) {
			log_warn("%s: rw: this version serves read-only; writing will answer "
				 "\"read-only file system\"",
				 t->v[i]->path);
			return;
		}
}

struct export_table *
export_table_make(const struct export_env *env, const struct export_spec *specs, size_t n,
		  char *err, size_t errlen)
{
	struct errs e = {.buf = err, .len = errlen};
	struct export_table *t = calloc(1, sizeof *t);

	if (errlen)
		*err = '\0';
	if (t)
		t->v = calloc(n ? n : 1, sizeof *t->v);
	if (!t || !t->v) {
		free(t);
		add_err(&e, "no memory for the exports");
		return NULL;
	}
	t->refs = 1;
	for (size_t i = 0; i < n; i++) {
		struct export *ex = make_one(env, &specs[i], &e);

		if (ex)
			t->v[t->n++] = ex;
	}
	for (size_t i = 0; i < t->n; i++)
		for (size_t j = i + 1; j < t->n; j++)
			check_pair(t->v[i], t->v[j], &e);
	if (e.count) {
		export_table_put(t);
		return NULL;
	}
	qsort(t->v, t->n, sizeof *t->v, by_path);
	warn_rw(t);
	return t;
}

struct export *
export_by_id(const struct export_table *t, uint32_t id)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i]->id == id || (t->v[i]->id_old && t->v[i]->id_old == id))
			return t->v[i];
	return NULL;
}

/* What follows dir in path, compared component by component; NULL when path is not beneath dir. */
static const char *
strip_dir(const char *path, const char *dir)
{
	for (;;) {
		path += strspn(path, "/");
		dir += strspn(dir, "/");
		if (!*dir)
			return path;
		size_t n = strcspn(dir, "/");

		if (strncmp(path, dir, n) != 0 || (path[n] != '/' && path[n] != '\0'))
			return NULL;
		path += n;
		dir += n;
	}
}

static bool
has_dotdot(const char *path)
{
	for (const char *p = path; *p; p += strcspn(p, "/")) {
		p += strspn(p, "/");
		if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
			return true;
	}
	return false;
}

struct export *
export_by_path(const struct export_table *t, const char *path, const char **rest)
{
	struct export *best = NULL;

	if (*path != '/' || has_dotdot(path))
		return NULL;
	for (size_t i = 0; i < t->n; i++) {
		const char *r = strip_dir(path, t->v[i]->path);

		if (r && (!best || strlen(t->v[i]->path) > strlen(best->path))) {
			best = t->v[i];
			*rest = r;
		}
	}
	return best;
}
