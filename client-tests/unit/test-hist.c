/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/nfsload/hist.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

static struct hist *
empty(void)
{
	struct hist *h = calloc(1, sizeof *h);
	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	return h;
}

/* With nothing in it every quantile and the mean are 0. */
TEST(hist, empty)
{
	struct hist *h = empty();
	CU_ASSERT_EQUAL(hist_quantile(h, 0), 0);
	CU_ASSERT_EQUAL(hist_quantile(h, .999), 0);
	CU_ASSERT_EQUAL(hist_quantile(h, 1), 0);
	CU_ASSERT_EQUAL(hist_mean(h), 0);
	free(h);
}

/* Below 64 ns every value has a bucket of its own: quantiles are the sorted values themselves, in
 * whatever order they came. */
TEST(hist, small_values_exact)
{
	struct hist *h = empty();
	for (unsigned i = 0; i < 64; i++)
		hist_add(h, i * 37 % 64); /* 37 and 64 have no common divisor: each once */
	for (unsigned i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(hist_quantile(h, i / 64.0), i);
	CU_ASSERT_EQUAL(hist_quantile(h, 1), 63);
	CU_ASSERT_EQUAL(h->n, 64);
	CU_ASSERT_EQUAL(hist_mean(h), 31.5);
	free(h);
}

/* Of 1,000 values with one outlier p99 does not see it and p99.9 does; with one more quick value
 * p99.9 does not. */
TEST(hist, one_in_a_thousand)
{
	struct hist *h = empty();
	for (unsigned i = 0; i < 999; i++)
		hist_add(h, 10);
	hist_add(h, 50);
	CU_ASSERT_EQUAL(hist_quantile(h, .5), 10);
	CU_ASSERT_EQUAL(hist_quantile(h, .99), 10);
	CU_ASSERT_EQUAL(hist_quantile(h, .999), 50);
	hist_add(h, 10);
	CU_ASSERT_EQUAL(hist_quantile(h, .999), 10);
	CU_ASSERT_EQUAL(hist_quantile(h, 1), 50);
	free(h);
}

/* A large value comes back at most 1/64 off, at and around every power of two, and never above the
 * largest that was added. */
TEST(hist, large_values_within_bound)
{
	struct hist *h = empty();
	for (unsigned bit = 6; bit < HIST_TOP_BIT; bit++) {
		for (int off = -1; off <= 1; off++) {
			uint64_t v = (UINT64_C(1) << bit) + (uint64_t)(int64_t)off;
			memset(h, 0, sizeof *h);
			hist_add(h, v);
			uint64_t back = hist_quantile(h, .5);
			CU_ASSERT(back <= v);
			CU_ASSERT((v - back) * 64 <= v);
		}
		memset(h, 0, sizeof *h);
		hist_add(h, (UINT64_C(1) << bit) + 1);
		hist_add(h, UINT64_C(1) << (HIST_TOP_BIT - 1)); /* out of the way of the limit */
		uint64_t back = hist_quantile(h, .25), v = (UINT64_C(1) << bit) + 1;
		CU_ASSERT((back > v ? back - v : v - back) * 64 <= v);
	}
	free(h);
}

/* What is longer than the histogram reaches is counted in its last bucket, and the maximum stays
 * exact. */
TEST(hist, beyond_the_top)
{
	struct hist *h = empty();
	hist_add(h, UINT64_C(1) << HIST_TOP_BIT);
	hist_add(h, UINT64_MAX / 4);
	CU_ASSERT_EQUAL(h->bucket[HIST_BUCKETS - 1], 2);
	CU_ASSERT_EQUAL(h->n, 2);
	CU_ASSERT_EQUAL(h->max, UINT64_MAX / 4);
	CU_ASSERT(hist_quantile(h, .5) >= UINT64_C(1) << (HIST_TOP_BIT - 1));
	free(h);
}

/* Parts that are merged, in either order, are bit for bit the histogram of all values together. */
TEST(hist, merge)
{
	struct hist *all = empty(), *odd = empty(), *even = empty(), *sum = empty();
	uint64_t v = 1;
	for (unsigned i = 0; i < 10000; i++) {
		v = v * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		uint64_t ns = v >> (24 + v % 40);
		hist_add(all, ns);
		hist_add(i % 2 ? odd : even, ns);
	}
	hist_merge(sum, odd);
	hist_merge(sum, even);
	CU_ASSERT_EQUAL(memcmp(sum, all, sizeof *all), 0);
	hist_merge(even, odd);
	CU_ASSERT_EQUAL(memcmp(even, all, sizeof *all), 0);
	free(all);
	free(odd);
	free(even);
	free(sum);
}
