/* SPDX-License-Identifier: BSD-2-Clause */
#include "rec.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { MAX = 100000, SCRATCH = 8192 };
#define LAST 0x80000000u

/* Counts what rec takes, and fails when told to. */
struct counter {
	size_t now, peak, biggest, gets;
	size_t fail_at; /* which get fails, 0: none */
};

static void *
count_get(void *arg, size_t n)
{
	struct counter *c = arg;

	if (++c->gets == c->fail_at)
		return NULL;
	c->now += n;
	c->peak = c->now > c->peak ? c->now : c->peak;
	c->biggest = n > c->biggest ? n : c->biggest;
	return malloc(n);
}

static void
count_put(void *arg, void *p, size_t n)
{
	((struct counter *)arg)->now -= n;
	free(p);
}

/* A stream to be fed, and what came out of it. */
struct rig {
	struct counter count;
	struct rec_mem mem;
	struct rec rec;
	char *scratch;
	char *stream;
	size_t len, size;
	size_t nrecords, inplace;
	uint32_t sum; /* over lengths and bytes of all records */
	size_t total; /* bytes in all records */
	enum rec_status status;
};

static void
open_rig(struct rig *t)
{
	memset(t, 0, sizeof *t);
	t->mem = (struct rec_mem){count_get, count_put, &t->count};
	rec_init(&t->rec, MAX, &t->mem);
	t->scratch = aligned_alloc(8, SCRATCH);
	t->size = 1 << 20;
	t->stream = malloc(t->size);
}

/* Gives everything back; nothing may be held after that. */
static void
close_rig(struct rig *t)
{
	rec_fini(&t->rec);
	CU_ASSERT_EQUAL(t->count.now, 0);
	free(t->scratch);
	free(t->stream);
}

static uint32_t
mix(uint32_t sum, const char *p, size_t n)
{
	sum = sum * 31 + (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)p[i];
	return sum;
}

static void
put_mark(struct rig *t, uint32_t mark)
{
	mark = htobe32(mark);
	memcpy(t->stream + t->len, &mark, 4);
	t->len += 4;
}

/* Appends a fragment of n bytes that count up from first. */
static void
put_fragment(struct rig *t, uint32_t n, uint32_t last, unsigned first)
{
	put_mark(t, n | last);
	for (uint32_t i = 0; i < n; i++)
		t->stream[t->len++] = (char)(first + i);
}

static void
take_records(struct rig *t)
{
	struct rec_msg m;

	while ((t->status = rec_next(&t->rec, &m)) == REC_RECORD) {
		CU_ASSERT_EQUAL((uintptr_t)m.base & 3, 0);
		CU_ASSERT_EQUAL(m.cap == 0,
				m.base >= t->scratch && m.base + m.len <= t->scratch + SCRATCH);
		t->sum = mix(t->sum, m.base, m.len);
		t->nrecords++;
		t->total += m.len;
		t->inplace += m.cap == 0;
		memset(m.base, 0xee, m.len); /* it is ours to write on */
		rec_put(&t->mem, &m);
	}
}

/* Receives the stream at most step bytes at a time (0: as many as there is room for), as a readv
 * would. */
static void
run(struct rig *t, size_t step)
{
	struct iovec iov[2];

	for (size_t at = 0; at < t->len && t->status <= REC_RECORD;) {
		int n = rec_iov(&t->rec, t->scratch, SCRATCH, iov);
		size_t got = 0;

		for (int i = 0; i < n; i++) {
			size_t k = iov[i].iov_len;

			CU_ASSERT(k > 0);
			k = k < t->len - at ? k : t->len - at;
			k = step && k > step - got ? step - got : k;
			memcpy(iov[i].iov_base, t->stream + at, k);
			at += k;
			got += k;
		}
		rec_feed(&t->rec, got);
		take_records(t);
	}
}

/* Runs a stream of one mark and n bytes; how did it end? */
static enum rec_status
one_mark(uint32_t mark, uint32_t n, struct counter *count)
{
	struct rig t;

	open_rig(&t);
	put_mark(&t, mark);
	memset(t.stream + t.len, 'x', n);
	t.len += n;
	run(&t, 0);
	enum rec_status st = t.nrecords ? REC_RECORD : t.status;

	*count = t.count;
	close_rig(&t);
	return st;
}

/* Records that arrive whole are handed out where they lie: no allocation, and nothing is held
 * afterwards. */
TEST(rec, whole_records_cost_nothing)
{
	struct rig t;

	open_rig(&t);
	uint32_t sum = 0;

	for (unsigned i = 0; i < 50; i++) {
		put_fragment(&t, 100, LAST, i);
		sum = mix(sum, t.stream + t.len - 100, 100);
	}
	run(&t, 0);
	CU_ASSERT_EQUAL(t.nrecords, 50);
	CU_ASSERT_EQUAL(t.inplace, 50);
	CU_ASSERT_EQUAL(t.sum, sum);
	CU_ASSERT_EQUAL(t.count.gets, 0);
	CU_ASSERT_EQUAL(rec_held(&t.rec), 0);
	close_rig(&t);
}

/* Records of every length and shape, odd ones too, come out the same however the stream is cut: 1
 * byte at a time to all at once. */
TEST(rec, any_segmentation)
{
	static const size_t steps[] = {1, 2, 3, 4, 5, 7, 13, 64, 1000, 1448, 5000, 0};
	uint32_t sum = 0;

	for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
		struct rig t;

		open_rig(&t);
		for (uint32_t n = 8; n < 40; n++)
			put_fragment(&t, n, LAST, n);
		for (uint32_t n = 8; n < 40000; n = n * 3 + 1) {
			put_fragment(&t, n, 0, n);
			put_fragment(&t, 0, 0, 0);
			put_fragment(&t, n / 2, 0, n);
			put_fragment(&t, n & 1, LAST, n);
			put_fragment(&t, n, LAST, n);
		}
		run(&t, steps[s]);
		sum = s ? sum : t.sum;
		CU_ASSERT_EQUAL(t.status, REC_MORE);
		CU_ASSERT_EQUAL(t.nrecords, 32 + 2 * 8);
		CU_ASSERT_EQUAL(t.sum, sum);
		CU_ASSERT_EQUAL(rec_held(&t.rec), 0);
		close_rig(&t);
	}
}

/* Fragments are put together byte for byte. */
TEST(rec, reassembly)
{
	struct rig t;

	open_rig(&t);
	put_fragment(&t, 5, 0, 'a');
	put_fragment(&t, 3, 0, 'f');
	put_fragment(&t, 4, LAST, 'i');
	run(&t, 1);
	CU_ASSERT_EQUAL(t.nrecords, 1);
	CU_ASSERT_EQUAL(t.sum, mix(0, "abcdefghijkl", 12));
	close_rig(&t);
}

/* A large record is received into its own final buffer: once that is full size, nothing of it
 * passes through scratch. */
TEST(rec, direct_receive)
{
	struct rig t;
	struct iovec iov[2];
	struct rec_msg m;

	open_rig(&t);
	put_fragment(&t, 90000, LAST, 1);
	rec_iov(&t.rec, t.scratch, SCRATCH, iov);
	memcpy(iov[0].iov_base, t.stream, SCRATCH);
	rec_feed(&t.rec, SCRATCH);
	CU_ASSERT_EQUAL(rec_next(&t.rec, &m), REC_MORE);
	CU_ASSERT_EQUAL_FATAL(rec_iov(&t.rec, t.scratch, SCRATCH, iov), 2);
	CU_ASSERT_EQUAL(iov[0].iov_len, 90000 - (SCRATCH - 4));
	CU_ASSERT_PTR_EQUAL(iov[1].iov_base, t.scratch);
	char *rest = iov[0].iov_base;

	memcpy(rest, t.stream + SCRATCH, iov[0].iov_len);
	rec_feed(&t.rec, iov[0].iov_len);
	CU_ASSERT_EQUAL_FATAL(rec_next(&t.rec, &m), REC_RECORD);
	CU_ASSERT_PTR_EQUAL(m.base + SCRATCH - 4, rest);
	CU_ASSERT_EQUAL(m.len, 90000);
	CU_ASSERT_EQUAL(memcmp(m.base, t.stream + 4, 90000), 0);
	CU_ASSERT_EQUAL(t.count.gets, 1);
	rec_put(&t.mem, &m);
	close_rig(&t);
}

/* While a buffer is smaller than its fragment only the buffer is read into: the rest waits until it
 * may be full size. */
TEST(rec, growing_buffer)
{
	struct rig t;
	struct iovec iov[2];

	open_rig(&t);
	put_fragment(&t, 90000, LAST, 1);
	rec_iov(&t.rec, t.scratch, SCRATCH, iov);
	memcpy(iov[0].iov_base, t.stream, 4 + 100);
	rec_feed(&t.rec, 4 + 100);
	take_records(&t);
	CU_ASSERT_EQUAL(rec_held(&t.rec), 100 * REC_AHEAD);
	CU_ASSERT_EQUAL(rec_iov(&t.rec, t.scratch, SCRATCH, iov), 1);
	CU_ASSERT_EQUAL(iov[0].iov_len, 100 * REC_AHEAD - 100);
	memcpy(iov[0].iov_base, t.stream + 4 + 100, iov[0].iov_len);
	rec_feed(&t.rec, iov[0].iov_len);
	take_records(&t);
	CU_ASSERT_EQUAL(rec_held(&t.rec), 90000);
	CU_ASSERT_EQUAL(rec_iov(&t.rec, t.scratch, SCRATCH, iov), 2);
	close_rig(&t);
}

/* A record that was handed out in a buffer of its own outlives its connection. */
TEST(rec, ownership)
{
	struct rig t;
	struct rec_msg m;
	struct iovec iov[2];

	open_rig(&t);
	put_fragment(&t, 20, LAST, 'a');
	for (size_t i = 0; i < t.len; i++) {
		CU_ASSERT_NOT_EQUAL(rec_next(&t.rec, &m), REC_RECORD);
		rec_iov(&t.rec, t.scratch, SCRATCH, iov);
		memcpy(iov[0].iov_base, t.stream + i, 1);
		rec_feed(&t.rec, 1);
	}
	CU_ASSERT_EQUAL_FATAL(rec_next(&t.rec, &m), REC_RECORD);
	rec_fini(&t.rec);
	CU_ASSERT(m.cap >= 20);
	CU_ASSERT_EQUAL(memcmp(m.base, "abcdefghijklmnopqrst", 20), 0);
	rec_put(&t.mem, &m);
	CU_ASSERT_EQUAL(m.cap, 0);
	close_rig(&t);
}

/* Marks at and around every bound: the refused ones are refused by the mark alone, before a byte is
 * allocated. */
TEST(rec, marks)
{
	struct counter c;

	CU_ASSERT_EQUAL(one_mark(LAST | 0, 0, &c), REC_TOOSMALL);
	CU_ASSERT_EQUAL(one_mark(LAST | 1, 1, &c), REC_TOOSMALL);
	CU_ASSERT_EQUAL(one_mark(LAST | 7, 7, &c), REC_TOOSMALL);
	CU_ASSERT_EQUAL(one_mark(LAST | 8, 8, &c), REC_RECORD);
	CU_ASSERT_EQUAL(one_mark(LAST | 8, 7, &c), REC_MORE);
	CU_ASSERT_EQUAL(one_mark(0, 0, &c), REC_MORE);
	CU_ASSERT_EQUAL(one_mark(1, 1, &c), REC_MORE);
	CU_ASSERT_EQUAL(one_mark(LAST | MAX, MAX, &c), REC_RECORD);
	static const uint32_t refused[] = {MAX + 1, 0x7ffffffe, 0x7fffffff};

	for (int i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(one_mark(refused[i / 2] | (i & 1 ? LAST : 0), 1000, &c),
				REC_TOOBIG);
		CU_ASSERT_EQUAL(c.gets, 0);
	}
}

/* Fragments add up: the limit holds for their sum, in whatever pieces, without overflow. */
TEST(rec, sum_of_fragments)
{
	for (uint32_t extra = 0; extra < 2; extra++) {
		struct rig t;

		open_rig(&t);
		put_fragment(&t, MAX - 10, 0, 0);
		put_fragment(&t, 10 + extra, LAST, 0);
		run(&t, 0);
		CU_ASSERT_EQUAL(t.nrecords, 1 - extra);
		CU_ASSERT_EQUAL(t.status, extra ? REC_TOOBIG : REC_MORE);
		close_rig(&t);
	}
	struct rig t;

	open_rig(&t);
	put_fragment(&t, 10, 0, 0);
	put_mark(&t, LAST | 0x7fffffff);
	run(&t, 0);
	CU_ASSERT_EQUAL(t.status, REC_TOOBIG);
	close_rig(&t);
}

/* 64 fragments make a record, 65 do not; the count begins again with each record. */
TEST(rec, fragment_count)
{
	for (unsigned n = 64; n <= 65; n++) {
		struct rig t;

		open_rig(&t);
		for (unsigned twice = 0; twice < 2; twice++)
			for (unsigned i = 1; i <= n; i++)
				put_fragment(&t, 10, i == n ? LAST : 0, i);
		run(&t, 100);
		CU_ASSERT_EQUAL(t.nrecords, n == 64 ? 2 : 0);
		CU_ASSERT_EQUAL(t.total, n == 64 ? 1280 : 0);
		CU_ASSERT_EQUAL(t.status, n == 64 ? REC_MORE : REC_FRAGMENTS);
		close_rig(&t);
	}
}

/* 16 empty fragments in a row are borne, 17 or ten thousand are not, and they cost no memory. */
TEST(rec, empty_fragments)
{
	static const int counts[] = {16, 17, 10000};

	for (int i = 0; i < 3; i++) {
		struct rig t;

		open_rig(&t);
		for (int k = 0; k < counts[i]; k++)
			put_mark(&t, 0);
		put_fragment(&t, 20, LAST, 0);
		run(&t, 0);
		CU_ASSERT_EQUAL(t.nrecords, i == 0);
		CU_ASSERT_EQUAL(t.status, i == 0 ? REC_MORE : REC_FRAGMENTS);
		CU_ASSERT_EQUAL(t.count.gets, 0);
		close_rig(&t);
	}
}

/* Empty fragments that are not in a row are only counted as fragments. */
TEST(rec, scattered_empty_fragments)
{
	struct rig t;

	open_rig(&t);
	for (unsigned i = 0; i < 20; i++) {
		put_fragment(&t, 0, 0, 0);
		put_fragment(&t, 3, i == 19 ? LAST : 0, i);
	}
	run(&t, 0);
	CU_ASSERT_EQUAL(t.nrecords, 1);
	CU_ASSERT_EQUAL(t.total, 60);
	close_rig(&t);
}

/* A buffer follows what was sent, not what was announced: a large mark with few bytes after it
 * costs the minimum. */
TEST(rec, no_memory_for_promises)
{
	struct counter c;

	CU_ASSERT_EQUAL(one_mark(LAST | MAX, 0, &c), REC_MORE);
	CU_ASSERT_EQUAL(c.peak, 0);
	CU_ASSERT_EQUAL(one_mark(LAST | MAX, 1, &c), REC_MORE);
	CU_ASSERT_EQUAL(c.peak, REC_BUF_MIN);
	for (uint32_t n = 1; n < MAX; n += 997) {
		CU_ASSERT_EQUAL(one_mark(LAST | MAX, n, &c), REC_MORE);
		CU_ASSERT(c.biggest <= REC_BUF_MIN || c.biggest <= (size_t)REC_AHEAD * n);
		CU_ASSERT(c.biggest <= MAX);
	}
}

/* However slowly a record comes in, its buffer grows a few times only. */
TEST(rec, growth_is_rare)
{
	for (uint32_t nfrag = 1; nfrag <= 50; nfrag += 49) {
		struct rig t;

		open_rig(&t);
		for (uint32_t i = 1; i <= nfrag; i++)
			put_fragment(&t, MAX / nfrag, i == nfrag ? LAST : 0, i);
		run(&t, 100);
		CU_ASSERT_EQUAL(t.nrecords, 1);
		CU_ASSERT(t.count.gets <= 8);
		close_rig(&t);
	}
}

/* Who sends large records has them received where they stay: only headers pass through scratch. */
TEST(rec, large_records_are_received_in_place)
{
	enum { N = 10, SIZE = 50000 };
	struct rig t;
	struct iovec iov[2];
	size_t aside = 0; /* bytes that came into scratch, and are copied */

	open_rig(&t);
	for (int i = 0; i < N; i++)
		put_fragment(&t, SIZE, LAST, (unsigned)i);
	for (size_t at = 0; at < t.len;) {
		int n = rec_iov(&t.rec, t.scratch, SCRATCH, iov);
		size_t got = 0;

		for (int i = 0; i < n; i++) {
			size_t k = iov[i].iov_len < t.len - at ? iov[i].iov_len : t.len - at;

			memcpy(iov[i].iov_base, t.stream + at, k);
			at += k;
			got += k;
		}
		if (t.nrecords > 0)
			aside += got - (got < t.rec.direct ? got : t.rec.direct);
		rec_feed(&t.rec, got);
		take_records(&t);
	}
	CU_ASSERT_EQUAL(t.nrecords, N);
	CU_ASSERT(aside <= (N - 1) * REC_PEEK);
	CU_ASSERT(t.count.gets <= N + 2);
	close_rig(&t);
}

/* A mark cut after k bytes continues k bytes into scratch, so that the record after it is aligned
 * without being moved. */
TEST(rec, half_marks_keep_alignment)
{
	for (size_t k = 0; k < 4; k++) {
		struct rig t;
		struct iovec iov[2];

		open_rig(&t);
		t.stream[0] = t.stream[1] = t.stream[2] = 0;
		rec_iov(&t.rec, t.scratch, SCRATCH, iov);
		memcpy(iov[0].iov_base, t.stream, k);
		rec_feed(&t.rec, k);
		take_records(&t);
		CU_ASSERT_EQUAL(rec_iov(&t.rec, t.scratch, SCRATCH, iov), 1);
		CU_ASSERT_PTR_EQUAL(iov[0].iov_base, t.scratch + k);
		CU_ASSERT_EQUAL(iov[0].iov_len, SCRATCH - k);
		close_rig(&t);
	}
}

/* An error is final: whatever comes after it is not looked at. */
TEST(rec, errors_stick)
{
	struct rig t;
	struct rec_msg m;

	open_rig(&t);
	put_mark(&t, LAST | 3);
	run(&t, 0);
	CU_ASSERT_EQUAL(t.status, REC_TOOSMALL);
	struct iovec iov[2];

	rec_iov(&t.rec, t.scratch, SCRATCH, iov);
	t.len = 0;
	put_fragment(&t, 20, LAST, 0);
	memcpy(iov[0].iov_base, t.stream, t.len);
	rec_feed(&t.rec, t.len);
	CU_ASSERT_EQUAL(rec_next(&t.rec, &m), REC_TOOSMALL);
	CU_ASSERT_EQUAL(m.len, 0);
	close_rig(&t);
}

/* When memory ends, at whichever allocation, the stream ends with REC_NOMEM and nothing is lost. */
TEST(rec, out_of_memory)
{
	for (size_t at = 1; at <= 3; at++) {
		struct rig t;

		open_rig(&t);
		t.count.fail_at = at;
		for (uint32_t i = 0; i < 3; i++)
			put_fragment(&t, 30000, LAST, i);
		run(&t, 50);
		CU_ASSERT_EQUAL(t.status, REC_NOMEM);
		CU_ASSERT(t.count.gets == at);
		close_rig(&t);
	}
}

/* Every status has a sentence, and so has a number that is none. */
TEST(rec, sentences)
{
	for (int st = REC_MORE; st <= REC_NOMEM; st++)
		CU_ASSERT(strlen(rec_strerror((enum rec_status)st)) > 10);
	CU_ASSERT_PTR_NOT_NULL(rec_strerror((enum rec_status)99));
}
