/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TASK_H
#define TASK_H
/*
 * A call on its way: the engine's call, the sender's reply, the pool's job, in one block that its
 * loop recycles. It belongs to its loop, is lent to a worker while it sleeps, and comes back by
 * loop_post().
 */
#include "call.h"
#include "pipes.h"
#include "pool.h"
#include "rec.h"
#include "reply.h"

struct conn;
struct loop;

struct task {
	struct job job; /* first: a job is its task */
	struct reply reply;
	struct task *next; /* free list, inbox */
	struct loop *home;
	struct conn *conn;
	struct pipe *pipe;  /* lent to a worker for a READ */
	struct pipe *data;  /* with the data of a WRITE */
	size_t expected;    /* bytes the reply may hold, while with a worker */
	size_t copying;	    /* ...of which these are not to come in a pipe */
	size_t kept;	    /* bytes of the record's own buffer or pipe, while with a worker */
	struct rec_msg msg; /* the record, when it has a buffer of its own */
	enum call_verdict verdict;
	struct call call;
};

#define TASK_OF_CALL(c) ((struct task *)((char *)(c)-offsetof(struct task, call)))
#define TASK_OF_REPLY(r) ((struct task *)((char *)(r)-offsetof(struct task, reply)))

#endif
