/* SPDX-License-Identifier: BSD-2-Clause */
/* REMOVE, RMDIR, RENAME, LINK: RFC 1813 sections 3.3.12 to 3.3.15. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/change.h"

enum { OWNER = 1111, GROUP = 2222, OTHER = 3333 };

/* In a: file, other (files), dir (with file in it), empty, link, fifo. */
static struct bed *
make(struct at *a, const char *options)
{
	struct bed *b =
	    bed_new(&(struct bed_opts){.options_a = options ? options : RW, .options_b = RW});

	bed_write(b, "a/file", "file", 4);
	bed_write(b, "a/other", "other", 5);
	bed_mkdir(b, "a/dir", 0755);
	bed_write(b, "a/dir/file", "inner", 5);
	bed_mkdir(b, "a/empty", 0755);
	bed_write(b, "b/file", "b", 1);
	CU_ASSERT_EQUAL(symlink("file", bed_path(b, "a/link")), 0);
	CU_ASSERT_EQUAL(mkfifo(bed_path(b, "a/fifo"), 0666), 0);
	*a = (struct at){"a", &b->root_a};
	return b;
}

/* REMOVE takes what is no directory, the link and not what it leads to; RMDIR takes an empty
 * directory; each refuses the other's. */
TEST(wire_rename, remove)
{
	struct at a;
	struct bed *b = make(&a, NULL);
	static const char *const files[] = {"link", "fifo", "file", "other"};

	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(do_rmdir(b, a, files[i]), NFS3ERR_NOTDIR);
	CU_ASSERT_EQUAL(do_remove(b, a, "dir"), NFS3ERR_ISDIR);
	CU_ASSERT_EQUAL(do_remove(b, a, "empty"), NFS3ERR_ISDIR);
	CU_ASSERT_EQUAL(do_rmdir(b, a, "dir"), NFS3ERR_NOTEMPTY);
	CU_ASSERT_EQUAL(do_remove(b, a, "none"), NFS3ERR_NOENT);
	CU_ASSERT_EQUAL(do_rmdir(b, a, "none"), NFS3ERR_NOENT);
	for (int i = 0; i < 4; i++) {
		char path[20];

		snprintf(path, sizeof path, "a/%s", files[i]);
		CU_ASSERT_TRUE(bed_there(b, path));
		CU_ASSERT_EQUAL(do_remove(b, a, files[i]), NFS3_OK);
		CU_ASSERT_FALSE(bed_there(b, path));
		CU_ASSERT_EQUAL(do_remove(b, a, files[i]), NFS3ERR_NOENT);
	}
	CU_ASSERT_EQUAL(do_rmdir(b, a, "empty"), NFS3_OK);
	CU_ASSERT_FALSE(bed_there(b, "a/empty"));
	CU_ASSERT_TRUE(bed_holds(b, "a/dir/file", "inner", 5));
	bed_free(b);
}

/* A sticky directory lets only owners remove and rename; without the right to write it nobody
 * does. */
TEST(wire_rename, who)
{
	struct at a;
	struct bed *b = make(&a, NULL);

	bed_give(b, "a/file", 0666, OWNER, GROUP);
	bed_as(b, OTHER, OTHER);
	CU_ASSERT_EQUAL(do_remove(b, a, "file"), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_rmdir(b, a, "empty"), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_rename(b, a, "file", a, "new"), NFS3ERR_ACCES);
	bed_give(b, "a", 01777, 0, 0);
	CU_ASSERT_EQUAL(do_remove(b, a, "file"), NFS3ERR_PERM);
	CU_ASSERT_EQUAL(do_rmdir(b, a, "empty"), NFS3ERR_PERM);
	CU_ASSERT_EQUAL(do_rename(b, a, "file", a, "new"), NFS3ERR_PERM);
	bed_as(b, OWNER, GROUP);
	CU_ASSERT_EQUAL(do_rename(b, a, "file", a, "other"), NFS3ERR_PERM);
	CU_ASSERT_EQUAL(do_rename(b, a, "file", a, "new"), NFS3_OK);
	CU_ASSERT_EQUAL(do_remove(b, a, "new"), NFS3_OK);
	bed_free(b);
}

/* What a name becomes, by what it was and what is there. 3.3.14 would have EXIST for a target that
 * does not fit; NOTDIR, ISDIR and NOTEMPTY of its list say why, as rename(2) does. */
TEST(wire_rename, targets)
{
	static const struct {
		const char *from, *to;
		int want;
	} v[] = {
	    {"file", "new", NFS3_OK},
	    {"dir", "new", NFS3_OK},
	    {"link", "new", NFS3_OK},
	    {"fifo", "new", NFS3_OK},
	    {"file", "other", NFS3_OK},
	    {"file", "link", NFS3_OK},
	    {"link", "file", NFS3_OK},
	    {"file", "fifo", NFS3_OK},
	    {"dir", "empty", NFS3_OK},
	    {"file", "file", NFS3_OK},
	    {"dir", "dir", NFS3_OK},
	    {"file", "empty", NFS3ERR_ISDIR},
	    {"file", "dir", NFS3ERR_ISDIR},
	    {"link", "dir", NFS3ERR_ISDIR},
	    {"dir", "file", NFS3ERR_NOTDIR},
	    {"dir", "link", NFS3ERR_NOTDIR},
	    {"empty", "dir", NFS3ERR_NOTEMPTY},
	    {"none", "new", NFS3ERR_NOENT},
	    {"none", "file", NFS3ERR_NOENT},
	    {"none", "none", NFS3ERR_NOENT},
	};

	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		struct at a;
		struct bed *b = make(&a, NULL);
		char from[20], to[20];
		struct stat st = {0}, was = {0}, is;

		snprintf(from, sizeof from, "a/%s", v[i].from);
		snprintf(to, sizeof to, "a/%s", v[i].to);
		(void)lstat(bed_path(b, from), &st);
		(void)lstat(bed_path(b, to), &was);
		CU_ASSERT_EQUAL(do_rename(b, a, v[i].from, a, v[i].to), v[i].want);
		if (v[i].want == NFS3_OK) {
			CU_ASSERT_EQUAL(bed_stat(b, to).st_ino, st.st_ino);
			CU_ASSERT_EQUAL(bed_there(b, from), strcmp(v[i].from, v[i].to) == 0);
		} else if (was.st_ino) {
			is = bed_stat(b, to);
			CU_ASSERT_EQUAL(is.st_ino, was.st_ino);
		}
		bed_free(b);
	}
}

/* From one directory to another, up and down; never into itself, nor over what contains it; and two
 * names of one file stay both. */
TEST(wire_rename, directories)
{
	struct at a;
	struct bed *b = make(&a, NULL);
	const nfs_fh3 dirfh = bed_fh(b, &b->root_a, "dir"),
		      emptyfh = bed_fh(b, &b->root_a, "empty"),
		      file = bed_fh(b, &b->root_a, "file");
	struct at dir = {"a/dir", &dirfh}, empty = {"a/empty", &emptyfh};

	CU_ASSERT_EQUAL(do_rename(b, a, "dir", dir, "self"), NFS3ERR_INVAL);
	CU_ASSERT_EQUAL(do_rename(b, dir, "file", a, "dir"), NFS3ERR_NOTEMPTY);
	CU_ASSERT_EQUAL(do_rename(b, a, "file", dir, "file"), NFS3_OK);
	CU_ASSERT_TRUE(bed_holds(b, "a/dir/file", "file", 4));
	CU_ASSERT_EQUAL(do_rename(b, dir, "file", a, "file"), NFS3_OK);
	CU_ASSERT_EQUAL(do_rename(b, a, "empty", dir, "sub"), NFS3_OK);
	CU_ASSERT_FALSE(bed_there(b, "a/empty"));
	CU_ASSERT_TRUE(bed_there(b, "a/dir/sub"));
	empty.path = "a/dir/sub";
	CU_ASSERT_EQUAL(do_rename(b, a, "dir", empty, "deep"), NFS3ERR_INVAL);
	CU_ASSERT_EQUAL(do_rename(b, dir, "sub", a, "dir"), NFS3ERR_NOTEMPTY);
	CU_ASSERT_EQUAL(do_rename(b, a, "file", empty, "deep"), NFS3_OK);
	CU_ASSERT_TRUE(bed_holds(b, "a/dir/sub/deep", "file", 4));
	CU_ASSERT_EQUAL(do_link(b, &file, a, "hard"), NFS3_OK);
	CU_ASSERT_EQUAL(do_rename(b, a, "hard", empty, "deep"), NFS3_OK);
	CU_ASSERT_TRUE(bed_holds(b, "a/dir/sub/deep", "file", 4));
	CU_ASSERT_TRUE(bed_holds(b, "a/hard", "file", 4));
	bed_free(b);
}

/* Handles of two exports are XDEV, both ways, for LINK and RENAME, and nothing moves. */
TEST(wire_rename, two_exports)
{
	struct at a;
	struct bed *b = make(&a, NULL);
	const struct at other = {"b", &b->root_b};
	const nfs_fh3 file = bed_fh(b, &b->root_a, "file"), bfile = bed_fh(b, &b->root_b, "file");

	CU_ASSERT_EQUAL(do_rename(b, a, "file", other, "new"), NFS3ERR_XDEV);
	CU_ASSERT_EQUAL(do_rename(b, other, "file", a, "new"), NFS3ERR_XDEV);
	CU_ASSERT_EQUAL(do_link(b, &file, other, "new"), NFS3ERR_XDEV);
	CU_ASSERT_EQUAL(do_link(b, &bfile, a, "new"), NFS3ERR_XDEV);
	CU_ASSERT_FALSE(bed_there(b, "a/new") || bed_there(b, "b/new"));
	CU_ASSERT_TRUE(bed_there(b, "a/file") && bed_there(b, "b/file"));
	bed_free(b);
}

/* Links are made of everything but directories, of a symbolic link itself; never over what is
 * there. */
TEST(wire_rename, link)
{
	struct at a;
	struct bed *b = make(&a, NULL);
	static const char *const names[] = {"file", "link", "fifo"};
	const nfs_fh3 dir = bed_fh(b, &b->root_a, "dir");

	for (int i = 0; i < 3; i++) {
		const nfs_fh3 fh = bed_fh(b, &b->root_a, names[i]);
		char path[20];

		snprintf(path, sizeof path, "a/%s", names[i]);
		CU_ASSERT_EQUAL(do_link(b, &fh, a, "new"), NFS3_OK);
		CU_ASSERT_EQUAL(bed_stat(b, "a/new").st_ino, bed_stat(b, path).st_ino);
		CU_ASSERT_EQUAL(bed_stat(b, path).st_nlink, 2);
		CU_ASSERT_EQUAL(do_link(b, &fh, a, "new"), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(do_link(b, &fh, a, "dir"), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(do_link(b, &fh, a, names[i]), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(do_remove(b, a, "new"), NFS3_OK);
	}
	CU_ASSERT_EQUAL(do_link(b, &dir, a, "new"), NFS3ERR_INVAL);
	CU_ASSERT_FALSE(bed_there(b, "a/new"));
	bed_free(b);
}

/* A directory that was removed, though a client has its handle, is STALE as either of two. */
TEST(wire_rename, stale)
{
	struct at a;
	struct bed *b = make(&a, NULL);
	const nfs_fh3 gone = bed_fh(b, &b->root_a, "empty"), file = bed_fh(b, &b->root_a, "file");

	CU_ASSERT_EQUAL(do_rmdir(b, a, "empty"), NFS3_OK);
	for (int i = 0; i < 5; i++) {
		static const uint32_t procs[] = {NFSPROC3_REMOVE, NFSPROC3_RMDIR, NFSPROC3_RENAME,
						 NFSPROC3_RENAME, NFSPROC3_LINK};
		bool second = i >= 3;

		bed_any(b, procs[i],
			!second	 ? &gone
			: i == 3 ? &b->root_a
				 : &file,
			second ? &gone : &b->root_a);
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_STALE);
	}
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "file", 4));
	bed_free(b);
}
