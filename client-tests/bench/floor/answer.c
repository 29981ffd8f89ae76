/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replies are prepared as a real server's would look, attributes included, and copied out with the
 * xid patched: RFC 1813, with the file handles of two objects, a directory and the file. LOOKUP of
 * any name finds the file.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "floor.h"

#define FH_LEN 32

enum { PROG_NFS = 100003, PROG_MOUNT = 100005 };
enum { MNT = 1, UMNT = 3 };
enum { GETATTR = 1, LOOKUP = 3, ACCESS = 4, READ = 6, WRITE = 7 };
enum { FSSTAT = 18, FSINFO = 19, PATHCONF = 20, COMMIT = 21 };

static uint32_t
get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void
set32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static void
put32(struct prepared *p, uint32_t v)
{
	set32(p->head + p->len, v);
	p->len += 4;
}

static void
put64(struct prepared *p, uint64_t v)
{
	put32(p, (uint32_t)(v >> 32));
	put32(p, (uint32_t)v);
}

/* Mark, xid, and an accepted reply with the given accept_stat. */
static void
put_rpc(struct prepared *p, uint32_t accept_stat)
{
	const uint32_t words[] = {0, 0, 1, 0, 0, 0, accept_stat};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		put32(p, words[i]);
}

static void
put_fattr(struct prepared *p, const struct stat *st, bool dir)
{
	put32(p, dir ? 2 : 1);
	put32(p, dir ? 0755 : 0644);
	put32(p, 1);
	put32(p, st->st_uid);
	put32(p, st->st_gid);
	put64(p, (uint64_t)(dir ? 4096 : st->st_size));
	put64(p, (uint64_t)(dir ? 4096 : st->st_blocks * 512));
	put64(p, 0);		/* rdev */
	put64(p, 0x666c6f6f72); /* fsid */
	put64(p, dir ? 2 : st->st_ino);
	for (int i = 0; i < 3; i++) {
		put32(p, (uint32_t)st->st_mtim.tv_sec);
		put32(p, (uint32_t)st->st_mtim.tv_nsec);
	}
}

static void
put_post_op(struct prepared *p, const struct stat *st, bool dir)
{
	put32(p, 1);
	put_fattr(p, st, dir);
}

/* Handles differ in their first byte. */
static void
put_fh(struct prepared *p, bool dir)
{
	put32(p, FH_LEN);
	memset(p->head + p->len, dir ? 'd' : 'f', FH_LEN);
	p->len += FH_LEN;
}

/* An NFS reply up to and including status OK. */
static struct prepared *
ok(struct prepared *p)
{
	put_rpc(p, 0);
	put32(p, 0);
	return p;
}

static void
prepare_fs(struct replies *r, const struct stat *st)
{
	struct prepared *p = ok(&r->nfs[FSINFO]);
	put_post_op(p, st, true);
	for (int i = 0; i < 2; i++) { /* rtmax, rtpref, rtmult; the same for writing */
		put32(p, READ_MAX);
		put32(p, READ_MAX);
		put32(p, 4096);
	}
	put32(p, READ_MAX); /* dtpref */
	put64(p, INT64_MAX);
	put64(p, 1); /* time_delta */
	put32(p, 0x18);

	p = ok(&r->nfs[PATHCONF]);
	put_post_op(p, st, true);
	put32(p, 32000);
	put32(p, 255);
	for (int i = 0; i < 4; i++)
		put32(p, i != 2);

	p = ok(&r->nfs[FSSTAT]);
	put_post_op(p, st, true);
	for (int i = 0; i < 6; i++)
		put64(p, 1 << 30);
	put32(p, 0);
}

static void
put_wcc(struct prepared *p, const struct stat *st)
{
	put32(p, 1); /* before */
	put64(p, (uint64_t)st->st_size);
	for (int i = 0; i < 2; i++) {
		put32(p, (uint32_t)st->st_mtim.tv_sec);
		put32(p, (uint32_t)st->st_mtim.tv_nsec);
	}
	put_post_op(p, st, false);
}

static void
prepare_changes(struct replies *r, const struct stat *st)
{
	static const uint64_t verifier = 0x666c6f6f72;
	struct prepared *p = ok(&r->nfs[WRITE]);
	put_wcc(p, st);
	put32(p, 0); /* count */
	put32(p, 0); /* committed */
	put64(p, verifier);
	put_wcc(ok(&r->nfs[COMMIT]), st);
	put64(&r->nfs[COMMIT], verifier);
	put_rpc(&r->io, 0);
	put32(&r->io, 5);
	put64(&r->io, 0);
}

static void
finish(struct prepared *p)
{
	if (p->len)
		set32(p->head, 0x80000000u | (p->len - 4));
}

static void
finish_all(struct replies *r)
{
	for (int i = 0; i < NFS_PROCS; i++)
		finish(&r->nfs[i]);
	finish(&r->getattr_root);
	finish(&r->mnt);
	finish(&r->empty);
	finish(&r->unavailable);
	finish(&r->no_program);
	finish(&r->io);
}

void
replies_prepare(struct replies *r, const struct served *s)
{
	struct stat st;
	*r = (struct replies){0};
	fstat(s->fd, &st);
	put_rpc(&r->empty, 0);
	put_rpc(&r->unavailable, 3);
	put_rpc(&r->no_program, 1);
	r->nfs[0] = r->empty;
	put_fattr(ok(&r->nfs[GETATTR]), &st, false);
	put_fattr(ok(&r->getattr_root), &st, true);
	put_fh(ok(&r->nfs[LOOKUP]), false);
	put_post_op(&r->nfs[LOOKUP], &st, false);
	put_post_op(&r->nfs[LOOKUP], &st, true);
	put_post_op(ok(&r->nfs[ACCESS]), &st, false);
	put32(&r->nfs[ACCESS], 0x3);
	put_post_op(ok(&r->nfs[READ]), &st, false);
	put32(&r->nfs[READ], 0);
	put32(&r->nfs[READ], 0);
	put32(&r->nfs[READ], 0);
	put_fh(ok(&r->mnt), true);
	put32(&r->mnt, 1);
	put32(&r->mnt, 1); /* AUTH_SYS */
	prepare_fs(r, &st);
	if (s->write)
		prepare_changes(r, &st);
	finish_all(r);
}

/* Copies a reply into the batch. Returns it for further patching. */
static uint8_t *
add(struct batch *b, const struct prepared *p, const uint8_t *call, uint32_t data, uint64_t offset)
{
	uint8_t *head = b->memory + b->used;
	memcpy(head, p->head, p->len);
	memcpy(head + 4, call, 4); /* xid */
	b->answer[b->n++] = (struct answer){head, p->len, data, offset};
	b->used += p->len;
	b->bytes += p->len + data + pad_of(data);
	return head;
}

static void
read_call(struct batch *b, const struct replies *r, const struct served *s, const uint8_t *call,
	  const uint8_t *args)
{
	uint64_t offset = (uint64_t)get32(args) << 32 | get32(args + 4);
	uint32_t count = get32(args + 8);
	uint64_t left = offset < s->size ? s->size - offset : 0;
	if (count > READ_MAX)
		count = READ_MAX;
	if (count > left)
		count = (uint32_t)left;
	uint8_t *head = add(b, &r->nfs[READ], call, count, offset);
	uint32_t len = r->nfs[READ].len; /* its last words are count, eof, length */
	set32(head, 0x80000000u | (len - 4 + count + pad_of(count)));
	set32(head + len - 12, count);
	set32(head + len - 8, offset + count >= s->size);
	set32(head + len - 4, count);
}

void
answer_write(struct batch *b, const struct replies *r, const struct served *s, const uint8_t *call,
	     const struct writing *w)
{
	if (w->stable && fdatasync(s->fd)) {
		add(b, &r->io, call, 0, 0);
		return;
	}
	uint8_t *head = add(b, &r->nfs[WRITE], call, 0, 0);
	uint32_t reply = r->nfs[WRITE].len; /* its last words are count, committed, verifier */
	set32(head + reply - 16, w->n);
	set32(head + reply - 12, w->stable);
}

/* args: offset, count, how stable, length, data. */
static void
take_args(struct writing *w, const uint8_t *call, const uint8_t *args)
{
	w->offset = (uint64_t)get32(args) << 32 | get32(args + 4);
	w->stable = get32(args + 12);
	w->n = get32(args + 16);
	w->head = (size_t)(args + 20 - call);
}

struct deed {
	struct batch *b;
	const struct replies *r;
	const struct served *s;
	const uint8_t *call, *data;
	struct writing w;
};

static void
write_now(void *arg)
{
	const struct deed *d = arg;
	if (pwrite(d->s->fd, d->data, d->w.n, (off_t)d->w.offset) == (ssize_t)d->w.n)
		answer_write(d->b, d->r, d->s, d->call, &d->w);
	else
		add(d->b, &d->r->io, d->call, 0, 0);
}

static bool
write_call(struct batch *b, const struct replies *r, const struct served *s, const uint8_t *call,
	   const uint8_t *args, size_t len)
{
	struct deed d = {.b = b, .r = r, .s = s, .call = call, .data = args + 20};
	if (len < 20 || get32(args + 16) > len - 20)
		return false;
	take_args(&d.w, call, args);
	if (s->hand)
		handoff_run(s->hand, write_now, &d);
	else
		write_now(&d);
	return true;
}

static bool
nfs_call(struct batch *b, const struct replies *r, const struct served *s, const uint8_t *call,
	 uint32_t proc, const uint8_t *args, size_t len)
{
	const struct prepared *p =
	    proc < NFS_PROCS && r->nfs[proc].len ? &r->nfs[proc] : &r->unavailable;
	if (proc == READ) {
		if (len != 4 + FH_LEN + 12)
			return false;
		read_call(b, r, s, call, args + 4 + FH_LEN);
		return true;
	}
	if (s->write && proc == WRITE)
		return len > 4 + FH_LEN &&
		       write_call(b, r, s, call, args + 4 + FH_LEN, len - 4 - FH_LEN);
	if (s->write && proc == COMMIT && fdatasync(s->fd))
		p = &r->io;
	if (proc == GETATTR && len > 4 && args[4] == 'd')
		p = &r->getattr_root;
	add(b, p, call, 0, 0);
	return true;
}

/* Steps over a credential or verifier: flavor, length, body. */
static bool
skip_auth(const uint8_t *call, size_t len, size_t *at)
{
	if (*at + 8 > len)
		return false;
	uint32_t n = get32(call + *at + 4);
	*at += 8 + n + pad_of(n);
	return n <= 400 && *at <= len;
}

bool
answer_call(struct batch *b, const struct replies *r, const struct served *s, const uint8_t *call,
	    size_t len)
{
	size_t at = 24; /* xid, CALL, RPC version, program, version, procedure */
	if (len < at || get32(call + 4) || !skip_auth(call, len, &at) || !skip_auth(call, len, &at))
		return false;
	uint32_t prog = get32(call + 12);
	uint32_t proc = get32(call + 20);
	if (prog == PROG_NFS)
		return nfs_call(b, r, s, call, proc, call + at, len - at);
	const struct prepared *p = &r->unavailable;
	if (prog != PROG_MOUNT)
		p = &r->no_program;
	else if (proc == MNT)
		p = &r->mnt;
	else if (proc == 0 || proc == UMNT)
		p = &r->empty;
	add(b, p, call, 0, 0);
	return true;
}

bool
is_write(const uint8_t *call, size_t have, struct writing *w)
{
	size_t at = 24;
	if (have < at || get32(call + 4) || get32(call + 12) != PROG_NFS ||
	    get32(call + 20) != WRITE)
		return false;
	if (!skip_auth(call, have, &at) || !skip_auth(call, have, &at) ||
	    at + 4 + FH_LEN + 20 > have)
		return false;
	take_args(w, call, call + at + 4 + FH_LEN);
	return pad_of(w->n) == 0;
}
