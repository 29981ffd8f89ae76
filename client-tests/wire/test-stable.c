/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stable storage as replies tell it: what was synced before a reply, what a failed sync makes of
 * it, and the write verifier. RFC 1813 sections 3.3.7, 3.3.21, 4.8. By sync calls that count, fail,
 * or do something meanwhile.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/change.h"
#include "sync.h"
#include "vmod.h"

static struct {
	unsigned file, data, fs;
	int error;		 /* of every call; 0: none */
	void (*meanwhile)(void); /* once, before the next returns */
	struct bed *b;
} seen;

static int
outcome(int r)
{
	if (seen.meanwhile) {
		seen.meanwhile();
		seen.meanwhile = NULL;
	}
	if (!seen.error)
		return r;
	errno = seen.error;
	return -1;
}

static int
count_file(int fd)
{
	seen.file++;
	return outcome(fsync(fd));
}

static int
count_data(int fd)
{
	seen.data++;
	return outcome(fdatasync(fd));
}

static int
count_fs(int fd)
{
	seen.fs++;
	return outcome(syncfs(fd));
}

static unsigned
syncs(void)
{
	unsigned n = seen.file + seen.data + seen.fs;

	seen.file = seen.data = seen.fs = 0;
	return n;
}

static const struct sync_ops counting = {count_file, count_data, count_fs};

static struct bed *
make(const char *options, nfs_fh3 *file)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = options});

	memset(&seen, 0, sizeof seen);
	seen.b = b;
	sync_use(files_sync(b->files), &counting);
	bed_write(b, "a/file", "0123456789", 10);
	bed_mkdir(b, "a/sub", 0755);
	*file = bed_fh(b, &b->root_a, "file");
	return b;
}

/* One success of each of the 11, i of them, on the same tree. */
enum { CHANGES = 13 };
static int
change(struct bed *b, int i, const nfs_fh3 *file)
{
	const struct at a = {"a", &b->root_a};
	const nfs_fh3 subfh = bed_fh(b, &b->root_a, "sub");
	const struct at sub = {"a/sub", &subfh};
	const sattr3 mode = set_mode(0755), none = set_nothing();

	syncs();
	switch (i) {
	case 0:
		return do_setattr(b, "a/file", file, &mode, NULL);
	case 1:
		return do_write(b, "a/file", file, 0, "x", 1, DATA_SYNC, NULL);
	case 2:
		return do_write(b, "a/file", file, 0, "x", 1, FILE_SYNC, NULL);
	case 3:
		return do_commit(b, "a/file", file, 0, 0, NULL);
	case 4:
		return do_create(b, a, "new", UNCHECKED, &mode, NULL);
	case 5:
		return do_exclusive(b, a, "exclusive", "12345678", NULL);
	case 6:
		return do_mkdir(b, a, "dir", &mode, NULL);
	case 7:
		return do_symlink(b, a, "link", "x", &none, NULL);
	case 8:
		return do_mknod(b, a, "fifo", NF3FIFO, &mode, (specdata3){0, 0}, NULL);
	case 9:
		return do_link(b, file, sub, "hard");
	case 10:
		return do_rename(b, a, "new", sub, "newer");
	case 11:
		return do_remove(b, sub, "newer");
	default:
		return do_rmdir(b, a, "dir");
	}
}

/* Nothing is answered before a sync but UNSTABLE WRITE, which is answered without one; and in an
 * async export nothing is waited for, and every level is said as it was asked. */
TEST(wire_stable, before_the_reply)
{
	static const char *const options[] = {RW, RW ",async"};
	nfs_fh3 fh;
	WRITE3resok ok;

	for (int async = 0; async < 2; async++) {
		struct bed *b = make(options[async], &fh);

		for (int i = 0; i < CHANGES; i++) {
			CU_ASSERT_EQUAL(change(b, i, &fh), NFS3_OK);
			CU_ASSERT_EQUAL(syncs() > 0, !async);
		}
		for (stable_how how = UNSTABLE; how <= FILE_SYNC; how++) {
			CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "x", 1, how, &ok), NFS3_OK);
			CU_ASSERT_EQUAL(syncs() > 0, !async && how != UNSTABLE);
			CU_ASSERT_EQUAL(ok.committed, how);
		}
		bed_free(b);
	}
}

static void
verifier(struct bed *b, const nfs_fh3 *fh, writeverf3 v)
{
	int error = seen.error;
	COMMIT3resok c;

	seen.error = 0;
	CU_ASSERT_EQUAL(do_commit(b, "a/file", fh, 0, 0, &c), NFS3_OK);
	memcpy(v, c.verf, sizeof c.verf);
	seen.error = error;
}

static bool
differ(const writeverf3 x, const writeverf3 y)
{
	return memcmp(x, y, NFS3_WRITEVERFSIZE) != 0;
}

/* A sync that fails, fails the call with the file system's error, attributes and all; and from then
 * on the verifier is another one. Nothing of it stays: the next is a success. */
TEST(wire_stable, failed)
{
	static const struct {
		int error, want;
	} v[] = {{EIO, NFS3ERR_IO}, {ENOSPC, NFS3ERR_NOSPC}, {EDQUOT, NFS3ERR_DQUOT}};

	for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
		nfs_fh3 fh;
		struct bed *b = make(RW, &fh);

		for (int i = 0; i < CHANGES; i++) {
			writeverf3 was, is;

			verifier(b, &fh, was);
			seen.error = v[k].error;
			CU_ASSERT_EQUAL(change(b, i, &fh), v[k].want);
			seen.error = 0;
			verifier(b, &fh, is);
			CU_ASSERT_TRUE(differ(was, is));
			verifier(b, &fh, was);
			CU_ASSERT_FALSE(differ(was, is));
		}
		bed_free(b);
	}
}

/* What was written UNSTABLE before a sync failed, of another file even, is known by its verifier to
 * be perhaps lost: no COMMIT that succeeds gives that one again. */
TEST(wire_stable, uncommitted)
{
	nfs_fh3 fh, other;
	struct bed *b = make(RW, &fh);
	WRITE3resok mine, theirs, later;
	COMMIT3resok c;

	bed_write(b, "a/other", "x", 1);
	other = bed_fh(b, &b->root_a, "other");
	CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "x", 1, UNSTABLE, &mine), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(b, "a/other", &other, 0, "x", 1, UNSTABLE, &theirs), NFS3_OK);
	CU_ASSERT_FALSE(differ(mine.verf, theirs.verf));
	seen.error = EIO;
	CU_ASSERT_EQUAL(do_commit(b, "a/file", &fh, 0, 0, NULL), NFS3ERR_IO);
	seen.error = 0;
	CU_ASSERT_EQUAL(do_commit(b, "a/file", &fh, 0, 0, &c), NFS3_OK);
	CU_ASSERT_TRUE(differ(c.verf, mine.verf));
	CU_ASSERT_EQUAL(do_commit(b, "a/other", &other, 0, 0, &c), NFS3_OK);
	CU_ASSERT_TRUE(differ(c.verf, theirs.verf));
	CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "x", 1, UNSTABLE, &later), NFS3_OK);
	CU_ASSERT_FALSE(differ(c.verf, later.verf));
	bed_free(b);
}

static void
lose(void)
{
	vfs_lost(&seen.b->vfs, "a test says so");
}

/* Something is lost while a call runs: a WRITE tells the verifier from before, a COMMIT the one
 * from after, so that no pair of them matches over the loss. */
TEST(wire_stable, lost_meanwhile)
{
	nfs_fh3 fh;
	struct bed *b = make(RW, &fh);
	WRITE3resok w, after;
	COMMIT3resok c;
	writeverf3 was;

	verifier(b, &fh, was);
	seen.meanwhile = lose;
	CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "x", 1, FILE_SYNC, &w), NFS3_OK);
	CU_ASSERT_FALSE(differ(w.verf, was));
	CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "x", 1, UNSTABLE, &w), NFS3_OK);
	CU_ASSERT_TRUE(differ(w.verf, was));
	seen.meanwhile = lose;
	CU_ASSERT_EQUAL(do_commit(b, "a/file", &fh, 0, 0, &c), NFS3_OK);
	CU_ASSERT_TRUE(differ(c.verf, w.verf));
	CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, "x", 1, UNSTABLE, &after), NFS3_OK);
	CU_ASSERT_FALSE(differ(c.verf, after.verf));
	bed_free(b);
}
