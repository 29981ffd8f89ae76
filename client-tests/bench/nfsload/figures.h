/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_FIGURES_H
#define NFSLOAD_FIGURES_H
/* The figures that samples give, their medians and the ratios between servers. */
#include "measure.h"

enum figure {
	FIG_MBS,
	FIG_CALLS,
	FIG_ENTRIES,
	FIG_SRV_GB,
	FIG_SRV_CALL,
	FIG_CLI_GB,
	FIG_CLI_CALL,
	FIG_COUNT
};

/* Key of a figure in JSON. */
extern const char *const figure_key[FIG_COUNT];

/* NaN when the figure does not exist */
struct spread {
	double median, min, max;
	double low, high; /* the median's interval of confidence */
};

/*
 * The median of n values lies between the k-th smallest and the k-th largest of them with a
 * confidence that only n and k decide, whatever the distribution: the chance that fewer than k of n
 * fair coins show heads is what is lost on each side. Sets k to the largest (narrowest) that keeps
 * 95 %, or to 1 where no k does; returns the confidence.
 */
double median_interval(unsigned n, unsigned *k);

double figure_of(const struct sample *m, enum figure f);
/* Over the rounds of a server. */
struct spread figure_spread(const struct run *r, const struct server *s, enum figure f);
/* Of the per-round ratios of s to base. */
struct spread figure_ratio(const struct run *r, const struct server *s, const struct server *base,
			   enum figure f);
const struct server *base_server(const struct run *r);

#endif
