/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RPC headers. The library's own decoder of a call is not used: it allocates for the credential and
 * leaves AUTH_SYS to be parsed again. Here one cursor walks the record once; every read says
 * whether the bytes are there, and the first failure decides the verdict.
 *
 * Bounds, in the order in which they are met: up to the procedure number a short record is dropped,
 * because there is no call to answer; from there on the caller can be told that its credential or
 * verifier is broken.
 */
#include "rpc.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

enum { VERSION = 2 };

/* Bytes still to be read; never beyond end. */
struct cursor {
	const char *p, *end;
};

static bool
get32(struct cursor *c, uint32_t *v)
{
	if (c->end - c->p < 4)
		return false;
	memcpy(v, c->p, 4);
	*v = be32toh(*v);
	c->p += 4;
	return true;
}

/* A counted opaque of at most max bytes, with its padding. On success its bytes are at *p. */
static bool
get_opaque(struct cursor *c, uint32_t max, const char **p, uint32_t *len)
{
	if (!get32(c, len) || *len > max)
		return false;
	uint32_t padded = (*len + 3) & ~3u;

	if ((size_t)(c->end - c->p) < padded)
		return false;
	*p = c->p;
	c->p += padded;
	return true;
}

/* The body of an AUTH_SYS credential (RFC 5531 appendix A): its parts must fill it exactly. */
static bool
get_authsys(const char *body, uint32_t len, struct rpc_authsys *a)
{
	struct cursor c = {body, body + len};
	uint32_t stamp;

	if (!get32(&c, &stamp) || !get_opaque(&c, RPC_MACHINE_MAX, &a->machine, &a->machine_len) ||
	    !get32(&c, &a->uid) || !get32(&c, &a->gid) || !get32(&c, &a->ngids) ||
	    a->ngids > RPC_GIDS_MAX)
		return false;
	for (uint32_t i = 0; i < a->ngids; i++)
		if (!get32(&c, &a->gids[i]))
			return false;
	return c.p == c.end;
}

/* Credential and verifier. */
static enum auth_stat
get_auth(struct cursor *in, struct rpc_call *c)
{
	const char *body;
	uint32_t len, flavor;

	if (!get32(in, &c->flavor) || !get_opaque(in, RPC_AUTH_MAX, &body, &len))
		return AUTH_BADCRED;
	if (c->flavor != AUTH_NONE && c->flavor != AUTH_SYS)
		return AUTH_REJECTEDCRED;
	if (c->flavor == AUTH_NONE && len != 0)
		return AUTH_BADCRED;
	if (c->flavor == AUTH_SYS && !get_authsys(body, len, &c->sys))
		return AUTH_BADCRED;
	if (!get32(in, &flavor) || !get32(in, &len) || flavor != AUTH_NONE || len != 0)
		return AUTH_BADVERF;
	return AUTH_OK;
}

enum rpc_verdict
rpc_decode(const char *rec, size_t n, struct rpc_call *c)
{
	struct cursor in = {rec, rec + n};
	uint32_t type, rpcvers;

	memset(c, 0, sizeof *c);
	if (!get32(&in, &c->xid) || !get32(&in, &type) || type != CALL || !get32(&in, &rpcvers))
		return RPC_DROP;
	if (rpcvers != VERSION)
		return RPC_BADVERS;
	if (!get32(&in, &c->prog) || !get32(&in, &c->vers) || !get32(&in, &c->proc))
		return RPC_DROP;
	c->why = get_auth(&in, c);
	if (c->why != AUTH_OK)
		return RPC_BADAUTH;
	c->args_off = (size_t)(in.p - rec);
	return RPC_OK;
}

void
rpc_set_mark(char *buf, size_t total)
{
	uint32_t mark = htobe32(0x80000000u | (uint32_t)(total - 4));

	memcpy(buf, &mark, 4);
}

/* Writes n words after the mark, and the mark. */
static size_t
put_words(char *buf, const uint32_t *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t v = htobe32(w[i]);

		memcpy(buf + 4 + 4 * i, &v, 4);
	}
	rpc_set_mark(buf, 4 + 4 * n);
	return 4 + 4 * n;
}

size_t
rpc_accepted(char *buf, uint32_t xid, enum accept_stat stat)
{
	const uint32_t w[] = {xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, stat};

	return put_words(buf, w, 6);
}

size_t
rpc_prog_mismatch(char *buf, uint32_t xid, uint32_t low, uint32_t high)
{
	const uint32_t w[] = {xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, PROG_MISMATCH, low, high};

	return put_words(buf, w, 8);
}

size_t
rpc_auth_error(char *buf, uint32_t xid, enum auth_stat why)
{
	const uint32_t w[] = {xid, REPLY, MSG_DENIED, AUTH_ERROR, why};

	return put_words(buf, w, 5);
}

size_t
rpc_refuse(char *buf, const struct rpc_call *c, enum rpc_verdict v)
{
	const uint32_t w[] = {c->xid, REPLY, MSG_DENIED, RPC_MISMATCH, VERSION, VERSION};

	if (v == RPC_BADVERS)
		return put_words(buf, w, 6);
	return v == RPC_BADAUTH ? rpc_auth_error(buf, c->xid, c->why) : 0;
}
