/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crossmnt and nohide, first half: which mounts clients are led into.
 *
 * What is mounted below an export with crossmnt becomes an export of its own, in the same table as
 * those that have a line: with its own file system, ids and handles, and with the rules of the
 * export above. So the gate, the handles and the caches know nothing of crossing. An export that
 * has a line keeps its own rules, wherever it is mounted.
 *
 * A mount belongs to the export whose mount holds the directory that it covers, by the kernel's own
 * list: what is mounted on a file system that is not led into (autofs, proc) is not reached, and
 * neither is what other mounts cover. Of several such exports, one in the other, it is the
 * innermost one with crossmnt.
 *
 * Exports and mounts are both sorted by path, so that merging them meets the outer before the
 * inner. The second half is cross.c.
 */
#include "mounts.h"
#include "plan.h"
#include "rootdir.h"
#include <stdlib.h>
#include <string.h>

struct merging {
	struct plan *p;
	struct mounts ms;
	struct plan_export *v; /* what becomes p->v */
	size_t n;
};

static bool
any_rule(const struct rules *r, bool crossmnt)
{
	for (size_t i = 0; i < r->n; i++)
		if (crossmnt ? r->v[i].opts.crossmnt : r->v[i].opts.nohide)
			return true;
	return false;
}

static bool
is_wanted(const struct plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (any_rule(p->v[i].rules, true) || any_rule(p->v[i].rules, false))
			return true;
	return false;
}

struct head { /* of a longer path */
	const char *path;
	size_t len;
};

static int
by_head(const void *key, const void *v)
{
	const struct head *h = key;
	const char *path = ((const struct plan_export *)v)->path;
	int c = strncmp(h->path, path, h->len);

	return c ? c : path[h->len] ? -1 : 0;
}

/* The innermost export around m, in the mount that m is mounted in; with crossmnt if there is one,
 * else with inner any. SIZE_MAX: none. */
static size_t
export_around(const struct merging *g, const struct mount *m, bool any)
{
	const struct mount *beneath = mounts_beneath(&g->ms, m);
	struct head h = {m->path, strlen(m->path)};
	size_t first = SIZE_MAX;

	while (beneath && (h.len = mounts_shorter(h.path, h.len))) {
		const struct plan_export *x = bsearch(&h, g->v, g->n, sizeof *x, by_head);

		if (!x || x->absent || x->mnt_id != beneath->id)
			continue;
		if (any_rule(x->rules, true))
			return (size_t)(x - g->v);
		if (first == SIZE_MAX)
			first = (size_t)(x - g->v);
	}
	return any ? first : SIZE_MAX;
}

/* An export with a line. */
static void
add_own(struct merging *g, size_t i)
{
	struct plan_export *x = &g->v[g->n];
	const struct mount *m;

	*x = g->p->v[i];
	m = x->absent ? NULL : mounts_of(&g->ms, x->path);
	x->mnt_id = m ? m->id : -1;
	if (m && strcmp(m->path, x->path) == 0) {
		x->above = export_around(g, m, any_rule(x->rules, false));
		x->mount = m->key;
		x->local = mounts_is_local(m);
	}
	g->n++;
}

static bool
add_crossed(struct merging *g, const struct mount *m)
{
	struct plan_export *x = &g->v[g->n];
	size_t above;

	if (g->n >= EXPORTS_MAX - 1 || !mounts_is_files(m) || !mounts_shown(&g->ms, m))
		return true;
	above = export_around(g, m, false);
	if (above == SIZE_MAX)
		return true;
	*x = (struct plan_export){.crossed = true,
				  .local = mounts_is_local(m),
				  .above = above,
				  .mnt_id = m->id,
				  .mount = m->key,
				  .rw = g->v[above].rw,
				  .rules = rules_ref(g->v[above].rules)};
	export_opts_default(&x->opts);
	g->n++;
	x->path = strdup(m->path);
	x->where = rootdir_where(g->p->rootdir, m->path);
	x->type = strdup(m->type);
	return x->path && x->where && x->type;
}

static bool
merge(struct merging *g)
{
	struct plan *p = g->p;
	bool good = true;
	size_t j = 0;

	for (size_t i = 0; i < p->n; i++) {
		int c = 1;

		for (; j < g->ms.n && (c = strcmp(g->ms.v[j].path, p->v[i].path)) <= 0; j++)
			if (good && c < 0)
				good = add_crossed(g, &g->ms.v[j]);
		add_own(g, i);
	}
	for (; good && j < g->ms.n; j++)
		good = add_crossed(g, &g->ms.v[j]);
	free(p->v);
	p->v = g->v;
	p->n = g->n;
	return good;
}

bool
plan_cross(struct plan *p)
{
	struct merging g = {.p = p};
	bool good;

	if (!is_wanted(p) || !mounts_read(&g.ms, p->rootdir))
		return true;
	g.v = calloc(p->n + g.ms.n + 1, sizeof *g.v);
	good = g.v && merge(&g);
	mounts_free(&g.ms);
	return good;
}
