/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_FIGURES_H
#define NFSLOAD_FIGURES_H
/* The figures that samples give, their medians and the ratios between servers. */
#include "measure.h"

enum figure { FIG_MBS, FIG_CALLS, FIG_SRV_GB, FIG_SRV_CALL, FIG_CLI_GB, FIG_CLI_CALL, FIG_COUNT };

/* Key of a figure in JSON. */
extern const char *const figure_key[FIG_COUNT];

struct spread {
	double median, min, max; /* NaN when the figure does not exist */
};

double figure_of(const struct sample *m, enum figure f);
/* Over the rounds of a server. */
struct spread figure_spread(const struct run *r, const struct server *s, enum figure f);
/* Of the per-round ratios of s to base. */
struct spread figure_ratio(const struct run *r, const struct server *s, const struct server *base,
			   enum figure f);
const struct server *base_server(const struct run *r);

#endif
