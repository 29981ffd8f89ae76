/* SPDX-License-Identifier: BSD-2-Clause */
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct lane {
	struct job *first, **last;
	unsigned running;
	bool listed; /* stands in the round */
	struct lane *next;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct lane lanes[POOL_LANES];
	struct lane *first,
	    **last; /* the round: lanes with a waiting job that are under their share */
	unsigned nthreads, running, waiting;
	bool ending;
	pthread_t *threads;
};

/* A lane may use all workers but a quarter: some are always left for the others. */
static unsigned
share(const struct pool *p)
{
	return p->nthreads > 1 ? p->nthreads - (p->nthreads + 3) / 4 : 1;
}

/* With the lock: the lane joins the round when it has a job and room. */
static void
enlist(struct pool *p, struct lane *l)
{
	if (l->listed || !l->first || l->running >= share(p))
		return;
	l->listed = true;
	l->next = NULL;
	*p->last = l;
	p->last = &l->next;
	pthread_cond_signal(&p->more);
}

/* With the lock: the first job of the first lane in the round, or NULL. The lane goes to the end.
 */
static struct job *
next_job(struct pool *p)
{
	struct lane *l = p->first;
	struct job *j;

	if (!l)
		return NULL;
	p->first = l->next;
	if (!p->first)
		p->last = &p->first;
	l->listed = false;
	j = l->first;
	l->first = j->next;
	if (!l->first)
		l->last = &l->first;
	l->running++;
	p->waiting--;
	p->running++;
	enlist(p, l);
	return j;
}

static void *
worker(void *arg)
{
	struct pool *p = arg;
	struct job *j;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!(j = next_job(p)) && !(p->ending && p->waiting == 0))
			pthread_cond_wait(&p->more, &p->lock);
		if (!j)
			break;
		struct lane *l = &p->lanes[j->lane % POOL_LANES];

		pthread_mutex_unlock(&p->lock);
		j->work(j); /* j may be gone now */
		pthread_mutex_lock(&p->lock);
		l->running--;
		p->running--;
		enlist(p, l);
	}
	/* the last job is taken: let the others see it */
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct pool *
pool_new(unsigned workers)
{
	struct pool *p = calloc(1, sizeof *p);

	if (!p || !(p->threads = calloc(workers, sizeof *p->threads))) {
		free(p);
		errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	p->last = &p->first;
	for (unsigned i = 0; i < POOL_LANES; i++)
		p->lanes[i].last = &p->lanes[i].first;
	pthread_mutex_lock(&p->lock);
	for (; p->nthreads < workers; p->nthreads++) {
		int e = pthread_create(&p->threads[p->nthreads], NULL, worker, p);

		if (e != 0 && p->nthreads == 0) {
			pthread_mutex_unlock(&p->lock);
			pool_free(p);
			errno = e;
			return NULL;
		}
		if (e != 0)
			break; /* fewer than asked, but some */
	}
	pthread_mutex_unlock(&p->lock);
	return p;
}

void
pool_free(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->nthreads; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->lock);
	free(p->threads);
	free(p);
}

void
pool_submit(struct pool *p, struct job *j)
{
	struct lane *l = &p->lanes[j->lane % POOL_LANES];

	j->next = NULL;
	pthread_mutex_lock(&p->lock);
	*l->last = j;
	l->last = &j->next;
	p->waiting++;
	enlist(p, l);
	pthread_mutex_unlock(&p->lock);
}

void
pool_info(struct pool *p, struct pool_info *i)
{
	pthread_mutex_lock(&p->lock);
	*i = (struct pool_info){p->nthreads, p->running, p->waiting};
	pthread_mutex_unlock(&p->lock);
}
