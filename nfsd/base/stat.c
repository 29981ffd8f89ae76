/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters. A thread finds its block through a thread-local pointer and is its only writer, so an
 * add is a relaxed load and a relaxed store, no locked instruction. Blocks are never freed: what a
 * thread counted stays in the sum after it ended. Should memory for a block be gone, the thread
 * shares one spare block: counts may then be lost, nothing else.
 */
#include "stat.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RELAXED __ATOMIC_RELAXED

static struct {
	pthread_mutex_t lock; /* the list's shape; not the counts */
	struct stat_block *first;
	struct stat_block spare;
	_Bool spare_listed;
} blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct stat_block *mine;

static struct stat_block *
new_block(void)
{
	struct stat_block *b =
	    aligned_alloc(64, (sizeof *b + 63) / 64 * 64); /* no shared cache lines */

	if (b)
		memset(b, 0, sizeof *b);
	pthread_mutex_lock(&blocks.lock);
	if (!b)
		b = &blocks.spare;
	if (b != &blocks.spare || !blocks.spare_listed) {
		b->next = blocks.first;
		blocks.first = b;
	}
	if (b == &blocks.spare)
		blocks.spare_listed = 1;
	pthread_mutex_unlock(&blocks.lock);
	return b;
}

struct stat_block *
stat_self(void)
{
	if (__builtin_expect(!mine, 0))
		mine = new_block();
	return mine;
}

static void
bump(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, __atomic_load_n(counter, RELAXED) + n, RELAXED);
}

void
stat_add(enum stat_id id, uint64_t n)
{
	bump(&stat_self()->count[id], n);
}

/* floor(2 log2(us)) without floating point: the square of the microseconds is ns * ns / 10^6. */
static unsigned
bucket_of(uint64_t ns)
{
	uint64_t square;
	unsigned b;

	if (ns >> 32)
		return STAT_BUCKETS - 1;
	square = ns * ns / 1000000;
	b = square ? 63 - (unsigned)__builtin_clzll(square) : 0;
	return b < STAT_BUCKETS ? b : STAT_BUCKETS - 1;
}

void
stat_call(unsigned row, int error, uint64_t bytes, uint64_t ns)
{
	struct stat_row *r;

	if (row >= STAT_ROWS)
		return;
	r = &stat_self()->row[row];
	bump(&r->calls, 1);
	if (error)
		bump(&r->errors, 1);
	bump(&r->bytes, bytes);
	bump(&r->latency_ns, ns);
	bump(&r->bucket[bucket_of(ns)], 1);
}

double
stat_bucket_us(unsigned bucket)
{
	unsigned halves = bucket + 1;

	return (double)(1ULL << halves / 2 % 64) * (halves % 2 ? 1.4142135623730951 : 1.0);
}

double
stat_percentile_us(const uint64_t bucket[STAT_BUCKETS], double share)
{
	double total = 0, seen = 0, rank;

	for (unsigned i = 0; i < STAT_BUCKETS; i++)
		total += (double)bucket[i];
	rank = share * total;
	for (unsigned i = 0; i < STAT_BUCKETS; i++) {
		double n = (double)bucket[i], low = i ? stat_bucket_us(i - 1) : 0;

		if (n > 0 && seen + n >= rank)
			return low + (stat_bucket_us(i) - low) * (rank - seen) / n;
		seen += n;
	}
	return 0;
}

static void
sum_row(struct stat_row *to, const struct stat_row *from)
{
	to->calls += __atomic_load_n(&from->calls, RELAXED);
	to->errors += __atomic_load_n(&from->errors, RELAXED);
	to->bytes += __atomic_load_n(&from->bytes, RELAXED);
	to->latency_ns += __atomic_load_n(&from->latency_ns, RELAXED);
	for (unsigned i = 0; i < STAT_BUCKETS; i++)
		to->bucket[i] += __atomic_load_n(&from->bucket[i], RELAXED);
}

void
stat_sum(struct stat_block *out)
{
	memset(out, 0, sizeof *out);
	pthread_mutex_lock(&blocks.lock);
	for (const struct stat_block *b = blocks.first; b; b = b->next) {
		for (unsigned i = 0; i < ST_N; i++)
			out->count[i] += __atomic_load_n(&b->count[i], RELAXED);
		for (unsigned i = 0; i < STAT_ROWS; i++)
			sum_row(&out->row[i], &b->row[i]);
	}
	pthread_mutex_unlock(&blocks.lock);
}

const char *
stat_name(enum stat_id id)
{
	static const char *const names[ST_N] = {
#define X(id, name) [ST_##id] = name,
	    STAT_LIST(X)
#undef X
	};

	return (unsigned)id < ST_N ? names[id] : "unknown";
}
