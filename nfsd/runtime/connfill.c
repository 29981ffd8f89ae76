/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving the data of a long WRITE into a pipe, from where a worker moves it into the file: one
 * copy, made by the worker, instead of two, one of them on the loop. See conn.c for the whole.
 *
 * Happy path. A first long WRITE comes the usual way and shows how many bytes its header has
 * (conn_fill_learn): with one client and one file they are always as many. From then on the record
 * reader ends a read where such a header ends (rec_expect). If it is that of a WRITE whose data is
 * exactly the rest of the record, the data is spliced from the socket into a pipe as it arrives,
 * and the call goes to the pool when it is complete.
 *
 * In step. The socket is always read to the end of the record, whatever becomes of the call: what a
 * refused or short WRITE leaves in the pipe goes away with the pipe (task_drop_pipe).
 *
 * Failure modes. A pipe holds pieces as the network delivered them, one a slot: when many small
 * ones fill it before the data is complete, and it may not grow, all of it moves to a buffer, the
 * record goes on as ever, and this peer is left alone for a while (UNFIT). No pipe to be had: as
 * ever, too.
 *
 * Limits. A peer that begins a WRITE and stops holds a pipe: at most FILLING_MAX do on a loop, and
 * only peers that have shown a valid handle. What the pipe holds is counted in the budget.
 */
#include "connint.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "buf.h"
#include "stat.h"

#define FILLING_MAX 16
#define INLET_SLOTS 1024 /* a megabyte in pieces of 1448 bytes takes 725 */
#define UNFIT 256

void
conn_fill_learn(struct conn *c, const char *rec, size_t len)
{
	size_t data = 0, head;

	if (c->unfit > 0) {
		c->unfit--;
		return;
	}
	if (!__atomic_load_n(&c->peer.known, __ATOMIC_RELAXED))
		return;
	head = call_data_at(c->loop->engine, rec, len, &data);
	rec_expect(&c->rec, head + data == len ? head : 0, c->loop->receive_from);
}

static bool
is_fit(const struct conn *c, const struct rec_msg *head)
{
	size_t data = 0;

	return c->loop->filling < FILLING_MAX && head->len <= CALL_RECORD_INLINE &&
	       call_data_at(c->loop->engine, head->base, head->len, &data) == head->len &&
	       data == c->rec.left - head->len;
}

static struct pipe *
take_inlet(struct loop *l)
{
	struct pipe *p = pipes_take(&l->pipes);

	if (p && p->slots < PIPE_LARGE) {
		pipes_give(&l->pipes, p);
		return NULL;
	}
	return p;
}

bool
conn_fill_begin(struct conn *c, struct rec_msg *head)
{
	struct loop *l = c->loop;
	struct task *t = is_fit(c, head) ? task_take(l) : NULL;

	if (!t)
		return false;
	t->data = take_inlet(l);
	if (!t->data || !conn_keep_record(t, head)) {
		task_give(l, t);
		return false;
	}
	rec_divert(&c->rec);
	c->filling = t;
	l->filling++;
	return true;
}

static void
stop_filling(struct conn *c)
{
	c->filling = NULL;
	c->loop->filling--;
}

void
conn_fill_drop(struct conn *c)
{
	struct task *t = c->filling;

	if (!t)
		return;
	stop_filling(c);
	task_give(c->loop, t);
}

/* All of it is there. */
static void
complete(struct conn *c)
{
	struct task *t = c->filling;

	stop_filling(c);
	conn_prepare(c, t);
	t->call.data_pipe = t->data->r;
	stat_inc(ST_BATCHES);
	stat_inc(ST_BATCH_CALLS);
	if (conn_conclude(c, t, CALL_SLEEPS))
		conn_settle(c);
}

/* What the pipe holds, to buf. */
static bool
empty_pipe(const struct pipe *p, char *buf)
{
	for (size_t done = 0; done < p->bytes;) {
		ssize_t n = read(p->r, buf + done, p->bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* The pipe takes no more: the record goes on in a buffer. */
static void
give_up(struct conn *c)
{
	struct task *t = c->filling;
	size_t head = t->call.reclen, have = head + t->data->bytes;
	size_t all = have + rec_away(&c->rec);
	char *buf = buf_take(all);

	stat_inc(ST_WRITE_OVERFLOW);
	c->unfit = UNFIT;
	rec_expect(&c->rec, 0, 0);
	if (!buf || !empty_pipe(t->data, buf + head)) {
		buf_give(buf, all);
		conn_close(c, "out of memory");
		return;
	}
	memcpy(buf, t->call.rec, head);
	rec_return(&c->rec, buf, all, have);
	conn_fill_drop(c);
}

/* The socket said no: has it nothing, or has the pipe no room? */
static void
not_now(struct conn *c)
{
	int error = errno, waiting = 0;

	if (error == EINTR)
		return;
	if (error == EAGAIN && (ioctl(c->fd, FIONREAD, &waiting) < 0 || waiting == 0))
		return;
	if (error == EAGAIN && pipe_stock_grow(c->loop->stock, c->filling->data, INLET_SLOTS))
		return;
	if (error == EAGAIN || error == EINVAL)
		give_up(c);
	else
		conn_close(c, strerror(error));
}

void
conn_fill(struct conn *c)
{
	struct pipe *p = c->filling->data;
	ssize_t n =
	    splice(c->fd, NULL, p->w, NULL, rec_away(&c->rec), SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

	if (n < 0) {
		not_now(c);
		return;
	}
	loop_clock(c->loop);
	if (n == 0) {
		c->eof = true;
		conn_settle(c);
		return;
	}
	c->heard = ev_now(c->loop->ev);
	c->bytes_in += (uint64_t)n;
	stat_add(ST_BYTES_IN, (uint64_t)n);
	budget_add((size_t)n);
	p->bytes += (size_t)n;
	rec_passed(&c->rec, (size_t)n);
	if (rec_away(&c->rec) == 0)
		complete(c);
	else
		conn_regulate(c);
}
