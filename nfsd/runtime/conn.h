/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONN_H
#define CONN_H
/*
 * One TCP connection: bytes in, records to the engine, replies out. Lives on one loop.
 */
#include "loop.h"
#include "rec.h"
#include "reply.h"
#include <ev.h>
#include <stdbool.h>

struct conn {
	ev_io rd, wr;
	struct loop *loop;
	struct conn *prev, *next; /* the loop's list */
	struct conn *ready_next, *touched_next;
	int fd;
	struct peer peer;
	struct rec rec;
	struct task *filling; /* its WRITE's data is being received into a pipe */
	unsigned unfit;	      /* so many more long records are not tried that way */
	char *held;	      /* received bytes whose turn has not come */
	size_t held_cap;
	struct sender out;
	unsigned in_pool; /* its tasks with workers */
	size_t expected;  /* bytes their replies may hold... */
	size_t copies;	  /* ...in memory, not as pages in a pipe, and bytes of replies that do */
	size_t kept;	  /* bytes of their records in buffers and pipes of their own */
	uint32_t lane;
	bool closed;  /* socket gone; waits for in_pool */
	bool eof;     /* peer sends no more; close when all is answered */
	bool paused;  /* back-pressure: not reading */
	bool starved; /* no pipes: what is copied already goes first */
	bool in_ready, in_touched;
	bool deep;		 /* keeps many calls in flight, by its last batch */
	ev_tstamp blocked_since; /* 0: the socket takes what we have */
	ev_tstamp born, heard;	 /* accepted; last byte received */
	uint64_t bytes_in, bytes_out, calls;
};

/* Takes over the socket. False (socket closed) when memory is gone. */
bool conn_new(struct loop *, int fd, const struct sockaddr_storage *);
void conn_close(struct conn *,
		const char *why); /* why: for the debug log; frees now or when its tasks are home */
/* A turn without an event: held bytes, unsent replies. */
void conn_turn(struct conn *);
/* A task of this connection came home from the pool; conn_touched() flushes after the last of a
 * wake-up. */
void conn_result(struct conn *, struct task *);
void conn_touched(struct conn *);
/* A pipe that a worker had and did not hand back full: closes it to reuse if bytes are in it. NULL
 * is ignored. */
void conn_distrust(struct pipe *);
/* Once a second: stalled pipes, pauses that may end, strangers that stay too long or, when
 * descriptors are short (make_room), at all. */
void conn_tick(struct conn *, bool make_room);
/* The server stops: read no more; close when everything is answered. */
void conn_drain(struct conn *);

#endif
