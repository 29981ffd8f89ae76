/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_CALLS_H
#define NFSLOAD_CALLS_H
/* The calls of one server, encoded once: sending one is copying it and patching xid and place. */
#include "opts.h"
#include "target.h"

/* A call ready but for its xid and for what stands at `patch`: the offset of READ and WRITE, the
 * eight digits of a created name, cookie and verifier of READDIRPLUS. */
struct form {
	uint8_t *p;
	size_t len;
	size_t patch;
};

struct calls {
	struct form *form[OP_COUNT]; /* one per object for GETATTR and LOOKUP, else one */
	unsigned n[OP_COUNT];
	size_t longest;
	uint8_t *payload; /* of every WRITE: o->size bytes and their pad; not part of its form */
	uint32_t payload_len;
};

/* 0, or -1 when memory ran out or a name is too long. calls_free is to be called in both cases. */
int calls_make(struct calls *c, const struct opts *o, const struct target *t);
void calls_free(struct calls *c);

#endif
