/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ARENA_H
#define ARENA_H
/*
 * Memory of one call: a bump allocator over a buffer that somebody else owns. There is no free;
 * everything ends at once, with the call. It never grows: when the buffer is used up the answer is
 * NULL.
 */
#include <stddef.h>

struct arena {
	char *base;
	size_t size, used;
};

/* Takes over size bytes at base (any alignment) until the arena is forgotten; the caller frees
 * base. */
void arena_init(struct arena *a, void *base, size_t size);
/* n zeroed bytes at an 8-aligned address, or NULL if they do not fit. n 0 is a valid address that
 * must not be written to. */
void *arena_alloc(struct arena *a, size_t n);
/* Forgets every allocation at once. */
void arena_reset(struct arena *a);

#endif
