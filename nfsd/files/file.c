/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cache of open objects.
 *
 * A get is: pick a shard by the handle's check value (a keyed hash already), one short mutex, one
 * hash chain, one atomic increment. A miss opens outside the lock and then links; who comes second
 * with the same handle throws his own away, so that an object exists once.
 *
 * References: the cache holds one while the object is linked, every user one more. Only the shard's
 * lock can raise a count from 1, so an object with one reference may be unlinked under it. When the
 * last reference goes the object is buried (grave.c).
 *
 * Honest limit: the cap is soft. What is in use or pinned is never evicted, and a search for a
 * victim looks at a bounded number of objects.
 */
#include "cache.h"
#include "log.h"
#include "names.h"
#include "stat.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_DEFAULT 131072
#define NAME_SLOTS 262144 /* a directory of 100,000 names twice over; memory is touched as used */
#define CLOCK_STEPS 256	  /* objects looked at for one victim */
#define RELIEF 64	  /* objects evicted when descriptors are short */

/* ---- shards ---- */

static uint64_t
fh_hash(const nfs_fh3 *fh)
{
	uint64_t h = 0;

	if (fh->len >= sizeof h && fh->len <= sizeof fh->data)
		memcpy(&h, fh->data + fh->len - sizeof h, sizeof h);
	return h;
}

static bool
fh_same(const nfs_fh3 *a, const nfs_fh3 *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static struct shard *
shard_of(struct files *f, const nfs_fh3 *fh)
{
	return &f->shard[fh_hash(fh) % SHARDS];
}

static struct obj **
bucket_of(struct shard *s, const nfs_fh3 *fh)
{
	return &s->bucket[(fh_hash(fh) / SHARDS) & s->mask];
}

/* The shard's lock is held in the following four. */
static struct obj *
shard_find(struct shard *s, const nfs_fh3 *fh)
{
	struct obj *o = *bucket_of(s, fh);

	while (o && !fh_same(&o->fh, fh))
		o = o->hnext;
	return o;
}

static void
shard_link(struct files *f, struct shard *s, struct obj *o)
{
	struct obj **b = bucket_of(s, &o->fh);

	o->hnext = *b;
	__atomic_store_n(b, o, __ATOMIC_RELAXED); /* files_settle glances at it */
	if (s->hand) { /* just behind the hand: the last to be looked at */
		o->cnext = s->hand;
		o->cprev = s->hand->cprev;
		o->cprev->cnext = o->cnext->cprev = o;
	} else {
		s->hand = o->cnext = o->cprev = o;
	}
	o->linked = true;
	obj_ref(o);
	s->n++;
	__atomic_add_fetch(&f->count, 1, __ATOMIC_RELAXED);
}

/* The cache's reference passes to the caller. */
static void
shard_unlink(struct files *f, struct shard *s, struct obj *o)
{
	struct obj **b = bucket_of(s, &o->fh);

	while (*b != o)
		b = &(*b)->hnext;
	__atomic_store_n(b, o->hnext, __ATOMIC_RELAXED); /* files_settle glances at it */
	if (s->hand == o)
		s->hand = o->cnext == o ? NULL : o->cnext;
	o->cprev->cnext = o->cnext;
	o->cnext->cprev = o->cprev;
	o->linked = false;
	s->n--;
	__atomic_sub_fetch(&f->count, 1, __ATOMIC_RELAXED);
}

/* Unlinks the next idle object that was not used since the hand last passed. */
static struct obj *
shard_victim(struct files *f, struct shard *s)
{
	for (size_t left = s->n < CLOCK_STEPS / 2 ? 2 * s->n : CLOCK_STEPS; left; left--) {
		struct obj *o = s->hand;

		s->hand = o->cnext;
		if (__atomic_load_n(&o->refs, __ATOMIC_ACQUIRE) > 1 || sync_is_pinned(o))
			continue;
		if (!o->used) {
			shard_unlink(f, s, o);
			return o;
		}
		o->used = false;
	}
	return NULL;
}

/* Evicts one idle object, from the shard `first` if it has one; false when none was found. */
static bool
evict(struct files *f, size_t first)
{
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *s = &f->shard[(first + i) % SHARDS];

		pthread_mutex_lock(&s->lock);
		struct obj *o = shard_victim(f, s);
		pthread_mutex_unlock(&s->lock);
		if (o) {
			obj_put(f, o);
			return true;
		}
	}
	return false;
}

/* ---- objects ---- */

struct obj *
obj_ref(struct obj *o)
{
	__atomic_add_fetch(&o->refs, 1, __ATOMIC_RELAXED);
	return o;
}

void
obj_put(struct files *f, struct obj *o)
{
	if (o && __atomic_sub_fetch(&o->refs, 1, __ATOMIC_ACQ_REL) == 0)
		grave_put(f, o);
}

/* Who wants it alone must not wait for ever behind those who share it. */
static void
change_init(pthread_rwlock_t *l)
{
	pthread_rwlockattr_t a;

	pthread_rwlockattr_init(&a);
	pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(l, &a);
	pthread_rwlockattr_destroy(&a);
}

/* Owns fd when it succeeds. */
static struct obj *
make(struct files *f, struct export *ex, const nfs_fh3 *fh, const struct handle *id, int fd,
     const struct stat *st)
{
	struct obj *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	change_init(&o->change);
	pthread_mutex_init(&o->lock, NULL);
	o->fh = *fh;
	o->id = *id;
	o->ex = export_ref(ex);
	o->fd = fd;
	o->rfd = o->wfd = -1;
	o->type = st->st_mode & S_IFMT;
	o->ino = st->st_ino;
	o->birth = __atomic_add_fetch(&f->births, 1, __ATOMIC_RELAXED);
	o->ra.mark = UINT64_MAX;
	o->refs = 1;
	return o;
}

/* The cached object, referenced, or NULL. One of the same handle in a replaced export is dropped.
 */
static struct obj *
find(struct files *f, const struct export *ex, const nfs_fh3 *fh)
{
	struct shard *s = shard_of(f, fh);
	struct obj *o, *old = NULL;

	pthread_mutex_lock(&s->lock);
	o = shard_find(s, fh);
	if (o && o->ex != ex) {
		shard_unlink(f, s, o);
		old = o;
		o = NULL;
	}
	if (o) {
		o->used = true;
		obj_ref(o);
	}
	pthread_mutex_unlock(&s->lock);
	obj_put(f, old);
	return o;
}

/* Links o, or drops it for one that came first. A reference for the caller either way. */
static struct obj *
enter(struct files *f, struct obj *o)
{
	struct shard *s = shard_of(f, &o->fh);
	struct obj *old;

	pthread_mutex_lock(&s->lock);
	old = shard_find(s, &o->fh);
	if (old && old->ex == o->ex) {
		obj_ref(old);
		pthread_mutex_unlock(&s->lock);
		obj_put(f, o);
		return old;
	}
	if (old)
		shard_unlink(f, s, old);
	shard_link(f, s, o);
	pthread_mutex_unlock(&s->lock);
	obj_put(f, old);
	for (int i = 0; i < 2 && __atomic_load_n(&f->count, __ATOMIC_RELAXED) > f->max; i++)
		if (!evict(f, (size_t)(s - f->shard)))
			break;
	return o;
}

static int
open_handle(struct files *f, struct export *ex, const struct handle *id, int *fd, struct stat *st)
{
	unsigned tries = 0;
	int error;

	do
		error = resolve_open(f->resolve, ex, id, fd);
	while (files_retry(f, error, &tries));
	if (!error && fstat(*fd, st) != 0) {
		error = errno;
		close(*fd);
	}
	return error;
}

int
obj_get(struct files *f, struct export *ex, const nfs_fh3 *fh, const struct handle *id,
	bool may_sleep, struct obj **out)
{
	struct stat st;
	int fd, error;

	*out = find(f, ex, fh);
	if (*out) {
		stat_inc(ST_OBJ_HIT);
		return 0;
	}
	if (!may_sleep)
		return ESLEEP;
	stat_inc(ST_OBJ_MISS);
	files_keep_up(f);
	error = open_handle(f, ex, id, &fd, &st);
	if (error)
		return error;
	struct obj *o = make(f, ex, fh, id, fd, &st);
	if (!o) {
		close(fd);
		return ENOMEM;
	}
	*out = enter(f, o);
	return 0;
}

struct obj *
obj_cached(struct files *f, struct export *ex, const struct handle *id)
{
	nfs_fh3 fh;

	handle_seal(f->resolve->key, id, &fh);
	return find(f, ex, &fh);
}

int
obj_adopt(struct files *f, struct export *ex, int fd, const struct stat *st,
	  const struct handle *id, struct obj **out)
{
	nfs_fh3 fh;

	handle_seal(f->resolve->key, id, &fh);
	*out = find(f, ex, &fh);
	if (*out) {
		close(fd); /* not the last: the object has its own */
		return 0;
	}
	struct obj *o = make(f, ex, &fh, id, fd, st);
	if (!o) {
		close(fd);
		return ENOMEM;
	}
	*out = enter(f, o);
	return 0;
}

void
obj_forget(struct files *f, struct obj *o)
{
	struct shard *s = shard_of(f, &o->fh);

	pthread_mutex_lock(&s->lock);
	bool linked = o->linked;
	if (linked)
		shard_unlink(f, s, o);
	pthread_mutex_unlock(&s->lock);
	if (linked)
		obj_put(f, o);
}

/* Unlinks the first object of a bucket whose export is gone (NULL: any). */
static struct obj *
take_from_bucket(struct files *f, struct shard *s, size_t b,
		 bool (*gone)(void *, const struct export *), void *arg)
{
	pthread_mutex_lock(&s->lock);
	struct obj *o = s->bucket[b];
	while (o && gone && !gone(arg, o->ex))
		o = o->hnext;
	if (o)
		shard_unlink(f, s, o);
	pthread_mutex_unlock(&s->lock);
	return o;
}

void
files_drop(struct files *f, bool (*gone)(void *, const struct export *), void *arg)
{
	for (size_t i = 0; i < SHARDS; i++)
		for (size_t b = 0; b <= f->shard[i].mask; b++) {
			struct obj *o;

			while ((o = take_from_bucket(f, &f->shard[i], b, gone, arg)))
				obj_put(f, o);
		}
}

void
files_relieve(struct files *f)
{
	size_t n = 0;

	while (n < RELIEF && evict(f, n))
		n++;
	if (n == 0)
		files_settle(f, 0);
	grave_close(f);
}

/* ---- begin and end ---- */

static size_t
default_max(void)
{
	struct rlimit r;
	size_t n = 256;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0)
		n = r.rlim_cur / 4 < MAX_DEFAULT ? (size_t)r.rlim_cur / 4 : MAX_DEFAULT;
	return n < 16 ? 16 : n;
}

static bool
shards_make(struct files *f)
{
	size_t buckets = 16;

	while (buckets * SHARDS < f->max && buckets * SHARDS < MAX_DEFAULT)
		buckets *= 2;
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *s = &f->shard[i];

		pthread_mutex_init(&s->lock, NULL);
		s->mask = buckets - 1;
		s->bucket = calloc(buckets, sizeof(struct obj *));
		if (!s->bucket)
			return false;
	}
	return true;
}

struct files *
files_new(const struct resolve *r, const struct ident *id, size_t max_objs)
{
	struct files *f = aligned_alloc(64, sizeof *f);

	if (!f || sodium_init() < 0) {
		free(f);
		return NULL;
	}
	memset(f, 0, sizeof *f);
	f->resolve = r;
	(void)id; /* descriptors are opened as the server, which is how a thread rests */
	f->max = max_objs ? max_objs : default_max();
	f->names = names_new(NAME_SLOTS);
	f->sync = sync_new();
	f->procfd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->procfd < 0)
		log_error("cannot open /proc/self/fd: %s; mount /proc", strerror(errno));
	if (!shards_make(f) || f->procfd < 0 || !f->names || !f->sync ||
	    (errno = grave_begin(f)) != 0) {
		int error = errno;

		files_free(f);
		errno = error;
		return NULL;
	}
	return f;
}

void
files_free(struct files *f)
{
	if (!f)
		return;
	if (f->running)
		files_drop(f, NULL, NULL);
	grave_end(f);
	for (size_t i = 0; i < SHARDS; i++)
		free(f->shard[i].bucket);
	names_free(f->names);
	sync_free(f->sync);
	if (f->procfd >= 0)
		close(f->procfd);
	free(f);
}

struct names *
files_names(struct files *f)
{
	return f->names;
}

int
files_proc(const struct files *f)
{
	return f->procfd;
}

struct sync *
files_sync(const struct files *f)
{
	return f->sync;
}

void
files_info(struct files *f, struct files_info *info)
{
	info->objs = __atomic_load_n(&f->count, __ATOMIC_RELAXED);
	info->max_objs = f->max;
}
