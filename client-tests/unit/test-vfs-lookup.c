/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "served.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static struct served s;

static int
look(const struct vfs_ctx *ctx, struct obj *d, const char *name, uint64_t *ino)
{
	struct obj *child;
	struct stat st;
	int error = vfs_lookup(ctx, d, name, strlen(name), &child, &st);

	if (error)
		return error;
	WANT_EQ(child->ino, st.st_ino);
	*ino = st.st_ino;
	put(&s, child);
	return 0;
}

static uint64_t
ino_of(const char *path)
{
	struct stat st;

	MUST(lstat(path, &st) == 0);
	return st.st_ino;
}

static void
names_on(const char *type)
{
	char longest[256 + 1];
	struct obj *child;
	struct stat st;
	uint64_t ino = 0;

	serve_type(&s, type);
	MUST(mkdir(at(&s, "d"), 0755) == 0 && mkdir(at(&s, "d/e"), 0755) == 0);
	box_file(at(&s, "f"), 3, 0644);
	MUST(symlink("/etc", at(&s, "link")) == 0);
	memset(longest, 'x', 255);
	longest[255] = '\0';
	box_file(at(&s, longest), 1, 0644);
	struct vfs_ctx w = as_worker(&s);
	WANT_EQ(look(&w, s.root, "f", &ino), 0);
	WANT_EQ(ino, ino_of(at(&s, "f")));
	WANT_EQ(look(&w, s.root, "link", &ino), 0);
	WANT_EQ(ino, ino_of(at(&s, "link")));
	WANT_EQ(look(&w, s.root, longest, &ino), 0);
	longest[255] = 'x', longest[256] = '\0';
	WANT_EQ(look(&w, s.root, longest, &ino), ENAMETOOLONG);
	WANT_EQ(look(&w, s.root, "none", &ino), ENOENT);
	WANT_EQ(look(&w, s.root, "", &ino), EINVAL);
	WANT_EQ(look(&w, s.root, "d/e", &ino), EINVAL);
	WANT_EQ(look(&w, s.root, "/", &ino), EINVAL);
	WANT_EQ(vfs_lookup(&w, s.root, "f\0x", 3, &child, &st), EINVAL);
	struct obj *d = object(&s, "d"), *e = object(&s, "d/e"), *f = object(&s, "f");
	struct obj *link = object(&s, "link");
	WANT_EQ(look(&w, f, "x", &ino), ENOTDIR);
	WANT_EQ(look(&w, link, "passwd", &ino), ENOTDIR);
	WANT_EQ(vfs_lookup(&w, s.root, "..", 2, &child, &st), 0);
	WANT(child == s.root);
	put(&s, child);
	WANT_EQ(vfs_lookup(&w, s.root, ".", 1, &child, &st), 0);
	WANT(child == s.root);
	put(&s, child);
	WANT_EQ(vfs_lookup(&w, d, "..", 2, &child, &st), 0);
	WANT(child == s.root);
	put(&s, child);
	WANT_EQ(vfs_lookup(&w, e, "..", 2, &child, &st), 0);
	WANT(child == d);
	put(&s, child);
	WANT_EQ(vfs_lookup(&w, e, ".", 1, &child, &st), 0);
	WANT(child == e);
	put(&s, child);
	put(&s, d);
	put(&s, e);
	put(&s, f);
	put(&s, link);
	serve_end(&s);
}

static void
names_tmpfs(void)
{
	names_on("tmpfs");
}

static void
names_ext4(void)
{
	names_on("ext4");
}

static void
names_btrfs(void)
{
	names_on("btrfs");
}

static void
names_overlay(void)
{
	names_on("overlay");
}

/* One component is looked up and nothing followed; "." and ".." work and the root is its own
 * parent; what is no component is refused. */
TEST(vfs, names_tmpfs)
{
	BOXED(names_tmpfs);
}
TEST(vfs, names_ext4)
{
	BOXED(names_ext4);
}
TEST(vfs, names_btrfs)
{
	BOXED(names_btrfs);
}
TEST(vfs, names_overlay)
{
	BOXED(names_overlay);
}

static void
search(void)
{
	uint64_t ino = 0;

	serve_type(&s, "tmpfs");
	MUST(mkdir(at(&s, "d"), 0744) == 0 && mkdir(at(&s, "d/sub"), 0777) == 0);
	struct obj *d = object(&s, "d");
	s.cred = box_cred(1000, 1000, 0, NULL);
	struct vfs_ctx w = as_worker(&s);
	WANT_EQ(look(&w, d, "sub", &ino), EACCES);
	WANT_EQ(look(&w, d, "..", &ino), EACCES);
	WANT_EQ(look(&w, d, "none", &ino), EACCES);
	MUST(chmod(at(&s, "d"), 0711) == 0);
	WANT_EQ(look(&w, d, "sub", &ino), 0);
	put(&s, d);
	serve_end(&s);
}

/* Looking up needs search permission on the directory, for every name alike. */
TEST(vfs, search_permission)
{
	BOXED(search);
}

static void
on_loops(void)
{
	struct obj *child;
	struct stat st;
	uint64_t ino = 0;

	serve_type(&s, "ext4");
	box_file(at(&s, "f"), 1, 0644);
	struct vfs_ctx loop = on_loop(&s), w = as_worker(&s);
	until_calm(&s, s.root);
	int first = vfs_lookup(&loop, s.root, "f", 1, &child, &st);
	WANT(first == 0 || first == ESLEEP);
	if (first == 0)
		put(&s, child);
	wake_up(&s);
	WANT_EQ(look(&w, s.root, "f", &ino), 0);
	WANT_EQ(vfs_lookup(&loop, s.root, "f", 1, &child, &st), 0);
	WANT_EQ(st.st_ino, ino);
	/* an object that was evicted is opened by its remembered handle, by a worker */
	obj_forget(s.files, child);
	put(&s, child);
	wake_up(&s);
	WANT_EQ(vfs_lookup(&loop, s.root, "f", 1, &child, &st), ESLEEP);
	WANT_EQ(look(&w, s.root, "f", &ino), 0);
	/* unknown to the kernel's memory: */
	WANT_EQ(vfs_lookup(&loop, s.root, "never-asked", 11, &child, &st), ESLEEP);
	WANT_EQ(vfs_lookup(&w, s.root, "never-asked", 11, &child, &st), ENOENT);
	serve_end(&s);
}

/* A loop looks up what is in memory and nothing else. */
TEST(vfs, lookup_on_loops)
{
	BOXED(on_loops);
}

static void
replaced_on(const char *type)
{
	uint64_t ino = 0;

	serve_type(&s, type);
	box_file(at(&s, "a"), 1, 0644);
	struct vfs_ctx w = as_worker(&s);
	until_calm(&s, s.root);
	WANT_EQ(look(&w, s.root, "a", &ino), 0);
	box_file(at(&s, "b"), 1, 0644);
	uint64_t number[2] = {ino_of(at(&s, "a")), ino_of(at(&s, "b"))};
	for (int i = 1; i < 2000 && !box_failed; i++) {
		MUST(renameat2(AT_FDCWD, at(&s, "a"), AT_FDCWD, at(&s, "b"), RENAME_EXCHANGE) == 0);
		WANT_EQ(look(&w, s.root, "a", &ino), 0);
		WANT_EQ(ino, number[i % 2]);
		WANT_EQ(look(&w, s.root, "b", &ino), 0);
		WANT_EQ(ino, number[1 - i % 2]);
		if (i % 500 == 0)
			until_calm(&s, s.root);
		WANT_EQ(look(&w, s.root, "a", &ino), 0);
		WANT_EQ(ino, number[i % 2]);
	}
	box_file(at(&s, "c"), 1, 0644);
	number[0] = ino_of(at(&s, "c"));
	MUST(rename(at(&s, "c"), at(&s, "a")) == 0);
	WANT_EQ(look(&w, s.root, "a", &ino), 0);
	WANT_EQ(ino, number[0]);
	WANT_EQ(look(&w, s.root, "c", &ino), ENOENT);
	serve_end(&s);
}

static void
replaced_tmpfs(void)
{
	replaced_on("tmpfs");
}

static void
replaced_ticks(void)
{
	replaced_on("ext2");
}

static void
replaced_seconds(void)
{
	replaced_on("ext4-seconds");
}

/* A remembered name never outlives a change of its directory, however fast. */
TEST(vfs, replaced)
{
	BOXED(replaced_tmpfs);
}
TEST(vfs, replaced_ticks)
{
	BOXED(replaced_ticks);
}
TEST(vfs, replaced_seconds)
{
	BOXED(replaced_seconds);
}

static void
stale(void)
{
	struct obj *o, *d, *x;
	struct stat st;
	uint64_t ino = 0;

	serve_type(&s, "ext4");
	box_file(at(&s, "f"), 1, 0644);
	box_file(at(&s, "g"), 1, 0644);
	MUST(mkdir(at(&s, "d"), 0755) == 0);
	o = object(&s, "f"), d = object(&s, "d");
	struct vfs_ctx w = as_worker(&s);
	MUST(rename(at(&s, "g"), at(&s, "f")) == 0 && rmdir(at(&s, "d")) == 0);
	box_file(at(&s, "h"), 1, 0644);
	WANT_EQ(vfs_getattr(&w, o, &st), ESTALE);
	WANT_EQ(vfs_getattr(&w, d, &st), ESTALE);
	WANT_EQ(look(&w, d, "x", &ino), ESTALE);
	WANT_EQ(again(&s, o, true, &x), ESTALE);
	put(&s, o);
	put(&s, d);
	serve_end(&s);
}

/* What was removed or replaced is stale, never the object that took its name or number. */
TEST(vfs, stale)
{
	BOXED(stale);
}

static void
mount_point(void)
{
	struct stat st;
	struct obj *child;
	uint64_t outer, top;

	box_mount("tmpfs", "e", s.dir);
	MUST(mkdir(at(&s, "m"), 0755) == 0);
	outer = ino_of(at(&s, "m"));
	MUST(mount("none", at(&s, "m"), "tmpfs", 0, NULL) == 0);
	box_file(at(&s, "m/inside"), 1, 0644);
	serve(&s, s.dir, NULL, 0);
	struct vfs_ctx w = as_worker(&s);
	int error = vfs_lookup(&w, s.root, "m", 1, &child, &st);
	if (s.ex->fs.confined) {
		WANT_EQ(error, 0);
		WANT_EQ(st.st_ino, outer);
		WANT_EQ(look(&w, child, "inside", &top), ENOENT);
		put(&s, child);
	} else {
		WANT_EQ(error, EACCES);
	}
	serve_end(&s);
}

static void
mount_point_unconfined(void)
{
	setenv("SPLICED_WITHOUT", "mount_clone", 1);
	mount_point();
}

/* What is mounted inside an export is not entered: the covered directory shows where the export is
 * a mount clone, else there is no access. */
TEST(vfs, mount_point)
{
	BOXED(mount_point);
}
TEST(vfs, mount_point_unconfined)
{
	BOXED(mount_point_unconfined);
}

static void
old_kernel(void)
{
	setenv("SPLICED_WITHOUT", "all", 1);
	names_on("tmpfs");
}

/* Lookups work without any of the newer kernel calls. */
TEST(vfs, names_old_kernel)
{
	BOXED(old_kernel);
}
