/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <math.h>
#include <stdio.h>

#include "figures.h"

static const struct {
	enum figure f;
	const char *title;
	int decimals;
	bool spread; /* show the interval */
} columns[] = {
    {FIG_MBS, "MB/s", 0, true},
    {FIG_CALLS, "calls/s", 0, false},
    {FIG_ENTRIES, "entries/s", 0, true},
    {FIG_SRV_GB, "server s/GB", 3, true},
    {FIG_SRV_CALL, "server us/call", 2, true},
    {FIG_CLI_GB, "client s/GB", 3, false},
    {FIG_CLI_CALL, "client us/call", 2, false},
};
#define COLUMNS (sizeof columns / sizeof *columns)

static bool
shown(const struct run *r, enum figure f)
{
	bool per_byte = f == FIG_MBS || f == FIG_SRV_GB || f == FIG_CLI_GB;
	if (f == FIG_ENTRIES)
		return opts_has(r->o, OP_READDIRPLUS);
	return opts_has_data(r->o) || !per_byte;
}

static int
width_of(size_t col)
{
	return columns[col].spread ? 24 : 14;
}

static void
print_cell(struct spread v, int decimals, bool spread, int width)
{
	char text[96];
	if (isnan(v.median))
		snprintf(text, sizeof text, "-");
	else if (spread)
		snprintf(text, sizeof text, "%.*f [%.*f..%.*f]", decimals, v.median, decimals,
			 v.low, decimals, v.high);
	else
		snprintf(text, sizeof text, "%.*f", decimals, v.median);
	printf(" %*s", width, text);
}

static void
print_mix(const struct opts *o)
{
	const char *comma = "";
	for (enum op op = 0; op < OP_COUNT; op++) {
		if (!o->weight[op])
			continue;
		printf("%s%s", comma, op_table[op].name);
		if (o->weights > o->weight[op])
			printf(" %.3g %%", 100.0 * o->weight[op] / o->weights);
		comma = ", ";
	}
}

static void
print_heading(const struct run *r)
{
	static const char *const stable[] = {"UNSTABLE", "DATA_SYNC", "FILE_SYNC"};
	const struct opts *o = r->o;
	unsigned k;
	print_mix(o);
	if (opts_has_data(o))
		printf(" of %u bytes, %s%s", o->size, o->random ? "random" : "cyclic",
		       o->shift ? " (shifted)" : "");
	if (opts_has(o, OP_READ))
		printf(", data %s", o->verify || o->pattern ? "verified" : "discarded");
	if (opts_has(o, OP_WRITE))
		printf(", %s", stable[o->stable]);
	printf("\n%u connection%s x %u in flight, ", o->conns, o->conns > 1 ? "s" : "", o->depth);
	if (o->rate > 0)
		printf("open loop at %g/s%s, ", o->rate, o->poisson ? " (Poisson)" : "");
	printf("%u round%s of ", o->rounds, o->rounds > 1 ? "s" : "");
	if (o->calls)
		printf("%llu operations", (unsigned long long)o->calls);
	else
		printf("%g s", o->seconds);
	printf("; [interval of the median, %.3g %%]\n", 100 * median_interval(o->rounds, &k));
}

static void
print_figures(const struct run *r)
{
	printf("%-12s", "median");
	for (size_t c = 0; c < COLUMNS; c++)
		if (shown(r, columns[c].f))
			printf(" %*s", width_of(c), columns[c].title);
	printf("\n");
	for (unsigned i = 0; i < r->nservers; i++) {
		const struct server *s = &r->server[i];
		printf("%-12s", s->target.spec->name);
		for (size_t c = 0; c < COLUMNS; c++)
			if (shown(r, columns[c].f))
				print_cell(figure_spread(r, s, columns[c].f), columns[c].decimals,
					   columns[c].spread, width_of(c));
		printf("\n");
	}
}

static double
per(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static void
print_quantiles(const char *name, const char *what, const struct hist *h)
{
	static const double q[] = {.5, .9, .99, .999};
	printf("%-12s %-12s", name, what);
	for (size_t i = 0; i < sizeof q / sizeof *q; i++)
		printf(" %10.0f", (double)hist_quantile(h, q[i]) / 1e3);
	printf(" %10.0f\n", (double)h->max / 1e3);
}

static void
print_latency(const struct run *r)
{
	printf("%-12s %-12s %10s %10s %10s %10s %10s\n", "latency, us", "", "p50", "p90", "p99",
	       "p99.9", "most");
	for (unsigned i = 0; i < r->nservers; i++) {
		const struct tally *t = &r->server[i].tally;
		const char *name = r->server[i].target.spec->name;
		for (enum op op = 0; op < OP_COUNT; op++)
			if (t->latency[op].n)
				print_quantiles(name, op_table[op].name, &t->latency[op]);
		if (t->lag.n)
			print_quantiles(name, "(our lag)", &t->lag);
	}
}

/* How calls were batched on our side: the same for all if the comparison is fair. */
static void
print_batching(const struct run *r)
{
	printf("%-12s %16s %12s %12s\n", "batching", "replies/wake-up", "recv/reply", "calls/send");
	for (unsigned i = 0; i < r->nservers; i++) {
		const struct tally *t = &r->server[i].tally;
		printf("%-12s %16.2f %12.2f %12.2f\n", r->server[i].target.spec->name,
		       per(t->calls, t->wakeups), per(t->recvs, t->calls), per(t->calls, t->sends));
	}
}

/* How much of what was measured is ourselves. */
static void
print_sink(const struct run *r)
{
	if (!r->o->sink)
		return;
	const struct server *sink = &r->server[r->nservers - 1];
	double most = figure_spread(r, sink, FIG_CALLS).median;
	printf("this client: %.2f us of CPU per call, %.0f calls/s at most (against the sink)\n",
	       figure_spread(r, sink, FIG_CLI_CALL).median, most);
	for (unsigned i = 0; i + 1 < r->nservers; i++) {
		const struct server *s = &r->server[i];
		double share = figure_spread(r, s, FIG_CALLS).median / most;
		if (share > .7 && r->o->rate <= 0)
			printf("%s: at %.0f %% of what this client can do: its rate is ours, look "
			       "at its CPU\n",
			       s->target.spec->name, 100 * share);
	}
}

static void
print_ratios(const struct run *r)
{
	const struct server *base = base_server(r);
	if (r->nservers < 2)
		return;
	printf("%-12s %28s %28s\n", "ratio", "rate", "server CPU per call");
	for (unsigned i = 0; i < r->nservers; i++) {
		const struct server *s = &r->server[i];
		if (s == base)
			continue;
		printf("%-12s", s->target.spec->name);
		print_cell(figure_ratio(r, s, base, FIG_CALLS), 2, true, 28);
		print_cell(figure_ratio(r, s, base, FIG_SRV_CALL), 2, true, 28);
		printf("  to %s\n", base->target.spec->name);
	}
}

static void
print_trouble(const struct server *s)
{
	const struct tally *t = &s->tally;
	const char *name = s->target.spec->name;
	for (unsigned i = 0; i < TALLY_STATUSES; i++)
		if (t->failed[i].n)
			printf("%s: %llu of %llu calls failed with status %u: %s\n", name,
			       (unsigned long long)t->failed[i].n, (unsigned long long)t->calls,
			       t->failed[i].status, status_name(t->failed[i].status));
	if (t->short_reads)
		printf("%s: %llu READs were answered short\n", name,
		       (unsigned long long)t->short_reads);
	if (t->short_writes)
		printf("%s: %llu WRITEs were taken in part\n", name,
		       (unsigned long long)t->short_writes);
	if (t->restarts)
		printf("%s: the write verifier changed %llu times: uncommitted data was lost\n",
		       name, (unsigned long long)t->restarts);
	if (t->unsent)
		printf("%s: %llu calls were due but the window stayed full: more than it can "
		       "serve\n",
		       name, (unsigned long long)t->unsent);
	if (t->no_attrs)
		printf("%s: %llu READ replies had no attributes\n", name,
		       (unsigned long long)t->no_attrs);
	if (t->bad_eof)
		printf("%s: %llu READ replies had a wrong eof\n", name,
		       (unsigned long long)t->bad_eof);
	if (t->bad_data)
		printf("%s: %llu READ replies had WRONG DATA, the first: %s\n", name,
		       (unsigned long long)t->bad_data, t->complaint);
}

void
report_table(const struct run *r)
{
	print_heading(r);
	print_figures(r);
	print_latency(r);
	print_batching(r);
	print_ratios(r);
	print_sink(r);
	for (unsigned i = 0; i < r->nservers; i++)
		print_trouble(&r->server[i]);
}
