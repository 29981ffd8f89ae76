/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection's calls: from received bytes to replies that wait in the sender, batch by batch. See
 * conn.c for the whole.
 */
#include "connint.h"

#include <string.h>

#include "buf.h"
#include "log.h"
#include "stat.h"

#define DEEP 4 /* calls in a batch: from here up the sender stages their heads together */

/* ---- calls ---- */

static void
to_pool(struct conn *c, struct task *t)
{
	stat_inc(ST_POOL_CALLS);
	conn_submit(c, t);
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
	t->reply.tail = call->body_mem;
	t->reply.taillen = call->tail;
	if (t->pipe && call->body.len > 0 && !call->body.base && call->body.off == -1) {
		t->pipe->bytes = call->body.len - call->tail;
		t->pipe->used = t->pipe->slots;
		t->reply.full_pipe = t->pipe;
		t->pipe = NULL;
	}
	conn_distrust(t->pipe);
	c->copies += call->body_cap;
	sender_queue(&c->out, &t->reply);
}

/* What came of a call. False: the connection was closed. */
bool
conn_conclude(struct conn *c, struct task *t, enum call_verdict v)
{
	switch (v) {
	case CALL_REPLY:
		queue_reply(c, t);
		return true;
	case CALL_SLEEPS:
		to_pool(c, t);
		return true;
	case CALL_PARKED: /* its way back is that of a worker's call */
		t->expected = t->copying = t->kept = 0;
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

/* A long one may have a buffer already. */
bool
conn_keep_record(struct task *t, struct rec_msg *m)
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

void
conn_prepare(struct conn *c, struct task *t)
{
	t->conn = c;
	t->call.peer = &c->peer;
	t->call.batch = &c->loop->batch;
	t->call.may_sleep = false;
	t->call.wake = conn_wake;
	t->call.copy = false;
	t->call.pipe[0] = t->call.pipe[1] = -1;
	t->call.born_ns = c->loop->now_ns;
}

static bool
one_call(struct conn *c, struct rec_msg *m)
{
	struct loop *l = c->loop;
	struct task *t = task_take(l);

	if (!t || !conn_keep_record(t, m)) {
		if (t)
			task_give(l, t);
		else
			rec_put(NULL, m);
		conn_close(c, "out of memory");
		return false;
	}
	conn_prepare(c, t);
	return conn_conclude(c, t, call_run(&t->call));
}

/* Runs complete records until a bound of the batch; false: closed. *more: records may be left. */
static bool
run_batch(struct conn *c, bool *more)
{
	struct loop *l = c->loop;
	enum rec_status st = REC_MORE;
	struct rec_msg m;
	unsigned calls = 0;
	size_t before = conn_holding(c);

	*more = false;
	while (calls < loop_limits.batch_calls &&
	       conn_holding(c) - before < loop_limits.batch_bytes) {
		st = rec_next(&c->rec, &m);
		if (st == REC_HEAD && !conn_fill_begin(c, &m))
			continue;
		if (st != REC_RECORD)
			break;
		calls++;
		if (m.len >= c->loop->receive_from)
			conn_fill_learn(c, m.base, m.len);
		if (!one_call(c, &m))
			return false;
	}
	c->deep = calls >= DEEP;
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
void
conn_run(struct conn *c)
{
	struct loop *l = c->loop;
	uint64_t began = l->now_ns;
	bool more = true;

	while (more) {
		call_batch_begin(&l->batch);
		l->batch.vfs.deep = c->deep;
		bool open = run_batch(c, &more) && conn_flush(c);
		call_batch_end(&l->batch, l->engine);
		if (!open)
			return;
		if (more && (conn_overloaded(c) || l->now_ns - began > loop_limits.turn_ns ||
			     c->in_ready)) {
			if (!hold(c))
				return;
			break;
		}
	}
	release_held(c);
	if (conn_finished(c))
		conn_close(c, "end of stream");
	else
		conn_regulate(c);
}
