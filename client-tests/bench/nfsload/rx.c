/* SPDX-License-Identifier: BSD-2-Clause */
#include "rx.h"

#include <stdio.h>
#include <string.h>

#define FRAGMENT_MAX (128u << 20)

static int
broken(char err[RPC_ERR], const char *what)
{
	snprintf(err, RPC_ERR, "a broken reply: %s", what);
	return -1;
}

/* 1 the head is complete, 0 more is needed, -1 broken. */
static int
parse_head(const uint8_t *p, size_t n, struct head *h, const struct rx_events *ev, void *arg,
	   char err[RPC_ERR])
{
	struct dec d = {.p = p, .left = n};
	*h = (struct head){0};
	int rc = rpc_reply(&d, &h->xid, err);
	if (rc <= 0)
		return rc;
	if (ev->call(arg, h->xid, &h->op, err) || reply_results(&d, h, err))
		return -1;
	h->len = n - d.left;
	return !d.over;
}

/* Gathers and parses the head. Returns how many of the n bytes belong to it, or -1. */
static ssize_t
take_head(struct rx *rx, const uint8_t *p, size_t n, const struct rx_events *ev, void *arg,
	  char err[RPC_ERR])
{
	size_t before = rx->head_len;
	size_t take = n;
	if (before) {
		take = n < RX_HEAD_MAX - before ? n : RX_HEAD_MAX - before;
		memcpy(rx->head + before, p, take);
		p = rx->head;
	}
	int rc = parse_head(p, before + take, &rx->h, ev, arg, err);
	if (rc < 0)
		return -1;
	if (!rc) {
		if (before + take >= RX_HEAD_MAX)
			return broken(err, "its header does not end within 1024 bytes");
		if (!before)
			memcpy(rx->head, p, take);
		rx->head_len += take;
		return (ssize_t)take;
	}
	rx->head_len = 0;
	rx->data_left = rx->h.op == OP_READ ? rx->h.count : 0;
	rx->tail_left = xdr_pad(rx->data_left);
	rx->body_len = 0;
	rx->state = rx->h.body ? RX_BODY : rx->data_left ? RX_DATA : RX_TAIL;
	return ev->head(arg, &rx->h, err) ? -1 : (ssize_t)(rx->h.len - before);
}

/* Takes some of n bytes that lie inside a fragment. How many, or -1. */
static ssize_t
take_some(struct rx *rx, const uint8_t *p, size_t n, const struct rx_events *ev, void *arg,
	  char err[RPC_ERR])
{
	if (rx->state == RX_HEAD)
		return take_head(rx, p, n, ev, arg, err);
	if (rx->state == RX_DATA) {
		size_t take = n < rx->data_left ? n : rx->data_left;
		if (ev->data(arg, p, take, rx->h.count - rx->data_left, err))
			return -1;
		rx->data_left -= (uint32_t)take;
		if (!rx->data_left)
			rx->state = RX_TAIL;
		return (ssize_t)take;
	}
	if (rx->state == RX_BODY) {
		if (ev->data(arg, p, n, rx->body_len, err))
			return -1;
		rx->body_len += (uint32_t)n;
		return (ssize_t)n;
	}
	if (n > rx->tail_left)
		return broken(err, "bytes follow its end");
	rx->tail_left -= (uint32_t)n;
	return (ssize_t)n;
}

/* A fragment is used up: the record goes on in the next one, or it is complete. */
static int
fragment_end(struct rx *rx, const struct rx_events *ev, void *arg, char err[RPC_ERR])
{
	rx->mark_len = 0;
	if (!rx->last_fragment)
		return 0;
	if (rx->state != RX_BODY && (rx->state != RX_TAIL || rx->tail_left))
		return broken(err, "its record ends before the reply does");
	rx->state = RX_HEAD;
	return ev->end(arg, &rx->h, err);
}

static int
take_mark(struct rx *rx, uint8_t byte, const struct rx_events *ev, void *arg, char err[RPC_ERR])
{
	rx->mark[rx->mark_len++] = byte;
	if (rx->mark_len < 4)
		return 0;
	uint32_t mark = get_be32(rx->mark);
	rx->last_fragment = mark >> 31;
	rx->fragment_left = mark & 0x7fffffffu;
	if (rx->fragment_left > FRAGMENT_MAX)
		return broken(err, "a record mark of more than 128 MiB");
	return rx->fragment_left ? 0 : fragment_end(rx, ev, arg, err);
}

int
rx_feed(struct rx *rx, const uint8_t *p, size_t n, const struct rx_events *ev, void *arg,
	char err[RPC_ERR])
{
	while (n) {
		ssize_t took = 1;
		if (rx->mark_len < 4) {
			if (take_mark(rx, *p, ev, arg, err))
				return -1;
		} else {
			took = take_some(rx, p, n < rx->fragment_left ? n : rx->fragment_left, ev,
					 arg, err);
			if (took < 0)
				return -1;
			rx->fragment_left -= (uint32_t)took;
			if (!rx->fragment_left && fragment_end(rx, ev, arg, err))
				return -1;
		}
		p += took;
		n -= (size_t)took;
	}
	return 0;
}

size_t
rx_discardable(const struct rx *rx)
{
	if (rx->mark_len < 4 || rx->state != RX_DATA)
		return 0;
	return rx->data_left < rx->fragment_left ? rx->data_left : rx->fragment_left;
}

int
rx_skip(struct rx *rx, size_t n, const struct rx_events *ev, void *arg, char err[RPC_ERR])
{
	rx->data_left -= (uint32_t)n;
	rx->fragment_left -= (uint32_t)n;
	if (!rx->data_left)
		rx->state = RX_TAIL;
	return rx->fragment_left ? 0 : fragment_end(rx, ev, arg, err);
}
