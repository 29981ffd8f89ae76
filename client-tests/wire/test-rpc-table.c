/* SPDX-License-Identifier: BSD-2-Clause */
/* What is not a call we can serve gets the exact reply of RFC 5531 section 9, and the next good
 * call is served. */
#include <string.h>

#include "lib/bed.h"

static void
null_call(struct bed *b, uint32_t prog, uint32_t vers, uint32_t proc)
{
	bed_record(b, prog, vers, proc, NULL, NULL);
}

static int
outcome_of(struct bed *b, uint32_t prog, uint32_t vers, uint32_t proc)
{
	null_call(b, prog, vers, proc);
	bed_run_all(b);
	return bed_outcome(b, NULL);
}

static void
still_serves(struct bed *b)
{
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3_OK);
}

/* NULL of every program and version is answered with success and nothing after it, whatever follows
 * the header. */
TEST(wire_rpc, null)
{
	struct bed *b = bed_new(NULL);
	static const uint32_t what[][2] = {
	    {NFS_PROGRAM, 3}, {MOUNT_PROGRAM, 1}, {MOUNT_PROGRAM, 2}, {MOUNT_PROGRAM, 3}};

	for (size_t i = 0; i < 4; i++)
		for (uint32_t flavor = AUTH_NONE; flavor <= AUTH_SYS; flavor++) {
			b->flavor = flavor;
			CU_ASSERT_EQUAL(outcome_of(b, what[i][0], what[i][1], 0),
					OUT_ACCEPTED + SUCCESS);
			CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD);
			null_call(b, what[i][0], what[i][1], 0);
			bed_append(b, "trailing bytes, a few", 20);
			bed_run_all(b);
			CU_ASSERT_EQUAL(bed_outcome(b, NULL), OUT_ACCEPTED + SUCCESS);
			CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD);
			CU_ASSERT_FALSE(b->reply.failed);
		}
	bed_free(b);
}

/* An RPC version other than 2 is RPC_MISMATCH with the range 2..2. */
TEST(wire_rpc, rpc_version)
{
	struct bed *b = bed_new(NULL);
	static const uint32_t versions[] = {0, 1, 3, UINT32_MAX};

	for (size_t i = 0; i < 4; i++) {
		null_call(b, NFS_PROGRAM, 3, 0);
		bed_put32(b, 8, versions[i]);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_outcome(b, NULL), OUT_BADVERS);
		CU_ASSERT_EQUAL(b->reply.len, 28);
		CU_ASSERT_EQUAL(bed_get32(b->reply.buf + 20), 2);
		CU_ASSERT_EQUAL(bed_get32(b->reply.buf + 24), 2);
		CU_ASSERT_TRUE(b->reply.failed);
	}
	still_serves(b);
	bed_free(b);
}

/* A program that is not served is PROG_UNAVAIL: clients probe for NFSACL, NLM and others, and must
 * get their no at once. */
TEST(wire_rpc, unknown_program)
{
	struct bed *b = bed_new(NULL);
	static const uint32_t progs[] = {0, 100000, 100021, 100024, 100227, UINT32_MAX};

	for (size_t i = 0; i < sizeof progs / sizeof *progs; i++) {
		CU_ASSERT_EQUAL(outcome_of(b, progs[i], 3, 0), OUT_ACCEPTED + PROG_UNAVAIL);
		CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD);
		CU_ASSERT_TRUE(b->reply.failed);
	}
	still_serves(b);
	bed_free(b);
}

static void
expect_range(struct bed *b, uint32_t prog, uint32_t vers, uint32_t low, uint32_t high)
{
	CU_ASSERT_EQUAL(outcome_of(b, prog, vers, 1), OUT_ACCEPTED + PROG_MISMATCH);
	CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD + 8);
	CU_ASSERT_EQUAL(bed_get32(b->reply.buf + RPC_HEAD), low);
	CU_ASSERT_EQUAL(bed_get32(b->reply.buf + RPC_HEAD + 4), high);
}

/* A version that is not served is PROG_MISMATCH with the versions that are. */
TEST(wire_rpc, program_versions)
{
	struct bed *b = bed_new(NULL);

	expect_range(b, NFS_PROGRAM, 0, 3, 3);
	expect_range(b, NFS_PROGRAM, 2, 3, 3);
	expect_range(b, NFS_PROGRAM, 4, 3, 3);
	expect_range(b, NFS_PROGRAM, UINT32_MAX, 3, 3);
	expect_range(b, MOUNT_PROGRAM, 0, 1, 3);
	expect_range(b, MOUNT_PROGRAM, 4, 1, 3);
	still_serves(b);
	bed_free(b);
}

/* A procedure beyond the last is PROC_UNAVAIL; the last one itself is not. */
TEST(wire_rpc, procedures)
{
	struct bed *b = bed_new(NULL);
	static const struct {
		uint32_t prog, vers, first;
	} ends[] = {{NFS_PROGRAM, 3, 22},
		    {MOUNT_PROGRAM, 1, 7},
		    {MOUNT_PROGRAM, 2, 8},
		    {MOUNT_PROGRAM, 3, 6}};

	for (size_t i = 0; i < 4; i++) {
		uint32_t p = ends[i].prog, v = ends[i].vers, n = ends[i].first;

		CU_ASSERT_EQUAL(outcome_of(b, p, v, n), OUT_ACCEPTED + PROC_UNAVAIL);
		CU_ASSERT_EQUAL(outcome_of(b, p, v, 999), OUT_ACCEPTED + PROC_UNAVAIL);
		CU_ASSERT_EQUAL(outcome_of(b, p, v, UINT32_MAX), OUT_ACCEPTED + PROC_UNAVAIL);
		CU_ASSERT_NOT_EQUAL(outcome_of(b, p, v, n - 1), OUT_ACCEPTED + PROC_UNAVAIL);
	}
	still_serves(b);
	bed_free(b);
}

/* Without AUTH_SYS only NULL and MOUNT's procedures are served; every procedure of NFS says
 * AUTH_TOOWEAK. */
TEST(wire_rpc, auth_none)
{
	struct bed *b = bed_new(NULL);

	b->flavor = AUTH_NONE;
	for (uint32_t p = 1; p < BED_NFS_PROCS; p++) {
		bed_any(b, p, &b->root_a, &b->root_a);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_outcome(b, NULL), OUT_AUTH + AUTH_TOOWEAK);
		CU_ASSERT_EQUAL(b->reply.len, 24);
	}
	for (uint32_t p = MOUNTPROC_DUMP; p <= MOUNTPROC_EXPORT; p++)
		if (p != MOUNTPROC_UMNT)
			CU_ASSERT_EQUAL(outcome_of(b, MOUNT_PROGRAM, 3, p), OUT_ACCEPTED + SUCCESS);
	b->flavor = AUTH_SYS;
	still_serves(b);
	bed_free(b);
}

enum { FLAVOR_AT = 24, CREDLEN_AT = 28, NAMELEN_AT = 36, GIDS_AT = 52, VERF_AT = 56 };

/* One word of the header changed: what is the answer? */
static int
with_word(struct bed *b, size_t at, uint32_t v)
{
	null_call(b, NFS_PROGRAM, 3, 0);
	bed_put32(b, at, v);
	bed_run_all(b);
	return bed_outcome(b, NULL);
}

/* Credentials: unknown flavors are AUTH_REJECTEDCRED, those whose parts do not fill them are
 * AUTH_BADCRED, verifiers AUTH_BADVERF. */
TEST(wire_rpc, credentials)
{
	struct bed *b = bed_new(NULL);

	CU_ASSERT_EQUAL(with_word(b, FLAVOR_AT, 99), OUT_AUTH + AUTH_REJECTEDCRED);
	CU_ASSERT_EQUAL(with_word(b, FLAVOR_AT, 6), OUT_AUTH + AUTH_REJECTEDCRED);
	CU_ASSERT_EQUAL(with_word(b, FLAVOR_AT, AUTH_NONE), OUT_AUTH + AUTH_BADCRED);
	CU_ASSERT_EQUAL(with_word(b, CREDLEN_AT, 20), OUT_AUTH + AUTH_BADCRED);
	CU_ASSERT_EQUAL(with_word(b, CREDLEN_AT, 401), OUT_AUTH + AUTH_BADCRED);
	CU_ASSERT_EQUAL(with_word(b, CREDLEN_AT, UINT32_MAX), OUT_AUTH + AUTH_BADCRED);
	CU_ASSERT_EQUAL(with_word(b, NAMELEN_AT, 256), OUT_AUTH + AUTH_BADCRED);
	CU_ASSERT_EQUAL(with_word(b, NAMELEN_AT, UINT32_MAX), OUT_AUTH + AUTH_BADCRED);
	CU_ASSERT_EQUAL(with_word(b, GIDS_AT, 1), OUT_AUTH + AUTH_BADCRED);
	CU_ASSERT_EQUAL(with_word(b, GIDS_AT, 17), OUT_AUTH + AUTH_BADCRED);
	CU_ASSERT_EQUAL(with_word(b, VERF_AT, AUTH_SYS), OUT_AUTH + AUTH_BADVERF);
	CU_ASSERT_EQUAL(with_word(b, VERF_AT + 4, 4), OUT_AUTH + AUTH_BADVERF);
	b->ngids = 16;
	still_serves(b);
	bed_free(b);
}

/* Arguments that end too early are GARBAGE_ARGS for every procedure that has any. */
TEST(wire_rpc, garbage_args)
{
	struct bed *b = bed_new(NULL);

	for (uint32_t p = 1; p < BED_NFS_PROCS; p++) {
		bed_record(b, NFS_PROGRAM, NFS_V3, p, NULL, NULL);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_outcome(b, NULL), OUT_ACCEPTED + GARBAGE_ARGS);
		CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD);
	}
	CU_ASSERT_EQUAL(outcome_of(b, MOUNT_PROGRAM, 3, MOUNTPROC3_MNT),
			OUT_ACCEPTED + GARBAGE_ARGS);
	CU_ASSERT_EQUAL(outcome_of(b, MOUNT_PROGRAM, 3, MOUNTPROC3_UMNT),
			OUT_ACCEPTED + GARBAGE_ARGS);
	still_serves(b);
	bed_free(b);
}

/* What is no call cannot be answered: the verdict is to close, and nothing is held. */
TEST(wire_rpc, not_a_call)
{
	struct bed *b = bed_new(NULL);

	null_call(b, NFS_PROGRAM, 3, 0);
	bed_put32(b, 4, REPLY);
	bed_run_all(b);
	CU_ASSERT_EQUAL(b->reply.verdict, CALL_CLOSE);
	null_call(b, NFS_PROGRAM, 3, 0);
	for (b->reclen = 0; b->reclen < 24; b->reclen++) {
		bed_run_all(b);
		CU_ASSERT_EQUAL(b->reply.verdict, CALL_CLOSE);
	}
	still_serves(b);
	bed_free(b);
}
