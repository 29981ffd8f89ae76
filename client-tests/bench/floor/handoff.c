/* SPDX-License-Identifier: BSD-2-Clause */
/* One thread, one deed at a time: a condition wakes it, an eventfd wakes who waits, as in a server
 * whose loop has workers. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "floor.h"

struct handoff {
	pthread_mutex_t lock;
	pthread_cond_t work;
	void (*deed)(void *);
	void *arg;
	int done; /* eventfd */
};

static void *
worker(void *of)
{
	struct handoff *h = of;
	uint64_t one = 1;

	for (;;) {
		pthread_mutex_lock(&h->lock);
		while (!h->deed)
			pthread_cond_wait(&h->work, &h->lock);
		void (*deed)(void *) = h->deed;
		h->deed = NULL;
		pthread_mutex_unlock(&h->lock);
		deed(h->arg);
		if (write(h->done, &one, sizeof one) != sizeof one)
			abort();
	}
	return NULL;
}

struct handoff *
handoff_new(void)
{
	struct handoff *h = calloc(1, sizeof *h);
	pthread_t t;

	if (!h)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->work, NULL);
	h->done = eventfd(0, EFD_CLOEXEC);
	if (h->done >= 0 && pthread_create(&t, NULL, worker, h) == 0)
		return h;
	free(h);
	return NULL;
}

void
handoff_run(struct handoff *h, void (*deed)(void *), void *arg)
{
	uint64_t n;

	pthread_mutex_lock(&h->lock);
	h->deed = deed;
	h->arg = arg;
	pthread_cond_signal(&h->work);
	pthread_mutex_unlock(&h->lock);
	if (read(h->done, &n, sizeof n) != sizeof n)
		abort();
}
