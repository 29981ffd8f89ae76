/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A disk that fails under a writable export: real ext4 and xfs on a loop device, over an image that
 * slowfs serves. It refuses writes, sleeps, and loses what was not flushed when its power goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "change.h"
#include "server.h"

#define KIB 1024u
#define DATA (256 * KIB)

static const char *const types[] = {"ext4", "xfs"};
enum { TYPES = 2 };

struct rig {
	struct srv *s;
	struct cl *c;
	nfs_fh3 root;
};

static void
disk_on(struct rig *r)
{
	srv_mount_image(r->s, "slow/disk", "disk");
}

static void
disk_off(struct rig *r)
{
	struct srv *s = r->s;

	UNTIL(umount(s->mount[s->nmounts - 1]) == 0);
	free(s->mount[--s->nmounts]);
}

static void
serve(struct rig *r)
{
	r->s->options = "rw,no_root_squash,insecure";
	srv_start(r->s, (const char *[]){"-j1", NULL}, "disk", NULL);
	r->c = srv_client(r->s);
	CU_ASSERT_EQUAL_FATAL(cl_mnt(r->c, srv_path(r->s, "disk"), &r->root), MNT3_OK);
}

static struct rig
rig_new(const char *type)
{
	struct rig r = {.s = srv_new()};

	srv_mkdir(r.s, "images");
	srv_image(r.s, "images/disk.image", type, strcmp(type, "xfs") == 0 ? 320 : 64);
	srv_slowfs(r.s, "images/disk.image", "slow");
	disk_on(&r);
	serve(&r);
	return r;
}

static void
rig_free(struct rig *r)
{
	cl_free(r->c);
	srv_free(r->s);
}

static bool
same(const writeverf3 a, const writeverf3 b)
{
	return memcmp(a, b, NFS3_WRITEVERFSIZE) == 0;
}

/* Does the file, read by this name on the server, hold n bytes of the pattern? */
static bool
holds(struct rig *r, const char *name, uint32_t tag, size_t n)
{
	char path[128], *data = malloc(n + 1);
	bool good = false;

	snprintf(path, sizeof path, "disk/%s", name);
	int fd = open(srv_path(r->s, path), O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && data)
		good = read(fd, data, n + 1) == (ssize_t)n && pattern_is(tag, 0, data, n);
	if (fd >= 0)
		close(fd);
	free(data);
	return good;
}

/* The kernel writes what the file has in memory, as it does after a while. (Not more: a journal
 * that cannot be written ends the file system.) */
static void
write_back(struct rig *r)
{
	int fd = open(srv_path(r->s, "disk/f"), O_RDONLY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(
	    sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER), -1);
	close(fd);
}

/* ---- a disk that refuses ---- */

/* early: the kernel writes back, and fails, before COMMIT asks. */
static void
refused(const char *type, bool early)
{
	struct rig r = rig_new(type);
	writeverf3 before, after, again, last;
	nfs_fh3 fh, other;

	CU_ASSERT_EQUAL(ch_create(r.c, &r.root, "f", &fh), NFS3_OK);
	CU_ASSERT_EQUAL(ch_create(r.c, &r.root, "other", &other), NFS3_OK);
	CU_ASSERT_EQUAL(ch_pattern(r.c, &fh, 1, 0, DATA, UNSTABLE, before), NFS3_OK);
	srv_tell(r.s, "fail write EIO");
	if (early)
		write_back(&r);
	else
		CU_ASSERT_EQUAL(ch_commit(r.c, &fh, after), NFS3ERR_IO);
	srv_tell(r.s, "fail write 0");
	if (early)
		CU_ASSERT_EQUAL(ch_commit(r.c, &fh, after), NFS3ERR_IO);
	/* it is told once; whoever else has something uncommitted learns of it by the verifier */
	CU_ASSERT_EQUAL(ch_commit(r.c, &other, after), NFS3_OK);
	CU_ASSERT_FALSE(same(before, after));
	CU_ASSERT_EQUAL(ch_commit(r.c, &fh, again), NFS3_OK);
	CU_ASSERT_TRUE(same(after, again));
	/* so everything is sent again */
	CU_ASSERT_EQUAL(ch_pattern(r.c, &fh, 1, 0, DATA, UNSTABLE, again), NFS3_OK);
	CU_ASSERT_EQUAL(ch_commit(r.c, &fh, last), NFS3_OK);
	CU_ASSERT_TRUE(same(after, again) && same(after, last));
	CU_ASSERT_EQUAL(srv_stop(r.s, SIGTERM), 0);
	disk_off(&r);
	disk_on(&r);
	CU_ASSERT_TRUE(holds(&r, "f", 1, DATA));
	rig_free(&r);
}

/* A disk that refuses to write makes COMMIT fail, whether it is asked then or was before; the
 * verifier changes once, and who sends everything again has it on the disk. */
TEST(disk, refuses_to_write)
{
	for (int i = 0; i < TYPES; i++) {
		refused(types[i], false);
		refused(types[i], true);
	}
}

/* What asks to be stable is not acknowledged by a disk that refuses. */
TEST(disk, refuses_what_must_be_stable)
{
	for (int i = 0; i < TYPES; i++) {
		struct rig r = rig_new(types[i]);
		writeverf3 before, after;
		nfs_fh3 fh;

		CU_ASSERT_EQUAL(ch_create(r.c, &r.root, "f", &fh), NFS3_OK);
		CU_ASSERT_EQUAL(ch_pattern(r.c, &fh, 1, 0, 4096, FILE_SYNC, before), NFS3_OK);
		srv_tell(r.s, "fail write EIO");
		CU_ASSERT_EQUAL(ch_pattern(r.c, &fh, 2, 0, 4096, DATA_SYNC, NULL), NFS3ERR_IO);
		srv_tell(r.s, "fail write 0");
		CU_ASSERT_EQUAL(ch_pattern(r.c, &fh, 3, 0, 4096, FILE_SYNC, after), NFS3_OK);
		CU_ASSERT_FALSE(same(before, after));
		CU_ASSERT_TRUE(holds(&r, "f", 3, 4096));
		rig_free(&r);
	}
}

/* ---- a disk that sleeps ---- */

/* A COMMIT, a stable WRITE and a CREATE that wait for the disk hold up nobody else, on the same
 * loop and on the same connection. */
TEST(disk, sleeps)
{
	struct rig r = rig_new("ext4");
	struct cl *sleeper = srv_client(r.s);
	nfs_fh3 fh, warm;
	READ3res got;

	CU_ASSERT_EQUAL(ch_create(r.c, &r.root, "f", &fh), NFS3_OK);
	CU_ASSERT_EQUAL(ch_create(r.c, &r.root, "warm", &warm), NFS3_OK);
	CU_ASSERT_EQUAL(ch_pattern(r.c, &warm, 2, 0, DATA, FILE_SYNC, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(ch_pattern(r.c, &fh, 1, 0, DATA, UNSTABLE, NULL), NFS3_OK);
	srv_tell(r.s, "hold write");
	COMMIT3args a = {.file = fh};
	cl_call(sleeper, NFS_PROGRAM, NFS_V3, NFSPROC3_COMMIT, (xdrproc_t)xdr_COMMIT3args, &a);
	UNTIL(srv_waiting(r.s, "write") > 0);
	for (uint64_t off = 0; off < DATA; off += 64 * KIB) {
		CU_ASSERT_EQUAL(cl_read(r.c, &warm, off, 64 * KIB, &got), NFS3_OK);
		CU_ASSERT_TRUE(pattern_is(2, off, got.READ3res_u.resok.data.base, 64 * KIB));
		CU_ASSERT_EQUAL(cl_getattr(sleeper, &warm, NULL), NFS3_OK); /* overtakes */
		CU_ASSERT_EQUAL(cl_getattr(r.c, &fh, NULL), NFS3_OK);
	}
	srv_tell(r.s, "release write");
	CU_ASSERT_TRUE_FATAL(cl_recv(sleeper));
	COMMIT3res res;
	CU_ASSERT_TRUE(cl_results(sleeper, (xdrproc_t)xdr_COMMIT3res, &res, sizeof res));
	CU_ASSERT_EQUAL(res.status, NFS3_OK);
	cl_free(sleeper);
	rig_free(&r);
}

/* ---- a disk that forgets ---- */

enum { NAMES = 6 };

/* Things that are acknowledged as stable. */
static void
acknowledged(struct rig *r, unsigned round)
{
	nfs_fh3 dir, fh;
	char name[32];

	snprintf(name, sizeof name, "d%u", round);
	CU_ASSERT_EQUAL(ch_mkdir(r->c, &r->root, name, &dir), NFS3_OK);
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "f%d", i);
		CU_ASSERT_EQUAL(ch_create(r->c, &dir, name, &fh), NFS3_OK);
		CU_ASSERT_EQUAL(
		    ch_pattern(r->c, &fh, round, 0, 20000, i % 2 ? FILE_SYNC : UNSTABLE, NULL),
		    NFS3_OK);
		if (i % 2 == 0)
			CU_ASSERT_EQUAL(ch_commit(r->c, &fh, NULL), NFS3_OK);
	}
	CU_ASSERT_EQUAL(ch_rename(r->c, &dir, "f0", "moved"), NFS3_OK);
	CU_ASSERT_EQUAL(ch_rename(r->c, &dir, "f1", "f2"), NFS3_OK);
	CU_ASSERT_EQUAL(ch_remove(r->c, &dir, "f3"), NFS3_OK);
}

static void
is_there(struct rig *r, unsigned round)
{
	static const char *const there[] = {"moved", "f2", "f4", "f5"}, *const gone[] = {"f0", "f1",
											 "f3"};
	struct stat st;
	char path[64];

	for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
		snprintf(path, sizeof path, "d%u/%s", round, there[i]);
		CU_ASSERT_TRUE(holds(r, path, round, 20000));
	}
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
		snprintf(path, sizeof path, "disk/d%u/%s", round, gone[i]);
		CU_ASSERT_EQUAL(lstat(srv_path(r->s, path), &st), -1);
	}
}

static void
power_fails(struct rig *r)
{
	CU_ASSERT_TRUE(WIFSIGNALED(srv_stop(r->s, SIGKILL)));
	cl_free(r->c);
	srv_tell(r->s, "cut");
	disk_off(r);
	srv_tell(r->s, "power");
	disk_on(r);
	serve(r);
}

static void
power(const char *type, unsigned rounds)
{
	struct rig r = rig_new(type);
	writeverf3 before, after, last;
	unsigned lost = 0;
	nfs_fh3 fh;

	CU_ASSERT_EQUAL(ch_create(r.c, &r.root, "unstable", &fh), NFS3_OK);
	for (unsigned i = 1; i <= rounds; i++) {
		acknowledged(&r, i);
		CU_ASSERT_EQUAL(ch_pattern(r.c, &fh, i, 0, DATA, UNSTABLE, before), NFS3_OK);
		power_fails(&r);
		for (unsigned k = 1; k <= i; k++)
			is_there(&r, k);
		lost += !holds(&r, "unstable", i, DATA);
		/* the handle is good, the verifier says that the data must come again */
		CU_ASSERT_EQUAL(ch_commit(r.c, &fh, after), NFS3_OK);
		CU_ASSERT_FALSE(same(before, after));
		CU_ASSERT_EQUAL(ch_pattern(r.c, &fh, i, 0, DATA, UNSTABLE, last), NFS3_OK);
		CU_ASSERT_TRUE(same(after, last));
		CU_ASSERT_EQUAL(ch_commit(r.c, &fh, last), NFS3_OK);
		CU_ASSERT_TRUE(same(after, last));
		CU_ASSERT_TRUE(holds(&r, "unstable", i, DATA));
	}
	CU_ASSERT(lost > 0); /* or this disk forgets nothing */
	rig_free(&r);
}

/* Power fails: what was acknowledged as stable is there, after every failure; what was not is sent
 * again because the verifier is another, and then it is there, too. */
TEST(disk, forgets_what_was_not_flushed)
{
	for (int i = 0; i < TYPES; i++)
		power(types[i], check_full() ? 25 : 2);
}
