/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "stat.h"
#include <pthread.h>
#include <string.h>

#define ROUNDS 100000

static void *
count(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		stat_inc(ST_OBJ_HIT);
		stat_call(STAT_MOUNT, i & 1, 3, 1000);
	}
	return NULL;
}

/* The sum holds every thread's counts, of threads that have ended too, and may be read while they
 * count. */
TEST(stat, sum_of_threads)
{
	struct stat_block before, now;
	pthread_t t[4];

	stat_sum(&before);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&t[i], NULL, count, NULL), 0);
	stat_sum(&now);
	CU_ASSERT(now.count[ST_OBJ_HIT] - before.count[ST_OBJ_HIT] <= 4 * ROUNDS);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	stat_sum(&now);
	CU_ASSERT_EQUAL(now.count[ST_OBJ_HIT] - before.count[ST_OBJ_HIT], 4 * ROUNDS);
	CU_ASSERT_EQUAL(now.row[STAT_MOUNT].calls - before.row[STAT_MOUNT].calls, 4 * ROUNDS);
	CU_ASSERT_EQUAL(now.row[STAT_MOUNT].errors - before.row[STAT_MOUNT].errors, 2 * ROUNDS);
	CU_ASSERT_EQUAL(now.row[STAT_MOUNT].bytes - before.row[STAT_MOUNT].bytes, 12 * ROUNDS);
}

/* The bucket in which a call of ns nanoseconds was counted. */
static unsigned
bucket_counted(uint64_t ns)
{
	struct stat_block *self = stat_self();
	uint64_t before[STAT_BUCKETS];

	memcpy(before, self->row[31].bucket, sizeof before);
	stat_call(31, 0, 0, ns);
	for (unsigned i = 0; i < STAT_BUCKETS; i++)
		if (self->row[31].bucket[i] != before[i])
			return i;
	return STAT_BUCKETS;
}

/* A latency falls into the bucket whose lower and upper edges enclose it; the first and the last
 * take what is outside. */
TEST(stat, buckets)
{
	for (uint64_t ns = 1000; ns < 1000000000; ns = ns * 5 / 4 + 1) {
		unsigned b = bucket_counted(ns);

		CU_ASSERT((double)ns / 1000 < stat_bucket_us(b));
		if (b > 0)
			CU_ASSERT((double)ns / 1000 >= stat_bucket_us(b - 1) * 0.999999);
	}
	CU_ASSERT_EQUAL(bucket_counted(0), 0);
	CU_ASSERT_EQUAL(bucket_counted(999), 0);
	CU_ASSERT_EQUAL(bucket_counted(UINT64_MAX), STAT_BUCKETS - 1);
	CU_ASSERT_EQUAL(bucket_counted(3600ULL * 1000000000), STAT_BUCKETS - 1);
	CU_ASSERT_EQUAL(stat_bucket_us(1), 2.0);
	CU_ASSERT_EQUAL(stat_bucket_us(STAT_BUCKETS - 1), 1048576.0);
}

/* A percentile lies in the bucket that holds it, and an empty set has none. */
TEST(stat, percentile)
{
	uint64_t bucket[STAT_BUCKETS] = {0};

	CU_ASSERT_EQUAL(stat_percentile_us(bucket, 0.5), 0);
	bucket[10] = 98;
	bucket[20] = 2;
	CU_ASSERT(stat_percentile_us(bucket, 0.5) > stat_bucket_us(9));
	CU_ASSERT(stat_percentile_us(bucket, 0.5) < stat_bucket_us(10));
	CU_ASSERT(stat_percentile_us(bucket, 0.99) > stat_bucket_us(19));
	CU_ASSERT(stat_percentile_us(bucket, 0.99) <= stat_bucket_us(20));
	CU_ASSERT_EQUAL(stat_percentile_us(bucket, 1.0), stat_bucket_us(20));
}

/* A row out of range is not counted anywhere. */
TEST(stat, row_out_of_range)
{
	struct stat_block before, now;

	stat_sum(&before);
	stat_call(STAT_ROWS, 1, 1, 1);
	stat_call(~0u, 1, 1, 1);
	stat_sum(&now);
	CU_ASSERT_EQUAL(memcmp(before.row, now.row, sizeof now.row), 0);
}

/* Every counter has a name, and no two have the same. */
TEST(stat, names)
{
	for (int i = 0; i < ST_N; i++) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(stat_name((enum stat_id)i));
		for (int j = 0; j < i; j++)
			CU_ASSERT_STRING_NOT_EQUAL(stat_name((enum stat_id)i),
						   stat_name((enum stat_id)j));
	}
}
