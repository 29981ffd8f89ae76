/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The account is kept by what the kernel says that a pipe has (F_GETPIPE_SZ), never by what was
 * asked for. Other processes of the same user may have used up the limit that we reckon with: then
 * the kernel gives less than we thought, and less than PIPE_SMALL is given back at once.
 *
 * A privileged server (CAP_SYS_RESOURCE in the initial user namespace) is not bound by the user's
 * limit; its own bound is PRIVILEGED_SLOTS, so that slow clients cannot use up its descriptors. The
 * capability sleeps and is raised only while a pipe is made, which is rare.
 */
#include "pipes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stat.h"

#define PRIVILEGED_SLOTS (1024ul * PIPE_LARGE)
#define DEFAULT_SOFT 16384ul /* the kernel's, where /proc does not say */
#define STOCK_IDLE 16	     /* of each size */

static bool
is_large(const struct pipe *p)
{
	return p->slots > PIPE_SMALL;
}

/* ---- limits ---- */

/* A number of the kernel's. */
static unsigned long
setting(const char *path, unsigned long otherwise)
{
	FILE *f = fopen(path, "re");
	unsigned long n;
	bool good = f && fscanf(f, "%lu", &n) == 1;

	if (f)
		fclose(f);
	return good ? n : otherwise;
}

/* Does the privilege work? It gives more than fs.pipe-max-size, which is refused without. */
static bool
works(pipe_privilege *may)
{
	unsigned long most = setting("/proc/sys/fs/pipe-max-size", 0);
	int fd[2], got = -1, more = most <= 1 << 29 ? (int)(2 * most) : 0;

	if (more == 0 || pipe2(fd, O_CLOEXEC) < 0)
		return false;
	if (may(true)) {
		got = fcntl(fd[1], F_SETPIPE_SZ, more);
		may(false);
	}
	close(fd[0]);
	close(fd[1]);
	return got >= more;
}

void
pipe_stock_init_limit(struct pipe_stock *s, unsigned long limit)
{
	*s = (struct pipe_stock){.limit = limit};
	pthread_mutex_init(&s->lock, NULL);
}

void
pipe_stock_init(struct pipe_stock *s, pipe_privilege *may)
{
	unsigned long soft = setting("/proc/sys/fs/pipe-user-pages-soft", DEFAULT_SOFT);
	bool free_of_it = may && works(may);

	/* 0: no limit */
	pipe_stock_init_limit(s, free_of_it || soft == 0 ? PRIVILEGED_SLOTS : soft / 4 * 3);
	if (free_of_it)
		s->privilege = may;
}

/* ---- making and closing ---- */

/* Of so many slots, or what else the kernel gives. NULL: nothing of use. */
static struct pipe *
pipe_make(unsigned slots, pipe_privilege *may)
{
	struct pipe *p = calloc(1, sizeof *p);
	bool raised = p && may && may(true);
	int fd[2], size = -1;

	if (p && pipe2(fd, O_NONBLOCK | O_CLOEXEC) == 0) {
		p->r = fd[0];
		p->w = fd[1];
		for (unsigned n = slots; n > PIPE_SMALL; n /= 2)
			if (fcntl(p->w, F_SETPIPE_SZ, n * PIPE_SLOT) >= 0)
				break;
		size = fcntl(p->w, F_GETPIPE_SZ);
		p->slots = size > 0 ? (unsigned)size / PIPE_SLOT : 0;
		if (p->slots < PIPE_SMALL) {
			close(p->r);
			close(p->w);
			size = -1;
		}
	}
	if (raised)
		may(false);
	if (size > 0)
		return p;
	free(p);
	return NULL;
}

static void
pipe_close(struct pipe_stock *s, struct pipe *p)
{
	close(p->r);
	close(p->w);
	pthread_mutex_lock(&s->lock);
	s->slots -= p->slots;
	s->npipes[is_large(p)]--;
	pthread_mutex_unlock(&s->lock);
	free(p);
}

/* With the lock: reserves a pipe of that size in the account. Large ones stop at three quarters of
 * it. */
static bool
reserve(struct pipe_stock *s, bool large)
{
	unsigned slots = large ? PIPE_LARGE : PIPE_SMALL;

	if (s->slots + slots > (large ? s->limit / 4 * 3 : s->limit))
		return false;
	s->slots += slots;
	return true;
}

static struct pipe *
stock_make(struct pipe_stock *s, bool large)
{
	unsigned slots = large ? PIPE_LARGE : PIPE_SMALL;
	struct pipe *p = pipe_make(slots, s->privilege);

	pthread_mutex_lock(&s->lock);
	s->slots -= slots;
	if (p) {
		s->slots += p->slots;
		s->npipes[is_large(p)]++;
	}
	pthread_mutex_unlock(&s->lock);
	if (p && large != is_large(p))
		stat_inc(ST_PIPES_SMALLER);
	return p;
}

/* With the lock. */
static struct pipe *
stock_idle(struct pipe_stock *s, bool large)
{
	struct pipe *p = s->idle[large];

	if (p) {
		s->idle[large] = p->next;
		s->nidle[large]--;
		p->next = NULL;
	}
	return p;
}

static struct pipe *
stock_get(struct pipe_stock *s, bool large)
{
	pthread_mutex_lock(&s->lock);
	struct pipe *p = stock_idle(s, large);
	bool reserved = !p && reserve(s, large);

	pthread_mutex_unlock(&s->lock);
	return reserved ? stock_make(s, large) : p;
}

struct pipe *
pipe_stock_take(struct pipe_stock *s, unsigned slots)
{
	struct pipe *p = stock_get(s, slots > PIPE_SMALL);

	if (!p && slots <= PIPE_SMALL)
		p = stock_get(s, true);
	if (p && p->slots < slots) {
		pipe_close(s, p);
		p = NULL;
	}
	if (!p)
		stat_inc(ST_PIPES_REFUSED);
	return p;
}

bool
pipe_stock_grow(struct pipe_stock *s, struct pipe *p, unsigned slots)
{
	unsigned had = p->slots;

	if (had >= slots)
		return false;
	pthread_mutex_lock(&s->lock);
	bool fits = s->slots + slots - had <= s->limit / 4 * 3;
	if (fits)
		s->slots += slots - had;
	pthread_mutex_unlock(&s->lock);
	if (!fits)
		return false;
	bool raised = s->privilege && s->privilege(true);
	int size = fcntl(p->w, F_SETPIPE_SZ, slots * PIPE_SLOT);
	if (raised)
		s->privilege(false);
	p->slots = size > 0 ? (unsigned)size / PIPE_SLOT : had;
	pthread_mutex_lock(&s->lock);
	s->slots -= slots;
	s->slots += p->slots;
	pthread_mutex_unlock(&s->lock);
	return p->slots >= slots;
}

/* Drained ones that a loop has no use for. */
static void
stock_give(struct pipe_stock *s, struct pipe *p)
{
	bool large = is_large(p), kept = false;

	pthread_mutex_lock(&s->lock);
	if (s->nidle[large] < STOCK_IDLE) {
		p->next = s->idle[large];
		s->idle[large] = p;
		s->nidle[large]++;
		kept = true;
	}
	pthread_mutex_unlock(&s->lock);
	if (!kept)
		pipe_close(s, p);
}

void
pipe_stock_fini(struct pipe_stock *s)
{
	for (int large = 0; large < 2; large++) {
		struct pipe *p;

		while ((p = stock_idle(s, large)))
			pipe_close(s, p);
	}
	pthread_mutex_destroy(&s->lock);
}

void
pipe_stock_info(struct pipe_stock *s, struct pipe_info *i)
{
	pthread_mutex_lock(&s->lock);
	*i = (struct pipe_info){.small = s->npipes[0],
				.large = s->npipes[1],
				.slots = s->slots,
				.limit = s->limit,
				.privileged = s->privilege != NULL};
	pthread_mutex_unlock(&s->lock);
}

/* ---- a loop's own ---- */

void
pipes_init(struct pipes *ps, struct pipe_stock *stock, unsigned max_idle)
{
	*ps = (struct pipes){.stock = stock, .max_idle = max_idle};
}

void
pipes_fini(struct pipes *ps)
{
	while (ps->idle) {
		struct pipe *p = ps->idle;

		ps->idle = p->next;
		stock_give(ps->stock, p);
	}
	ps->nidle = 0;
}

struct pipe *
pipes_take(struct pipes *ps)
{
	struct pipe *p = ps->idle;

	if (p) {
		ps->idle = p->next;
		ps->nidle--;
	} else {
		p = stock_get(ps->stock, true);
		if (!p) {
			stat_inc(ST_PIPES_SMALLER);
			p = stock_get(ps->stock, false);
		}
		if (!p) {
			stat_inc(ST_PIPES_REFUSED);
			return NULL;
		}
	}
	p->next = NULL;
	p->used = 0;
	p->bytes = 0;
	ps->nout++;
	return p;
}

void
pipes_give(struct pipes *ps, struct pipe *p)
{
	if (!p)
		return;
	ps->nout--;
	if (p->bytes != 0) {
		pipe_close(ps->stock, p);
		return;
	}
	if (ps->nidle >= ps->max_idle || !is_large(p)) {
		stock_give(ps->stock, p);
		return;
	}
	p->next = ps->idle;
	ps->idle = p;
	ps->nidle++;
}
