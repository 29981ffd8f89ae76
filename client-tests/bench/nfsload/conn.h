/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_CONN_H
#define NFSLOAD_CONN_H
/*
 * One TCP connection with a window of calls in flight. A call occupies a slot; its xid is
 * generation << 12 | slot, so any order of replies finds its call, and a reply that answers nothing
 * is noticed. Only the thread that runs the connection touches it.
 *
 * Closed loop: a slot that is free gets a new task at once. Open loop (--rate): tasks have their
 * appointed times, whatever the server does, and latency counts from there; a task that finds no
 * free slot waits, and that wait is part of its latency.
 */
#include "out.h"
#include "rx.h"
#include "tally.h"
#include "task.h"
#include "verify.h"

struct slot {
	bool busy;
	uint32_t xid;
	uint64_t sent; /* ns; open loop: when it should have been sent */
	struct task task;
};

/* One part of a measurement, as a connection sees it. */
struct orders {
	uint64_t budget;   /* tasks that may still begin */
	uint64_t deadline; /* ns; then none begins, and listings are left where they are */
	double interval;   /* ns between appointed times; 0: closed loop */
	double due;	   /* ns */
};

struct conn {
	int fd;
	unsigned index;
	const struct opts *o;
	const struct target *t;
	const struct calls *calls;
	const struct verifier *verify; /* NULL: data is not looked at */
	struct rx rx;
	struct chooser chooser;
	struct slot *slot;
	uint16_t *free_slot, *ready_slot; /* ready: its task goes on with another call */
	unsigned nfree, nready;
	uint32_t generation;
	struct slot *current; /* of the reply being received */
	bool current_bad;
	uint8_t *body; /* a directory list is gathered here */
	size_t body_len, body_cap;
	struct out out;
	struct orders orders;
	uint64_t write_verf;
	bool has_verf;
	uint64_t now; /* ns, of this wake-up */
	struct tally *tally;
	char err[RPC_ERR];
};

/* Connects connection `index` of the target. 0, or -1 with c->err. c must not move afterwards. */
int conn_open(struct conn *c, const struct opts *o, const struct target *t,
	      const struct calls *calls, const struct verifier *v, unsigned index);
void conn_close(struct conn *c);

/* Calls in flight. */
unsigned conn_inflight(const struct conn *c);
/* When conn_refill has something to do though nothing arrives; UINT64_MAX: never. */
uint64_t conn_due(const struct conn *c);
/* Sends what may be sent now, all of it with one send if the socket takes it. 0, or -1 with
 * c->err. */
int conn_refill(struct conn *c, uint64_t now);
/* Sends what the socket did not take before. conn_pending tells whether anything is left. */
int conn_flush(struct conn *c);
bool conn_pending(const struct conn *c);
/* Takes what has arrived, at most about 256 KiB, so that the window is refilled before the server
 * runs dry. */
int conn_receive(struct conn *c, uint8_t *buf, size_t cap);

uint64_t now_ns(void);

/* answers.c: what conn does with the replies that rx finds; arg is the conn. */
extern const struct rx_events conn_events;

#endif
