/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles and what calls do to names: a handle leads to its object whatever it is called, for as
 * long as it lives, and then to nothing: STALE, never NOENT, and never another object. RFC 1813
 * sections 2.6 and 3.3.1.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/change.h"

static const sattr3 file_mode = {.mode = {TRUE, {0644}}};

/* Makes DIR/NAME with its name as what it holds. */
static nfs_fh3
put(struct bed *b, struct at at, const char *name)
{
	char path[600];
	nfs_fh3 fh = {0};

	snprintf(path, sizeof path, "%s/%s", at.path, name);
	CU_ASSERT_EQUAL(do_create(b, at, name, GUARDED, &file_mode, &fh), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(b, path, &fh, 0, name, strlen(name), FILE_SYNC, NULL), NFS3_OK);
	return fh;
}

static bool
reads(struct bed *b, const nfs_fh3 *fh, const char *text)
{
	READ3res r;

	return bed_read_in(b, BED_NOPIPE, fh, 0, 100, &r) == NFS3_OK &&
	       r.READ3res_u.resok.count == strlen(text) &&
	       memcmp(r.READ3res_u.resok.data.base, text, strlen(text)) == 0;
}

/* Of every procedure that asks by a handle alone: STALE. */
static void
is_stale(struct bed *b, const nfs_fh3 *fh, const nfs_fh3 *dir)
{
	for (uint32_t p = 1; p < BED_NFS_PROCS; p++) {
		bed_any(b, p, fh, dir);
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_STALE);
	}
}

static void
renamed(const char *without)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW, .without = without});
	const struct at a = {"a", &b->root_a};
	const sattr3 mode = set_mode(0755);
	nfs_fh3 one, two, three;

	CU_ASSERT_EQUAL(do_mkdir(b, a, "one", &mode, &one), NFS3_OK);
	CU_ASSERT_EQUAL(do_mkdir(b, (struct at){"a/one", &one}, "two", &mode, &two), NFS3_OK);
	CU_ASSERT_EQUAL(do_mkdir(b, a, "three", &mode, &three), NFS3_OK);
	nfs_fh3 f = put(b, (struct at){"a/one/two", &two}, "f"), g = put(b, a, "g");

	for (int again = 0; again < 2; again++) { /* the second time in another server */
		CU_ASSERT_EQUAL(do_rename(b, a, "one", a, "uno"), NFS3_OK);
		CU_ASSERT_TRUE(reads(b, &f, "f"));
		CU_ASSERT_EQUAL(do_rename(b, a, "uno", (struct at){"a/three", &three}, "uno"),
				NFS3_OK);
		CU_ASSERT_TRUE(reads(b, &f, "f"));
		CU_ASSERT_EQUAL(do_rename(b, (struct at){"a/three/uno/two", &two}, "f", a, "h"),
				NFS3_OK);
		/* two files change names, by a third */
		CU_ASSERT_EQUAL(do_rename(b, a, "g", a, "f"), NFS3_OK);
		CU_ASSERT_EQUAL(do_rename(b, a, "h", a, "g"), NFS3_OK);
		CU_ASSERT_TRUE(reads(b, &f, "f") && reads(b, &g, "g"));
		CU_ASSERT_EQUAL(do_write(b, "a/g", &f, 0, "F", 1, FILE_SYNC, NULL), NFS3_OK);
		CU_ASSERT_TRUE(bed_holds(b, "a/g", "F", 1));
		bed_stop(b);
		bed_start(b);
		CU_ASSERT_TRUE(reads(b, &f, "F") && reads(b, &g, "g"));
		CU_ASSERT_EQUAL(do_write(b, "a/g", &f, 0, "f", 1, FILE_SYNC, NULL), NFS3_OK);
		/* back to where it all was */
		CU_ASSERT_EQUAL(do_rename(b, a, "g", (struct at){"a/three/uno/two", &two}, "f"),
				NFS3_OK);
		CU_ASSERT_EQUAL(do_rename(b, a, "f", a, "g"), NFS3_OK);
		CU_ASSERT_EQUAL(do_rename(b, (struct at){"a/three", &three}, "uno", a, "one"),
				NFS3_OK);
	}
	bed_free(b);
}

/* Files, their directories and those above them are renamed and moved; the handle stays good. */
TEST(wire_follow, renamed)
{
	renamed(NULL);
	renamed("all");
}

static void
replaced(const char *without)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW, .without = without});
	const struct at a = {"a", &b->root_a};
	nfs_fh3 f = put(b, a, "f"), g = put(b, a, "g");
	LOOKUP3args la = {{b->root_a, name3("f")}};
	LOOKUP3res lr;

	CU_ASSERT_TRUE(reads(b, &f, "f"));
	CU_ASSERT_EQUAL(do_rename(b, a, "g", a, "f"), NFS3_OK);
	is_stale(b, &f, &b->root_a);
	CU_ASSERT_TRUE(reads(b, &g, "g"));
	CU_ASSERT_EQUAL(BED_NFS(b, LOOKUP, &la, &lr), NFS3_OK);
	CU_ASSERT_EQUAL(memcmp(lr.LOOKUP3res_u.resok.object.data, g.data, g.len), 0);
	for (int i = 0; i < 10; i++) { /* a freed inode goes to the next that is made */
		nfs_fh3 old = put(b, a, "old");

		CU_ASSERT_EQUAL(do_remove(b, a, "old"), NFS3_OK);
		nfs_fh3 new = put(b, a, "new");
		is_stale(b, &old, &b->root_a);
		CU_ASSERT_TRUE(reads(b, &new, "new"));
		CU_ASSERT_EQUAL(do_remove(b, a, "new"), NFS3_OK);
	}
	bed_stop(b);
	bed_start(b);
	is_stale(b, &f, &b->root_a);
	CU_ASSERT_TRUE(reads(b, &g, "g"));
	bed_free(b);
}

/* What was replaced or removed is STALE at once and for good; what took its name, or its inode, has
 * nothing to do with it. */
TEST(wire_follow, replaced)
{
	replaced(NULL);
	replaced("all");
}

static void
one_name_less(const char *without)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW, .without = without});
	const struct at a = {"a", &b->root_a};
	const sattr3 mode = set_mode(0755);
	nfs_fh3 f = put(b, a, "f"), dir;

	CU_ASSERT_EQUAL(do_mkdir(b, a, "dir", &mode, &dir), NFS3_OK);
	CU_ASSERT_EQUAL(do_link(b, &f, (struct at){"a/dir", &dir}, "g"), NFS3_OK);
	CU_ASSERT_EQUAL(do_remove(b, a, "f"), NFS3_OK);
	CU_ASSERT_TRUE(reads(b, &f, "f"));
	bed_stop(b);
	bed_start(b);
	CU_ASSERT_TRUE(reads(b, &f, "f"));
	CU_ASSERT_EQUAL(do_remove(b, (struct at){"a/dir", &dir}, "g"), NFS3_OK);
	is_stale(b, &f, &b->root_a);
	bed_free(b);
}

/* A file with two names loses one: its handle is good until it loses the other. */
TEST(wire_follow, one_name_less)
{
	one_name_less(NULL);
	one_name_less("all");
}

/* A removed directory is STALE, not empty, also for who asks what is in it; so is one that another
 * was renamed over. */
TEST(wire_follow, directories)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});
	const struct at a = {"a", &b->root_a};
	const sattr3 mode = set_mode(0755);
	nfs_fh3 d, e;

	CU_ASSERT_EQUAL(do_mkdir(b, a, "d", &mode, &d), NFS3_OK);
	CU_ASSERT_EQUAL(do_mkdir(b, a, "e", &mode, &e), NFS3_OK);
	CU_ASSERT_EQUAL(do_rename(b, a, "d", a, "e"), NFS3_OK);
	is_stale(b, &e, &b->root_a);
	CU_ASSERT_EQUAL(bed_getattr(b, &d, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(do_rmdir(b, a, "e"), NFS3_OK);
	is_stale(b, &d, &b->root_a);
	CU_ASSERT_EQUAL(do_mkdir(b, a, "e", &mode, NULL), NFS3_OK);
	is_stale(b, &d, &b->root_a);
	bed_free(b);
}
