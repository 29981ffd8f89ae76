/* SPDX-License-Identifier: BSD-2-Clause */
#include "load.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define RECV_BUF (256u << 10)
#define STALL_MS 30000
#define EVENTS 64

/* A thread's share. */
struct worker {
	pthread_t thread;
	struct conn *conn;
	unsigned n;
	uint64_t deadline; /* ns; UINT64_MAX when counting calls */
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
serve(struct worker *w, struct conn *c, uint32_t events)
{
	bool was_pending = conn_pending(c);
	if ((events & ~(uint32_t)EPOLLOUT) && conn_receive(c, w->buf, RECV_BUF))
		return -1;
	if ((events & EPOLLOUT) && conn_flush(c))
		return -1;
	if (c->now >= w->deadline)
		c->budget = 0;
	if (conn_refill(c, c->now))
		return -1;
	if (conn_pending(c) != was_pending)
		watch(w, c, EPOLL_CTL_MOD);
	return 0;
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
		if (conn_refill(c, now_ns())) {
			memcpy(w->err, c->err, sizeof w->err);
			return -1;
		}
		watch(w, c, EPOLL_CTL_ADD);
	}
	return 0;
}

static int
turn(struct worker *w)
{
	struct epoll_event e[EVENTS];
	int n = epoll_wait(w->ep, e, EVENTS, STALL_MS);
	if (!n) {
		snprintf(w->err, RPC_ERR, "no reply for %d s with %u calls in flight",
			 STALL_MS / 1000, inflight(w));
		return -1;
	}
	for (int i = 0; i < n; i++) {
		struct conn *c = e[i].data.ptr;
		if (serve(w, c, e[i].events)) {
			memcpy(w->err, c->err, sizeof w->err);
			return -1;
		}
	}
	return 0;
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	if (!begin(w))
		while (inflight(w) && !turn(w))
			;
	if (w->ep >= 0)
		close(w->ep);
	free(w->buf);
	return NULL;
}

/* Shares out connections and calls evenly, remainders to the first. */
static void
share(struct worker *w, unsigned threads, struct conn *conn, unsigned n, const struct part *p)
{
	uint64_t deadline = p->calls ? UINT64_MAX : now_ns() + (uint64_t)(p->seconds * 1e9);
	for (unsigned i = 0; i < n; i++)
		conn[i].budget = p->calls ? p->calls / n + (i < p->calls % n) : UINT64_MAX;
	for (unsigned i = 0, at = 0; i < threads; i++) {
		w[i].conn = conn + at;
		w[i].n = n / threads + (i < n % threads);
		w[i].deadline = deadline;
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
