/* SPDX-License-Identifier: BSD-2-Clause */
/* CREATE, exclusive: RFC 1813 section 3.3.8. Who repeats the call finds his file, nobody else does.
 */
#include <string.h>
#include <unistd.h>

#include "lib/change.h"
#include "store.h"

enum { OWNER = 1111, OTHER = 3333 };

/* Values that a server which keeps less than 8 bytes, or takes some for "none", would confuse. */
static const unsigned char verfs[][8] = {
    {0, 0, 0, 0, 0, 0, 0, 0},
    {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
    {0x80, 0, 0, 0, 0, 0, 0, 0},
    {0, 0, 0, 0, 0x80, 0, 0, 0},
    {0, 0, 0, 1, 0, 0, 0, 0},
    {0, 0, 0, 0, 0, 0, 0, 1},
    {'v', 'e', 'r', 'i', 'f', 'i', 'e', 'r'},
    {'v', 'e', 'r', 'i', 'f', 'i', 'e', 'R'},
    {'V', 'e', 'r', 'i', 'f', 'i', 'e', 'r'},
};
enum { VERFS = sizeof verfs / sizeof *verfs };

static bool
same(const nfs_fh3 *x, const nfs_fh3 *y)
{
	return x->len == y->len && memcmp(x->data, y->data, x->len) == 0;
}

/* Everybody's verifier against a file that was made with the i-th. */
static void
only_its_own(struct bed *b, struct at a, const char *name, int i, const nfs_fh3 *fh)
{
	nfs_fh3 again;

	for (int k = 0; k < VERFS; k++) {
		int st = do_exclusive(b, a, name, verfs[k], &again);

		CU_ASSERT_EQUAL(st, k == i ? NFS3_OK : NFS3ERR_EXIST);
		CU_ASSERT_TRUE(k != i || same(&again, fh));
	}
}

static void
verifiers(const char *without)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW, .without = without});
	const struct at a = {"a", &b->root_a};
	nfs_fh3 fh[VERFS];
	char name[] = "f0";

	for (int i = 0; i < VERFS; i++) {
		name[1] = (char)('0' + i);
		CU_ASSERT_EQUAL(do_exclusive(b, a, name, verfs[i], &fh[i]), NFS3_OK);
		only_its_own(b, a, name, i, &fh[i]);
	}
	bed_stop(b);
	bed_start(b);
	for (int i = 0; i < VERFS; i++) {
		name[1] = (char)('0' + i);
		only_its_own(b, a, name, i, &fh[i]);
	}
	bed_free(b);
}

/* All 8 bytes of the verifier count, whatever they are: the same finds the same file, any other is
 * EXIST, with the directory's attributes; in another server, too. */
TEST(wire_exclusive, verifiers)
{
	verifiers(NULL);
	verifiers("all");
}

/* What is made has a mode that nobody can use, is the caller's, empty, and its times are real ones;
 * SETATTR then makes of it what was wanted, and ends the creation: its repeat is EXIST. */
TEST(wire_exclusive, until_setattr)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});
	const struct at a = {"a", &b->root_a};
	const sattr3 s = {.mode = {TRUE, {0644}},
			  .atime = {SET_TO_CLIENT_TIME, {{7, 8}}},
			  .mtime = {SET_TO_CLIENT_TIME, {{9, 10}}}};
	struct stat dir, st;
	nfs_fh3 fh;

	bed_give(b, "a", 0777, 0, 0);
	bed_as(b, OWNER, OWNER);
	CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[6], &fh), NFS3_OK);
	st = bed_stat(b, "a/f");
	dir = bed_stat(b, "a");
	CU_ASSERT(st.st_uid == OWNER && st.st_size == 0 && (st.st_mode & 07077) == 0);
	CU_ASSERT(st.st_mtim.tv_sec <= dir.st_mtim.tv_sec &&
		  st.st_mtim.tv_sec > dir.st_mtim.tv_sec - 60);
	CU_ASSERT_EQUAL(do_write(b, "a/f", &fh, 0, "x", 1, FILE_SYNC, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[6], NULL), NFS3_OK);
	CU_ASSERT_TRUE(bed_holds(b, "a/f", "x", 1));
	CU_ASSERT_EQUAL(do_setattr(b, "a/f", &fh, &s, NULL), NFS3_OK);
	st = bed_stat(b, "a/f");
	CU_ASSERT(st.st_mode == (S_IFREG | 0644) && st.st_atim.tv_sec == 7 &&
		  st.st_mtim.tv_nsec == 10);
	store_flush(b->store); /* it is forgotten soon, not at once */
	CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[6], NULL), NFS3ERR_EXIST);
	bed_free(b);
}

/* A file made in any other way is nobody's exclusive creation, though it has the name of one that
 * was, or the same inode perhaps. */
TEST(wire_exclusive, replaced)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});
	const struct at a = {"a", &b->root_a};
	const sattr3 s = set_mode(0644);

	for (int i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[0], NULL), NFS3_OK);
		CU_ASSERT_EQUAL(do_remove(b, a, "f"), NFS3_OK);
		if (i % 2)
			bed_write(b, "a/f", "", 0);
		else
			CU_ASSERT_EQUAL(do_create(b, a, "f", GUARDED, &s, NULL), NFS3_OK);
		CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[0], NULL), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(do_remove(b, a, "f"), NFS3_OK);
	}
	bed_free(b);
}

/* It follows the file: under another name the repeat finds it, under the old one it makes anew. */
TEST(wire_exclusive, renamed)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});
	const struct at a = {"a", &b->root_a};
	nfs_fh3 fh, again;

	CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[7], &fh), NFS3_OK);
	CU_ASSERT_EQUAL(do_rename(b, a, "f", a, "g"), NFS3_OK);
	CU_ASSERT_EQUAL(do_exclusive(b, a, "g", verfs[7], &again), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &again));
	CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[7], &again), NFS3_OK);
	CU_ASSERT_FALSE(same(&fh, &again));
	bed_free(b);
}

/* Nobody learns by it what he may not: without the right to search or to write it is ACCES, the
 * file being there or not. */
TEST(wire_exclusive, who)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});
	const struct at a = {"a", &b->root_a};

	CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[1], NULL), NFS3_OK);
	bed_as(b, OTHER, OTHER);
	bed_give(b, "a", 0766, 0, 0);
	CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[1], NULL), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_exclusive(b, a, "g", verfs[1], NULL), NFS3ERR_ACCES);
	bed_give(b, "a", 0755, 0, 0);
	CU_ASSERT_EQUAL(do_exclusive(b, a, "g", verfs[1], NULL), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_exclusive(b, a, "f", verfs[2], NULL), NFS3ERR_EXIST);
	bed_free(b);
}
