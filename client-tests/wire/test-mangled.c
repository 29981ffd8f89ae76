/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every call of every procedure, cut at each byte, lengthened, and with each of its words replaced
 * by numbers that break arithmetic: there is one reply or none, it is a legal one, nothing stays
 * behind, and the next good call is served. The sanitizers look for the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bed.h"
#include "store.h"

static struct bed *
make(const char *options, nfs_fh3 *file, nfs_fh3 *dir, nfs_fh3 *link)
{
	struct bed *b = bed_new(
	    &(struct bed_opts){.parent = "/dev/shm", .options_a = options, .drc = options != NULL});

	bed_mkdir(b, "a/dir", 0777);
	bed_write(b, "a/file", "0123456789", 10);
	if (symlink("target", bed_path(b, "a/link")) != 0)
		CU_FAIL("symlink");
	bed_settle(b);
	*file = bed_fh(b, &b->root_a, "file");
	*dir = bed_fh(b, &b->root_a, "dir");
	*link = bed_fh(b, &b->root_a, "link");
	return b;
}

enum { MOUNT_CALLS = 8, CALLS = BED_NFS_PROCS - 1 + MOUNT_CALLS };

/* The i-th of all calls there are. */
static void
build(struct bed *b, unsigned i, const nfs_fh3 *file, const nfs_fh3 *dir, const nfs_fh3 *link)
{
	uint32_t proc = i + 1;
	char path[100];
	dirpath p = {0, path};

	if (proc < BED_NFS_PROCS) {
		mode_t kind = bed_kind(proc);

		bed_any(b, proc, kind == S_IFDIR ? &b->root_a : kind == S_IFLNK ? link : file, dir);
		return;
	}
	proc -= BED_NFS_PROCS;
	p.len = (u_int)snprintf(path, sizeof path, "%s/a/dir", b->base);
	if (proc == MOUNTPROC_MNT || proc == MOUNTPROC_UMNT || proc == MOUNTPROC_PATHCONF)
		bed_record(b, MOUNT_PROGRAM, proc == MOUNTPROC_PATHCONF ? 2 : 3, proc,
			   (xdrproc_t)xdr_dirpath, &p);
	else
		bed_record(b, MOUNT_PROGRAM, 1, proc, NULL, NULL);
}

/* Is it one of the answers that RFC 5531 knows? */
static bool
legal(const struct bed *b)
{
	int out = bed_outcome(b, NULL);

	if (b->reply.verdict == CALL_CLOSE)
		return true;
	return out == OUT_BADVERS || (out > OUT_AUTH && out <= OUT_AUTH + AUTH_TOOWEAK) ||
	       (out >= OUT_ACCEPTED + SUCCESS && out <= OUT_ACCEPTED + GARBAGE_ARGS);
}

static enum bed_mode
some_mode(void)
{
	static unsigned n;

	return (enum bed_mode)(n++ % BED_MODES);
}

/* Cut within the arguments it is GARBAGE_ARGS; within the header, a refusal or a close. */
TEST(wire_mangled, cut)
{
	nfs_fh3 file, dir, link;
	struct bed *b = make(NULL, &file, &dir, &link);
	unsigned wrong = 0;

	for (unsigned i = 0; i < CALLS; i++) {
		size_t whole;

		build(b, i, &file, &dir, &link);
		whole = b->reclen;
		for (b->reclen = 0; b->reclen < whole; b->reclen++) {
			bed_run(b, some_mode());
			wrong += !legal(b);
			if (b->reclen >= b->args_off)
				wrong += bed_outcome(b, NULL) != OUT_ACCEPTED + GARBAGE_ARGS;
			else
				wrong += bed_outcome(b, NULL) >= OUT_ACCEPTED;
		}
		bed_run(b, some_mode());
		wrong += bed_outcome(b, NULL) != OUT_ACCEPTED + SUCCESS;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	bed_free(b);
}

/* What follows the arguments changes nothing of the reply, whatever and however much it is. */
TEST(wire_mangled, trailing)
{
	nfs_fh3 file, dir, link;
	struct bed *b = make(NULL, &file, &dir, &link);
	char *junk = malloc(65536), *want = malloc(65536);
	unsigned wrong = 0;

	memset(junk, 0xa5, 65536);
	for (unsigned i = 0; i < CALLS; i++) {
		size_t whole, len;

		build(b, i, &file, &dir, &link);
		whole = b->reclen;
		store_flush(b->store); /* the mount list stands still */
		bed_run(b, BED_WORKER);
		len = b->reply.len;
		memcpy(want, b->reply.buf, len);
		for (size_t n = 1; n <= 65536; n = n < 8 ? n + 1 : n * 4) {
			b->reclen = whole;
			bed_append(b, junk, n);
			bed_run(b, some_mode());
			/* how much room there is, others decide */
			if (i + 1 == NFSPROC3_FSSTAT)
				len = b->reply.len < 8 ? b->reply.len : 8;
			wrong += b->reply.len < len || memcmp(b->reply.buf, want, len) != 0 ||
				 (i + 1 != NFSPROC3_FSSTAT && b->reply.len != len);
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	free(junk);
	free(want);
	bed_free(b);
}

static void
words(const char *options)
{
	static const uint32_t values[] = {
	    0, 1, 2, 63, 64, 65, INT32_MAX, 1u << 31, UINT32_MAX - 3, UINT32_MAX - 1, UINT32_MAX};
	nfs_fh3 file, dir, link;
	struct bed *b = make(options, &file, &dir, &link);
	unsigned wrong = 0, n = 0;

	for (unsigned i = 0; i < CALLS; i++) {
		build(b, i, &file, &dir, &link);
		for (size_t at = 4; at + 4 <= b->reclen; at += 4) {
			uint32_t was = bed_get32(b->rec + at);

			for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
				bed_put32(b, at, values[v]);
				bed_run(b, some_mode());
				wrong += !legal(b);
				n++;
			}
			bed_put32(b, at, was);
		}
		bed_run(b, some_mode());
		wrong += bed_outcome(b, NULL) != OUT_ACCEPTED + SUCCESS;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(n > 5000);
	bed_free(b);
}

/* Each word of each call set to numbers at the edges of arithmetic, in an export that can be
 * changed by it, too. */
TEST(wire_mangled, words)
{
	words(NULL);
	words("rw,no_root_squash");
}

static uint64_t
rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void
flip(struct bed *b, size_t bit)
{
	unsigned char byte = (unsigned char)b->rec[bit / 8];

	byte ^= (unsigned char)(1u << bit % 8);
	b->rec[bit / 8] = (char)byte;
}

static void
random_bits(const char *options)
{
	nfs_fh3 file, dir, link;
	struct bed *b = make(options, &file, &dir, &link);
	unsigned wrong = 0, rounds = check_full() ? 20000 : 300;
	uint64_t s = 88172645463325252u;

	for (unsigned i = 0; i < CALLS; i++)
		for (unsigned k = 0; k < rounds; k++) {
			build(b, i, &file, &dir, &link);
			for (unsigned f = 0; f <= k % 4; f++)
				flip(b, 32 + rnd(&s) % (8 * (b->reclen - 4)));
			bed_run(b, some_mode());
			wrong += !legal(b);
		}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3_OK);
	bed_free(b);
}

/* Bits flipped at random places, a few at a time, from a fixed seed. */
TEST(wire_mangled, random_bits)
{
	random_bits(NULL);
	random_bits("rw,no_root_squash");
}
