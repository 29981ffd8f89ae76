/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hand-written XDR types: see wire.h. The library's xdr_opaque and xdr_string are not used: the one
 * reads padding into a static variable (a race between threads), the other allocates.
 */
#include "wire.h"

#include <limits.h>

/* Writes n bytes and their padding. */
static bool_t
put_padded(XDR *x, const void *p, u_int n)
{
	static const char zeroes[4];

	/* the library's prototype lacks a const; nothing is written to p */
	return (n == 0 || XDR_PUTBYTES(x, (char *)(uintptr_t)p, n)) &&
	       (wire_pad(n) == 0 || XDR_PUTBYTES(x, (char *)(uintptr_t)zeroes, (u_int)wire_pad(n)));
}

/* Steps over n bytes and their padding: where they lie in the record, or NULL if they are not all
 * there. */
static void *
get_inplace(XDR *x, u_int n)
{
	/* a length within 3 of 2^32 would wrap to nothing when it is padded */
	return n > UINT_MAX - 3 ? NULL : (void *)XDR_INLINE(x, n + (u_int)wire_pad(n));
}

bool_t
xdr_nfs_fh3(XDR *x, nfs_fh3 *fh)
{
	if (x->x_op == XDR_FREE)
		return TRUE;
	if (!xdr_u_int(x, &fh->len) || fh->len > WIRE_FH_MAX)
		return FALSE;
	if (x->x_op == XDR_ENCODE)
		return put_padded(x, fh->data, fh->len);
	/* the bound is a multiple of 4, so the padding fits too */
	return fh->len == 0 ||
	       XDR_GETBYTES(x, (char *)fh->data, fh->len + (u_int)wire_pad(fh->len));
}

bool_t
xdr_wire_str(XDR *x, wire_str *s)
{
	if (x->x_op == XDR_FREE)
		return TRUE;
	if (!xdr_u_int(x, &s->len))
		return FALSE;
	if (x->x_op == XDR_ENCODE)
		return put_padded(x, s->s, s->len);
	return (s->s = get_inplace(x, s->len)) != NULL;
}

bool_t
xdr_filename3(XDR *x, filename3 *s)
{
	return xdr_wire_str(x, s);
}

bool_t
xdr_nfspath3(XDR *x, nfspath3 *s)
{
	return xdr_wire_str(x, s);
}

bool_t
xdr_dirpath(XDR *x, dirpath *s)
{
	return xdr_wire_str(x, s);
}

bool_t
xdr_payload(XDR *x, payload *p)
{
	if (x->x_op == XDR_FREE)
		return TRUE;
	if (!xdr_u_int(x, &p->len))
		return FALSE;
	if (x->x_op == XDR_ENCODE)
		return TRUE;
	p->fd = -1;
	p->off = -1;
	return (p->base = get_inplace(x, p->len)) != NULL;
}

bool_t
xdr_dirents(XDR *x, dirents *d)
{
	(void)d;
	return x->x_op != XDR_DECODE;
}

/* Encoded bytes of a counted string. */
static size_t
str_size(u_int len)
{
	return 4 + (size_t)len + wire_pad(len);
}

static bool_t
put_bool(XDR *x, bool_t b)
{
	return xdr_bool(x, &b);
}

/* Begins writing need bytes; FALSE if there is no room for them. */
static bool_t
begin(XDR *x, char *buf, size_t room, size_t need)
{
	if (need > room || need > UINT_MAX)
		return FALSE;
	xdrmem_create(x, buf, (u_int)need, XDR_ENCODE);
	return TRUE;
}

size_t
wire_entry3_size(u_int namelen)
{
	return 4 + 8 + str_size(namelen) + 8;
}

size_t
wire_entry3(char *buf, size_t room, uint64_t fileid, const char *name, u_int namelen,
	    uint64_t cookie)
{
	XDR x;
	wire_str s = {namelen, name};
	size_t need = wire_entry3_size(namelen);

	if (!begin(&x, buf, room, need) || !put_bool(&x, TRUE) || !xdr_uint64_t(&x, &fileid) ||
	    !xdr_wire_str(&x, &s) || !xdr_uint64_t(&x, &cookie))
		return 0;
	return need;
}

size_t
wire_entries_end(char *buf, size_t room, int eof)
{
	XDR x;

	if (!begin(&x, buf, room, WIRE_ENTRIES_END) || !put_bool(&x, FALSE) ||
	    !put_bool(&x, eof != 0))
		return 0;
	return WIRE_ENTRIES_END;
}

size_t
wire_mount(char *buf, size_t room, wire_str host, wire_str dir)
{
	XDR x;
	size_t need = 4 + str_size(host.len) + str_size(dir.len);

	if (!begin(&x, buf, room, need) || !put_bool(&x, TRUE) || !xdr_wire_str(&x, &host) ||
	    !xdr_wire_str(&x, &dir))
		return 0;
	return need;
}

size_t
wire_export(char *buf, size_t room, wire_str dir, const wire_str *groups, u_int n)
{
	XDR x;
	size_t need = 4 + str_size(dir.len) + 4;

	for (u_int i = 0; i < n; i++)
		need += 4 + str_size(groups[i].len);
	if (!begin(&x, buf, room, need) || !put_bool(&x, TRUE) || !xdr_wire_str(&x, &dir))
		return 0;
	for (u_int i = 0; i < n; i++) {
		wire_str g = groups[i];

		if (!put_bool(&x, TRUE) || !xdr_wire_str(&x, &g))
			return 0;
	}
	return put_bool(&x, FALSE) ? need : 0;
}

size_t
wire_list_end(char *buf, size_t room)
{
	XDR x;

	return begin(&x, buf, room, 4) && put_bool(&x, FALSE) ? 4 : 0;
}
