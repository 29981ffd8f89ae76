/* SPDX-License-Identifier: BSD-2-Clause */
/* What a READ gives: bytes, count and eof. Which way it gives them: test-vread-road.c; to whom:
 * test-vread-access.c. */
#include "readbox.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one READ against pread ---- */

static const uint32_t counts[] = {0,	1,     3,	4,   512,      4096,
				  4097, 65536, MIB - 1, MIB, 4u << 20, UINT32_MAX};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static void
matrix(const char *name, bool loops)
{
	struct obj *o = object(&reads, name);
	int fd = open(at(&reads, name), O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);
	uint64_t top = (uint64_t)size;
	uint64_t offsets[] = {0,	 1,	  511, 512,	4095,	 4096,		 4097,
			      top - 10,	 top - 1, top, top + 1, top / 2, INT64_MAX - 16, INT64_MAX,
			      UINT64_MAX};

	same_as_pread(o, fd, WORKER, 0, MIB); /* opens, and makes pages of what is there */
	for (enum way w = loops ? LOOP : WORKER; w < WAYS; w++)
		for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
			for (int c = 0; c < COUNTS && box_failed < 5; c++) {
				wake_up(&reads);
				same_as_pread(o, fd, w, offsets[i], counts[c]);
			}
	close(fd);
	put(&reads, o);
}

static void
matrix_on(const char *type, bool loops)
{
	static const int sizes[] = {0, 1, 2,	3,    4,    5,	    6,	    7,
				    8, 9, 4095, 4096, 4097, 300001, 3000000};
	char name[32];

	reads_begin(type);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		sprintf(name, "f%d", sizes[i]);
		box_file(at(&reads, name), (size_t)sizes[i], 0644);
		matrix(name, loops);
	}
	box_file(at(&reads, "sparse"), 5000, 0644);
	MUST(truncate(at(&reads, "sparse"), 900000) == 0);
	box_command("dd if=%s of=%s bs=1000 seek=500 count=3 conv=notrunc status=none",
		    at(&reads, "f300001"), at(&reads, "sparse"));
	/* holes need no page, but only tmpfs knows that: elsewhere the worker makes them */
	struct obj *o = object(&reads, "sparse");
	int fd = open(at(&reads, "sparse"), O_RDONLY);
	same_as_pread(o, fd, WORKER, 0, MIB);
	close(fd);
	put(&reads, o);
	matrix("sparse", loops);
	serve_end(&reads);
}

static void
matrix_tmpfs(void)
{
	matrix_on("tmpfs", true);
}

static void
matrix_ext4(void)
{
	matrix_on("ext4", true);
}

static void
matrix_xfs(void)
{
	matrix_on("xfs", true);
}

static void
matrix_btrfs(void)
{
	matrix_on("btrfs", true);
}

static void
matrix_overlay(void)
{
	matrix_on("overlay", false);
}

/* Bytes, count and eof of a READ are those of pread and fstat, for every kind of file system, every
 * road (spliced, copied, a worker's pipe), sizes around words and pages, holes, any offset, any
 * count. */
TEST(vread, matrix_tmpfs)
{
	BOXED(matrix_tmpfs);
}
TEST(vread, matrix_ext4)
{
	BOXED(matrix_ext4);
}
TEST(vread, matrix_xfs)
{
	BOXED(matrix_xfs);
}
TEST(vread, matrix_btrfs)
{
	BOXED(matrix_btrfs);
}
TEST(vread, matrix_overlay)
{
	BOXED(matrix_overlay);
}

static void
huge_pages(void)
{
	reads_begin("tmpfs");
	box_command("mount -o remount,huge=always %s 2>/dev/null || :", reads.dir);
	box_file(at(&reads, "big"), 6000000, 0644);
	MUST(truncate(at(&reads, "big"), 9000000) == 0);
	matrix("big", true);
	serve_end(&reads);
}

/* The same on huge pages, where the kernel has them. */
TEST(vread, matrix_huge_pages)
{
	BOXED(huge_pages);
}

/* ---- what changes under a READ ---- */

static void
shrunk(void)
{
	static unsigned char bytes[MIB];
	struct vfs_data d;
	struct stat st;

	reads_begin("ext4");
	box_file(at(&reads, "f"), 500000, 0644);
	struct obj *o = object(&reads, "f");
	struct vfs_ctx c = on_loop(&reads);
	c.may_sleep = true; /* a worker whose attributes are those of the batch, that is, old */
	WANT_EQ(vfs_getattr(&c, o, &st), 0);
	MUST(truncate(at(&reads, "f"), 4096 + 7) == 0);
	WANT_EQ(vfs_read(&c, o, 0, 100000, false, reads_pipe, &st, &d), 0);
	WANT_EQ(d.len, 4096 + 7);
	WANT(d.eof && d.pipe[0] >= 0);
	collect(&d, bytes);
	WANT_EQ(vfs_read(&c, o, 4096, 100000, true, reads_pipe, &st, &d), 0);
	WANT_EQ(d.len, 7);
	WANT(d.eof && d.mem);
	WANT_EQ(bytes[4096 + 6], box_pattern(4096 + 6));
	collect(&d, bytes);
	for (int copy = 0; copy < 2; copy++) {
		WANT_EQ(vfs_read(&c, o, 100000, 100000, copy, reads_pipe, &st, &d), 0);
		WANT(d.len == 0 && d.eof && !d.mem && d.pipe[0] < 0 && d.fd < 0);
	}
	c.may_sleep = false;
	WANT_EQ(vfs_read(&c, o, 0, 100000, true, NULL, &st, &d), ESLEEP);
	put(&reads, o);
	serve_end(&reads);
}

/* When the file has shrunk since its attributes were taken, count is what is there and eof is true.
 */
TEST(vread, shrunk)
{
	BOXED(shrunk);
}

static void
grown(void)
{
	struct vfs_data d;
	struct stat st;

	reads_begin("ext4");
	box_file(at(&reads, "f"), 1000, 0644);
	struct obj *o = object(&reads, "f");
	struct vfs_ctx c = on_loop(&reads);
	c.may_sleep = true;
	WANT_EQ(vfs_getattr(&c, o, &st), 0);
	box_file(at(&reads, "f"), 5000, 0644);
	WANT_EQ(vfs_read(&c, o, 0, 100000, true, NULL, &st, &d), 0);
	WANT_EQ(d.len, 1000);
	WANT(d.eof);
	buf_give(d.mem, d.cap);
	put(&reads, o);
	serve_end(&reads);
}

/* When it has grown, the reply is that of the size that its attributes tell. */
TEST(vread, grown)
{
	BOXED(grown);
}

/* ---- files that lie ---- */

static void
whole(const char *name)
{
	static char expected[65536], bytes[65536 + 1];
	struct obj *o = object(&reads, name);
	int fd = open(at(&reads, name), O_RDONLY);
	size_t n = 0, m = 0;
	ssize_t r;
	bool eof = false;

	while ((r = read(fd, expected + n, sizeof expected - n)) > 0)
		n += (size_t)r;
	close(fd);
	for (int i = 0; i < 10000 && !eof && m < sizeof bytes - 100; i++) {
		struct vfs_data d;
		struct stat st;

		MUST(read_way(o, i % 2 ? WORKER : WORKER_NO_PIPE, m, 100, &st, &d) == 0);
		WANT(d.len > 0 || d.eof);
		eof = d.eof;
		collect(&d, (unsigned char *)bytes + m);
		m += d.len;
	}
	WANT(eof);
	WANT_EQ(m, n);
	WANT(memcmp(expected, bytes, n) == 0);
	put(&reads, o);
}

static void
liars(void)
{
	strcpy(reads.dir, "/proc");
	serve(&reads, reads.dir, "fsid=7", 0);
	MUST(pipe2(reads_pipe, O_NONBLOCK | O_CLOEXEC) == 0);
	whole("version");
	whole("filesystems");
	whole("sys/kernel/ostype");
	if (access("/proc/config.gz", R_OK) == 0) {
		uint64_t refused = reads_counter(ST_COPY_REFUSED);

		whole("config.gz"); /* has a size and does not know splice */
		WANT(reads_counter(ST_COPY_REFUSED) > refused);
	}
	serve_end(&reads);
	strcpy(reads.dir, "/sys");
	serve(&reads, reads.dir, "fsid=8", 0);
	whole("kernel/mm/transparent_hugepage/enabled");
	serve_end(&reads);
}

/* Files of procfs (size 0) and sysfs (size 4096) are read to their real end, whether or not they
 * know splice. */
TEST(vread, liars)
{
	BOXED(liars);
}
