/* SPDX-License-Identifier: BSD-2-Clause */
#include "hist.h"

#define SUB (1u << HIST_SUB_BITS)

static unsigned
index_of(uint64_t ns)
{
	if (!(ns >> (HIST_SUB_BITS + 1)))
		return (unsigned)ns;
	if (ns >> HIST_TOP_BIT)
		return HIST_BUCKETS - 1;
	unsigned shift = 63u - (unsigned)__builtin_clzll(ns) - HIST_SUB_BITS;
	return (shift << HIST_SUB_BITS) + (unsigned)(ns >> shift);
}

static uint64_t
middle_of(unsigned index)
{
	if (index < 2 * SUB)
		return index;
	unsigned shift = index / SUB - 1;
	uint64_t low = (uint64_t)(index % SUB + SUB) << shift;
	return low + (UINT64_C(1) << shift) / 2;
}

void
hist_add(struct hist *h, uint64_t ns)
{
	h->n++;
	h->sum += ns;
	if (ns > h->max)
		h->max = ns;
	h->bucket[index_of(ns)]++;
}

void
hist_merge(struct hist *to, const struct hist *from)
{
	to->n += from->n;
	to->sum += from->sum;
	if (from->max > to->max)
		to->max = from->max;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

uint64_t
hist_quantile(const struct hist *h, double q)
{
	uint64_t rank = (uint64_t)(q * (double)h->n);
	uint64_t seen = 0;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen > rank || (seen == h->n && seen)) {
			uint64_t middle = middle_of(i);
			return middle < h->max ? middle : h->max;
		}
	}
	return 0;
}

double
hist_mean(const struct hist *h)
{
	return h->n ? (double)h->sum / (double)h->n : 0;
}
