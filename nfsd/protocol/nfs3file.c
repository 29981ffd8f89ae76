/* SPDX-License-Identifier: BSD-2-Clause */
/* The procedures about one object: GETATTR, LOOKUP, ACCESS, READLINK, READ. RFC 1813 section 3.3.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "lookup.h"
#include "nfs3proc.h"

void
nfs3_attr(const struct obj *o, const struct stat *st, post_op_attr *a)
{
	a->attributes_follow = TRUE;
	nfs3_fattr(o->ex, &o->id, st, &a->post_op_attr_u.attributes);
}

int
nfs3_post_op(const struct call *c, struct obj *o, post_op_attr *a)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct stat st;
	int e = vfs_getattr(&ctx, o, &st);

	a->attributes_follow = FALSE;
	if (e == 0)
		nfs3_attr(o, &st, a);
	return e == ESLEEP ? ESLEEP : 0;
}

/* 3.3.1 */
int
nfs3_getattr(struct call *c, const GETATTR3args *a, GETATTR3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct obj *o = c->obj[0];
	struct stat st;
	int e = vfs_getattr(&ctx, o, &st);

	(void)a;
	if (e == 0)
		nfs3_fattr(o->ex, &o->id, &st, &r->GETATTR3res_u.resok.obj_attributes);
	return nfs3_status(e);
}

bool
nfs3_bad_name(const filename3 *n)
{
	return n->len == 0 || memchr(n->s, '/', n->len) || memchr(n->s, '\0', n->len);
}

int
nfs3_named(int e, const filename3 *n)
{
	return e == EINVAL && nfs3_bad_name(n) ? NFS3ERR_ACCES : nfs3_status(e);
}

/* 3.3.3 */
int
nfs3_lookup(struct call *c, const LOOKUP3args *a, LOOKUP3res *r)
{
	LOOKUP3resok *ok = &r->LOOKUP3res_u.resok;
	struct stat st;
	int e = lookup(c, a->what.name.s, a->what.name.len, &c->obj[1], &st);

	if (e != 0)
		return nfs3_named(e, &a->what.name);
	ok->object = c->obj[1]->fh;
	nfs3_attr(c->obj[1], &st, &ok->obj_attributes);
	return nfs3_post_op(c, c->obj[0], &ok->dir_attributes);
}

/*
 * What each bit of ACCESS asks the kernel for. A directory is changed by writing and searching it
 * (then its entries may be deleted, too); DELETE of a file is a matter of its directory, which we
 * do not know here, and so is never granted (3.3.4 lets a server say what it can).
 */
static const struct access_bit {
	uint32_t bit;
	int file, dir;
} access_bits[] = {
    {ACCESS3_READ, R_OK, R_OK},		 {ACCESS3_LOOKUP, 0, X_OK},
    {ACCESS3_MODIFY, W_OK, W_OK | X_OK}, {ACCESS3_EXTEND, W_OK, W_OK | X_OK},
    {ACCESS3_DELETE, 0, W_OK | X_OK},	 {ACCESS3_EXECUTE, X_OK, 0},
};
#define ACCESS_BITS (sizeof access_bits / sizeof *access_bits)

/* 3.3.4; what a read-only service refuses anyway is not promised here */
int
nfs3_access(struct call *c, const ACCESS3args *a, ACCESS3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct obj *o = c->obj[0];
	ACCESS3resok *ok = &r->ACCESS3res_u.resok;
	bool writable = c->rule->opts.rw;
	int need[ACCESS_BITS], asked = 0, granted = 0, e;
	struct stat st;

	for (size_t i = 0; i < ACCESS_BITS; i++) {
		need[i] = o->type == S_IFDIR ? access_bits[i].dir : access_bits[i].file;
		if (!(a->access & access_bits[i].bit) || (need[i] & W_OK && !writable))
			need[i] = 0;
		asked |= need[i];
	}
	e = vfs_getattr(&ctx, o, &st);
	if (e == 0 && asked)
		e = vfs_access(&ctx, o, &st, asked, &granted);
	if (e != 0)
		return nfs3_status(e);
	for (size_t i = 0; i < ACCESS_BITS; i++)
		if (need[i] && (granted & need[i]) == need[i])
			ok->access |= access_bits[i].bit;
	nfs3_attr(o, &st, &ok->obj_attributes);
	return NFS3_OK;
}

/* 3.3.5 */
int
nfs3_readlink(struct call *c, const READLINK3args *a, READLINK3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	READLINK3resok *ok = &r->READLINK3res_u.resok;
	char *text = arena_alloc(&c->arena, PATH_MAX);
	size_t len;
	int e = text ? vfs_readlink(&ctx, c->obj[0], text, PATH_MAX, &len) : ENOMEM;

	(void)a;
	if (e != 0)
		return nfs3_status(e);
	ok->data = (nfspath3){(u_int)len, text};
	c->body = (payload){.len = (u_int)len, .fd = -1, .base = text};
	return nfs3_post_op(c, c->obj[0], &ok->symlink_attributes);
}

bool_t
nfs3_xdr_readlink_head(XDR *x, READLINK3res *r)
{
	READLINK3resok *ok = &r->READLINK3res_u.resok;

	if (r->status != NFS3_OK)
		return xdr_READLINK3res(x, r);
	return xdr_nfsstat3(x, &r->status) && xdr_post_op_attr(x, &ok->symlink_attributes) &&
	       xdr_u_int(x, &ok->data.len);
}

/* What READ found becomes the reply's body; it belongs to the call from here on. */
static void
take_data(struct call *c, const struct vfs_data *d)
{
	c->body_mem = d->mem;
	c->body_cap = d->cap;
	c->tail = d->tail;
	if (d->pipe[0] >= 0) {
		c->body = (payload){.len = d->len, .fd = d->pipe[0], .off = -1};
	} else if (d->mem) {
		c->body = (payload){.len = d->len, .fd = -1, .base = d->mem};
	} else if (d->fd >= 0 && d->len > 0) {
		c->body = (payload){.len = d->len, .fd = d->fd, .off = d->off};
		c->body_obj = obj_ref(c->obj[0]);
	}
}

/*
 * 3.3.6. More than rtmax is a short READ, never an error. Attributes always come along: the head's
 * length is constant, and a Linux client that met replies with and without them has failed with
 * EIO. They are older than the data, never newer.
 */
int
nfs3_read(struct call *c, const READ3args *a, READ3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	READ3resok *ok = &r->READ3res_u.resok;
	uint32_t count = a->count < NFS3_READ_MAX ? a->count : NFS3_READ_MAX;
	struct vfs_data d = {.fd = -1, .pipe = {-1, -1}};
	struct stat st;
	int e = vfs_read(&ctx, c->obj[0], a->offset, count, c->copy,
			 c->pipe[0] >= 0 ? c->pipe : NULL, &st, &d);

	if (e != 0)
		return nfs3_status(e);
	take_data(c, &d);
	nfs3_attr(c->obj[0], &st, &ok->file_attributes);
	ok->count = d.len;
	ok->eof = d.eof;
	ok->data = c->body;
	ok->data.len = d.len;
	return NFS3_OK;
}
