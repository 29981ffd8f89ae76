/* SPDX-License-Identifier: BSD-2-Clause */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name that no other process, and with the eight digits no other slot of this one, uses. */
static void
own_name(struct enc *e, struct form *f)
{
	char name[32];
	int n = snprintf(name, sizeof name, ".nfsload-%08x-00000000", (unsigned)getpid());
	enc_string(e, name);
	f->patch = e->len - xdr_pad((uint32_t)n) - 8;
}

/* CREATE, UNCHECKED, with mode 0600 and nothing else set */
static void
create_how(struct enc *e)
{
	static const uint32_t words[] = {0, 1, 0600, 0, 0, 0, 0, 0};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		enc_u32(e, words[i]);
}

static void
args(struct enc *e, struct form *f, enum op op, const struct opts *o, const struct target *t,
     const struct object *obj)
{
	switch (op) {
	case OP_GETATTR:
		enc_opaque(e, obj->fh.data, obj->fh.len);
		break;
	case OP_LOOKUP:
		enc_opaque(e, t->dir.data, t->dir.len);
		enc_string(e, obj->name);
		break;
	case OP_READ:
	case OP_WRITE:
	case OP_COMMIT: /* offset and count 0: the whole file */
		if (op == OP_READ && o->spread)
			enc_opaque(e, obj->fh.data, obj->fh.len);
		else
			enc_opaque(e, t->file.fh.data, t->file.fh.len);
		f->patch = e->len;
		enc_u64(e, 0);
		enc_u32(e, op == OP_COMMIT ? 0 : o->size);
		if (op == OP_WRITE)
			enc_u32(e, o->stable);
		if (op == OP_WRITE)
			enc_u32(e, o->size); /* length of the data, which follows from elsewhere */
		break;
	case OP_CREATE:
	case OP_REMOVE:
		enc_opaque(e, t->dir.data, t->dir.len);
		own_name(e, f);
		if (op == OP_CREATE)
			create_how(e);
		break;
	case OP_READDIRPLUS:
		enc_opaque(e, t->dir.data, t->dir.len);
		f->patch = e->len;
		enc_u64(e, 0); /* cookie */
		enc_u64(e, 0); /* verifier */
		enc_u32(e, o->listing);
		enc_u32(e, o->listing);
		break;
	case OP_NULL:
	case OP_COUNT:
		break;
	}
}

static int
make_form(struct calls *c, enum op op, unsigned i, const struct opts *o, const struct target *t)
{
	uint8_t buf[1024] = {0};
	struct enc e = {.base = buf, .cap = sizeof buf};
	struct form *f = &c->form[op][i];
	rpc_begin(&e, 0, PROG_NFS, 3, op_table[op].proc, &o->cred);
	args(&e, f, op, o, t, &t->object[i]);
	rpc_end(&e);
	if (op == OP_WRITE) /* the record holds the payload too */
		put_be32(buf, get_be32(buf) + c->payload_len);
	f->p = e.over ? NULL : malloc(e.len);
	if (!f->p)
		return -1;
	memcpy(f->p, buf, e.len);
	f->len = e.len;
	if (e.len > c->longest)
		c->longest = e.len;
	return 0;
}

/* Bytes that no file system compresses away. */
static int
make_payload(struct calls *c, const struct opts *o)
{
	uint64_t x = 0x9e3779b97f4a7c15u;
	c->payload_len = o->size + xdr_pad(o->size);
	c->payload = calloc(1, c->payload_len);
	for (uint32_t i = 0; c->payload && i < o->size; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		c->payload[i] = (uint8_t)x;
	}
	return c->payload ? 0 : -1;
}

int
calls_make(struct calls *c, const struct opts *o, const struct target *t)
{
	*c = (struct calls){0};
	if (opts_has(o, OP_WRITE) && make_payload(c, o))
		return -1;
	for (enum op op = 0; op < OP_COUNT; op++) {
		if (!opts_has(o, op))
			continue;
		bool many = op == OP_GETATTR || op == OP_LOOKUP || (op == OP_READ && o->spread);
		unsigned n = many ? t->nobjects : 1;
		c->form[op] = calloc(n, sizeof *c->form[op]);
		if (!c->form[op])
			return -1;
		for (c->n[op] = 0; c->n[op] < n; c->n[op]++)
			if (make_form(c, op, c->n[op], o, t))
				return -1;
	}
	return 0;
}

void
calls_free(struct calls *c)
{
	for (enum op op = 0; op < OP_COUNT; op++) {
		for (unsigned i = 0; i < c->n[op]; i++)
			free(c->form[op][i].p);
		free(c->form[op]);
	}
	free(c->payload);
}
