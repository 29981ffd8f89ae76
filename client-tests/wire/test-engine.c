/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine alone, under a program made for it: whatever a procedure answers, no body of it is
 * left behind or sent by mistake. */
#include <string.h>

#include "buf.h"
#include "lib/bed.h"

enum { PROG = 0x20000001, BODY = 8192 };

/* What the procedure does this time, and how often it was asked. */
static int answer;
static unsigned runs;

/* Takes a body as READDIR does, then answers. */
static int
with_body(struct call *c)
{
	runs++;
	c->body_mem = buf_take(BODY);
	c->body_cap = BODY;
	memset(c->body_mem, 'x', BODY);
	c->body = (payload){.len = 10, .fd = -1, .base = c->body_mem};
	return answer;
}

static int
too_much(void *xdrs, void *res)
{
	static char zeros[CALL_HEAD + 1];

	(void)res;
	return xdr_opaque(xdrs, zeros, sizeof zeros);
}

static const struct row rows[] = {
    {.name = "BODY", .fn = with_body, .anyone = true},
    {.name = "SLEEPS", .fn = with_body, .anyone = true, .sleeps = true},
    {.name = "TOOMUCH", .fn = with_body, .anyone = true, .res_xdr = too_much, .res_size = 4},
};

static const struct row *
versions(uint32_t version, unsigned *n)
{
	(void)version;
	*n = 3;
	return rows;
}

static const struct program program = {.number = PROG, .low = 1, .high = 1, .rows = versions};
static const struct program *const programs[] = {&program, NULL};

static struct bed *
make(void)
{
	struct bed *b = bed_new(NULL);

	b->engine.programs = programs;
	runs = 0;
	return b;
}

static int
run(struct bed *b, uint32_t proc, enum bed_mode mode)
{
	bed_record(b, PROG, 1, proc, NULL, NULL);
	bed_run(b, mode);
	return bed_outcome(b, NULL);
}

/* Success: the body follows the head, padded to a multiple of four. */
TEST(wire_engine, body)
{
	struct bed *b = make();

	answer = 0;
	CU_ASSERT_EQUAL(run(b, 0, BED_WORKER), OUT_ACCEPTED + SUCCESS);
	CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD + 10 + 2);
	CU_ASSERT_EQUAL(memcmp(b->reply.buf + RPC_HEAD, "xxxxxxxxxx\0\0", 12), 0);
	CU_ASSERT_FALSE(b->reply.failed);
	bed_free(b);
}

/* A status that is no success sends no body, though the procedure had one. */
TEST(wire_engine, failed_with_body)
{
	struct bed *b = make();

	answer = NFS3ERR_IO;
	CU_ASSERT_EQUAL(run(b, 0, BED_WORKER), OUT_ACCEPTED + SUCCESS);
	CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD);
	CU_ASSERT_TRUE(b->reply.failed);
	bed_free(b);
}

/* A procedure that would sleep after it took a body leaves nothing to the worker that runs it
 * again. */
TEST(wire_engine, sleeps_with_body)
{
	struct bed *b = make();
	size_t before = budget_used();
	struct call *c = b->call;

	answer = ESLEEP;
	bed_record(b, PROG, 1, 0, NULL, NULL);
	c->peer = &b->peer;
	c->rec = b->rec;
	c->reclen = b->reclen;
	CU_ASSERT_EQUAL(call_run(c), CALL_SLEEPS);
	CU_ASSERT_EQUAL(budget_used(), before);
	CU_ASSERT_PTR_NULL(c->body_mem);
	CU_ASSERT_EQUAL(c->body.len, 0);
	CU_ASSERT_PTR_NULL(c->table);
	bed_free(b);
}

/* A worker may sleep; a procedure that says no all the same would be asked for ever, so the answer
 * is SYSTEM_ERR. */
TEST(wire_engine, sleeps_in_a_worker)
{
	struct bed *b = make();

	answer = ESLEEP;
	CU_ASSERT_EQUAL(run(b, 0, BED_WORKER), OUT_ACCEPTED + SYSTEM_ERR);
	CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD);
	CU_ASSERT_EQUAL(runs, 1);
	bed_free(b);
}

/* A row that sleeps is never begun on a loop. */
TEST(wire_engine, sleeping_rows)
{
	struct bed *b = make();

	answer = 0;
	CU_ASSERT_EQUAL(run(b, 1, BED_LOOP), OUT_ACCEPTED + SUCCESS);
	CU_ASSERT_TRUE(b->reply.slept);
	CU_ASSERT_EQUAL(runs, 1);
	bed_free(b);
}

/* No memory for a result, and a result that does not fit, are SYSTEM_ERR without a body. */
TEST(wire_engine, system_err)
{
	struct bed *b = make();

	answer = ESYSTEM;
	CU_ASSERT_EQUAL(run(b, 0, BED_LOOP), OUT_ACCEPTED + SYSTEM_ERR);
	CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD);
	answer = 0;
	CU_ASSERT_EQUAL(run(b, 2, BED_LOOP), OUT_ACCEPTED + SYSTEM_ERR);
	CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD);
	CU_ASSERT_TRUE(b->reply.failed);
	bed_free(b);
}

/* Before there is a table there is nothing to serve, and that is said. */
TEST(wire_engine, no_table)
{
	struct bed *b = make();
	struct export_table *t = engine_table(&b->engine);
	struct call *c = b->call;

	engine_swap_table(&b->engine, NULL);
	answer = 0;
	bed_record(b, PROG, 1, 0, NULL, NULL);
	c->peer = &b->peer;
	c->rec = b->rec;
	c->reclen = b->reclen;
	CU_ASSERT_EQUAL(call_run(c), CALL_REPLY);
	CU_ASSERT_EQUAL(bed_get32(c->head + 24), SYSTEM_ERR);
	CU_ASSERT_EQUAL(runs, 0);
	call_reset(c);
	engine_swap_table(&b->engine, t);
	bed_free(b);
}

/* Running a record again (a file shrank: copy this time) begins anew; the first run's body is given
 * back. */
TEST(wire_engine, run_again)
{
	struct bed *b = make();
	struct call *c = b->call;
	size_t once;

	answer = 0;
	bed_record(b, PROG, 1, 0, NULL, NULL);
	c->peer = &b->peer;
	c->rec = b->rec;
	c->reclen = b->reclen;
	CU_ASSERT_EQUAL(call_run(c), CALL_REPLY);
	once = budget_used();
	CU_ASSERT_EQUAL(call_run(c), CALL_REPLY);
	CU_ASSERT_EQUAL(budget_used(), once);
	CU_ASSERT_EQUAL(runs, 2);
	bed_free(b);
}
