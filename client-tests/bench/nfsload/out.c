/* SPDX-License-Identifier: BSD-2-Clause */
#include "out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define IOV_PER_SEND 512

int
out_init(struct out *o, unsigned calls, size_t longest)
{
	*o = (struct out){.cap = (size_t)2 * calls * longest, .iov_cap = 4 * calls + 2};
	o->head = malloc(o->cap);
	o->iov = calloc(o->iov_cap, sizeof *o->iov);
	return o->head && o->iov ? 0 : -1;
}

void
out_free(struct out *o)
{
	free(o->head);
	free(o->iov);
}

bool
out_pending(const struct out *o)
{
	return o->at < o->n;
}

static bool
is_head(const struct out *o, const struct iovec *v)
{
	const uint8_t *p = v->iov_base;
	return p >= o->head && p < o->head + o->cap;
}

/* Moves what is unsent to the front. At most one window of calls is unsent, so half the room is
 * free afterwards. */
static void
compact(struct out *o)
{
	size_t from = o->len;
	memmove(o->iov, o->iov + o->at, (o->n - o->at) * sizeof *o->iov);
	o->n -= o->at;
	o->at = 0;
	for (unsigned i = o->n; i-- > 0;)
		if (is_head(o, &o->iov[i]))
			from = (size_t)((uint8_t *)o->iov[i].iov_base - o->head);
	for (unsigned i = 0; i < o->n; i++)
		if (is_head(o, &o->iov[i]))
			o->iov[i].iov_base = (uint8_t *)o->iov[i].iov_base - from;
	memmove(o->head, o->head + from, o->len - from);
	o->len -= from;
}

static bool
ends_at(const struct iovec *v, const uint8_t *p)
{
	return (const uint8_t *)v->iov_base + v->iov_len == p;
}

uint8_t *
out_head(struct out *o, size_t n)
{
	if (o->len + n > o->cap || o->n + 2 > o->iov_cap)
		compact(o);
	uint8_t *p = o->head + o->len;
	if (o->n > o->at && ends_at(&o->iov[o->n - 1], p))
		o->iov[o->n - 1].iov_len += n;
	else
		o->iov[o->n++] = (struct iovec){p, n};
	o->len += n;
	return p;
}

void
out_ref(struct out *o, const uint8_t *p, size_t n)
{
	if (o->n == o->iov_cap)
		compact(o);
	o->iov[o->n++] = (struct iovec){(void *)(uintptr_t)p, n};
}

static void
advance(struct out *o, size_t n)
{
	while (o->at < o->n && n >= o->iov[o->at].iov_len)
		n -= o->iov[o->at++].iov_len;
	if (n) {
		o->iov[o->at].iov_base = (uint8_t *)o->iov[o->at].iov_base + n;
		o->iov[o->at].iov_len -= n;
	}
	if (!out_pending(o)) {
		o->at = o->n = 0;
		o->len = 0;
	}
}

ssize_t
out_send(struct out *o, int fd)
{
	unsigned n = o->n - o->at;
	struct msghdr m = {.msg_iov = o->iov + o->at,
			   .msg_iovlen = n < IOV_PER_SEND ? n : IOV_PER_SEND};
	ssize_t took = sendmsg(fd, &m, MSG_NOSIGNAL);
	if (took < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	advance(o, (size_t)took);
	return took;
}
