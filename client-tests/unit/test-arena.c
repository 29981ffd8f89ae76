/* SPDX-License-Identifier: BSD-2-Clause */
#include "arena.h"

#include <stdint.h>
#include <string.h>

#include "check.h"

/* Every allocation is 8-aligned, zeroed, inside the buffer and clear of the one before, whatever
 * the base's alignment. */
TEST(arena, aligned_zeroed_disjoint)
{
	char mem[512];

	for (size_t skew = 0; skew < 8; skew++) {
		struct arena a;
		char *last = mem;

		memset(mem, 0xff, sizeof mem);
		arena_init(&a, mem + skew, sizeof mem - 8);
		for (size_t n = 1; n < 20; n++) {
			char *p = arena_alloc(&a, n);

			CU_ASSERT_PTR_NOT_NULL_FATAL(p);
			CU_ASSERT_EQUAL((uintptr_t)p & 7, 0);
			CU_ASSERT(p >= last && p + n <= mem + skew + sizeof mem - 8);
			for (size_t i = 0; i < n; i++)
				CU_ASSERT_EQUAL(p[i], 0);
			memset(p, 0xff, n);
			last = p + n;
		}
	}
}

/* What does not fit is refused without using anything up, sizes near SIZE_MAX included; what fits
 * exactly is given. */
TEST(arena, bounds)
{
	_Alignas(8) char mem[64];
	struct arena a;

	arena_init(&a, mem + 1, sizeof mem - 1);
	CU_ASSERT_PTR_NULL(arena_alloc(&a, SIZE_MAX)); /* with 7 bytes to skip it would wrap */
	arena_init(&a, mem, sizeof mem);
	CU_ASSERT_PTR_NULL(arena_alloc(&a, 65));
	CU_ASSERT_PTR_NULL(arena_alloc(&a, SIZE_MAX));
	CU_ASSERT_PTR_NULL(arena_alloc(&a, SIZE_MAX - 7));
	CU_ASSERT_EQUAL(a.used, 0);
	CU_ASSERT_PTR_EQUAL(arena_alloc(&a, 64), mem);
	CU_ASSERT_PTR_NULL(arena_alloc(&a, 1));
	arena_reset(&a);
	CU_ASSERT_PTR_EQUAL(arena_alloc(&a, 57), mem);
	CU_ASSERT_PTR_NULL(arena_alloc(&a, 1)); /* the 7 bytes left begin at an odd address */
}

/* After a reset the memory is handed out again, and is zero again. */
TEST(arena, reset)
{
	_Alignas(8) char mem[64];
	struct arena a;

	arena_init(&a, mem, sizeof mem);
	memset(arena_alloc(&a, 32), 0xaa, 32);
	arena_reset(&a);
	char *p = arena_alloc(&a, 32);

	CU_ASSERT_PTR_EQUAL(p, mem);
	CU_ASSERT_EQUAL(p[0] | p[31], 0);
}
