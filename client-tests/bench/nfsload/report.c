/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures.h"

static const struct {
	enum figure f;
	const char *title;
	int decimals;
	bool spread; /* show smallest and largest */
} columns[] = {
    {FIG_MBS, "MB/s", 0, true},
    {FIG_CALLS, "calls/s", 0, false},
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
	return r->o->op == OP_READ || !per_byte;
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
			 v.min, decimals, v.max);
	else
		snprintf(text, sizeof text, "%.*f", decimals, v.median);
	printf(" %*s", width, text);
}

static void
print_heading(const struct run *r)
{
	const struct opts *o = r->o;
	printf("%s", op_name(o->op));
	if (o->op == OP_READ)
		printf(" %u bytes %s%s, data %s", o->size, o->random ? "random" : "cyclic",
		       o->shift ? " (shifted)" : "",
		       o->verify || o->pattern ? "verified" : "discarded");
	printf(", %u connection%s x %u in flight, %u round%s of ", o->conns,
	       o->conns > 1 ? "s" : "", o->depth, o->rounds, o->rounds > 1 ? "s" : "");
	if (o->calls)
		printf("%llu calls\n", (unsigned long long)o->calls);
	else
		printf("%g s\n", o->seconds);
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
print_latency(const struct run *r)
{
	printf("%-12s %10s %10s %10s %16s %12s %12s\n", "latency, us", "p50", "p99", "p99.9",
	       "replies/wake-up", "recv/reply", "calls/send");
	for (unsigned i = 0; i < r->nservers; i++) {
		const struct tally *t = &r->server[i].tally;
		printf("%-12s %10.0f %10.0f %10.0f %16.2f %12.2f %12.2f\n",
		       r->server[i].target.spec->name, (double)hist_quantile(&t->latency, .5) / 1e3,
		       (double)hist_quantile(&t->latency, .99) / 1e3,
		       (double)hist_quantile(&t->latency, .999) / 1e3, per(t->calls, t->wakeups),
		       per(t->recvs, t->calls), per(t->calls, t->sends));
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
	print_ratios(r);
	for (unsigned i = 0; i < r->nservers; i++)
		print_trouble(&r->server[i]);
}

/* JSON */

static void
json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		if ((unsigned char)*s < 0x20)
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void
json_number(double v)
{
	if (isnan(v))
		printf("null");
	else
		printf("%.6g", v);
}

static void
json_spread(const char *key, struct spread v)
{
	printf("\"%s\":{\"median\":", key);
	json_number(v.median);
	printf(",\"min\":");
	json_number(v.min);
	printf(",\"max\":");
	json_number(v.max);
	printf("}");
}

static void
json_failures(const struct tally *t)
{
	const char *comma = "";
	printf(",\"failed\":{");
	for (unsigned i = 0; i < TALLY_STATUSES; i++) {
		if (!t->failed[i].n)
			continue;
		printf("%s\"%u\":%llu", comma, t->failed[i].status,
		       (unsigned long long)t->failed[i].n);
		comma = ",";
	}
	printf(
	    "},\"short_reads\":%llu,\"wrong_eof\":%llu,\"wrong_data\":%llu,\"first_wrong_data\":",
	    (unsigned long long)t->short_reads, (unsigned long long)t->bad_eof,
	    (unsigned long long)t->bad_data);
	json_string(t->complaint);
}

static void
json_rounds(const struct run *r, const struct server *s)
{
	printf(",\"rounds\":[");
	for (unsigned i = 0; i < r->o->rounds; i++) {
		const struct sample *m = &s->sample[i];
		printf("%s{\"seconds\":%.9g,\"calls\":%llu,\"bytes\":%llu,\"server_cpu_ns\":",
		       i ? "," : "", m->seconds, (unsigned long long)m->calls,
		       (unsigned long long)m->bytes);
		if (s->has_clock)
			printf("%lld", (long long)m->server_ns);
		else
			printf("null");
		printf(",\"client_cpu_ns\":%lld}", (long long)m->client_ns);
	}
	printf("]");
}

static void
json_server(const struct run *r, const struct server *s)
{
	const struct tally *t = &s->tally;
	printf("{\"name\":");
	json_string(s->target.spec->name);
	for (enum figure f = 0; f < FIG_COUNT; f++) {
		printf(",");
		json_spread(figure_key[f], figure_spread(r, s, f));
	}
	printf(",\"latency_us\":{\"p50\":%.6g,\"p99\":%.6g,\"p99.9\":%.6g}",
	       (double)hist_quantile(&t->latency, .5) / 1e3,
	       (double)hist_quantile(&t->latency, .99) / 1e3,
	       (double)hist_quantile(&t->latency, .999) / 1e3);
	printf(",\"replies_per_wakeup\":%.6g,\"calls_per_send\":%.6g", per(t->calls, t->wakeups),
	       per(t->calls, t->sends));
	printf(",\"ratio_to_base\":{");
	json_spread("rate", figure_ratio(r, s, base_server(r), FIG_CALLS));
	printf(",");
	json_spread("server_cpu", figure_ratio(r, s, base_server(r), FIG_SRV_CALL));
	printf("}");
	json_failures(t);
	json_rounds(r, s);
	printf("}");
}

void
report_json(const struct run *r)
{
	const struct opts *o = r->o;
	printf("{\"op\":\"%s\",\"size\":%u,\"random\":%s,\"connections\":%u,\"depth\":%u,"
	       "\"threads\":%u,"
	       "\"verified\":%s,\"base\":",
	       op_name(o->op), o->size, o->random ? "true" : "false", o->conns, o->depth,
	       o->threads, o->verify || o->pattern ? "true" : "false");
	json_string(base_server(r)->target.spec->name);
	printf(",\"servers\":[");
	for (unsigned i = 0; i < r->nservers; i++) {
		printf("%s", i ? "," : "");
		json_server(r, &r->server[i]);
	}
	printf("]}\n");
}
