/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan.h"
#include "log.h"
#include "rootdir.h"
#include "say.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PATH_TEXT_MAX 1024 /* MNTPATHLEN, RFC 1813 5.1.2: no client can ask for more */

struct rules *
rules_ref(struct rules *r)
{
	__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
	return r;
}

void
rules_put(struct rules *r)
{
	if (!r || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].text);
	for (size_t i = 0; i < r->nwritten; i++)
		free(r->written[i]);
	free(r->written);
	free(r->v);
	free(r);
}

void
plan_free(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].path);
		free(p->v[i].where);
		free(p->v[i].absent);
		free(p->v[i].type);
		rules_put(p->v[i].rules);
	}
	free(p->v);
	sources_put(p->sources);
	*p = (struct plan){0};
}

void
plan_say(struct diag *d, enum diag_level level, const struct sources *s, struct origin at,
	 const char *path, const char *message)
{
	if (at.src && at.src < s->n)
		diag_add(d, level, s->v[at.src], (struct spot){at.line, at.col}, "%s: %s", path,
			 message);
	else
		diag_add(d, level, NULL, (struct spot){0, 0}, "%s: %s", path, message);
}

/* ---- one entry: its path ---- */

struct item {
	const struct entry *e;
	char *real;  /* canonical path, or the written one */
	char *where; /* on this machine */
	char *why;   /* it is not there */
	bool missing;
	size_t order;
};

static bool
is_fuse(const char *path)
{
	struct statfs f;

	return path && statfs(path, &f) == 0 && f.f_type == FUSE_SUPER_MAGIC;
}

static const char *
why_no_path(const char *real, int code)
{
	switch (code) {
	case ENOENT:
		return "does not exist; make it, or correct the path";
	case EACCES:
		if (is_fuse(real))
			return "a FUSE file system that only the user who mounted it may look "
			       "into, not even "
			       "root; mount it with -o allow_other, or run this server as that "
			       "user";
		return "this server may not reach it; give it search permission on the way, or run "
		       "it as root";
	default:
		return strerror(code);
	}
}

static bool
is_mount_point(const char *path)
{
	struct statx x;

	return statx(AT_FDCWD, path, 0, STATX_TYPE, &x) == 0 &&
	       x.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Is something mounted where option mountpoint asks for it? */
static bool
is_mounted(const struct entry *e, const char *rootdir, const char *where)
{
	char *mp = e->mountpoint ? rootdir_real(rootdir, e->mountpoint) : NULL;
	bool yes = e->mountpoint ? mp && is_mount_point(mp) : is_mount_point(where);

	free(mp);
	return yes;
}

/* NULL, or why this path cannot be served now. */
static const char *
trouble(const struct entry *e, const char *rootdir, const char *real)
{
	struct statx x;

	if (!*e->path)
		return "the path is empty";
	if (!real || statx(AT_FDCWD, real, 0, STATX_TYPE, &x) < 0)
		return why_no_path(real, errno);
	if (!S_ISDIR(x.stx_mode))
		return "is not a directory; only directories are exported";
	if (e->client.opts.mountpoint && !is_mounted(e, rootdir, real))
		return e->mountpoint
			   ? "nothing is mounted at the path of mountpoint="
			   : "nothing is mounted there, and option mountpoint asks for it";
	return NULL;
}

/* A path that cannot be resolved, tidied: no double or trailing slashes. */
static char *
tidy(const char *path)
{
	char *copy = strdup(path), *out = copy;

	for (const char *p = path; copy && *p; p++)
		if (*p != '/' || (p[1] && p[1] != '/'))
			*out++ = *p;
	if (copy && out == copy && *path == '/')
		*out++ = '/';
	if (copy)
		*out = '\0';
	return copy;
}

static bool
item_fill(struct item *it, const struct entry *e, const char *rootdir, size_t order)
{
	char *where = *e->path ? rootdir_real(rootdir, e->path) : NULL;
	const char *why = trouble(e, rootdir, where);

	*it = (struct item){.e = e, .order = order, .missing = !where};
	it->real = where ? strdup(rootdir_shown(rootdir, where)) : tidy(e->path);
	it->where = where || !it->real ? where : rootdir_where(rootdir, it->real);
	it->why = why ? strdup(why) : NULL;
	return it->real && it->where && (!why || it->why);
}

/* Entries of one line follow each other: what the path is was found out a moment ago. */
static bool
item_like(struct item *it, const struct item *before, const struct entry *e, const char *rootdir,
	  size_t order)
{
	const struct entry *b = before->e;

	if (strcmp(b->path, e->path) != 0 ||
	    b->client.opts.mountpoint != e->client.opts.mountpoint ||
	    !b->mountpoint != !e->mountpoint ||
	    (e->mountpoint && strcmp(b->mountpoint, e->mountpoint) != 0))
		return item_fill(it, e, rootdir, order);
	*it = (struct item){.e = e,
			    .order = order,
			    .real = strdup(before->real),
			    .where = strdup(before->where),
			    .missing = before->missing};
	if (before->why)
		it->why = strdup(before->why);
	return it->real && it->where && (!before->why || it->why);
}

static int
item_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int c = strcmp(x->real, y->real);

	return c ? c : x->order < y->order ? -1 : x->order > y->order;
}

/* ---- one directory ---- */

struct making {
	struct plan *p;
	const struct sources *sources;
	bool unprivileged;
	struct diag *d;
};

static void complain(const struct making *m, enum diag_level level, const struct entry *e,
		     struct origin at, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void
complain(const struct making *m, enum diag_level level, const struct entry *e, struct origin at,
	 const char *fmt, ...)
{
	char text[PATH_MAX + 512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	plan_say(m->d, level, m->sources, at, e->path, text);
}

/* An unprivileged server has one identity, and all that is squashed becomes it. */
static void
unprivileged_opts(const struct making *m, const struct entry *e, struct export_opts *o)
{
	if (!m->unprivileged)
		return;
	if (o->anon_given && (o->anonuid != geteuid() || o->anongid != getegid()))
		complain(m, DIAG_ERROR, e, e->client.at,
			 "anonuid=/anongid=: this server is not root and can act only as user %u, "
			 "group %u; leave them out, or run it as root",
			 geteuid(), getegid());
	o->anonuid = geteuid();
	o->anongid = getegid();
	if (o->squash == SQUASH_NONE) {
		complain(
		    m, DIAG_WARN, e, e->client.at,
		    "no_root_squash: this server is not root; root of the clients acts as user "
		    "%u",
		    geteuid());
		o->squash = SQUASH_ROOT;
	}
}

static bool
same_client(const struct export_client *a, const struct export_client *b)
{
	if (a->kind != b->kind || a->named != b->named)
		return false;
	if (a->kind == CLIENT_EVERYONE)
		return true;
	if (a->kind == CLIENT_SUBNET || (a->kind == CLIENT_HOST && !a->named))
		return memcmp(&a->addr, &b->addr, sizeof a->addr) == 0 &&
		       memcmp(&a->mask, &b->mask, sizeof a->mask) == 0;
	return (a->kind == CLIENT_NETGROUP ? strcmp : strcasecmp)(a->text, b->text) == 0;
}

static int
client_order(const void *a, const void *b)
{
	const struct export_client *x = *(struct export_client *const *)a,
				   *y = *(struct export_client *const *)b;
	int c = (int)x->kind - (int)y->kind;

	if (!c)
		c = (int)x->named - (int)y->named;
	if (!c)
		c = memcmp(&x->addr, &y->addr, sizeof x->addr);
	if (!c)
		c = memcmp(&x->mask, &y->mask, sizeof x->mask);
	if (!c && (x->named || (x->kind != CLIENT_SUBNET && x->kind != CLIENT_EVERYONE)))
		c = strcasecmp(x->text, y->text);
	return c ? c : x < y ? -1 : x > y;
}

/* The same client twice: the first one counts, the other goes. */
static bool
drop_twins(const struct making *m, const struct entry *e, struct rules *r)
{
	struct export_client **by = calloc(r->n + 1, sizeof *by);
	char place[PATH_MAX + 32];
	size_t kept = 0;

	if (!by)
		return false;
	for (size_t i = 0; i < r->n; i++)
		by[i] = &r->v[i];
	qsort(by, r->n, sizeof *by, client_order);
	for (size_t i = 1, first = 0; i < r->n; i++) {
		if (!same_client(by[first], by[i])) {
			first = i;
			continue;
		}
		complain(m, DIAG_WARN, e, by[i]->at, "%s has a rule already (%s), which counts",
			 by[i]->text, place_text(m->sources, by[first]->at, place, sizeof place));
		by[i]->kind = CLIENT_GSS + 1;
	}
	free(by);
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].kind > CLIENT_GSS)
			free(r->v[i].text);
		else
			r->v[kept++] = r->v[i];
	r->n = kept;
	return true;
}

/* fsid= names the file system, so all entries of a directory that give it must agree. */
static void
join_opts(const struct making *m, struct plan_export *x, const struct entry *e)
{
	const struct export_opts *o = &e->client.opts;

	x->rw |= o->rw;
	x->opts.mountpoint |= o->mountpoint;
	if (!o->fsid_kind)
		return;
	if (x->opts.fsid_kind && (x->opts.fsid_kind != o->fsid_kind ||
				  memcmp(x->opts.fsid, o->fsid, sizeof o->fsid) != 0))
		complain(m, DIAG_ERROR, e, e->client.at,
			 "another fsid= than for the clients before; a directory has one");
	x->opts.fsid_kind = o->fsid_kind;
	memcpy(x->opts.fsid, o->fsid, sizeof o->fsid);
}

static bool
add_rule(const struct making *m, struct plan_export *x, const struct entry *e)
{
	struct export_client *c = &x->rules->v[x->rules->n];

	*c = e->client;
	c->text = strdup(e->client.text);
	if (!c->text)
		return false;
	x->rules->n++;
	unprivileged_opts(m, e, &c->opts);
	join_opts(m, x, e);
	return true;
}

static bool
add_written(struct rules *r, const char *path)
{
	char *copy = tidy(path), **v;

	for (size_t i = 0; copy && i < r->nwritten; i++)
		if (strcmp(r->written[i], copy) == 0) {
			free(copy);
			return true;
		}
	v = copy ? reallocarray(r->written, r->nwritten + 1, sizeof *v) : NULL;
	if (!v) {
		free(copy);
		return false;
	}
	r->written = v;
	v[r->nwritten++] = copy;
	return true;
}

/* What cannot be served now is an error of the command line, whose author is there to be told; in a
 * file it stands aside until it comes, and the others are served. */
static bool
judge_path(const struct making *m, struct plan_export *x, const struct item *it)
{
	const struct entry *e = it->e;

	if (strlen(x->path) > PATH_TEXT_MAX)
		complain(m, DIAG_ERROR, e, e->at,
			 "the path is longer than the %d bytes that a client can ask for; export a "
			 "shorter path to it (a bind mount)",
			 PATH_TEXT_MAX);
	if (!it->why || x->absent)
		return true;
	complain(m, e->at.src ? DIAG_WARN : DIAG_ERROR, e, e->at, "%s%s", it->why,
		 e->at.src ? " (not served until then)" : "");
	x->missing = it->missing;
	x->absent = strdup(it->why);
	return x->absent;
}

/* The items of one directory. */
static bool
add_export(const struct making *m, const struct item *v, size_t n)
{
	struct plan_export *x = &m->p->v[m->p->n++];

	x->path = strdup(v->real);
	x->where = strdup(v->where);
	x->rules = calloc(1, sizeof *x->rules);
	if (x->rules)
		x->rules->v = calloc(n, sizeof *x->rules->v);
	if (!x->path || !x->where || !x->rules || !x->rules->v)
		return false;
	x->above = SIZE_MAX;
	x->rules->refs = 1;
	x->rules->at = v->e->at;
	export_opts_default(&x->opts);
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = v[i].e;

		if (!judge_path(m, x, &v[i]) || !add_rule(m, x, e) ||
		    !add_written(x->rules, e->path))
			return false;
	}
	for (size_t i = 1; i < n; i++)
		if (!v[i].e->at.src && !v->e->at.src && v[i].e->at.line != v->e->at.line) {
			complain(m, DIAG_ERROR, v[i].e, v[i].e->at,
				 "is exported twice; give it once, with all its clients");
			return true;
		}
	if (!drop_twins(m, v->e, x->rules))
		return false;
	for (size_t i = 0; i < x->rules->n; i++)
		x->rules->kinds |= 1u << x->rules->v[i].kind;
	return true;
}

static bool
gather(const struct making *m, struct item *items, size_t n)
{
	m->p->v = calloc(n + 1, sizeof *m->p->v);
	if (!m->p->v)
		return false;
	qsort(items, n, sizeof *items, item_order);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && strcmp(items[j].real, items[i].real) == 0;)
			j++;
		if (j - i >= RULES_MAX || m->p->n >= EXPORTS_MAX)
			complain(m, DIAG_ERROR, items[i].e, items[i].e->at,
				 "more exports than %u, or more clients of one", EXPORTS_MAX - 1);
		else if (!add_export(m, items + i, j - i))
			return false;
	}
	return true;
}

bool
plan_make(struct plan *p, const struct entries *e, bool unprivileged, struct diag *d)
{
	struct item *items = calloc(e->n + 1, sizeof *items);
	struct making m = {p, e->sources, unprivileged, d};
	unsigned errors = d->errors;
	bool good = items != NULL;

	*p = (struct plan){.sources = e->sources ? sources_ref(e->sources) : NULL,
			   .rootdir = e->rootdir};
	for (size_t i = 0; good && i < e->n; i++)
		good = i ? item_like(&items[i], &items[i - 1], &e->v[i], e->rootdir, i)
			 : item_fill(&items[i], &e->v[i], e->rootdir, i);
	good = good && gather(&m, items, e->n) && plan_cross(p);
	for (size_t i = 0; items && i < e->n; i++) {
		free(items[i].real);
		free(items[i].where);
		free(items[i].why);
	}
	free(items);
	if (!good)
		diag_add(d, DIAG_ERROR, NULL, (struct spot){0, 0}, "no memory for the exports");
	return d->errors == errors;
}
