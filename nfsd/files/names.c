/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set-associative table: the hash of (directory, name) picks a set of four slots; a find looks at
 * four, a put replaces a slot of the same name, else a dead one, else the one longest unused of the
 * four. One mutex guards every 1/64 of the sets. Nothing is ever allocated after
 * the start, so a directory of a million names can only push out others' memory, never grow it.
 */
#include "names.h"
#include "times.h"
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define WAYS 4
#define LOCKS 64

struct slot {
	unsigned char hash[crypto_shorthash_siphashx24_BYTES];
	struct timespec ctime, mtime;
	uint64_t age;
	nfs_fh3 child; /* len 0: unused */
};

struct names {
	pthread_mutex_t lock[LOCKS];
	unsigned char key[crypto_shorthash_siphashx24_KEYBYTES];
	size_t sets; /* a power of two */
	uint64_t clock[LOCKS];
	struct slot slot[];
};

struct names *
names_new(size_t slots)
{
	size_t sets = LOCKS;

	while (sets * WAYS < slots && sets < SIZE_MAX / 2 / sizeof(struct slot) / WAYS)
		sets *= 2;
	struct names *n = calloc(1, sizeof *n + sets * WAYS * sizeof n->slot[0]);
	if (!n)
		return NULL;
	n->sets = sets;
	randombytes_buf(n->key, sizeof n->key);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&n->lock[i], NULL);
	return n;
}

void
names_free(struct names *n)
{
	if (!n)
		return;
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_destroy(&n->lock[i]);
	free(n);
}

/* The set of this name in this directory; hash receives what a slot remembers of both. */
static size_t
set_of(const struct names *n, uint64_t dir, const char *name, size_t len, unsigned char *hash)
{
	unsigned char text[sizeof dir + 255];
	size_t set;

	if (len > 255)
		len = 255;
	memcpy(text, &dir, sizeof dir);
	memcpy(text + sizeof dir, name, len);
	crypto_shorthash_siphashx24(hash, text, sizeof dir + len, n->key);
	memcpy(&set, hash, sizeof set);
	return set & (n->sets - 1);
}

static bool
same_hash(const struct slot *s, const unsigned char *hash)
{
	return s->child.len && memcmp(s->hash, hash, sizeof s->hash) == 0;
}

bool
names_find(struct names *n, uint64_t dir, const struct stat *dir_st, const char *name, size_t len,
	   nfs_fh3 *child)
{
	unsigned char hash[sizeof n->slot[0].hash];
	size_t set = set_of(n, dir, name, len, hash), lock = set % LOCKS;
	bool found = false;

	pthread_mutex_lock(&n->lock[lock]);
	for (size_t i = 0; i < WAYS && !found; i++) {
		struct slot *s = &n->slot[set * WAYS + i];

		if (!same_hash(s, hash))
			continue;
		if (!same_time(&s->ctime, &dir_st->st_ctim) ||
		    !same_time(&s->mtime, &dir_st->st_mtim)) {
			s->child.len = 0;
			break;
		}
		*child = s->child;
		s->age = ++n->clock[lock];
		found = true;
	}
	pthread_mutex_unlock(&n->lock[lock]);
	return found;
}

/* The slot to write: of the same name, else unused, else longest unused. */
static struct slot *
victim(struct slot *set, const unsigned char *hash)
{
	struct slot *v = set;

	for (size_t i = 0; i < WAYS; i++) {
		struct slot *s = &set[i];

		if (same_hash(s, hash))
			return s;
		if (v->child.len && (!s->child.len || s->age < v->age))
			v = s;
	}
	return v;
}

void
names_put(struct names *n, uint64_t dir, const struct stat *dir_st, const char *name, size_t len,
	  const nfs_fh3 *child)
{
	unsigned char hash[sizeof n->slot[0].hash];
	size_t set = set_of(n, dir, name, len, hash), lock = set % LOCKS;

	pthread_mutex_lock(&n->lock[lock]);
	struct slot *s = victim(&n->slot[set * WAYS], hash);
	memcpy(s->hash, hash, sizeof s->hash);
	s->ctime = dir_st->st_ctim;
	s->mtime = dir_st->st_mtim;
	s->child = *child;
	s->age = ++n->clock[lock];
	pthread_mutex_unlock(&n->lock[lock]);
}
