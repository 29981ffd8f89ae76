/* SPDX-License-Identifier: BSD-2-Clause */
/* The procedures that change an object: SETATTR, WRITE, COMMIT. RFC 1813
 * sections 3.3.2, 3.3.7, 3.3.21. */
#include <string.h>

#include "nfs3mod.h"

static struct timespec
from_wire(const nfstime3 *t)
{
	return (struct timespec){.tv_sec = t->seconds, .tv_nsec = t->nseconds};
}

int
nfs3_sattr(const sattr3 *s, struct vmod_attrs *a)
{
	*a = (struct vmod_attrs){.set_mode = s->mode.set_it,
				 .set_uid = s->uid.set_it,
				 .set_gid = s->gid.set_it,
				 .set_size = s->size.set_it,
				 .mode = s->mode.set_mode3_u.mode & 07777,
				 .uid = s->uid.set_uid3_u.uid,
				 .gid = s->gid.set_gid3_u.gid,
				 .size = s->size.set_size3_u.size};
	if ((unsigned)s->atime.set_it > SET_TO_CLIENT_TIME ||
	    (unsigned)s->mtime.set_it > SET_TO_CLIENT_TIME)
		return NFS3ERR_INVAL;
	a->set_atime = s->atime.set_it == SET_TO_CLIENT_TIME   ? TIME_CLIENT
		       : s->atime.set_it == SET_TO_SERVER_TIME ? TIME_SERVER
							       : TIME_KEEP;
	a->set_mtime = s->mtime.set_it == SET_TO_CLIENT_TIME   ? TIME_CLIENT
		       : s->mtime.set_it == SET_TO_SERVER_TIME ? TIME_SERVER
							       : TIME_KEEP;
	a->atime = from_wire(&s->atime.set_atime_u.atime);
	a->mtime = from_wire(&s->mtime.set_mtime_u.mtime);
	return NFS3_OK;
}

int
nfs3_wcc(const struct call *c, struct obj *o, const struct vmod_wcc *w, wcc_data *out)
{
	if (w->have_before) {
		wcc_attr *b = &out->before.pre_op_attr_u.attributes;

		out->before.attributes_follow = TRUE;
		b->size = w->before.st_size > 0 ? (size3)w->before.st_size : 0;
		b->mtime = nfs3_time(&w->before.st_mtim);
		b->ctime = nfs3_time(&w->before.st_ctim);
	}
	if (!w->have_after)
		return nfs3_post_op(c, o, &out->after);
	nfs3_attr(o, &w->after, &out->after);
	return 0;
}

/* 3.3.2 */
int
nfs3_setattr(struct call *c, const SETATTR3args *a, SETATTR3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct timespec guard = from_wire(&a->guard.sattrguard3_u.obj_ctime);
	struct vmod_wcc w = {0};
	struct vmod_attrs attrs;
	int e = nfs3_sattr(&a->new_attributes, &attrs);

	if (e != 0)
		return e;
	e = vmod_setattr(&ctx, c->obj[0], &attrs, a->guard.check ? &guard : NULL, &w);
	e = nfs3_again_set(c, e, &attrs);
	if (e != 0)
		return e == ENOTSYNC ? NFS3ERR_NOT_SYNC : nfs3_status(e);
	return nfs3_wcc(c, c->obj[0], &w, &r->SETATTR3res_u.resok.obj_wcc);
}

static void
put_verifier(const struct call *c, writeverf3 verf)
{
	uint64_t v = vfs_verifier(c->engine->vfs);

	memcpy(verf, &v, sizeof v);
}

/* The arguments of WRITE. Count and length of the data are one number said twice: a call in which
 * they differ is broken, and nobody knows which of the two was meant. */
bool_t
nfs3_xdr_write_args(XDR *x, WRITE3args *a)
{
	return xdr_WRITE3args(x, a) && a->count == a->data.len;
}

/* The same up to the data. */
bool_t
nfs3_xdr_write_head(XDR *x, WRITE3args *a)
{
	a->data = (payload){.fd = -1, .off = -1};
	return xdr_nfs_fh3(x, &a->file) && xdr_offset3(x, &a->offset) && xdr_count3(x, &a->count) &&
	       xdr_stable_how(x, &a->stable) && xdr_u_int(x, &a->data.len) &&
	       a->count == a->data.len;
}

/* 3.3.7. The verifier is taken before the data is written: if it changes meanwhile, the client must
 * think that this data is lost, too. */
int
nfs3_write(struct call *c, const WRITE3args *a, WRITE3res *r)
{
	static const enum vmod_stable asked[] = {
	    [UNSTABLE] = VMOD_UNSTABLE, [DATA_SYNC] = VMOD_DATA_SYNC, [FILE_SYNC] = VMOD_FILE_SYNC};
	static const stable_how said[] = {
	    [VMOD_UNSTABLE] = UNSTABLE, [VMOD_DATA_SYNC] = DATA_SYNC, [VMOD_FILE_SYNC] = FILE_SYNC};
	struct vfs_ctx ctx = call_ctx(c);
	WRITE3resok *ok = &r->WRITE3res_u.resok;
	struct vmod_wcc w = {0};
	enum vmod_stable level = VMOD_UNSTABLE;
	uint32_t done = 0;

	if ((unsigned)a->stable > FILE_SYNC)
		return NFS3ERR_INVAL;
	put_verifier(c, ok->verf);
	int e = c->data_pipe >= 0 ? vmod_write_pipe(&ctx, c->obj[0], a->offset, c->data_pipe,
						    a->count, asked[a->stable], &done, &level, &w)
				  : vmod_write(&ctx, c->obj[0], a->offset, a->data.base, a->count,
					       asked[a->stable], &done, &level, &w);
	if (e != 0)
		return nfs3_status(e);
	ok->count = done;
	ok->committed = said[level];
	return nfs3_wcc(c, c->obj[0], &w, &ok->file_wcc);
}

/* 3.3.21. Here the verifier is taken after the sync: what the sync found lost must show. */
int
nfs3_commit(struct call *c, const COMMIT3args *a, COMMIT3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	COMMIT3resok *ok = &r->COMMIT3res_u.resok;
	struct vmod_wcc w = {0};
	int e = vmod_commit(&ctx, c->obj[0], a->offset, a->count, &w);

	if (e != 0)
		return nfs3_status(e);
	put_verifier(c, ok->verf);
	return nfs3_wcc(c, c->obj[0], &w, &ok->file_wcc);
}
