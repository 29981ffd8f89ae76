/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_OUT_H
#define NFSLOAD_OUT_H
/*
 * Calls on their way into the socket: heads, which are copied here, and payload, which is only
 * referred to. Heads that follow each other make one piece, so a window of small calls is one
 * send of one buffer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct out {
	uint8_t *head;
	size_t len, cap;
	struct iovec *iov;
	unsigned at, n, iov_cap;
};

/* Room for `calls` calls of at most `longest` bytes of head each. 0, or -1: out of memory. */
int out_init(struct out *o, unsigned calls, size_t longest);
void out_free(struct out *o);
/* Room for a head of n bytes, to be filled at once. */
uint8_t *out_head(struct out *o, size_t n);
/* Bytes that stay what and where they are until they are sent. */
void out_ref(struct out *o, const uint8_t *p, size_t n);
bool out_pending(const struct out *o);
/* One send. What the socket took, 0 when it is full, -1 with errno. */
ssize_t out_send(struct out *o, int fd);

#endif
