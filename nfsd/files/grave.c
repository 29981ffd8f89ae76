/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where objects end. Whoever puts the last reference buries the object here, and the cache's own
 * thread closes its descriptors: the last close of a removed file frees its blocks and may take
 * seconds, which a loop has not got.
 *
 * Before a descriptor through which was written closes, it is asked for what may have gone wrong.
 *
 * That thread also syncs what clients wrote and never committed, closes descriptors for writing
 * that nobody uses, and looks, every few seconds, at the objects of local file systems for those
 * that have lost their last name: as long as a descriptor is open their space is not free.
 *
 * Honest limit: on file systems that are not local a close may hang in the file system's server,
 * and then everything buried after it waits.
 */
#include "cache.h"
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SWEEP_SECONDS 5
#define SWEEP_GROUP 64
#define SETTLE_SECONDS 30 /* about when the kernel writes back by itself */
#define BEHIND 128	  /* objects waiting for the thread, before others help */

static void
destroy(struct files *f, struct obj *o)
{
	if (o->wfd >= 0)
		sync_last(f->sync, o, o->wfd);
	if (o->rfd >= 0)
		close(o->rfd);
	close(o->fd);
	export_put(o->ex);
	pthread_rwlock_destroy(&o->change);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

static void
destroy_list(struct files *f, struct obj *o)
{
	while (o) {
		struct obj *next = o->hnext;

		destroy(f, o);
		o = next;
	}
}

static struct obj *
take_dead(struct files *f)
{
	pthread_mutex_lock(&f->dead_lock);
	struct obj *list = f->dead;
	f->dead = NULL;
	__atomic_store_n(&f->dead_count, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&f->dead_lock);
	return list;
}

void
grave_put(struct files *f, struct obj *o)
{
	pthread_mutex_lock(&f->dead_lock);
	bool first = !f->dead;
	o->hnext = f->dead;
	f->dead = o;
	__atomic_add_fetch(&f->dead_count, 1, __ATOMIC_RELAXED);
	if (first)
		pthread_cond_signal(&f->dead_more);
	pthread_mutex_unlock(&f->dead_lock);
}

void
grave_close(struct files *f)
{
	destroy_list(f, take_dead(f));
}

void
files_keep_up(struct files *f)
{
	if (__atomic_load_n(&f->dead_count, __ATOMIC_RELAXED) > BEHIND)
		grave_close(f);
}

static bool
lost_its_name(const struct obj *o)
{
	struct stat st;

	return fstat(o->fd, &st) == 0 && st.st_nlink == 0;
}

/* Up to SWEEP_GROUP objects of local file systems from bucket *b on, referenced; moves *b on. */
static size_t
gather(struct shard *s, size_t *b, struct obj **v)
{
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t seen = 0; *b <= s->mask && n < SWEEP_GROUP / 2 && seen < 1024; ++*b, seen++)
		for (struct obj *o = s->bucket[*b]; o && n < SWEEP_GROUP; o = o->hnext)
			if (o->ex->fs.local)
				v[n++] = obj_ref(o);
	pthread_mutex_unlock(&s->lock);
	return n;
}

void
files_sweep(struct files *f)
{
	struct obj *v[SWEEP_GROUP];

	for (size_t i = 0; i < SHARDS; i++)
		for (size_t b = 0; b <= f->shard[i].mask;) {
			size_t n = gather(&f->shard[i], &b, v);

			for (size_t j = 0; j < n; j++) {
				if (lost_its_name(v[j]))
					obj_forget(f, v[j]);
				obj_put(f, v[j]);
			}
		}
}

/* Takes the descriptor for writing from an object that nobody uses; -1: it must stay. The shard's
 * lock is held: nobody can begin to use it. */
static int
take_writer(struct obj *o)
{
	int fd = __atomic_load_n(&o->wfd, __ATOMIC_ACQUIRE); /* somebody may be opening it */

	if (fd < 0 || __atomic_load_n(&o->refs, __ATOMIC_ACQUIRE) > 1 || sync_is_pinned(o))
		return -1;
	__atomic_store_n(&o->wfd, -1, __ATOMIC_RELEASE);
	return fd;
}

/* One bucket: closes what can be closed; an object that must be synced first is returned,
 * referenced. */
static struct obj *
settle_bucket(struct files *f, struct shard *s, size_t b, int64_t before)
{
	struct obj *pinned = NULL;
	int fd[SWEEP_GROUP];
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (struct obj *o = s->bucket[b]; o && n < SWEEP_GROUP; o = o->hnext) {
		if (sync_is_pinned(o) && sync_since(o) <= before && !pinned)
			pinned = obj_ref(o);
		else if ((fd[n] = take_writer(o)) >= 0)
			n++;
	}
	pthread_mutex_unlock(&s->lock);
	while (n)
		sync_close(f->sync, fd[--n]);
	return pinned;
}

void
files_settle(struct files *f, int min_age)
{
	int64_t before = sync_clock() - min_age;

	for (size_t i = 0; i < SHARDS; i++)
		for (size_t b = 0; b <= f->shard[i].mask; b++) {
			struct obj *o;

			if (!__atomic_load_n(
				&f->shard[i].bucket[b],
				__ATOMIC_RELAXED)) /* a glance, without the lock: next time */
				continue;
			int error = 0;
			while (!error && (o = settle_bucket(f, &f->shard[i], b, before))) {
				int fd = __atomic_load_n(&o->wfd, __ATOMIC_ACQUIRE);

				error = sync_flush(f->sync, o, fd, true);
				obj_put(f, o);
			}
		}
}

static struct timespec
after(int seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += seconds;
	return t;
}

static void *
undertake(void *arg)
{
	struct files *f = arg;
	struct timespec next = after(SWEEP_SECONDS);
	bool stop = false;

	while (!stop) {
		int late = 0;

		pthread_mutex_lock(&f->dead_lock);
		while (!f->dead && !f->stop && late == 0)
			late = pthread_cond_timedwait(&f->dead_more, &f->dead_lock, &next);
		stop = f->stop;
		pthread_mutex_unlock(&f->dead_lock);
		grave_close(f);
		struct timespec now = after(0);
		if (!stop && now.tv_sec >= next.tv_sec) {
			files_settle(f, SETTLE_SECONDS);
			files_sweep(f);
			next = after(SWEEP_SECONDS);
		}
	}
	return NULL;
}

/* Its signals are the other threads' business. */
int
grave_begin(struct files *f)
{
	pthread_condattr_t monotonic;
	sigset_t all, before;

	pthread_mutex_init(&f->dead_lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&f->dead_more, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&f->undertaker, NULL, undertake, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	f->running = error == 0;
	return error;
}

void
grave_end(struct files *f)
{
	if (!f->running)
		return;
	pthread_mutex_lock(&f->dead_lock);
	f->stop = true;
	pthread_cond_signal(&f->dead_more);
	pthread_mutex_unlock(&f->dead_lock);
	pthread_join(f->undertaker, NULL);
	destroy_list(f, take_dead(f));
}
