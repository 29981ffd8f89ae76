/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nfsload measures NFSv3 servers over TCP. In the order a measurement takes:
 * opts, spec (what is asked for), target (mount, look up), calls (templates), conn and rx (a window
 * of calls on a connection, the replies taken apart), load (one part: full windows, then drain),
 * measure (rounds, CPU clocks), figures and report. --help says how to use it.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "report.h"

static int
fail(const char *why)
{
	fprintf(stderr, "nfsload: %s\n", why);
	return 1;
}

static int
pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	return sched_setaffinity(0, sizeof set, &set);
}

static int
save(const char *path, const struct run *r)
{
	FILE *f = fopen(path, "w");
	if (f)
		report_json(f, r);
	if (f && !ferror(f) && !fclose(f))
		return 0;
	fprintf(stderr, "nfsload: --save %s: %s\n", path, strerror(errno));
	return 1;
}

/* Exit status of a run that was measured. */
static int
report(const struct opts *o, const struct run *r)
{
	int status = 0;
	if (o->json)
		report_json(stdout, r);
	else
		report_table(r);
	for (unsigned i = 0; i < r->nservers; i++)
		if (tally_errors(&r->server[i].tally))
			status = 2;
	if (o->save && save(o->save, r))
		status = 1;
	return status;
}

static int
run(const struct opts *o, struct run *r)
{
	char err[RUN_ERR] = "";
	bool good = !run_open(r, o, err) && !run_measure(r, err);
	int status = good ? report(o, r) : fail(err);
	run_close(r);
	return status;
}

int
main(int argc, char **argv)
{
	struct opts o;
	char err[RPC_ERR];
	opts_parse(&o, argc, argv);
	if (o.make_pattern)
		return pattern_write(o.make_pattern, err) ? fail(err) : 0;
	if (o.cpu >= 0 && pin(o.cpu))
		return fail("--cpu: no such processor");
	struct run *r = calloc(1, sizeof *r); /* too large for a stack */
	if (!r)
		return fail("out of memory");
	int status = run(&o, r);
	free(r);
	opts_free(&o);
	return status;
}
