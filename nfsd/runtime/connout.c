/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection's way out: replies to the socket, calls that need a worker to the pool, and the
 * decision whether we go on reading from the peer. See conn.c for the whole.
 */
#include "connint.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "buf.h"
#include "stat.h"

#define QUANTUM (2u << 20) /* bytes sent to one peer before others have their turn */
#define BATCH_PIPES 8
#define BUDGET_SHARE (256u << 10) /* holding less than this is always allowed */
#define COPIES_MAX (1u << 20)	  /* more bytes copied for one peer, and it is not read from */
#define DATA_MAX (1u << 20)	  /* the most one reply carries, whatever was asked for */

/* ---- to workers and back ---- */

static bool
splices(const struct task *t)
{
	return t->call.bulk > 0 && !t->call.copy &&
	       t->call.bulk >= t->call.engine->vfs->splice_from;
}

/*
 * The pipe that a READ is to fill: taken by the worker that begins it, not by the loop that submits
 * it, or calls that wait for a slow disk would hold all the pipes there are. One that is too small
 * is of no use, a client would have to ask again for the rest.
 */
static void
lend_pipe(struct task *t)
{
	if (!splices(t))
		return;
	size_t slots = (t->expected + PIPE_SLOT - 1) / PIPE_SLOT + 1; /* anywhere in a page */

	t->pipe =
	    pipe_stock_take(t->home->stock, (unsigned)(slots < PIPE_LARGE ? slots : PIPE_LARGE));
	if (t->pipe) {
		t->call.pipe[0] = t->pipe->r;
		t->call.pipe[1] = t->pipe->w;
	}
}

static void
work(struct job *j)
{
	struct task *t = (struct task *)j;
	enum call_verdict v;

	t->call.may_sleep = true;
	t->call.batch = NULL;
	lend_pipe(t);
	v = call_run(&t->call);
	if (v == CALL_PARKED)
		return; /* conn_wake() brings it home, or has already */
	t->verdict = v;
	loop_post(t->home, t);
}

/* Any thread: a parked call is ours again. */
void
conn_wake(struct call *call, enum call_verdict v)
{
	struct task *t = TASK_OF_CALL(call);

	t->verdict = v;
	loop_post(t->home, t);
}

void
conn_submit(struct conn *c, struct task *t)
{
	t->job.work = work;
	t->job.lane = c->lane;
	t->expected = t->call.bulk < DATA_MAX ? t->call.bulk : DATA_MAX;
	c->expected += t->expected;
	t->copying = splices(t) ? 0 : t->expected;
	c->copies += t->copying;
	t->kept = t->msg.cap + (t->data ? t->data->bytes : 0);
	c->kept += t->kept;
	c->in_pool++;
	pool_submit(c->loop->pool, &t->job);
}

/* The pipe a worker did not hand back full: it may hold bytes all the same, of a splice that came
 * up short. Then it must not be pooled, or they would reach another client. */
void
conn_distrust(struct pipe *p)
{
	int n = 0;

	if (p && (ioctl(p->r, FIONREAD, &n) < 0 || n > 0))
		p->bytes = n > 0 ? (size_t)n : 1;
}

/* ---- sending ---- */

/* A span could not be spliced: the call runs again in a worker, copying. The reply was not begun.
 */
static void
run_again(struct conn *c, struct task *t, enum stat_id why)
{
	stat_inc(why);
	task_drop_pipe(c->loop, t);
	t->call.copy = true;
	t->call.pipe[0] = t->call.pipe[1] = -1;
	conn_submit(c, t);
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
bool
conn_flush(struct conn *c)
{
	struct loop *l = c->loop;
	struct replies done, redo;
	struct send_ctx x = {.pipes = &l->pipes,
			     .quantum = QUANTUM,
			     .max_pipes = BATCH_PIPES,
			     .done = &done,
			     .redo = &redo,
			     .redo_room = c->copies < COPIES_MAX ? COPIES_MAX - c->copies : 0,
			     .awaiting = c->in_pool > 0};
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
	c->starved = sr == SEND_STARVED;
	if (sr == SEND_AGAIN)
		loop_ready(l, c);
	return true;
}

/* ---- back-pressure ---- */

/* What the peer makes us hold: replies, those to come from workers, and the blocks that small
 * replies wait in, which are larger than they. */
size_t
conn_holding(const struct conn *c)
{
	return c->out.unsent + c->expected + c->out.queued * sizeof(struct task);
}

bool
conn_overloaded(const struct conn *c)
{
	if (conn_holding(c) > loop_limits.unsent_max || c->in_pool >= loop_limits.calls_max ||
	    c->copies > COPIES_MAX || c->kept > loop_limits.kept_max)
		return true;
	size_t filled = c->filling ? c->filling->data->bytes : 0;

	return budget_used() > budget_limit() &&
	       conn_holding(c) + rec_held(&c->rec) + filled > BUDGET_SHARE;
}

/* Decides anew whether we read from this peer. */
void
conn_regulate(struct conn *c)
{
	bool pause = conn_overloaded(c);

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
bool
conn_finished(const struct conn *c)
{
	return c->eof && !c->held && c->in_pool == 0 && c->out.unsent == 0;
}

/* What every event on a connection ends with. */
void
conn_settle(struct conn *c)
{
	if (!conn_flush(c))
		return;
	if (conn_finished(c))
		conn_close(c, "end of stream");
	else
		conn_regulate(c);
}
