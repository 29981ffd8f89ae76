/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_RX_H
#define NFSLOAD_RX_H
/*
 * The incoming byte stream of a connection, taken apart as it comes: record marks, a record in one
 * or many fragments, reply header, READ data or a directory list. Bytes may arrive in any portions.
 * Data can also be left in the kernel: rx_discardable says how many of the next bytes are nothing
 * but data, the caller drops them there and reports that with rx_skip.
 */
#include <stdbool.h>

#include "reply.h"

#define RX_HEAD_MAX 1024

/* Each returns 0, or -1 after writing its complaint to err: then the connection is of no more use.
 */
struct rx_events {
	/* the operation that was called with this xid */
	int (*call)(void *arg, uint32_t xid, enum op *op, char err[RPC_ERR]);
	int (*head)(void *arg, const struct head *h, char err[RPC_ERR]);
	/* pos counts from the start of this reply's data */
	int (*data)(void *arg, const uint8_t *p, size_t n, uint32_t pos, char err[RPC_ERR]);
	int (*end)(void *arg, const struct head *h, char err[RPC_ERR]);
};

struct rx {
	enum { RX_HEAD, RX_DATA, RX_BODY, RX_TAIL } state;
	uint8_t mark[4];
	unsigned mark_len; /* 4: inside a fragment */
	bool last_fragment;
	uint32_t fragment_left;
	uint32_t data_left;
	uint32_t body_len; /* that was handed on */
	uint32_t tail_left;
	struct head h;
	uint8_t head[RX_HEAD_MAX]; /* a head that came in portions */
	size_t head_len;
};

/* Takes n bytes. 0, or -1 with err: what the server sent is no sequence of replies. */
int rx_feed(struct rx *rx, const uint8_t *p, size_t n, const struct rx_events *ev, void *arg,
	    char err[RPC_ERR]);
size_t rx_discardable(const struct rx *rx);
/* n <= rx_discardable bytes were dropped from the stream. */
int rx_skip(struct rx *rx, size_t n, const struct rx_events *ev, void *arg, char err[RPC_ERR]);

#endif
