/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sender: from a queue of replies to bytes on a socket.
 *
 * Order on the wire is stash, then flight, then wait. flush() works on the first of these that is
 * not empty, until the socket is full, the quantum is spent or nothing is left.
 *
 * Happy path of a batch with file spans: it is assembled in pipes (assemble.c), heads and pages by
 * turns, and the pipes are spliced to the socket, every piece but the last with MORE.
 *
 * Failure modes:
 * - A span comes up short (the file was cut, or refuses splice): nothing of the batch is on the
 * wire yet. All pipes of the batch are thrown away, that reply leaves the queue through `redo`, the
 * others stay and are assembled again.
 * - No pipe can be had: the reply goes to `redo`, it will be copied. But no more than redo_room at
 * a time, or a peer that takes nothing would have all its replies copied: the others wait for what
 * is copied already, which overtakes them.
 * - The socket is full: the rest stays in the pipes, pinned; sender_unpin() turns it into bytes if
 * the peer stalls.
 * - Only a dead socket ends a connection here: a record mark is never sent before its bytes are in
 * hand.
 *
 * Honest limit: pages in a pipe are the page cache's own. What a client reads may be newer than the
 * attributes beside it.
 */
#include "replyint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "buf.h"

#define IOVS 192 /* of one sendmsg: 64 replies of head, body, pad */
#define GULP_MIN (128u << 10)

static const char zeros[4];

void
replies_init(struct replies *l)
{
	l->first = NULL;
	l->last = &l->first;
}

void
replies_add(struct replies *l, struct reply *r)
{
	r->next = NULL;
	*l->last = r;
	l->last = &r->next;
}

struct reply *
replies_take(struct replies *l)
{
	struct reply *r = l->first;

	if (!r)
		return NULL;
	l->first = r->next;
	if (!l->first)
		l->last = &l->first;
	r->next = NULL;
	return r;
}

void
sender_init(struct sender *s)
{
	memset(s, 0, sizeof *s);
	replies_init(&s->wait);
	s->gulp = GULP_MIN;
}

static void
flight_drop(struct sender *s, struct pipes *ps)
{
	while (s->flight) {
		struct pipe *p = s->flight;

		s->flight = p->next;
		s->unsent -= p->bytes;
		budget_sub(p->bytes);
		pipes_give(ps, p);
	}
}

void
sender_fini(struct sender *s, struct pipes *ps, struct replies *left)
{
	struct reply *r;

	flight_drop(s, ps);
	free(s->stash);
	budget_sub(s->stash ? s->stash_len : 0);
	while ((r = replies_take(&s->wait))) {
		budget_sub(full_bytes(r));
		replies_add(left, r);
	}
	sender_init(s);
}

void
sender_queue(struct sender *s, struct reply *r)
{
	s->unsent += reply_len(r);
	s->queued++;
	budget_add(full_bytes(r));
	replies_add(&s->wait, r);
}

/* ---- sending ---- */

enum step { STEP_DONE, STEP_BLOCKED, STEP_STARVED, STEP_BROKEN };

static enum step
failed(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK ? STEP_BLOCKED : STEP_BROKEN;
}

static enum step
send_stash(struct sender *s, int sock)
{
	bool more = s->flight || s->wait.first;

	while (s->stash_sent < s->stash_len) {
		ssize_t n = send(sock, s->stash + s->stash_sent, s->stash_len - s->stash_sent,
				 more ? MSG_MORE : 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed();
		s->stash_sent += (size_t)n;
		s->unsent -= (size_t)n;
		s->corked = more;
	}
	budget_sub(s->stash_len);
	free(s->stash);
	s->stash = NULL;
	return STEP_DONE;
}

static enum step
send_flight(struct sender *s, int sock, struct pipes *ps)
{
	while (s->flight) {
		struct pipe *p = s->flight;
		bool more = p->next || s->wait.first;

		while (p->bytes > 0) {
			ssize_t n = splice(p->r, NULL, sock, NULL, p->bytes,
					   SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0));

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return failed(); /* bytes are in the pipe: EAGAIN is the socket's */
			if (n == 0) {
				errno = EIO;
				return STEP_BROKEN;
			}
			p->bytes -= (size_t)n;
			s->unsent -= (size_t)n;
			budget_sub((size_t)n);
			s->corked = more;
		}
		s->flight = p->next;
		pipes_give(ps, p);
	}
	return STEP_DONE;
}

static void
iov_add(struct iovec *iov, int *n, const void *base, size_t len, size_t *skip)
{
	if (*skip >= len) {
		*skip -= len;
		return;
	}
	iov[*n].iov_base = (char *)(uintptr_t)base + *skip;
	iov[*n].iov_len = len - *skip;
	*skip = 0;
	(*n)++;
}

/* n bytes of the front replies are gone: finish those that are complete. */
static void
advance(struct sender *s, struct send_ctx *x, size_t n)
{
	s->unsent -= n;
	n += s->sent;
	while (s->wait.first && n >= reply_len(s->wait.first)) {
		struct reply *r = pop(s);

		n -= reply_len(r);
		account(x, r);
		replies_add(x->done, r);
	}
	s->sent = n;
}

/* Sends the run of bytes-only replies at the front, as much as one sendmsg takes. */
static enum step
send_bytes(struct sender *s, int sock, struct send_ctx *x, size_t *out)
{
	struct iovec iov[IOVS];
	int n = 0;
	size_t skip = s->sent, total = 0;
	const struct reply *r = s->wait.first;

	for (; r && is_bytes(r) && n + 3 <= IOVS && total < x->quantum; r = r->next) {
		iov_add(iov, &n, r->head, r->headlen, &skip);
		iov_add(iov, &n, r->body.base, r->body.len, &skip);
		iov_add(iov, &n, zeros, r->pad, &skip);
		total += reply_len(r);
	}
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)n};
	ssize_t k;

	do
		k = sendmsg(sock, &m, MSG_NOSIGNAL | (r ? MSG_MORE : 0));
	while (k < 0 && errno == EINTR);
	if (k < 0)
		return failed();
	s->corked = r != NULL;
	advance(s, x, (size_t)k);
	*out += (size_t)k;
	return STEP_DONE;
}

/* One step of the front: stash, flight, bytes, or a new batch. */
static enum step
step(struct sender *s, int sock, struct send_ctx *x, size_t *out)
{
	size_t before = s->unsent;
	enum step st = STEP_DONE;

	if (s->stash)
		st = send_stash(s, sock);
	if (st == STEP_DONE && s->flight)
		st = send_flight(s, sock, x->pipes);
	if (st != STEP_DONE || s->unsent != before || !s->wait.first) {
		*out += before - s->unsent;
		return st;
	}
	if (is_bytes(s->wait.first) && (s->sent > 0 || x->plain || !folds(s->wait.first, 0)))
		return send_bytes(s, sock, x, out);
	return sender_assemble(s, x) ? STEP_DONE : STEP_STARVED;
}

/* The last piece was sent with MORE because a reply stood behind it, and that reply went away: push
 * it out now, not in 200 ms. */
static void
uncork(struct sender *s, int sock)
{
	int one = 1;

	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	s->corked = false;
}

enum send_result
sender_flush(struct sender *s, int sock, struct send_ctx *x)
{
	size_t out = 0;

	while (s->stash || s->flight || s->wait.first) {
		if (out >= x->quantum)
			return SEND_AGAIN;
		switch (step(s, sock, x, &out)) {
		case STEP_DONE:
			break;
		case STEP_BLOCKED:
			s->gulp = GULP_MIN;
			return SEND_BLOCKED;
		case STEP_STARVED:
			if (s->corked)
				uncork(s, sock);
			return SEND_STARVED;
		case STEP_BROKEN:
			return SEND_BROKEN;
		}
	}
	if (s->corked)
		uncork(s, sock);
	if (s->gulp < x->quantum)
		s->gulp *= 2;
	return SEND_IDLE;
}

/* Moves every byte of the pipe to buf; false if the pipe held fewer than we counted. */
static bool
drain(struct pipe *p, char *buf)
{
	while (p->bytes > 0) {
		ssize_t n = read(p->r, buf, p->bytes);

		if (n <= 0)
			return false;
		buf += n;
		p->bytes -= (size_t)n;
	}
	return true;
}

long
sender_unpin(struct sender *s, struct pipes *ps)
{
	size_t kept = s->stash ? s->stash_len - s->stash_sent : 0, moved = 0;
	char *buf;

	for (const struct pipe *p = s->flight; p; p = p->next)
		moved += p->bytes;
	if (moved == 0)
		return 0;
	if (!(buf = malloc(kept + moved)))
		return -1;
	if (kept > 0)
		memcpy(buf, s->stash + s->stash_sent, kept);
	for (char *to = buf + kept; s->flight;) {
		struct pipe *p = s->flight;
		size_t n = p->bytes;

		if (!drain(p, to)) {
			free(buf);
			return -2;
		}
		to += n;
		s->flight = p->next;
		pipes_give(ps, p);
	}
	if (s->stash) {
		budget_sub(s->stash_len);
		free(s->stash);
	}
	budget_add(kept); /* what moved is accounted already */
	s->stash = buf;
	s->stash_len = kept + moved;
	s->stash_sent = 0;
	return (long)moved;
}
