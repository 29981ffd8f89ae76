/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a snapshot: every name of the directory is hashed, and those at or above the place asked
 * for are gathered. When twice the bound is full, the lower half by hash stays and the rest is cut
 * off: `hi` comes down to the first hash that was dropped, and names at or above it are no longer
 * gathered. So memory is bounded whatever the directory holds, one pass serves as many names as the
 * bound, and a directory within the bound is read once for a whole listing.
 *
 * Two names of one hash: the one that sorts later takes the next free value. That is the same in
 * every snapshot as long as both exist. When the first of them is removed between two pages of a
 * listing that stands between them, the second moves down by one and that listing misses it. With
 * 63 bits a directory of a million names holds such a pair with a chance of one in ten million, and
 * nobody can make one without the key.
 *
 * The cache: pages after the first use the snapshot of the first, also when the directory has
 * changed meanwhile, for a minute: a name removed is then still listed (a lookup says that it is
 * gone), one made may be missed, as POSIX allows for readdir(). A listing that starts reads anew.
 * It is process-wide, bounded in bytes, least recently used goes first.
 */
#include "vsnap.h"
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE_BYTES ((size_t)64 << 20)
#define YOUNG_SECONDS 60
#define COLLIDE 16 /* how far a colliding name can have been moved */
#define DENTS 32768

/* ---- order ---- */

static int
by_hash(const void *a, const void *b, void *text)
{
	const struct snap_name *x = a, *y = b;

	if (x->cookie != y->cookie)
		return x->cookie < y->cookie ? -1 : 1;
	return strcmp((const char *)text + x->text, (const char *)text + y->text);
}

static void
sort(struct snap_name *v, size_t n, const char *text)
{
	if (n > 1) /* an empty directory has no array at all */
		qsort_r(v, n, sizeof *v, by_hash, (void *)text);
}

void
snap_order(struct snap_name *v, size_t n, const char *text)
{
	sort(v, n, text);
	for (size_t i = 1; i < n; i++)
		if (v[i].cookie <= v[i - 1].cookie)
			v[i].cookie = v[i - 1].cookie + 1;
}

static uint64_t
hash_of(const struct handle_key *key, const char *name, size_t len)
{
	uint64_t h = handle_hash64(key, name, len) >> 1;

	return h > SNAP_DOTDOT ? h : h + SNAP_DOTDOT + 1;
}

size_t
snap_after(const struct snap *s, uint64_t cookie)
{
	size_t from = 0, to = s->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (s->v[mid].cookie > cookie)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

/* ---- reading ---- */

/* A snapshot in the making: two growing arrays and the bound. */
struct making {
	struct snap *s;
	size_t vcap, textlen, textcap, max;
};

static int
grow(void **p, size_t *cap, size_t need, size_t size)
{
	size_t want = *cap ? *cap : 1024;

	while (want < need)
		want *= 2;
	void *q = want == *cap ? *p : realloc(*p, want * size);
	if (!q)
		return ENOMEM;
	*p = q;
	*cap = want;
	return 0;
}

/* Keeps the lower `max` names and their text. */
static int
cut(struct making *m)
{
	struct snap *s = m->s;
	size_t n = m->max, len = 0;
	char *text = malloc(m->textcap);

	if (!text)
		return ENOMEM;
	sort(s->v, s->n, s->text);
	while (n > 0 && s->v[n - 1].cookie == s->v[m->max].cookie)
		n--; /* names of one hash stay together */
	s->hi = s->v[m->max].cookie;
	for (size_t i = 0; i < n; i++) {
		memcpy(text + len, s->text + s->v[i].text, s->v[i].len + 1);
		s->v[i].text = (uint32_t)len;
		len += s->v[i].len + 1;
	}
	free(s->text);
	s->text = text;
	s->n = n;
	m->textlen = len;
	return 0;
}

static int
gather(struct making *m, const char *name, uint64_t ino, uint64_t hash)
{
	struct snap *s = m->s;
	size_t len = strlen(name);

	if (hash < s->lo || hash >= s->hi)
		return 0;
	if (grow((void **)&s->v, &m->vcap, s->n + 1, sizeof *s->v) != 0 ||
	    grow((void **)&s->text, &m->textcap, m->textlen + len + 1, 1) != 0)
		return ENOMEM;
	s->v[s->n++] = (struct snap_name){hash, ino, (uint32_t)m->textlen, (uint32_t)len};
	memcpy(s->text + m->textlen, name, len + 1);
	m->textlen += len + 1;
	return s->n == 2 * m->max ? cut(m) : 0;
}

static bool
is_dot(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static int
read_names(const struct handle_key *key, int fd, struct making *m)
{
	char *buf = malloc(DENTS);
	ssize_t n = 0;
	int error = buf ? 0 : ENOMEM;

	while (!error && (n = getdents64(fd, buf, DENTS)) > 0)
		for (ssize_t at = 0; at < n && !error;) {
			const struct dirent64 *d = (const struct dirent64 *)(buf + at);

			at += d->d_reclen;
			if (!is_dot(d->d_name))
				error = gather(m, d->d_name, d->d_ino,
					       hash_of(key, d->d_name, strlen(d->d_name)));
		}
	if (n < 0)
		error = errno;
	free(buf);
	return error;
}

int
snap_read(const struct handle_key *key, int fd, uint64_t cookie, size_t max, struct snap **out)
{
	struct snap *s = calloc(1, sizeof *s);
	struct making m = {.s = s, .max = max};
	int error;

	if (!s)
		return ENOMEM;
	s->refs = 1;
	s->lo = cookie > COLLIDE ? cookie - COLLIDE : 0;
	s->hi = UINT64_MAX;
	error = lseek(fd, 0, SEEK_SET) < 0 ? errno : read_names(key, fd, &m);
	if (error) {
		snap_put(s);
		return error;
	}
	snap_order(s->v, s->n, s->text);
	s->lo = cookie;
	s->bytes = sizeof *s + m.vcap * sizeof *s->v + m.textcap;
	*out = s;
	return 0;
}

void
snap_put(struct snap *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	free(s->v);
	free(s->text);
	free(s);
}

/* ---- the cache ---- */

static struct {
	pthread_mutex_t lock;
	struct snap *list; /* most recently used first */
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static bool
is_of(const struct snap *s, const struct obj *dir)
{
	return s->dir.len == dir->fh.len && memcmp(s->dir.data, dir->fh.data, s->dir.len) == 0;
}

static bool
unchanged(const struct snap *s, const struct stat *st)
{
	return s->st.st_mtim.tv_sec == st->st_mtim.tv_sec &&
	       s->st.st_mtim.tv_nsec == st->st_mtim.tv_nsec &&
	       s->st.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       s->st.st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}

static struct snap *
cache_find(const struct obj *dir, const struct stat *st, uint64_t cookie)
{
	struct snap **p, *s = NULL;

	pthread_mutex_lock(&cache.lock);
	for (p = &cache.list; *p; p = &(*p)->next)
		if (is_of(*p, dir) && (*p)->lo <= cookie && cookie < (*p)->hi)
			break;
	if (*p && (unchanged(*p, st) || seconds() - (*p)->born < YOUNG_SECONDS)) {
		s = *p;
		*p = s->next;
		s->next = cache.list;
		cache.list = s;
		__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&cache.lock);
	return s;
}

/* Unlinks, into *gone, every snapshot of this place in this directory, and what is over the bound.
 */
static void
cache_clear(const struct snap *s, struct snap **gone)
{
	size_t bytes = s->bytes;

	for (struct snap **p = &cache.list; *p;) {
		struct snap *t = *p;
		bool same = t->dir.len == s->dir.len &&
			    memcmp(t->dir.data, s->dir.data, s->dir.len) == 0 && t->lo < s->hi &&
			    s->lo < t->hi;

		if (!same && bytes + t->bytes <= CACHE_BYTES) {
			bytes += t->bytes;
			p = &t->next;
			continue;
		}
		*p = t->next;
		t->next = *gone;
		*gone = t;
	}
}

static void
put_list(struct snap *s)
{
	while (s) {
		struct snap *next = s->next;

		snap_put(s);
		s = next;
	}
}

static void
cache_add(struct snap *s)
{
	struct snap *gone = NULL;

	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&cache.lock);
	cache_clear(s, &gone);
	s->next = cache.list;
	cache.list = s;
	pthread_mutex_unlock(&cache.lock);
	put_list(gone);
}

void
snap_free_cache(void)
{
	pthread_mutex_lock(&cache.lock);
	struct snap *gone = cache.list;
	cache.list = NULL;
	pthread_mutex_unlock(&cache.lock);
	put_list(gone);
}

int
snap_get(const struct handle_key *key, struct obj *dir, int fd, const struct stat *st,
	 uint64_t cookie, struct snap **out)
{
	*out = cookie ? cache_find(dir, st, cookie) : NULL;
	if (*out)
		return 0;
	int error = snap_read(key, fd, cookie, SNAP_NAMES, out);
	if (error)
		return error;
	(*out)->dir = dir->fh;
	(*out)->st = *st;
	(*out)->born = seconds();
	cache_add(*out);
	return 0;
}
