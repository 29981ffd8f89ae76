/* SPDX-License-Identifier: BSD-2-Clause */
#include "counter.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PROG = 0x20000d0c, VERS = 1 };

struct counted *svc;

bool_t
xdr_add_args(XDR *x, struct add_args *a)
{
	return xdr_u_int(x, &a->token);
}

bool_t
xdr_add_res(XDR *x, struct add_res *r)
{
	return xdr_u_int(x, &r->status) && xdr_u_int(x, &r->ran) && xdr_u_int(x, &r->crash) &&
	       xdr_uint64_t(x, &r->intent);
}

unsigned
load(const unsigned *n)
{
	return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

void
until(const unsigned *n, unsigned least)
{
	while (load(n) < least)
		sched_yield();
}

void
set_hold(bool yes)
{
	__atomic_store_n(&svc->hold, yes, __ATOMIC_RELEASE);
}

static int
nothing(struct call *c)
{
	(void)c;
	return 0;
}

int
counter_add(struct call *c)
{
	const struct add_args *a = c->args;
	struct add_res *r = c->res;

	r->ran = __atomic_add_fetch(&svc->ran[a->token % TOKENS], 1, __ATOMIC_ACQ_REL);
	r->crash = c->after_crash;
	r->intent = c->intent_ns;
	return 0;
}

static int
hold(struct call *c)
{
	counter_add(c);
	__atomic_add_fetch(&svc->inside, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&svc->hold, __ATOMIC_ACQUIRE))
		sched_yield();
	return 0;
}

static int
later(struct call *c)
{
	hold(c);
	c->again = true;
	return FAILURE;
}

static int
fail(struct call *c)
{
	counter_add(c);
	return FAILURE;
}

static const struct row rows[PROCS] = {
    [P_NULL] = {.name = "NULL", .fn = nothing, .anyone = true},
    [P_ADD] = ADD_ROW("ADD", counter_add, true),
    [P_PLAIN] = ADD_ROW("PLAIN", counter_add, false),
    [P_HOLD] = ADD_ROW("HOLD", hold, true),
    [P_LATER] = ADD_ROW("LATER", later, true),
    [P_FAIL] = ADD_ROW("FAIL", fail, true),
    [P_OTHER] = ADD_ROW("OTHER", counter_add, true),
};

static const struct row *
get_rows(uint32_t version, unsigned *n)
{
	(void)version;
	*n = PROCS;
	return rows;
}

static int
begin(struct call *c)
{
	const struct add_args *a = c->args;

	if (!c->row->res_xdr)
		return 0;
	__atomic_add_fetch(&svc->begun, 1, __ATOMIC_ACQ_REL);
	until(&svc->begun, svc->meet);
	return a->token == REFUSED_TOKEN ? REFUSAL : 0;
}

static int
end(struct call *c, int status)
{
	if (c->row->res_xdr)
		((struct add_res *)c->res)->status = (uint32_t)status;
	return 0;
}

static const struct program counting = {
    .number = PROG, .low = VERS, .high = VERS, .rows = get_rows, .begin = begin, .end = end};
static const struct program *const programs[] = {&counting, NULL};

/* ---- the bed, with that program and a cache ---- */

struct drc *
open_drc(struct bed *b)
{
	char state[80], msg[400];
	struct drc *d;

	snprintf(state, sizeof state, "%s/state", b->base);
	d = drc_open(state, NULL, msg, sizeof msg);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	CU_ASSERT_STRING_EQUAL(msg, "");
	return d;
}

struct bed *
begin_test(void)
{
	struct bed *b = bed_new(NULL);
	char err[200];

	svc = mmap(NULL, sizeof *svc, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(svc != MAP_FAILED);
	b->engine.programs = programs;
	b->engine.drc = open_drc(b);
	CU_ASSERT_EQUAL(engine_check(&b->engine, err, sizeof err), 0);
	return b;
}

void
end_test(struct bed *b)
{
	struct drc_info info;

	drc_info(b->engine.drc, &info);
	CU_ASSERT_EQUAL(info.running, 0);
	drc_close(b->engine.drc);
	munmap(svc, sizeof *svc);
	bed_free(b);
}

void
record(struct bed *b, uint32_t proc, uint32_t token)
{
	struct add_args a = {token};

	bed_record(b, PROG, VERS, proc, (xdrproc_t)xdr_add_args, &a);
}

struct add_res
run(struct bed *b)
{
	struct add_res r = {.status = 999};

	bed_run(b, BED_LOOP);
	bed_results(b, (xdrproc_t)xdr_add_res, &r);
	return r;
}
