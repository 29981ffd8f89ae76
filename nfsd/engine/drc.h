/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DRC_H
#define DRC_H
/*
 * The duplicate request cache: a client that got no reply sends its call again, on a new connection
 * as a rule, and a REMOVE must not be carried out twice because its first reply was lost (RFC 1813
 * section 4.5).
 *
 *	look   -> DRC_DONE    here is the reply of the first time, byte for byte
 *		  DRC_PARKED  the first one is running: the waiter gets its reply
 *		  DRC_DROPPED the first one is running and enough wait for it
 *		  DRC_MISS    new, as far as is known: get ready, then
 *	claim  -> 0           it is ours, the intent is written: carry it out,
 *			      then finish or abandon
 *		  EBUSY       another one was faster: look again
 *		  ENOBUFS     no room: carry it out, it is not kept
 *
 * Two calls are the same when everything in struct drc_key is. A false hit is worse than a miss, so
 * the key holds all that the caller said, the arguments as a keyed hash that nobody can steer.
 *
 * Kept calls outlive the server (drcring.h). After a restart a done one is answered as before. One
 * that had begun and not finished, nobody knows how far it came: claim gives it out again and says
 * so, and the procedure looks at what is there.
 *
 * Bounds: DRC_SLOTS calls, no memory taken after drc_open(). When slots are short, first goes what
 * is older than DRC_AGED and not its client's newest, then the oldest of the client that keeps the
 * most: a busy client pushes out its own. A client's newest goes only when no client keeps more
 * than one.
 */
#include "drcring.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define DRC_SLOTS 4096
#define DRC_SHARDS 4 /* a client's calls are in one: it keeps at most DRC_SLOTS / DRC_SHARDS */
#define DRC_HASHED 4096
#define DRC_WAITERS 4  /* repeats that wait for one running call */
#define DRC_AGED 600   /* seconds */
#define DRC_LIFE 86400 /* seconds of this server's life after which a call is not recognised */

struct drc;
struct rpc_call;

/* Who waits for a running call; the caller's memory. */
struct drc_waiter {
	/*
	 * Called once, in the thread that ended the running call, with its reply and whether that
	 * is a failure; or with reply NULL: it was not carried out, look again. The waiter is the
	 * callee's from here on.
	 */
	void (*wake)(struct drc_waiter *, const void *reply, size_t len, bool failed);
	struct drc_waiter *next;
};

/* A call that is ours to carry out. */
struct drc_claim {
	struct drc_node *node;
	bool after_crash;   /* it had begun before, and how that ended is not known */
	uint64_t intent_ns; /* when it began first: CLOCK_REALTIME_COARSE, which file systems stamp
			       new objects with */
};

struct drc_info {
	unsigned kept, running, clients;
	unsigned recovered;  /* found at start: with a reply... */
	unsigned unfinished; /* ...and without */
	bool lasting;	     /* survives this process */
};

/* For tests; NULL, and 0 in a field, mean what stands above. */
struct drc_opts {
	unsigned slots, shards;	   /* powers of 2 */
	uint64_t (*seconds)(void); /* the clock */
};

/*
 * Opens STATEDIR/drc.ring, or plain memory (statedir NULL, or the file cannot be: msg says why and
 * what follows; "" when all is well). NULL when there is no memory, msg says so.
 */
struct drc *drc_open(const char *statedir, const struct drc_opts *, char *msg, size_t size);
/* No claim may be open. */
void drc_close(struct drc *);
void drc_info(struct drc *, struct drc_info *);

/* The key of a decoded call from a peer's address: n bytes of arguments follow its header. */
void drc_key_make(const struct drc *, struct drc_key *, const struct sockaddr_storage *peer,
		  bool datagram, const struct rpc_call *, const void *args, size_t n);

enum drc_seen { DRC_MISS, DRC_DONE, DRC_PARKED, DRC_DROPPED };
/*
 * DRC_DONE: the reply is in buf (RING_REPLY bytes), *len, *failed. DRC_PARKED: the waiter is no
 * longer the caller's, and may have been woken already. Waiter NULL: it cannot wait.
 */
enum drc_seen drc_look(struct drc *, const struct drc_key *, void *buf, size_t *len, bool *failed,
		       struct drc_waiter *);
/* 0, EBUSY or ENOBUFS: see above. After 0 exactly one of the two below, by any thread. */
int drc_claim(struct drc *, const struct drc_key *, struct drc_claim *);
/* It was carried out: keep its reply. One longer than RING_REPLY is given to who waits and not
 * kept; later repeats are claimed with after_crash. */
void drc_finish(struct drc *, const struct drc_claim *, const void *reply, size_t len, bool failed);
/* Nothing has happened: as if it had not been claimed. */
void drc_abandon(struct drc *, const struct drc_claim *);

#endif
