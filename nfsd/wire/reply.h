/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPLY_H
#define REPLY_H
/*
 * A reply is three segments: head (bytes), body (bytes, a file span, or a full pipe), pad (0-3
 *zeros). struct sender is one connection's ordered output and the one loop that sends it.
 *
 *	sender_queue()   replies wait in order, file spans as promises not yet made
 *	sender_flush()   bytes-only runs: one sendmsg for all of them
 *	                 runs with spans: heads written into a pipe, pages spliced after them, the
 *pipes spliced to the socket
 *
 * Nothing of an assembled batch is on the wire until the pipes hold all of its pages, so a file
 *that shrank costs a rebuilt reply, not a broken stream. What is in a pipe is the sender's; the
 *reply it came from is finished.
 */
#include "pipes.h"
#include "wire.h"
#include <stdbool.h>
#include <stddef.h>

/* Why a reply left the queue through redo. */
enum redo_why {
	REDO_NOPIPE,  /* no pipe could be had */
	REDO_SHORT,   /* the file was cut */
	REDO_REFUSED, /* the file does not splice */
};

struct reply {
	struct reply *next;
	const char *head;
	size_t headlen;
	payload body;		/* base, or (fd, off), or len bytes waiting in full_pipe */
	struct pipe *full_pipe; /* filled by a worker; taken over by the sender */
	const char *tail;	/* the last bytes of the body, which full_pipe had no slot for */
	size_t taillen;
	unsigned pad;
	enum redo_why why; /* valid in redo */
};

struct replies { /* a list that remembers its end */
	struct reply *first, **last;
};
void replies_init(struct replies *);
void replies_add(struct replies *, struct reply *);
struct reply *replies_take(struct replies *); /* NULL: empty */

struct sender {
	struct replies
	    wait; /* not begun, but for `sent` bytes of the first, which is then bytes-only */
	size_t sent;
	struct pipe *flight; /* assembled pipes in order, being spliced out */
	char *stash;	     /* bytes drained from pipes behind a stalled peer; go before flight */
	size_t stash_len, stash_sent;
	size_t unsent; /* bytes owed: queued, in flight, stashed */
	size_t queued; /* replies waiting */
	bool corked;   /* the last piece went with MORE and nothing has followed yet */
	size_t gulp;   /* bytes the next batch may assemble: small after the socket was full, so a
			  stalled peer pins little */
};

/* What one flush may use and how much it may send before it returns to be fair. */
struct send_ctx {
	struct pipes *pipes;
	size_t quantum;	      /* bytes per flush */
	unsigned max_pipes;   /* pipes per batch */
	struct replies *done; /* finished replies: the caller resets and reuses them */
	struct replies
	    *redo;	  /* replies whose span could not be had: run them again without
			     splicing. They left the queue; nothing of     them is on the wire */
	size_t redo_room; /* bytes that may go to redo for want of pipes: they will be copies */
	bool awaiting;	  /* replies are to come from workers: then we may wait for them */
	bool plain;	  /* pipes have run out: bytes do not ride in them */
	uint64_t spliced, copied; /* body bytes by way, added up for the counters */
};

enum send_result {
	SEND_IDLE,    /* everything is with the kernel */
	SEND_BLOCKED, /* the socket is full: wait until it is writable */
	SEND_AGAIN,   /* quantum used up: come again soon */
	SEND_STARVED, /* no pipes, and copies enough are on their way: come again with the next */
	SEND_BROKEN   /* the peer is gone (errno says why), or a promise could not be kept: close */
};

void sender_init(struct sender *);
/* Releases pipes and stash; waiting replies are moved to left. */
void sender_fini(struct sender *, struct pipes *, struct replies *left);
void sender_queue(struct sender *, struct reply *);
enum send_result sender_flush(struct sender *, int sock, struct send_ctx *);
/* Turns pipes in flight into stashed bytes and gives them back to the pool; the bytes moved (0:
 * none), or -1: no memory, nothing changed. -2: the pipe lost bytes, which must not happen: close
 * the connection. */
long sender_unpin(struct sender *, struct pipes *);
static inline size_t
reply_len(const struct reply *r)
{
	return r->headlen + r->body.len + r->pad;
}

#endif
