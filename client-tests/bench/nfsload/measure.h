/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_MEASURE_H
#define NFSLOAD_MEASURE_H
/* The whole run: servers opened, rounds interleaved, one sample per round and server. */
#include <time.h>

#include "conn.h"
#include "sink.h"

#define RUN_ERR 512 /* a complaint with the name of the server in front */

struct sample {
	double seconds;
	uint64_t calls;
	uint64_t tasks;
	uint64_t bytes;
	uint64_t entries;  /* of directories */
	int64_t server_ns; /* CPU time; 0 when no pid was given */
	int64_t client_ns; /* CPU time of this process */
};

struct server {
	struct target target;
	struct calls calls;
	struct conn *conn;
	unsigned nconn;
	bool has_clock;
	clockid_t clock;       /* CPU time of the server's process */
	struct sample *sample; /* one per round */
	struct tally tally;    /* all rounds together */
};

struct run {
	const struct opts *o;
	struct verifier verify;
	struct server server[SERVERS_MAX + 1]; /* and the sink */
	unsigned nservers;
	struct sink sink;
};

/* 0, or -1 with err, which names the server. run_close is to be called in both cases. */
int run_open(struct run *r, const struct opts *o, char err[RUN_ERR]);
int run_measure(struct run *r, char err[RUN_ERR]);
void run_close(struct run *r);

#endif
