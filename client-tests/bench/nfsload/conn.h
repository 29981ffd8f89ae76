/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_CONN_H
#define NFSLOAD_CONN_H
/*
 * One TCP connection with a window of calls in flight. A call occupies a slot; its xid is
 * generation << 12 | slot, so any order of replies finds its call, and a reply that answers nothing
 * is noticed. Only the thread that runs the connection touches it.
 */
#include "calls.h"
#include "rx.h"
#include "tally.h"
#include "target.h"
#include "verify.h"

struct slot {
	bool busy;
	uint32_t xid;
	uint32_t want; /* READ: bytes that the file has for us there, at most the size asked */
	uint64_t offset;
	uint64_t sent; /* ns */
};

struct conn {
	int fd;
	const struct opts *o;
	const struct target *t;
	const struct calls *calls;
	const struct verifier *verify; /* NULL: data is not looked at */
	struct rx rx;
	struct slot *slot;
	uint16_t *free_slot;
	unsigned nfree;
	uint32_t generation;
	struct slot *current; /* of the reply being received */
	bool current_bad;
	uint8_t *out; /* calls not yet taken by the socket */
	size_t out_len, out_off, out_cap;
	uint64_t next_offset;
	unsigned next_object;
	uint64_t random;
	uint64_t budget; /* calls that may still be sent */
	uint64_t now;	 /* ns, of this wake-up */
	struct tally *tally;
	char err[RPC_ERR];
};

/* Connects connection `index` of the target. 0, or -1 with c->err. c must not move afterwards. */
int conn_open(struct conn *c, const struct opts *o, const struct target *t,
	      const struct calls *calls, const struct verifier *v, unsigned index);
void conn_close(struct conn *c);

/* Calls in flight. */
unsigned conn_inflight(const struct conn *c);
/* Fills the window, as far as the budget reaches and `refill` slots are free, with one send. 0, or
 * -1 with c->err. */
int conn_refill(struct conn *c, uint64_t now);
/* Sends what the socket did not take before. conn_pending tells whether anything is left. */
int conn_flush(struct conn *c);
bool conn_pending(const struct conn *c);
/* Takes what has arrived, at most about 256 KiB, so that the window is refilled before the server
 * runs dry. */
int conn_receive(struct conn *c, uint8_t *buf, size_t cap);

uint64_t now_ns(void);

#endif
