/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fattr3 (RFC 1813 2.6) as 21 words at once: nearly every reply carries one or two, and word by
 * word through the stream's function pointers they were a quarter of a GETATTR.
 */
#include "nfs3.h"

static int32_t *
put64(int32_t *p, uint64_t v)
{
	IXDR_PUT_U_INT32(p, (uint32_t)(v >> 32));
	IXDR_PUT_U_INT32(p, (uint32_t)v);
	return p;
}

static int32_t *
get64(int32_t *p, uint64_t *v)
{
	uint64_t high = IXDR_GET_U_INT32(p);

	*v = high << 32 | IXDR_GET_U_INT32(p);
	return p;
}

static int32_t *
put_time(int32_t *p, const nfstime3 *t)
{
	IXDR_PUT_U_INT32(p, t->seconds);
	IXDR_PUT_U_INT32(p, t->nseconds);
	return p;
}

static int32_t *
get_time(int32_t *p, nfstime3 *t)
{
	t->seconds = IXDR_GET_U_INT32(p);
	t->nseconds = IXDR_GET_U_INT32(p);
	return p;
}

static void
encode(int32_t *p, const fattr3 *a)
{
	IXDR_PUT_U_INT32(p, (uint32_t)a->type);
	IXDR_PUT_U_INT32(p, a->mode);
	IXDR_PUT_U_INT32(p, a->nlink);
	IXDR_PUT_U_INT32(p, a->uid);
	IXDR_PUT_U_INT32(p, a->gid);
	p = put64(p, a->size);
	p = put64(p, a->used);
	IXDR_PUT_U_INT32(p, a->rdev.specdata1);
	IXDR_PUT_U_INT32(p, a->rdev.specdata2);
	p = put64(p, a->fsid);
	p = put64(p, a->fileid);
	p = put_time(p, &a->atime);
	p = put_time(p, &a->mtime);
	put_time(p, &a->ctime);
}

static void
decode(int32_t *p, fattr3 *a)
{
	a->type = (ftype3)IXDR_GET_U_INT32(p);
	a->mode = IXDR_GET_U_INT32(p);
	a->nlink = IXDR_GET_U_INT32(p);
	a->uid = IXDR_GET_U_INT32(p);
	a->gid = IXDR_GET_U_INT32(p);
	p = get64(p, &a->size);
	p = get64(p, &a->used);
	a->rdev.specdata1 = IXDR_GET_U_INT32(p);
	a->rdev.specdata2 = IXDR_GET_U_INT32(p);
	p = get64(p, &a->fsid);
	p = get64(p, &a->fileid);
	p = get_time(p, &a->atime);
	p = get_time(p, &a->mtime);
	get_time(p, &a->ctime);
}

bool_t
xdr_fattr3(XDR *x, fattr3 *a)
{
	int32_t *p = x->x_op == XDR_FREE ? NULL : XDR_INLINE(x, WIRE_FATTR3);

	if (!p)
		return x->x_op == XDR_FREE;
	if (x->x_op == XDR_ENCODE)
		encode(p, a);
	else
		decode(p, a);
	return TRUE;
}
