/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles on real file systems. What a client may rely on is one list of facts, and it is checked
 * on each file system in each way of finding objects: by kernel handle in a mount of our own, by
 * kernel handle, by serial.
 */
#include "check.h"
#include "mountbox.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char at_buf[4][512];

static const char *
at(const char *root, const char *rest)
{
	static int turn;
	char *p = at_buf[turn++ % 4];

	snprintf(p, sizeof at_buf[0], "%s/%s", root, rest);
	return p;
}

static void
put(const char *root, const char *path)
{
	int fd = open(at(root, path), O_CREAT | O_WRONLY | O_EXCL, 0644);

	OK(fd >= 0 && write(fd, path, strlen(path)) > 0);
	close(fd);
}

/* A name-space call that must work. */
static void
mv(const char *root, const char *from, const char *to)
{
	OK(rename(at(root, from), at(root, to)) == 0);
}

/* Removed is stale, also when the inode number comes back at once; replaced is stale, and the
 * replacement keeps its own handle. */
static void
removal(struct side *s, struct export *ex)
{
	struct handle f, g;

	put(ex->path, "once");
	f = side_walk(s, ex, "once");
	OK(unlink(at(ex->path, "once")) == 0);
	put(ex->path, "once");
	OK(side_stale(s, ex, &f));
	f = side_walk(s, ex, "once");
	OK(side_opens(s, ex, &f, "once"));
	put(ex->path, "other");
	g = side_walk(s, ex, "other");
	mv(ex->path, "other", "once");
	OK(side_stale(s, ex, &f));
	OK(side_opens(s, ex, &g, "once"));
	OK(mkdir(at(ex->path, "dir"), 0755) == 0);
	f = side_walk(s, ex, "dir");
	OK(rmdir(at(ex->path, "dir")) == 0 && mkdir(at(ex->path, "dir"), 0755) == 0);
	OK(side_stale(s, ex, &f));
	OK(rmdir(at(ex->path, "dir")) == 0 && unlink(at(ex->path, "once")) == 0);
}

/* A removed file that somebody still holds open is gone for clients. */
static void
removed_but_open(struct side *s, struct export *ex)
{
	struct handle f;
	int fd;

	put(ex->path, "held");
	f = side_walk(s, ex, "held");
	fd = open(at(ex->path, "held"), O_RDONLY);
	OK(fd >= 0 && unlink(at(ex->path, "held")) == 0);
	OK(side_stale(s, ex, &f));
	close(fd);
}

/* Renames on the server, of the object and of any directory above it, change nothing for who has a
 * handle; nor does a restart. */
static void
renames(struct side *s, struct export *ex)
{
	struct handle f, c, b;

	mountbox_sh("mkdir -p %s/a/b/c %s/side/deep/er", ex->path, ex->path);
	put(ex->path, "a/b/c/f");
	f = side_walk(s, ex, "a/b/c/f");
	c = side_walk(s, ex, "a/b/c");
	b = side_walk(s, ex, "a/b");
	OK(side_opens(s, ex, &f, "a/b/c/f"));
	mv(ex->path, "a/b/c/f", "a/b/c/g"); /* itself */
	OK(side_opens(s, ex, &f, "a/b/c/g"));
	mv(ex->path, "a", "z"); /* the top */
	OK(side_opens(s, ex, &f, "z/b/c/g"));
	mv(ex->path, "z/b", "side/deep/er/b"); /* the middle, to where no client has been */
	OK(side_opens(s, ex, &c, "side/deep/er/b/c") &&
	   side_opens(s, ex, &f, "side/deep/er/b/c/g"));
	side_restart(s);
	ex = s->t->v[0];
	OK(side_opens(s, ex, &f, "side/deep/er/b/c/g") && side_opens(s, ex, &b, "side/deep/er/b"));
	mv(ex->path, "side/deep/er/b/c/g", "z/g"); /* out of it, and then the rest away */
	mountbox_sh("rm -r %s/side", ex->path);
	OK(side_opens(s, ex, &f, "z/g"));
	OK(side_stale(s, ex, &c) && side_stale(s, ex, &b));
	mountbox_sh("rm -r %s/z", ex->path);
	OK(side_stale(s, ex, &f));
}

/* Two names exchanged: each handle follows its object. */
static void
exchange(struct side *s, struct export *ex)
{
	struct handle x, y, fx;

	mountbox_sh("mkdir %s/x %s/y", ex->path, ex->path);
	put(ex->path, "x/f");
	x = side_walk(s, ex, "x");
	y = side_walk(s, ex, "y");
	fx = side_walk(s, ex, "x/f");
	mv(ex->path, "x", "t");
	mv(ex->path, "y", "x");
	mv(ex->path, "t", "y");
	OK(side_opens(s, ex, &x, "y") && side_opens(s, ex, &y, "x") &&
	   side_opens(s, ex, &fx, "y/f"));
	mv(ex->path, "x",
	   "y/x"); /* and one below the other: x's remembered way leads through itself now */
	OK(side_opens(s, ex, &y, "y/x") && side_opens(s, ex, &fx, "y/f"));
	mountbox_sh("rm -r %s/y", ex->path);
}

/* All names of a file lead to one object, whose handle lives until the last is gone. */
static void
hard_links(struct side *s, struct export *ex)
{
	struct handle one, two;

	OK(mkdir(at(ex->path, "l"), 0755) == 0);
	put(ex->path, "l1");
	OK(link(at(ex->path, "l1"), at(ex->path, "l/l2")) == 0);
	one = side_walk(s, ex, "l1");
	two = side_walk(s, ex, "l/l2");
	OK(memcmp(&one, &two, sizeof one) == 0);
	OK(unlink(at(ex->path, "l/l2")) == 0);
	OK(side_opens(s, ex, &one, "l1"));
	OK(link(at(ex->path, "l1"), at(ex->path, "l/l3")) == 0 && unlink(at(ex->path, "l1")) == 0);
	OK(side_opens(s, ex, &one, "l/l3"));
	OK(unlink(at(ex->path, "l/l3")) == 0);
	OK(side_stale(s, ex, &one));
	OK(rmdir(at(ex->path, "l")) == 0);
}

/* Links, FIFOs and devices are opened as themselves, and a link is never followed. */
static void
specials(struct side *s, struct export *ex)
{
	struct handle h;

	OK(symlink("/etc", at(ex->path, "link")) == 0 && mkfifo(at(ex->path, "fifo"), 0600) == 0);
	OK(mknod(at(ex->path, "null"), S_IFCHR | 0600, 0x103) == 0);
	h = side_walk(s, ex, "link");
	OK(side_opens(s, ex, &h, "link"));
	h = side_walk(s, ex, "fifo");
	OK(side_opens(s, ex, &h, "fifo"));
	h = side_walk(s, ex, "null");
	OK(side_opens(s, ex, &h, "null"));
	mountbox_sh("cd %s && rm link fifo null", ex->path);
}

static bool
parent_is(struct side *s, struct export *ex, const char *path, const char *parent)
{
	struct stat want, got;
	struct handle h, byname;
	int fd, up, rc;
	bool good;

	fd = open(at(ex->path, path), O_PATH); /* its own mount does not matter to stat */
	h = side_walk(s, ex, path);
	close(fd);
	if (resolve_open(&s->r, ex, &h, &fd))
		return false;
	rc = resolve_parent(&s->r, ex, fd, &up);
	close(fd);
	if (rc)
		return false;
	good = fstat(up, &got) == 0 && stat(at(ex->path, parent), &want) == 0 &&
	       got.st_ino == want.st_ino;
	/* a directory found as ".." has the handle that it has by name */
	good = good && resolve_name(&s->r, ex, up, &got, &h, 0, "..", 2, true, &byname) == 0;
	close(up);
	h = side_walk(s, ex, parent);
	return good && memcmp(&h, &byname, sizeof h) == 0;
}

/* ".." leads up to the root and not above it; from a directory that was moved out of the export it
 * leads nowhere. */
static void
parents(struct side *s, struct export *ex, const char *outside)
{
	struct handle h;
	int fd, up;

	mountbox_sh("mkdir -p %s/p/q/r", ex->path);
	OK(parent_is(s, ex, "p/q/r", "p/q"));
	OK(parent_is(s, ex, "p/q", "p"));
	OK(parent_is(s, ex, "p", ""));
	OK(parent_is(s, ex, "", ""));
	h = side_walk(s, ex, "p/q/r");
	OK(resolve_open(&s->r, ex, &h, &fd) == 0);
	OK(rename(at(ex->path, "p/q"), outside) == 0);
	OK(resolve_parent(&s->r, ex, fd, &up) == ESTALE);
	OK(rename(outside, at(ex->path, "p/q")) == 0);
	OK(resolve_parent(&s->r, ex, fd, &up) == 0);
	close(up);
	close(fd);
	/* serials: also what no client has walked to can be named from below */
	mountbox_sh("mkdir -p %s/n/o", ex->path);
	fd = openat(ex->fs.root, "n/o", O_PATH);
	struct stat st;

	OK(fstat(fd, &st) == 0 &&
	   resolve_name(&s->r, ex, fd, &st, NULL, 0, NULL, 0, true, &h) == 0);
	OK(side_opens(s, ex, &h, "n/o"));
	close(fd);
	mountbox_sh("rm -r %s/p %s/n", ex->path, ex->path);
}

/* What is mounted below an export is not part of it; a mount clone shows what lies beneath the
 * mount. */
static void
mounts_below(struct side *s, struct export *ex)
{
	struct handle h;

	mountbox_sh("mkdir %s/m; mount -t tmpfs none %s/m; mkdir %s/m/in", ex->path, ex->path,
		    ex->path);
	if (ex->fs.confined) {
		h = side_walk(s, ex, "m");
		mountbox_sh("umount %s/m", ex->path);
		OK(side_opens(s, ex, &h, "m"));
	} else {
		mountbox_sh("umount %s/m", ex->path);
	}
	mountbox_sh("rmdir %s/m", ex->path);
}

/* Nothing can be written, nor become privileged, through a mount of our own. */
static void
confinement(struct export *ex)
{
	int fd = openat(ex->fs.root, "w", O_CREAT | O_WRONLY, 0644);

	if (ex->fs.confined)
		OK(fd < 0 && errno == EROFS);
	else
		OK(fd >= 0 && unlinkat(ex->fs.root, "w", 0) == 0);
	if (fd >= 0)
		close(fd);
}

/* The whole list, for an export of a directory within the file system at mnt. */
static void
facts(struct side *s, const char *mnt)
{
	char dir[256], outside[256];

	snprintf(dir, sizeof dir, "%s/export", mnt);
	snprintf(outside, sizeof outside, "%s/outside", mnt);
	OK(mkdir(dir, 0755) == 0 || errno == EEXIST);
	OK(side_export(s, NULL, dir, NULL) != NULL);
	if (!s->t) {
		printf("\n    %s", s->err);
		return;
	}
	OK(s->t->v[0]->fs.khandle == s->kernel.khandle);
	removal(s, s->t->v[0]);
	removed_but_open(s, s->t->v[0]);
	renames(s, s->t->v[0]);
	exchange(s, s->t->v[0]);
	hard_links(s, s->t->v[0]);
	specials(s, s->t->v[0]);
	parents(s, s->t->v[0], outside);
	mounts_below(s, s->t->v[0]);
	confinement(s->t->v[0]);
}

static void
facts_on(const char *dir, const char *type)
{
	struct side s;
	char mnt[200];

	mountbox_mkfs(dir, type, "disk");
	snprintf(mnt, sizeof mnt, "%s/disk", dir);
	for (int mode = 0; mode < N_SIDE_MODES; mode++) {
		side_open(&s, dir, (enum side_mode)mode);
		facts(&s, mnt);
		side_close(&s);
	}
}

static void
on_ext4(const char *dir)
{
	facts_on(dir, "ext4");
}
static void
on_xfs(const char *dir)
{
	facts_on(dir, "xfs");
}
static void
on_btrfs(const char *dir)
{
	facts_on(dir, "btrfs");
}
static void
on_tmpfs(const char *dir)
{
	facts_on(dir, "tmpfs");
}

/* All that a client relies on holds on ext4. */
TEST(resolve, ext4)
{
	mountbox_run(on_ext4);
}

/* ... on xfs. */
TEST(resolve, xfs)
{
	mountbox_run(on_xfs);
}

/* ... on btrfs. */
TEST(resolve, btrfs)
{
	mountbox_run(on_btrfs);
}

/* ... on tmpfs. */
TEST(resolve, tmpfs)
{
	mountbox_run(on_tmpfs);
}

/* From here on the kernel has no openat2, as before 5.6 or behind an old seccomp filter. */
static void
forget_openat2(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof code / sizeof *code, code};

	OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
	OK(syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == ENOSYS);
}

static void
without_openat2(const char *dir)
{
	forget_openat2();
	facts_on(dir, "tmpfs");
}

/* All of it also without openat2. */
TEST(resolve, without_openat2)
{
	mountbox_run(without_openat2);
}

static void
two_disks(const char *dir)
{
	struct side s;
	char a[256], b[256];
	struct handle h;

	mountbox_mkfs(dir, "ext4", "one");
	mountbox_mkfs(dir, "ext4", "two");
	snprintf(a, sizeof a, "%s/one", dir);
	snprintf(b, sizeof b, "%s/two", dir);
	put(a, "f");
	put(b, "f");
	side_open(&s, dir, KERNEL_CLONED);
	OK(side_export(&s, NULL, a, b, NULL) != NULL);
	OK(s.t->v[0]->id != s.t->v[1]->id && s.t->v[0]->fs.id != s.t->v[1]->fs.id);
	OK(s.t->v[0]->fs.fsid3 != s.t->v[1]->fs.fsid3);
	h = side_walk(&s, s.t->v[0], "f");
	OK(side_opens(&s, s.t->v[0], &h, "f"));
	OK(side_stale(&s, s.t->v[1], &h)); /* the same kernel handle, in fact */
	side_close(&s);
}

/* The root of every ext4 has the same kernel handle; two of them are told apart all the same. */
TEST(resolve, two_disks)
{
	mountbox_run(two_disks);
}

static void
cloned(const char *dir)
{
	struct side s;
	char a[256], b[256];

	mountbox_mkfs(dir, "ext4", "one");
	snprintf(a, sizeof a, "%s/one", dir);
	snprintf(b, sizeof b, "%s/two", dir);
	mountbox_sh(
	    "sync -f %s; cp --sparse=always %s.img %s.img; mkdir %s; mount -o loop %s.img %s", a, a,
	    b, b, b, b);
	side_open(&s, dir, KERNEL_CLONED);
	OK(side_export(&s, NULL, a, b, NULL) == NULL);
	OK(strstr(s.err, a) && strstr(s.err, b) && strstr(s.err, "fsid="));
	/* the same number for both is no help; different ones are */
	OK(side_export(&s, "fsid=3", a, b, NULL) == NULL);
	struct export_spec spec[] = {{a, "fsid=1", "*"}, {b, "fsid=2", "*"}};

	s.t = export_table_make(&s.env, spec, 2, s.err, sizeof s.err);
	OK(s.t != NULL && s.t->v[0]->fs.id != s.t->v[1]->fs.id);
	side_close(&s);
}

/* A cloned image has its original's UUID: an error that names both, unless fsid= tells them apart.
 */
TEST(resolve, cloned_disk)
{
	mountbox_run(cloned);
}

static void
remounted(const char *dir)
{
	struct side s;
	char a[256];
	struct handle f;
	nfs_fh3 root;

	mountbox_mkfs(dir, "ext4", "one");
	snprintf(a, sizeof a, "%s/one", dir);
	put(a, "f");
	for (int mode = 0; mode < N_SIDE_MODES; mode++) {
		side_open(&s, dir, (enum side_mode)mode);
		OK(side_export(&s, NULL, a, NULL) != NULL);
		f = side_walk(&s, s.t->v[0], "f");
		root = s.t->v[0]->root;
		side_close(&s);
		/* another loop device, so another st_dev, at another moment */
		mountbox_sh("umount %s; truncate -s 1M %s/filler; losetup -f %s/filler; mount -o "
			    "loop %s.img %s",
			    a, dir, dir, a, a);
		mountbox_sh("losetup -j %s/filler -O NAME -n | xargs losetup -d", dir);
		side_open(&s, dir, (enum side_mode)mode);
		OK(side_export(&s, NULL, a, NULL) != NULL);
		OK(memcmp(root.data, s.t->v[0]->root.data, root.len) == 0);
		OK(side_opens(&s, s.t->v[0], &f, "f"));
		side_close(&s);
	}
}

/* Handles do not depend on the device number. */
TEST(resolve, remounted_disk)
{
	mountbox_run(remounted);
}

static void
snapshot(const char *dir)
{
	struct side s;
	char mnt[200], sub[256], snap[256], twin[256];
	struct handle f, g, t;
	struct stat a, b;

	mountbox_mkfs(dir, "btrfs", "disk");
	snprintf(mnt, sizeof mnt, "%s/disk", dir);
	snprintf(sub, sizeof sub, "%s/sub", mnt);
	snprintf(snap, sizeof snap, "%s/snap", mnt);
	mountbox_sh("btrfs subvolume create %s >/dev/null; echo x >%s/f; btrfs subvolume snapshot "
		    "%s %s/twin >/dev/null",
		    sub, sub, sub, mnt);
	mountbox_sh("btrfs subvolume snapshot %s %s >/dev/null", sub, snap);
	snprintf(twin, sizeof twin, "%s/twin", mnt);
	OK(stat(at(sub, "f"), &a) == 0 && stat(at(twin, "f"), &b) == 0 && a.st_ino == b.st_ino);
	for (int mode = 0; mode < N_SIDE_MODES; mode++) {
		side_open(&s, dir, (enum side_mode)mode);
		/* as exports of their own */
		OK(side_export(&s, NULL, snap, sub, NULL) != NULL);
		OK(s.t->v[0]->fs.id != s.t->v[1]->fs.id && s.t->v[0]->id != s.t->v[1]->id);
		f = side_walk(&s, s.t->v[0], "f");
		g = side_walk(&s, s.t->v[1], "f");
		OK(side_opens(&s, s.t->v[0], &f, "f") && side_opens(&s, s.t->v[1], &g, "f"));
		OK(fs_fsid3(&s.t->v[0]->fs, &f) != fs_fsid3(&s.t->v[1]->fs, &g));
		export_table_put(s.t);
		/* within one export */
		OK(side_export(&s, NULL, mnt, NULL) != NULL);
		f = side_walk(&s, s.t->v[0], "sub/f");
		t = side_walk(&s, s.t->v[0], "twin/f");
		OK(memcmp(&f, &t, sizeof f) != 0);
		OK(side_opens(&s, s.t->v[0], &f, "sub/f") &&
		   side_opens(&s, s.t->v[0], &t, "twin/f"));
		OK(fs_fsid3(&s.t->v[0]->fs, &f) != fs_fsid3(&s.t->v[0]->fs, &t));
		OK(fs_fsid3(&s.t->v[0]->fs, &f) != 0);
		mv(mnt, "sub", "bus"); /* a subvolume renamed */
		OK(side_opens(&s, s.t->v[0], &f, "bus/f"));
		mv(mnt, "bus", "sub");
		side_close(&s);
	}
}

/* A snapshot's twin has the same inode number and birth time; it is another object all the same,
 * with an fsid of its own. */
TEST(resolve, btrfs_snapshot)
{
	mountbox_run(snapshot);
}

static void
overlay(const char *dir)
{
	struct side s;
	char mnt[200];

	mountbox_mkfs(dir, "ext4", "disk");
	mountbox_sh("cd %s/disk; mkdir lo up wk up2 wk2; mkdir %s/ov %s/ov2; echo x >lo/low", dir,
		    dir, dir);
	mountbox_sh("cd %s/disk; mount -t overlay ov -o "
		    "lowerdir=lo,upperdir=up,workdir=wk,index=on,nfs_export=on %s/ov",
		    dir, dir);
	mountbox_sh(
	    "cd %s/disk; mount -t overlay ov -o lowerdir=lo,upperdir=up2,workdir=wk2 %s/ov2", dir,
	    dir);
	snprintf(mnt, sizeof mnt, "%s/ov", dir);
	side_open(&s, dir, KERNEL_CLONED);
	OK(side_export(&s, NULL, mnt, NULL) != NULL);
	OK(s.t->v[0]->fs.khandle && !s.t->v[0]->fs.local);
	struct handle low = side_walk(&s, s.t->v[0], "low");

	mountbox_sh("echo y >>%s/low", mnt); /* copied up */
	OK(side_opens(&s, s.t->v[0], &low, "low"));
	renames(&s, s.t->v[0]);
	export_table_put(s.t);
	/* without nfs_export: serials, and no word of birth times, which copying up changes */
	snprintf(mnt, sizeof mnt, "%s/ov2", dir);
	OK(side_export(&s, NULL, mnt, NULL) != NULL);
	OK(!s.t->v[0]->fs.khandle && !s.t->v[0]->fs.btime);
	low = side_walk(&s, s.t->v[0], "low");
	mountbox_sh("echo y >>%s/low", mnt);
	OK(side_opens(&s, s.t->v[0], &low, "low"));
	mv(mnt, "low", "high");
	OK(side_opens(&s, s.t->v[0], &low, "high"));
	side_restart(&s);
	OK(side_opens(&s, s.t->v[0], &low, "high"));
	side_close(&s);
}

/* overlayfs: kernel handles only with nfs_export; either way a handle outlives copying up. */
TEST(resolve, overlayfs)
{
	mountbox_run(overlay);
}

static void
fuse_of_another(const char *dir)
{
	struct side s;
	char mnt[200], opts[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	snprintf(mnt, sizeof mnt, "%s/fuse", dir);
	OK(mkdir(mnt, 0755) == 0);
	snprintf(opts, sizeof opts, "fd=%d,rootmode=40000,user_id=1,group_id=1", fd);
	OK(mount("nobody", mnt, "fuse", 0, opts) == 0);
	side_open(&s, dir, KERNEL_CLONED);
	OK(side_export(&s, NULL, mnt, NULL) == NULL);
	OK(strstr(s.err, mnt) && strstr(s.err, "allow_other"));
	store_close(s.env.store);
}

/* A FUSE file system of another user is closed even to root, and the message says what to do. */
TEST(resolve, fuse_without_allow_other)
{
	mountbox_run(fuse_of_another);
}
