/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PIPES_H
#define PIPES_H
/*
 * Pipes to assemble replies in. A pipe holds slots, not bytes: each file page touched, each write
 * of up to a page, takes one (pipe(7)). A pool belongs to one thread. A pipe comes back only when
 * it is drained, else it is closed: bytes left in it would reach another client.
 */
#include <stdbool.h>
#include <stddef.h>

#define PIPE_SLOT 4096

struct pipe {
	int r, w;	/* both O_NONBLOCK */
	unsigned slots; /* capacity as the kernel gave it */
	unsigned used;	/* slots taken, an upper bound until drained */
	size_t bytes;	/* in it now */
	struct pipe *next;
};

struct pipes {
	struct pipe *idle;
	unsigned nidle, nout;
	unsigned max_idle;
	unsigned min_slots; /* a pipe with fewer (pipe-user-pages-soft) is not worth having */
};

void pipes_init(struct pipes *, unsigned max_idle);
void pipes_fini(struct pipes *);
/* A drained pipe, or NULL (out of descriptors or of pipe memory): then copy. */
struct pipe *pipes_take(struct pipes *);
/* Returns a pipe; closes it if bytes are left in it. NULL is ignored. */
void pipes_give(struct pipes *, struct pipe *);

/* Slots that len bytes at offset off of a file take. */
static inline unsigned
pipe_slots(unsigned long long off, size_t len)
{
	return (unsigned)((off % PIPE_SLOT + len + PIPE_SLOT - 1) / PIPE_SLOT);
}
static inline unsigned
pipe_free(const struct pipe *p)
{
	return p->slots - p->used;
}

#endif
