/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RPC headers and arguments. The first byte picks a procedure; the whole input is decoded as a
 * record, and what follows the first word as that procedure's arguments.
 *
 * A header that rpc_decode accepts, the RPC library accepts with the same values. Arguments that
 * decode encode again, to bytes that decode to the same; what they point to lies in the record.
 */
#include "rpc.h"

#include "fuzz.h"
#include "mount3.h"
#include "unit/xdr-vectors.h"

#define TYPE(T)                                                                                    \
	{                                                                                          \
		(xdrproc_t) xdr_##T, sizeof(T)                                                     \
	}
static const struct type {
	xdrproc_t xdr;
	size_t size;
} types[] = {
    TYPE(GETATTR3args),	 TYPE(SETATTR3args),	 TYPE(LOOKUP3args), TYPE(ACCESS3args),
    TYPE(READLINK3args), TYPE(READ3args),	 TYPE(WRITE3args),  TYPE(CREATE3args),
    TYPE(MKDIR3args),	 TYPE(SYMLINK3args),	 TYPE(MKNOD3args),  TYPE(REMOVE3args),
    TYPE(RMDIR3args),	 TYPE(RENAME3args),	 TYPE(LINK3args),   TYPE(READDIR3args),
    TYPE(FSSTAT3args),	 TYPE(READDIRPLUS3args), TYPE(FSINFO3args), TYPE(PATHCONF3args),
    TYPE(COMMIT3args),	 TYPE(dirpath),
};
#define TYPES (sizeof types / sizeof *types)

/* Decodes into a zeroed value; the bytes taken, or -1. */
static ssize_t
decode(const struct type *t, void *value, char *bytes, size_t n)
{
	XDR x;

	memset(value, 0, t->size);
	xdrmem_create(&x, bytes, (u_int)n, XDR_DECODE);
	return t->xdr(&x, value) ? (ssize_t)xdr_getpos(&x) : -1;
}

static size_t
encode(const struct type *t, void *value, char *bytes, size_t room)
{
	XDR x;

	xdrmem_create(&x, bytes, (u_int)room, XDR_ENCODE);
	MUST(t->xdr(&x, value));
	size_t n = xdr_getpos(&x);

	if (t->xdr == (xdrproc_t)xdr_WRITE3args) { /* bulk data is the sender's to append */
		const payload *p = &((WRITE3args *)value)->data;

		MUST(n + p->len + wire_pad(p->len) <= room);
		memset(bytes + n, 0, p->len + wire_pad(p->len));
		if (p->len)
			memcpy(bytes + n, p->base, p->len);
		n += p->len + wire_pad(p->len);
	}
	return n;
}

static void
arguments(const struct type *t, char *bytes, size_t n)
{
	char value[1024] __attribute__((aligned(8))), again[1024] __attribute__((aligned(8)));
	ssize_t took = decode(t, value, bytes, n);

	MUST(t->size <= sizeof value);
	if (took < 0)
		return;
	MUST((size_t)took <= n);
	char *one = malloc((size_t)took + 8), *two = malloc((size_t)took + 8);
	size_t a = encode(t, value, one, (size_t)took + 8);

	MUST(a == (size_t)took);
	MUST(decode(t, again, one, a) == took);
	MUST(encode(t, again, two, a) == a && memcmp(one, two, a) == 0);
	free(one);
	free(two);
}

/* The same header through the RPC library. */
static void
compare(const struct rpc_call *c, char *rec, size_t n)
{
	char cred[MAX_AUTH_BYTES], verf[MAX_AUTH_BYTES];
	struct rpc_msg m = {0};
	struct authunix_parms p = {0};
	XDR x;

	m.rm_call.cb_cred.oa_base = cred;
	m.rm_call.cb_verf.oa_base = verf;
	xdrmem_create(&x, rec, (u_int)n, XDR_DECODE);
	MUST(xdr_callmsg(&x, &m) && xdr_getpos(&x) == c->args_off);
	MUST(m.rm_xid == c->xid && m.rm_call.cb_prog == c->prog && m.rm_call.cb_vers == c->vers &&
	     m.rm_call.cb_proc == c->proc && (uint32_t)m.rm_call.cb_cred.oa_flavor == c->flavor);
	if (c->flavor != AUTH_SYS)
		return;
	xdrmem_create(&x, cred, m.rm_call.cb_cred.oa_length, XDR_DECODE);
	MUST(xdr_authunix_parms(&x, &p));
	MUST(p.aup_uid == c->sys.uid && p.aup_gid == c->sys.gid && p.aup_len == c->sys.ngids);
	for (u_int i = 0; i < p.aup_len; i++)
		MUST(p.aup_gids[i] == c->sys.gids[i]);
	xdr_free((xdrproc_t)xdr_authunix_parms, &p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *rec = malloc(n + 1), head[RPC_HEAD_MAX];
	struct rpc_call c;

	memcpy(rec, data, n);
	enum rpc_verdict v = rpc_decode(rec, n, &c);

	if (v == RPC_OK) {
		MUST(c.args_off <= n && c.args_off % 4 == 0);
		compare(&c, rec, n);
		arguments(&types[c.proc % TYPES], rec + c.args_off, n - c.args_off);
	} else {
		size_t k = rpc_refuse(head, &c, v);

		MUST((v == RPC_DROP) == (k == 0) && k <= sizeof head && k % 4 == 0);
	}
	if (n >= 4) {
		char *args = malloc(n);

		memcpy(args, data + 4, n - 4);
		arguments(&types[data[0] % TYPES], args, n - 4);
		free(args);
	}
	free(rec);
	return 0;
}

static void
seed_vector(const struct vector *v, uint32_t type)
{
	static const char *const headers[] = {
	    "%08x 00000000 00000002 000186a3 00000003 %08x 00000000 00000000 00000000 00000000",
	    "%08x 00000000 00000002 000186a3 00000003 %08x 00000001 00000018 01020304 00000003 "
	    "61626300 000003e8 00000064 00000000 00000000 00000000",
	    "%08x 00000000 00000002 000186a5 00000003 %08x 00000001 0000001c 01020304 00000001 "
	    "61000000 000003e8 00000064 00000001 00000005 00000000 00000000",
	    "%08x",
	};
	uint8_t b[4096];
	char text[512];

	for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
		/* the last header has one place; the other argument is not used */
		snprintf(text, sizeof text, headers[h], type << 24, type);
		size_t n = unhex(text, b, sizeof b);

		n += unhex(v->hex, b + n, sizeof b - n);
		n += unhex(v->tail, b + n, sizeof b - n);
		seed(b, n);
	}
}

static void
first_inputs(void)
{
	for (size_t i = 0; i < sizeof nfs_args / sizeof *nfs_args; i++)
		for (uint32_t t = 0; t < TYPES; t++)
			if (nfs_args[i].xdr == types[t].xdr)
				seed_vector(&nfs_args[i], t);
	for (size_t i = 0; i < sizeof mount_args / sizeof *mount_args; i++)
		seed_vector(&mount_args[i], TYPES - 1);
	(void)nfs_res;
	(void)mount_res;
}

FUZZ_SEEDS(first_inputs)
