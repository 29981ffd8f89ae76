/* SPDX-License-Identifier: BSD-2-Clause */
#include "reply.h"

#include <stdio.h>

#define FATTR3 84
#define WCC_BEFORE 24
#define NAME_LIMIT 255

static int
broken(char err[RPC_ERR], const char *what)
{
	snprintf(err, RPC_ERR, "a broken reply: %s", what);
	return -1;
}

static bool
skip_attr(struct dec *d)
{
	bool given = dec_u32(d) != 0;
	if (given)
		dec_bytes(d, FATTR3);
	return given;
}

static void
skip_wcc(struct dec *d)
{
	if (dec_u32(d))
		dec_bytes(d, WCC_BEFORE);
	skip_attr(d);
}

/* Not complete yet is no error: the caller looks at d->over. */
static int
skip_fh(struct dec *d, char err[RPC_ERR])
{
	size_t n;
	struct dec before = *d;
	uint32_t len = dec_u32(&before);
	if (!before.over && (len == 0 || len > 64))
		return broken(err, "a file handle of 0 or more than 64 bytes");
	dec_opaque(d, 64, &n);
	return 0;
}

/* After the attributes: count, eof, length. */
static int
read_ok(struct dec *d, struct head *h, char err[RPC_ERR])
{
	h->attrs = skip_attr(d);
	h->count = dec_u32(d);
	h->eof = dec_u32(d) != 0;
	uint32_t n = dec_u32(d);
	if (d->over || n == h->count)
		return 0;
	snprintf(err, RPC_ERR, "a broken reply: READ says count %u but carries %u bytes", h->count,
		 n);
	return -1;
}

static int
create_ok(struct dec *d, char err[RPC_ERR])
{
	if (dec_u32(d) && skip_fh(d, err))
		return -1;
	skip_attr(d);
	skip_wcc(d);
	return 0;
}

static int
success(struct dec *d, struct head *h, char err[RPC_ERR])
{
	switch (h->op) {
	case OP_GETATTR:
		dec_bytes(d, FATTR3);
		return 0;
	case OP_LOOKUP:
		if (skip_fh(d, err))
			return -1;
		skip_attr(d); /* of the object; of the directory: */
		skip_attr(d);
		return 0;
	case OP_READ:
		return read_ok(d, h, err);
	case OP_CREATE:
		return create_ok(d, err);
	case OP_READDIRPLUS:
		skip_attr(d);
		h->verf = dec_u64(d);
		h->body = true;
		return 0;
	case OP_WRITE:
	case OP_COMMIT:
	case OP_REMOVE:
		skip_wcc(d);
		if (h->op == OP_WRITE) {
			h->count = dec_u32(d);
			dec_u32(d); /* how stable */
		}
		h->verf = h->op == OP_REMOVE ? 0 : dec_u64(d);
		return 0;
	case OP_NULL:
	case OP_COUNT:
		break;
	}
	return 0;
}

int
reply_results(struct dec *d, struct head *h, char err[RPC_ERR])
{
	if (h->op == OP_NULL)
		return 0;
	h->status = dec_u32(d);
	if (d->over)
		return 0;
	if (!h->status)
		return success(d, h, err);
	if (op_table[h->op].failure == FAIL_ATTR)
		skip_attr(d);
	if (op_table[h->op].failure == FAIL_WCC)
		skip_wcc(d);
	return 0;
}

static int
entry(struct dec *d, struct listing *l, char err[RPC_ERR])
{
	size_t n;
	dec_u64(d); /* fileid */
	dec_opaque(d, NAME_LIMIT, &n);
	l->cookie = dec_u64(d);
	skip_attr(d);
	if (dec_u32(d) && skip_fh(d, err))
		return -1;
	l->entries++;
	return 0;
}

int
reply_listing(const uint8_t *p, size_t n, struct listing *l, char err[RPC_ERR])
{
	struct dec d = {.p = p, .left = n};
	*l = (struct listing){0};
	while (dec_u32(&d)) {
		if (entry(&d, l, err))
			return -1;
		if (d.over)
			return broken(err, "a directory list that ends inside an entry");
	}
	l->eof = dec_u32(&d) != 0;
	if (d.over || d.left)
		return broken(err, "a directory list of the wrong length");
	return 0;
}
