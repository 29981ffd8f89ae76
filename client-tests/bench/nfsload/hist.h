/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_HIST_H
#define NFSLOAD_HIST_H
/*
 * A log-linear histogram of nanoseconds: every power of two is cut into 32 equal buckets, so a
 * value read back is at most 1/32 (3 %) off whatever its size, and adding one costs a shift and an
 * increment.
 */
#include <stdint.h>

#define HIST_SUB_BITS 5
#define HIST_TOP_BIT 40 /* larger values (18 minutes) count as this */
#define HIST_BUCKETS ((HIST_TOP_BIT - HIST_SUB_BITS + 2) << HIST_SUB_BITS)

struct hist {
	uint64_t n;
	uint64_t sum;
	uint64_t max;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t ns);
void hist_merge(struct hist *to, const struct hist *from);
/* The value below which the share q (0..1) of all values lies, in nanoseconds, never more than
 * max; 0 when nothing was added. */
uint64_t hist_quantile(const struct hist *h, double q);

/* Nanoseconds; 0 when nothing was added. */
double hist_mean(const struct hist *h);

#endif
