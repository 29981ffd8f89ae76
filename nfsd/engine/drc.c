/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys, claims, waiters; who is kept and for how long is drcshard.c's, what a kill leaves behind
 * drcring.c's.
 *
 * A claimed call is its claimer's until it finishes or abandons it: its node is in no list and
 * cannot go, and its slot in the ring is written without the lock. All that others do meanwhile is
 * find it in the index and hang a waiter on it.
 */
#include "drc.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drcshard.h"
#include "rpc.h"
#include "stat.h"

struct drc {
	struct ring ring;
	struct shard *shards;
	unsigned nshards;
	uint64_t seq; /* atomic: the last one given out */
	uint64_t (*seconds)(void);
	unsigned recovered, unfinished;
};

static uint64_t
monotonic_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec;
}

/* The coarse clock is what file systems stamp new objects with: one made after this moment is never
 * older. */
static uint64_t
wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct shard *
shard_of(struct drc *d, const struct drc_key *k)
{
	return &d->shards[k->client & (d->nshards - 1)];
}

/* ---- keys ---- */

static uint16_t
key_address(struct drc_key *k, const struct sockaddr_storage *peer)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	k->family = peer->ss_family;
	if (k->family == AF_INET) {
		memcpy(&in, peer, sizeof in);
		memcpy(k->addr, &in.sin_addr, 4);
		return ntohs(in.sin_port);
	}
	if (k->family == AF_INET6) {
		memcpy(&in6, peer, sizeof in6);
		memcpy(k->addr, &in6.sin6_addr, 16);
		k->scope = in6.sin6_scope_id;
		return ntohs(in6.sin6_port);
	}
	return 0;
}

/* Who the caller claims to be. The rest of the credential, stamp and machine name, may change
 * between one sending and the next. */
static uint64_t
key_identity(const struct drc *d, const struct rpc_authsys *a)
{
	uint32_t who[3 + RPC_GIDS_MAX] = {a->uid, a->gid, a->ngids};

	memcpy(who + 3, a->gids, a->ngids * sizeof *who);
	return ring_hash(&d->ring, who, (3 + a->ngids) * sizeof *who);
}

void
drc_key_make(const struct drc *d, struct drc_key *k, const struct sockaddr_storage *peer,
	     bool datagram, const struct rpc_call *rc, const void *args, size_t n)
{
	memset(k, 0, sizeof *k);
	/* not the port, which a client that connects anew may change; but one that was let in for
	 * its low port does not speak for one that was not */
	k->low_port = key_address(k, peer) < 1024;
	k->client = ring_hash(&d->ring, k->addr,
			      offsetof(struct drc_key, low_port) - offsetof(struct drc_key, addr));
	k->datagram = datagram;
	k->xid = rc->xid;
	k->prog = rc->prog;
	k->vers = rc->vers;
	k->proc = rc->proc;
	k->flavor = rc->flavor;
	k->len = (uint32_t)n;
	k->args = ring_hash(&d->ring, args, n < DRC_HASHED ? n : DRC_HASHED);
	k->cred = key_identity(d, &rc->sys);
}

/* ---- a call's way ---- */

/* With the lock. A call too old to be recognised is none. */
static struct drc_node *
find(struct drc *d, struct shard *s, const struct drc_key *k)
{
	struct drc_node *n = shard_find(s, k);

	if (!n || n->state == NODE_RUNNING || d->seconds() - n->stamp <= DRC_LIFE)
		return n;
	ring_free(&d->ring, n->slot);
	shard_drop(s, n);
	return NULL;
}

static enum drc_seen
park(struct drc_node *n, struct drc_waiter *w)
{
	if (!w || n->nwaiters == DRC_WAITERS)
		return DRC_DROPPED;
	w->next = n->waiters;
	n->waiters = w;
	n->nwaiters++;
	return DRC_PARKED;
}

enum drc_seen
drc_look(struct drc *d, const struct drc_key *k, void *buf, size_t *len, bool *failed,
	 struct drc_waiter *w)
{
	struct shard *s = shard_of(d, k);
	enum drc_seen seen = DRC_MISS;
	struct drc_node *n;

	pthread_mutex_lock(&s->lock);
	n = find(d, s, k);
	if (n && n->state == NODE_RUNNING) {
		seen = park(n, w);
	} else if (n && n->state == NODE_DONE) {
		const struct ring_slot *r = &d->ring.slot[n->slot];

		*len = r->len;
		*failed = r->failed;
		memcpy(buf, r->reply, r->len);
		seen = DRC_DONE;
	}
	pthread_mutex_unlock(&s->lock);
	if (seen != DRC_MISS)
		stat_inc(seen == DRC_DONE     ? ST_DRC_REPLAYED
			 : seen == DRC_PARKED ? ST_DRC_PARKED
					      : ST_DRC_DROPPED);
	return seen;
}

int
drc_claim(struct drc *d, const struct drc_key *k, struct drc_claim *c)
{
	struct shard *s = shard_of(d, k);
	bool evicted = false;
	struct drc_node *n;
	int e = 0;

	pthread_mutex_lock(&s->lock);
	n = find(d, s, k);
	if (n && n->state == NODE_LOST) {
		shard_rerun(s, n);
	} else if (n) {
		e = EBUSY;
	} else {
		n = shard_take(s, k, d->seconds(), &evicted);
		if (n)
			shard_run(s, n, k);
		else
			e = ENOBUFS;
	}
	pthread_mutex_unlock(&s->lock);
	if (evicted)
		stat_inc(ST_DRC_EVICTED);
	if (e != 0)
		return e;
	if (!n->was_lost) {
		n->intent_ns = wall_ns();
		ring_intent(&d->ring, n->slot, __atomic_add_fetch(&d->seq, 1, __ATOMIC_RELAXED), k,
			    n->intent_ns);
	}
	*c = (struct drc_claim){n, n->was_lost, n->intent_ns};
	return 0;
}

/* With the lock. */
static struct drc_waiter *
take_waiters(struct drc_node *n)
{
	struct drc_waiter *w = n->waiters;

	n->waiters = NULL;
	n->nwaiters = 0;
	return w;
}

static void
wake_all(struct drc_waiter *w, const void *reply, size_t len, bool failed)
{
	while (w) {
		struct drc_waiter *next = w->next; /* it is gone when it has been woken */

		w->wake(w, reply, len, failed);
		w = next;
	}
}

void
drc_finish(struct drc *d, const struct drc_claim *c, const void *reply, size_t len, bool failed)
{
	struct drc_node *n = c->node;
	bool fits = len <= RING_REPLY;
	struct drc_waiter *w;

	if (fits)
		ring_result(&d->ring, n->slot, reply, len, failed);
	pthread_mutex_lock(&n->shard->lock);
	shard_keep(n->shard, n, fits ? NODE_DONE : NODE_LOST, d->seconds());
	w = take_waiters(n);
	pthread_mutex_unlock(&n->shard->lock);
	if (fits)
		stat_inc(ST_DRC_STORED);
	wake_all(w, reply, len, failed);
}

void
drc_abandon(struct drc *d, const struct drc_claim *c)
{
	struct drc_node *n = c->node;
	struct shard *s = n->shard;
	struct drc_waiter *w;

	if (!n->was_lost) /* before the lock is dropped: then the slot may be another's */
		ring_free(&d->ring, n->slot);
	pthread_mutex_lock(&s->lock);
	w = take_waiters(n);
	if (n->was_lost)
		shard_keep(s, n, NODE_LOST, d->seconds());
	else
		shard_drop(s, n);
	pthread_mutex_unlock(&s->lock);
	wake_all(w, NULL, 0, false);
}

/* ---- beginning and end ---- */

struct found {
	uint64_t seq;
	unsigned slot;
	enum ring_state state;
};

static int
by_seq(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void
revive(struct drc *d, const struct found *f)
{
	unsigned per = d->ring.nslots / d->nshards;
	const struct ring_slot *r = &d->ring.slot[f->slot];
	struct shard *s = &d->shards[f->slot / per];
	struct drc_node *n = &s->nodes[f->slot % per];
	bool is_done = f->state == RING_DONE;

	shard_run(s, n, &r->key);
	n->intent_ns = r->intent_ns;
	shard_keep(s, n, is_done ? NODE_DONE : NODE_LOST, d->seconds());
	d->recovered += is_done;
	d->unfinished += !is_done;
	d->seq = f->seq;
}

/* What the ring holds, in the order in which it began. */
static bool
recover(struct drc *d)
{
	struct found *found = calloc(d->ring.nslots, sizeof *found);
	size_t n = 0;

	if (!found)
		return false;
	for (unsigned i = 0; i < d->ring.nslots; i++) {
		enum ring_state state = ring_read(&d->ring, i);

		if (state != RING_FREE)
			found[n++] = (struct found){d->ring.slot[i].seq, i, state};
	}
	qsort(found, n, sizeof *found, by_seq);
	for (size_t i = 0; i < n; i++)
		revive(d, &found[i]);
	free(found);
	stat_add(ST_DRC_RECOVERED, n);
	return true;
}

static bool
make_shards(struct drc *d)
{
	unsigned per = d->ring.nslots / d->nshards;

	d->shards = aligned_alloc(_Alignof(struct shard), d->nshards * sizeof *d->shards);
	if (!d->shards)
		return false;
	memset(d->shards, 0, d->nshards * sizeof *d->shards);
	for (unsigned i = 0; i < d->nshards; i++)
		if (!shard_init(&d->shards[i], per, i * per))
			return false;
	return true;
}

struct drc *
drc_open(const char *statedir, const struct drc_opts *o, char *msg, size_t size)
{
	struct drc *d = calloc(1, sizeof *d);
	unsigned slots = o && o->slots ? o->slots : DRC_SLOTS;

	snprintf(msg, size, "%s", "");
	if (d) {
		d->nshards = o && o->shards ? o->shards : DRC_SHARDS;
		d->seconds = o && o->seconds ? o->seconds : monotonic_seconds;
		if (ring_open(&d->ring, statedir, slots, d->nshards, msg, size) && make_shards(d) &&
		    recover(d))
			return d;
		drc_close(d);
	}
	snprintf(msg, size, "no memory for the duplicate request cache");
	return NULL;
}

void
drc_close(struct drc *d)
{
	if (!d)
		return;
	for (unsigned i = 0; d->shards && i < d->nshards; i++)
		shard_fini(&d->shards[i]);
	free(d->shards);
	ring_close(&d->ring);
	free(d);
}

void
drc_info(struct drc *d, struct drc_info *info)
{
	*info = (struct drc_info){
	    .recovered = d->recovered, .unfinished = d->unfinished, .lasting = d->ring.lasting};
	for (unsigned i = 0; i < d->nshards; i++) {
		struct shard *s = &d->shards[i];

		pthread_mutex_lock(&s->lock);
		info->kept += s->nkept;
		info->running += s->nrunning;
		info->clients += s->nclients;
		pthread_mutex_unlock(&s->lock);
	}
}
