/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may READ, and what. */
#include "readbox.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int
try_as(struct obj *o, uid_t uid, gid_t gid)
{
	struct vfs_data d;
	struct stat st;

	reads.cred = box_cred(uid, gid, 0, NULL);
	int error = read_way(o, WORKER_NO_PIPE, 0, 10, &st, &d);
	if (!error)
		buf_give(d.mem, d.cap);
	return error;
}

static void
permission(void)
{
	reads_begin("tmpfs");
	box_file(at(&reads, "f"), 10, 0000);
	MUST(chown(at(&reads, "f"), 1000, 1000) == 0);
	struct obj *o = object(&reads, "f");
	WANT_EQ(try_as(o, 1000, 1000), 0);
	WANT_EQ(try_as(o, 1001, 1000), EACCES);
	WANT_EQ(try_as(o, 0, 0), 0);
	MUST(chmod(at(&reads, "f"), 0010) == 0);
	WANT_EQ(try_as(o, 1001, 1000), 0);
	WANT_EQ(try_as(o, 1001, 1001), EACCES);
	MUST(chmod(at(&reads, "f"), 0020) == 0);
	WANT_EQ(try_as(o, 1001, 1000), EACCES);
	MUST(chmod(at(&reads, "f"), 0440) == 0);
	WANT_EQ(try_as(o, 1001, 1000), 0);
	WANT_EQ(try_as(o, 1001, 1001), EACCES);
	MUST(chmod(at(&reads, "f"), 0001) == 0);
	WANT_EQ(try_as(o, 1001, 1001), 0);
	WANT_EQ(try_as(o, 1001, 1000), EACCES);
	put(&reads, o);
	serve_end(&reads);
}

/* The owner reads whatever the mode, who may execute may read, and nobody else is let in. */
TEST(vread, permission)
{
	BOXED(permission);
}

static void
kinds(void)
{
	struct vfs_data d;
	struct stat st;

	reads_begin("tmpfs");
	MUST(mkfifo(at(&reads, "fifo"), 0666) == 0 && symlink("x", at(&reads, "link")) == 0);
	struct obj *fifo = object(&reads, "fifo"), *link = object(&reads, "link");
	WANT_EQ(read_way(reads.root, WORKER, 0, 10, &st, &d), EISDIR);
	WANT_EQ(read_way(fifo, WORKER, 0, 10, &st, &d), EINVAL);
	WANT_EQ(read_way(link, WORKER, 0, 10, &st, &d), EINVAL);
	put(&reads, fifo);
	put(&reads, link);
	serve_end(&reads);
}

/* Only regular files are read. */
TEST(vread, kinds)
{
	BOXED(kinds);
}
