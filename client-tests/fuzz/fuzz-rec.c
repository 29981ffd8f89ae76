/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Record marking. However a stream is cut into pieces, rec.c takes the same records out of it, and
 * ends with the same verdict, as the few lines below that see it whole; and no buffer is larger
 * than what has been received allows.
 */
#include "rec.h"

#include "fuzz.h"

struct mem {
	size_t out; /* bytes not given back */
	size_t fed; /* bytes of the stream received */
};

static void *
mem_get(void *arg, size_t n)
{
	struct mem *m = arg;
	size_t bound = REC_AHEAD * m->fed;

	MUST(n <= (bound > REC_BUF_MIN ? bound : REC_BUF_MIN));
	m->out += n;
	return malloc(n);
}

static void
mem_put(void *arg, void *p, size_t n)
{
	struct mem *m = arg;

	MUST(m->out >= n);
	m->out -= n;
	free(p);
}

/* ---- the reference: one record from the front of the stream ---- */

struct whole {
	struct input in;
	size_t max;
	uint8_t *rec; /* the record's bytes, without marks */
	size_t len;
};

static enum rec_status
whole_next(struct whole *w)
{
	unsigned frags = 0, empty = 0;

	w->len = 0;
	for (;;) {
		if (w->in.n < 4)
			return REC_MORE;
		uint32_t mark = input_word(&w->in), n = mark & 0x7fffffff;

		empty = n ? 0 : empty + 1;
		if (w->len + n > w->max)
			return REC_TOOBIG;
		if (++frags > REC_FRAGS_MAX || empty > REC_EMPTY_MAX)
			return REC_FRAGMENTS;
		if (mark >> 31 && w->len + n < REC_MIN)
			return REC_TOOSMALL;
		if (w->in.n < n)
			return REC_MORE;
		memcpy(w->rec + w->len, w->in.p, n);
		w->in.p += n;
		w->in.n -= n;
		w->len += n;
		if (mark >> 31)
			return REC_RECORD;
	}
}

/* ---- the thing itself ---- */

/* Gives the next piece of the stream to where rec.c wants it. */
static void
feed(struct rec *r, struct input *in, size_t piece, char *scratch, size_t size, struct mem *m)
{
	struct iovec iov[2];
	int n = rec_iov(r, scratch, size, iov);
	size_t fed = 0;

	MUST(n == 1 || n == 2);
	for (int i = 0; i < n; i++) {
		size_t k = iov[i].iov_len < piece ? iov[i].iov_len : piece;

		k = k < in->n ? k : in->n;
		if (k == 0)
			continue;
		memcpy(iov[i].iov_base, in->p, k);
		in->p += k;
		in->n -= k;
		piece -= k;
		fed += k;
	}
	m->fed += fed;
	rec_feed(r, fed);
}

/* Takes every record there is and compares it; the verdict. */
static enum rec_status
drain(struct rec *r, struct whole *w)
{
	struct rec_msg msg;
	enum rec_status st;

	while ((st = rec_next(r, &msg)) == REC_RECORD) {
		MUST(whole_next(w) == REC_RECORD);
		MUST(((uintptr_t)msg.base & 3) == 0);
		MUST(msg.len == w->len && memcmp(msg.base, w->rec, msg.len) == 0);
		memset(msg.base, 0xee, msg.len); /* records are writable */
		rec_put(r->mem, &msg);
		MUST(msg.cap == 0);
	}
	return st;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char scratch[REC_SCRATCH] __attribute__((aligned(8)));
	struct mem m = {0, 0};
	const struct rec_mem mem = {mem_get, mem_put, &m};
	struct input in = {data, n};
	uint32_t random = input_word(&in);
	size_t max = 16 + (random & 0xffff), size = 8 + (next_random(&random) & 0x3ff);
	uint32_t grain = 1u << (random & 15);
	struct rec r;

	if (random & 0x10000)
		size = sizeof scratch;
	struct whole w = {.in = in, .max = max, .rec = malloc(max)};
	enum rec_status st = REC_MORE;

	rec_init(&r, max, &mem);
	while (in.n > 0 && st == REC_MORE) {
		feed(&r, &in, 1 + next_random(&random) % grain, scratch, size, &m);
		st = drain(&r, &w);
		MUST(rec_held(&r) == m.out);
	}
	MUST(whole_next(&w) == st);
	if (st != REC_MORE) {
		struct rec_msg msg;

		MUST(rec_next(&r, &msg) == st && strlen(rec_strerror(st)) > 10);
	}
	rec_fini(&r);
	MUST(m.out == 0);
	free(w.rec);
	return 0;
}

static void
first_inputs(void)
{
	static const char *const streams[] = {
	    "00001234 80000008 0102030405060708",
	    "00001234 00000003 010203 00000000 80000007 04050607080900 8000000c "
	    "aabbccddeeff001122334455",
	    "0000ffff 80000009 010203040506070809 80000008 1112131415161718 8000",
	    "00000010 80000fff 00",
	    "01010101 00000004 01020304 00000004 05060708 80000000 80000004 00000000",
	    "00100100 00000000 00000000 00000000 00000000 00000000 00000000 80000008 "
	    "0000000000000000",
	};
	uint8_t b[256];

	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		seed(b, unhex(streams[i], b, sizeof b));
}

FUZZ_SEEDS(first_inputs)
