/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_H
#define REPORT_H
/* The server's counters for people and for programs: what `splicectl stat` and `splicectl stat
 * --json` say. */
#include "kernel.h"
#include "pipes.h"
#include "stat.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What is true now, beside the counters. */
struct admin_gauges {
	double uptime; /* seconds */
	uint64_t connections, objects, store_rows;
	uint64_t budget_used, budget_limit; /* bytes */
	unsigned loops, workers;
	struct pipe_info pipes;
	uint32_t splice_from; /* as vfs.splice_from */
	const struct kernel *kernel;
};

/* names: one for each row of the counters, NULL for a row that is not in use. */
void report_text(FILE *out, const struct stat_block *, const struct admin_gauges *,
		 const char *const names[STAT_ROWS]);
/*
 * One JSON object and a newline; members are added, never renamed:
 *	version, time_ns (CLOCK_MONOTONIC), uptime_seconds, gauges {name: n}, kernel {release,
 *missing}, counters {name: n}, procedures {name: {calls, errors, bytes, latency_ns, mean_us,
 *p50_us, p99_us, buckets [n]}}
 */
void report_json(FILE *out, const struct stat_block *, const struct admin_gauges *,
		 const char *const names[STAT_ROWS]);
/* The command `stat [--json]` of the control socket: 0, or EINVAL with the reason in out. */
int report_command(int argc, char **argv, FILE *out, const struct admin_gauges *,
		   const char *const names[STAT_ROWS]);

#endif
