/* SPDX-License-Identifier: BSD-2-Clause */
/* The procedures that take names away or move them: REMOVE, RMDIR, RENAME, LINK. RFC 1813
 * sections 3.3.12 to 3.3.15. */
#include <errno.h>

#include "nfs3mod.h"

/* 3.3.12 */
int
nfs3_remove(struct call *c, const REMOVE3args *a, REMOVE3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct vmod_wcc w = {0};
	const filename3 *name = &a->object.name;
	int e = nfs3_again_anew(c, name) ? ENOENT
					 : vmod_remove(&ctx, c->obj[0], name->s, name->len, &w);

	e = nfs3_again_removed(c, e);
	if (e != 0)
		return nfs3_named(e, name);
	return nfs3_wcc(c, c->obj[0], &w, &r->REMOVE3res_u.resok.dir_wcc);
}

/* 3.3.13 */
int
nfs3_rmdir(struct call *c, const RMDIR3args *a, RMDIR3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct vmod_wcc w = {0};
	const filename3 *name = &a->object.name;
	int e =
	    nfs3_again_anew(c, name) ? ENOENT : vmod_rmdir(&ctx, c->obj[0], name->s, name->len, &w);

	e = nfs3_again_removed(c, e);
	if (e != 0)
		return nfs3_named(e, name);
	return nfs3_wcc(c, c->obj[0], &w, &r->RMDIR3res_u.resok.dir_wcc);
}

/* 3.3.14, which would have EXIST for a target that does not fit or is not empty. NOTDIR, ISDIR and
 * NOTEMPTY stand in its list, too, and say what rename(2) says. */
int
nfs3_rename(struct call *c, const RENAME3args *a, RENAME3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	RENAME3resok *ok = &r->RENAME3res_u.resok;
	struct vmod_wcc from = {0}, to = {0};
	const filename3 *old = &a->from.name, *new = &a->to.name;
	int e = ENOENT;

	if (nfs3_again_anew(c, old))
		e = nfs3_again_renamed(c, e, new);
	if (e != 0)
		e = vmod_rename(&ctx, c->obj[0], old->s, old->len, c->obj[1], new->s, new->len,
				&from, &to);
	e = nfs3_again_renamed(c, e, new);
	if (e != 0)
		return nfs3_named(e, nfs3_bad_name(old) ? old : new);
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

	e = nfs3_again_linked(c, e, &a->link.name);
	if (e != 0)
		return nfs3_named(e, &a->link.name);
	if (obj.have_after)
		nfs3_attr(c->obj[0], &obj.after, &ok->file_attributes);
	else if ((e = nfs3_post_op(c, c->obj[0], &ok->file_attributes)) != 0)
		return e;
	return nfs3_wcc(c, c->obj[1], &dir, &ok->linkdir_wcc);
}
