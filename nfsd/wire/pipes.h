/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PIPES_H
#define PIPES_H
/*
 * Pipes to assemble replies in. A pipe holds slots, not bytes: each file page touched, each write
 * of up to a page, takes one (pipe(7)). A pipe is kept only when it is drained, else it is closed:
 * bytes left in it would reach another client.
 *
 * There are two sizes. Large ones are what fs.pipe-max-size gives everybody, 256 slots; small ones
 * are what pipe2(2) gives, 16. The slots that all pipes of a user have are bounded
 * (fs.pipe-user-pages-soft, 64 large pipes by default); over it the kernel hands out pipes of two
 * slots, worth nothing. So all pipes of the server are counted in one stock: large ones for three
 * quarters of what it may have, then small ones, then none, and replies are copied.
 *
 *	struct pipe_stock	the server's: the account, and idle pipes for whoever needs one
 *	struct pipes		a loop's own, without a lock: a few idle ones, else the stock's
 *	pipe_stock_take()	a worker's: the pipe comes back through the loop that sends it
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define PIPE_SLOT 4096
#define PIPE_LARGE 256 /* slots */
#define PIPE_SMALL 16

struct pipe {
	int r, w;	/* both O_NONBLOCK */
	unsigned slots; /* capacity as the kernel gave it */
	unsigned used;	/* slots taken, an upper bound until drained */
	size_t bytes;	/* in it now */
	struct pipe *next;
};

/*
 * Where a process may do what its user may not: makes the calling thread able to exceed the limits
 * on pipes, or unable again. False: it cannot.
 */
typedef bool pipe_privilege(bool on);

struct pipe_stock {
	pthread_mutex_t lock; /* all that follows */
	struct pipe *idle[2]; /* small, large */
	unsigned nidle[2];
	unsigned npipes[2];	   /* that exist, idle or not */
	unsigned long slots;	   /* of them */
	unsigned long limit;	   /* ...may come to that */
	pipe_privilege *privilege; /* NULL: none */
};

/*
 * may: what the user's limit is overcome with, or NULL; tried here, on this thread. Without it the
 * limit is three quarters of fs.pipe-user-pages-soft, since other processes of the user have pipes,
 * too.
 */
void pipe_stock_init(struct pipe_stock *, pipe_privilege *may);
/* The same with a limit (slots) of the caller's choice and no privilege. */
void pipe_stock_init_limit(struct pipe_stock *, unsigned long limit);
void pipe_stock_fini(struct pipe_stock *);
/* Any thread: a drained pipe of at least so many slots (at most PIPE_LARGE), or NULL: then copy. */
struct pipe *pipe_stock_take(struct pipe_stock *, unsigned slots);

/* Any thread: makes a pipe, whatever is in it, one of so many slots. False: it has them already, or
 * the account or the kernel does not allow it. */
bool pipe_stock_grow(struct pipe_stock *, struct pipe *, unsigned slots);

struct pipe_info {
	unsigned small, large;
	unsigned long slots, limit;
	bool privileged;
};
void pipe_stock_info(struct pipe_stock *, struct pipe_info *);

struct pipes {
	struct pipe_stock *stock;
	struct pipe *idle; /* large ones before small ones */
	unsigned nidle, nout;
	unsigned max_idle;
};

void pipes_init(struct pipes *, struct pipe_stock *, unsigned max_idle);
void pipes_fini(struct pipes *);
/* A drained pipe, or NULL (out of descriptors or of pipe memory): then copy. */
struct pipe *pipes_take(struct pipes *);
/* Returns a pipe, of this pool or from pipe_stock_take() (then after pipes_adopt); closes it if
 * bytes are left in it. NULL is ignored. */
void pipes_give(struct pipes *, struct pipe *);
/* A pipe that a worker took is this loop's from here on. */
static inline void
pipes_adopt(struct pipes *ps)
{
	ps->nout++;
}

/* Slots that len bytes at offset off of a file take. */
static inline unsigned
pipe_slots(unsigned long long off, size_t len)
{
	return (unsigned)((off % PIPE_SLOT + len + PIPE_SLOT - 1) / PIPE_SLOT);
}
static inline unsigned
pipe_free(const struct pipe *p)
{
	return p->slots - p->used;
}

#endif
