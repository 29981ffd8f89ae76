/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One table of questions under one lock. A question is born when it is first asked and goes to the
 * end of a queue; threads take from its head, ask without the lock, and write the answer back. So
 * there is at most one look-up of a kind under way, however many callers wait for it. Whoever has
 * nothing to do wakes up when the next one is due.
 */
#include "resolver_int.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAITING_MAX 4 /* more workers than these would be missed elsewhere */

const struct resolver_times resolver_times_default = {
    .soon = 2000, .again = 2000, .again_most = 300000, .fresh = 1800000, .threads = 8};

static struct timespec
to_timespec(int64_t ms)
{
	return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

/* ---- threads ---- */

static void
drop(struct resolver *r)
{
	bool last = --r->users == 0;

	pthread_mutex_unlock(&r->lock);
	if (!last)
		return;
	questions_free(r);
	pthread_cond_destroy(&r->work);
	pthread_cond_destroy(&r->answered);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void *helper(void *arg);

static int
start(struct resolver *r)
{
	pthread_attr_t attr;
	pthread_t t;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r->threads++;
	r->users++;
	error = pthread_create(&t, &attr, helper, r);
	if (error) {
		r->threads--;
		r->users--;
	}
	pthread_attr_destroy(&attr);
	return error;
}

static void
answer_one(struct resolver *r)
{
	struct question *q = question_next(r);
	struct result res;
	bool differs;

	/* while this thread is away somebody must be there for what comes next; not for the asker
	 * to start, who may have capabilities that nobody here needs */
	if (!r->idle && r->threads < r->times.threads)
		start(r);
	pthread_mutex_unlock(&r->lock);
	question_ask(r, q, &res);
	pthread_mutex_lock(&r->lock);
	differs = question_take(r, q, &res);
	/* under the lock, so that it is over when resolver_free() has returned */
	if (differs && !r->stop && r->ops.changed)
		r->ops.changed(r->ops.arg);
}

static void *
helper(void *arg)
{
	struct resolver *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->stop) {
		if (!r->queued) {
			struct timespec until = to_timespec(questions_due(r));

			if (r->queued)
				continue;
			r->idle++;
			pthread_cond_timedwait(&r->work, &r->lock, &until);
			r->idle--;
			continue;
		}
		answer_one(r);
	}
	r->threads--;
	drop(r);
	return NULL;
}

struct resolver *
resolver_new(const struct resolver_ops *ops, const struct resolver_times *times)
{
	struct resolver *r = calloc(1, sizeof *r);
	pthread_condattr_t mono;
	int error;

	if (!r)
		return NULL;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, &mono);
	pthread_cond_init(&r->answered, &mono);
	pthread_condattr_destroy(&mono);
	crypto_shorthash_keygen(r->key);
	r->ops = *ops;
	r->times = *times;
	r->first.tail = &r->first.head;
	r->again.tail = &r->again.head;
	r->users = 1;
	pthread_mutex_lock(&r->lock);
	error = start(r);
	if (!error) {
		pthread_mutex_unlock(&r->lock);
		return r;
	}
	drop(r);
	errno = error;
	return NULL;
}

void
resolver_free(struct resolver *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_broadcast(&r->work);
	pthread_cond_broadcast(&r->answered);
	drop(r);
}

/* ---- questions ---- */

static const struct in6_addr no_addr;

enum answer
resolver_host(struct resolver *r, const char *name, const struct in6_addr *a)
{
	struct question *q;
	enum answer yes;

	pthread_mutex_lock(&r->lock);
	q = question_find(r, HOST, name, &no_addr, 0);
	yes = question_answer(r, q);
	if (yes == ANSWER_YES) {
		yes = ANSWER_NO;
		for (unsigned i = 0; i < q->u.addrs.n; i++)
			if (memcmp(&q->u.addrs.v[i], a, sizeof *a) == 0)
				yes = ANSWER_YES;
	}
	pthread_mutex_unlock(&r->lock);
	return yes;
}

bool
resolver_addresses(struct resolver *r, const char *name, struct resolver_addrs *out)
{
	struct question *q;
	bool known;

	pthread_mutex_lock(&r->lock);
	q = question_find(r, HOST, name, &no_addr, 0);
	known = question_answer(r, q) == ANSWER_YES;
	if (known)
		*out = q->u.addrs;
	pthread_mutex_unlock(&r->lock);
	return known;
}

enum answer
resolver_peer(struct resolver *r, const struct in6_addr *a, struct resolver_names *names)
{
	struct question *q;
	enum answer yes;

	pthread_mutex_lock(&r->lock);
	q = question_find(r, PEER, "", a, 0);
	yes = question_answer(r, q);
	if (yes == ANSWER_YES)
		*names = *q->u.names;
	pthread_mutex_unlock(&r->lock);
	return yes;
}

enum answer
resolver_netgroup(struct resolver *r, const char *group, const struct in6_addr *a)
{
	enum answer yes;

	pthread_mutex_lock(&r->lock);
	yes = question_answer(r, question_find(r, NETGROUP, group, a, 0));
	pthread_mutex_unlock(&r->lock);
	return yes;
}

enum answer
resolver_user(struct resolver *r, uid_t uid, struct cred_groups **gids)
{
	struct question *q;
	enum answer yes;

	pthread_mutex_lock(&r->lock);
	q = question_find(r, USER, "", &no_addr, uid);
	yes = question_answer(r, q);
	if (yes == ANSWER_YES)
		*gids = cred_groups_ref(q->u.gids);
	pthread_mutex_unlock(&r->lock);
	return yes;
}

void
resolver_wait(struct resolver *r, unsigned milliseconds)
{
	struct timespec until = to_timespec(resolver_ms() + milliseconds);

	pthread_mutex_lock(&r->lock);
	if (!r->stop && r->waiting < WAITING_MAX) {
		r->waiting++;
		pthread_cond_timedwait(&r->answered, &r->lock, &until);
		r->waiting--;
	}
	pthread_mutex_unlock(&r->lock);
}

void
resolver_refresh(struct resolver *r)
{
	pthread_mutex_lock(&r->lock);
	questions_again(r);
	pthread_mutex_unlock(&r->lock);
}
