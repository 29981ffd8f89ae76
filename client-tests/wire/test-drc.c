/* SPDX-License-Identifier: BSD-2-Clause */
/* Repeated calls through the engine: one after the other, at the same time, after a kill. */
#include "counter.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- through the engine ---- */

/* Runs the record and checks the reply to be the former one, byte for byte. */
static void
same_again(struct bed *b, const struct bed_reply *first, const char *bytes)
{
	bed_run(b, BED_LOOP);
	CU_ASSERT_EQUAL(b->reply.verdict, CALL_REPLY);
	CU_ASSERT_FALSE(b->reply.slept); /* a replay needs no worker */
	CU_ASSERT_EQUAL(b->reply.failed, first->failed);
	CU_ASSERT(b->reply.len == first->len && memcmp(b->reply.buf, bytes, first->len) == 0);
}

/* A call that comes again, in whatever mode and however often, is carried out once and answered
 * with the same bytes; so is one that failed, and its failure counts as one. */
TEST(wire_drc, carried_out_once)
{
	struct bed *b = begin_test();
	const uint32_t procs[] = {P_ADD, P_FAIL};

	for (unsigned i = 0; i < 2; i++) {
		record(b, procs[i], i);
		struct add_res r = run(b);

		CU_ASSERT(b->reply.slept && r.ran == 1 && r.status == (i ? FAILURE : 0));
		struct bed_reply first = b->reply;
		char bytes[512];

		memcpy(bytes, b->reply.buf, b->reply.len);
		CU_ASSERT_EQUAL(first.failed, i == 1);
		for (int n = 0; n < 3; n++)
			same_again(b, &first, bytes);
		bed_run_all(b);
		CU_ASSERT_EQUAL(svc->ran[i], 1);
		b->peer.port = 701;
		((struct sockaddr_in *)&b->peer.addr)->sin_port = htons(701);
		same_again(b, &first, bytes); /* from another connection */
		CU_ASSERT_EQUAL(svc->ran[i], 1);
	}
	end_test(b);
}

/* What differs in anything else is another call, though the transaction id is the same: other
 * arguments, procedure, caller, groups, host. Each is carried out and gets its own reply. */
TEST(wire_drc, same_xid_is_not_enough)
{
	struct bed *b = begin_test();
	struct sockaddr_in *in = (struct sockaddr_in *)&b->peer.addr;
	unsigned n = 0;

	for (int round = 0; round < 2; round++) { /* the second time all are repeats */
		uint32_t xid = 50;

		b->uid = 0;
		b->ngids = 0;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		for (n = 0; n < 7; n++) {
			if (n == 3)
				b->uid = 1000;
			if (n == 4)
				b->gids[b->ngids++] = 4;
			if (n == 5)
				in->sin_addr.s_addr = htonl(0x7f000002);
			b->xid = xid - 1;
			record(b, n == 2 ? P_OTHER : P_ADD, n == 1 ? 1 : 0);
			if (n == 6)
				bed_append(b, "pad", 4); /* bytes behind the arguments */
			struct add_res r = run(b);

			CU_ASSERT_EQUAL(r.ran, n == 1 ? 1 : n > 1 ? n : n + 1);
		}
	}
	CU_ASSERT_EQUAL(svc->ran[0], n - 1);
	CU_ASSERT_EQUAL(svc->ran[1], 1);
	end_test(b);
}

/* What asks for no keeping is carried out each time, as is everything without a cache. */
TEST(wire_drc, only_what_asks_for_it)
{
	struct bed *b = begin_test();
	struct drc *d = b->engine.drc;

	record(b, P_PLAIN, 1);
	CU_ASSERT_EQUAL(run(b).ran, 1);
	CU_ASSERT_FALSE(b->reply.slept);
	CU_ASSERT_EQUAL(run(b).ran, 2);
	b->engine.drc = NULL;
	record(b, P_ADD, 2);
	CU_ASSERT_EQUAL(run(b).ran, 1);
	CU_ASSERT_EQUAL(run(b).ran, 2);
	b->engine.drc = d;
	CU_ASSERT_EQUAL(run(b).ran, 3);
	CU_ASSERT_EQUAL(run(b).ran, 3);
	end_test(b);
}

/* A call that was refused before its procedure began had no effect: it is judged anew. Nor is a
 * reply kept that tells the caller to come again later. */
TEST(wire_drc, without_effect_is_not_kept)
{
	struct bed *b = begin_test();
	struct drc_info info;

	record(b, P_ADD, REFUSED_TOKEN);
	for (unsigned i = 1; i <= 3; i++) {
		CU_ASSERT_EQUAL(run(b).status, REFUSAL);
		CU_ASSERT_EQUAL(svc->begun, i);
	}
	CU_ASSERT_EQUAL(svc->ran[REFUSED_TOKEN], 0);
	record(b, P_ADD, 1);
	b->reclen -= 4;
	for (int i = 0; i < 2; i++) {
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_outcome(b, NULL), OUT_ACCEPTED + GARBAGE_ARGS);
	}
	record(b, P_LATER, 2);
	for (unsigned i = 1; i <= 3; i++)
		CU_ASSERT_EQUAL(run(b).ran, i);
	drc_info(b->engine.drc, &info);
	CU_ASSERT_EQUAL(info.kept, 0);
	end_test(b);
}

static struct row big = ADD_ROW("BIG", counter_add, true);

static const struct row *
big_row(uint32_t version, unsigned *n)
{
	(void)version;
	*n = 1;
	return &big;
}

/* The check at start names a row whose reply would not fit a slot, or could carry a body. */
TEST(wire_drc, check_finds_what_cannot_be_kept)
{
	static const struct program prog = {.number = 7, .low = 1, .high = 1, .rows = big_row};
	static const struct program *const list[] = {&prog, NULL};
	struct engine e;
	char err[200];

	engine_init(&e);
	e.programs = list;
	big.head = RING_REPLY - RPC_HEAD;
	CU_ASSERT_EQUAL(engine_check(&e, err, sizeof err), 0);
	big.head++;
	CU_ASSERT_NOT_EQUAL(engine_check(&e, err, sizeof err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "RING_REPLY"));
	big.keep = false;
	CU_ASSERT_EQUAL(engine_check(&e, err, sizeof err), 0);
	big.keep = true;
	big.head = ADD_RESULT;
	big.bulk = 4;
	CU_ASSERT_NOT_EQUAL(engine_check(&e, err, sizeof err), 0);
	engine_fini(&e);
}

/* ---- while it runs ---- */

struct asker {
	struct call call; /* first */
	pthread_t thread;
	enum call_verdict v;
	unsigned woken;
	struct bed *b;
};

static void
wake(struct call *c, enum call_verdict v)
{
	struct asker *a = (struct asker *)c;

	a->v = v;
	__atomic_add_fetch(&a->woken, 1, __ATOMIC_ACQ_REL);
}

static struct asker *
new_asker(struct bed *b)
{
	struct asker *a = calloc(1, sizeof *a);

	call_init(&a->call, &b->engine);
	a->b = b;
	a->call.peer = &b->peer;
	a->call.rec = b->rec;
	a->call.reclen = b->reclen;
	a->call.may_sleep = true;
	a->call.wake = wake;
	return a;
}

/* As a worker runs it; to the end, also when it is woken to run again. */
static void *
ask(void *arg)
{
	struct asker *a = arg;
	unsigned times = 0;

	for (;;) {
		enum call_verdict v = call_run(&a->call);

		if (v != CALL_PARKED) {
			a->v = v;
			break;
		}
		until(&a->woken, ++times);
		if (a->v != CALL_SLEEPS)
			break;
	}
	return NULL;
}

static struct asker *
start(struct bed *b)
{
	struct asker *a = new_asker(b);

	pthread_create(&a->thread, NULL, ask, a);
	return a;
}

static void
finish(struct asker *a)
{
	call_reset(&a->call);
	free(a);
}

static void
expect_same_reply(const struct asker *a, const struct asker *b)
{
	CU_ASSERT_EQUAL(a->v, CALL_REPLY);
	CU_ASSERT_EQUAL(b->v, CALL_REPLY);
	CU_ASSERT(a->call.headlen == b->call.headlen && a->call.headlen > RPC_HEAD);
	CU_ASSERT_EQUAL(memcmp(a->call.head, b->call.head, a->call.headlen), 0);
	CU_ASSERT_EQUAL(a->call.failed, b->call.failed);
}

/* A repeat of a call that runs is parked, on a loop too, and woken with the reply; one that cannot
 * be parked is dropped. The call runs once. */
TEST(wire_drc, repeat_of_a_running_call)
{
	struct bed *b = begin_test();

	record(b, P_HOLD, 5);
	set_hold(true);
	struct asker *first = start(b), *second = new_asker(b), *third = new_asker(b);

	until(&svc->inside, 1);
	second->call.may_sleep = false;
	CU_ASSERT_EQUAL(call_run(&second->call), CALL_PARKED);
	third->call.wake = NULL;
	CU_ASSERT_EQUAL(call_run(&third->call), CALL_DROP);
	CU_ASSERT_EQUAL(load(&second->woken), 0);
	set_hold(false);
	until(&second->woken, 1);
	pthread_join(first->thread, NULL);
	expect_same_reply(first, second);
	CU_ASSERT_EQUAL(call_run(&third->call), CALL_REPLY);
	third->v = CALL_REPLY;
	expect_same_reply(first, third);
	CU_ASSERT_EQUAL(svc->ran[5], 1);
	finish(first);
	finish(second);
	finish(third);
	end_test(b);
}

/* The call that runs comes to nothing: who waits for it runs itself, not a moment earlier. */
TEST(wire_drc, repeat_of_a_call_that_comes_to_nothing)
{
	struct bed *b = begin_test();

	record(b, P_LATER, 5);
	set_hold(true);
	struct asker *first = start(b), *second = new_asker(b);

	until(&svc->inside, 1);
	CU_ASSERT_EQUAL(call_run(&second->call), CALL_PARKED);
	CU_ASSERT_EQUAL(svc->ran[5], 1);
	set_hold(false);
	until(&second->woken, 1);
	pthread_join(first->thread, NULL);
	CU_ASSERT_EQUAL(first->v, CALL_REPLY);
	CU_ASSERT_EQUAL(second->v, CALL_SLEEPS);
	CU_ASSERT_EQUAL(call_run(&second->call), CALL_REPLY);
	CU_ASSERT_EQUAL(svc->ran[5], 2);
	finish(first);
	finish(second);
	end_test(b);
}

/* Workers that have all passed the gate with the same call before any of them begins it: one
 * carries it out, all answer with its reply. */
TEST(wire_drc, race_to_begin)
{
	enum { N = 4 };
	struct bed *b = begin_test();
	struct asker *a[N];

	for (uint32_t round = 0; round < 50; round++) {
		record(b, P_ADD, round % 8);
		svc->ran[round % 8] = 0;
		svc->begun = 0;
		svc->meet = N;
		for (int i = 0; i < N; i++)
			a[i] = start(b);
		for (int i = 0; i < N; i++)
			pthread_join(a[i]->thread, NULL);
		CU_ASSERT_EQUAL(svc->ran[round % 8], 1);
		for (int i = 0; i < N; i++) {
			expect_same_reply(a[0], a[i]);
			if (i > 0)
				finish(a[i]);
		}
		finish(a[0]);
	}
	end_test(b);
}

/* ---- over a restart ---- */

static uint64_t
coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Runs the record in a child that keeps its replies in the bed's ring, and kills it when `inside`
 * has been entered so often. */
static void
run_in_victim(struct bed *b, unsigned inside)
{
	int status = 0;

	drc_close(b->engine.drc);
	fflush(stdout);
	pid_t pid = fork();

	if (pid == 0) {
		struct asker *a = new_asker(b);

		b->engine.drc = open_drc(b);
		ask(a);
		__atomic_add_fetch(&svc->inside, 1, __ATOMIC_ACQ_REL);
		for (;;)
			pause();
	}
	until(&svc->inside, inside);
	kill(pid, SIGKILL);
	CU_ASSERT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	b->engine.drc = open_drc(b);
}

/* A server that was killed after its reply: the next one repeats it and carries nothing out. One
 * that was killed in the middle: the next one carries the call out, once, and its procedure is told
 * that it had begun, and when. */
TEST(wire_drc, killed_server)
{
	struct bed *b = begin_test();

	record(b, P_ADD, 1);
	run_in_victim(b, 1);
	CU_ASSERT_EQUAL(svc->ran[1], 1);
	struct add_res r = run(b);

	CU_ASSERT(r.ran == 1 && r.crash == 0 && !b->reply.slept);
	CU_ASSERT_EQUAL(svc->ran[1], 1);

	uint64_t from = coarse_ns();

	record(b, P_HOLD, 2);
	set_hold(true);
	run_in_victim(b, 2);
	uint64_t to = coarse_ns();

	set_hold(false);
	CU_ASSERT_EQUAL(svc->ran[2], 1);
	r = run(b);
	CU_ASSERT(r.ran == 2 && r.crash == 1);
	CU_ASSERT(r.intent >= from && r.intent <= to);
	uint64_t intent = r.intent;

	r = run(b);
	CU_ASSERT(r.ran == 2 && r.crash == 1 && r.intent == intent && !b->reply.slept);
	record(b, P_ADD, 3); /* nobody else is told so */
	r = run(b);
	CU_ASSERT(r.ran == 1 && r.crash == 0 && r.intent >= to);
	end_test(b);
}
