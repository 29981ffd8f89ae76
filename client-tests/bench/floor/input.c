/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving, see floor.h: many small records at once, or one large one in its place. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "floor.h"

struct peer *
peer_new(int fd, size_t cap)
{
	struct peer *p = malloc(sizeof *p + cap);
	if (!p)
		return NULL;
	*p = (struct peer){.fd = fd, .cap = cap};
	return p;
}

/* From the mark: the record with it. */
static size_t
length_at(const uint8_t *p)
{
	uint32_t mark;
	memcpy(&mark, p, 4);
	return (ntohl(mark) & 0x7fffffff) + (size_t)4;
}

ssize_t
peer_receive(struct peer *p)
{
	size_t want = INPUT_MAX;
	if (p->have >= 4 && length_at(p->in) > RECORD_LARGE)
		want = length_at(p->in) - p->have + (p->head ? 0 : RECORD_PEEK);
	else if (p->large)
		want = p->head > p->have ? p->head - p->have : RECORD_PEEK;
	if (want > p->cap - p->have)
		want = p->cap - p->have;
	return recv(p->fd, p->in + p->have, want, 0);
}

ssize_t
peer_pass(struct peer *p, const struct served *s)
{
	ssize_t n = splice(p->fd, NULL, s->pipe[1], NULL, p->pass, SPLICE_F_NONBLOCK);
	off_t to = (off_t)p->to;
	for (ssize_t left = n; left > 0;) {
		ssize_t k = splice(s->pipe[0], NULL, s->fd, &to, (size_t)left, 0);
		if (k <= 0)
			return -1;
		left -= k;
	}
	if (n > 0) {
		p->to += (uint64_t)n;
		p->pass -= (uint32_t)n;
	}
	return n;
}

size_t
peer_record(struct peer *p, size_t at)
{
	if (p->have - at < 4)
		return 0;
	size_t len = length_at(p->in + at);
	if (!(p->in[at] & 0x80) || len > p->cap - RECORD_PEEK)
		return SIZE_MAX; /* more than one fragment: no client does that for such calls */
	p->large = len > RECORD_LARGE;
	return len <= p->have - at ? len : 0;
}

void
peer_consume(struct peer *p, size_t n)
{
	p->have -= n;
	memmove(p->in, p->in + n, p->have);
}
