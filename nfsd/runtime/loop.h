/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LOOP_H
#define LOOP_H
/*
 * One libev loop on one thread. A connection belongs to one loop for life and only that loop
 * touches it; other threads speak to a loop through its inbox (loop_post, loop_adopt, loop_stop),
 * one wake-up for whatever has gathered.
 */
#include "call.h"
#include "pipes.h"
#include "pool.h"
#include "task.h"
#include <ev.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct conn;

struct loop_limits {
	size_t record_max;  /* bytes of one record */
	size_t unsent_max;  /* bytes owed to one peer before its calls are no longer read */
	unsigned calls_max; /* calls of one peer in the pool */
	size_t kept_max;    /* bytes of long records of one peer in the pool */
	unsigned batch_calls, batch_bytes; /* then the replies are flushed */
	uint64_t turn_ns;		   /* then other connections get their turn */
	double stall_s;			   /* a pipe blocked that long is turned into bytes */
};
extern const struct loop_limits loop_limits;

struct arrival; /* an accepted socket on its way to its loop */
struct ask;	/* a question to the loop's thread */

struct loop {
	struct ev_loop *ev;
	pthread_t thread;
	struct engine *engine;
	struct pool *pool;
	struct pipe_stock *stock;
	unsigned index;

	/* only this loop's thread */
	struct pipes pipes;
	unsigned filling;      /* connections that receive a WRITE's data into a pipe */
	uint32_t receive_from; /* WRITEs this long, bytes; UINT32_MAX: none */
	struct call_batch batch;
	char *scratch; /* REC_SCRATCH bytes, where connections receive */
	struct task *idle;
	unsigned nidle;
	struct conn *conns;
	uint32_t next_lane;			  /* spreads connections over the pool's lanes */
	struct conn *ready, **ready_last;	  /* want a turn without an event */
	struct conn *touched;			  /* got results from the pool in this wake-up */
	uint64_t now_ns;			  /* CLOCK_MONOTONIC, at the last look */
	uint64_t lap_ns, in_calls_ns, in_send_ns; /* this iteration's time by cause */
	ev_async wake;
	ev_prepare prepare;
	ev_check check;
	ev_idle busy;
	ev_timer tick;
	bool stopping;
	ev_tstamp deadline;

	/* read by others; atomic */
	uint64_t bytes_recent; /* moved in the last second, decaying: what the acceptor balances */
	unsigned nconns;
	unsigned promised; /* sockets on their way to it */
	bool make_room;	   /* descriptors ran out: strangers are to go (loop_make_room) */

	pthread_mutex_t lock; /* the inbox */
	struct task *in_tasks, **in_last;
	struct arrival *in_conns;
	struct ask *in_asks;
	double in_stop; /* < 0: no; else stop, draining for that many seconds */
	bool in_woken;
};

/* Makes the loop and starts its thread. receive_from: WRITEs of so many bytes are received by
 * splice; UINT32_MAX: none. NULL with errno. */
struct loop *loop_new(struct engine *, struct pool *, struct pipe_stock *, unsigned index,
		      uint32_t receive_from);
/* Asks it to end: drain (finish what runs, flush, at most `seconds`) or at once. loop_join waits
 * and frees. */
void loop_stop(struct loop *, double seconds);
void loop_join(struct loop *);

/* Any thread: hands over an accepted socket (taken over). */
void loop_adopt(struct loop *, int fd, const struct sockaddr_storage *);
/* Any thread: descriptors ran out. Within a second, connections that are of no use to their peers
 * are closed. */
void loop_make_room(struct loop *);
/* Any thread: a task comes home. */
void loop_post(struct loop *, struct task *);

/* The loop's own thread: */
struct task *task_take(struct loop *);
void task_give(struct loop *, struct task *);
/* Gives back the pipe lent to a task, or the full one its reply was to send. */
void task_drop_pipe(struct loop *, struct task *);
void loop_ready(struct loop *, struct conn *); /* give it a turn in the next iteration */
uint64_t loop_clock(struct loop *);	       /* reads the clock into now_ns */

/* Any other thread: runs fn(loop, arg) on the loop's thread and waits for it. False when the loop
 * has ended. */
bool loop_ask(struct loop *, void (*fn)(struct loop *, void *), void *arg);

#endif
