/* SPDX-License-Identifier: BSD-2-Clause */
#include "arena.h"

#include <stdint.h>
#include <string.h>

void
arena_init(struct arena *a, void *base, size_t size)
{
	a->base = base;
	a->size = size;
	a->used = 0;
}

void *
arena_alloc(struct arena *a, size_t n)
{
	/* the base may have any alignment, so it is the address that is rounded up, not the offset
	 */
	size_t skip = -((uintptr_t)a->base + a->used) & 7;
	size_t left = a->size - a->used;

	if (skip > left || n > left - skip)
		return NULL;
	char *p = a->base + a->used + skip;

	a->used += skip + n;
	return memset(p, 0, n);
}

void
arena_reset(struct arena *a)
{
	a->used = 0;
}
