/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One RPC call from record to encoded reply, in the order of RFC 5531 section 9: is it a call, are
 * its RPC version and credential acceptable, does the program, the version, the procedure exist, do
 * the arguments decode. Each no has its exact reply, and only what passed all of them meets a
 * protocol. From there on a failure is the protocol's own status inside an accepted reply, or
 * SYSTEM_ERR when this server itself is at fault.
 *
 * A row with `keep` is carried out once per call, however often the call comes (drc.h). Whether its
 * reply is known is asked first of all; that it is being carried out is written down as late as
 * possible, when the caller has been let in and only the procedure is left. What was refused before
 * that had no effect and is judged anew when it comes again.
 *
 * Everything the call needs lives in the call: decoding, running and encoding allocate nothing. A
 * run holds references (table, objects) only until it ends; what outlives it is the reply: head,
 * body, and the object the body is spliced from.
 */
#include "call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "buf.h"
#include "log.h"
#include "rpc.h"
#include "stat.h"

void
engine_init(struct engine *e)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	*e = (struct engine){.lock = PTHREAD_MUTEX_INITIALIZER,
			     .programs = call_programs,
			     .since_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec};
}

void
engine_fini(struct engine *e)
{
	engine_swap_table(e, NULL);
}

struct export_table *
engine_table(struct engine *e)
{
	struct export_table *t;

	/* pointer and count must be read together, or a swap could free the table in between */
	pthread_mutex_lock(&e->lock);
	t = e->table ? export_table_ref(e->table) : NULL;
	pthread_mutex_unlock(&e->lock);
	return t;
}

/* Never 0, and no number soon again. */
static void
new_generation(struct engine *e)
{
	e->generation = e->generation < TABLE_GEN_MAX ? e->generation + 1 : 1;
	if (e->table)
		__atomic_store_n(&e->table->gen, e->generation, __ATOMIC_RELAXED);
}

struct export_table *
engine_exchange_table(struct engine *e, struct export_table *t)
{
	struct export_table *old;

	pthread_mutex_lock(&e->lock);
	old = e->table;
	e->table = t;
	new_generation(e);
	pthread_mutex_unlock(&e->lock);
	return old;
}

void
engine_swap_table(struct engine *e, struct export_table *t)
{
	export_table_put(engine_exchange_table(e, t));
}

void
engine_renew_table(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
	new_generation(e);
	pthread_mutex_unlock(&e->lock);
}

static const char *
row_fault(const struct row *row)
{
	if (row->args_size + row->res_size > CALL_ARENA_ROW)
		return "arguments and result are larger than CALL_ARENA_ROW";
	if (RPC_HEAD + row->head > CALL_HEAD)
		return "the encoded result is larger than CALL_HEAD";
	if (row->head_xdr && (row->keep || row->args_size < row->data + sizeof(payload)))
		return "its bulk data can not wait in a pipe";
	if (row->keep && (row->bulk || RPC_HEAD + row->head > RING_REPLY))
		return "the reply to be kept is larger than RING_REPLY";
	if (!row->fn || !row->name || row->stat >= STAT_ROWS)
		return "the row has no function, name or counter";
	return NULL;
}

int
engine_check(const struct engine *e, char *err, size_t errlen)
{
	for (const struct program *const *p = e->programs; *p; p++)
		for (uint32_t v = (*p)->low; v <= (*p)->high; v++) {
			unsigned n = 0;
			const struct row *rows = (*p)->rows(v, &n);

			for (unsigned i = 0; rows && i < n; i++) {
				const char *fault = row_fault(&rows[i]);

				if (!fault)
					continue;
				snprintf(err, errlen, "program %u version %u procedure %u: %s",
					 (*p)->number, v, i, fault);
				return EINVAL;
			}
		}
	return 0;
}

void
call_batch_begin(struct call_batch *b)
{
	vfs_batch_begin(&b->vfs);
	b->table = NULL;
	b->ex = NULL;
	b->more = NULL;
}

void
call_batch_end(struct call_batch *b, struct engine *e)
{
	vfs_batch_end(&b->vfs, e->vfs->files);
	if (b->table)
		export_table_put(b->table);
	b->table = NULL;
	cred_groups_put(b->more);
	b->more = NULL;
}

/* One reference for a whole batch: the exports that its first call saw. */
static struct export_table *
take_table(struct call *c)
{
	struct call_batch *b = c->batch;

	if (!b)
		return engine_table(c->engine);
	if (!b->table)
		b->table = engine_table(c->engine);
	return b->table;
}

#define ERACED 4002 /* beside ESLEEP and ESYSTEM: another run of this call was faster */

static const payload no_body = {.len = 0, .fd = -1, .off = 0, .base = NULL};

/* What a run holds while it runs. */
static void
let_go(struct call *c)
{
	for (unsigned i = 0; i < CALL_OBJS; i++) {
		if (c->obj[i])
			obj_put(c->engine->vfs->files, c->obj[i]);
		c->obj[i] = NULL;
	}
	if (c->table && !c->batch) /* else it is the batch's */
		export_table_put(c->table);
	cred_groups_put(c->more);
	c->more = NULL;
	c->cred.more = NULL;
	c->table = NULL;
	c->rule = NULL;
	c->args = c->res = NULL;
}

static void
drop_body(struct call *c)
{
	buf_give(c->body_mem, c->body_cap);
	c->body_mem = NULL;
	c->body_cap = 0;
	c->tail = 0;
	if (c->body_obj)
		obj_put(c->engine->vfs->files, c->body_obj);
	c->body_obj = NULL;
	c->body = no_body;
	c->pad = 0;
}

static void
forget_run(struct call *c)
{
	let_go(c);
	drop_body(c);
	arena_init(&c->arena, c->arena_mem, sizeof c->arena_mem);
	c->headlen = 0;
	c->failed = false;
	c->bulk = 0;
	c->after_crash = c->again = false;
	c->intent_ns = 0;
}

void
call_init(struct call *c, struct engine *e)
{
	memset(c, 0,
	       offsetof(struct call, head)); /* the buffers are written before they are read */
	c->engine = e;
	c->pipe[0] = c->pipe[1] = c->data_pipe = -1;
	c->body = no_body;
}

void
call_reset(struct call *c)
{
	struct engine *e = c->engine;

	forget_run(c);
	call_init(c, e); /* row is forgotten here */
}

/* The reply is a refusal of n bytes in c->head. */
static enum call_verdict
refused(struct call *c, size_t n)
{
	drop_body(c);
	c->headlen = n;
	c->failed = true;
	stat_inc(ST_RPC_REFUSED);
	return CALL_REPLY;
}

static enum call_verdict
refused_with(struct call *c, enum accept_stat why)
{
	return refused(c, rpc_accepted(c->head, c->xid, why));
}

/* This server, not the caller, is at fault. */
static enum call_verdict
system_err(struct call *c, const char *why)
{
	static struct log_limit limit = {.burst = 5};

	if (log_may(&limit))
		log_error("call %s from %s: %s; answered SYSTEM_ERR", c->row->name, c->peer->text,
			  why);
	return refused_with(c, SYSTEM_ERR);
}

static const struct program *
find_program(const struct engine *e, uint32_t number)
{
	for (const struct program *const *p = e->programs; *p; p++)
		if ((*p)->number == number)
			return *p;
	return NULL;
}

static const struct row *
find_rows(const struct program *p, uint32_t version, unsigned *n)
{
	return version < p->low || version > p->high ? NULL : p->rows(version, n);
}

/* The identity as claimed. AUTH_NONE claims none: uid and gid -1, which no rule lets act but as its
 * anonymous user. */
static void
take_claim(struct call *c, const struct rpc_call *rc)
{
	bool sys = rc->flavor == AUTH_SYS;

	c->flavor = rc->flavor;
	c->claimed_uid = sys ? rc->sys.uid : UINT32_MAX;
	c->claimed_gid = sys ? rc->sys.gid : UINT32_MAX;
	c->cred = (struct cred){.uid = c->claimed_uid, .gid = c->claimed_gid};
	for (uint32_t i = 0; i < rc->sys.ngids && i < CRED_GROUPS_MAX; i++)
		c->cred.groups[c->cred.ngroups++] = rc->sys.gids[i];
}

/* The result behind the accepted header, then the record mark over everything. */
static enum call_verdict
encode(struct call *c)
{
	XDR x;
	size_t n = rpc_accepted(c->head, c->xid, SUCCESS);

	if (c->failed)
		drop_body(c); /* of a procedure that failed half-way */
	xdrmem_create(&x, c->head + n, (u_int)(sizeof c->head - n), XDR_ENCODE);
	if (c->row->res_xdr && !c->row->res_xdr(&x, c->res))
		return system_err(c, "the result does not fit the reply's head");
	c->headlen = n + xdr_getpos(&x);
	c->pad = (unsigned)wire_pad(c->body.len);
	rpc_set_mark(c->head, call_reply_len(c));
	return CALL_REPLY;
}

/* ---- once only ---- */

/* A call of a row with `keep`, while it runs. */
struct once {
	bool wanted; /* else nothing of this applies */
	struct drc_key key;
	struct drc_claim claim;
	bool mine;  /* claimed */
	bool raced; /* another run of the same call was faster */
};

static void
once_begin(const struct call *c, const struct rpc_call *rc, struct once *o)
{
	o->wanted = c->row->keep && c->engine->drc;
	o->mine = o->raced = false;
	if (o->wanted)
		drc_key_make(c->engine->drc, &o->key, &c->peer->addr, c->datagram, rc,
			     c->rec + rc->args_off, c->reclen - rc->args_off);
}

/* The call that this one repeats has ended. */
static void
woken(struct drc_waiter *w, const void *reply, size_t len, bool failed)
{
	struct call *c = (struct call *)((char *)w - offsetof(struct call, waiter));

	if (reply) {
		memcpy(c->head, reply, len);
		c->headlen = len;
		c->failed = failed;
	}
	c->wake(c, reply ? CALL_REPLY : CALL_SLEEPS);
}

/* Is it known? Then *v is the verdict, and after CALL_PARKED the call is not ours any more. */
static bool
once_known(struct call *c, const struct once *o, enum call_verdict *v)
{
	_Static_assert(CALL_HEAD >= RING_REPLY, "a kept reply does not fit the head");
	c->waiter.wake = woken;
	switch (drc_look(c->engine->drc, &o->key, c->head, &c->headlen, &c->failed,
			 c->wake ? &c->waiter : NULL)) {
	case DRC_MISS:
		return false;
	case DRC_DONE:
		*v = CALL_REPLY;
		return true;
	case DRC_PARKED:
		*v = CALL_PARKED;
		return true;
	case DRC_DROPPED:
		break;
	}
	*v = CALL_DROP;
	return true;
}

/* Makes it ours to carry out. False: it is another's. Without room it is carried out and not kept.
 */
static bool
once_claim(struct call *c, struct once *o)
{
	int e = drc_claim(c->engine->drc, &o->key, &o->claim);

	o->mine = e == 0;
	o->raced = e == EBUSY;
	if (o->mine) {
		c->after_crash = o->claim.after_crash;
		c->intent_ns = o->claim.intent_ns;
	}
	return !o->raced;
}

static void
once_end(struct call *c, struct once *o, enum call_verdict v)
{
	if (!o->mine)
		return;
	o->mine = false;
	if (v == CALL_REPLY && !c->again)
		drc_finish(c->engine->drc, &o->claim, c->head, c->headlen, c->failed);
	else
		drc_abandon(c->engine->drc, &o->claim);
}

/* ---- the run ---- */

/* begin, the procedure, end. 0: the result stands, whatever its status; ESLEEP; ESYSTEM; ERACED. */
static int
work(struct call *c, const struct program *prog, struct once *o)
{
	int status = prog->begin ? prog->begin(c) : 0;

	if (status == 0 && o->wanted && !once_claim(c, o))
		return ERACED;
	if (status == 0)
		status = c->row->fn(c);
	if (status == ESLEEP || status == ESYSTEM || status == ENOREPLY)
		return status;
	c->failed = status != 0;
	return prog->end ? prog->end(c, status) : 0;
}

static enum call_verdict
serve(struct call *c, const struct program *prog, size_t args_off, struct once *o)
{
	const struct row *row = c->row;
	int (*decoder)(void *, void *) = c->data_pipe >= 0 ? row->head_xdr : row->args_xdr;
	XDR x;
	int e;

	c->args = arena_alloc(&c->arena, row->args_size);
	c->res = arena_alloc(&c->arena, row->res_size);
	if (!c->args || !c->res)
		return system_err(c, "arguments and result do not fit the arena");
	/* the cast drops a const: decoding writes nothing to the record */
	xdrmem_create(&x, (char *)(uintptr_t)c->rec + args_off, (u_int)(c->reclen - args_off),
		      XDR_DECODE);
	if (decoder && !decoder(&x, c->args))
		return refused_with(c, GARBAGE_ARGS);
	if (row->bulk)
		c->bulk = *(const uint32_t *)((const char *)c->args + row->bulk);
	c->table = take_table(c);
	if (!c->table)
		return system_err(c, "no exports are loaded");
	e = work(c, prog, o);
	if (e == 0)
		return encode(c);
	if (e == ERACED || e == ENOREPLY)
		return CALL_DROP;
	if (e == ESYSTEM)
		return system_err(c, "no memory");
	if (c->may_sleep) /* the same answer for ever: never promise it to a worker again */
		return system_err(c, "a worker was told to sleep elsewhere");
	drop_body(c);
	return CALL_SLEEPS;
}

/* The row is known, and may be asked for. */
static enum call_verdict
run_row(struct call *c, const struct program *prog, const struct rpc_call *rc)
{
	enum call_verdict v;
	struct once o;

	once_begin(c, rc, &o);
	for (;;) {
		if (o.wanted && once_known(c, &o, &v))
			return v;
		if ((c->row->sleeps || c->row->keep) && !c->may_sleep)
			return CALL_SLEEPS;
		take_claim(c, rc);
		v = serve(c, prog, rc->args_off, &o);
		let_go(c);
		once_end(c, &o, v);
		if (!o.raced)
			return v;
		forget_run(c); /* the other one is known now, or was given up */
	}
}

static const struct row *
find_row(const struct engine *e, const struct rpc_call *rc)
{
	const struct program *prog = find_program(e, rc->prog);
	unsigned n = 0;
	const struct row *r = prog ? find_rows(prog, rc->vers, &n) : NULL;

	return r && rc->proc < n ? &r[rc->proc] : NULL;
}

size_t
call_data_at(const struct engine *e, const char *rec, size_t have, size_t *data)
{
	char args[CALL_ARENA_ROW] __attribute__((aligned(16)));
	struct rpc_call rc;
	XDR x;

	if (rpc_decode(rec, have, &rc) != RPC_OK)
		return 0;
	const struct row *row = find_row(e, &rc);
	if (!row || !row->head_xdr)
		return 0;
	memset(args, 0, row->args_size);
	xdrmem_create(&x, (char *)(uintptr_t)rec + rc.args_off, (u_int)(have - rc.args_off),
		      XDR_DECODE);
	if (!row->head_xdr(&x, args))
		return 0;
	*data = ((const payload *)(const void *)(args + row->data))->len;
	return wire_pad(*data) == 0 ? rc.args_off + xdr_getpos(&x) : 0;
}

enum call_verdict
call_run(struct call *c)
{
	const struct program *prog;
	const struct row *rows;
	struct rpc_call rc;
	enum rpc_verdict v;
	unsigned n = 0;

	forget_run(c);
	c->row = NULL;
	v = rpc_decode(c->rec, c->reclen, &rc);
	if (v == RPC_DROP)
		return CALL_CLOSE;
	c->xid = rc.xid;
	if (v != RPC_OK)
		return refused(c, rpc_refuse(c->head, &rc, v));
	prog = find_program(c->engine, rc.prog);
	if (!prog || (c->datagram && !prog->udp))
		return refused_with(c, PROG_UNAVAIL);
	rows = find_rows(prog, rc.vers, &n);
	if (!rows)
		return refused(c, rpc_prog_mismatch(c->head, c->xid, prog->low, prog->high));
	if (rc.proc >= n)
		return refused_with(c, PROC_UNAVAIL);
	c->row = &rows[rc.proc];
	if (rc.flavor != AUTH_SYS && !c->row->anyone)
		return refused(c, rpc_auth_error(c->head, c->xid, AUTH_TOOWEAK));
	return run_row(c, prog, &rc);
}
