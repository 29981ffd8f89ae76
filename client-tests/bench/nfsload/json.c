/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "figures.h"
#include "report.h"

static double
per(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

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
	fprintf(f, ",\"low\":");
	json_number(f, v.low);
	fprintf(f, ",\"high\":");
	json_number(f, v.high);
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
	    "},\"short_reads\":%llu,\"short_writes\":%llu,\"wrong_eof\":%llu,\"wrong_data\":%llu,"
	    "\"restarts\":%llu,\"unsent\":%llu,\"first_wrong_data\":",
	    (unsigned long long)t->short_reads, (unsigned long long)t->short_writes,
	    (unsigned long long)t->bad_eof, (unsigned long long)t->bad_data,
	    (unsigned long long)t->restarts, (unsigned long long)t->unsent);
	json_string(f, t->complaint);
}

static void
json_rounds(FILE *f, const struct run *r, const struct server *s)
{
	fprintf(f, ",\"rounds\":[");
	for (unsigned i = 0; i < r->o->rounds; i++) {
		const struct sample *m = &s->sample[i];
		fprintf(f,
			"%s{\"seconds\":%.9g,\"calls\":%llu,\"operations\":%llu,\"bytes\":%llu,"
			"\"entries\":%llu,\"server_cpu_ns\":",
			i ? "," : "", m->seconds, (unsigned long long)m->calls,
			(unsigned long long)m->tasks, (unsigned long long)m->bytes,
			(unsigned long long)m->entries);
		if (s->has_clock)
			fprintf(f, "%lld", (long long)m->server_ns);
		else
			fprintf(f, "null");
		fprintf(f, ",\"client_cpu_ns\":%lld}", (long long)m->client_ns);
	}
	fprintf(f, "]");
}

static void
json_hist(FILE *f, const struct hist *h)
{
	fprintf(f,
		"{\"n\":%llu,\"mean\":%.6g,\"p50\":%.6g,\"p90\":%.6g,\"p99\":%.6g,\"p99.9\":%.6g,"
		"\"max\":%.6g}",
		(unsigned long long)h->n, hist_mean(h) / 1e3, (double)hist_quantile(h, .5) / 1e3,
		(double)hist_quantile(h, .9) / 1e3, (double)hist_quantile(h, .99) / 1e3,
		(double)hist_quantile(h, .999) / 1e3, (double)h->max / 1e3);
}

static void
json_operations(FILE *f, const struct tally *t)
{
	const char *comma = "";
	fprintf(f, ",\"operations\":{");
	for (enum op op = 0; op < OP_COUNT; op++) {
		if (!t->latency[op].n)
			continue;
		fprintf(f, "%s\"%s\":", comma, op_table[op].name);
		json_hist(f, &t->latency[op]);
		comma = ",";
	}
	fprintf(f, "}");
}

static void
json_server(FILE *f, const struct run *r, const struct server *s)
{
	const struct tally *t = &s->tally;
	struct hist all;
	fprintf(f, "{\"name\":");
	json_string(f, s->target.spec->name);
	for (enum figure fig = 0; fig < FIG_COUNT; fig++) {
		fprintf(f, ",");
		json_spread(f, figure_key[fig], figure_spread(r, s, fig));
	}
	fprintf(f, ",\"latency_us\":");
	tally_latency(t, &all);
	json_hist(f, &all);
	fprintf(f, ",\"lag_us\":");
	json_hist(f, &t->lag);
	json_operations(f, t);
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

static void
json_options(FILE *f, const struct run *r)
{
	const struct opts *o = r->o;
	unsigned k;
	fprintf(f, "\"op\":\"%s\",\"mix\":{", o->only < OP_COUNT ? op_table[o->only].name : "MIX");
	const char *comma = "";
	for (enum op op = 0; op < OP_COUNT; op++) {
		if (!o->weight[op])
			continue;
		fprintf(f, "%s\"%s\":%u", comma, op_table[op].name, o->weight[op]);
		comma = ",";
	}
	fprintf(f,
		"},\"size\":%u,\"random\":%s,\"shift\":%llu,\"stable\":%u,\"connections\":%u,"
		"\"depth\":%u,\"rate\":%.9g,\"threads\":%u,\"verified\":%s,\"coverage\":%.6g,",
		o->size, o->random ? "true" : "false", (unsigned long long)o->shift, o->stable,
		o->conns, o->depth, o->rate, o->threads, o->verify || o->pattern ? "true" : "false",
		median_interval(o->rounds, &k));
}

void
report_json(FILE *f, const struct run *r)
{
	putc('{', f);
	json_options(f, r);
	fprintf(f, "\"base\":");
	json_string(f, base_server(r)->target.spec->name);
	fprintf(f, ",\"servers\":[");
	for (unsigned i = 0; i < r->nservers; i++) {
		fprintf(f, "%s", i ? "," : "");
		json_server(f, r, &r->server[i]);
	}
	fprintf(f, "]}\n");
}
