/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repeated calls through the engine and through connections. A program of its own counts how often
 * each of its procedures was carried out: that a call ran once is seen, not concluded.
 */
#include "lib/bed.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "loop.h"
#include "pool.h"
#include "stat.h"

enum { PROG = 0x20000d0c, VERS = 1, TOKENS = 64, REFUSED_TOKEN = 63, REFUSAL = 13, FAILURE = 42 };
enum { P_NULL, P_ADD, P_PLAIN, P_HOLD, P_LATER, P_FAIL, P_OTHER, PROCS };

struct add_args {
	uint32_t token;
};
struct add_res {
	uint32_t status, ran, crash;
	uint64_t intent;
};

/* Shared with children. */
static struct counted {
	unsigned ran[TOKENS], begun, inside;
	unsigned meet; /* so many must be in begin before any goes on */
	bool hold;     /* P_HOLD and P_LATER stay inside */
} * svc;

static bool_t
xdr_add_args(XDR *x, struct add_args *a)
{
	return xdr_u_int(x, &a->token);
}

static bool_t
xdr_add_res(XDR *x, struct add_res *r)
{
	return xdr_u_int(x, &r->status) && xdr_u_int(x, &r->ran) && xdr_u_int(x, &r->crash) &&
	       xdr_uint64_t(x, &r->intent);
}

static unsigned
load(const unsigned *n)
{
	return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

static void
until(const unsigned *n, unsigned least)
{
	while (load(n) < least)
		sched_yield();
}

static void
set_hold(bool yes)
{
	__atomic_store_n(&svc->hold, yes, __ATOMIC_RELEASE);
}

static int
nothing(struct call *c)
{
	(void)c;
	return 0;
}

static int
add(struct call *c)
{
	const struct add_args *a = c->args;
	struct add_res *r = c->res;

	r->ran = __atomic_add_fetch(&svc->ran[a->token % TOKENS], 1, __ATOMIC_ACQ_REL);
	r->crash = c->after_crash;
	r->intent = c->intent_ns;
	return 0;
}

static int
hold(struct call *c)
{
	add(c);
	__atomic_add_fetch(&svc->inside, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&svc->hold, __ATOMIC_ACQUIRE))
		sched_yield();
	return 0;
}

static int
later(struct call *c)
{
	hold(c);
	c->again = true;
	return FAILURE;
}

static int
fail(struct call *c)
{
	add(c);
	return FAILURE;
}

#define ADD_ROW(n, f, k)                                                                           \
	{                                                                                          \
		.name = n, .args_xdr = (int (*)(void *, void *))xdr_add_args,                      \
		.res_xdr = (int (*)(void *, void *))xdr_add_res,                                   \
		.args_size = sizeof(struct add_args), .res_size = sizeof(struct add_res),          \
		.head = 20, .keep = k, .fn = f                                                     \
	}
static const struct row rows[PROCS] = {
    [P_NULL] = {.name = "NULL", .fn = nothing, .anyone = true},
    [P_ADD] = ADD_ROW("ADD", add, true),
    [P_PLAIN] = ADD_ROW("PLAIN", add, false),
    [P_HOLD] = ADD_ROW("HOLD", hold, true),
    [P_LATER] = ADD_ROW("LATER", later, true),
    [P_FAIL] = ADD_ROW("FAIL", fail, true),
    [P_OTHER] = ADD_ROW("OTHER", add, true),
};

static const struct row *
get_rows(uint32_t version, unsigned *n)
{
	(void)version;
	*n = PROCS;
	return rows;
}

static int
begin(struct call *c)
{
	const struct add_args *a = c->args;

	if (!c->row->res_xdr)
		return 0;
	__atomic_add_fetch(&svc->begun, 1, __ATOMIC_ACQ_REL);
	until(&svc->begun, svc->meet);
	return a->token == REFUSED_TOKEN ? REFUSAL : 0;
}

static int
end(struct call *c, int status)
{
	if (c->row->res_xdr)
		((struct add_res *)c->res)->status = (uint32_t)status;
	return 0;
}

static const struct program counting = {
    .number = PROG, .low = VERS, .high = VERS, .rows = get_rows, .begin = begin, .end = end};
static const struct program *const programs[] = {&counting, NULL};

/* ---- the bed, with that program and a cache ---- */

static struct drc *
open_drc(struct bed *b)
{
	char state[80], msg[400];
	struct drc *d;

	snprintf(state, sizeof state, "%s/state", b->base);
	d = drc_open(state, NULL, msg, sizeof msg);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	CU_ASSERT_STRING_EQUAL(msg, "");
	return d;
}

static struct bed *
begin_test(void)
{
	struct bed *b = bed_new(NULL);
	char err[200];

	svc = mmap(NULL, sizeof *svc, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(svc != MAP_FAILED);
	b->engine.programs = programs;
	b->engine.drc = open_drc(b);
	CU_ASSERT_EQUAL(engine_check(&b->engine, err, sizeof err), 0);
	return b;
}

static void
end_test(struct bed *b)
{
	struct drc_info info;

	drc_info(b->engine.drc, &info);
	CU_ASSERT_EQUAL(info.running, 0);
	drc_close(b->engine.drc);
	munmap(svc, sizeof *svc);
	bed_free(b);
}

static void
record(struct bed *b, uint32_t proc, uint32_t token)
{
	struct add_args a = {token};

	bed_record(b, PROG, VERS, proc, (xdrproc_t)xdr_add_args, &a);
}

static struct add_res
run(struct bed *b)
{
	struct add_res r = {.status = 999};

	bed_run(b, BED_LOOP);
	bed_results(b, (xdrproc_t)xdr_add_res, &r);
	return r;
}

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

/* ---- through the engine ---- */

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

static struct row big = ADD_ROW("BIG", add, true);

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
	big.head = 20;
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

/* ---- through connections ---- */

struct wires {
	struct bed *b;
	struct pool *pool;
	struct loop *loop[2];
	int end[8]; /* ours of each connection; they live on the loops in turn */
	unsigned n;
	struct stat_block before;
};

static unsigned
counted(const struct wires *w, enum stat_id id)
{
	struct stat_block now;

	stat_sum(&now);
	return (unsigned)(now.count[id] - w->before.count[id]);
}

static void
until_counted(const struct wires *w, enum stat_id id, unsigned n)
{
	while (counted(w, id) < n)
		sched_yield();
}

static unsigned
wire_new(struct wires *w)
{
	int fd[2];

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	CU_ASSERT_EQUAL(fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
	loop_adopt(w->loop[w->n % 2], fd[1], &w->b->peer.addr);
	w->end[w->n] = fd[0];
	return w->n++;
}

static struct wires
wires_new(unsigned n)
{
	struct wires w = {.b = begin_test()};

	stat_sum(&w.before);
	w.pool = pool_new(8);
	for (unsigned i = 0; i < 2; i++)
		w.loop[i] = loop_new(&w.b->engine, w.pool, i);
	while (n-- > 0)
		wire_new(&w);
	return w;
}

static void
wires_free(struct wires *w, double seconds)
{
	for (unsigned i = 0; i < 2; i++)
		loop_stop(w->loop[i], seconds);
	for (unsigned i = 0; i < 2; i++)
		loop_join(w->loop[i]);
	pool_free(w->pool);
	for (unsigned i = 0; i < w->n; i++)
		if (w->end[i] >= 0)
			close(w->end[i]);
	buf_trim();
	end_test(w->b);
}

static void
wire_send(struct wires *w, unsigned i)
{
	char mark[4];
	uint32_t m = htonl(0x80000000u | (uint32_t)w->b->reclen);

	memcpy(mark, &m, 4);
	CU_ASSERT_EQUAL(send(w->end[i], mark, 4, MSG_MORE), 4);
	CU_ASSERT_EQUAL(send(w->end[i], w->b->rec, w->b->reclen, 0), (ssize_t)w->b->reclen);
}

/* The next reply of a connection, mark included; its length. 0: the connection was closed. */
static size_t
wire_recv(struct wires *w, unsigned i, char buf[512])
{
	size_t n;

	if (recv(w->end[i], buf, 4, MSG_WAITALL) != 4)
		return 0;
	n = bed_get32(buf) & 0x7fffffff;
	CU_ASSERT_FATAL(n <= 508);
	CU_ASSERT_EQUAL(recv(w->end[i], buf + 4, n, MSG_WAITALL), (ssize_t)n);
	return n + 4;
}

static bool
silent(const struct wires *w, unsigned i)
{
	char c;

	return recv(w->end[i], &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

/* A repeat that comes on another connection, on another loop, or on the same one, while the call
 * runs: it runs once, and each of them gets the same reply. */
TEST(wire_drc, repeat_on_another_connection)
{
	struct wires w = wires_new(3);
	char a[512], b[512];
	size_t n;

	record(w.b, P_HOLD, 1);
	set_hold(true);
	wire_send(&w, 0);
	until(&svc->inside, 1);
	for (unsigned i = 0; i < 3; i++)
		wire_send(&w, i);
	until_counted(&w, ST_DRC_PARKED, 3);
	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT(silent(&w, i));
	set_hold(false);
	n = wire_recv(&w, 0, a);
	CU_ASSERT(n > RPC_HEAD);
	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT(wire_recv(&w, i, b) == n && memcmp(a, b, n) == 0);
	wire_send(&w, 1); /* and once more, when it is done */
	CU_ASSERT(wire_recv(&w, 1, b) == n && memcmp(a, b, n) == 0);
	CU_ASSERT_EQUAL(svc->ran[1], 1);
	CU_ASSERT_EQUAL(counted(&w, ST_DRC_REPLAYED), 1);
	CU_ASSERT_EQUAL(counted(&w, ST_DRC_STORED), 1);
	wires_free(&w, 5);
}

/* The connection of the first call is gone when it ends: its reply leaves on the one on which the
 * repeat came. */
TEST(wire_drc, first_connection_gone)
{
	struct wires w = wires_new(2);
	struct add_res r;
	char a[512];
	XDR x;

	record(w.b, P_HOLD, 1);
	set_hold(true);
	wire_send(&w, 0);
	until(&svc->inside, 1);
	close(w.end[0]);
	w.end[0] = -1;
	wire_send(&w, 1);
	until_counted(&w, ST_DRC_PARKED, 1);
	set_hold(false);
	CU_ASSERT_EQUAL(wire_recv(&w, 1, a), RPC_HEAD + 20);
	xdrmem_create(&x, a + RPC_HEAD, 20, XDR_DECODE);
	CU_ASSERT(xdr_add_res(&x, &r) && r.status == 0 && r.ran == 1);
	CU_ASSERT_EQUAL(svc->ran[1], 1);
	wires_free(&w, 5);
}

/* The connection of a repeat is gone when the call ends: nothing is sent anywhere else, and the
 * others are served. */
TEST(wire_drc, connection_of_a_repeat_gone)
{
	struct wires w = wires_new(2);
	char a[512];

	record(w.b, P_HOLD, 1);
	set_hold(true);
	wire_send(&w, 0);
	until(&svc->inside, 1);
	wire_send(&w, 1);
	until_counted(&w, ST_DRC_PARKED, 1);
	close(w.end[1]);
	w.end[1] = -1;
	set_hold(false);
	CU_ASSERT_EQUAL(wire_recv(&w, 0, a), RPC_HEAD + 20);
	CU_ASSERT(silent(&w, 0));
	record(w.b, P_ADD, 2);
	wire_send(&w, 0);
	CU_ASSERT_EQUAL(wire_recv(&w, 0, a), RPC_HEAD + 20);
	CU_ASSERT_EQUAL(svc->ran[1], 1);
	wires_free(&w, 5);
}

/* A client that repeats without end holds a bounded number of waiting calls: the rest is dropped,
 * and its connection lives on. */
TEST(wire_drc, flood_of_repeats)
{
	struct wires w = wires_new(2);
	char a[512];

	record(w.b, P_HOLD, 1);
	set_hold(true);
	wire_send(&w, 0);
	until(&svc->inside, 1);
	for (int i = 0; i < 200; i++)
		wire_send(&w, 1);
	until_counted(&w, ST_DRC_DROPPED, 200 - DRC_WAITERS);
	CU_ASSERT_EQUAL(counted(&w, ST_DRC_PARKED), DRC_WAITERS);
	set_hold(false);
	for (int i = 0; i < DRC_WAITERS; i++)
		CU_ASSERT_EQUAL(wire_recv(&w, 1, a), RPC_HEAD + 20);
	CU_ASSERT_EQUAL(wire_recv(&w, 0, a), RPC_HEAD + 20);
	record(w.b, P_ADD, 2);
	wire_send(&w, 1);
	CU_ASSERT_EQUAL(wire_recv(&w, 1, a), RPC_HEAD + 20);
	CU_ASSERT_EQUAL(bed_get32(a + 4), w.b->xid); /* nothing was left between */
	CU_ASSERT_EQUAL(svc->ran[1], 1);
	CU_ASSERT_EQUAL(counted(&w, ST_BAD_RECORDS), 0);
	wires_free(&w, 5);
}

/* The call comes to nothing while a repeat waits on another loop: the repeat is carried out, and
 * both are answered. */
TEST(wire_drc, waiting_repeat_runs_itself)
{
	struct wires w = wires_new(2);
	char a[512], b[512];

	record(w.b, P_LATER, 1);
	set_hold(true);
	wire_send(&w, 0);
	until(&svc->inside, 1);
	wire_send(&w, 1);
	until_counted(&w, ST_DRC_PARKED, 1);
	set_hold(false);
	CU_ASSERT_EQUAL(wire_recv(&w, 0, a), RPC_HEAD + 20);
	CU_ASSERT_EQUAL(wire_recv(&w, 1, b), RPC_HEAD + 20);
	CU_ASSERT_EQUAL(bed_get32(a + RPC_HEAD + 4), 1);
	CU_ASSERT_EQUAL(bed_get32(b + RPC_HEAD + 4), 2);
	CU_ASSERT_EQUAL(svc->ran[1], 2);
	wires_free(&w, 5);
}

/* A server that stops while repeats wait: those that may finish are answered first; when there is
 * no time for it, nothing hangs and nothing is left behind. */
TEST(wire_drc, stop_while_repeats_wait)
{
	for (int patient = 0; patient < 2; patient++) {
		struct wires w = wires_new(2);
		char a[512];

		record(w.b, P_HOLD, 1);
		set_hold(true);
		wire_send(&w, 0);
		until(&svc->inside, 1);
		wire_send(&w, 1);
		until_counted(&w, ST_DRC_PARKED, 1);
		for (unsigned i = 0; i < 2; i++)
			loop_stop(w.loop[i], patient ? 60 : 0);
		if (!patient)
			until_counted(&w, ST_CONN_CLOSED, 2);
		set_hold(false);
		for (unsigned i = 0; i < 2; i++)
			CU_ASSERT_EQUAL(wire_recv(&w, i, a), patient ? RPC_HEAD + 20 : 0);
		CU_ASSERT_EQUAL(svc->ran[1], 1);
		wires_free(&w, 5);
	}
}
