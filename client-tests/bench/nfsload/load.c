/* SPDX-License-Identifier: BSD-2-Clause */
#include "load.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define RECV_BUF (256u << 10)
#define STALL_NS 30000000000u
#define EVENTS 64

/* A thread's share. */
struct worker {
	pthread_t thread;
	struct conn *conn;
	unsigned n;
	bool by_clock; /* open loop */
	struct tally tally;
	uint8_t *buf;
	int ep;
	char err[RPC_ERR];
};

static void
watch(struct worker *w, struct conn *c, int op)
{
	struct epoll_event e = {.events = conn_pending(c) ? EPOLLIN | EPOLLOUT : EPOLLIN,
				.data.ptr = c};
	epoll_ctl(w->ep, op, c->fd, &e);
}

static int
refill(struct worker *w, struct conn *c, uint64_t now)
{
	bool was_pending = conn_pending(c);
	if (conn_refill(c, now)) {
		memcpy(w->err, c->err, sizeof w->err);
		return -1;
	}
	if (conn_pending(c) != was_pending)
		watch(w, c, EPOLL_CTL_MOD);
	return 0;
}

static int
serve(struct worker *w, struct conn *c, uint32_t events)
{
	bool was_pending = conn_pending(c);
	int rc = (events & ~(uint32_t)EPOLLOUT) ? conn_receive(c, w->buf, RECV_BUF) : 0;
	if (!rc && (events & EPOLLOUT))
		rc = conn_flush(c);
	if (rc) {
		memcpy(w->err, c->err, sizeof w->err);
		return -1;
	}
	if (conn_pending(c) != was_pending)
		watch(w, c, EPOLL_CTL_MOD);
	/* by the clock of now: answers that took long to look through delay nobody's appointment */
	return refill(w, c, c->orders.interval > 0 ? now_ns() : c->now);
}

/* Something is in flight, or will be. */
static bool
busy(const struct worker *w)
{
	for (unsigned i = 0; i < w->n; i++)
		if (conn_inflight(&w->conn[i]) || w->conn[i].orders.budget)
			return true;
	return false;
}

static unsigned
inflight(const struct worker *w)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < w->n; i++)
		sum += conn_inflight(&w->conn[i]);
	return sum;
}

static int
begin(struct worker *w)
{
	w->ep = epoll_create1(EPOLL_CLOEXEC);
	w->buf = malloc(RECV_BUF);
	if (w->ep < 0 || !w->buf) {
		snprintf(w->err, RPC_ERR, "cannot begin: %s", strerror(errno));
		return -1;
	}
	for (unsigned i = 0; i < w->n; i++) {
		struct conn *c = &w->conn[i];
		c->tally = &w->tally;
		watch(w, c, EPOLL_CTL_ADD);
		if (refill(w, c, now_ns()))
			return -1;
	}
	return 0;
}

/* Sleeps until something arrives or is due. Events, 0: an appointment, -1: nothing for 30 s. */
static int
sleep_until(struct worker *w, struct epoll_event *e)
{
	uint64_t due = UINT64_MAX;
	for (unsigned i = 0; w->by_clock && i < w->n; i++) {
		uint64_t d = conn_due(&w->conn[i]);
		due = d < due ? d : due;
	}
	uint64_t now = due < UINT64_MAX ? now_ns() : 0;
	uint64_t wait = due < UINT64_MAX ? (due > now ? due - now : 0) : STALL_NS;
	struct timespec t = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
	int n = epoll_pwait2(w->ep, e, EVENTS, &t, NULL);
	return n > 0 ? n : due < UINT64_MAX || n < 0 ? 0 : -1;
}

static int
turn(struct worker *w)
{
	struct epoll_event e[EVENTS];
	int n = sleep_until(w, e);
	if (n < 0) {
		snprintf(w->err, RPC_ERR, "no reply for %u s with %u calls in flight",
			 (unsigned)(STALL_NS / 1000000000u), inflight(w));
		return -1;
	}
	for (int i = 0; i < n; i++)
		if (serve(w, e[i].data.ptr, e[i].events))
			return -1;
	uint64_t now = w->by_clock ? now_ns() : 0;
	for (unsigned i = 0; w->by_clock && i < w->n; i++)
		if (conn_due(&w->conn[i]) <= now && refill(w, &w->conn[i], now))
			return -1;
	return 0;
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	prctl(PR_SET_TIMERSLACK, 1); /* of this thread; the default rounds sleeps up by 50 us */
	if (!begin(w))
		while (busy(w) && !turn(w))
			;
	if (w->ep >= 0)
		close(w->ep);
	free(w->buf);
	return NULL;
}

/* A connection's orders: its share of calls or of the rate, appointments spread over the interval.
 */
static struct orders
orders_of(const struct part *p, unsigned i, unsigned n, uint64_t now)
{
	struct orders d = {.budget = p->calls ? p->calls / n + (i < p->calls % n) : UINT64_MAX,
			   .deadline = p->calls ? UINT64_MAX : now + (uint64_t)(p->seconds * 1e9)};
	if (p->rate > 0) {
		d.interval = 1e9 * n / p->rate;
		d.due = (double)now + d.interval * i / n;
	}
	return d;
}

/* Shares out connections evenly, remainders to the first. */
static void
share(struct worker *w, unsigned threads, struct conn *conn, unsigned n, const struct part *p)
{
	uint64_t now = now_ns();
	for (unsigned i = 0; i < n; i++)
		conn[i].orders = orders_of(p, i, n, now);
	for (unsigned i = 0, at = 0; i < threads; i++) {
		w[i].conn = conn + at;
		w[i].n = n / threads + (i < n % threads);
		w[i].by_clock = p->rate > 0;
		at += w[i].n;
	}
}

int
load_run(struct conn *conn, unsigned n, unsigned threads, const struct part *p, struct tally *sum,
	 char err[RPC_ERR])
{
	struct worker *w = calloc(threads, sizeof *w);
	unsigned started = 1;
	err[0] = '\0';
	if (!w) {
		snprintf(err, RPC_ERR, "out of memory");
		return -1;
	}
	share(w, threads, conn, n, p);
	while (started < threads && !pthread_create(&w[started].thread, NULL, work, &w[started]))
		started++;
	if (started < threads)
		snprintf(err, RPC_ERR, "cannot start thread %u of %u", started + 1, threads);
	work(&w[0]);
	for (unsigned i = 0; i < started; i++) {
		if (i)
			pthread_join(w[i].thread, NULL);
		if (w[i].err[0])
			memcpy(err, w[i].err, RPC_ERR);
		tally_add(sum, &w[i].tally);
	}
	free(w);
	return err[0] ? -1 : 0;
}
