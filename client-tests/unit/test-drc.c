/* SPDX-License-Identifier: BSD-2-Clause */
/* The duplicate request cache in memory: which calls are the same, who runs, who waits. */
#include "drcbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

/* ---- the same call or another ---- */

static void
to_v6(struct asked *a)
{
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)&a->peer;

	memset(&a->peer, 0, sizeof a->peer);
	in->sin6_family = AF_INET6;
	in->sin6_port = htons(700);
	inet_pton(AF_INET6, "fe80::a00:1", &in->sin6_addr);
	in->sin6_scope_id = 2;
}

#define CHANGE(name, what)                                                                         \
	static void name(struct asked *a)                                                          \
	{                                                                                          \
		what;                                                                              \
	}
CHANGE(xid, a->rc.xid++)
CHANGE(prog, a->rc.prog++)
CHANGE(vers, a->rc.vers--)
CHANGE(proc, a->rc.proc++)
CHANGE(flavor, a->rc.flavor = AUTH_NONE)
CHANGE(uid, a->rc.sys.uid = 0)
CHANGE(gid, a->rc.sys.gid++)
CHANGE(swapped, (a->rc.sys.uid = 100, a->rc.sys.gid = 1000))
CHANGE(one_group, a->rc.sys.gids[1]++)
CHANGE(fewer_groups, a->rc.sys.ngids--)
CHANGE(more_groups, a->rc.sys.gids[a->rc.sys.ngids++] = 0)
CHANGE(all_groups, a->rc.sys.ngids = RPC_GIDS_MAX)
CHANGE(datagram, a->datagram = true)
CHANGE(high_port, asked_port(a, 1024))
CHANGE(shorter, a->n -= 4)
CHANGE(longer, a->n += 4)
CHANGE(empty, a->n = 0)
CHANGE(other_host, ((struct sockaddr_in *)&a->peer)->sin_addr.s_addr ^= htonl(1))
CHANGE(family, to_v6(a))
CHANGE(no_family, a->peer.ss_family = AF_UNIX)

/* A call that differs from a kept one in one thing only never gets its reply: transaction, program,
 * version, procedure, caller, transport, address, length of the arguments. */
TEST(drc, anything_else_is_another_call)
{
	void (*const changes[])(struct asked *) = {
	    xid,	prog,	   vers,       proc,	     flavor,	  uid,	  gid,
	    swapped,	one_group, all_groups, fewer_groups, more_groups, family, no_family,
	    other_host, datagram,  high_port,  shorter,	     longer,	  empty};
	struct drc *d = open_quiet(NULL, NULL);
	struct asked a = asked(1, 77);
	struct drc_key k = asked_key(d, &a);

	done(d, &k, 5);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct asked b = a;

		changes[i](&b);
		k = asked_key(d, &b);
		CU_ASSERT_EQUAL(seen(d, &k, 5), DRC_MISS);
		done(d, &k, 6 + i); /* nor does it overwrite it */
	}
	k = asked_key(d, &a);
	CU_ASSERT_EQUAL(seen(d, &k, 5), DRC_DONE);
	drc_close(d);
}

/* Arguments that differ in a single bit, anywhere in a short record or in the first 4 KiB of a long
 * one, are other arguments. */
TEST(drc, every_bit_of_the_arguments_counts)
{
	const size_t sizes[] = {60, 4096, 6000};
	struct drc *d = open_quiet(NULL, NULL);

	for (size_t i = 0; i < 3; i++) {
		struct asked a = asked(1, 77);
		char args[ARGS_MAX];

		memcpy(args, a.args, sizeof args);
		a.args = args;
		a.n = sizes[i];
		struct drc_key k = asked_key(d, &a);

		done(d, &k, i);
		CU_ASSERT_EQUAL(seen(d, &k, i), DRC_DONE);
		for (size_t at = 0; at < a.n && at < DRC_HASHED; at++) {
			args[at] = (char)(args[at] ^ 1 << at % 8);
			k = asked_key(d, &a);
			args[at] = (char)(args[at] ^ 1 << at % 8);
			if (seen(d, &k, i) != DRC_MISS)
				CU_FAIL("a changed argument was not noticed");
		}
	}
	drc_close(d);
}

/* Two IPv6 peers of one link-local address on two links are two clients, and a v6 address that
 * begins like a v4 one is not that. */
TEST(drc, ipv6_scope_and_address)
{
	struct drc *d = open_quiet(NULL, NULL);
	struct asked a = asked(1, 1);
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)&a.peer;

	to_v6(&a);
	struct drc_key k = asked_key(d, &a);

	done(d, &k, 1);
	in->sin6_scope_id = 3;
	k = asked_key(d, &a);
	CU_ASSERT_EQUAL(seen(d, &k, 1), DRC_MISS);
	in->sin6_scope_id = 2;
	in->sin6_addr.s6_addr[15] ^= 1;
	k = asked_key(d, &a);
	CU_ASSERT_EQUAL(seen(d, &k, 1), DRC_MISS);
	in->sin6_addr.s6_addr[15] ^= 1;
	in->sin6_flowinfo = 9;
	k = asked_key(d, &a);
	CU_ASSERT_EQUAL(seen(d, &k, 1), DRC_DONE);
	drc_close(d);
}

/* A client that connects anew comes from another port, and may write its credential with another
 * machine name: it is the same call. */
TEST(drc, port_and_machine_do_not_count)
{
	struct drc *d = open_quiet(NULL, NULL);
	struct asked a = asked(1, 77);
	struct drc_key k = asked_key(d, &a);

	done(d, &k, 5);
	asked_port(&a, 1023);
	a.rc.sys.machine = "renamed";
	a.rc.sys.machine_len = 7;
	k = asked_key(d, &a);
	CU_ASSERT_EQUAL(seen(d, &k, 5), DRC_DONE);
	drc_close(d);
}

/* Two caches hash with two secrets: what collides in one is of no use in another. */
TEST(drc, each_has_its_secret)
{
	struct drc *d = open_quiet(NULL, NULL), *e = open_quiet(NULL, NULL);
	struct drc_key a = key_of(d, 1, 1), b = key_of(e, 1, 1);

	CU_ASSERT_NOT_EQUAL(a.args, b.args);
	CU_ASSERT_NOT_EQUAL(a.cred, b.cred);
	CU_ASSERT_NOT_EQUAL(a.client, b.client);
	drc_close(d);
	drc_close(e);
}

/* A reply of any length that is kept comes back byte for byte, and with its success or failure. */
TEST(drc, replay_is_exact)
{
	struct drc *d = open_quiet(NULL, NULL);

	for (unsigned i = 0; i <= RING_REPLY; i++) {
		struct drc_key k = key_of(d, 1, i);

		done(d, &k, i);
	}
	for (unsigned i = 0; i <= RING_REPLY; i++) {
		struct drc_key k = key_of(d, 1, i);

		CU_ASSERT_EQUAL(seen(d, &k, i), DRC_DONE);
		CU_ASSERT_EQUAL(seen(d, &k, i), DRC_DONE);
	}
	drc_close(d);
}

/* ---- running ---- */

struct sleeper {
	struct drc_waiter w; /* first */
	int woken;
	bool failed;
	size_t len;
	char got[1024];
};

static void
wake(struct drc_waiter *w, const void *reply, size_t len, bool failed)
{
	struct sleeper *s = (struct sleeper *)w;

	s->woken += reply ? 1 : 100;
	s->len = len;
	s->failed = failed;
	if (reply)
		memcpy(s->got, reply, len);
	memset(w, 0xff, sizeof *w); /* the cache must not look at it any more */
}

static enum drc_seen
wait_for(struct drc *d, const struct drc_key *k, struct sleeper *s)
{
	char buf[RING_REPLY];
	size_t n;
	bool failed;

	*s = (struct sleeper){.w.wake = wake};
	return drc_look(d, k, buf, &n, &failed, &s->w);
}

/* A repeat of a running call is not run: it waits, as many as may, and each gets the reply of the
 * one that runs, once; the next is dropped, as is one that cannot wait. */
TEST(drc, repeats_of_a_running_call_wait)
{
	struct drc *d = open_quiet(NULL, NULL);
	struct drc_key k = key_of(d, 1, 1), other = key_of(d, 1, 2);
	struct sleeper s[DRC_WAITERS + 1];
	struct drc_claim c, again;

	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
	CU_ASSERT_FALSE(c.after_crash);
	CU_ASSERT_EQUAL(drc_claim(d, &k, &again), EBUSY);
	CU_ASSERT_EQUAL(seen(d, &k, 0), DRC_DROPPED);
	for (int i = 0; i < DRC_WAITERS; i++)
		CU_ASSERT_EQUAL(wait_for(d, &k, &s[i]), DRC_PARKED);
	CU_ASSERT_EQUAL(wait_for(d, &k, &s[DRC_WAITERS]), DRC_DROPPED);
	CU_ASSERT_EQUAL(seen(d, &other, 0), DRC_MISS);
	drc_finish(d, &c, "the reply", 9, true);
	for (int i = 0; i < DRC_WAITERS; i++) {
		CU_ASSERT_EQUAL(s[i].woken, 1);
		CU_ASSERT(s[i].len == 9 && memcmp(s[i].got, "the reply", 9) == 0);
		CU_ASSERT(s[i].failed);
	}
	CU_ASSERT_EQUAL(s[DRC_WAITERS].woken, 0);
	CU_ASSERT_EQUAL(drc_claim(d, &k, &again), EBUSY); /* done now: look */
	drc_close(d);
}

/* A call that was given up had not happened: who waits is told to look again, and the next to claim
 * runs it as new. */
TEST(drc, abandoned_is_as_never_begun)
{
	struct drc *d = open_quiet(NULL, NULL);
	struct drc_key k = key_of(d, 1, 1);
	struct drc_info info;
	struct sleeper s;
	struct drc_claim c;

	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
	CU_ASSERT_EQUAL(wait_for(d, &k, &s), DRC_PARKED);
	drc_abandon(d, &c);
	CU_ASSERT_EQUAL(s.woken, 100);
	CU_ASSERT_EQUAL(seen(d, &k, 0), DRC_MISS);
	drc_info(d, &info);
	CU_ASSERT(info.kept == 0 && info.running == 0 && info.clients == 0);
	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
	CU_ASSERT_FALSE(c.after_crash);
	drc_finish(d, &c, "", 0, false);
	drc_close(d);
}

/* A reply too long to keep reaches who waits in full; a later repeat is run, warned that it ran
 * before, and the reply it then has is kept. */
TEST(drc, long_reply_is_not_kept)
{
	struct drc *d = open_quiet(NULL, NULL);
	struct drc_key k = key_of(d, 1, 1);
	struct drc_claim c, second;
	struct sleeper s;
	char big[1000];

	memset(big, 'x', sizeof big);
	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
	CU_ASSERT_EQUAL(wait_for(d, &k, &s), DRC_PARKED);
	drc_finish(d, &c, big, sizeof big, false);
	CU_ASSERT(s.woken == 1 && s.len == sizeof big && memcmp(s.got, big, sizeof big) == 0);
	CU_ASSERT_EQUAL(seen(d, &k, 0), DRC_MISS);
	CU_ASSERT_EQUAL(drc_claim(d, &k, &second), 0);
	CU_ASSERT(second.after_crash);
	CU_ASSERT_EQUAL(second.intent_ns, c.intent_ns);
	CU_ASSERT_EQUAL(seen(d, &k, 0), DRC_DROPPED);
	drc_finish(d, &second, big, 1, false);
	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), EBUSY);
	drc_close(d);
}

static uint64_t now;

static uint64_t
fake_clock(void)
{
	return now;
}

/* A call is recognised for DRC_LIFE seconds, and then no more: its slot is free. One that runs is
 * recognised however long. */
TEST(drc, forgotten_after_a_life)
{
	struct drc *d = open_quiet(NULL, &(struct drc_opts){.seconds = fake_clock});
	struct drc_key a = key_of(d, 1, 1), b = key_of(d, 2, 1);
	struct drc_info info;
	struct drc_claim c;

	now = 1000;
	done(d, &a, 1);
	CU_ASSERT_EQUAL(drc_claim(d, &b, &c), 0);
	now += DRC_LIFE;
	CU_ASSERT_EQUAL(seen(d, &a, 1), DRC_DONE);
	now++;
	CU_ASSERT_EQUAL(seen(d, &a, 1), DRC_MISS);
	CU_ASSERT_EQUAL(seen(d, &b, 1), DRC_DROPPED);
	drc_info(d, &info);
	CU_ASSERT(info.kept == 0 && info.running == 1);
	drc_finish(d, &c, "", 0, false);
	drc_close(d);
}

/* ---- many threads ---- */

enum { THREADS = 4, KEYS = 20000 };

struct crowd {
	struct drc *d;
	unsigned char ran[KEYS];
	unsigned wrong;
};

struct blocked {
	struct drc_waiter w; /* first */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int state; /* 0 waits, 1 has a reply, 2 must look again */
	uint32_t got;
};

static void
unblock(struct drc_waiter *w, const void *reply, size_t len, bool failed)
{
	struct blocked *b = (struct blocked *)w;

	(void)len;
	(void)failed;
	pthread_mutex_lock(&b->lock);
	if (reply)
		memcpy(&b->got, reply, 4);
	b->state = reply ? 1 : 2;
	pthread_cond_signal(&b->cond);
	pthread_mutex_unlock(&b->lock);
}

/* As a server does: look, wait if it runs, else claim, run, finish. The number in the reply, or
 * UINT32_MAX when it was dropped. */
static uint32_t
serve(struct crowd *w, uint32_t i, bool give_up_once)
{
	struct drc_key k = key_of(w->d, i % 50, i);
	struct blocked b = {
	    .w.wake = unblock, .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
	struct drc_claim c;
	uint32_t n = i;
	char buf[RING_REPLY];
	size_t len;
	bool failed;

	for (;;) {
		b.state = 0;
		switch (drc_look(w->d, &k, buf, &len, &failed, &b.w)) {
		case DRC_DONE:
			memcpy(&n, buf, 4);
			return n;
		case DRC_DROPPED:
			return UINT32_MAX;
		case DRC_PARKED:
			pthread_mutex_lock(&b.lock);
			while (b.state == 0)
				pthread_cond_wait(&b.cond, &b.lock);
			pthread_mutex_unlock(&b.lock);
			if (b.state == 1)
				return b.got;
			continue;
		case DRC_MISS:
			break;
		}
		if (drc_claim(w->d, &k, &c) != 0)
			continue;
		if (give_up_once) {
			give_up_once = false;
			drc_abandon(w->d, &c);
			continue;
		}
		__atomic_add_fetch(&w->ran[i], 1, __ATOMIC_RELAXED);
		drc_finish(w->d, &c, &n, 4, false);
		return n;
	}
}

static void *
crowd_member(void *arg)
{
	struct crowd *w = arg;

	for (uint32_t i = 0; i < KEYS; i++)
		if (serve(w, i, i % 8 == 0) != i)
			__atomic_add_fetch(&w->wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Threads that all send the same calls at the same time: each call runs exactly once, and every
 * thread gets its reply, though some give up in between. */
TEST(drc, runs_once_among_threads)
{
	static struct crowd w;
	pthread_t t[THREADS];
	struct drc_info info;
	unsigned twice = 0, never = 0;

	/* room for all: what was pushed out would rightly run again */
	w = (struct crowd){.d = open_quiet(NULL, &(struct drc_opts){.slots = 1 << 17})};
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, crowd_member, &w);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < KEYS; i++) {
		twice += w.ran[i] > 1;
		never += w.ran[i] == 0;
	}
	CU_ASSERT_EQUAL(twice, 0);
	CU_ASSERT_EQUAL(never, 0);
	CU_ASSERT_EQUAL(w.wrong, 0);
	drc_info(w.d, &info);
	CU_ASSERT(info.kept == KEYS && info.running == 0 && info.clients == 50);
	drc_close(w.d);
}
