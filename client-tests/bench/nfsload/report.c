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
json_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', f);
		if ((unsigned char)*s < 0x20)
			fprintf(f, "\\u%04x", *s);
		else
			putc(*s, f);
	}
	putc('"', f);
}

static void
json_number(FILE *f, double v)
{
	if (isnan(v))
		fprintf(f, "null");
	else
		fprintf(f, "%.6g", v);
}

static void
json_spread(FILE *f, const char *key, struct spread v)
{
	fprintf(f, "\"%s\":{\"median\":", key);
	json_number(f, v.median);
	fprintf(f, ",\"min\":");
	json_number(f, v.min);
	fprintf(f, ",\"max\":");
	json_number(f, v.max);
	fprintf(f, "}");
}

static void
json_failures(FILE *f, const struct tally *t)
{
	const char *comma = "";
	fprintf(f, ",\"failed\":{");
	for (unsigned i = 0; i < TALLY_STATUSES; i++) {
		if (!t->failed[i].n)
			continue;
		fprintf(f, "%s\"%u\":%llu", comma, t->failed[i].status,
			(unsigned long long)t->failed[i].n);
		comma = ",";
	}
	fprintf(
	    f,
	    "},\"short_reads\":%llu,\"wrong_eof\":%llu,\"wrong_data\":%llu,\"first_wrong_data\":",
	    (unsigned long long)t->short_reads, (unsigned long long)t->bad_eof,
	    (unsigned long long)t->bad_data);
	json_string(f, t->complaint);
}

static void
json_rounds(FILE *f, const struct run *r, const struct server *s)
{
	fprintf(f, ",\"rounds\":[");
	for (unsigned i = 0; i < r->o->rounds; i++) {
		const struct sample *m = &s->sample[i];
		fprintf(f, "%s{\"seconds\":%.9g,\"calls\":%llu,\"bytes\":%llu,\"server_cpu_ns\":",
			i ? "," : "", m->seconds, (unsigned long long)m->calls,
			(unsigned long long)m->bytes);
		if (s->has_clock)
			fprintf(f, "%lld", (long long)m->server_ns);
		else
			fprintf(f, "null");
		fprintf(f, ",\"client_cpu_ns\":%lld}", (long long)m->client_ns);
	}
	fprintf(f, "]");
}

static void
json_server(FILE *f, const struct run *r, const struct server *s)
{
	const struct tally *t = &s->tally;
	fprintf(f, "{\"name\":");
	json_string(f, s->target.spec->name);
	for (enum figure fig = 0; fig < FIG_COUNT; fig++) {
		fprintf(f, ",");
		json_spread(f, figure_key[fig], figure_spread(r, s, fig));
	}
	fprintf(f, ",\"latency_us\":{\"p50\":%.6g,\"p99\":%.6g,\"p99.9\":%.6g}",
		(double)hist_quantile(&t->latency, .5) / 1e3,
		(double)hist_quantile(&t->latency, .99) / 1e3,
		(double)hist_quantile(&t->latency, .999) / 1e3);
	fprintf(f, ",\"replies_per_wakeup\":%.6g,\"calls_per_send\":%.6g",
		per(t->calls, t->wakeups), per(t->calls, t->sends));
	fprintf(f, ",\"ratio_to_base\":{");
	json_spread(f, "rate", figure_ratio(r, s, base_server(r), FIG_CALLS));
	fprintf(f, ",");
	json_spread(f, "server_cpu", figure_ratio(r, s, base_server(r), FIG_SRV_CALL));
	fprintf(f, "}");
	json_failures(f, t);
	json_rounds(f, r, s);
	fprintf(f, "}");
}

void
report_json(FILE *f, const struct run *r)
{
	const struct opts *o = r->o;
	fprintf(f,
		"{\"op\":\"%s\",\"size\":%u,\"random\":%s,\"connections\":%u,\"depth\":%u,"
		"\"threads\":%u,"
		"\"verified\":%s,\"base\":",
		op_name(o->op), o->size, o->random ? "true" : "false", o->conns, o->depth,
		o->threads, o->verify || o->pattern ? "true" : "false");
	json_string(f, base_server(r)->target.spec->name);
	fprintf(f, ",\"servers\":[");
	for (unsigned i = 0; i < r->nservers; i++) {
		fprintf(f, "%s", i ? "," : "");
		json_server(f, r, &r->server[i]);
	}
	fprintf(f, "]}\n");
}
