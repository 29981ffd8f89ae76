/* SPDX-License-Identifier: BSD-2-Clause */
/* Records whose heads are seen before their rest is received (rec_expect). */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "check.h"
#include "rec.h"

enum { HEAD = 100, LONG = 60000, SCRATCH = 8192, RECORDS = 24, FROM = 30000 };

/* What is done with a head: ignored, its record's rest taken past rec, or half of it and then given
 * back. */
enum way { REFUSE, DIVERT, RETURN };

struct rig {
	struct rec rec;
	char *scratch, *stream;
	size_t len, at, step;
	enum way way;
	unsigned heads, records;
	char *whole; /* a diverted record */
	size_t whole_len;
};

static size_t
length_of(unsigned i)
{
	return i % 5 == 4 ? 40 : i % 7 == 6 ? HEAD + 4 : LONG - 4 * (size_t)i;
}

static char
byte_of(unsigned i, size_t at)
{
	return (char)(i * 37 + at * 11 + at / 251);
}

static void
open_rig(struct rig *t, enum way way, size_t step)
{
	*t = (struct rig){.way = way, .step = step};
	rec_init(&t->rec, LONG, NULL);
	t->scratch = aligned_alloc(8, SCRATCH);
	t->stream = malloc((size_t)RECORDS * (LONG + 4));
	t->whole = malloc(LONG);
	for (unsigned i = 0; i < RECORDS; i++) {
		uint32_t mark = htobe32(0x80000000u | (uint32_t)length_of(i));

		memcpy(t->stream + t->len, &mark, 4);
		t->len += 4;
		for (size_t k = 0; k < length_of(i); k++)
			t->stream[t->len++] = byte_of(i, k);
	}
	rec_expect(&t->rec, HEAD, FROM);
}

static void
close_rig(struct rig *t)
{
	CU_ASSERT_EQUAL(t->records, RECORDS);
	rec_fini(&t->rec);
	free(t->scratch);
	free(t->stream);
	free(t->whole);
}

/* The next record is this one. */
static void
check_record(struct rig *t, const char *p, size_t n)
{
	bool same = n == length_of(t->records);

	for (size_t k = 0; same && k < n; k++)
		same = p[k] == byte_of(t->records, k);
	CU_ASSERT_TRUE(same);
	t->records++;
}

static void
on_head(struct rig *t, const struct rec_msg *m)
{
	t->heads++;
	CU_ASSERT_EQUAL(m->len, HEAD);
	CU_ASSERT_EQUAL((uintptr_t)m->base & 3, 0);
	CU_ASSERT(length_of(t->records) >= FROM);
	if (t->way == REFUSE)
		return;
	memcpy(t->whole, m->base, m->len);
	t->whole_len = m->len;
	rec_divert(&t->rec);
	CU_ASSERT_EQUAL(rec_away(&t->rec), length_of(t->records) - HEAD);
}

/* Some bytes of a diverted record. */
static void
pass(struct rig *t)
{
	size_t left = rec_away(&t->rec), n = t->step && t->step < left ? t->step : left;

	if (t->way == RETURN && t->whole_len > LONG / 2) {
		size_t all = t->whole_len + left;
		char *buf = buf_take(all);

		CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
		memcpy(buf, t->whole, t->whole_len);
		rec_return(&t->rec, buf, all, t->whole_len);
		return;
	}
	if (t->way == RETURN && n == left)
		n = (left + 1) / 2;
	memcpy(t->whole + t->whole_len, t->stream + t->at, n);
	t->at += n;
	t->whole_len += n;
	rec_passed(&t->rec, n);
	if (rec_away(&t->rec) == 0)
		check_record(t, t->whole, t->whole_len);
}

static void
take(struct rig *t)
{
	enum rec_status st;
	struct rec_msg m;

	while ((st = rec_next(&t->rec, &m)) != REC_MORE && !rec_away(&t->rec)) {
		CU_ASSERT_FATAL(st <= REC_RECORD);
		if (st == REC_RECORD) {
			check_record(t, m.base, m.len);
			rec_put(NULL, &m);
			continue;
		}
		on_head(t, &m);
		if (rec_away(&t->rec))
			return;
	}
}

static void
receive(struct rig *t)
{
	struct iovec iov[2];
	size_t got = 0;
	int n = rec_iov(&t->rec, t->scratch, SCRATCH, iov);

	for (int i = 0; i < n; i++) {
		size_t k = iov[i].iov_len < t->len - t->at ? iov[i].iov_len : t->len - t->at;

		k = t->step && k > t->step - got ? t->step - got : k;
		memcpy(iov[i].iov_base, t->stream + t->at, k);
		t->at += k;
		got += k;
	}
	rec_feed(&t->rec, got);
	take(t);
}

static unsigned
run(enum way way, size_t step)
{
	struct rig t;

	open_rig(&t, way, step);
	while (t.records < RECORDS && (t.at < t.len || rec_away(&t.rec)))
		if (rec_away(&t.rec))
			pass(&t);
		else
			receive(&t);
	close_rig(&t);
	return t.heads;
}

/* Whatever is done with the heads, and however the stream is cut, every record is whole and in its
 * place, long ones and others. */
TEST(rec_head, every_way_in_every_step)
{
	static const size_t steps[] = {0, 1, 3, 99, 104, 105, 1000, 4096, 8191, 20000};

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		for (enum way w = REFUSE; w <= RETURN; w++)
			run(w, steps[i]);
}

/* Where the stream allows it, heads are asked for, and only once each. */
TEST(rec_head, heads_are_seen)
{
	for (enum way w = REFUSE; w <= RETURN; w++) {
		unsigned heads = run(w, 0);

		CU_ASSERT(heads >= RECORDS / 3);
		CU_ASSERT(heads < RECORDS);
	}
}

/* rec_expect of nothing, or of more than fits, asks for none. */
TEST(rec_head, none_wanted)
{
	struct rig t;

	for (size_t n = 0; n <= REC_EXPECT_MAX + 1; n += REC_EXPECT_MAX + 1) {
		open_rig(&t, REFUSE, 0);
		rec_expect(&t.rec, n, 0);
		while (t.records < RECORDS && t.at < t.len)
			receive(&t);
		CU_ASSERT_EQUAL(t.heads, 0);
		close_rig(&t);
	}
}
