/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A batch of replies in pipes: head, pages, head, pages, in the order in which they leave.
 *
 * The bytes between two spans (a pad, small replies, the next head) are collected and put into the
 * pipe just before the span that follows them, in one slot; the span is spliced after them by
 * reference. A pipe that a worker filled joins the chain as it is.
 *
 * Putting bytes there by write(2) makes the kernel allocate, charge and free a page for a hundred
 * bytes. So the bytes of several small replies are written at once into a pipe beside (`heads`, one
 * page) and moved from there, piece by piece, also by reference: 0.5 us less per reply.
 *
 * Failure: a span that comes up short, or no pipe, and all pipes of the batch are thrown away;
 * nothing of it was on the wire.
 */
#include "replyint.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"

#define STAGE_MIN 3	       /* for fewer replies a write each is as cheap */
#define STAGE_BODY (32u << 10) /* nor does it matter beside larger ones */

static const char zeros[4];

struct batch {
	struct send_ctx *x;
	struct pipe *first, **link, *cur; /* chain; cur: the last of it, if ours to fill */
	unsigned npipes;
	size_t bytes, limit;
	struct pipe *heads; /* bytes written ahead... */
	unsigned staged;    /* ...of so many replies to come */
	size_t npend; /* bytes that go before the next span: the first of heads if it holds any,
			 else in pend */
	char pend[PIPE_SLOT];
};

static void
batch_init(struct batch *b, struct send_ctx *x, size_t limit)
{
	b->x = x;
	b->first = b->cur = NULL;
	b->link = &b->first;
	b->npipes = b->staged = 0;
	b->bytes = b->npend = 0;
	b->heads = NULL;
	b->limit = limit;
}

static void
chain(struct batch *b, struct pipe *p)
{
	*b->link = p;
	b->link = &p->next;
	p->next = NULL;
	b->npipes++;
}

/* A pipe with at least one free slot at the end of the chain, or NULL. */
static struct pipe *
room(struct batch *b)
{
	if (b->cur && pipe_free(b->cur) > 0)
		return b->cur;
	b->cur = pipes_take(b->x->pipes);
	if (b->cur)
		chain(b, b->cur);
	return b->cur;
}

/* Moves the first npend bytes of heads, which lie in one page, into one slot of p. */
static bool
move_pend(struct batch *b, struct pipe *p)
{
	ssize_t n = splice(b->heads->r, NULL, p->w, NULL, b->npend, SPLICE_F_NONBLOCK);

	if (n != (ssize_t)b->npend)
		return false;
	b->heads->bytes -= b->npend;
	return true;
}

static bool
in_heads(const struct batch *b)
{
	return b->heads && b->heads->bytes > 0;
}

static bool
put_pend(struct batch *b)
{
	struct pipe *p;

	if (b->npend == 0)
		return true;
	p = room(b);
	if (!p)
		return false;
	/* at most a page, one slot is free: such a write is atomic and cannot block (pipe(7)) */
	if (in_heads(b) ? !move_pend(b, p) : write(p->w, b->pend, b->npend) != (ssize_t)b->npend)
		return false;
	p->used++;
	p->bytes += b->npend;
	b->bytes += b->npend;
	b->npend = 0;
	return true;
}

static bool
put_bytes(struct batch *b, const char *data, size_t n)
{
	if (b->staged > 0) { /* they lie in heads already */
		b->npend += n;
		return true;
	}
	while (n > 0) {
		size_t k = sizeof b->pend - b->npend;

		if (k == 0) {
			if (!put_pend(b))
				return false;
			continue;
		}
		if (k > n)
			k = n;
		memcpy(b->pend + b->npend, data, k);
		b->npend += k;
		data += k;
		n -= k;
	}
	return true;
}

/* Splices the whole span, over as many pipes as it takes. False: it came up short, or no pipe. */
static bool
put_span(struct batch *b, struct reply *r)
{
	const payload *body = &r->body;
	off_t off = body->off;
	size_t left = body->len;

	while (left > 0) {
		struct pipe *p = room(b);

		if (!p)
			return false;
		/* as much as the free slots surely take; the first page may be partial */
		size_t fit = (size_t)pipe_free(p) * PIPE_SLOT - (size_t)(off % PIPE_SLOT);
		size_t want = left < fit ? left : fit;
		ssize_t n = splice(body->fd, &off, p->w, NULL, want, SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && p->bytes > 0) {
			p->used = p->slots; /* fuller than we counted: go on in the next */
			continue;
		}
		if (n <= 0) {
			r->why = n == 0 ? REDO_SHORT : REDO_REFUSED;
			return false;
		}
		p->used += pipe_slots((unsigned long long)(off - n), (size_t)n);
		p->bytes += (size_t)n;
		b->bytes += (size_t)n;
		left -= (size_t)n;
	}
	return true;
}

/* Writes the bytes of the next spans into heads: as many as go into a page, and into this batch. */
static void
stage(struct batch *b, const struct reply *r)
{
	char page[PIPE_SLOT];
	size_t n = 0, planned = b->bytes;
	unsigned k = 0;

	for (; r && !is_bytes(r) && !r->full_pipe && r->body.len <= STAGE_BODY; r = r->next, k++) {
		if (n + r->headlen + r->pad > sizeof page || planned >= b->limit)
			break;
		memcpy(page + n, r->head, r->headlen);
		memcpy(page + n + r->headlen, zeros, r->pad);
		n += r->headlen + r->pad;
		planned += reply_len(r);
	}
	if (k < STAGE_MIN)
		return;
	if (!b->heads)
		b->heads = pipes_take(b->x->pipes);
	if (!b->heads || write(b->heads->w, page, n) != (ssize_t)n)
		return;
	b->heads->bytes = n;
	b->staged = k;
}

/* Before each reply: what was staged for earlier ones must be gone from heads before more is
 * written there. */
static bool
prepare(struct batch *b, const struct reply *r)
{
	if (b->staged > 0)
		return true;
	if (in_heads(b) && !put_pend(b))
		return false;
	if (b->npend == 0)
		stage(b, r);
	return true;
}

static bool
put_reply(struct batch *b, struct reply *r)
{
	r->why = REDO_NOPIPE;
	if (!prepare(b, r) || !put_bytes(b, r->head, r->headlen))
		return false;
	if (is_bytes(r)) {
		if (!put_bytes(b, r->body.base, r->body.len))
			return false;
	} else if (r->full_pipe) {
		if (!put_pend(b))
			return false;
		chain(b, r->full_pipe);
		b->cur = NULL;
		b->bytes += r->full_pipe->bytes;
		if (!put_bytes(b, r->tail, r->taillen))
			return false;
	} else if (!put_pend(b) || !put_span(b, r)) {
		return false;
	}
	if (!put_bytes(b, zeros, r->pad))
		return false;
	b->staged -= b->staged > 0;
	return true;
}

/* Throws the chain away, but for pipes that workers filled: those go back to the replies they
 * belong to. */
static void
batch_drop(struct batch *b, const struct sender *s)
{
	struct pipe *p = b->first, *next;

	for (; p; p = next) {
		bool kept = false;

		next = p->next;
		for (const struct reply *r = s->wait.first; r && !kept; r = r->next)
			kept = r->full_pipe == p;
		if (!kept)
			pipes_give(b->x->pipes, p);
	}
	pipes_give(b->x->pipes, b->heads);
}

/* Replies [first, end) are in the pipes: finish them. */
static void
batch_commit(struct sender *s, struct batch *b, const struct reply *end)
{
	while (s->wait.first != end) {
		struct reply *r = pop(s);

		account(b->x, r);
		budget_sub(full_bytes(r)); /* it is among b->bytes */
		r->full_pipe = NULL;
		replies_add(b->x->done, r);
	}
	s->flight = b->first;
	budget_add(b->bytes);
	pipes_give(b->x->pipes, b->heads);
}

static void
redo(struct sender *s, struct send_ctx *x, struct reply *bad)
{
	struct replies keep;
	struct reply *r;

	replies_init(&keep);
	while ((r = replies_take(&s->wait)))
		if (r == bad) {
			s->unsent -= reply_len(r);
			s->queued--;
			budget_sub(full_bytes(r));
			replies_add(x->redo, r);
		} else {
			replies_add(&keep, r);
		}
	s->wait = keep;
	if (!keep.first)
		s->wait.last = &s->wait.first;
}

/* Brings the first reply of bytes only to the front. False: there is none. */
static bool
overtake(struct sender *s)
{
	struct replies bytes, rest;
	struct reply *r;

	replies_init(&bytes);
	replies_init(&rest);
	while ((r = replies_take(&s->wait)))
		replies_add(!bytes.first && is_bytes(r) ? &bytes : &rest, r);
	bool found = bytes.first != NULL;
	if (found)
		replies_add(&s->wait, bytes.first);
	while ((r = replies_take(&rest)))
		replies_add(&s->wait, r);
	return found;
}

/*
 * What becomes of a reply that could not be had. False: it must wait. It is never one of bytes,
 * which is complete: running its call again could do a thing twice; but the span that it was to
 * ride with.
 */
static bool
failed(struct sender *s, struct send_ctx *x, struct reply *r)
{
	for (; is_bytes(r); r = r->next)
		r->next->why = REDO_NOPIPE;
	if (r->why == REDO_NOPIPE) {
		x->plain = true;
		if (r->body.len > x->redo_room && overtake(s))
			return true;
		if (r->body.len > x->redo_room && x->awaiting)
			return false;
		x->redo_room -= r->body.len < x->redo_room ? r->body.len : x->redo_room;
		x->awaiting = true;
	}
	redo(s, x, r);
	return true;
}

bool
sender_assemble(struct sender *s, struct send_ctx *x)
{
	struct batch b;
	struct reply *r;

	batch_init(&b, x, s->gulp);
	for (r = s->wait.first; r && b.bytes < b.limit && b.npipes < x->max_pipes; r = r->next) {
		if (is_bytes(r) && !folds(r, b.npend))
			break;
		if (!put_reply(&b, r)) {
			batch_drop(&b, s);
			return failed(s, x, r);
		}
	}
	if (!put_pend(&b)) {
		batch_drop(&b, s);
		return failed(s, x, s->wait.first);
	}
	batch_commit(s, &b, r);
	return true;
}
