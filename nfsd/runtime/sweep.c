/* SPDX-License-Identifier: BSD-2-Clause */
#include "sweep.h"

#include <stdlib.h>

#include "log.h"

#define SWEEP_SECONDS 60.
#define SWEEP_ROWS 200

struct sweep {
	struct job job; /* first */
	ev_timer timer;
	struct ev_loop *ev;
	struct pool *pool;
	struct engine *engine;
	const struct resolve *resolve;
	int busy; /* atomic: a worker has the job */
};

static void
work(struct job *j)
{
	struct sweep *s = (struct sweep *)j;
	struct export_table *t = engine_table(s->engine);

	if (t) {
		size_t n = resolve_sweep(s->resolve, t, SWEEP_ROWS);

		if (n > 0)
			log_debug("store: %zu rows of objects that are gone removed", n);
		export_table_put(t);
	}
	__atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
}

static void
on_timer(struct ev_loop *ev, ev_timer *w, int revents)
{
	struct sweep *s = w->data;

	(void)ev;
	(void)revents;
	if (__atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE))
		return; /* the last one is still at it */
	s->job.work = work;
	s->job.lane = 1;
	pool_submit(s->pool, &s->job);
}

struct sweep *
sweep_new(struct ev_loop *ev, struct pool *pool, struct engine *e, const struct resolve *r)
{
	struct sweep *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->ev = ev;
	s->pool = pool;
	s->engine = e;
	s->resolve = r;
	ev_timer_init(&s->timer, on_timer, SWEEP_SECONDS, SWEEP_SECONDS);
	s->timer.data = s;
	ev_timer_start(ev, &s->timer);
	return s;
}

void
sweep_stop(struct sweep *s)
{
	if (s)
		ev_timer_stop(s->ev, &s->timer);
}

void
sweep_free(struct sweep *s)
{
	free(s);
}
