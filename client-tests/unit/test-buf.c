/* SPDX-License-Identifier: BSD-2-Clause */
#include "buf.h"
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define KIB ((size_t)1024)

/* What is out is in the budget and nothing else: after giving back the count is where it was. */
TEST(buf, budget_follows)
{
	size_t before = budget_used();
	void *a = buf_take(100), *b = buf_take(64 * KIB + 128);

	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT(budget_used() - before >= 100 + 64 * KIB + 128);
	buf_give(a, 100);
	buf_give(b, 64 * KIB + 128);
	buf_give(NULL, 4096);
	CU_ASSERT_EQUAL(budget_used(), before);
	budget_add(5);
	budget_sub(5);
	CU_ASSERT_EQUAL(budget_used(), before);
}

/* A READ of 8 KiB, 64 KiB or 1 MiB fits with its header (up to 4 KiB), and costs at most 4 KiB more
 * than its data. */
TEST(buf, sizes_without_waste)
{
	static const size_t data[] = {8 * KIB, 64 * KIB, 1024 * KIB};

	for (size_t i = 0; i < 3; i++) {
		size_t before = budget_used(), size = data[i] + 4 * KIB;
		char *p = buf_take(size);

		CU_ASSERT_PTR_NOT_NULL_FATAL(p);
		memset(p, 1, size);
		CU_ASSERT_EQUAL(budget_used() - before, size);
		buf_give(p, size);
	}
	CU_ASSERT_PTR_NULL(buf_take(1024 * KIB + 4 * KIB + 1));
	CU_ASSERT_PTR_NULL(buf_take(SIZE_MAX));
}

/* The last one given back is the next one taken, whatever size of its class is asked for. */
TEST(buf, last_in_first_out)
{
	void *a = buf_take(8 * KIB), *b = buf_take(8 * KIB);

	buf_give(a, 8 * KIB);
	buf_give(b, 8 * KIB);
	CU_ASSERT_PTR_EQUAL(buf_take(7 * KIB), b);
	CU_ASSERT_PTR_EQUAL(buf_take(8 * KIB), a);
	buf_give(a, 8 * KIB);
	buf_give(b, 7 * KIB);
	buf_trim();
}

/* The default limit stays between its bounds and the limit is what was set. */
TEST(buf, limit)
{
	size_t before = budget_limit(), d = budget_default();

	CU_ASSERT(d >= 32 * KIB * KIB && d <= 1024 * KIB * KIB);
	budget_set_limit(12345678);
	CU_ASSERT_EQUAL(budget_limit(), 12345678);
	budget_set_limit(before);
}

static void *
churn(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < 20000; i++) {
		size_t size = 1 + (size_t)(seed = seed * 1103515245 + 12345) % (300 * KIB);
		unsigned char *p = buf_take(size);

		if (!p)
			return (void *)1;
		p[0] = p[size - 1] = (unsigned char)i;
		if (p[0] != (unsigned char)i)
			return (void *)1;
		buf_give(p, size);
	}
	return NULL;
}

/* Threads that take and give at random never share a buffer and leave the budget as it was. */
TEST(buf, threads)
{
	size_t before = budget_used();
	pthread_t t[4];
	void *bad;

	for (uintptr_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&t[i], NULL, churn, (void *)(i + 1)), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &bad);
		CU_ASSERT_PTR_NULL(bad);
	}
	CU_ASSERT_EQUAL(budget_used(), before);
	buf_trim();
}
