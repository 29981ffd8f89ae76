/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DRCSHARD_H
#define DRCSHARD_H
/*
 * One part of the duplicate request cache, under one lock: an index of calls, and the order in
 * which they go. Only drc.c includes this; everything here is called with the shard's lock.
 *
 * A node is free, running (in the index only: it cannot go), or kept: done, or lost (begun, its
 * end unknown). Kept nodes stand in their client's list, oldest first, and all but a client's
 * newest in `superseded`, in the order in which they became so. Clients stand in a list per number
 * of calls they keep, so the one that keeps most is found without a search.
 */
#include "drc.h"
#include <pthread.h>
#include <sys/queue.h>

enum node_state { NODE_FREE, NODE_RUNNING, NODE_DONE, NODE_LOST };

struct drc_client {
	LIST_ENTRY(drc_client) hash; /* or the free list */
	TAILQ_ENTRY(drc_client) rank;
	TAILQ_HEAD(drc_calls, drc_node) calls; /* oldest first */
	unsigned ncalls;
	uint64_t id; /* drc_key.client */
};

struct drc_node {
	struct drc_key key;
	LIST_ENTRY(drc_node) hash; /* or the free list */
	TAILQ_ENTRY(drc_node) of_client, aging;
	struct drc_client *client; /* while kept */
	struct shard *shard;
	struct drc_waiter *waiters; /* while running */
	unsigned nwaiters;
	unsigned slot; /* its place in the ring */
	enum node_state state;
	bool superseded; /* stands in that list */
	bool was_lost;	 /* running, and was lost before */
	uint64_t intent_ns;
	uint64_t stamp; /* seconds, when it became kept or was found at start */
};
LIST_HEAD(node_list, drc_node);
LIST_HEAD(client_list, drc_client);
TAILQ_HEAD(client_rank, drc_client);

struct shard {
	pthread_mutex_t lock;
	unsigned nslots, mask; /* mask: nslots - 1, of both indexes */
	struct node_list *index, free;
	struct client_list *clients, free_clients;
	struct client_rank *rank; /* [n]: who keeps n calls; by when they came to */
	unsigned most;		  /* the highest n with somebody */
	struct drc_calls superseded;
	unsigned nkept, nrunning, nclients;
	struct drc_node *nodes;
	struct drc_client *client_mem;
} __attribute__((aligned(64)));

/* Takes the shard's memory; its nodes stand for the ring's slots from `first` on. False: none. */
bool shard_init(struct shard *, unsigned nslots, unsigned first);
void shard_fini(struct shard *);

/* The call of that key, whatever its state; NULL. */
struct drc_node *shard_find(struct shard *, const struct drc_key *);
/* A free node for a new call of a client, after whom must go went (*evicted). NULL: all run. */
struct drc_node *shard_take(struct shard *, const struct drc_key *, uint64_t now, bool *evicted);
/* Puts a taken node into the index as running. */
void shard_run(struct shard *, struct drc_node *, const struct drc_key *);
/* Running -> kept: done or lost; now its client's newest. */
void shard_keep(struct shard *, struct drc_node *, enum node_state, uint64_t now);
/* Kept -> running. */
void shard_rerun(struct shard *, struct drc_node *);
/* Running or kept -> free. */
void shard_drop(struct shard *, struct drc_node *);

#endif
