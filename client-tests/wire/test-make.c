/* SPDX-License-Identifier: BSD-2-Clause */
/* CREATE (unchecked and guarded), MKDIR, SYMLINK, MKNOD: RFC 1813 sections 3.3.8 to 3.3.11. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/change.h"

enum { OWNER = 1111, GROUP = 2222, OTHER = 3333 };

/* One of each kind, in an export that anybody may write. */
static struct bed *
make(struct at *a)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});

	bed_give(b, "a", 0777, 0, 0);
	bed_mkdir(b, "a/dir", 0755);
	bed_write(b, "a/file", "0123456789", 10);
	bed_write(b, "b/secret", "secret", 6);
	CU_ASSERT_EQUAL(symlink("file", bed_path(b, "a/link")), 0);
	CU_ASSERT_EQUAL(symlink("none", bed_path(b, "a/dangling")), 0);
	CU_ASSERT_EQUAL(symlink("../b/new", bed_path(b, "a/out")), 0);
	CU_ASSERT_EQUAL(mkfifo(bed_path(b, "a/fifo"), 0666), 0);
	CU_ASSERT_EQUAL(mknod(bed_path(b, "a/chr"), S_IFCHR | 0666, makedev(1, 3)), 0);
	*a = (struct at){"a", &b->root_a};
	return b;
}

static const char *const odd[] = {"dir", "link", "dangling", "out", "fifo", "chr"};
enum { ODD = sizeof odd / sizeof *odd };
static const specdata3 no_dev = {0, 0};

/* What is made new has exactly the mode that was asked for, each bit of it, is the caller's, and
 * leads back by its handle to itself. */
TEST(wire_make, modes)
{
	struct at a;
	struct bed *b = make(&a);
	nfs_fh3 fh;
	fattr3 attr;

	bed_as(b, OWNER, GROUP);
	for (mode_t mode = 0; mode <= 07777; mode += check_full() ? 1 : 73) {
		const sattr3 s = set_mode(mode);

		for (int kind = 0; kind < 4; kind++) {
			int st = kind == 0   ? do_create(b, a, "new", UNCHECKED, &s, &fh)
				 : kind == 1 ? do_create(b, a, "new", GUARDED, &s, &fh)
				 : kind == 2 ? do_mkdir(b, a, "new", &s, &fh)
					     : do_mknod(b, a, "new", NF3FIFO, &s, no_dev, &fh);
			struct stat is = bed_stat(b, "a/new");

			CU_ASSERT_EQUAL(st, NFS3_OK);
			CU_ASSERT_EQUAL(is.st_mode & 07777, mode);
			CU_ASSERT(is.st_uid == OWNER && is.st_gid == GROUP);
			CU_ASSERT_EQUAL(bed_getattr(b, &fh, &attr), NFS3_OK);
			CU_ASSERT_EQUAL(attr.fileid, is.st_ino);
			CU_ASSERT_EQUAL(remove(bed_path(b, "a/new")), 0);
		}
	}
	bed_free(b);
}

/* Bits over 07777 are none; without any mode nobody but the owner gets at it. */
TEST(wire_make, no_mode)
{
	struct at a;
	struct bed *b = make(&a);
	const sattr3 wild = set_mode((mode_t)~07777 | 0600), none = set_nothing();

	bed_as(b, OWNER, GROUP);
	CU_ASSERT_EQUAL(do_create(b, a, "wild", GUARDED, &wild, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/wild").st_mode, S_IFREG | 0600);
	CU_ASSERT_EQUAL(do_create(b, a, "none", GUARDED, &none, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/none").st_mode & 077, 0);
	CU_ASSERT_EQUAL(do_mkdir(b, a, "nodir", &none, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/nodir").st_mode & 077, 0);
	bed_free(b);
}

/* UNCHECKED on a file that is there succeeds, with its handle, applies the size and nothing else;
 * and the size only if the caller may write. On what is no file it is EXIST, and nothing is opened
 * or followed. */
TEST(wire_make, unchecked)
{
	struct at a;
	struct bed *b = make(&a);
	sattr3 s = {.mode = {TRUE, {07777}},
		    .uid = {TRUE, {OTHER}},
		    .gid = {TRUE, {OTHER}},
		    .mtime = {SET_TO_CLIENT_TIME, {{7, 7}}}};
	nfs_fh3 fh, known = bed_fh(b, &b->root_a, "file");
	struct stat was = bed_stat(b, "a/file"), is;

	CU_ASSERT_EQUAL(do_create(b, a, "file", UNCHECKED, &s, &fh), NFS3_OK);
	CU_ASSERT(fh.len == known.len && memcmp(fh.data, known.data, fh.len) == 0);
	is = bed_stat(b, "a/file");
	CU_ASSERT(is.st_mode == was.st_mode && is.st_uid == 0 && is.st_size == 10 &&
		  is.st_mtim.tv_sec == was.st_mtim.tv_sec);
	s.size = (set_size3){TRUE, {4}};
	CU_ASSERT_EQUAL(do_create(b, a, "file", UNCHECKED, &s, NULL), NFS3_OK);
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "0123", 4));
	s.size = (set_size3){TRUE, {0}};
	CU_ASSERT_EQUAL(do_create(b, a, "file", UNCHECKED, &s, NULL), NFS3_OK);
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "", 0));
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, was.st_mode);

	bed_write(b, "a/file", "0123456789", 10);
	bed_as(b, OTHER, OTHER);
	CU_ASSERT_EQUAL(do_create(b, a, "file", UNCHECKED, &s, NULL), NFS3ERR_ACCES);
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "0123456789", 10));
	s.size.set_it = FALSE;
	CU_ASSERT_EQUAL(do_create(b, a, "file", UNCHECKED, &s, &fh), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "x", 1, UNSTABLE, NULL), NFS3ERR_ACCES);
	bed_as(b, 0, 0);
	for (int i = 0; i < ODD; i++) {
		CU_ASSERT_EQUAL(do_create(b, a, odd[i], UNCHECKED, &s, NULL), NFS3ERR_EXIST);
		s.size = (set_size3){TRUE, {0}};
		CU_ASSERT_EQUAL(do_create(b, a, odd[i], UNCHECKED, &s, NULL), NFS3ERR_EXIST);
	}
	CU_ASSERT_FALSE(bed_there(b, "a/none"));
	CU_ASSERT_FALSE(bed_there(b, "b/new"));
	bed_free(b);
}

/* GUARDED, and all other makers, on whatever is there, are EXIST, and it stays as it was. */
TEST(wire_make, exists)
{
	struct at a;
	struct bed *b = make(&a);
	const sattr3 s = {.mode = {TRUE, {0600}}, .size = {TRUE, {0}}};

	for (int i = -1; i < ODD; i++) {
		const char *name = i < 0 ? "file" : odd[i];
		char path[64];

		snprintf(path, sizeof path, "a/%s", name);
		struct stat was = bed_stat(b, path);
		CU_ASSERT_EQUAL(do_create(b, a, name, GUARDED, &s, NULL), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(do_exclusive(b, a, name, "12345678", NULL), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(do_mkdir(b, a, name, &s, NULL), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(do_symlink(b, a, name, "x", &s, NULL), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(do_mknod(b, a, name, NF3FIFO, &s, no_dev, NULL), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(do_mknod(b, a, name, NF3CHR, &s, (specdata3){1, 3}, NULL),
				NFS3ERR_EXIST);
		struct stat is = bed_stat(b, path);
		CU_ASSERT(is.st_ino == was.st_ino && is.st_mode == was.st_mode &&
			  is.st_size == was.st_size && is.st_ctim.tv_sec == was.st_ctim.tv_sec &&
			  is.st_ctim.tv_nsec == was.st_ctim.tv_nsec);
	}
	CU_ASSERT_FALSE(bed_there(b, "a/none"));
	CU_ASSERT_FALSE(bed_there(b, "b/new"));
	bed_free(b);
}

/* Attributes that come with a creation: root's are all set, others' owner is ignored when they may
 * not give away, times and size are set for the new owner. */
TEST(wire_make, attributes)
{
	struct at a;
	struct bed *b = make(&a);
	const sattr3 s = {.mode = {TRUE, {06755}},
			  .uid = {TRUE, {OTHER}},
			  .gid = {TRUE, {OTHER}},
			  .size = {TRUE, {5}},
			  .atime = {SET_TO_CLIENT_TIME, {{7, 8}}},
			  .mtime = {SET_TO_CLIENT_TIME, {{9, 10}}}};
	struct stat st;

	for (uint32_t uid = 0; uid <= OWNER; uid += OWNER) {
		uint32_t owner = uid ? OWNER : OTHER, group = uid ? GROUP : OTHER;

		bed_as(b, uid, uid ? GROUP : 0);
		CU_ASSERT_EQUAL(do_create(b, a, "new", UNCHECKED, &s, NULL), NFS3_OK);
		st = bed_stat(b, "a/new");
		CU_ASSERT(st.st_uid == owner && st.st_gid == group && st.st_size == 5);
		CU_ASSERT_EQUAL(st.st_mode, S_IFREG | 06755);
		CU_ASSERT(st.st_atim.tv_sec == 7 && st.st_mtim.tv_sec == 9 &&
			  st.st_mtim.tv_nsec == 10);
		CU_ASSERT_EQUAL(remove(bed_path(b, "a/new")), 0);
		CU_ASSERT_EQUAL(do_mkdir(b, a, "new", &s, NULL), NFS3_OK);
		st = bed_stat(b, "a/new");
		CU_ASSERT(st.st_uid == owner && st.st_gid == group &&
			  st.st_mode == (S_IFDIR | 06755) && st.st_mtim.tv_sec == 9);
		CU_ASSERT_EQUAL(remove(bed_path(b, "a/new")), 0);
		CU_ASSERT_EQUAL(do_symlink(b, a, "new", "file", &s, NULL), NFS3_OK);
		st = bed_stat(b, "a/new");
		CU_ASSERT(st.st_uid == owner && st.st_gid == group && st.st_mtim.tv_sec == 9);
		CU_ASSERT_EQUAL(remove(bed_path(b, "a/new")), 0);
	}
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "0123456789", 10));
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_uid, 0);
	bed_free(b);
}

/* Attributes that nothing can have make nothing. */
TEST(wire_make, bad_attributes)
{
	struct at a;
	struct bed *b = make(&a);
	const struct {
		sattr3 s;
		int want;
	} v[] = {{{.mtime = {SET_TO_CLIENT_TIME, {{1, 1000000000}}}}, NFS3ERR_INVAL},
		 {{.atime = {.set_it = 3}}, NFS3ERR_INVAL},
		 {{.uid = {TRUE, {UINT32_MAX}}}, NFS3ERR_INVAL},
		 {{.size = {TRUE, {1ull << 63}}}, NFS3ERR_FBIG},
		 {{.size = {TRUE, {INT64_MAX}}}, NFS3ERR_FBIG}}; /* beyond ext4's and xfs's end */

	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		CU_ASSERT_EQUAL(do_create(b, a, "new", UNCHECKED, &v[i].s, NULL), v[i].want);
		CU_ASSERT_EQUAL(do_create(b, a, "new", GUARDED, &v[i].s, NULL), v[i].want);
		if (v[i].want != NFS3ERR_INVAL)
			continue;
		CU_ASSERT_EQUAL(do_mkdir(b, a, "new", &v[i].s, NULL), v[i].want);
		CU_ASSERT_EQUAL(do_symlink(b, a, "new", "x", &v[i].s, NULL), v[i].want);
		CU_ASSERT_EQUAL(do_mknod(b, a, "new", NF3SOCK, &v[i].s, no_dev, NULL), v[i].want);
	}
	CU_ASSERT_FALSE(bed_there(b, "a/new"));
	bed_free(b);
}

/* A link's text is kept byte for byte, up to the longest there can be; empty, with a NUL or longer
 * it makes nothing. */
TEST(wire_make, link_text)
{
	static const size_t lens[] = {1, 3, 4, 59, 60, 1023, 4094, 4095};
	struct at a;
	struct bed *b = make(&a);
	const sattr3 none = set_nothing();
	static char text[70000], got[5000];

	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		for (size_t k = 0; k < lens[i]; k++)
			text[k] = (char)(1 + (k * 7 + i) % 255);
		text[lens[i]] = 0;
		CU_ASSERT_EQUAL(do_symlink(b, a, "new", text, &none, NULL), NFS3_OK);
		CU_ASSERT_EQUAL(readlink(bed_path(b, "a/new"), got, 5000), (ssize_t)lens[i]);
		CU_ASSERT_EQUAL(memcmp(got, text, lens[i]), 0);
		CU_ASSERT_EQUAL(unlink(bed_path(b, "a/new")), 0);
	}
	memset(text, 'x', 70000);
	text[69999] = 0;
	CU_ASSERT_EQUAL(do_symlink(b, a, "new", text, &none, NULL), NFS3ERR_NAMETOOLONG);
	text[4096] = 0;
	CU_ASSERT_EQUAL(do_symlink(b, a, "new", text, &none, NULL), NFS3ERR_NAMETOOLONG);
	CU_ASSERT_EQUAL(do_symlink(b, a, "new", "", &none, NULL), NFS3ERR_INVAL);
	SYMLINK3args nul = {{b->root_a, {3, "new"}}, {none, {3, "a\0b"}}};
	SYMLINK3res r;
	CU_ASSERT_EQUAL(BED_DO(b, SYMLINK, &nul, &r), NFS3ERR_INVAL);
	CU_ASSERT_FALSE(bed_there(b, "a/new"));
	bed_free(b);
}

/* MKNOD makes FIFOs and sockets for anybody, devices for root, with their numbers; numbers that the
 * kernel has not are INVAL, other types BADTYPE, and none of these makes anything. */
TEST(wire_make, nodes)
{
	struct at a;
	struct bed *b = make(&a);
	const sattr3 s = set_mode(0640);
	static const specdata3 devs[] = {{0, 0}, {1, 3}, {7, 255}, {4095, (1 << 20) - 1}};

	for (size_t i = 0; i < sizeof devs / sizeof *devs; i++)
		for (ftype3 t = NF3BLK; t <= NF3CHR; t++) {
			bed_as(b, 0, 0);
			CU_ASSERT_EQUAL(do_mknod(b, a, "new", t, &s, devs[i], NULL), NFS3_OK);
			struct stat st = bed_stat(b, "a/new");
			CU_ASSERT_EQUAL(st.st_mode, (t == NF3BLK ? S_IFBLK : S_IFCHR) | 0640);
			CU_ASSERT_EQUAL(major(st.st_rdev), devs[i].specdata1);
			CU_ASSERT_EQUAL(minor(st.st_rdev), devs[i].specdata2);
			CU_ASSERT_EQUAL(unlink(bed_path(b, "a/new")), 0);
			bed_as(b, OTHER, OTHER);
			CU_ASSERT_EQUAL(do_mknod(b, a, "new", t, &s, devs[i], NULL), NFS3ERR_PERM);
		}
	for (int root = 1; root >= 0; root--) {
		bed_as(b, root ? 0 : OTHER, root ? 0 : OTHER);
		CU_ASSERT_EQUAL(do_mknod(b, a, "p", NF3FIFO, &s, no_dev, NULL), NFS3_OK);
		CU_ASSERT_EQUAL(bed_stat(b, "a/p").st_mode, S_IFIFO | 0640);
		CU_ASSERT_EQUAL(do_mknod(b, a, "s", NF3SOCK, &s, no_dev, NULL), NFS3_OK);
		CU_ASSERT_EQUAL(bed_stat(b, "a/s").st_mode, S_IFSOCK | 0640);
		CU_ASSERT_EQUAL(unlink(bed_path(b, "a/p")) + unlink(bed_path(b, "a/s")), 0);
	}
	bed_as(b, 0, 0);
	CU_ASSERT_EQUAL(do_mknod(b, a, "new", NF3CHR, &s, (specdata3){4096, 0}, NULL),
			NFS3ERR_INVAL);
	CU_ASSERT_EQUAL(do_mknod(b, a, "new", NF3BLK, &s, (specdata3){1, 1 << 20}, NULL),
			NFS3ERR_INVAL);
	CU_ASSERT_EQUAL(
	    do_mknod(b, a, "new", NF3BLK, &s, (specdata3){UINT32_MAX, UINT32_MAX}, NULL),
	    NFS3ERR_INVAL);
	static const int bad[] = {0, NF3REG, NF3DIR, NF3LNK, 8, 99, -1};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CU_ASSERT_EQUAL(do_mknod(b, a, "new", (ftype3)bad[i], &s, no_dev, NULL),
				NFS3ERR_BADTYPE);
	CU_ASSERT_FALSE(bed_there(b, "a/new"));
	bed_free(b);
}

/* Nothing is made where the caller may not write, or in what is no directory, or in one that is
 * gone. */
TEST(wire_make, where)
{
	struct at a;
	struct bed *b = make(&a);
	const nfs_fh3 dirfh = bed_fh(b, &b->root_a, "dir"), file = bed_fh(b, &b->root_a, "file");
	const struct at dir = {"a/dir", &dirfh};
	const sattr3 s = set_mode(0777);

	for (int round = 0; round < 3; round++) {
		static const int wants[] = {NFS3ERR_ACCES, NFS3ERR_NOTDIR, NFS3ERR_STALE};
		const nfs_fh3 *fh = round == 1 ? &file : &dirfh;
		int want = wants[round];

		bed_as(b, OTHER, OTHER);
		if (round == 2)
			CU_ASSERT_EQUAL(rmdir(bed_path(b, "a/dir")), 0);
		if (round == 0) {
			CU_ASSERT_EQUAL(do_create(b, dir, "new", UNCHECKED, &s, NULL), want);
			CU_ASSERT_EQUAL(do_create(b, dir, "new", GUARDED, &s, NULL), want);
			CU_ASSERT_EQUAL(do_exclusive(b, dir, "new", "12345678", NULL), want);
			CU_ASSERT_EQUAL(do_mkdir(b, dir, "new", &s, NULL), want);
			CU_ASSERT_EQUAL(do_symlink(b, dir, "new", "x", &s, NULL), want);
			CU_ASSERT_EQUAL(do_mknod(b, dir, "new", NF3FIFO, &s, no_dev, NULL), want);
			CU_ASSERT_EQUAL(rmdir(bed_path(b, "a/dir")), 0); /* it is empty */
			bed_mkdir(b, "a/dir", 0777);
			continue;
		}
		for (uint32_t p = NFSPROC3_CREATE; p <= NFSPROC3_MKNOD; p++) {
			bed_any(b, p, fh, fh);
			bed_run(b, BED_LOOP);
			CU_ASSERT_EQUAL(bed_status(b), want);
		}
	}
	bed_free(b);
}
