/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdr.h"

#include <string.h>

static uint8_t *
room(struct enc *e, size_t n)
{
	if (e->over || n > e->cap - e->len) {
		e->over = true;
		return NULL;
	}
	uint8_t *p = e->base + e->len;
	e->len += n;
	return p;
}

void
enc_u32(struct enc *e, uint32_t v)
{
	uint8_t *p = room(e, 4);
	if (p)
		put_be32(p, v);
}

void
enc_u64(struct enc *e, uint64_t v)
{
	uint8_t *p = room(e, 8);
	if (p)
		put_be64(p, v);
}

void
enc_opaque(struct enc *e, const void *src, size_t n)
{
	size_t padded = (n + 3) & ~(size_t)3;
	enc_u32(e, (uint32_t)n);
	uint8_t *p = room(e, padded);
	if (!p)
		return;
	memcpy(p, src, n);
	memset(p + n, 0, padded - n);
}

void
enc_string(struct enc *e, const char *s)
{
	enc_opaque(e, s, strlen(s));
}

const uint8_t *
dec_bytes(struct dec *d, size_t n)
{
	if (d->over || n > d->left) {
		d->over = true;
		return NULL;
	}
	const uint8_t *p = d->p;
	d->p += n;
	d->left -= n;
	return p;
}

uint32_t
dec_u32(struct dec *d)
{
	const uint8_t *p = dec_bytes(d, 4);
	return p ? get_be32(p) : 0;
}

uint64_t
dec_u64(struct dec *d)
{
	uint64_t high = dec_u32(d);
	return high << 32 | dec_u32(d);
}

const uint8_t *
dec_opaque(struct dec *d, size_t max, size_t *n)
{
	*n = dec_u32(d);
	if (d->over || *n > max) {
		d->over = true;
		return NULL;
	}
	return dec_bytes(d, (*n + 3) & ~(size_t)3);
}
