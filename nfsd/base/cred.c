/* SPDX-License-Identifier: BSD-2-Clause */
#include "cred.h"
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/*
 * The hash decides whether a remembered permission belongs to this caller, and its input is chosen
 * by the peer. So it is keyed, with a key that never leaves the process: nobody can look for two
 * credentials that collide.
 */
static unsigned char key[crypto_shorthash_KEYBYTES];
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void
make_key(void)
{
	randombytes_buf(key, sizeof key);
}

void
cred_seal(struct cred *c)
{
	uint32_t words[3 + CRED_GROUPS_MAX];
	unsigned char hash[crypto_shorthash_BYTES];
	size_t n = c->ngroups < CRED_GROUPS_MAX ? c->ngroups : CRED_GROUPS_MAX;

	pthread_once(&key_once, make_key);
	words[0] = c->uid;
	words[1] = c->gid;
	words[2] = c->more ? UINT32_MAX : (uint32_t)n;
	if (c->more) {
		memcpy(words + 3, &c->more->hash, sizeof c->more->hash);
		n = sizeof c->more->hash / sizeof words[0];
	} else {
		memcpy(words + 3, c->groups, n * sizeof words[0]);
	}
	crypto_shorthash(hash, (const unsigned char *)words, (3 + n) * sizeof words[0], key);
	memcpy(&c->hash, hash, sizeof c->hash);
}

/* ---- lists ---- */

struct cred_groups *
cred_groups_new(uint32_t n)
{
	struct cred_groups *g = calloc(1, sizeof *g + n * sizeof *g->v);

	if (g) {
		g->refs = 1;
		g->n = n;
	}
	return g;
}

static int
by_number(const void *a, const void *b)
{
	gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

	return x < y ? -1 : x > y;
}

void
cred_groups_seal(struct cred_groups *g)
{
	unsigned char hash[crypto_shorthash_BYTES];

	pthread_once(&key_once, make_key);
	qsort(g->v, g->n, sizeof *g->v, by_number);
	crypto_shorthash(hash, (const unsigned char *)g->v, g->n * sizeof *g->v, key);
	memcpy(&g->hash, hash, sizeof g->hash);
}

struct cred_groups *
cred_groups_ref(struct cred_groups *g)
{
	__atomic_fetch_add(&g->refs, 1, __ATOMIC_RELAXED);
	return g;
}

void
cred_groups_put(struct cred_groups *g)
{
	if (g && __atomic_sub_fetch(&g->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(g);
}
