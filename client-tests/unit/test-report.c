/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "report.h"
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[STAT_ROWS] = {[6] = "READ", [STAT_MOUNT + 1] = "MNT"};
static const struct kernel kernel = {.release = 6001, .missing = "cachestat"};
static const struct admin_gauges gauges = {.uptime = 90061,
					   .connections = 3,
					   .budget_used = 5000000,
					   .budget_limit = 20000000,
					   .loops = 2,
					   .workers = 16,
					   .splice_from = 32768,
					   .kernel = &kernel};

static struct stat_block *
sample(void)
{
	static struct stat_block b;

	memset(&b, 0, sizeof b);
	b.count[ST_READ_SPLICED] = 30000000;
	b.count[ST_READ_COPIED] = 10000000;
	b.count[ST_COPY_SMALL] = 7;
	b.count[ST_STALE_HANDLES] = 11;
	b.row[6] =
	    (struct stat_row){.calls = 100, .errors = 2, .bytes = 40000000, .latency_ns = 1000000};
	b.row[6].bucket[6] = 100;
	b.row[7].calls = 5; /* has no name */
	return &b;
}

static char *
text_of(void (*report)(FILE *, const struct stat_block *, const struct admin_gauges *,
		       const char *const *))
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	report(f, sample(), &gauges, names);
	fclose(f);
	return text;
}

#define SAYS(part) CU_ASSERT_PTR_NOT_NULL(strstr(text, part))

/* The text says per procedure calls, errors, MB and latency, the zero-copy share and why bytes were
 * copied, and nothing that is 0. */
TEST(report, text)
{
	char *text = text_of(report_text), line[120];

	SAYS("up 1 d 01:01:01, 2 loops, 16 workers");
	SAYS("6.1, missing: cachestat\n");
	SAYS("5.0 MB of 20.0 MB");
	snprintf(line, sizeof line, "%-16s %12d %9d %11.1f %9.1f ", "READ", 100, 2, 40.0, 10.0);
	SAYS(line);
	SAYS("(75.0 % zero-copy); splicing from 32768 bytes\n");
	SAYS("why copied   copied_below_threshold 7\n");
	SAYS("stalls >1 ms none\n");
	SAYS("stale_handles                            11\n");
	CU_ASSERT_PTR_NULL(strstr(text, "MNT"));
	CU_ASSERT_PTR_NULL(strstr(text, "bad_records"));
	free(text);
}

/* The JSON holds every counter by name, every named procedure, and the same numbers. */
TEST(report, json)
{
	char *text = text_of(report_json);
	struct json_object *o = json_tokener_parse(text), *part, *row, *n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	CU_ASSERT_FATAL(json_object_object_get_ex(o, "counters", &part));
	CU_ASSERT_EQUAL(json_object_object_length(part), ST_N);
	CU_ASSERT(json_object_object_get_ex(part, "stale_handles", &n));
	CU_ASSERT_EQUAL(json_object_get_uint64(n), 11);
	CU_ASSERT_FATAL(json_object_object_get_ex(o, "procedures", &part));
	CU_ASSERT_EQUAL(json_object_object_length(part), 2);
	CU_ASSERT_FATAL(json_object_object_get_ex(part, "READ", &row));
	CU_ASSERT(json_object_object_get_ex(row, "errors", &n));
	CU_ASSERT_EQUAL(json_object_get_uint64(n), 2);
	CU_ASSERT(json_object_object_get_ex(row, "buckets", &n));
	CU_ASSERT_EQUAL(json_object_array_length(n), STAT_BUCKETS);
	CU_ASSERT(json_object_object_get_ex(row, "mean_us", &n));
	CU_ASSERT_EQUAL(json_object_get_double(n), 10.0);
	CU_ASSERT_FATAL(json_object_object_get_ex(o, "gauges", &part));
	CU_ASSERT(json_object_object_get_ex(part, "connections", &n));
	CU_ASSERT_EQUAL(json_object_get_uint64(n), 3);
	json_object_put(o);
	free(text);
}

/* The command takes nothing or --json, and says so of anything else. */
TEST(report, command)
{
	char *none[] = {"stat", NULL}, *json[] = {"stat", "--json", NULL},
	     *bad[] = {"stat", "-x", NULL};
	char text[32768];
	FILE *f = fmemopen(text, sizeof text, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(report_command(1, none, f, &gauges, names), 0);
	rewind(f);
	CU_ASSERT_EQUAL(report_command(2, json, f, &gauges, names), 0);
	fflush(f);
	CU_ASSERT_EQUAL(text[0], '{');
	rewind(f);
	CU_ASSERT_EQUAL(report_command(2, bad, f, &gauges, names), EINVAL);
	fflush(f);
	CU_ASSERT_EQUAL(strncmp(text, "stat: takes no argument but --json\n", 35), 0);
	fclose(f);
}
