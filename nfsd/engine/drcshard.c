/* SPDX-License-Identifier: BSD-2-Clause */
#include "drcshard.h"

#include <stdlib.h>
#include <string.h>

/* The hash of the arguments is keyed: nobody can steer calls into one chain. */
static struct node_list *
chain(struct shard *s, const struct drc_key *k)
{
	uint64_t mix = k->args ^ k->cred ^ (uint64_t)k->xid * 0x9E3779B97F4A7C15u;

	return &s->index[(mix ^ mix >> 32) & s->mask];
}

struct drc_node *
shard_find(struct shard *s, const struct drc_key *k)
{
	struct drc_node *n;

	for (n = LIST_FIRST(chain(s, k)); n; n = LIST_NEXT(n, hash))
		if (memcmp(&n->key, k, sizeof *k) == 0)
			return n;
	return NULL;
}

/* ---- clients ---- */

static struct client_list *
client_chain(struct shard *s, const struct drc_key *k)
{
	return &s->clients[k->client >> 32 & s->mask];
}

static struct drc_client *
find_client(struct shard *s, const struct drc_key *k)
{
	struct drc_client *c;

	for (c = LIST_FIRST(client_chain(s, k)); c; c = LIST_NEXT(c, hash))
		if (c->id == k->client)
			return c;
	return NULL;
}

/* There is always one to be had: each client in use keeps a call, and there are as many as nodes.
 */
static struct drc_client *
need_client(struct shard *s, const struct drc_key *k)
{
	struct drc_client *c = find_client(s, k);

	if (c)
		return c;
	c = LIST_FIRST(&s->free_clients);
	LIST_REMOVE(c, hash);
	c->id = k->client;
	c->ncalls = 0;
	TAILQ_INIT(&c->calls);
	LIST_INSERT_HEAD(client_chain(s, k), c, hash);
	TAILQ_INSERT_TAIL(&s->rank[0], c, rank);
	s->nclients++;
	return c;
}

/* The client keeps one more or one fewer. */
static void
rerank(struct shard *s, struct drc_client *c, bool more)
{
	TAILQ_REMOVE(&s->rank[c->ncalls], c, rank);
	c->ncalls += more ? 1 : -1u;
	if (c->ncalls > s->most)
		s->most = c->ncalls;
	if (c->ncalls > 0) {
		TAILQ_INSERT_TAIL(&s->rank[c->ncalls], c, rank);
	} else {
		LIST_REMOVE(c, hash);
		LIST_INSERT_HEAD(&s->free_clients, c, hash);
		s->nclients--;
	}
	while (s->most > 0 && TAILQ_EMPTY(&s->rank[s->most]))
		s->most--; /* at most one step: counts change by one */
}

/* ---- kept calls ---- */

static void
supersede(struct shard *s, struct drc_node *n, bool yes)
{
	if (!n || n->superseded == yes)
		return;
	n->superseded = yes;
	if (yes)
		TAILQ_INSERT_TAIL(&s->superseded, n, aging);
	else
		TAILQ_REMOVE(&s->superseded, n, aging);
}

void
shard_keep(struct shard *s, struct drc_node *n, enum node_state state, uint64_t now)
{
	struct drc_client *c = need_client(s, &n->key);

	supersede(s, TAILQ_LAST(&c->calls, drc_calls), true);
	TAILQ_INSERT_TAIL(&c->calls, n, of_client);
	rerank(s, c, true);
	n->client = c;
	n->state = state;
	n->stamp = now;
	n->was_lost = false;
	s->nrunning--;
	s->nkept++;
}

static void
unkeep(struct shard *s, struct drc_node *n)
{
	struct drc_client *c = n->client;

	supersede(s, n, false);
	TAILQ_REMOVE(&c->calls, n, of_client);
	supersede(s, TAILQ_LAST(&c->calls, drc_calls), false); /* the newest now */
	rerank(s, c, false);
	n->client = NULL;
	s->nkept--;
}

void
shard_rerun(struct shard *s, struct drc_node *n)
{
	unkeep(s, n);
	n->was_lost = n->state == NODE_LOST;
	n->state = NODE_RUNNING;
	s->nrunning++;
}

void
shard_run(struct shard *s, struct drc_node *n, const struct drc_key *k)
{
	n->key = *k;
	n->state = NODE_RUNNING;
	n->was_lost = false;
	n->waiters = NULL;
	n->nwaiters = 0;
	LIST_REMOVE(n, hash);
	LIST_INSERT_HEAD(chain(s, k), n, hash);
	s->nrunning++;
}

void
shard_drop(struct shard *s, struct drc_node *n)
{
	if (n->state == NODE_RUNNING)
		s->nrunning--;
	else
		unkeep(s, n);
	n->state = NODE_FREE;
	LIST_REMOVE(n, hash);
	LIST_INSERT_HEAD(&s->free, n, hash);
}

/* ---- who goes ---- */

static struct drc_node *
victim(struct shard *s, const struct drc_key *asker, uint64_t now)
{
	struct drc_node *old = TAILQ_FIRST(&s->superseded);
	struct drc_client *c;

	if (old && now - old->stamp > DRC_AGED)
		return old;
	if (s->most == 0)
		return NULL;
	c = find_client(s, asker);
	if (!c || c->ncalls < s->most)
		c = TAILQ_FIRST(&s->rank[s->most]);
	return TAILQ_FIRST(&c->calls);
}

struct drc_node *
shard_take(struct shard *s, const struct drc_key *asker, uint64_t now, bool *evicted)
{
	struct drc_node *n;

	*evicted = false;
	if (LIST_EMPTY(&s->free)) {
		n = victim(s, asker, now);
		if (!n)
			return NULL;
		shard_drop(s, n);
		*evicted = true;
	}
	return LIST_FIRST(&s->free);
}

/* ---- memory ---- */

bool
shard_init(struct shard *s, unsigned nslots, unsigned first)
{
	memset(s, 0, sizeof *s);
	pthread_mutex_init(&s->lock, NULL);
	s->nslots = nslots;
	s->mask = nslots - 1;
	s->index = calloc(nslots, sizeof *s->index);
	s->clients = calloc(nslots, sizeof *s->clients);
	s->rank = calloc(nslots + 1, sizeof *s->rank);
	s->nodes = calloc(nslots, sizeof *s->nodes);
	s->client_mem = calloc(nslots, sizeof *s->client_mem);
	if (!s->index || !s->clients || !s->rank || !s->nodes || !s->client_mem)
		return false;
	TAILQ_INIT(&s->superseded);
	for (unsigned i = 0; i <= nslots; i++)
		TAILQ_INIT(&s->rank[i]);
	for (unsigned i = nslots; i-- > 0;) {
		s->nodes[i].shard = s;
		s->nodes[i].slot = first + i;
		LIST_INSERT_HEAD(&s->free, &s->nodes[i], hash);
		LIST_INSERT_HEAD(&s->free_clients, &s->client_mem[i], hash);
	}
	return true;
}

void
shard_fini(struct shard *s)
{
	pthread_mutex_destroy(&s->lock);
	free(s->index);
	free(s->clients);
	free(s->rank);
	free(s->nodes);
	free(s->client_mem);
}
