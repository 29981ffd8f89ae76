/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sealing and checking of file handles. A handle is a capability: a peer that shows one with a
 * right check value was given it by us (or heard it from somebody who was). Only handle_parse()
 * looks at bytes from outside, and nothing of them but the length before the check value holds.
 */
#include "handle.h"
#include <errno.h>
#include <sodium.h>
#include <string.h>

enum { VERSION = 1, HEAD = 12, CHECK = 8 };

_Static_assert(sizeof((struct handle_key *)0)->now == crypto_shorthash_siphash24_KEYBYTES,
	       "key size");
_Static_assert(HEAD + HANDLE_IDENT_MAX + CHECK <= 56, "ESXi takes no more");

static void
put32(unsigned char *p, uint32_t v)
{
	p[0] = (unsigned char)(v >> 24);
	p[1] = (unsigned char)(v >> 16);
	p[2] = (unsigned char)(v >> 8);
	p[3] = (unsigned char)v;
}

static uint32_t
get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static size_t
padded(size_t ilen)
{
	return (ilen + 3) & ~(size_t)3;
}

void
handle_seal(const struct handle_key *k, const struct handle *h, nfs_fh3 *out)
{
	size_t ilen = h->ilen <= HANDLE_IDENT_MAX ? h->ilen : HANDLE_IDENT_MAX;
	size_t body = HEAD + padded(ilen);

	memset(out->data, 0, sizeof out->data);
	out->data[0] = VERSION;
	out->data[1] = h->kind;
	out->data[2] = h->ktype;
	out->data[3] = (unsigned char)ilen;
	put32(out->data + 4, h->export_id);
	put32(out->data + 8, h->fs_id);
	memcpy(out->data + HEAD, h->ident, ilen);
	crypto_shorthash_siphash24(out->data + body, out->data, body, k->now);
	out->len = (u_int)(body + CHECK);
}

/* One comparison of a whole word: no early end tells how many bytes were right. */
static bool
same(const unsigned char *a, const unsigned char *b)
{
	uint64_t x, y;

	memcpy(&x, a, CHECK);
	memcpy(&y, b, CHECK);
	return (x ^ y) == 0;
}

static bool
check_holds(const struct handle_key *k, const unsigned char *data, size_t body)
{
	unsigned char sum[CHECK];

	crypto_shorthash_siphash24(sum, data, body, k->now);
	if (same(sum, data + body))
		return true;
	if (!k->has_old)
		return false;
	crypto_shorthash_siphash24(sum, data, body, k->old);
	return same(sum, data + body);
}

int
handle_parse(const struct handle_key *k, const nfs_fh3 *fh, struct handle *out)
{
	const unsigned char *d = fh->data;
	size_t len = fh->len;

	if (len < HEAD + CHECK || len > HEAD + HANDLE_IDENT_MAX + CHECK || d[0] != VERSION ||
	    d[3] > HANDLE_IDENT_MAX || len != HEAD + padded(d[3]) + CHECK)
		return EBADF;
	if (!check_holds(k, d, len - CHECK))
		return EBADF;
	if (d[1] != HANDLE_KERNEL && d[1] != HANDLE_SERIAL)
		return EBADF;
	*out = (struct handle){
	    .kind = d[1],
	    .ktype = d[2],
	    .ilen = d[3],
	    .export_id = get32(d + 4),
	    .fs_id = get32(d + 8),
	};
	memcpy(out->ident, d + HEAD, d[3]);
	return 0;
}

uint64_t
handle_hash64(const struct handle_key *k, const void *data, size_t n)
{
	unsigned char key[crypto_shorthash_siphash24_KEYBYTES], sum[CHECK];
	uint64_t v;

	/* a key of its own: hashes are shown to clients and must not be check values of anything */
	for (size_t i = 0; i < sizeof key; i++)
		key[i] = k->now[i] ^ 0x5c;
	crypto_shorthash_siphash24(sum, data, n, key);
	memcpy(&v, sum, sizeof v);
	return v;
}

uint32_t
handle_hash32(const struct handle_key *k, const void *data, size_t n)
{
	uint64_t v = handle_hash64(k, data, n);
	uint32_t low = (uint32_t)(v ^ v >> 32);

	return low ? low : 1;
}
