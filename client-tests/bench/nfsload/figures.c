/* SPDX-License-Identifier: BSD-2-Clause */
#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const figure_key[FIG_COUNT] = {
    [FIG_MBS] = "mb_per_s",
    [FIG_CALLS] = "calls_per_s",
    [FIG_ENTRIES] = "entries_per_s",
    [FIG_SRV_GB] = "server_cpu_s_per_gb",
    [FIG_SRV_CALL] = "server_cpu_us_per_call",
    [FIG_CLI_GB] = "client_cpu_s_per_gb",
    [FIG_CLI_CALL] = "client_cpu_us_per_call",
};

static double
quotient(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static const struct spread nothing = {NAN, NAN, NAN, NAN, NAN};

double
figure_of(const struct sample *m, enum figure f)
{
	double calls = (double)m->calls;
	double bytes = (double)m->bytes;
	double server = m->server_ns > 0 ? (double)m->server_ns : NAN;
	double client = (double)m->client_ns;
	switch (f) {
	case FIG_MBS:
		return quotient(bytes > 0 ? bytes / 1e6 : NAN, m->seconds);
	case FIG_CALLS:
		return quotient(calls, m->seconds);
	case FIG_ENTRIES:
		return quotient(m->entries ? (double)m->entries : NAN, m->seconds);
	case FIG_SRV_GB:
		return quotient(server, bytes); /* ns per byte are seconds per 10^9 bytes */
	case FIG_SRV_CALL:
		return quotient(server / 1e3, calls);
	case FIG_CLI_GB:
		return quotient(client, bytes);
	case FIG_CLI_CALL:
		return quotient(client / 1e3, calls);
	case FIG_COUNT:
		break;
	}
	return NAN;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double
median_interval(unsigned n, unsigned *k)
{
	double term = pow(.5, n), tail = term; /* P(X = 0), then P(X < k) of a fair coin */
	double lost = tail;
	*k = 1;
	while (2 * (*k + 1) <= n) {
		term *= (double)(n - *k + 1) / *k;
		tail += term;
		if (2 * tail > .05)
			break;
		lost = tail;
		++*k;
	}
	return 1 - 2 * lost;
}

static struct spread
spread_of(double *v, unsigned n)
{
	unsigned k;
	for (unsigned i = 0; i < n; i++)
		if (isnan(v[i]))
			return nothing;
	qsort(v, n, sizeof *v, by_value);
	median_interval(n, &k);
	return (struct spread){
	    .low = v[k - 1],
	    .high = v[n - k],
	    .median = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2,
	    .min = v[0],
	    .max = v[n - 1],
	};
}

static struct spread
spread_over_rounds(const struct run *r, const struct server *s, const struct server *base,
		   enum figure f)
{
	unsigned n = r->o->rounds;
	double *v = calloc(n, sizeof *v);
	if (!v)
		return nothing;
	for (unsigned i = 0; i < n; i++) {
		v[i] = figure_of(&s->sample[i], f);
		if (base)
			v[i] = quotient(v[i], figure_of(&base->sample[i], f));
	}
	struct spread sp = spread_of(v, n);
	free(v);
	return sp;
}

struct spread
figure_spread(const struct run *r, const struct server *s, enum figure f)
{
	return spread_over_rounds(r, s, NULL, f);
}

struct spread
figure_ratio(const struct run *r, const struct server *s, const struct server *base, enum figure f)
{
	return spread_over_rounds(r, s, base, f);
}

const struct server *
base_server(const struct run *r)
{
	for (unsigned i = 0; r->o->base && i < r->nservers; i++)
		if (!strcmp(r->server[i].target.spec->name, r->o->base))
			return &r->server[i];
	return &r->server[0];
}
