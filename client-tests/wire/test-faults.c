/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that fail on the way of a change, each of them, with each of the errors that disks
 * and quotas have: the status says which, a change that did not come about leaves nothing behind,
 * and a loss changes the write verifier. In a child each, whose thread gets the error from the
 * kernel (harm.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/change.h"
#include "vmod.h"
#include "wire/harm.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifdef SYS_renameat
#define RENAME_NR SYS_renameat
#else
#define RENAME_NR SYS_renameat2
#endif

static const sattr3 full = {.mode = {TRUE, {06751}},
			    .uid = {TRUE, {1111}},
			    .size = {TRUE, {5}},
			    .mtime = {SET_TO_CLIENT_TIME, {{7, 8}}}};

/* ---- one call of each ---- */

static struct at
root(struct bed *b)
{
	return (struct at){"a", &b->root_a};
}

static int
guarded(struct bed *b)
{
	return do_create(b, root(b), "new", GUARDED, &full, NULL);
}

static int
unchecked(struct bed *b)
{
	return do_create(b, root(b), "new", UNCHECKED, &full, NULL);
}

static int
cut(struct bed *b)
{
	const sattr3 s = set_size(0);

	return do_create(b, root(b), "file", UNCHECKED, &s, NULL);
}

static int
exclusive(struct bed *b)
{
	return do_exclusive(b, root(b), "new", "12345678", NULL);
}

static int
make_dir(struct bed *b)
{
	return do_mkdir(b, root(b), "new", &full, NULL);
}

static int
make_link(struct bed *b)
{
	return do_symlink(b, root(b), "new", "text", &full, NULL);
}

static int
make_node(struct bed *b)
{
	return do_mknod(b, root(b), "new", NF3SOCK, &full, (specdata3){0, 0}, NULL);
}

static nfs_fh3
file_of(struct bed *b)
{
	return bed_fh(b, &b->root_a, "file");
}

static int
hard_link(struct bed *b)
{
	nfs_fh3 fh = file_of(b);

	return do_link(b, &fh, root(b), "new");
}

static int
rename_file(struct bed *b)
{
	return do_rename(b, root(b), "file", root(b), "new");
}

static int
remove_file(struct bed *b)
{
	return do_remove(b, root(b), "file");
}

static int
remove_dir(struct bed *b)
{
	return do_rmdir(b, root(b), "dir");
}

static int
set_all(struct bed *b)
{
	nfs_fh3 fh = file_of(b);

	return do_setattr(b, "a/file", &fh, &full, NULL);
}

static int
write_some(struct bed *b)
{
	nfs_fh3 fh = file_of(b);

	return do_write(b, "a/file", &fh, 0, "xxxx", 4, UNSTABLE, NULL);
}

static int
write_data(struct bed *b)
{
	nfs_fh3 fh = file_of(b);

	return do_write(b, "a/file", &fh, 0, "xxxx", 4, DATA_SYNC, NULL);
}

static int
write_file(struct bed *b)
{
	nfs_fh3 fh = file_of(b);

	return do_write(b, "a/file", &fh, 0, "xxxx", 4, FILE_SYNC, NULL);
}

static int
commit(struct bed *b)
{
	nfs_fh3 fh = file_of(b);

	return do_commit(b, "a/file", &fh, 0, 0, NULL);
}

/* ---- what fails ---- */

enum after {
	UNDONE, /* everything is as before */
	DONE,	/* the change is there: it went wrong after it */
	PART,	/* of several attributes some are set */
};
static const struct fault {
	const char *name;
	int (*call)(struct bed *);
	struct harm at;
	enum after after;
	bool lost; /* the verifier changes */
} faults[] = {
    {"CREATE guarded, open", guarded, {SYS_openat, 2, O_CREAT}, UNDONE, false},
    {"CREATE guarded, owner", guarded, {SYS_fchownat, 0, 0}, UNDONE, false},
    {"CREATE guarded, mode", guarded, {SYS_fchmodat2, 0, 0}, UNDONE, false},
    {"CREATE guarded, size", guarded, {SYS_ftruncate, 0, 0}, UNDONE, false},
    {"CREATE guarded, times", guarded, {SYS_utimensat, 0, 0}, UNDONE, false},
    {"CREATE guarded, handle", guarded, {SYS_name_to_handle_at, 0, 0}, UNDONE, false},
    {"CREATE guarded, sync", guarded, {SYS_fsync, 0, 0}, DONE, true},
    {"CREATE unchecked, open", unchecked, {SYS_openat, 2, O_CREAT}, UNDONE, false},
    {"CREATE of a file that is there, size", cut, {SYS_ftruncate, 0, 0}, UNDONE, false},
    {"CREATE of a file that is there, sync", cut, {SYS_fsync, 0, 0}, DONE, true},
    {"CREATE exclusive, open", exclusive, {SYS_openat, 2, O_TMPFILE & ~O_DIRECTORY}, UNDONE, false},
    {"CREATE exclusive, link", exclusive, {SYS_linkat, 0, 0}, UNDONE, false},
    {"CREATE exclusive, sync", exclusive, {SYS_fsync, 0, 0}, DONE, true},
    {"MKDIR, make", make_dir, {SYS_mkdirat, 0, 0}, UNDONE, false},
    {"MKDIR, owner", make_dir, {SYS_fchownat, 0, 0}, UNDONE, false},
    {"MKDIR, mode", make_dir, {SYS_fchmodat2, 0, 0}, UNDONE, false},
    {"MKDIR, times", make_dir, {SYS_utimensat, 0, 0}, UNDONE, false},
    {"MKDIR, handle", make_dir, {SYS_name_to_handle_at, 0, 0}, UNDONE, false},
    {"MKDIR, sync", make_dir, {SYS_fsync, 0, 0}, DONE, true},
    {"SYMLINK, make", make_link, {SYS_symlinkat, 0, 0}, UNDONE, false},
    {"SYMLINK, owner", make_link, {SYS_fchownat, 0, 0}, UNDONE, false},
    {"SYMLINK, sync", make_link, {SYS_fsync, 0, 0}, DONE, true},
    {"MKNOD, make", make_node, {SYS_mknodat, 0, 0}, UNDONE, false},
    {"MKNOD, times", make_node, {SYS_utimensat, 0, 0}, UNDONE, false},
    {"MKNOD, sync", make_node, {SYS_fsync, 0, 0}, DONE, true},
    {"LINK, link", hard_link, {SYS_linkat, 0, 0}, UNDONE, false},
    {"LINK, sync", hard_link, {SYS_fsync, 0, 0}, DONE, true},
    {"RENAME, rename", rename_file, {RENAME_NR, 0, 0}, UNDONE, false},
    {"RENAME, sync", rename_file, {SYS_fsync, 0, 0}, DONE, true},
    {"REMOVE, unlink", remove_file, {SYS_unlinkat, 0, 0}, UNDONE, false},
    {"REMOVE, sync", remove_file, {SYS_fsync, 0, 0}, DONE, true},
    {"RMDIR, unlink", remove_dir, {SYS_unlinkat, 0, 0}, UNDONE, false},
    {"RMDIR, sync", remove_dir, {SYS_fsync, 0, 0}, DONE, true},
    {"SETATTR, size", set_all, {SYS_ftruncate, 0, 0}, UNDONE, false},
    {"SETATTR, owner", set_all, {SYS_fchownat, 0, 0}, PART, false},
    {"SETATTR, mode", set_all, {SYS_fchmodat2, 0, 0}, PART, false},
    {"SETATTR, times", set_all, {SYS_utimensat, 0, 0}, PART, false},
    {"SETATTR, sync", set_all, {SYS_fsync, 0, 0}, DONE, true},
    {"WRITE, write", write_some, {SYS_pwrite64, 0, 0}, UNDONE, true /* by EIO */},
    {"WRITE of data, sync", write_data, {SYS_fdatasync, 0, 0}, DONE, true},
    {"WRITE, sync", write_file, {SYS_fsync, 0, 0}, DONE, true},
    {"COMMIT, sync", commit, {SYS_fsync, 0, 0}, UNDONE, true},
};

static const struct {
	int error, want;
} errors[] = {{EIO, NFS3ERR_IO},     {ENOSPC, NFS3ERR_NOSPC}, {EDQUOT, NFS3ERR_DQUOT},
	      {EROFS, NFS3ERR_ROFS}, {EUCLEAN, NFS3ERR_IO},   {ENOMEM, NFS3ERR_JUKEBOX}};

struct trial {
	struct bed *b;
	const struct fault *f;
	int error, want;
	int (*call)(struct bed *);
};

static void
try(void *arg)
{
	struct trial *t = arg;

	bed_start(t->b);
	uint64_t was = vfs_verifier(&t->b->vfs);
	harm_call(&t->f->at, t->error);
	/* who made a change is not told to come again and make it twice */
	bool once = t->f->after == DONE && t->f->call != write_data && t->f->call != write_file;
	CU_ASSERT_EQUAL(t->f->call(t->b),
			once && t->want == NFS3ERR_JUKEBOX ? NFS3ERR_IO : t->want);
	bool lost = vfs_verifier(&t->b->vfs) != was,
	     must = t->f->lost && (t->f->call != write_some || t->error == EIO);
	CU_ASSERT_EQUAL(lost, must);
	call_reset(t->b->call); /* a leak checker looks at what is left */
}

/* Names, sizes, modes and owners; as one number. */
static uint64_t
look(struct bed *b)
{
	static const char *const names[] = {"a/new", "a/file", "a/dir"};
	uint64_t sum = 0;

	for (int i = 0; i < 3; i++) {
		struct stat st = {0};

		(void)lstat(bed_path(b, names[i]), &st);
		sum = sum * 1000003 + (uint64_t)st.st_mode * 31 + (uint64_t)st.st_size * 7 +
		      st.st_uid + (uint64_t)st.st_mtim.tv_sec * 131071 +
		      (uint64_t)st.st_mtim.tv_nsec + (S_ISDIR(st.st_mode) ? 0 : st.st_nlink);
	}
	return sum;
}

static void
one(const struct fault *f, size_t e)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});
	struct trial t = {b, f, errors[e].error, errors[e].want, NULL};

	bed_write(b, "a/file", "0123456789", 10);
	bed_mkdir(b, "a/dir", 0755);
	uint64_t was = look(b);
	bed_stop(b);
	int failed = harm_in_child(try, &t);
	if (failed)
		fprintf(stderr, "\n    ^ %s, errno %d", f->name, t.error);
	CU_ASSERT_EQUAL(failed, 0);
	bool same = look(b) == was;
	if (same != (f->after == UNDONE))
		fprintf(stderr, "\n    %s, errno %d: is %s", f->name, t.error,
			same ? "undone" : "not undone");
	CU_ASSERT_EQUAL(same, f->after == UNDONE);
	bed_start(b);
	bed_free(b);
}

/* At each system call that a change is made of, each error: its status, what becomes of the change,
 * and whether clients learn that data may be lost. */
TEST(wire_faults, every_call)
{
	size_t n = sizeof errors / sizeof *errors;

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		for (size_t e = 0; e < n; e++)
			if (check_full() || e == i % n || e == 0)
				one(&faults[i], e);
}

/* ---- what cannot be repeated ---- */

static const struct harm no_handle = {SYS_name_to_handle_at, 0, 0}, no_undo = {SYS_unlinkat, 0, 0};

static void
not_undone(void *arg)
{
	const struct trial *t = arg;

	bed_start(t->b);
	harm_call(&no_handle, ENOMEM);
	harm_call(&no_undo, EROFS);
	CU_ASSERT_EQUAL(t->call(t->b), NFS3ERR_IO);
	CU_ASSERT_TRUE(bed_there(t->b, "a/new"));
	call_reset(t->b->call);
}

/* In a child, on a bed that lives on. */
static void
try_apart(void (*fn)(void *), int (*call)(struct bed *))
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});
	struct trial t = {.b = b, .call = call};

	bed_write(b, "a/file", "0123456789", 10);
	bed_stop(b);
	CU_ASSERT_EQUAL(harm_in_child(fn, &t), 0);
	bed_start(b);
	bed_free(b);
}

/* What is made, fails for lack of memory and cannot be taken back is not a matter of coming again:
 * the client would find its own work there. */
TEST(wire_faults, not_undone)
{
	int (*calls[])(struct bed *) = {guarded, unchecked, make_dir, make_link, make_node};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		try_apart(not_undone, calls[i]);
}

static void
half_set(void *arg)
{
	const struct harm no_times = {SYS_utimensat, 0, 0};
	struct bed *b = ((const struct trial *)arg)->b;

	bed_start(b);
	nfs_fh3 fh = file_of(b);
	struct stat st = bed_stat(b, "a/file");
	const nfstime3 right = time3(&st.st_ctim), wrong = {right.seconds, right.nseconds + 1};
	const sattr3 now = {.mtime = {SET_TO_SERVER_TIME, {{0, 0}}}};
	harm_call(&no_times, ENOMEM);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &full, &wrong), NFS3ERR_NOT_SYNC);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &now, &right), NFS3ERR_JUKEBOX);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &full, &right), NFS3ERR_IO);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_size, 5);
	call_reset(b->call);
}

/* A guarded SETATTR that has set something before it failed has made its own guard wrong: not come
 * again; one that has set nothing may. */
TEST(wire_faults, half_set_under_a_guard)
{
	try_apart(half_set, NULL);
}

/* ---- a full file system ---- */

static void
full_disk(void *arg)
{
	static char data[1 << 20];
	char parent[] = "/tmp/spliced-full-XXXXXX";
	unsigned files = 0;
	int st = NFS3_OK;
	WRITE3resok ok;
	nfs_fh3 fh;

	(void)arg;
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(parent));
	CU_ASSERT_EQUAL(chmod(parent, 0755), 0);
	harm_tmpfs(parent, "size=8m,nr_inodes=100,mode=755");
	struct bed *b = bed_new(&(struct bed_opts){.parent = parent, .options_a = RW});
	const sattr3 mode = set_mode(0600);
	CU_ASSERT_EQUAL(do_create(b, root(b), "file", GUARDED, &mode, &fh), NFS3_OK);
	uint64_t at = 0;
	for (stable_how how = UNSTABLE; st == NFS3_OK; how = (how + 1) % 3) {
		st = do_write(b, "a/file", &fh, at, data, sizeof data, how, &ok);
		if (st == NFS3_OK)
			at += ok.count;
	}
	CU_ASSERT_EQUAL(st, NFS3ERR_NOSPC);
	CU_ASSERT_EQUAL((uint64_t)bed_stat(b, "a/file").st_size, at);
	CU_ASSERT(at > 4 << 20 && at % sizeof data != 0); /* the last was a short one */
	CU_ASSERT_EQUAL(do_commit(b, "a/file", &fh, 0, 0, NULL), NFS3_OK);
	const sattr3 cut = set_size(0);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &cut, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(do_write(b, "a/file", &fh, 0, data, 8, FILE_SYNC, NULL), NFS3_OK);
	for (st = NFS3_OK; st == NFS3_OK; files++) {
		char name[20];

		snprintf(name, sizeof name, "f%u", files);
		st = files % 3 ? do_create(b, root(b), name, GUARDED, &mode, NULL)
			       : do_mkdir(b, root(b), name, &mode, NULL);
	}
	CU_ASSERT_EQUAL(st, NFS3ERR_NOSPC);
	CU_ASSERT_EQUAL(do_exclusive(b, root(b), "x", "12345678", NULL), NFS3ERR_NOSPC);
	CU_ASSERT_EQUAL(do_symlink(b, root(b), "x", "x", &mode, NULL), NFS3ERR_NOSPC);
	CU_ASSERT_EQUAL(do_mknod(b, root(b), "x", NF3FIFO, &mode, (specdata3){0, 0}, NULL),
			NFS3ERR_NOSPC);
	CU_ASSERT_FALSE(bed_there(b, "a/x"));
	CU_ASSERT_EQUAL(do_remove(b, root(b), "f1"), NFS3_OK);
	/* it is closed by another thread */
	for (int i = 0; i < 100000 && st == NFS3ERR_NOSPC; i++, sched_yield())
		st = do_exclusive(b, root(b), "x", "12345678", NULL);
	CU_ASSERT_EQUAL(st, NFS3_OK);
	bed_free(b);
	CU_ASSERT_EQUAL(umount(parent) + rmdir(parent), 0);
}

/* A full file system is a short count first, then NOSPC, and so are used-up inodes; what was
 * written before is there, and it goes on as soon as there is room. */
TEST(wire_faults, full_disk)
{
	CU_ASSERT_EQUAL(harm_in_child(full_disk, NULL), 0);
}
