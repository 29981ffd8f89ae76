/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* A call under construction, word by word. */
struct words {
	uint32_t w[256];
	size_t n;
};

static void
put(struct words *b, uint32_t v)
{
	b->w[b->n++] = htobe32(v);
}

static void
put_opaque(struct words *b, const char *s, uint32_t len)
{
	put(b, len);
	b->w[b->n + len / 4] = 0;
	memcpy(&b->w[b->n], s, len);
	b->n += (len + 3) / 4;
}

enum {
	CRED_WORD = 7,
	NAME_WORD = 9
}; /* where the credential's length and the machine name's length stand */

/* READ with AUTH_SYS of a machine name of len bytes and n groups: the length is as long as its
 * parts plus off. */
static struct words
sys_call(uint32_t len, uint32_t n, int off)
{
	static const char name[300] = "client.example.org";
	struct words b = {0};

	put(&b, 0x11223344);
	put(&b, 0);
	put(&b, 2);
	put(&b, 100003);
	put(&b, 3);
	put(&b, 6);
	put(&b, 1);
	put(&b, (uint32_t)((int)(4 + 4 + ((len + 3) & ~3u) + 12 + 4 * n) + off));
	put(&b, 0xfeedbeef);
	put_opaque(&b, name, len);
	put(&b, 1000);
	put(&b, 100);
	put(&b, n);
	for (uint32_t i = 0; i < n; i++)
		put(&b, 7000 + i);
	put(&b, 0);
	put(&b, 0);
	return b;
}

/* Decodes the first n bytes from a heap copy of exactly that size, so that a sanitizer sees any
 * read beyond them. */
static enum rpc_verdict
decode(const struct words *b, size_t n, struct rpc_call *c)
{
	char *copy = malloc(n ? n : 1);

	memcpy(copy, b->w, n);
	enum rpc_verdict v = rpc_decode(copy, n, c);

	if (v == RPC_OK && c->flavor == AUTH_SYS)
		CU_ASSERT(c->sys.machine >= copy &&
			  c->sys.machine + c->sys.machine_len <= copy + n);
	free(copy);
	return v;
}

static enum rpc_verdict
decode_all(const struct words *b, struct rpc_call *c)
{
	return decode(b, 4 * b->n, c);
}

/* Every field of a good AUTH_SYS call is found, and the arguments begin where the header ends. */
TEST(rpc, auth_sys_call)
{
	struct rpc_call c;
	struct words b = sys_call(18, 3, 0);
	const char *rec = (const char *)b.w;

	CU_ASSERT_EQUAL(rpc_decode(rec, 4 * b.n, &c), RPC_OK);
	CU_ASSERT_EQUAL(c.xid, 0x11223344);
	CU_ASSERT_EQUAL(c.prog, 100003);
	CU_ASSERT_EQUAL(c.vers, 3);
	CU_ASSERT_EQUAL(c.proc, 6);
	CU_ASSERT_EQUAL(c.flavor, AUTH_SYS);
	CU_ASSERT_EQUAL(c.sys.uid, 1000);
	CU_ASSERT_EQUAL(c.sys.gid, 100);
	CU_ASSERT_EQUAL(c.sys.ngids, 3);
	CU_ASSERT_EQUAL(c.sys.gids[2], 7002);
	CU_ASSERT_EQUAL(c.sys.machine_len, 18);
	CU_ASSERT_EQUAL(memcmp(c.sys.machine, "client.example.org", 18), 0);
	CU_ASSERT_EQUAL(c.args_off, 4 * b.n);
}

/* A header that lies at an odd address decodes all the same. */
TEST(rpc, unaligned)
{
	struct words b = sys_call(5, 16, 0);
	char buf[sizeof b.w + 1];
	struct rpc_call c;

	memcpy(buf + 1, b.w, 4 * b.n);
	CU_ASSERT_EQUAL(rpc_decode(buf + 1, 4 * b.n, &c), RPC_OK);
	CU_ASSERT_EQUAL(c.sys.gids[15], 7015);
}

/*
 * A header cut off at any byte is refused: without an answer up to the procedure number, with a
 * reason after it.
 */
TEST(rpc, truncated_everywhere)
{
	struct words b = sys_call(18, 16, 0);
	size_t verf = 4 * (b.n - 2);
	struct rpc_call c;

	for (size_t n = 0; n < 4 * b.n; n++) {
		enum rpc_verdict want = n < 24 ? RPC_DROP : RPC_BADAUTH;

		CU_ASSERT_EQUAL(decode(&b, n, &c), want);
		if (want == RPC_BADAUTH) {
			CU_ASSERT_EQUAL(c.xid, 0x11223344);
			CU_ASSERT_EQUAL(c.why, n < verf ? AUTH_BADCRED : AUTH_BADVERF);
		}
	}
	CU_ASSERT_EQUAL(decode_all(&b, &c), RPC_OK);
}

/* Any word replaced by an extreme value gives a verdict, and never a read outside the record. */
TEST(rpc, hostile_words)
{
	static const uint32_t evil[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};
	struct rpc_call c;

	for (size_t e = 0; e < 5; e++)
		for (size_t i = 0; i < sys_call(18, 16, 0).n; i++) {
			struct words b = sys_call(18, 16, 0);

			b.w[i] = htobe32(evil[e]);
			if (decode_all(&b, &c) == RPC_OK) {
				CU_ASSERT(c.args_off <= 4 * b.n);
				CU_ASSERT_EQUAL(c.args_off % 4, 0);
				CU_ASSERT(c.sys.ngids <= RPC_GIDS_MAX);
			}
		}
}

/* 16 groups are accepted, 17 and absurd counts are not, even when the bytes are there. */
TEST(rpc, groups)
{
	struct rpc_call c;

	for (uint32_t n = 0; n <= 20; n++) {
		struct words b = sys_call(8, n, 0);

		CU_ASSERT_EQUAL(decode_all(&b, &c), n <= 16 ? RPC_OK : RPC_BADAUTH);
		CU_ASSERT_EQUAL(c.why, n <= 16 ? AUTH_OK : AUTH_BADCRED);
	}
}

/* A machine name may have 0 to 255 bytes. */
TEST(rpc, machine_name)
{
	struct rpc_call c;

	for (uint32_t n = 0; n <= 260; n++) {
		struct words b = sys_call(n, 2, 0);

		CU_ASSERT_EQUAL(decode_all(&b, &c), n <= 255 ? RPC_OK : RPC_BADAUTH);
		if (n <= 255)
			CU_ASSERT_EQUAL(c.sys.machine_len, n);
	}
}

/* The credential's length is that of its parts exactly; a byte or a word more or less is a broken
 * credential. */
TEST(rpc, credential_length)
{
	struct rpc_call c;

	for (int off = -8; off <= 8; off++) {
		struct words b = sys_call(8, 2, off);
		enum rpc_verdict v = decode_all(&b, &c);

		CU_ASSERT_EQUAL(v, off == 0 ? RPC_OK : RPC_BADAUTH);
		if (off)
			CU_ASSERT_EQUAL(c.why, AUTH_BADCRED);
	}
}

/* A call with this credential and verifier, their bodies zeroes. */
static enum rpc_verdict
auth_call(uint32_t flavor, uint32_t len, uint32_t vflavor, uint32_t vlen, struct rpc_call *c)
{
	static const char zeroes[512];
	struct words b = {0};

	for (uint32_t i = 0; i < 6; i++)
		put(&b, i == 2 ? 2 : 0);
	put(&b, flavor);
	put_opaque(&b, zeroes, len);
	put(&b, vflavor);
	put_opaque(&b, zeroes, vlen);
	return decode_all(&b, c);
}

/* AUTH_NONE is empty; other flavors are told apart from broken ones; bodies over 400 bytes are
 * broken; verifiers are null. */
TEST(rpc, flavors)
{
	struct rpc_call c;

	CU_ASSERT_EQUAL(auth_call(0, 0, 0, 0, &c), RPC_OK);
	CU_ASSERT_EQUAL(c.flavor, AUTH_NONE);
	CU_ASSERT_EQUAL(c.args_off, 40);
	CU_ASSERT_EQUAL(auth_call(0, 4, 0, 0, &c), RPC_BADAUTH);
	CU_ASSERT_EQUAL(c.why, AUTH_BADCRED);
	static const uint32_t flavors[] = {2, 3, 6, 7, 390003, 0xffffffff};

	for (size_t i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(auth_call(flavors[i], 400, 0, 0, &c), RPC_BADAUTH);
		CU_ASSERT_EQUAL(c.why, AUTH_REJECTEDCRED);
		CU_ASSERT_EQUAL(auth_call(flavors[i], 401, 0, 0, &c), RPC_BADAUTH);
		CU_ASSERT_EQUAL(c.why, AUTH_BADCRED);
	}
	CU_ASSERT_EQUAL(auth_call(0, 0, 6, 0, &c), RPC_BADAUTH);
	CU_ASSERT_EQUAL(c.why, AUTH_BADVERF);
	CU_ASSERT_EQUAL(auth_call(0, 0, 0, 4, &c), RPC_BADAUTH);
	CU_ASSERT_EQUAL(c.why, AUTH_BADVERF);
}

/* The padding of a credential belongs to it: a record that ends in it has a broken credential, of
 * whatever flavor. */
TEST(rpc, padding_is_there)
{
	struct words b = {0};
	struct rpc_call c;

	for (uint32_t i = 0; i < 6; i++)
		put(&b, i == 2 ? 2 : 0);
	put(&b, 6);
	put_opaque(&b, "tickt", 5);
	for (size_t n = 4 * b.n - 3; n <= 4 * b.n; n++) {
		CU_ASSERT_EQUAL(decode(&b, n, &c), RPC_BADAUTH);
		CU_ASSERT_EQUAL(c.why, n < 4 * b.n ? AUTH_BADCRED : AUTH_REJECTEDCRED);
	}
}

/* A reply is no call; another RPC version is refused as soon as it is seen. */
TEST(rpc, type_and_version)
{
	struct words b = sys_call(8, 0, 0);
	struct rpc_call c;

	b.w[2] = htobe32(3);
	CU_ASSERT_EQUAL(decode(&b, 11, &c), RPC_DROP);
	CU_ASSERT_EQUAL(decode(&b, 12, &c), RPC_BADVERS);
	CU_ASSERT_EQUAL(c.xid, 0x11223344);
	b.w[1] = htobe32(1);
	CU_ASSERT_EQUAL(decode_all(&b, &c), RPC_DROP);
}

/* Is the reply in buf exactly these bytes? */
static int
is(const char *buf, size_t n, const char *want, size_t wantn)
{
	return n == wantn && memcmp(buf, want, n) == 0;
}
#define IS(buf, n, lit) CU_ASSERT(is(buf, n, lit, sizeof(lit) - 1))
#define XID "\x11\x22\x33\x44"
#define W(c) "\0\0\0" c

/* Accepted replies are the bytes of RFC 5531 section 9, their mark included. */
TEST(rpc, accepted_bytes)
{
	char buf[RPC_HEAD_MAX];
	size_t n = rpc_accepted(buf, 0x11223344, SUCCESS);

	CU_ASSERT_EQUAL(n, RPC_HEAD);
	IS(buf, n, "\x80\0\0\x18" XID W("\1") W("\0") W("\0") W("\0") W("\0"));
	n = rpc_accepted(buf, 0x11223344, PROG_UNAVAIL);
	IS(buf, n, "\x80\0\0\x18" XID W("\1") W("\0") W("\0") W("\0") W("\1"));
	n = rpc_accepted(buf, 0x11223344, PROC_UNAVAIL);
	IS(buf, n, "\x80\0\0\x18" XID W("\1") W("\0") W("\0") W("\0") W("\3"));
	n = rpc_accepted(buf, 0x11223344, GARBAGE_ARGS);
	IS(buf, n, "\x80\0\0\x18" XID W("\1") W("\0") W("\0") W("\0") W("\4"));
	n = rpc_accepted(buf, 0x11223344, SYSTEM_ERR);
	IS(buf, n, "\x80\0\0\x18" XID W("\1") W("\0") W("\0") W("\0") W("\5"));
	n = rpc_prog_mismatch(buf, 0x11223344, 1, 3);
	IS(buf, n, "\x80\0\0\x20" XID W("\1") W("\0") W("\0") W("\0") W("\2") W("\1") W("\3"));
}

/* Denied replies are the bytes of RFC 5531 section 9; there is none for a good call or for one that
 * is dropped. */
TEST(rpc, denied_bytes)
{
	char buf[RPC_HEAD_MAX];
	struct rpc_call c = {.xid = 0x11223344, .why = AUTH_BADVERF};
	size_t n = rpc_refuse(buf, &c, RPC_BADVERS);

	IS(buf, n, "\x80\0\0\x18" XID W("\1") W("\1") W("\0") W("\2") W("\2"));
	n = rpc_refuse(buf, &c, RPC_BADAUTH);
	IS(buf, n, "\x80\0\0\x14" XID W("\1") W("\1") W("\1") W("\3"));
	n = rpc_auth_error(buf, 0x11223344, AUTH_TOOWEAK);
	IS(buf, n, "\x80\0\0\x14" XID W("\1") W("\1") W("\1") W("\5"));
	CU_ASSERT_EQUAL(rpc_refuse(buf, &c, RPC_OK), 0);
	CU_ASSERT_EQUAL(rpc_refuse(buf, &c, RPC_DROP), 0);
}

/* The mark counts what follows it and says that the fragment is the last. */
TEST(rpc, mark)
{
	char buf[4];

	rpc_set_mark(buf, 4 + 0x123456);
	IS(buf, 4, "\x80\x12\x34\x56");
}
