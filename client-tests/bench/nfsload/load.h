/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_LOAD_H
#define NFSLOAD_LOAD_H
/* One part of a measurement: keep the windows of a server's connections full for a time or a number
 * of calls, then drain. */
#include "conn.h"

struct part {
	double seconds; /* used when calls is 0 */
	double rate;	/* tasks per second over all connections; 0: closed loop */
	uint64_t calls; /* tasks, over all connections; 0: by time */
};

/*
 * Runs one part on n connections of one server, on `threads` threads. Adds what happened to *sum.
 * Returns when no call is in flight. 0, or -1 with err.
 */
int load_run(struct conn *conn, unsigned n, unsigned threads, const struct part *p,
	     struct tally *sum, char err[RPC_ERR]);

#endif
