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
#include "conn.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "buf.h"
#include "log.h"
#include "peer.h"
#include "stat.h"

#define QUANTUM (2u << 20) /* bytes sent to one peer before others have their turn */
#define BATCH_PIPES 8
#define DEAD_PEER_MS 300000	  /* unacknowledged for this long: the peer is gone */
#define BUDGET_SHARE (256u << 10) /* holding less than this is always allowed */
#define STRANGER_IDLE 300.	  /* seconds a peer without a valid handle may be silent... */
#define STRANGER_AGE 10.	  /* ...and be here at all, when descriptors are short */
#define COPIES_MAX (1u << 20)	  /* more bytes copied for one peer, and it is not read from */
#define DATA_MAX (1u << 20)	  /* the most one reply carries, whatever was asked for */

static void conn_run(struct conn *);

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
	buf_give(c->held, c->held_cap);
	c->held = NULL;
	replies_init(&left);
	sender_fini(&c->out, &l->pipes, &left);
	give_replies(l, &left);
	stat_inc(ST_CONN_CLOSED);
	conn_release(c);
}

/* ---- sending ---- */

static void
work(struct job *j)
{
	struct task *t = (struct task *)j;
	enum call_verdict v;

	t->call.may_sleep = true;
	t->call.batch = NULL;
	v = call_run(&t->call);
	if (v == CALL_PARKED)
		return; /* wake() brings it home, or has already */
	t->verdict = v;
	loop_post(t->home, t);
}

/* Any thread: a parked call is ours again. */
static void
wake(struct call *call, enum call_verdict v)
{
	struct task *t = TASK_OF_CALL(call);

	t->verdict = v;
	loop_post(t->home, t);
}

static void
submit(struct conn *c, struct task *t)
{
	t->job.work = work;
	t->job.lane = c->lane;
	t->expected = t->call.bulk < DATA_MAX ? t->call.bulk : DATA_MAX;
	c->expected += t->expected;
	c->copies += t->pipe ? 0 : t->expected;
	c->in_pool++;
	pool_submit(c->loop->pool, &t->job);
}

/* A span could not be spliced: the call runs again in a worker, copying. The reply was not begun.
 */
static void
run_again(struct conn *c, struct task *t, enum stat_id why)
{
	stat_inc(why);
	task_drop_pipe(c->loop, t);
	t->call.copy = true;
	t->call.pipe[0] = t->call.pipe[1] = -1;
	submit(c, t);
}

static void
account_call(struct conn *c, const struct call *call)
{
	c->calls++;
	c->copies -= call->body_cap;
	if (call->row)
		stat_call(call->row->stat, call->failed, call->body.len,
			  c->loop->now_ns - call->born_ns);
}

static void
finish(struct conn *c, struct send_ctx *x)
{
	struct loop *l = c->loop;
	struct reply *r;

	if (!x->done->first && !x->redo->first)
		return;
	while ((r = replies_take(x->done))) {
		struct task *t = TASK_OF_REPLY(r);

		account_call(c, &t->call);
		task_give(l, t);
	}
	while ((r = replies_take(x->redo))) {
		static const enum stat_id counter[] = {[REDO_NOPIPE] = ST_COPY_NOPIPE,
						       [REDO_SHORT] = ST_COPY_SHORT,
						       [REDO_REFUSED] = ST_COPY_REFUSED};
		struct task *t = TASK_OF_REPLY(r);

		if (r->why == REDO_REFUSED && t->call.body_obj)
			obj_refuse_splice(t->call.body_obj);
		run_again(c, t, counter[r->why]);
	}
}

static void
want_write(struct conn *c, bool want)
{
	if (want && !ev_is_active(&c->wr))
		ev_io_start(c->loop->ev, &c->wr);
	else if (!want && ev_is_active(&c->wr))
		ev_io_stop(c->loop->ev, &c->wr);
}

static void
count_sent(struct conn *c, const struct send_ctx *x, size_t bytes)
{
	struct loop *l = c->loop;

	c->bytes_out += bytes;
	stat_add(ST_BYTES_OUT, bytes);
	if (x->spliced)
		stat_add(ST_READ_SPLICED, x->spliced);
	if (x->copied)
		stat_add(ST_READ_COPIED, x->copied);
	__atomic_store_n(&l->bytes_recent,
			 __atomic_load_n(&l->bytes_recent, __ATOMIC_RELAXED) + bytes,
			 __ATOMIC_RELAXED);
}

/* Sends what it can. False: the connection was closed. */
static bool
conn_flush(struct conn *c)
{
	struct loop *l = c->loop;
	struct replies done, redo;
	struct send_ctx x = {.pipes = &l->pipes,
			     .quantum = QUANTUM,
			     .max_pipes = BATCH_PIPES,
			     .done = &done,
			     .redo = &redo};
	size_t owed = c->out.unsent;
	uint64_t t0 = l->now_ns;

	if (owed == 0)
		return true;
	replies_init(&done);
	replies_init(&redo);
	enum send_result sr = sender_flush(&c->out, c->fd, &x);
	int why = errno;

	stat_inc(ST_FLUSHES);
	l->in_send_ns += loop_clock(l) - t0;
	count_sent(c, &x, owed - c->out.unsent);
	finish(c, &x);
	if (sr == SEND_BROKEN) {
		if (why == EIO)
			stat_inc(ST_PROMISE_BROKEN);
		conn_close(c, strerror(why));
		return false;
	}
	want_write(c, sr == SEND_BLOCKED);
	c->blocked_since = sr != SEND_BLOCKED	  ? 0
			   : c->blocked_since > 0 ? c->blocked_since
						  : ev_now(l->ev);
	if (sr == SEND_AGAIN)
		loop_ready(l, c);
	return true;
}

/* ---- back-pressure ---- */

/* What the peer makes us hold: replies, those to come from workers, and the blocks that small
 * replies wait in, which are larger than they. */
static size_t
holding(const struct conn *c)
{
	return c->out.unsent + c->expected + c->out.queued * sizeof(struct task);
}

static bool
overloaded(const struct conn *c)
{
	if (holding(c) > loop_limits.unsent_max || c->in_pool >= loop_limits.calls_max ||
	    c->copies > COPIES_MAX)
		return true;
	return budget_used() > budget_limit() && holding(c) + rec_held(&c->rec) > BUDGET_SHARE;
}

/* Decides anew whether we read from this peer. */
static void
regulate(struct conn *c)
{
	bool pause = overloaded(c);

	if (pause && !c->paused)
		stat_inc(ST_BACKPRESSURE);
	c->paused = pause;
	bool want = !pause && !c->held && !c->eof;
	if (want && !ev_is_active(&c->rd))
		ev_io_start(c->loop->ev, &c->rd);
	else if (!want && ev_is_active(&c->rd))
		ev_io_stop(c->loop->ev, &c->rd);
	if (c->held && !pause)
		loop_ready(c->loop, c);
}

/* Everything is answered and the peer sends no more. */
static bool
finished(const struct conn *c)
{
	return c->eof && !c->held && c->in_pool == 0 && c->out.unsent == 0;
}

/* What every event on a connection ends with. */
static void
settle(struct conn *c)
{
	if (!conn_flush(c))
		return;
	if (finished(c))
		conn_close(c, "end of stream");
	else
		regulate(c);
}

/* ---- calls ---- */

static void
to_pool(struct conn *c, struct task *t)
{
	stat_inc(ST_POOL_CALLS);
	/* only what reads file data has a use for a pipe */
	t->pipe = t->call.bulk > 0 ? pipes_take(&c->loop->pipes) : NULL;
	t->call.pipe[0] = t->pipe ? t->pipe->r : -1;
	t->call.pipe[1] = t->pipe ? t->pipe->w : -1;
	submit(c, t);
}

/* The pipe a worker did not hand back full: it may hold bytes all the same, of a splice that came
 * up short. Then it must not be pooled, or they would reach another client. */
static void
distrust(struct pipe *p)
{
	int n = 0;

	if (p && (ioctl(p->r, FIONREAD, &n) < 0 || n > 0))
		p->bytes = n > 0 ? (size_t)n : 1;
}

static void
queue_reply(struct conn *c, struct task *t)
{
	struct call *call = &t->call;

	t->reply.head = call->head;
	t->reply.headlen = call->headlen;
	t->reply.body = call->body;
	t->reply.pad = call->pad;
	t->reply.full_pipe = NULL;
	if (t->pipe && call->body.len > 0 && !call->body.base && call->body.off == -1) {
		t->pipe->bytes = call->body.len;
		t->pipe->used = t->pipe->slots;
		t->reply.full_pipe = t->pipe;
		t->pipe = NULL;
	}
	distrust(t->pipe);
	c->copies += call->body_cap;
	sender_queue(&c->out, &t->reply);
}

/* What came of a call. False: the connection was closed. */
static bool
conclude(struct conn *c, struct task *t, enum call_verdict v)
{
	switch (v) {
	case CALL_REPLY:
		queue_reply(c, t);
		return true;
	case CALL_SLEEPS:
		to_pool(c, t);
		return true;
	case CALL_PARKED: /* its way back is that of a worker's call */
		t->expected = 0;
		c->in_pool++;
		return true;
	case CALL_DROP:
		task_give(c->loop, t);
		return true;
	case CALL_CLOSE:
		break;
	}
	stat_inc(ST_BAD_RECORDS);
	task_give(c->loop, t);
	conn_close(c, "not an RPC call");
	return false;
}

/* The record must outlive this turn: short ones move into the task, long ones get a buffer unless
 * they have one. */
static bool
keep_record(struct task *t, struct rec_msg *m)
{
	t->call.rec = t->call.rec_mem;
	t->call.reclen = m->len;
	if (m->cap > 0) {
		t->msg = *m;
		t->call.rec = m->base;
		return true;
	}
	if (m->len > sizeof t->call.rec_mem) {
		t->msg = (struct rec_msg){.base = buf_take(m->len), .len = m->len, .cap = m->len};
		if (!t->msg.base)
			return false;
		t->call.rec = t->msg.base;
	}
	memcpy((char *)(uintptr_t)t->call.rec, m->base, m->len);
	return true;
}

static bool
one_call(struct conn *c, struct rec_msg *m)
{
	struct loop *l = c->loop;
	struct task *t = task_take(l);

	if (!t || !keep_record(t, m)) {
		if (t)
			task_give(l, t);
		else
			rec_put(NULL, m);
		conn_close(c, "out of memory");
		return false;
	}
	t->conn = c;
	t->call.peer = &c->peer;
	t->call.batch = &l->batch;
	t->call.may_sleep = false;
	t->call.wake = wake;
	t->call.copy = false;
	t->call.pipe[0] = t->call.pipe[1] = -1;
	t->call.born_ns = l->now_ns;
	return conclude(c, t, call_run(&t->call));
}

/* Runs complete records until a bound of the batch; false: closed. *more: records may be left. */
static bool
run_batch(struct conn *c, bool *more)
{
	struct loop *l = c->loop;
	enum rec_status st = REC_MORE;
	struct rec_msg m;
	unsigned calls = 0;
	size_t before = holding(c);

	*more = false;
	while (calls < loop_limits.batch_calls && holding(c) - before < loop_limits.batch_bytes) {
		st = rec_next(&c->rec, &m);
		if (st != REC_RECORD)
			break;
		calls++;
		if (!one_call(c, &m))
			return false;
	}
	if (calls > 0) {
		stat_inc(ST_BATCHES);
		stat_add(ST_BATCH_CALLS, calls);
	}
	uint64_t t0 = l->now_ns;
	l->in_calls_ns += loop_clock(l) - t0;
	*more = st == REC_RECORD;
	if (st <= REC_RECORD)
		return true;
	stat_inc(ST_BAD_RECORDS);
	static struct log_limit limit = {.burst = 10};
	if (log_may(&limit))
		log_warn("%s: connection closed: %s", c->peer.text, rec_strerror(st));
	conn_close(c, "bad record");
	return false;
}

/* Bytes not looked at yet move out of the loop's scratch buffer, to be run when it is our turn
 * again. */
static bool
hold(struct conn *c)
{
	size_t n = c->rec.in_len, cap = n + 8;
	char *held;

	if (n == 0 || c->held)
		return true;
	held = buf_take(cap);
	if (!held) {
		conn_close(c, "out of memory");
		return false;
	}
	memcpy(held, c->rec.in, n);
	c->rec.in = held;
	c->held = held;
	c->held_cap = cap;
	return true;
}

static void
release_held(struct conn *c)
{
	if (c->held && c->rec.in_len == 0) {
		buf_give(c->held, c->held_cap);
		c->held = NULL;
	}
}

/* Runs what has been received, in batches, each flushed, until nothing is left, the turn is over or
 * the peer must drain first. */
static void
conn_run(struct conn *c)
{
	struct loop *l = c->loop;
	uint64_t began = l->now_ns;
	bool more = true;

	while (more) {
		call_batch_begin(&l->batch);
		bool open = run_batch(c, &more) && conn_flush(c);
		call_batch_end(&l->batch, l->engine);
		if (!open)
			return;
		if (more &&
		    (overloaded(c) || l->now_ns - began > loop_limits.turn_ns || c->in_ready)) {
			if (!hold(c))
				return;
			break;
		}
	}
	release_held(c);
	if (finished(c))
		conn_close(c, "end of stream");
	else
		regulate(c);
}

/* ---- events ---- */

static void
on_readable(struct ev_loop *ev, ev_io *w, int revents)
{
	struct conn *c = w->data;
	struct iovec iov[2];
	int n = rec_iov(&c->rec, c->loop->scratch, REC_SCRATCH, iov);
	ssize_t k = readv(c->fd, iov, n);

	(void)revents;
	loop_clock(c->loop);
	if (k < 0) {
		if (errno != EAGAIN && errno != EINTR)
			conn_close(c, strerror(errno));
		return;
	}
	if (k == 0) {
		c->eof = true;
		settle(c);
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
	settle(c);
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
	if (c->held && !overloaded(c))
		conn_run(c);
	else
		settle(c);
}

void
conn_result(struct conn *c, struct task *t)
{
	struct loop *l = c->loop;

	c->in_pool--;
	c->expected -= t->expected;
	c->copies -= t->call.pipe[0] >= 0 ? 0 : t->expected;
	if (!c->in_touched) { /* first: it keeps c alive until conn_touched */
		c->in_touched = true;
		c->touched_next = l->touched;
		l->touched = c;
	}
	if (!c->closed) {
		conclude(c, t, t->verdict);
		return;
	}
	distrust(t->pipe);
	task_give(l, t);
}

void
conn_touched(struct conn *c)
{
	if (c->closed)
		conn_release(c);
	else
		settle(c);
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
	if (c->paused)
		regulate(c);
}

void
conn_drain(struct conn *c)
{
	c->eof = true;
	if (!c->closed)
		settle(c);
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
