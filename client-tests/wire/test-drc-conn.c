/* SPDX-License-Identifier: BSD-2-Clause */
/* Repeated calls through connections, on one loop and on two. */
#include "counter.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buf.h"
#include "loop.h"
#include "pool.h"
#include "stat.h"

struct wires {
	struct bed *b;
	struct pool *pool;
	struct loop *loop[2];
	int end[8]; /* ours of each connection; they live on the loops in turn */
	unsigned n;
	struct pipe_stock stock;
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
	pipe_stock_init(&w.stock, NULL);
	for (unsigned i = 0; i < 2; i++)
		w.loop[i] = loop_new(&w.b->engine, w.pool, &w.stock, i, UINT32_MAX);
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
	pipe_stock_fini(&w->stock);
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
TEST(wire_drc_conn, repeat_on_another_connection)
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

/* Two workers have let the same call in, of two connections, before either begins it: it runs once,
 * the other waits as a worker's call does, and both connections get the reply. */
TEST(wire_drc_conn, race_through_connections)
{
	struct wires w = wires_new(2);
	char a[512], b[512];

	for (uint32_t round = 1; round <= 30; round++) {
		record(w.b, P_HOLD, round);
		set_hold(true);
		svc->begun = svc->inside = 0;
		svc->meet = 2;
		wire_send(&w, 0);
		wire_send(&w, 1);
		until(&svc->inside, 1);
		if (round % 2) /* else the end comes at any time */
			until_counted(&w, ST_DRC_PARKED, 1);
		set_hold(false);
		size_t n = wire_recv(&w, 0, a);

		CU_ASSERT_EQUAL(n, ADD_REPLY);
		CU_ASSERT(wire_recv(&w, 1, b) == n && memcmp(a, b, n) == 0);
		CU_ASSERT_EQUAL(svc->ran[round], 1);
		stat_sum(&w.before);
	}
	wires_free(&w, 5);
}

/* The connection of the first call is gone when it ends: its reply leaves on the one on which the
 * repeat came. */
TEST(wire_drc_conn, first_connection_gone)
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
	CU_ASSERT_EQUAL(wire_recv(&w, 1, a), ADD_REPLY);
	xdrmem_create(&x, a + RPC_HEAD, ADD_RESULT, XDR_DECODE);
	CU_ASSERT(xdr_add_res(&x, &r) && r.status == 0 && r.ran == 1);
	CU_ASSERT_EQUAL(svc->ran[1], 1);
	wires_free(&w, 5);
}

/* The connection of a repeat is gone when the call ends: nothing is sent anywhere else, and the
 * others are served. */
TEST(wire_drc_conn, connection_of_a_repeat_gone)
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
	CU_ASSERT_EQUAL(wire_recv(&w, 0, a), ADD_REPLY);
	CU_ASSERT(silent(&w, 0));
	record(w.b, P_ADD, 2);
	wire_send(&w, 0);
	CU_ASSERT_EQUAL(wire_recv(&w, 0, a), ADD_REPLY);
	CU_ASSERT_EQUAL(svc->ran[1], 1);
	wires_free(&w, 5);
}

/* A client that repeats without end holds a bounded number of waiting calls: the rest is dropped,
 * and its connection lives on. */
TEST(wire_drc_conn, flood_of_repeats)
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
		CU_ASSERT_EQUAL(wire_recv(&w, 1, a), ADD_REPLY);
	CU_ASSERT_EQUAL(wire_recv(&w, 0, a), ADD_REPLY);
	record(w.b, P_ADD, 2);
	wire_send(&w, 1);
	CU_ASSERT_EQUAL(wire_recv(&w, 1, a), ADD_REPLY);
	CU_ASSERT_EQUAL(bed_get32(a + 4), w.b->xid); /* nothing was left between */
	CU_ASSERT_EQUAL(svc->ran[1], 1);
	CU_ASSERT_EQUAL(counted(&w, ST_BAD_RECORDS), 0);
	wires_free(&w, 5);
}

/* The call comes to nothing while a repeat waits on another loop: the repeat is carried out, and
 * both are answered. */
TEST(wire_drc_conn, waiting_repeat_runs_itself)
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
	CU_ASSERT_EQUAL(wire_recv(&w, 0, a), ADD_REPLY);
	CU_ASSERT_EQUAL(wire_recv(&w, 1, b), ADD_REPLY);
	CU_ASSERT_EQUAL(bed_get32(a + RPC_HEAD + 4), 1);
	CU_ASSERT_EQUAL(bed_get32(b + RPC_HEAD + 4), 2);
	CU_ASSERT_EQUAL(svc->ran[1], 2);
	wires_free(&w, 5);
}

/* A server that stops while repeats wait: those that may finish are answered first; when there is
 * no time for it, nothing hangs and nothing is left behind. */
TEST(wire_drc_conn, stop_while_repeats_wait)
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
			CU_ASSERT_EQUAL(wire_recv(&w, i, a), patient ? ADD_REPLY : 0);
		CU_ASSERT_EQUAL(svc->ran[1], 1);
		wires_free(&w, 5);
	}
}
