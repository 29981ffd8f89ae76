/* SPDX-License-Identifier: BSD-2-Clause */
/* Records into the engine, replies out of it as bytes. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bed.h"
#include "buf.h"

enum { REC_ROOM = 2 << 20, CRED_ROOM = 64 + 4 * RPC_GIDS_MAX };

uint32_t
bed_get32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return be32toh(v);
}

void
bed_put32(struct bed *b, size_t off, uint32_t v)
{
	v = htobe32(v);
	memcpy(b->rec + off, &v, 4);
}

static void
word(struct bed *b, uint32_t v)
{
	bed_put32(b, b->reclen, v);
	b->reclen += 4;
}

/* Credential and empty verifier. */
static void
put_auth(struct bed *b)
{
	word(b, b->flavor);
	if (b->flavor == AUTH_SYS) {
		word(b, 4 * (5 + 1 + b->ngids));
		word(b, 0x5ca1ab1e); /* stamp */
		word(b, 3);
		memcpy(b->rec + b->reclen, "bed", 4); /* its NUL is the padding */
		b->reclen += 4;
		word(b, b->uid);
		word(b, b->gid);
		word(b, b->ngids);
		for (uint32_t i = 0; i < b->ngids; i++)
			word(b, b->gids[i]);
	} else {
		word(b, 0);
	}
	word(b, AUTH_NONE);
	word(b, 0);
}

void
bed_record(struct bed *b, uint32_t prog, uint32_t vers, uint32_t proc, xdrproc_t enc, void *args)
{
	XDR x;

	if (!b->rec) {
		b->rec = malloc(REC_ROOM);
		b->reccap = REC_ROOM;
	}
	b->reclen = 0;
	word(b, ++b->xid);
	word(b, CALL);
	word(b, 2);
	word(b, prog);
	word(b, vers);
	word(b, proc);
	put_auth(b);
	b->args_off = b->reclen;
	if (!enc)
		return;
	xdrmem_create(&x, b->rec + b->reclen, (u_int)(b->reccap - b->reclen), XDR_ENCODE);
	if (!enc(&x, args, 0))
		CU_FAIL("the arguments cannot be encoded");
	b->reclen += xdr_getpos(&x);
}

void
bed_append(struct bed *b, const void *data, size_t n)
{
	memcpy(b->rec + b->reclen, data, n);
	b->reclen += n;
}

/* A pipe's bytes, and those that it had no room for. */
static ssize_t
read_pipe(const struct call *c, char *to)
{
	size_t n = c->body.len - c->tail;

	if (c->tail)
		memcpy(to + n, c->body_mem, c->tail);
	return read(c->body.fd, to, n) + (ssize_t)c->tail;
}

/* The body's bytes, by the way they would travel. */
static void
collect_body(struct bed *b, struct bed_reply *r)
{
	const payload *p = &b->call->body;
	ssize_t n = (ssize_t)p->len;

	r->kind = p->len == 0	 ? BODY_NONE
		  : p->base	 ? BODY_MEM
		  : p->off == -1 ? BODY_PIPE
				 : BODY_FILE;
	if (r->kind == BODY_MEM)
		memcpy(r->buf + r->len, p->base, p->len);
	else if (r->kind == BODY_FILE)
		n = pread(p->fd, r->buf + r->len, p->len, p->off);
	else if (r->kind == BODY_PIPE)
		n = read_pipe(b->call, r->buf + r->len);
	CU_ASSERT_EQUAL(n, (ssize_t)p->len);
	/* what is sent later must stay open till then */
	CU_ASSERT(r->kind != BODY_FILE || b->call->body_obj != NULL);
	r->len += p->len;
}

static void
check_idle(struct bed *b)
{
	const struct call *c = b->call;

	CU_ASSERT_PTR_NULL(c->obj[0]);
	CU_ASSERT_PTR_NULL(c->obj[1]);
	CU_ASSERT_PTR_NULL(c->table);
	CU_ASSERT_PTR_NULL(c->rule);
	CU_ASSERT_PTR_NULL(c->body_mem);
	CU_ASSERT_PTR_NULL(c->body_obj);
	CU_ASSERT_EQUAL(c->body.len, 0);
	CU_ASSERT_EQUAL(b->engine.table->refs, b->batch.table ? 2 : 1); /* a batch keeps one */
}

static void
collect(struct bed *b)
{
	struct bed_reply *r = &b->reply;
	const struct call *c = b->call;

	r->len = 0;
	r->kind = BODY_NONE;
	r->failed = c->failed;
	if (r->verdict != CALL_REPLY)
		return;
	CU_ASSERT(call_reply_len(c) <= r->cap);
	memcpy(r->buf, c->head, c->headlen);
	r->len = c->headlen;
	collect_body(b, r);
	CU_ASSERT(c->pad <= 3);
	memset(r->buf + r->len, 0, c->pad);
	r->len += c->pad;
	CU_ASSERT_EQUAL(bed_get32(r->buf), 0x80000000u | (uint32_t)(r->len - 4));
	CU_ASSERT_EQUAL(r->len % 4, 0);
	CU_ASSERT_EQUAL(bed_get32(r->buf + 4), bed_get32(b->rec));
	CU_ASSERT_EQUAL(bed_get32(r->buf + 8), REPLY);
	CU_ASSERT_PTR_NULL(c->table);
	CU_ASSERT_PTR_NULL(c->obj[0]);
}

static void
run_in(struct bed *b, enum bed_mode mode, const char *rec)
{
	struct call *c = b->call;
	int left = 0;

	c->peer = &b->peer;
	c->rec = rec;
	c->reclen = b->reclen;
	c->may_sleep = mode != BED_LOOP;
	c->batch = mode == BED_LOOP ? &b->batch : NULL;
	c->copy = mode == BED_COPY;
	c->pipe[0] = mode == BED_WORKER ? b->pipe[0] : -1;
	c->pipe[1] = mode == BED_WORKER ? b->pipe[1] : -1;
	b->reply.verdict = call_run(c);
	if (b->reply.verdict != CALL_REPLY) {
		check_idle(b);
		return;
	}
	collect(b);
	/* what READ left in the pipe beside the body would reach another client */
	CU_ASSERT_EQUAL(ioctl(b->pipe[0], FIONREAD, &left), 0);
	CU_ASSERT_EQUAL(left, 0);
}

void
bed_run(struct bed *b, enum bed_mode mode)
{
	char *rec = malloc(
	    b->reclen + 1); /* its own memory: reading past the end is an error for the sanitizer */

	memcpy(rec, b->rec, b->reclen);
	b->reply.slept = false;
	b->reply.len = 0;
	call_batch_begin(&b->batch);
	run_in(b, mode, rec);
	if (b->reply.verdict == CALL_SLEEPS) {
		CU_ASSERT_EQUAL(mode, BED_LOOP);
		b->reply.slept = true;
		run_in(b, BED_WORKER, rec);
	}
	CU_ASSERT_NOT_EQUAL(b->reply.verdict, CALL_SLEEPS);
	call_reset(b->call);
	call_batch_end(&b->batch, &b->engine);
	free(rec);
}

void
bed_run_all(struct bed *b)
{
	char *first;
	size_t len;
	enum call_verdict v;

	bed_run(b, BED_LOOP);
	v = b->reply.verdict;
	len = b->reply.len;
	first = malloc(len + 1);
	memcpy(first, b->reply.buf, len);
	for (enum bed_mode m = BED_WORKER; m < BED_MODES; m++) {
		bed_run(b, m);
		CU_ASSERT_EQUAL(b->reply.verdict, v);
		CU_ASSERT_EQUAL(b->reply.len, len);
		CU_ASSERT(b->reply.len == len && memcmp(b->reply.buf, first, len) == 0);
	}
	free(first);
}

int
bed_outcome(const struct bed *b, size_t *off)
{
	const struct bed_reply *r = &b->reply;

	if (off)
		*off = 0;
	if (r->verdict != CALL_REPLY || r->len < 20)
		return OUT_NONE;
	if (bed_get32(r->buf + 12) == MSG_DENIED) {
		if (bed_get32(r->buf + 16) == RPC_MISMATCH)
			return OUT_BADVERS;
		return OUT_AUTH + (int)bed_get32(r->buf + 20);
	}
	if (off)
		*off = RPC_HEAD;
	return OUT_ACCEPTED + (int)bed_get32(r->buf + 24);
}

bool
bed_results(const struct bed *b, xdrproc_t dec, void *res)
{
	XDR x;
	size_t off;
	int out = bed_outcome(b, &off);

	CU_ASSERT_EQUAL(out, OUT_ACCEPTED + SUCCESS);
	if (out != OUT_ACCEPTED + SUCCESS)
		return false;
	xdrmem_create(&x, b->reply.buf + off, (u_int)(b->reply.len - off), XDR_DECODE);
	if (!dec(&x, res, 0)) {
		CU_FAIL("the results do not decode");
		return false;
	}
	CU_ASSERT_EQUAL(xdr_getpos(&x), b->reply.len - off);
	return true;
}
