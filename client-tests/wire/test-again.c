/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that come again: RFC 1813 section 4.5. The first half is a server that lives: the reply of
 * the first time comes back, whatever has become of its work. The second is one that was killed in
 * the middle, at a system call of the test's choice.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/change.h"
#include "sync.h"
#include "wire/harm.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

enum { OWNER = 1111, OTHER = 3333 };
enum what {
	W_UNCHECKED,
	W_GUARDED,
	W_EXCLUSIVE,
	W_MKDIR,
	W_SYMLINK,
	W_MKNOD,
	W_LINK,
	W_REMOVE,
	W_RMDIR,
	W_RENAME,
	W_SETATTR,
	WHATS
};
/* In all of these: makers make "new", with attributes to be set afterwards; the others have "file"
 * and "dir". */
static const sattr3 full = {.mode = {TRUE, {06751}},
			    .uid = {TRUE, {OWNER}},
			    .gid = {TRUE, {OTHER}},
			    .mtime = {SET_TO_CLIENT_TIME, {{7, 8}}}};

static void
record_maker(struct bed *b, enum what what, const diropargs3 *where)
{
	CREATE3args create = {*where, {GUARDED, {full}}};
	MKDIR3args mkdir = {*where, full};
	SYMLINK3args link = {*where, {full, {4, "text"}}};
	MKNOD3args node = {*where, {NF3FIFO, {.pipe_attributes = full}}};

	if (what <= W_EXCLUSIVE) {
		create.how.createhow3_u.obj_attributes.size = (set_size3){TRUE, {5}};
		create.how.mode = what == W_UNCHECKED ? UNCHECKED : GUARDED;
		if (what == W_EXCLUSIVE)
			create.how = (createhow3){EXCLUSIVE, {.verf = "verifie"}};
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_CREATE, (xdrproc_t)xdr_CREATE3args,
			   &create);
	} else if (what == W_MKDIR) {
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_MKDIR, (xdrproc_t)xdr_MKDIR3args,
			   &mkdir);
	} else if (what == W_SYMLINK) {
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_SYMLINK, (xdrproc_t)xdr_SYMLINK3args,
			   &link);
	} else {
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_MKNOD, (xdrproc_t)xdr_MKNOD3args,
			   &node);
	}
}

static void
record(struct bed *b, enum what what)
{
	const diropargs3 new = {b->root_a, {3, "new"}}, old = {b->root_a, {4, "file"}};
	const nfs_fh3 file = bed_fh(b, &b->root_a, "file");
	LINK3args hard = {file, new};
	RENAME3args move = {old, new};
	REMOVE3args gone = {old};
	RMDIR3args dir = {{b->root_a, {3, "dir"}}};
	struct stat st = bed_stat(b, "a/file");
	SETATTR3args set = {file, set_mode(0600), {TRUE, {time3(&st.st_ctim)}}};

	if (what <= W_MKNOD)
		record_maker(b, what, &new);
	else if (what == W_LINK)
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_LINK, (xdrproc_t)xdr_LINK3args, &hard);
	else if (what == W_REMOVE)
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_REMOVE, (xdrproc_t)xdr_REMOVE3args,
			   &gone);
	else if (what == W_RMDIR)
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_RMDIR, (xdrproc_t)xdr_RMDIR3args, &dir);
	else if (what == W_RENAME)
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_RENAME, (xdrproc_t)xdr_RENAME3args,
			   &move);
	else
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_SETATTR, (xdrproc_t)xdr_SETATTR3args,
			   &set);
}

static struct bed *
make(const char *without)
{
	struct bed *b =
	    bed_new(&(struct bed_opts){.options_a = RW, .without = without, .drc = true});

	bed_write(b, "a/file", "file", 4);
	bed_mkdir(b, "a/dir", 0755);
	return b;
}

/* Is the work of a call done, all of it, once? */
static bool
is_done(struct bed *b, enum what what)
{
	static const mode_t types[] = {S_IFREG, S_IFREG, S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO};
	struct stat st = {0};

	(void)lstat(bed_path(b, "a/new"), &st);
	if (what == W_EXCLUSIVE)
		return st.st_mode == (S_IFREG | 0600) && st.st_size == 0;
	if (what <= W_MKNOD)
		return (st.st_mode & S_IFMT) == types[what] &&
		       (what == W_SYMLINK || (st.st_mode & 07777) == 06751) && st.st_uid == OWNER &&
		       st.st_gid == OTHER && st.st_mtim.tv_sec == 7 && st.st_mtim.tv_nsec == 8 &&
		       (!S_ISREG(st.st_mode) || st.st_size == 5);
	if (what == W_LINK)
		return st.st_nlink == 2 && bed_holds(b, "a/file", "file", 4);
	if (what == W_REMOVE || what == W_RMDIR)
		return !bed_there(b, what == W_REMOVE ? "a/file" : "a/dir");
	if (what == W_RENAME)
		return bed_holds(b, "a/new", "file", 4) && !bed_there(b, "a/file");
	return bed_stat(b, "a/file").st_mode == (S_IFREG | 0600);
}

/* Takes its work back, by another's hand. */
static void
take_back(struct bed *b, enum what what)
{
	if (what <= W_LINK)
		CU_ASSERT_EQUAL(remove(bed_path(b, "a/new")), 0);
	if (what == W_REMOVE || what == W_RENAME)
		bed_write(b, "a/file", "second", 6);
	if (what == W_RMDIR)
		bed_mkdir(b, "a/dir", 0700);
	if (what == W_SETATTR)
		CU_ASSERT_EQUAL(chmod(bed_path(b, "a/file"), 0666), 0);
}

/* ---- a server that lives ---- */

/* Every kept procedure: its repeat, from another port, gets the same bytes and does nothing, though
 * somebody has taken the work back meanwhile; a call with another transaction id is another. */
TEST(wire_again, replayed)
{
	for (enum what what = 0; what < WHATS; what++) {
		struct bed *b = make(NULL);
		char bytes[1024];
		size_t len;

		record(b, what);
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), NFS3_OK);
		CU_ASSERT_TRUE(is_done(b, what));
		len = b->reply.len;
		memcpy(bytes, b->reply.buf, len);
		for (int i = 0; i < 3; i++) {
			b->peer.port = (uint16_t)(800 + i);
			((struct sockaddr_in *)&b->peer.addr)->sin_port = htons(b->peer.port);
			bed_run_all(b);
			CU_ASSERT(b->reply.len == len && memcmp(b->reply.buf, bytes, len) == 0);
			CU_ASSERT_EQUAL(is_done(b, what), i == 0);
			if (i == 0)
				take_back(b, what);
		}
		bed_put32(b, 0, ++b->xid);
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), what == W_SETATTR ? NFS3ERR_NOT_SYNC : NFS3_OK);
		bed_free(b);
	}
}

/* A failure comes back as it was, too, though the call would succeed by now. */
TEST(wire_again, failure_replayed)
{
	struct bed *b = make(NULL);

	bed_write(b, "a/new", "", 0);
	for (enum what what = W_GUARDED; what <= W_LINK; what++) {
		record(b, what);
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_EXIST);
		CU_ASSERT_EQUAL(remove(bed_path(b, "a/new")), 0);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_EXIST);
		CU_ASSERT_FALSE(bed_there(b, "a/new"));
		bed_write(b, "a/new", "", 0);
	}
	bed_free(b);
}

/* JUKEBOX is no outcome: who comes again, with the same transaction id even, is served when it can
 * be. */
TEST(wire_again, jukebox_is_not_kept)
{
	struct bed *b = make(NULL);
	const nfs_fh3 file = bed_fh(b, &b->root_a, "file");
	SETATTR3args set = {file, set_size(2), {FALSE, {{0, 0}}}};
	int fd = open(bed_path(b, "a/file"), O_RDONLY | O_CLOEXEC);

	CU_ASSERT(signal(SIGIO, SIG_IGN) != SIG_ERR); /* what a lease is broken with */
	CU_ASSERT_EQUAL(fcntl(fd, F_SETLEASE, F_RDLCK), 0);
	bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_SETATTR, (xdrproc_t)xdr_SETATTR3args, &set);
	for (int i = 0; i < 2; i++) {
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_JUKEBOX);
		CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_size, 4);
	}
	close(fd);
	for (int i = 0; i < 2; i++) {
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), NFS3_OK);
		CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_size, i == 0 ? 2 : 4);
		bed_write(b, "a/file", "file", 4);
	}
	signal(SIGIO, SIG_DFL);
	bed_free(b);
}

/* ---- one that was killed ---- */

/* Files are stamped with a clock of ticks. */
static void
next_tick(void)
{
	struct timespec from, now;
	int64_t ns;

	clock_gettime(CLOCK_REALTIME_COARSE, &from);
	do {
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		ns = (now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec;
	} while (ns < 30000000);
}

struct victim {
	struct bed *b;
	struct harm at;
};

static void
run_victim(void *arg)
{
	struct victim *v = arg;

	bed_start(v->b);
	harm_call(&v->at, 0);
	bed_run(v->b, BED_WORKER);
}

/* Runs the record in a server that is killed when it makes this system call. */
static void
kill_at(struct bed *b, const struct harm *at)
{
	struct victim v = {b, *at};

	bed_stop(b);
	CU_ASSERT_EQUAL(harm_in_child(run_victim, &v), -1);
	bed_start(b);
}

/* The calls that make the change itself, and those after it. */
static const struct harm change_at[WHATS] = {
    [W_UNCHECKED] = {SYS_openat, 2, O_CREAT},
    [W_GUARDED] = {SYS_openat, 2, O_CREAT},
    [W_EXCLUSIVE] = {SYS_linkat, 0, 0},
    [W_MKDIR] = {SYS_mkdirat, 0, 0},
    [W_SYMLINK] = {SYS_symlinkat, 0, 0},
    [W_MKNOD] = {SYS_mknodat, 0, 0},
    [W_LINK] = {SYS_linkat, 0, 0},
    [W_REMOVE] = {SYS_unlinkat, 0, 0},
    [W_RMDIR] = {SYS_unlinkat, 0, 0},
#ifdef SYS_renameat
    [W_RENAME] = {SYS_renameat, 0, 0},
#else
    [W_RENAME] = {SYS_renameat2, 0, 0},
#endif
    [W_SETATTR] = {SYS_fchmodat2, 0, 0},
};
static const struct harm fsync_at = {SYS_fsync, 0, 0};

static unsigned syncs;

static int
count(int fd)
{
	syncs++;
	return fsync(fd);
}

static const struct sync_ops counting = {count, count, count};

/* The repeat after a kill succeeds, its work is done as a whole, once, and on the disk before the
 * reply; the next repeat is a replay. */
static void
recovers(struct bed *b, enum what what)
{
	char bytes[1024];
	size_t len;

	sync_use(files_sync(b->files), &counting);
	syncs = 0;
	bed_run(b, BED_LOOP);
	CU_ASSERT_EQUAL(bed_status(b), NFS3_OK);
	CU_ASSERT_TRUE(is_done(b, what));
	CU_ASSERT(syncs > 0);
	len = b->reply.len;
	memcpy(bytes, b->reply.buf, len);
	syncs = 0;
	bed_run(b, BED_LOOP);
	CU_ASSERT(b->reply.len == len && memcmp(b->reply.buf, bytes, len) == 0);
	CU_ASSERT_EQUAL(syncs, 0);
}

static void
killed(enum what what, const struct harm *at, const char *without, bool changed)
{
	struct bed *b = make(without);

	record(b, what);
	kill_at(b, at);
	CU_ASSERT_EQUAL(is_done(b, what) || bed_there(b, "a/new"), changed);
	recovers(b, what);
	bed_free(b);
}

/* Killed right before its change, or right after it, before anything was synced: the repeat makes
 * it good, of every kept procedure. */
TEST(wire_again, killed)
{
	for (enum what what = 0; what < WHATS; what++) {
		if (what == W_SETATTR) {
			killed(what, &(struct harm){SYS_fchmodat2, 0, 0}, NULL, false);
			killed(what, &(struct harm){SYS_fchmodat, 0, 0}, "all", false);
		} else {
			killed(what, &change_at[what], NULL, false);
			killed(what, &change_at[what], "all", false);
		}
		killed(what, &fsync_at, NULL, true);
		killed(what, &fsync_at, "all", true);
	}
}

/* Killed between the making and each of the attributes: the repeat sets what is missing. */
TEST(wire_again, killed_between)
{
	static const struct harm at[] = {
	    {SYS_fchownat, 0, 0}, {SYS_fchmodat2, 0, 0}, {SYS_utimensat, 0, 0}};

	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		for (enum what what = W_GUARDED; what <= W_MKNOD; what++) {
			bool no_mode = what == W_SYMLINK && at[i].nr == SYS_fchmodat2;

			if (what != W_EXCLUSIVE && !no_mode)
				killed(what, &at[i], NULL, true);
		}
}

/* Killed after an unchecked creation, whose file has been written meanwhile: that stands. */
TEST(wire_again, written_meanwhile)
{
	struct bed *b = make(NULL);

	record(b, W_UNCHECKED);
	kill_at(b, &fsync_at);
	bed_write(b, "a/new", "written", 7);
	bed_run(b, BED_LOOP);
	CU_ASSERT_EQUAL(bed_status(b), NFS3_OK);
	CU_ASSERT_TRUE(bed_holds(b, "a/new", "written", 7));
	bed_free(b);
}

/* Killed before it made anything, and somebody else took the name: it is his. The repeat is EXIST,
 * as it would be for anybody who came second. */
TEST(wire_again, somebody_elses)
{
	const sattr3 mode = set_mode(0640);

	for (enum what what = W_GUARDED; what <= W_LINK; what++) {
		struct bed *b = make(NULL);
		const struct at a = {"a", &b->root_a};
		size_t len;
		char rec[512];

		record(b, what);
		kill_at(b, &change_at[what]);
		len = b->reclen;
		CU_ASSERT_FATAL(len <= sizeof rec);
		memcpy(rec, b->rec, len);
		next_tick();
		/* of the same kind each */
		int st = what <= W_EXCLUSIVE || what == W_LINK
			     ? do_create(b, a, "new", GUARDED, &mode, NULL)
			 : what == W_MKDIR ? do_mkdir(b, a, "new", &mode, NULL)
			 : what == W_SYMLINK
			     ? do_symlink(b, a, "new", "x", &mode, NULL)
			     : do_mknod(b, a, "new", NF3FIFO, &mode, (specdata3){0, 0}, NULL);
		CU_ASSERT_EQUAL(st, NFS3_OK);
		struct stat was = bed_stat(b, "a/new");
		memcpy(b->rec, rec, len);
		b->reclen = len;
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_EXIST);
		struct stat is = bed_stat(b, "a/new");
		CU_ASSERT(was.st_ino == is.st_ino && was.st_mode == is.st_mode &&
			  was.st_uid == is.st_uid && was.st_mtim.tv_nsec == is.st_mtim.tv_nsec);
		bed_free(b);
	}
}

/* Killed after its removal, and somebody has made the name anew: what he made is not removed, nor
 * renamed over what was renamed. */
TEST(wire_again, made_anew)
{
	static const enum what whats[] = {W_REMOVE, W_RMDIR, W_RENAME};

	for (size_t i = 0; i < 3; i++) {
		struct bed *b = make(NULL);

		record(b, whats[i]);
		kill_at(b, &fsync_at);
		CU_ASSERT_TRUE(is_done(b, whats[i]));
		next_tick();
		take_back(b, whats[i]);
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), NFS3_OK);
		CU_ASSERT_TRUE(bed_there(b, whats[i] == W_RMDIR ? "a/dir" : "a/file"));
		if (whats[i] == W_RENAME)
			CU_ASSERT_TRUE(bed_holds(b, "a/new", "file", 4));
		bed_free(b);
	}
}

/* A call that had begun is not believed to have been carried out because it had begun: what stands
 * as it stood long before is no work of its. */
TEST(wire_again, no_proof)
{
	struct bed *b = make(NULL);
	const struct harm at[] = {change_at[W_REMOVE], change_at[W_RENAME], change_at[W_LINK],
				  change_at[W_GUARDED]};
	const diropargs3 none = {b->root_a, {4, "none"}}, new = {b->root_a, {3, "new"}};
	struct timespec now;
	struct stat st;

	/* "new" is a link to "file" already, "none" is not there */
	const nfs_fh3 file = bed_fh(b, &b->root_a, "file");
	CU_ASSERT_EQUAL(do_link(b, &file, (struct at){"a", &b->root_a}, "new"), NFS3_OK);
	st = bed_stat(b, "a");
	do
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	while (now.tv_sec <= st.st_ctim.tv_sec);
	for (int i = 0; i < 4; i++) {
		static const int want[] = {NFS3ERR_NOENT, NFS3ERR_NOENT, NFS3ERR_EXIST,
					   NFS3ERR_EXIST};
		REMOVE3args gone = {none};
		RENAME3args move = {none, new};
		LINK3args hard = {file, new};
		CREATE3args create = {new, {GUARDED, {set_mode(0600)}}};

		if (i == 0)
			bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_REMOVE,
				   (xdrproc_t)xdr_REMOVE3args, &gone);
		else if (i == 1)
			bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_RENAME,
				   (xdrproc_t)xdr_RENAME3args, &move);
		else if (i == 2)
			bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_LINK, (xdrproc_t)xdr_LINK3args,
				   &hard);
		else
			bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_CREATE,
				   (xdrproc_t)xdr_CREATE3args, &create);
		kill_at(b, &at[i]);
		bed_run(b, BED_LOOP);
		CU_ASSERT_EQUAL(bed_status(b), want[i]);
	}
	CU_ASSERT_TRUE(bed_holds(b, "a/new", "file", 4));
	bed_free(b);
}
