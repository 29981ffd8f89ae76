/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_CALLS_H
#define NFSLOAD_CALLS_H
/* The calls of one server, encoded once: sending one is copying it and patching xid, offset and
 * count. */
#include "target.h"

struct bytes {
	uint8_t *p;
	size_t len;
};

struct calls {
	struct bytes *each; /* one per object; READ and NULL have one */
	unsigned n;
	size_t longest;
};

/* 0, or -1 when memory ran out or a name is too long. */
int calls_make(struct calls *c, const struct opts *o, const struct target *t);
void calls_free(struct calls *c);

#endif
