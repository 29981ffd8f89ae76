/* SPDX-License-Identifier: BSD-2-Clause */
/* The procedures that make a name: CREATE, MKDIR, SYMLINK, MKNOD. RFC 1813 sections 3.3.8
 * to 3.3.11. */
#include <errno.h>
#include <string.h>

#include "nfs3mod.h"

/* The result of all four: the new object goes into the call, which releases it. */
static int
made(struct call *c, const struct vmod_made *m, const struct vmod_wcc *w, post_op_fh3 *fh,
     post_op_attr *attr, wcc_data *dir)
{
	c->obj[1] = m->obj;
	fh->handle_follows = TRUE;
	fh->post_op_fh3_u.handle = m->obj->fh;
	nfs3_attr(m->obj, &m->st, attr);
	return nfs3_wcc(c, c->obj[0], w, dir);
}

/* 3.3.8 */
int
nfs3_create(struct call *c, const CREATE3args *a, CREATE3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	CREATE3resok *ok = &r->CREATE3res_u.resok;
	bool exclusive = a->how.mode == EXCLUSIVE;
	enum vmod_how how = exclusive		     ? VMOD_EXCLUSIVE
			    : a->how.mode == GUARDED ? VMOD_GUARDED
						     : VMOD_UNCHECKED;
	struct vmod_attrs attrs = {0};
	struct vmod_made m = {0};
	struct vmod_wcc w = {0};
	unsigned char verifier[8] = {0};
	int e = exclusive ? 0 : nfs3_sattr(&a->how.createhow3_u.obj_attributes, &attrs);

	if (e != 0)
		return e;
	if (exclusive)
		memcpy(verifier, a->how.createhow3_u.verf, sizeof verifier);
	/* looked for first: unchecked would set the size again of what somebody may have written */
	e = exclusive ? EEXIST : nfs3_again_made(c, EEXIST, &a->where.name, S_IFREG, &attrs, &m);
	if (e == EEXIST)
		e = vmod_create(&ctx, c->obj[0], a->where.name.s, a->where.name.len, how, &attrs,
				verifier, &m, &w);
	return e ? nfs3_named(e, &a->where.name)
		 : made(c, &m, &w, &ok->obj, &ok->obj_attributes, &ok->dir_wcc);
}

/* 3.3.9 */
int
nfs3_mkdir(struct call *c, const MKDIR3args *a, MKDIR3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	MKDIR3resok *ok = &r->MKDIR3res_u.resok;
	struct vmod_attrs attrs;
	struct vmod_made m = {0};
	struct vmod_wcc w = {0};
	int e = nfs3_sattr(&a->attributes, &attrs);

	if (e != 0)
		return e;
	e = vmod_mkdir(&ctx, c->obj[0], a->where.name.s, a->where.name.len, &attrs, &m, &w);
	e = nfs3_again_made(c, e, &a->where.name, S_IFDIR, &attrs, &m);
	return e ? nfs3_named(e, &a->where.name)
		 : made(c, &m, &w, &ok->obj, &ok->obj_attributes, &ok->dir_wcc);
}

/* 3.3.10 */
int
nfs3_symlink(struct call *c, const SYMLINK3args *a, SYMLINK3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	SYMLINK3resok *ok = &r->SYMLINK3res_u.resok;
	const nfspath3 *text = &a->symlink.symlink_data;
	struct vmod_attrs attrs;
	struct vmod_made m = {0};
	struct vmod_wcc w = {0};
	int e = nfs3_sattr(&a->symlink.symlink_attributes, &attrs);

	if (e != 0)
		return e;
	e = vmod_symlink(&ctx, c->obj[0], a->where.name.s, a->where.name.len, text->s, text->len,
			 &attrs, &m, &w);
	e = nfs3_again_made(c, e, &a->where.name, S_IFLNK, &attrs, &m);
	return e ? nfs3_named(e, &a->where.name)
		 : made(c, &m, &w, &ok->obj, &ok->obj_attributes, &ok->dir_wcc);
}

/* What MKNOD can make, and where its arguments lie. 0: BADTYPE. */
static mode_t
node_type(const mknoddata3 *what, const sattr3 **attrs, specdata3 *dev)
{
	*attrs = &what->mknoddata3_u.pipe_attributes;
	*dev = (specdata3){0, 0};
	switch (what->type) {
	case NF3SOCK:
		return S_IFSOCK;
	case NF3FIFO:
		return S_IFIFO;
	case NF3CHR:
	case NF3BLK:
		*attrs = &what->mknoddata3_u.device.dev_attributes;
		*dev = what->mknoddata3_u.device.spec;
		return what->type == NF3CHR ? S_IFCHR : S_IFBLK;
	default:
		return 0;
	}
}

/* 3.3.11 */
int
nfs3_mknod(struct call *c, const MKNOD3args *a, MKNOD3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	MKNOD3resok *ok = &r->MKNOD3res_u.resok;
	const sattr3 *sattr;
	specdata3 dev;
	mode_t type = node_type(&a->what, &sattr, &dev);
	struct vmod_attrs attrs;
	struct vmod_made m = {0};
	struct vmod_wcc w = {0};
	int e = type ? nfs3_sattr(sattr, &attrs) : NFS3ERR_BADTYPE;

	if (e != 0)
		return e;
	e = vmod_mknod(&ctx, c->obj[0], a->where.name.s, a->where.name.len, type, dev.specdata1,
		       dev.specdata2, &attrs, &m, &w);
	e = nfs3_again_made(c, e, &a->where.name, type, &attrs, &m);
	return e ? nfs3_named(e, &a->where.name)
		 : made(c, &m, &w, &ok->obj, &ok->obj_attributes, &ok->dir_wcc);
}
