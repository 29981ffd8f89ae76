/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replies find their slot, are checked and counted; the task of the slot goes on with its next call
 * (then the slot is ready) or is done (then it is free).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "conn.h"

#define SLOT_MASK (DEPTH_MAX - 1)

static int
on_call(void *arg, uint32_t xid, enum op *op, char err[RPC_ERR])
{
	struct conn *c = arg;
	unsigned i = xid & SLOT_MASK;
	struct slot *s = i < c->o->depth ? &c->slot[i] : NULL;
	if (!s || !s->busy || s->xid != xid) {
		snprintf(err, RPC_ERR, "a reply to xid %08x, which is not in flight", xid);
		return -1;
	}
	c->current = s;
	*op = s->task.op;
	return 0;
}

static int
on_head(void *arg, const struct head *h, char err[RPC_ERR])
{
	struct conn *c = arg;
	c->current_bad = false;
	c->body_len = 0;
	if (h->count <= c->o->size)
		return 0;
	snprintf(err, RPC_ERR, "%s at %" PRIu64 " returned %u bytes, %u were asked",
		 op_table[h->op].name, c->current->task.offset, h->count, c->o->size);
	return -1;
}

static int
take_body(struct conn *c, const uint8_t *p, size_t n, char err[RPC_ERR])
{
	if (n > c->body_cap - c->body_len) {
		snprintf(err, RPC_ERR, "a directory list of more than the %u bytes asked",
			 c->o->listing);
		return -1;
	}
	memcpy(c->body + c->body_len, p, n);
	c->body_len += n;
	return 0;
}

static int
on_data(void *arg, const uint8_t *p, size_t n, uint32_t pos, char err[RPC_ERR])
{
	struct conn *c = arg;
	char why[RPC_ERR];
	if (c->current->task.op == OP_READDIRPLUS)
		return take_body(c, p, n, err);
	if (!c->verify || verifier_same(c->verify, p, n, c->current->task.offset + pos, why))
		return 0;
	c->current_bad = true;
	if (!c->tally->complaint[0])
		memcpy(c->tally->complaint, why, sizeof why);
	return 0;
}

static void
count_read(struct conn *c, const struct head *h)
{
	const struct task *task = &c->current->task;
	bool at_end = task->offset + h->count >= c->t->size;
	c->tally->bytes += h->count;
	c->tally->short_reads += h->count < task->want;
	c->tally->no_attrs += !h->attrs;
	c->tally->bad_eof += h->eof != at_end;
	c->tally->bad_data += c->current_bad;
}

static void
count_write(struct conn *c, const struct head *h)
{
	if (h->op == OP_WRITE) {
		c->tally->bytes += h->count;
		c->tally->short_writes += h->count < c->current->task.want;
	}
	if (c->has_verf && c->write_verf != h->verf)
		c->tally->restarts++;
	c->write_verf = h->verf;
	c->has_verf = true;
}

/* Whether the listing goes on: *more. */
static int
count_listing(struct conn *c, const struct head *h, bool *more, char err[RPC_ERR])
{
	struct listing l;
	struct task *task = &c->current->task;
	if (reply_listing(c->body, c->body_len, &l, err))
		return -1;
	c->tally->entries += l.entries;
	if (!l.eof && !l.entries) {
		snprintf(err, RPC_ERR, "a directory list with no entry that is not the end");
		return -1;
	}
	task->cookie = l.cookie;
	task->verf = h->verf;
	*more = !l.eof && c->now < c->orders.deadline;
	return 0;
}

/* Counts a good reply; *more: the task has another call. */
static int
good(struct conn *c, const struct head *h, bool *more, char err[RPC_ERR])
{
	switch (h->op) {
	case OP_READ:
		count_read(c, h);
		return 0;
	case OP_WRITE:
	case OP_COMMIT:
		count_write(c, h);
		return 0;
	case OP_CREATE:
		c->current->task.op = OP_REMOVE;
		*more = true;
		return 0;
	case OP_READDIRPLUS:
		return count_listing(c, h, more, err);
	default:
		return 0;
	}
}

static int
on_end(void *arg, const struct head *h, char err[RPC_ERR])
{
	struct conn *c = arg;
	struct slot *s = c->current;
	bool more = false;
	c->tally->calls++;
	hist_add(&c->tally->latency[h->op], c->now > s->sent ? c->now - s->sent : 0);
	if (h->status)
		tally_failed(c->tally, h->status, 1);
	else if (good(c, h, &more, err))
		return -1;
	s->busy = false;
	if (more) {
		c->ready_slot[c->nready++] = (uint16_t)(s - c->slot);
	} else {
		c->free_slot[c->nfree++] = (uint16_t)(s - c->slot);
		c->tally->tasks++;
	}
	return 0;
}

const struct rx_events conn_events = {
    .call = on_call, .head = on_head, .data = on_data, .end = on_end};
