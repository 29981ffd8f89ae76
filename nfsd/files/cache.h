/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CACHE_H
#define CACHE_H
/* What file.c (the cache) and grave.c (its thread) share; nobody else looks inside. */
#include "file.h"

#define SHARDS 16

struct shard {
	pthread_mutex_t lock;
	struct obj **bucket;
	size_t mask, n;
	struct obj *hand; /* CLOCK: a ring through cnext; NULL: empty */
} __attribute__((aligned(64)));

struct files {
	struct shard shard[SHARDS];
	const struct resolve *resolve;
	struct names *names;
	struct sync *sync;
	int procfd;		   /* /proc/self/fd */
	size_t max, count, births; /* count: linked objects; count and births atomic */

	/* grave.c */
	pthread_t undertaker;
	pthread_mutex_t dead_lock;
	pthread_cond_t dead_more;
	struct obj *dead;  /* through hnext */
	size_t dead_count; /* atomic, for those who do not hold the lock */
	bool stop, running;
};

/* Starts the thread; 0 or errno. Its end: every buried object is closed. */
int grave_begin(struct files *);
void grave_end(struct files *);
/* Buries an object whose last reference has gone. Never sleeps. */
void grave_put(struct files *, struct obj *);
/* Closes what is buried, here and now: for those who may sleep. */
void grave_close(struct files *);

#endif
