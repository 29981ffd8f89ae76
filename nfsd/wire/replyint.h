/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPLYINT_H
#define REPLYINT_H
/* What the two files of the sender (reply.c, assemble.c) share; nobody else needs it. */
#include "reply.h"

#define FOLD_BYTES                                                                                 \
	PIPE_SLOT /* bytes-only replies up to here ride in the pipe of the span behind them */

/*
 * Assembles a batch from the front of the queue, which is to go through pipes, into s->flight. A
 * reply that cannot be had leaves through redo, or others overtake it; then nothing is in flight
 * and the caller tries again. False: nothing can be done before more replies or pipes are there.
 */
bool sender_assemble(struct sender *, struct send_ctx *);

/* What a reply pins while it waits. */
static inline size_t
full_bytes(const struct reply *r)
{
	return r->full_pipe ? r->full_pipe->bytes : 0;
}

static inline bool
is_bytes(const struct reply *r)
{
	return r->body.len == 0 || r->body.base;
}

static inline struct reply *
pop(struct sender *s)
{
	s->queued--;
	return replies_take(&s->wait);
}

/* Is this reply to go through a pipe: a span itself, or few bytes with a span behind them? */
static inline bool
folds(const struct reply *r, size_t bytes_before)
{
	for (; r && is_bytes(r); r = r->next) {
		bytes_before += reply_len(r);
		if (bytes_before > FOLD_BYTES)
			return false;
	}
	return r != NULL;
}

static inline void
account(struct send_ctx *x, const struct reply *r)
{
	if (r->body.len == 0)
		return;
	if (is_bytes(r)) {
		x->copied += r->body.len;
	} else {
		x->copied += r->taillen;
		x->spliced += r->body.len - r->taillen;
	}
}

#endif
