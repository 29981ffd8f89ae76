/* SPDX-License-Identifier: BSD-2-Clause */
/* WRITE and COMMIT: RFC 1813 sections 3.3.7 and 3.3.21; what the disk has to do with it is in
 * test-stable.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/change.h"

enum { OWNER = 1111, GROUP = 2222, OTHER = 3333, WTMAX = 1 << 20 };

static struct bed *
make(nfs_fh3 *file)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});

	bed_write(b, "a/file", "0123456789", 10);
	*file = bed_fh(b, &b->root_a, "file");
	return b;
}

/* Every level of every length up to wtmax and a little more is written where it belongs, and said
 * to be written whole, at the level that was asked for at least. */
TEST(wire_write, levels)
{
	static const size_t lens[] = {1,    2,	   3,	  4,	     5,	    4095,
				      4096, 65535, 65536, WTMAX - 1, WTMAX, WTMAX + 2};
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	char *data = malloc(WTMAX + 64), *want = calloc(1, WTMAX + 64);
	WRITE3resok ok;

	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
		for (stable_how how = UNSTABLE; how <= FILE_SYNC; how++) {
			size_t n = lens[i];

			bed_fill_pattern(data, i * 8 + how, n);
			bed_write(b, "a/file", "0123456789", 10);
			memcpy(want, "0123456789", 10);
			memcpy(want + 7, data, n);
			CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 7, data, n, how, &ok), NFS3_OK);
			CU_ASSERT_EQUAL(ok.count, n);
			CU_ASSERT(ok.committed >= how && ok.committed <= FILE_SYNC);
			CU_ASSERT_TRUE(bed_holds(b, "a/file", want, n + 7 > 10 ? n + 7 : 10));
		}
	/* past the end: a hole between */
	CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 2 * WTMAX, "x", 1, UNSTABLE, &ok), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_size, 2 * WTMAX + 1);
	free(data);
	free(want);
	bed_free(b);
}

/* No bytes are a success of no bytes wherever they would go, after the permission was asked;
 * nothing changes. */
TEST(wire_write, nothing)
{
	static const uint64_t at[] = {0, 10, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	struct stat was = bed_stat(b, "a/file");
	WRITE3resok ok;

	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		for (stable_how how = UNSTABLE; how <= FILE_SYNC; how++) {
			CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, at[i], "", 0, how, &ok),
					NFS3_OK);
			CU_ASSERT_EQUAL(ok.count, 0);
			CU_ASSERT(ok.committed >= how && ok.committed <= FILE_SYNC);
		}
	struct stat is = bed_stat(b, "a/file");
	CU_ASSERT(is.st_size == was.st_size && is.st_mtim.tv_sec == was.st_mtim.tv_sec &&
		  is.st_mtim.tv_nsec == was.st_mtim.tv_nsec);
	bed_as(b, OTHER, OTHER);
	CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "", 0, UNSTABLE, NULL), NFS3ERR_ACCES);
	bed_free(b);
}

/* Count and length of the data that differ are no call at all: GARBAGE_ARGS, nothing is written.
 * A level that is not known is INVAL. */
TEST(wire_write, broken)
{
	static const uint32_t counts[] = {0, 1, 7, 9, 12, WTMAX, INT32_MAX, 1u << 31, UINT32_MAX};
	nfs_fh3 fh;
	struct bed *b = make(&fh);

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		WRITE3args a = {fh, 0, counts[i], UNSTABLE, {8, -1, -1, NULL}};

		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, (xdrproc_t)xdr_WRITE3args, &a);
		bed_append(b, "ABCDEFGHIJKLMNOP", 16);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_outcome(b, NULL), OUT_ACCEPTED + GARBAGE_ARGS);
	}
	for (int how = -1; how <= 3; how += 4)
		CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "xx", 2, (stable_how)how, NULL),
				NFS3ERR_INVAL);
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "0123456789", 10));
	bed_free(b);
}

/* Where no file can reach is FBIG, and not one byte is written; the last byte there can be is. */
TEST(wire_write, offsets)
{
	static const uint64_t far[] = {INT64_MAX - 7,	 INT64_MAX,	 1ull << 63,
				       (1ull << 63) + 1, UINT64_MAX - 7, UINT64_MAX};
	struct bed *b = bed_new(&(struct bed_opts){.parent = "/dev/shm", .options_a = RW});
	nfs_fh3 fh;
	WRITE3resok ok;

	bed_write(b, "a/file", "0123456789", 10);
	fh = bed_fh(b, &b->root_a, "file");
	for (size_t i = 0; i < sizeof far / sizeof *far; i++)
		for (stable_how how = UNSTABLE; how <= FILE_SYNC; how++)
			CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, far[i], "01234567", 8, how, &ok),
					NFS3ERR_FBIG);
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "0123456789", 10));
	static const uint64_t near[] = {
	    9, 10, 11, (1u << 31) - 4, 1u << 31, UINT32_MAX, 1ull << 32, 1ull << 40, INT64_MAX - 8};
	for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
		READ3res r;

		CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, near[i], "01234567", 8, UNSTABLE, &ok),
				NFS3_OK);
		CU_ASSERT_EQUAL(ok.count, 8);
		CU_ASSERT_EQUAL((uint64_t)bed_stat(b, "a/file").st_size, near[i] + 8);
		CU_ASSERT_EQUAL(bed_read_in(b, BED_WORKER, &fh, near[i], 8, &r), NFS3_OK);
		CU_ASSERT(r.READ3res_u.resok.count == 8 &&
			  memcmp(r.READ3res_u.resok.data.base, "01234567", 8) == 0);
	}
	bed_free(b);
}

/* COMMIT of any range commits, of what was never written and twice, too; its verifier is WRITE's,
 * not zero, and the same a thousand times. */
TEST(wire_write, commit)
{
	static const uint64_t at[] = {0,	  9,	     10,	 11,	    1u << 31,
				      1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
	static const uint32_t counts[] = {0, 1, 1u << 31, UINT32_MAX};
	static const writeverf3 zero;
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	COMMIT3resok first, c;
	WRITE3resok w;
	unsigned wrong = 0;

	CU_ASSERT_EQUAL(do_commit(b, "a/file", &fh, 0, 0, &first), NFS3_OK);
	CU_ASSERT_NOT_EQUAL(memcmp(first.verf, zero, sizeof zero), 0);
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
			CU_ASSERT_EQUAL(do_commit(b, "a/file", &fh, at[i], counts[k], &c), NFS3_OK);
			wrong += memcmp(c.verf, first.verf, sizeof c.verf) != 0;
		}
	for (uint32_t i = 0; i < (check_full() ? 1000 : 100); i++) {
		CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, i, "x", 1, i % 3, &w), NFS3_OK);
		CU_ASSERT_EQUAL(do_commit(b, "a/file", &fh, i, 1, &c), NFS3_OK);
		wrong += memcmp(w.verf, first.verf, sizeof w.verf) != 0;
		wrong += memcmp(c.verf, first.verf, sizeof c.verf) != 0;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	bed_stop(b); /* another server, another verifier */
	bed_start(b);
	CU_ASSERT_EQUAL(do_commit(b, "a/file", &fh, 0, 0, &c), NFS3_OK);
	CU_ASSERT_NOT_EQUAL(memcmp(c.verf, first.verf, sizeof c.verf), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(c.verf, zero, sizeof zero), 0);
	bed_free(b);
}

/* Only files are written and committed: a directory is ISDIR, all else INVAL, with attributes. */
TEST(wire_write, kinds)
{
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	static const struct {
		const char *path;
		int want;
	} v[] = {{"a/dir", NFS3ERR_ISDIR},  {"a/link", NFS3ERR_INVAL}, {"a/fifo", NFS3ERR_INVAL},
		 {"a/sock", NFS3ERR_INVAL}, {"a/chr", NFS3ERR_INVAL},  {"a/blk", NFS3ERR_INVAL}};

	bed_mkdir(b, "a/dir", 0777);
	CU_ASSERT_EQUAL(symlink("file", bed_path(b, "a/link")), 0);
	CU_ASSERT_EQUAL(mknod(bed_path(b, "a/fifo"), S_IFIFO | 0666, 0), 0);
	CU_ASSERT_EQUAL(mknod(bed_path(b, "a/sock"), S_IFSOCK | 0666, 0), 0);
	CU_ASSERT_EQUAL(mknod(bed_path(b, "a/chr"), S_IFCHR | 0666, 0x103), 0); /* /dev/null */
	CU_ASSERT_EQUAL(mknod(bed_path(b, "a/blk"), S_IFBLK | 0666, 0x700), 0);
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		nfs_fh3 o = bed_fh(b, &b->root_a, v[i].path + 2);

		CU_ASSERT_EQUAL(do_write(b, v[i].path, &o, 0, "x", 1, FILE_SYNC, NULL), v[i].want);
		CU_ASSERT_EQUAL(do_write(b, v[i].path, &o, 0, "", 0, FILE_SYNC, NULL), v[i].want);
		CU_ASSERT_EQUAL(do_commit(b, v[i].path, &o, 0, 0, NULL), v[i].want);
	}
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "0123456789", 10));
	bed_free(b);
}

/* The owner writes what he made read-only and what he has shut himself out of; group and others by
 * the mode, whoever has written before; ACCESS tells the mode to all. */
TEST(wire_write, who)
{
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	const sattr3 readonly = set_mode(0444);
	ACCESS3args a;
	ACCESS3res r;

	bed_give(b, "a", 0777, 0, 0);
	bed_as(b, OWNER, GROUP);
	CU_ASSERT_EQUAL(do_create(b, (struct at){"a", &b->root_a}, "new", GUARDED, &readonly, &fh),
			NFS3_OK);
	for (mode_t mode = 0; mode <= 0777; mode += 9) {
		bed_give(b, "a/new", mode, OWNER, GROUP);
		bed_as(b, OWNER, OTHER);
		CU_ASSERT_EQUAL(do_write(b, "a/new", &fh, 0, "own", 3, UNSTABLE, NULL), NFS3_OK);
		a = (ACCESS3args){fh, ACCESS3_MODIFY | ACCESS3_EXTEND};
		CU_ASSERT_EQUAL(BED_NFS(b, ACCESS, &a, &r), NFS3_OK);
		CU_ASSERT_EQUAL(r.ACCESS3res_u.resok.access != 0, (mode & 0200) != 0);
		bed_as(b, OTHER, GROUP);
		CU_ASSERT_EQUAL(do_write(b, "a/new", &fh, 0, "grp", 3, UNSTABLE, NULL),
				mode & 0020 ? NFS3_OK : NFS3ERR_ACCES);
		bed_as(b, OTHER, OTHER);
		CU_ASSERT_EQUAL(do_write(b, "a/new", &fh, 0, "oth", 3, UNSTABLE, NULL),
				mode & 0002 ? NFS3_OK : NFS3ERR_ACCES);
	}
	bed_free(b);
}

/* A written byte takes setuid and setgid bits away, but for root and for a setgid bit that means
 * another thing (locks; to who is of the group). */
TEST(wire_write, special_bits)
{
	static const struct {
		mode_t mode;
		uint32_t uid, gid;
		mode_t want;
	} v[] = {{06777, OWNER, OTHER, 0777}, {06777, OTHER, OTHER, 0777},
		 {04777, OTHER, GROUP, 0777}, {02666, OTHER, GROUP, 02666},
		 {02676, OTHER, GROUP, 0676}, {06777, 0, 0, 06777}};
	nfs_fh3 fh;
	struct bed *b = make(&fh);

	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		for (stable_how how = UNSTABLE; how <= FILE_SYNC; how++) {
			bed_give(b, "a/file", v[i].mode, OWNER, GROUP);
			bed_as(b, v[i].uid, v[i].gid);
			CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "x", 1, how, NULL), NFS3_OK);
			CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, S_IFREG | v[i].want);
		}
	bed_free(b);
}
