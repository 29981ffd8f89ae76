/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A way is open to a peer if the rule it has in the outer export says crossmnt, or the one it has
 * in the inner export says nohide and was written for that; and if it passes the gate of the export
 * it comes to, where each of its later calls will be judged again. Nothing of this is remembered:
 * a name is looked up rarely, and the rules of a peer are at hand.
 *
 * Search permission in the directory is asked first, as for any name. What a way leads to is the
 * root of the other export by its handle, so neither the covered directory nor the mount is
 * looked up by name.
 */
#include "lookup.h"

#include <errno.h>
#include <string.h>

#include "permit.h"

/* The rule that must have opened it: that of the outer export, or a line's own of the inner. */
static bool
is_open(const struct export_client *outer, const struct export_client *inner, bool crossed)
{
	return outer->opts.crossmnt || (!crossed && inner->opts.nohide);
}

/* 0: this peer may go to the export mounted there; EACCES, ESLEEP, EAGAIN. */
static int
may_enter(struct call *c, const struct cross *x)
{
	const struct export_client *rule;
	int e;

	if (x->to >= c->table->n)
		return EACCES;
	e = permit_peer(c, c->table->v[x->to], &rule);
	return e ? e : is_open(c->rule, rule, c->table->crossed[x->to]) ? 0 : EACCES;
}

static int
may_leave(struct call *c, const struct cross *x)
{
	const struct export_client *rule;
	int e = permit_peer(c, x->c->from, &rule);

	return e ? e : is_open(rule, c->rule, c->table->crossed[x->to]) ? 0 : EACCES;
}

static const struct cross *
find(struct call *c, const struct stat *dir, const char *name, size_t len)
{
	const struct obj *o = c->obj[0];

	return cross_at(c->table, o->ex, dir->st_dev, o->ino, name, len);
}

/* Where ".." of the directory leads out of its export, NULL: nowhere. */
static const struct cross *
way_out(const struct call *c)
{
	const struct obj *o = c->obj[0];
	bool root = c->table->ncross > 0 && o->fh.len == o->ex->root.len &&
		    memcmp(o->fh.data, o->ex->root.data, o->fh.len) == 0;

	return root ? cross_above(c->table, o->ex) : NULL;
}

static bool
is_up(const char *name, size_t len)
{
	return len == 2 && name[0] == '.' && name[1] == '.';
}

int
lookup(struct call *c, const char *name, size_t len, struct obj **child, struct stat *st)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct obj *dir = c->obj[0];
	const struct cross *x = NULL;
	struct stat dst;
	int e = 0;

	if (c->table->ncross == 0 || !S_ISDIR(dir->type))
		return vfs_lookup(&ctx, dir, name, len, child, st);
	if (is_up(name, len)) {
		x = way_out(c);
		if (x && (e = may_leave(c, x)) == 0)
			return vfs_enter(&ctx, dir, x->c->from, x->c->dir, child, st);
	} else if (cross_any(c->table, dir->ex, dir->ino)) {
		e = vfs_getattr(&ctx, dir, &dst);
		x = e ? NULL : find(c, &dst, name, len);
		if (x && (e = may_enter(c, x)) == 0)
			return vfs_enter(&ctx, dir, c->table->v[x->to], -1, child, st);
	}
	return e && e != EACCES ? e : vfs_lookup(&ctx, dir, name, len, child, st);
}

struct export *
lookup_entry(struct call *c, const struct stat *dir, const char *name, size_t len)
{
	const struct cross *x = find(c, dir, name, len);

	return x && may_enter(c, x) == 0 ? c->table->v[x->to] : NULL;
}

bool
lookup_leads_out(struct call *c)
{
	return way_out(c) != NULL;
}
