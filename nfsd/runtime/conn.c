/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One TCP connection.
 *
 * Happy path: the socket is readable; up to 256 KiB are received into the loop's scratch buffer;
 * every complete record becomes a task and runs at once; replies gather in the sender and leave in
 * one flush. A call that could sleep goes to the pool and its reply joins the queue when it is
 * home, maybe after later ones (RPC allows it: xids).
 *
 * Bounds: after batch_calls calls or batch_bytes of replies the batch is flushed; after turn_ns, or
 * when the peer does not drain its replies, the bytes not looked at yet are held and other
 * connections have their turn. A peer that owes us reading (unsent_max), that keeps calls_max
 * workers' calls open, or that holds much while the global budget is exceeded, is not read from:
 * TCP tells it to wait. It is never closed for being slow; a dead one is found by keepalive and
 * TCP_USER_TIMEOUT. Only a stranger, who never showed a valid handle, has to leave after a while,
 * and at once when descriptors run out.
 *
 * End: a closed connection waits for its tasks in the pool, then frees itself (conn_release).
 */
#include "connint.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "buf.h"
#include "log.h"
#include "peer.h"
#include "stat.h"

#define DEAD_PEER_MS 300000 /* unacknowledged for this long: the peer is gone */
#define STRANGER_IDLE 300.  /* seconds a peer without a valid handle may be silent... */
#define STRANGER_AGE 10.    /* ...and be here at all, when descriptors are short */

/* ---- ends of life ---- */

static void
conn_release(struct conn *c)
{
	struct loop *l = c->loop;

	if (c->in_pool > 0 || c->in_ready || c->in_touched)
		return; /* conn_result, conn_turn or conn_touched come here again */
	if (c->prev)
		c->prev->next = c->next;
	else
		l->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	__atomic_fetch_sub(&l->nconns, 1, __ATOMIC_RELAXED);
	free(c);
}

static void
give_replies(struct loop *l, struct replies *list)
{
	struct reply *r;

	while ((r = replies_take(list)))
		task_give(l, TASK_OF_REPLY(r));
}

void
conn_close(struct conn *c, const char *why)
{
	struct loop *l = c->loop;
	struct replies left;

	if (c->closed)
		return;
	log_debug("%s: closed: %s", c->peer.text, why);
	c->closed = true;
	ev_io_stop(l->ev, &c->rd);
	ev_io_stop(l->ev, &c->wr);
	close(c->fd);
	rec_fini(&c->rec);
	conn_fill_drop(c);
	buf_give(c->held, c->held_cap);
	c->held = NULL;
	replies_init(&left);
	sender_fini(&c->out, &l->pipes, &left);
	give_replies(l, &left);
	stat_inc(ST_CONN_CLOSED);
	conn_release(c);
}

/* ---- events ---- */

static void
on_readable(struct ev_loop *ev, ev_io *w, int revents)
{
	struct conn *c = w->data;
	struct iovec iov[2];

	(void)revents;
	if (c->filling) {
		conn_fill(c);
		return;
	}
	int n = rec_iov(&c->rec, c->loop->scratch, REC_SCRATCH, iov);
	ssize_t k = readv(c->fd, iov, n);

	loop_clock(c->loop);
	if (k < 0) {
		if (errno != EAGAIN && errno != EINTR)
			conn_close(c, strerror(errno));
		return;
	}
	if (k == 0) {
		c->eof = true;
		conn_settle(c);
		return;
	}
	c->heard = ev_now(ev);
	c->bytes_in += (uint64_t)k;
	stat_add(ST_BYTES_IN, (uint64_t)k);
	rec_feed(&c->rec, (size_t)k);
	conn_run(c);
}

static void
on_writable(struct ev_loop *ev, ev_io *w, int revents)
{
	struct conn *c = w->data;

	(void)ev;
	(void)revents;
	loop_clock(c->loop);
	conn_settle(c);
}

void
conn_turn(struct conn *c)
{
	if (c->closed) {
		conn_release(c);
		return;
	}
	loop_clock(c->loop);
	if (!conn_flush(c))
		return;
	if (c->held && !conn_overloaded(c))
		conn_run(c);
	else
		conn_settle(c);
}

void
conn_result(struct conn *c, struct task *t)
{
	struct loop *l = c->loop;

	c->in_pool--;
	c->expected -= t->expected;
	c->copies -= t->copying;
	c->kept -= t->kept;
	if (t->pipe)
		pipes_adopt(&l->pipes);
	if (!c->in_touched) { /* first: it keeps c alive until conn_touched */
		c->in_touched = true;
		c->touched_next = l->touched;
		l->touched = c;
	}
	if (!c->closed) {
		conn_conclude(c, t, t->verdict);
		return;
	}
	conn_distrust(t->pipe);
	task_give(l, t);
}

void
conn_touched(struct conn *c)
{
	if (c->closed)
		conn_release(c);
	else
		conn_settle(c);
}

static bool
must_leave(const struct conn *c, bool make_room)
{
	ev_tstamp now = ev_now(c->loop->ev), silent = now - c->heard;

	if (__atomic_load_n(&c->peer.known, __ATOMIC_RELAXED) || c->in_pool > 0)
		return false;
	return silent > STRANGER_IDLE ||
	       (make_room && (silent >= 1 || now - c->born > STRANGER_AGE));
}

void
conn_tick(struct conn *c, bool make_room)
{
	struct loop *l = c->loop;

	if (c->closed)
		return;
	if (must_leave(c, make_room)) {
		conn_close(c, "no valid handle so far");
		return;
	}
	if (c->blocked_since > 0 && ev_now(l->ev) - c->blocked_since >= loop_limits.stall_s) {
		long n = sender_unpin(&c->out, &l->pipes);

		if (n == -2) {
			conn_close(c, "a pipe lost bytes");
			return;
		}
		if (n > 0)
			stat_add(ST_COPY_STALLED, (uint64_t)n);
	}
	if (c->starved)
		conn_settle(c);
	else if (c->paused)
		conn_regulate(c);
}

void
conn_drain(struct conn *c)
{
	c->eof = true;
	if (!c->closed)
		conn_settle(c);
}

/* ---- beginning ---- */

static void
set_options(int fd)
{
	int on = 1, idle = 60, intvl = 10, probes = 12, dead = DEAD_PEER_MS;

	/* a socket that refuses one of these still works */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &intvl, sizeof intvl);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead, sizeof dead);
}

bool
conn_new(struct loop *l, int fd, const struct sockaddr_storage *addr)
{
	struct conn *c = calloc(1, sizeof *c);

	if (!c) {
		close(fd);
		return false;
	}
	c->loop = l;
	c->fd = fd;
	c->lane = l->next_lane++;
	c->born = c->heard = ev_now(l->ev);
	peer_init(&c->peer, addr);
	set_options(fd);
	rec_init(&c->rec, loop_limits.record_max, NULL);
	sender_init(&c->out);
	ev_io_init(&c->rd, on_readable, fd, EV_READ);
	ev_io_init(&c->wr, on_writable, fd, EV_WRITE);
	c->rd.data = c->wr.data = c;
	c->next = l->conns;
	if (l->conns)
		l->conns->prev = c;
	l->conns = c;
	__atomic_fetch_add(&l->nconns, 1, __ATOMIC_RELAXED);
	stat_inc(ST_CONN_OPENED);
	ev_io_start(l->ev, &c->rd);
	return true;
}
