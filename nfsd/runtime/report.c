/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"
#include "version.h"
#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <time.h>

#define MB 1e6

/* Counters that the text explains as a group; the rest follows as a plain list. */
static const enum stat_id why_copied[] = {ST_COPY_SMALL, ST_COPY_NEVER,	 ST_COPY_REFUSED,
					  ST_COPY_SHORT, ST_COPY_NOPIPE, ST_COPY_STALLED};
static const enum stat_id stalls[] = {ST_STALL_RUN, ST_STALL_SEND, ST_STALL_OTHER};
static const enum stat_id shown_above[] = {ST_CONN_OPENED, ST_CONN_CLOSED, ST_CONN_REFUSED,
					   ST_BYTES_IN,	   ST_BYTES_OUT,   ST_READ_SPLICED,
					   ST_READ_COPIED};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static double
ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static bool
contains(const enum stat_id *list, size_t n, enum stat_id id)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == id)
			return true;
	return false;
}

static void
text_head(FILE *out, const struct stat_block *b, const struct admin_gauges *g)
{
	unsigned long up = (unsigned long)g->uptime;
	const struct kernel *k = g->kernel;

	fprintf(out,
		"spliced " SPLICED_VERSION ", up %lu d %02lu:%02lu:%02lu, %u loops, %u workers\n",
		up / 86400, up / 3600 % 24, up / 60 % 60, up % 60, g->loops, g->workers);
	fprintf(out, "kernel       %d.%d, missing: %s\n", k->release / 1000, k->release % 1000,
		k->missing[0] ? k->missing : "nothing");
	fprintf(out, "connections  %llu now, %llu opened, %llu closed, %llu refused\n",
		(unsigned long long)g->connections, (unsigned long long)b->count[ST_CONN_OPENED],
		(unsigned long long)b->count[ST_CONN_CLOSED],
		(unsigned long long)b->count[ST_CONN_REFUSED]);
	fprintf(out, "bytes        %.1f MB received, %.1f MB sent\n",
		(double)b->count[ST_BYTES_IN] / MB, (double)b->count[ST_BYTES_OUT] / MB);
	fprintf(out, "memory       %.1f MB of %.1f MB for records, replies and pipes\n",
		(double)g->budget_used / MB, (double)g->budget_limit / MB);
	fprintf(out, "pipes        %u large, %u small; %lu of %lu pages%s\n", g->pipes.large,
		g->pipes.small, g->pipes.slots, g->pipes.limit,
		g->pipes.privileged ? "" : " (fs.pipe-user-pages-soft)");
	fprintf(out, "objects      %llu open, %llu rows in the store\n",
		(unsigned long long)g->objects, (unsigned long long)g->store_rows);
}

static void
text_rows(FILE *out, const struct stat_block *b, const char *const names[STAT_ROWS])
{
	fprintf(out, "\n%-16s %12s %9s %11s %9s %9s %9s\n", "procedure", "calls", "errors", "MB",
		"mean us", "p50 us", "p99 us");
	for (unsigned i = 0; i < STAT_ROWS; i++) {
		const struct stat_row *r = &b->row[i];

		if (names[i] && r->calls)
			fprintf(out, "%-16s %12llu %9llu %11.1f %9.1f %9.1f %9.1f\n", names[i],
				(unsigned long long)r->calls, (unsigned long long)r->errors,
				(double)r->bytes / MB, ratio(r->latency_ns, r->calls) / 1000,
				stat_percentile_us(r->bucket, 0.5),
				stat_percentile_us(r->bucket, 0.99));
	}
}

static void
text_threshold(FILE *out, uint32_t splice_from)
{
	if (splice_from == UINT32_MAX)
		fprintf(out, "never");
	else if (splice_from == 0)
		fprintf(out, "always");
	else
		fprintf(out, "from %u bytes", splice_from);
}

/* One line of a group: the counters that are not 0, or "none". */
static void
text_group(FILE *out, const char *title, const struct stat_block *b, const enum stat_id *list,
	   size_t n)
{
	const char *comma = "";

	fprintf(out, "%-13s", title);
	for (size_t i = 0; i < n; i++)
		if (b->count[list[i]]) {
			fprintf(out, "%s%s %llu", comma, stat_name(list[i]),
				(unsigned long long)b->count[list[i]]);
			comma = ", ";
		}
	fprintf(out, "%s\n", *comma ? "" : "none");
}

static void
text_zero_copy(FILE *out, const struct stat_block *b, const struct admin_gauges *g)
{
	uint64_t spliced = b->count[ST_READ_SPLICED], copied = b->count[ST_READ_COPIED];

	fprintf(out, "\nzero-copy    %.1f MB spliced, %.1f MB copied", (double)spliced / MB,
		(double)copied / MB);
	if (spliced + copied)
		fprintf(out, " (%.1f %% zero-copy)", 100 * ratio(spliced, spliced + copied));
	fprintf(out, "; splicing ");
	text_threshold(out, g->splice_from);
	fputc('\n', out);
	text_group(out, "why copied", b, why_copied, COUNT(why_copied));
	text_group(out, "stalls >1 ms", b, stalls, COUNT(stalls));
}

void
report_text(FILE *out, const struct stat_block *b, const struct admin_gauges *g,
	    const char *const names[STAT_ROWS])
{
	text_head(out, b, g);
	text_rows(out, b, names);
	text_zero_copy(out, b, g);
	fputc('\n', out);
	for (int i = 0; i < ST_N; i++) {
		enum stat_id id = (enum stat_id)i;

		if (b->count[i] && !contains(why_copied, COUNT(why_copied), id) &&
		    !contains(stalls, COUNT(stalls), id) &&
		    !contains(shown_above, COUNT(shown_above), id))
			fprintf(out, "%-28s %14llu\n", stat_name(id),
				(unsigned long long)b->count[i]);
	}
}

static void
add_count(struct json_object *o, const char *name, uint64_t n)
{
	json_object_object_add(o, name, json_object_new_uint64(n));
}

/* Microseconds with a tenth; more digits would be noise. */
static void
add_us(struct json_object *o, const char *name, double us)
{
	char text[32];

	snprintf(text, sizeof text, "%.1f", us);
	json_object_object_add(o, name, json_object_new_double_s(us, text));
}

static struct json_object *
json_row(const struct stat_row *r)
{
	struct json_object *o = json_object_new_object(), *buckets = json_object_new_array();

	add_count(o, "calls", r->calls);
	add_count(o, "errors", r->errors);
	add_count(o, "bytes", r->bytes);
	add_count(o, "latency_ns", r->latency_ns);
	add_us(o, "mean_us", ratio(r->latency_ns, r->calls) / 1000);
	add_us(o, "p50_us", stat_percentile_us(r->bucket, 0.5));
	add_us(o, "p99_us", stat_percentile_us(r->bucket, 0.99));
	for (unsigned i = 0; i < STAT_BUCKETS; i++)
		json_object_array_add(buckets, json_object_new_uint64(r->bucket[i]));
	json_object_object_add(o, "buckets", buckets);
	return o;
}

static struct json_object *
json_gauges(const struct admin_gauges *g)
{
	struct json_object *o = json_object_new_object();

	add_count(o, "connections", g->connections);
	add_count(o, "objects", g->objects);
	add_count(o, "store_rows", g->store_rows);
	add_count(o, "budget_used", g->budget_used);
	add_count(o, "budget_limit", g->budget_limit);
	add_count(o, "loops", g->loops);
	add_count(o, "workers", g->workers);
	add_count(o, "splice_from", g->splice_from);
	add_count(o, "pipes_large", g->pipes.large);
	add_count(o, "pipes_small", g->pipes.small);
	add_count(o, "pipe_pages", g->pipes.slots);
	add_count(o, "pipe_pages_limit", g->pipes.limit);
	return o;
}

static struct json_object *
json_kernel(const struct kernel *k)
{
	struct json_object *o = json_object_new_object();
	char release[24];

	snprintf(release, sizeof release, "%d.%d", k->release / 1000, k->release % 1000);
	json_object_object_add(o, "release", json_object_new_string(release));
	json_object_object_add(o, "missing", json_object_new_string(k->missing));
	return o;
}

static uint64_t
monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void
report_json(FILE *out, const struct stat_block *b, const struct admin_gauges *g,
	    const char *const names[STAT_ROWS])
{
	struct json_object *o = json_object_new_object(), *counters = json_object_new_object(),
			   *procedures = json_object_new_object();

	json_object_object_add(o, "version", json_object_new_string(SPLICED_VERSION));
	add_count(o, "time_ns", monotonic_ns());
	add_count(o, "uptime_seconds", (uint64_t)g->uptime);
	json_object_object_add(o, "gauges", json_gauges(g));
	json_object_object_add(o, "kernel", json_kernel(g->kernel));
	for (int i = 0; i < ST_N; i++)
		add_count(counters, stat_name((enum stat_id)i), b->count[i]);
	json_object_object_add(o, "counters", counters);
	for (unsigned i = 0; i < STAT_ROWS; i++)
		if (names[i])
			json_object_object_add(procedures, names[i], json_row(&b->row[i]));
	json_object_object_add(o, "procedures", procedures);
	fprintf(out, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

int
report_command(int argc, char **argv, FILE *out, const struct admin_gauges *g,
	       const char *const names[STAT_ROWS])
{
	struct stat_block sum;
	bool json = argc == 2 && !strcmp(argv[1], "--json");

	if (argc > 1 && !json) {
		fprintf(out, "stat: takes no argument but --json\n");
		return EINVAL;
	}
	stat_sum(&sum);
	(json ? report_json : report_text)(out, &sum, g, names);
	return 0;
}
