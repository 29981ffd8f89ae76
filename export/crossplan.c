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
	size_t n, *place;      /* place[i]: where the i-th of p->v has come to stand */
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

/* The export merged already that has this path: its place, or SIZE_MAX. */
static size_t
find(const struct merging *g, const char *path, size_t len)
{
	size_t lo = 0, hi = g->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strncmp(g->v[mid].path, path, len);

		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->n && strncmp(g->v[lo].path, path, len) == 0 && !g->v[lo].path[len]
		   ? lo
		   : SIZE_MAX;
}

/* The innermost export around m, in the mount that m is mounted in; with crossmnt if there is one,
 * else with inner any. SIZE_MAX: none. */
static size_t
export_around(const struct merging *g, const struct mount *m, bool any)
{
	const struct mount *beneath = mounts_beneath(&g->ms, m);
	size_t first = SIZE_MAX, len = strlen(m->path);

	while (beneath && len > 1) {
		size_t at;

		while (m->path[--len] != '/')
			;
		at = find(g, m->path, len ? len : 1);
		if (at == SIZE_MAX || g->v[at].absent || g->v[at].mnt_id != beneath->id)
			continue;
		if (any_rule(g->v[at].rules, true))
			return at;
		if (first == SIZE_MAX)
			first = at;
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
	g->place[i] = g->n++;
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
	for (size_t i = 0; i < p->naliases; i++)
		p->aliases[i].at = g->place[p->aliases[i].at];
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
	g.place = calloc(p->n + 1, sizeof *g.place);
	good = g.v && g.place;
	if (good)
		good = merge(&g);
	else
		free(g.v);
	free(g.place);
	mounts_free(&g.ms);
	return good;
}
