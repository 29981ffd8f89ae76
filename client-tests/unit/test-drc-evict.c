/* SPDX-License-Identifier: BSD-2-Clause */
/* Who goes when the duplicate request cache is full. */
#include "drcbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

static uint64_t now;

static uint64_t
fake_clock(void)
{
	return now;
}

static uint64_t
random64(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool
kept(struct drc *d, unsigned client, uint32_t xid)
{
	struct drc_key k = key_of(d, client, xid);

	return seen(d, &k, xid) == DRC_DONE;
}

static void
keep(struct drc *d, unsigned client, uint32_t xid)
{
	struct drc_key k = key_of(d, client, xid);

	done(d, &k, xid);
}

/* A client with a million calls pushes out not one call of a thousand quiet ones, and itself keeps
 * its newest; memory and slots stay as they were. */
TEST(drc_evict, a_busy_client_pushes_out_its_own)
{
	struct drc *d = open_quiet(NULL, NULL);
	struct drc_info info;
	unsigned lost = 0;

	for (unsigned c = 1; c <= 1000; c++)
		for (uint32_t x = 0; x < 2; x++)
			keep(d, c, x);
	for (uint32_t x = 0; x < 1000000; x++)
		keep(d, 5000, x);
	for (unsigned c = 1; c <= 1000; c++)
		lost += (unsigned)!kept(d, c, 0) + (unsigned)!kept(d, c, 1);
	CU_ASSERT_EQUAL(lost, 0);
	for (uint32_t x = 0; x < 300; x++)
		CU_ASSERT(kept(d, 5000, 999999 - x));
	drc_info(d, &info);
	CU_ASSERT(info.kept <= DRC_SLOTS);
	CU_ASSERT_EQUAL(info.clients, 1001);
	drc_close(d);
}

/* A million calls of a thousand clients in any order: at no time is a client's newest call gone. */
TEST(drc_evict, never_the_newest_of_a_client)
{
	enum { CLIENTS = 1000 };
	static uint32_t newest[CLIENTS];
	struct drc *d = open_quiet(NULL, NULL);
	uint64_t rnd = 88172645463325252u;
	unsigned missing = 0;
	struct drc_info info;

	memset(newest, 0, sizeof newest);
	for (uint32_t x = 1; x <= 1000000; x++) {
		/* half of all calls come from ten clients */
		unsigned c = (unsigned)(random64(&rnd) % (x % 2 ? CLIENTS : 10));

		keep(d, c, x);
		newest[c] = x;
		c = (unsigned)(random64(&rnd) % CLIENTS);
		missing += newest[c] && !kept(d, c, newest[c]);
		if (x % 50000 == 0)
			for (c = 0; c < CLIENTS; c++)
				missing += newest[c] && !kept(d, c, newest[c]);
	}
	CU_ASSERT_EQUAL(missing, 0);
	drc_info(d, &info);
	CU_ASSERT_EQUAL(info.kept, DRC_SLOTS);
	CU_ASSERT_EQUAL(info.running, 0);
	drc_close(d);
}

/* ---- against a model ---- */

enum { SLOTS = 16, MODEL_CLIENTS = 6 };

struct model {
	struct {
		unsigned client;
		uint32_t xid;
	} call[SLOTS + 1]; /* oldest first */
	unsigned n;
};

static unsigned
model_count(const struct model *m, unsigned client)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		n += m->call[i].client == client;
	return n;
}

/* Adds a call and takes out the one that should have gone: the oldest of who keeps most, the
 * client that asks if it is one of them. Only among other clients of the same number is the choice
 * left open: *gone says which. */
static bool
model_add(struct model *m, struct drc *d, unsigned client, uint32_t xid)
{
	unsigned most = 0, out = SLOTS + 1, gone = 0, i;
	bool right = true;

	for (unsigned c = 0; c < MODEL_CLIENTS; c++)
		if (model_count(m, c) > most)
			most = model_count(m, c);
	for (i = 0; m->n == SLOTS && i < m->n; i++)
		if (!kept(d, m->call[i].client, m->call[i].xid)) {
			gone++;
			out = i;
		}
	if (m->n == SLOTS) {
		right = gone == 1 && model_count(m, m->call[out].client) == most &&
			(model_count(m, client) < most || m->call[out].client == client);
		for (i = 0; right && i < out; i++)
			right = m->call[i].client != m->call[out].client;
		m->n--;
		memmove(&m->call[out], &m->call[out + 1], (m->n - out) * sizeof *m->call);
	}
	m->call[m->n].client = client;
	m->call[m->n++].xid = xid;
	return right;
}

/* Over thousands of calls in any order each eviction is the one that the rule names. */
TEST(drc_evict, follows_the_rule)
{
	struct drc *d = open_quiet(NULL, &(struct drc_opts){.slots = SLOTS, .shards = 1});
	struct model m = {.n = 0};
	uint64_t rnd = 1181783497276652981u;
	unsigned wrong = 0;

	for (uint32_t x = 0; x < 20000 && wrong == 0; x++) {
		unsigned c = (unsigned)(random64(&rnd) % MODEL_CLIENTS);

		if (x / 1000 % 2)
			c /= 2; /* in times of unequal load, too */
		keep(d, c, x);
		wrong += !model_add(&m, d, c, x);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	drc_close(d);
}

/* When every client keeps one call only and there is no room, the one that has been so for longest
 * goes. */
TEST(drc_evict, more_clients_than_slots)
{
	struct drc *d = open_quiet(NULL, &(struct drc_opts){.slots = 8, .shards = 1});

	for (unsigned c = 0; c < 20; c++)
		keep(d, c, c);
	for (unsigned c = 0; c < 20; c++)
		CU_ASSERT_EQUAL(kept(d, c, c), c >= 12);
	keep(d, 19, 100); /* one that goes on gives up its own */
	CU_ASSERT_FALSE(kept(d, 19, 19));
	CU_ASSERT(kept(d, 19, 100));
	CU_ASSERT(kept(d, 12, 12));
	drc_close(d);
}

/* Old calls go first, whoever keeps more; but a client's newest stays, however old. */
TEST(drc_evict, age_first)
{
	struct drc *d =
	    open_quiet(NULL, &(struct drc_opts){.slots = 8, .shards = 1, .seconds = fake_clock});

	now = 5;
	for (uint32_t x = 0; x < 3; x++)
		keep(d, 1, x);
	now += DRC_AGED + 1;
	for (uint32_t x = 10; x < 17; x++)
		keep(d, 2, x);
	CU_ASSERT_FALSE(kept(d, 1, 0));
	CU_ASSERT_FALSE(kept(d, 1, 1));
	CU_ASSERT(kept(d, 1, 2));
	CU_ASSERT(kept(d, 2, 10));
	keep(d, 2, 17);
	CU_ASSERT(kept(d, 1, 2));
	CU_ASSERT_FALSE(kept(d, 2, 10));
	drc_close(d);
}

/* A client's newest call runs again: until it is done, the one before is the newest that is kept,
 * and stays as such. */
TEST(drc_evict, newest_runs_again)
{
	struct drc *d =
	    open_quiet(NULL, &(struct drc_opts){.slots = 8, .shards = 1, .seconds = fake_clock});
	char big[RING_REPLY + 1] = "";
	struct drc_key k = key_of(d, 1, 2);
	struct drc_claim c;

	now = 5;
	keep(d, 1, 0);
	keep(d, 1, 1);
	CU_ASSERT_EQUAL_FATAL(drc_claim(d, &k, &c), 0);
	drc_finish(d, &c, big, sizeof big, false);
	CU_ASSERT_EQUAL_FATAL(drc_claim(d, &k, &c), 0);
	now += DRC_AGED + 1;
	for (uint32_t x = 10; x < 30; x++)
		keep(d, 2, x);
	CU_ASSERT_FALSE(kept(d, 1, 0));
	CU_ASSERT(kept(d, 1, 1));
	drc_finish(d, &c, "", 0, false);
	for (uint32_t x = 30; x < 50; x++)
		keep(d, 2, x);
	CU_ASSERT_FALSE(kept(d, 1, 1));
	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), EBUSY); /* done, and kept */
	drc_close(d);
}

/* What runs is never pushed out; when all slots run, the next call is told that it is not kept, and
 * nothing of the others is lost. */
TEST(drc_evict, running_stays)
{
	struct drc *d = open_quiet(NULL, &(struct drc_opts){.slots = 4, .shards = 1});
	struct drc_claim c[4], more;
	struct stat_block before, after;

	for (uint32_t i = 0; i < 4; i++) {
		struct drc_key k = key_of(d, i, i);

		CU_ASSERT_EQUAL(drc_claim(d, &k, &c[i]), 0);
	}
	struct drc_key k = key_of(d, 9, 9);

	CU_ASSERT_EQUAL(drc_claim(d, &k, &more), ENOBUFS);
	drc_finish(d, &c[1], "x", 1, false);
	stat_sum(&before);
	CU_ASSERT_EQUAL(drc_claim(d, &k, &more), 0); /* in the place of the only one that is done */
	stat_sum(&after);
	CU_ASSERT_EQUAL(after.count[ST_DRC_EVICTED], before.count[ST_DRC_EVICTED] + 1);
	k = key_of(d, 1, 1);
	CU_ASSERT_EQUAL(seen(d, &k, 0), DRC_MISS);
	for (uint32_t i = 0; i < 4; i++) {
		k = key_of(d, i, i);
		if (i != 1)
			CU_ASSERT_EQUAL(seen(d, &k, 0), DRC_DROPPED);
	}
	drc_finish(d, &more, "y", 1, false);
	drc_close(d);
}
