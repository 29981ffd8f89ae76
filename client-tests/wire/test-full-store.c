/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store that cannot be written, while the file system can: what was done is said to be done, and
 * what could not be given a handle was not done.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/change.h"
#include "wire/harm.h"

/* No file of this process grows or is written; names can be. */
static void
disk_is_full(bool full)
{
	struct rlimit r;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &r), 0);
	r.rlim_cur = full ? 0 : r.rlim_max;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static struct at
root(struct bed *b)
{
	return (struct at){"a", &b->root_a};
}

static void
names_go_and_move(struct bed *b)
{
	CU_ASSERT_EQUAL(do_remove(b, root(b), "victim"), NFS3_OK);
	CU_ASSERT_EQUAL(do_remove(b, root(b), "victim"), NFS3ERR_NOENT);
	CU_ASSERT_EQUAL(do_rmdir(b, root(b), "dir"), NFS3_OK);
	CU_ASSERT_EQUAL(do_rename(b, root(b), "old", root(b), "new"), NFS3_OK);
	CU_ASSERT_EQUAL(do_rename(b, root(b), "over", root(b), "under"), NFS3_OK);
	nfs_fh3 kept = bed_fh(b, &b->root_a, "kept");
	CU_ASSERT_EQUAL(do_link(b, &kept, root(b), "second"), NFS3_OK);
	CU_ASSERT(bed_there(b, "a/new") && !bed_there(b, "a/old") && !bed_there(b, "a/over"));
	CU_ASSERT_EQUAL(bed_stat(b, "a/second").st_nlink, 2);
}

static void
nothing_is_made(struct bed *b)
{
	const sattr3 mode = set_mode(0644);

	CU_ASSERT_NOT_EQUAL(do_create(b, root(b), "f", GUARDED, &mode, NULL), NFS3_OK);
	CU_ASSERT_NOT_EQUAL(do_create(b, root(b), "f", UNCHECKED, &mode, NULL), NFS3_OK);
	CU_ASSERT_NOT_EQUAL(do_exclusive(b, root(b), "f", "12345678", NULL), NFS3_OK);
	CU_ASSERT_NOT_EQUAL(do_mkdir(b, root(b), "f", &mode, NULL), NFS3_OK);
	CU_ASSERT_NOT_EQUAL(do_symlink(b, root(b), "f", "text", &mode, NULL), NFS3_OK);
	CU_ASSERT_NOT_EQUAL(do_mknod(b, root(b), "f", NF3FIFO, &mode, (specdata3){0, 0}, NULL),
			    NFS3_OK);
	CU_ASSERT_FALSE(bed_there(b, "a/f"));
}

static const char *const names[] = {"old", "over", "under", "victim", "dir"};
enum { OLD, OVER, UNDER, VICTIM, DIR, NAMES };

/* After names_go_and_move. */
static void
handles_follow(struct bed *b, const nfs_fh3 *fh)
{
	fattr3 a;

	CU_ASSERT_EQUAL(bed_getattr(b, &fh[OLD], &a), NFS3_OK);
	CU_ASSERT_EQUAL(a.fileid, bed_stat(b, "a/new").st_ino);
	CU_ASSERT_EQUAL(bed_getattr(b, &fh[OVER], &a), NFS3_OK);
	CU_ASSERT_EQUAL(a.fileid, bed_stat(b, "a/under").st_ino);
	CU_ASSERT_EQUAL(bed_getattr(b, &fh[UNDER], NULL), NFS3ERR_STALE);
	CU_ASSERT_EQUAL(bed_getattr(b, &fh[VICTIM], NULL), NFS3ERR_STALE);
	CU_ASSERT_EQUAL(bed_getattr(b, &fh[DIR], NULL), NFS3ERR_STALE);
}

static void
full_store(void *arg)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW, .without = arg});
	const sattr3 mode = set_mode(0644);
	nfs_fh3 fh[NAMES], kept;

	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < NAMES; i++)
		CU_ASSERT_EQUAL(i == DIR ? do_mkdir(b, root(b), names[i], &mode, &fh[i])
					 : do_create(b, root(b), names[i], GUARDED, &mode, &fh[i]),
				NFS3_OK);
	CU_ASSERT_EQUAL(do_create(b, root(b), "kept", GUARDED, &mode, &kept), NFS3_OK);
	disk_is_full(true);
	names_go_and_move(b);
	nothing_is_made(b);
	files_drop(b->files, NULL, NULL);
	handles_follow(b, fh);
	disk_is_full(false);
	CU_ASSERT_EQUAL(do_create(b, root(b), "old", GUARDED, &mode, NULL), NFS3_OK);
	bed_stop(b);
	bed_start(b);
	handles_follow(b, fh);
	CU_ASSERT_EQUAL(do_remove(b, root(b), "kept"), NFS3_OK);
	files_drop(b->files, NULL, NULL);
	CU_ASSERT_EQUAL(bed_getattr(b, &kept, NULL), NFS3_OK); /* by its second name */
	bed_free(b);
}

/* A removal, a renaming, a link that was done is never answered with the store's error: the client
 * would do it again, and fail. Handles follow at once, and after another start. Whatever would need
 * a new handle fails and leaves nothing. */
TEST(wire_full_store, done_is_done)
{
	CU_ASSERT_EQUAL(harm_in_child(full_store, "all"), 0);
}
