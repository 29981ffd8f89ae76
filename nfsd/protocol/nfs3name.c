/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The procedures that take names away or move them: REMOVE, RMDIR, RENAME, LINK. RFC 1813
 * sections 3.3.12 to 3.3.15.
 *
 * A repeat of a call that had begun before a crash finds its own work done: the name that was to go
 * is gone, the new name leads to the object. That is success (c->after_crash, call.h).
 */
#include <errno.h>

#include "nfs3mod.h"

/* 3.3.12 */
int
nfs3_remove(struct call *c, const REMOVE3args *a, REMOVE3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct vmod_wcc w = {0};
	int e = vmod_remove(&ctx, c->obj[0], a->object.name.s, a->object.name.len, &w);

	if (e != 0 && !(e == ENOENT && c->after_crash))
		return nfs3_status(e);
	return nfs3_wcc(c, c->obj[0], &w, &r->REMOVE3res_u.resok.dir_wcc);
}

/* 3.3.13 */
int
nfs3_rmdir(struct call *c, const RMDIR3args *a, RMDIR3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct vmod_wcc w = {0};
	int e = vmod_rmdir(&ctx, c->obj[0], a->object.name.s, a->object.name.len, &w);

	if (e != 0 && !(e == ENOENT && c->after_crash))
		return nfs3_status(e);
	return nfs3_wcc(c, c->obj[0], &w, &r->RMDIR3res_u.resok.dir_wcc);
}

/* Does this name lead to anything; to this object, if one is given? */
static bool
leads_to(struct call *c, struct obj *dir, const filename3 *name, const struct obj *o)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct obj *found;
	struct stat st;
	bool yes;

	if (vfs_lookup(&ctx, dir, name->s, name->len, &found, &st) != 0)
		return false;
	yes = !o || found == o;
	obj_put(ctx.vfs->files, found);
	return yes;
}

/* 3.3.14 */
int
nfs3_rename(struct call *c, const RENAME3args *a, RENAME3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	RENAME3resok *ok = &r->RENAME3res_u.resok;
	struct vmod_wcc from = {0}, to = {0};
	int e = vmod_rename(&ctx, c->obj[0], a->from.name.s, a->from.name.len, c->obj[1],
			    a->to.name.s, a->to.name.len, &from, &to);

	if (e == ENOENT && c->after_crash && leads_to(c, c->obj[1], &a->to.name, NULL))
		e = 0;
	if (e != 0)
		return nfs3_status(e);
	e = nfs3_wcc(c, c->obj[0], &from, &ok->fromdir_wcc);
	return e ? e : nfs3_wcc(c, c->obj[1], &to, &ok->todir_wcc);
}

/* 3.3.15 */
int
nfs3_link(struct call *c, const LINK3args *a, LINK3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	LINK3resok *ok = &r->LINK3res_u.resok;
	struct vmod_wcc obj = {0}, dir = {0};
	int e = vmod_link(&ctx, c->obj[0], c->obj[1], a->link.name.s, a->link.name.len, &obj, &dir);

	if (e == EEXIST && c->after_crash && leads_to(c, c->obj[1], &a->link.name, c->obj[0]))
		e = 0;
	if (e != 0)
		return nfs3_status(e);
	if (obj.have_after)
		nfs3_attr(c->obj[0], &obj.after, &ok->file_attributes);
	else if ((e = nfs3_post_op(c, c->obj[0], &ok->file_attributes)) != 0)
		return e;
	return nfs3_wcc(c, c->obj[1], &dir, &ok->linkdir_wcc);
}
