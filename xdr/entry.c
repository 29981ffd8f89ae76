/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry.h"

#include <limits.h>

size_t
wire_entryplus3_size(u_int namelen, const fattr3 *attr, const nfs_fh3 *fh)
{
	size_t need = wire_entry3_size(namelen) + 4 + 4;

	if (attr)
		need += WIRE_FATTR3;
	if (fh)
		need += 4 + fh->len + wire_pad(fh->len);
	return need;
}

/* What entryplus3 has more than entry3: name_attributes and name_handle. */
static bool_t
put_plus(XDR *x, const fattr3 *attr, const nfs_fh3 *fh)
{
	post_op_attr a = {.attributes_follow = attr != NULL};
	post_op_fh3 h = {.handle_follows = fh != NULL};

	if (attr)
		a.post_op_attr_u.attributes = *attr;
	if (fh)
		h.post_op_fh3_u.handle = *fh;
	return xdr_post_op_attr(x, &a) && xdr_post_op_fh3(x, &h);
}

size_t
wire_entryplus3(char *buf, size_t room, uint64_t fileid, const char *name, u_int namelen,
		uint64_t cookie, const fattr3 *attr, const nfs_fh3 *fh)
{
	XDR x;
	size_t plain, need = wire_entryplus3_size(namelen, attr, fh);

	if (need > room || need > UINT_MAX || (fh && fh->len > WIRE_FH_MAX))
		return 0;
	plain = wire_entry3(buf, need, fileid, name, namelen, cookie);
	xdrmem_create(&x, buf + plain, (u_int)(need - plain), XDR_ENCODE);
	return plain && put_plus(&x, attr, fh) ? need : 0;
}
