/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20) /* fs.pipe-max-size: the most an ordinary process may ask for */

void
pipes_init(struct pipes *ps, unsigned max_idle)
{
	*ps = (struct pipes){.max_idle = max_idle, .min_slots = 16};
}

static void
pipe_close(struct pipe *p)
{
	close(p->r);
	close(p->w);
	free(p);
}

void
pipes_fini(struct pipes *ps)
{
	while (ps->idle) {
		struct pipe *p = ps->idle;

		ps->idle = p->next;
		pipe_close(p);
	}
	ps->nidle = 0;
}

/* The kernel may refuse the size or, over a user's soft limit, hand out a tiny pipe: believe
 * F_GETPIPE_SZ only. */
static struct pipe *
pipe_make(unsigned min_slots)
{
	struct pipe *p = calloc(1, sizeof *p);
	int fd[2];

	if (!p || pipe2(fd, O_NONBLOCK | O_CLOEXEC) < 0) {
		free(p);
		return NULL;
	}
	p->r = fd[0];
	p->w = fd[1];
	for (int size = PIPE_BYTES; size >= 65536 && fcntl(p->w, F_SETPIPE_SZ, size) < 0; size /= 2)
		;
	int size = fcntl(p->w, F_GETPIPE_SZ);
	p->slots = size > 0 ? (unsigned)size / PIPE_SLOT : 0;
	if (p->slots < min_slots) {
		pipe_close(p);
		return NULL;
	}
	return p;
}

struct pipe *
pipes_take(struct pipes *ps)
{
	struct pipe *p = ps->idle;

	if (p) {
		ps->idle = p->next;
		ps->nidle--;
	} else {
		p = pipe_make(ps->min_slots);
		if (!p)
			return NULL;
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
	if (p->bytes != 0 || ps->nidle >= ps->max_idle) {
		pipe_close(p);
		return;
	}
	p->next = ps->idle;
	ps->idle = p;
	ps->nidle++;
}
