/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_XDR_H
#define NFSLOAD_XDR_H
/*
 * The few XDR forms (RFC 4506) that a measuring client needs, written by hand so that this program
 * shares no code, and so no mistake, with the server that it measures.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An encoder over memory of the caller. Once something did not fit, `over` stays set and nothing
 * more is written. */
struct enc {
	uint8_t *base;
	size_t len;
	size_t cap;
	bool over;
};

void enc_u32(struct enc *e, uint32_t v);
void enc_u64(struct enc *e, uint64_t v);
/* Length, bytes, zero pad to a multiple of four. */
void enc_opaque(struct enc *e, const void *p, size_t n);
void enc_string(struct enc *e, const char *s);

/* A decoder over bytes of the caller; `over` is set when more was asked for than there is. */
struct dec {
	const uint8_t *p;
	size_t left;
	bool over;
};

uint32_t dec_u32(struct dec *d);
uint64_t dec_u64(struct dec *d);
/* Skips n bytes and returns where they began, NULL when there are fewer. */
const uint8_t *dec_bytes(struct dec *d, size_t n);
/* A counted opaque of at most `max` bytes with its pad: sets *n; NULL (and over) when absent or
 * longer. */
const uint8_t *dec_opaque(struct dec *d, size_t max, size_t *n);

static inline uint32_t
get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void
put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline void
put_be64(uint8_t *p, uint64_t v)
{
	put_be32(p, (uint32_t)(v >> 32));
	put_be32(p + 4, (uint32_t)v);
}

/* Bytes of zero that follow n bytes of opaque data. */
static inline uint32_t
xdr_pad(uint32_t n)
{
	return (4 - (n & 3)) & 3;
}

#endif
