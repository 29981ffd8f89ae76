/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "served.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct served s;

static void
links(void)
{
	char text[4096], target[4096];
	size_t len = 0;

	serve_type(&s, "ext4");
	memset(target, 't', 4095);
	target[4095] = '\0';
	MUST(symlink("short", at(&s, "s")) == 0 && symlink(target, at(&s, "l")) == 0);
	box_file(at(&s, "f"), 1, 0644);
	struct obj *sh = object(&s, "s"), *lo = object(&s, "l"), *f = object(&s, "f");
	struct vfs_ctx loop = on_loop(&s), w = as_worker(&s);
	WANT_EQ(vfs_readlink(&loop, sh, text, sizeof text, &len), 0);
	WANT(len == 5 && memcmp(text, "short", 5) == 0);
	WANT_EQ(vfs_readlink(&loop, lo, text, sizeof text, &len), ESLEEP);
	WANT_EQ(vfs_readlink(&w, lo, text, sizeof text, &len), 0);
	WANT(len == 4095 && memcmp(text, target, len) == 0);
	WANT_EQ(vfs_readlink(&w, f, text, sizeof text, &len), EINVAL);
	WANT_EQ(vfs_readlink(&w, s.root, text, sizeof text, &len), EINVAL);
	put(&s, sh);
	put(&s, lo);
	put(&s, f);
	serve_end(&s);
}

/* A link's text is read as it is; a long one, which lies on disk, by a worker. */
TEST(vfs, readlink)
{
	BOXED(links);
}

static void
numbers(void)
{
	struct vfs_limits l;
	struct statvfs sv, expected;

	serve_type(&s, "ext4");
	struct vfs_ctx loop = on_loop(&s), w = as_worker(&s);
	WANT_EQ(vfs_limits(&loop, s.root, &l), 0);
	WANT_EQ(l.link_max, 65000);
	WANT_EQ(l.name_max, 255);
	WANT(l.no_trunc && l.chown_restricted && !l.case_insensitive && l.case_preserving);
	WANT_EQ(vfs_statfs(&loop, s.root, &sv), ESLEEP);
	WANT_EQ(vfs_statfs(&w, s.root, &sv), 0);
	MUST(statvfs(s.dir, &expected) == 0);
	WANT_EQ(sv.f_blocks, expected.f_blocks);
	WANT_EQ(sv.f_files, expected.f_files);
	serve_end(&s);
}

/* The file system's numbers are the kernel's. */
TEST(vfs, numbers)
{
	BOXED(numbers);
}

static void
batches(void)
{
	struct obj *o, *b;
	struct stat st;
	nfs_fh3 fh;

	serve_type(&s, "tmpfs");
	box_file(at(&s, "f"), 10, 0644);
	o = object(&s, "f");
	fh = o->fh;
	struct vfs_ctx loop = on_loop(&s);
	WANT_EQ(vfs_object(&loop, s.ex, &fh, &o->id, &b), 0);
	WANT(o == b);
	put(&s, b);
	WANT_EQ(vfs_getattr(&loop, o, &st), 0);
	WANT_EQ(st.st_size, 10);
	MUST(truncate(at(&s, "f"), 20) == 0);
	WANT_EQ(vfs_getattr(&loop, o, &st), 0);
	WANT_EQ(st.st_size, 10);
	obj_forget(s.files, o);
	WANT_EQ(vfs_object(&loop, s.ex, &fh, &o->id, &b), 0); /* the batch still holds it */
	put(&s, b);
	wake_up(&s);
	WANT_EQ(vfs_getattr(&loop, o, &st), 0);
	WANT_EQ(st.st_size, 20);
	put(&s, o);
	for (int i = 0; i < 3 * VFS_BATCH; i++) {
		char name[16];

		sprintf(name, "n%d", i);
		box_file(at(&s, name), (size_t)i, 0644);
		o = object(&s, name);
		WANT_EQ(vfs_object(&loop, s.ex, &o->fh, &o->id, &b), 0);
		WANT_EQ(vfs_getattr(&loop, b, &st), 0);
		WANT_EQ(st.st_size, i);
		put(&s, o);
		put(&s, b);
	}
	serve_end(&s);
}

/* Within a batch an object is asked once and held; the next batch sees its changes; a batch of more
 * objects than it remembers is answered all the same. */
TEST(vfs, batches)
{
	BOXED(batches);
}

static void
slow_kinds(void)
{
	struct stat st;
	struct obj *child;
	int granted;

	serve_type(&s, "overlay");
	box_file(at(&s, "f"), 1, 0644);
	struct obj *o = object(&s, "f");
	struct vfs_ctx loop = on_loop(&s), w = as_worker(&s);
	WANT_EQ(vfs_getattr(&loop, o, &st), ESLEEP);
	WANT_EQ(vfs_lookup(&loop, s.root, "f", 1, &child, &st), ESLEEP);
	WANT_EQ(vfs_getattr(&w, o, &st), 0);
	WANT_EQ(vfs_access(&loop, o, &st, R_OK, &granted), ESLEEP);
	put(&s, o);
	serve_end(&s);
}

/* On a file system that is not on the list of local ones a loop touches nothing. */
TEST(vfs, never_on_loops)
{
	BOXED(slow_kinds);
}
