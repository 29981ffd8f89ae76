/* SPDX-License-Identifier: BSD-2-Clause */
#include "cred.h"
#include <pthread.h>
#include <sodium.h>
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
	words[2] = (uint32_t)n;
	memcpy(words + 3, c->groups, n * sizeof words[0]);
	crypto_shorthash(hash, (const unsigned char *)words, (3 + n) * sizeof words[0], key);
	memcpy(&c->hash, hash, sizeof c->hash);
}
