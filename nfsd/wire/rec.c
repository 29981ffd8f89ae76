/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Record marking: turns what a TCP connection delivers into complete RPC records.
 *
 * Intent. Most records arrive whole and many at a time; a busy connection should pay neither a copy
 * nor an allocation for them, and an idle one no memory at all. A large WRITE should be received
 * where it will stay.
 *
 * Happy path. The caller reads into its thread's scratch buffer. rec_next walks over it: a mark,
 * and if the fragment it announces is the whole record and all there, a pointer to it. When the
 * scratch buffer ends inside a record, that tail (only) moves to a buffer of the connection's own.
 * rec_iov then points the next read at the rest of that buffer, and at scratch behind it, so that
 * one readv finishes the record in its place and reads on. The finished buffer goes to the taker
 * with the record; the connection is left with none. A connection that sends large records gets
 * REC_PEEK bytes of scratch only: enough for the next mark and header, and then all the rest is
 * received in its place (the data of a WRITE is copied nowhere in user space).
 *
 * Alignment. XDR wants records on 4-byte addresses. A half-received mark is the only thing that can
 * shift the stream against the scratch buffer, and rec_iov makes up for it. What is left are peers
 * that send records of odd lengths: such a record slides down over its own mark, by at most 3
 * bytes.
 *
 * Elsewhere. Who knows how long the heads of such records are can have the rest go past this
 * memory altogether (rec_expect): then a read ends where the next head ends, the head is handed out
 * by itself, and bytes are only counted until the record's end. A head of another length than was
 * expected costs nothing: its record comes the usual way.
 *
 * Failure modes. Lengths are claims. A mark is compared with the limit before anything else
 * happens, and a buffer grows with what the peer really sent: at most REC_AHEAD times that, so a
 * thousand connections that each announce a megabyte and send nothing cost 4 KiB each. Fragments
 * are counted, and empty ones as well, since they cost the peer 4 bytes and make no progress. Any
 * error is final: after it nobody knows where the next mark is.
 *
 * Limits. A record that is in progress when memory ends is lost together with its connection; the
 * peer repeats it.
 */
#include "rec.h"

#include <endian.h>
#include <string.h>

#include "buf.h"

#define LAST_FRAGMENT 0x80000000u

static void *
mem_get(const struct rec_mem *mem, size_t n)
{
	return mem ? mem->get(mem->arg, n) : buf_take(n);
}

static void
mem_put(const struct rec_mem *mem, void *p, size_t n)
{
	if (mem)
		mem->put(mem->arg, p, n);
	else
		buf_give(p, n);
}

void
rec_init(struct rec *r, size_t max, const struct rec_mem *mem)
{
	memset(r, 0, sizeof *r);
	r->max = max;
	r->mem = mem;
}

void
rec_fini(struct rec *r)
{
	if (r->buf)
		mem_put(r->mem, r->buf, r->cap);
	r->buf = NULL;
	r->cap = r->have = r->in_len = r->direct = 0;
}

void
rec_put(const struct rec_mem *mem, struct rec_msg *m)
{
	if (m->cap)
		mem_put(mem, m->base, m->cap);
	*m = (struct rec_msg){0};
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Mark and head of the next record, or what is still to come of them. */
static size_t
head_size(const struct rec *r)
{
	size_t mark = r->nmark < 4 ? 4u - r->nmark : r->buf ? 4 : 0;

	return mark + r->expect;
}

int
rec_iov(struct rec *r, char *scratch, size_t size, struct iovec iov[2])
{
	/* a mark of which k bytes are known continues k bytes into scratch: then its record is
	 * aligned */
	size_t k = r->nmark < 4 ? r->nmark : 0;
	int n = 0;

	r->direct = 0;
	r->in = scratch + k;
	if (r->buf && r->left) {
		r->direct = smaller(r->left, r->cap - r->have);
		iov[n++] = (struct iovec){r->buf + r->have, r->direct};
		/* the buffer grows before the rest is read, which would only be copied from scratch
		 */
		if (r->direct < r->left)
			return n;
	}
	if (r->previous >= REC_LARGE || r->have + r->left >= REC_LARGE)
		size = smaller(size, r->expect ? k + head_size(r) : REC_PEEK);
	iov[n++] = (struct iovec){r->in, size - k};
	return n;
}

void
rec_feed(struct rec *r, size_t n)
{
	size_t d = smaller(n, r->direct);

	r->have += d;
	r->left -= (uint32_t)d;
	r->in_len = n - d;
}

/* Moves up to max bytes of the input to dst. */
static size_t
take(struct rec *r, void *dst, size_t max)
{
	size_t n = smaller(r->in_len, max);

	if (n == 0)
		return 0; /* there may be no input at all yet, not even a pointer */
	memcpy(dst, r->in, n);
	r->in += n;
	r->in_len -= n;
	return n;
}

/* The mark is complete: what does it announce, and is that acceptable? */
static enum rec_status
begin_fragment(struct rec *r)
{
	uint32_t v;

	memcpy(&v, r->mark, 4);
	v = be32toh(v);
	r->last = (v & LAST_FRAGMENT) != 0;
	r->left = v & ~LAST_FRAGMENT;
	r->nempty = r->left ? 0 : (uint8_t)(r->nempty + 1);
	if (r->left > r->max || r->have > r->max - r->left)
		return REC_TOOBIG;
	if (++r->nfrags > REC_FRAGS_MAX || r->nempty > REC_EMPTY_MAX)
		return REC_FRAGMENTS;
	if (r->last && r->have + r->left < REC_MIN)
		return REC_TOOSMALL;
	return REC_MORE;
}

/* Makes room for got bytes of the record, and for more of what is announced if got justifies it. */
static enum rec_status
reserve(struct rec *r, size_t got)
{
	size_t need = r->have + r->left;
	size_t ahead = larger(larger(REC_BUF_MIN, r->previous), REC_AHEAD * got);

	/* grow when full, or once and for all as soon as that is allowed, while there is little to
	 * move */
	if (r->cap >= need || (r->cap > got && ahead < need))
		return REC_MORE;
	if (r->nfrags > 1)
		need = larger(need, smaller(2 * r->cap, r->max));
	need = smaller(need, ahead);

	char *buf = mem_get(r->mem, need);

	if (!buf)
		return REC_NOMEM;
	if (r->buf) {
		memcpy(buf, r->buf, r->have);
		mem_put(r->mem, r->buf, r->cap);
	}
	r->buf = buf;
	r->cap = need;
	return REC_MORE;
}

/* The record is over: forget its fragments. */
static enum rec_status
end_record(struct rec *r)
{
	r->have = r->left = 0;
	r->nmark = r->last = r->nfrags = r->nempty = 0;
	r->asked = r->away = false;
	return REC_RECORD;
}

/* The whole record lies in scratch: hand it out from there. */
static enum rec_status
take_inplace(struct rec *r, struct rec_msg *m)
{
	size_t skew = (uintptr_t)r->in & 3;

	r->previous = r->left;
	*m = (struct rec_msg){.base = r->in - skew, .len = r->left};
	if (skew)
		memmove(m->base, r->in, m->len);
	r->in += m->len;
	r->in_len -= m->len;
	return end_record(r);
}

/* The record was assembled in the connection's buffer, which goes to the taker. */
static enum rec_status
take_buf(struct rec *r, struct rec_msg *m)
{
	r->previous = (uint32_t)r->have;
	*m = (struct rec_msg){.base = r->buf, .len = r->have, .cap = r->cap};
	r->buf = NULL;
	r->cap = 0;
	return end_record(r);
}

/* Takes what there is of the fragment. REC_MORE with left == 0 means that it is complete. */
static enum rec_status
take_fragment(struct rec *r)
{
	size_t n = smaller(r->left, r->in_len);

	if (n == 0 && !r->buf)
		return REC_MORE;
	enum rec_status st = reserve(r, r->have + n);

	if (st != REC_MORE)
		return st;
	n = take(r, r->buf + r->have, n);
	r->have += n;
	r->left -= (uint32_t)n;
	return REC_MORE;
}

/* There is a head, all of it and nothing else. */
static bool
is_expected(const struct rec *r)
{
	return r->expect && r->in_len == r->expect && !r->buf && r->last && r->nfrags == 1 &&
	       !r->asked && r->left >= r->expect_from && r->left > r->expect &&
	       ((uintptr_t)r->in & 3) == 0;
}

static enum rec_status
next(struct rec *r, struct rec_msg *m)
{
	for (;;) {
		enum rec_status st = REC_MORE;

		if (r->nmark < 4) {
			r->nmark = (uint8_t)(r->nmark + take(r, r->mark + r->nmark, 4u - r->nmark));
			if (r->nmark < 4)
				return REC_MORE;
			st = begin_fragment(r);
		}
		if (st == REC_MORE && r->have == 0 && r->last && r->in_len >= r->left)
			return take_inplace(r, m);
		if (st == REC_MORE && is_expected(r)) {
			r->asked = true;
			*m = (struct rec_msg){.base = r->in, .len = r->in_len};
			return REC_HEAD;
		}
		if (st == REC_MORE)
			st = take_fragment(r);
		if (st != REC_MORE || r->left)
			return st;
		if (r->last)
			return take_buf(r, m);
		r->nmark = 0;
	}
}

enum rec_status
rec_next(struct rec *r, struct rec_msg *m)
{
	*m = (struct rec_msg){0};
	if (r->status)
		return (enum rec_status)r->status;
	enum rec_status st = next(r, m);

	if (st > REC_RECORD)
		r->status = (uint8_t)st;
	return st;
}

void
rec_expect(struct rec *r, size_t n, size_t from)
{
	r->expect = n <= REC_EXPECT_MAX ? (uint32_t)n : 0;
	r->expect_from = from < UINT32_MAX ? (uint32_t)from : UINT32_MAX;
}

void
rec_divert(struct rec *r)
{
	r->previous = r->left;
	r->left -= (uint32_t)r->in_len;
	r->in += r->in_len;
	r->in_len = 0;
	r->away = true;
}

void
rec_passed(struct rec *r, size_t n)
{
	r->left -= (uint32_t)n;
	if (r->left == 0)
		end_record(r);
}

void
rec_return(struct rec *r, char *buf, size_t cap, size_t have)
{
	r->buf = buf;
	r->cap = cap;
	r->have = have;
	r->away = false;
}

const char *
rec_strerror(enum rec_status st)
{
	static const char *const text[] = {
	    [REC_MORE] = "no error: the record is not complete yet",
	    [REC_HEAD] = "no error: the beginning of a long record",
	    [REC_RECORD] = "no error: a complete record",
	    [REC_TOOBIG] = "a record mark announces more bytes than a request may have; the peer "
			   "does not speak "
			   "NFS or was mounted with a larger wsize than the server offers",
	    [REC_TOOSMALL] = "a record is too short to be an RPC call; the peer does not speak NFS",
	    [REC_FRAGMENTS] =
		"a record comes in too many or in empty fragments; the peer is broken or hostile",
	    [REC_NOMEM] = "out of memory for a request that is being received",
	};

	return (size_t)st < sizeof text / sizeof *text ? text[st] : "unknown";
}
