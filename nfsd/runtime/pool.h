/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef POOL_H
#define POOL_H
/*
 * Workers for what may sleep. A job runs on some worker thread and says itself where its result
 * goes (loop_post). Jobs come in lanes, a number that a connection keeps: lanes are served in turn,
 * and none may hold all the workers, so a client on a dead disk does not take the pool from the
 * rest.
 */
#include <stdint.h>

#define POOL_LANES 256 /* lane numbers are taken modulo this */

struct job {
	void (*work)(struct job *); /* may free the job */
	uint32_t lane;
	struct job *next;
};

struct pool;
/* Starts `workers` (at least 1) threads. NULL with errno. */
struct pool *pool_new(unsigned workers);
/* Finishes every job that was submitted, then ends the threads. */
void pool_free(struct pool *);
void pool_submit(struct pool *, struct job *);

struct pool_info {
	unsigned workers, running, waiting;
};
void pool_info(struct pool *, struct pool_info *);

#endif
