/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending is cheap on purpose: all calls of a wake-up leave in one send, encoded by copying a
 * template.
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
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SLOT_BITS 12
#define SLOT_MASK ((1u << SLOT_BITS) - 1)
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
	return c->o->op == OP_READ && !c->verify && c->o->size >= c->o->discard_from;
}

/* Connections begin at different places of the file, so that they do not walk in step over the same
 * pages. */
static void
set_start(struct conn *c, unsigned index)
{
	uint64_t blocks = c->t->size / c->o->size;
	c->next_offset = blocks * index / c->o->conns * c->o->size + c->o->shift;
	c->next_object = (unsigned)((uint64_t)c->calls->n * index / c->o->conns);
	c->random = 0x9e3779b97f4a7c15u * (index + 1);
}

int
conn_open(struct conn *c, const struct opts *o, const struct target *t, const struct calls *calls,
	  const struct verifier *v, unsigned index)
{
	*c = (struct conn){.o = o, .t = t, .calls = calls, .verify = v, .rx = {.op = o->op}};
	c->fd = rpc_connect(t->spec->host, t->spec->port, o->privport, o->rcvbuf, c->err);
	if (c->fd < 0)
		return -1;
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	c->out_cap = o->depth * calls->longest;
	c->out = malloc(c->out_cap);
	c->slot = calloc(o->depth, sizeof *c->slot);
	c->free_slot = calloc(o->depth, sizeof *c->free_slot);
	if (!c->out || !c->slot || !c->free_slot) {
		snprintf(c->err, RPC_ERR, "out of memory");
		return -1;
	}
	for (unsigned i = 0; i < o->depth; i++)
		c->free_slot[i] = (uint16_t)i;
	c->nfree = o->depth;
	set_start(c, index);
	return 0;
}

void
conn_close(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->out);
	free(c->slot);
	free(c->free_slot);
}

unsigned
conn_inflight(const struct conn *c)
{
	return c->o->depth - c->nfree;
}

bool
conn_pending(const struct conn *c)
{
	return c->out_off < c->out_len;
}

static uint64_t
random_offset(struct conn *c)
{
	uint64_t align = c->o->align ? c->o->align : c->o->size;
	uint64_t span = c->t->size - c->o->shift;
	uint64_t places = span > c->o->size ? (span - c->o->size) / align + 1 : 1;
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return c->random % places * align + c->o->shift;
}

static void
choose_place(struct conn *c, struct slot *s)
{
	if (c->o->random) {
		s->offset = random_offset(c);
	} else {
		if (c->next_offset >= c->t->size)
			c->next_offset = c->o->shift;
		s->offset = c->next_offset;
		c->next_offset += c->o->size;
	}
	uint64_t left = c->t->size - s->offset;
	s->want = left < c->o->size ? (uint32_t)left : c->o->size;
}

/* Appends one call. The buffer has room: it holds a whole window. */
static void
append_call(struct conn *c, uint64_t now)
{
	unsigned i = c->free_slot[--c->nfree];
	struct slot *s = &c->slot[i];
	const struct bytes *b = &c->calls->each[c->next_object];
	uint8_t *p = c->out + c->out_len;
	*s = (struct slot){.busy = true, .xid = ++c->generation << SLOT_BITS | i, .sent = now};
	memcpy(p, b->p, b->len);
	put_be32(p + RPC_XID_AT, s->xid);
	if (c->o->op == OP_READ) {
		choose_place(c, s);
		put_be64(p + b->len - 12, s->offset);
	}
	c->out_len += b->len;
	if (++c->next_object == c->calls->n)
		c->next_object = 0;
}

int
conn_flush(struct conn *c)
{
	if (!conn_pending(c))
		return 0;
	ssize_t n = send(c->fd, c->out + c->out_off, c->out_len - c->out_off, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		snprintf(c->err, RPC_ERR, "send: %s", strerror(errno));
		return -1;
	}
	if (n > 0) {
		c->tally->sends++;
		c->out_off += (size_t)n;
	}
	if (!conn_pending(c))
		c->out_off = c->out_len = 0;
	return 0;
}

int
conn_refill(struct conn *c, uint64_t now)
{
	if (!c->budget || c->nfree < c->o->refill)
		return 0;
	if (c->out_off) {
		memmove(c->out, c->out + c->out_off, c->out_len - c->out_off);
		c->out_len -= c->out_off;
		c->out_off = 0;
	}
	while (c->nfree && c->budget) {
		append_call(c, now);
		c->budget--;
	}
	return conn_flush(c);
}

/* Events of the stream */

static int
on_head(void *arg, const struct head *h, char err[RPC_ERR])
{
	struct conn *c = arg;
	unsigned i = h->xid & SLOT_MASK;
	struct slot *s = i < c->o->depth ? &c->slot[i] : NULL;
	if (!s || !s->busy || s->xid != h->xid) {
		snprintf(err, RPC_ERR, "a reply to xid %08x, which is not in flight", h->xid);
		return -1;
	}
	if (h->count > c->o->size) {
		snprintf(err, RPC_ERR, "READ at %" PRIu64 " returned %u bytes, %u were asked",
			 s->offset, h->count, c->o->size);
		return -1;
	}
	c->current = s;
	c->current_bad = false;
	return 0;
}

static void
on_data(void *arg, const uint8_t *p, size_t n, uint32_t pos)
{
	struct conn *c = arg;
	char why[RPC_ERR];
	if (!c->verify || verifier_same(c->verify, p, n, c->current->offset + pos, why))
		return;
	c->current_bad = true;
	if (!c->tally->complaint[0])
		memcpy(c->tally->complaint, why, sizeof why);
}

static void
count_read(struct conn *c, const struct head *h)
{
	struct slot *s = c->current;
	bool at_end = s->offset + h->count >= c->t->size;
	c->tally->bytes += h->count;
	c->tally->short_reads += h->count < s->want;
	c->tally->no_attrs += !h->attrs;
	c->tally->bad_eof += h->eof != at_end;
	c->tally->bad_data += c->current_bad;
}

static void
on_end(void *arg, const struct head *h)
{
	struct conn *c = arg;
	struct slot *s = c->current;
	if (h->status)
		tally_failed(c->tally, h->status, 1);
	else if (c->o->op == OP_READ)
		count_read(c, h);
	c->tally->calls++;
	hist_add(&c->tally->latency, c->now - s->sent);
	s->busy = false;
	c->free_slot[c->nfree++] = (uint16_t)(s - c->slot);
}

static const struct rx_events events = {.head = on_head, .data = on_data, .end = on_end};

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
	int rc = drop ? rx_skip(&c->rx, (size_t)n, &events, c, c->err)
		      : rx_feed(&c->rx, buf, (size_t)n, &events, c, c->err);
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
