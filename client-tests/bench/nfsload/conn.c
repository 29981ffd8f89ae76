/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending is cheap on purpose: all calls of a wake-up leave in one send, encoded by copying a
 * form.
 *
 * Receiving has two ways. READs below --discard-from, and every other call, come out of the socket
 * in portions of up to 256 KiB, which stay in the second-level cache, and are taken apart there.
 * Larger READs, when nobody looks at the data, are received as header (a small recv) and data (recv
 * with MSG_TRUNC, which on TCP drops without copying), two system calls a reply. Either way the
 * wake-up ends after about 256 KiB, so that new calls go out while replies still come in.
 */
#include "conn.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SLOT_BITS 12
#define WAKEUP_BYTES (256u << 10)
#define HEAD_RECV 256 /* a READ reply's head is 132 bytes; the rest is data, cheap to copy */

uint64_t
now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool
discards(const struct conn *c)
{
	return opts_has(c->o, OP_READ) && !c->verify && c->o->size >= c->o->discard_from;
}

static int
allocate(struct conn *c)
{
	const struct opts *o = c->o;
	c->slot = calloc(o->depth, sizeof *c->slot);
	c->free_slot = calloc(o->depth, sizeof *c->free_slot);
	c->ready_slot = calloc(o->depth, sizeof *c->ready_slot);
	c->body_cap = opts_has(o, OP_READDIRPLUS) ? o->listing : 0;
	c->body = malloc(c->body_cap + 1);
	if (out_init(&c->out, o->depth, c->calls->longest) || !c->slot || !c->free_slot ||
	    !c->ready_slot || !c->body) {
		snprintf(c->err, RPC_ERR, "out of memory");
		return -1;
	}
	for (unsigned i = 0; i < o->depth; i++)
		c->free_slot[i] = (uint16_t)i;
	c->nfree = o->depth;
	return 0;
}

int
conn_open(struct conn *c, const struct opts *o, const struct target *t, const struct calls *calls,
	  const struct verifier *v, unsigned index)
{
	*c = (struct conn){.o = o, .t = t, .calls = calls, .verify = v, .index = index};
	c->fd = rpc_connect(t->spec->host, t->spec->port, o->privport, o->rcvbuf, c->err);
	if (c->fd < 0)
		return -1;
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	chooser_init(&c->chooser, o, t, calls, index);
	return allocate(c);
}

void
conn_close(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	out_free(&c->out);
	free(c->slot);
	free(c->free_slot);
	free(c->ready_slot);
	free(c->body);
}

unsigned
conn_inflight(const struct conn *c)
{
	return c->o->depth - c->nfree;
}

bool
conn_pending(const struct conn *c)
{
	return out_pending(&c->out);
}

int
conn_flush(struct conn *c)
{
	if (!conn_pending(c))
		return 0;
	ssize_t n = out_send(&c->out, c->fd);
	if (n < 0) {
		snprintf(c->err, RPC_ERR, "send: %s", strerror(errno));
		return -1;
	}
	c->tally->sends += n > 0;
	return 0;
}

/* Eight digits that are this slot's own. */
static void
put_name(const struct conn *c, const struct slot *s, uint8_t *p)
{
	char digits[9];
	snprintf(digits, sizeof digits, "%08x", c->index << SLOT_BITS | (unsigned)(s - c->slot));
	memcpy(p, digits, 8);
}

/* Puts the next call of the slot's task into the send buffer. */
static void
put_call(struct conn *c, struct slot *s, uint64_t sent)
{
	const struct task *task = &s->task;
	const struct form *f = &c->calls->form[task->op][task->index];
	uint8_t *p = out_head(&c->out, f->len);
	s->busy = true;
	s->sent = sent;
	s->xid = ++c->generation << SLOT_BITS | (uint32_t)(s - c->slot);
	memcpy(p, f->p, f->len);
	put_be32(p + RPC_XID_AT, s->xid);
	if (task->op == OP_READ || task->op == OP_WRITE)
		put_be64(p + f->patch, task->offset);
	if (task->op == OP_CREATE || task->op == OP_REMOVE)
		put_name(c, s, p + f->patch);
	if (task->op == OP_READDIRPLUS) {
		put_be64(p + f->patch, task->cookie);
		put_be64(p + f->patch + 8, task->verf);
	}
	if (task->op == OP_WRITE)
		out_ref(&c->out, c->calls->payload, c->calls->payload_len);
}

static void
new_task(struct conn *c, uint64_t sent)
{
	struct slot *s = &c->slot[c->free_slot[--c->nfree]];
	choose(&c->chooser, &s->task);
	put_call(c, s, sent);
	c->orders.budget--;
}

/* Past the deadline no task begins; those that should have are counted. */
static void
close_books(struct conn *c)
{
	struct orders *d = &c->orders;
	if (d->interval > 0 && d->budget && d->due < (double)d->deadline)
		c->tally->unsent += (uint64_t)ceil(((double)d->deadline - d->due) / d->interval);
	d->budget = 0;
}

static void
refill_by_clock(struct conn *c, uint64_t now)
{
	struct orders *d = &c->orders;
	while (c->nfree && d->budget && d->due <= (double)now) {
		uint64_t due = (uint64_t)d->due;
		if (due >= d->deadline)
			break;
		hist_add(&c->tally->lag, now - due);
		new_task(c, due);
		d->due +=
		    c->o->poisson ? -log(chooser_uniform(&c->chooser)) * d->interval : d->interval;
	}
}

int
conn_refill(struct conn *c, uint64_t now)
{
	while (c->nready)
		put_call(c, &c->slot[c->ready_slot[--c->nready]], now);
	if (c->orders.interval > 0)
		refill_by_clock(c, now);
	if (now >= c->orders.deadline)
		close_books(c);
	if (c->orders.interval <= 0 && c->nfree >= c->o->refill)
		while (c->nfree && c->orders.budget)
			new_task(c, now);
	return conn_flush(c);
}

uint64_t
conn_due(const struct conn *c)
{
	const struct orders *d = &c->orders;
	if (d->interval <= 0 || !d->budget || !c->nfree)
		return UINT64_MAX;
	uint64_t due = (uint64_t)d->due;
	return due < d->deadline ? due : d->deadline;
}

/* One recv. Bytes taken, 0 when nothing has arrived, -1 with err. *asked is set to what was asked
 * for. */
static ssize_t
receive_some(struct conn *c, uint8_t *buf, size_t cap, size_t *asked)
{
	size_t drop = discards(c) ? rx_discardable(&c->rx) : 0;
	*asked = drop ? drop : discards(c) ? HEAD_RECV : cap;
	ssize_t n = recv(c->fd, drop ? NULL : buf, *asked, drop ? MSG_TRUNC : 0);
	c->tally->recvs++;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		snprintf(c->err, RPC_ERR,
			 "the server closed the connection with %u calls in flight%s%s",
			 conn_inflight(c), n ? ": " : "", n ? strerror(errno) : "");
		return -1;
	}
	int rc = drop ? rx_skip(&c->rx, (size_t)n, &conn_events, c, c->err)
		      : rx_feed(&c->rx, buf, (size_t)n, &conn_events, c, c->err);
	return rc ? -1 : n;
}

int
conn_receive(struct conn *c, uint8_t *buf, size_t cap)
{
	size_t total = 0, asked;
	c->now = now_ns();
	while (total < WAKEUP_BYTES) {
		ssize_t n = receive_some(c, buf, cap, &asked);
		if (n < 0)
			return -1;
		total += (size_t)n;
		if ((size_t)n < asked) /* the socket is empty: no need to hear EAGAIN */
			break;
	}
	c->tally->wakeups += total > 0;
	return 0;
}
