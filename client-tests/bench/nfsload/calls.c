/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

static void
encode(struct enc *e, const struct opts *o, const struct target *t, const struct object *obj)
{
	static const uint32_t proc[] = {
	    [OP_NULL] = 0, [OP_GETATTR] = 1, [OP_LOOKUP] = 3, [OP_READ] = 6};
	rpc_begin(e, 0, PROG_NFS, 3, proc[o->op], &o->cred);
	switch (o->op) {
	case OP_NULL:
		break;
	case OP_GETATTR:
		enc_opaque(e, obj->fh.data, obj->fh.len);
		break;
	case OP_LOOKUP:
		enc_opaque(e, t->dir.data, t->dir.len);
		enc_string(e, obj->name);
		break;
	case OP_READ:
		enc_opaque(e, t->file.fh.data, t->file.fh.len);
		enc_u64(e, 0); /* offset, patched */
		enc_u32(e, o->size);
		break;
	}
	rpc_end(e);
}

int
calls_make(struct calls *c, const struct opts *o, const struct target *t)
{
	bool single = o->op == OP_READ || o->op == OP_NULL;
	*c = (struct calls){.n = single ? 1 : t->nobjects};
	c->each = calloc(c->n, sizeof *c->each);
	for (unsigned i = 0; c->each && i < c->n; i++) {
		uint8_t buf[1024] = {0};
		struct enc e = {.base = buf, .cap = sizeof buf};
		encode(&e, o, t, &t->object[i]);
		c->each[i].p = e.over ? NULL : malloc(e.len);
		if (!c->each[i].p)
			return -1;
		memcpy(c->each[i].p, buf, e.len);
		c->each[i].len = e.len;
		if (e.len > c->longest)
			c->longest = e.len;
	}
	return c->each ? 0 : -1;
}

void
calls_free(struct calls *c)
{
	for (unsigned i = 0; c->each && i < c->n; i++)
		free(c->each[i].p);
	free(c->each);
}
