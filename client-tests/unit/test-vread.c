/* SPDX-License-Identifier: BSD-2-Clause */
#include "buf.h"
#include "check.h"
#include "served.h"
#include "stat.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1u << 20)

static struct served s;
static int pipe_fd[2];

static void
begin(const char *type)
{
	serve_type(&s, type);
	MUST(pipe2(pipe_fd, O_NONBLOCK | O_CLOEXEC) == 0);
	MUST(fcntl(pipe_fd[1], F_SETPIPE_SZ, MIB) == (int)MIB);
}

static uint64_t
counter(enum stat_id id)
{
	return stat_self()->count[id];
}

/* ---- one READ against pread ---- */

/* Takes the bytes out of what vfs_read gave, as a sender would. */
static void
collect(struct vfs_data *d, unsigned char *to)
{
	int p[2];
	off_t off = d->off;

	if (d->pipe[0] >= 0) {
		uint32_t n = d->len - d->tail;

		WANT(d->fd < 0 && (d->tail > 0) == (d->mem != NULL));
		MUST(read(d->pipe[0], to, n) == (ssize_t)n);
		WANT(read(d->pipe[0], to + n, 1) == -1 && errno == EAGAIN);
		memcpy(to + n, d->mem ? d->mem : "", d->tail);
		buf_give(d->mem, d->cap);
	} else if (d->mem) {
		WANT(d->fd < 0 && d->tail == 0);
		memcpy(to, d->mem, d->len);
		buf_give(d->mem, d->cap);
	} else if (d->fd >= 0) {
		MUST(pipe(p) == 0);
		for (size_t n = 0; n < d->len;) {
			ssize_t r = splice(d->fd, &off, p[1], NULL, d->len - n, SPLICE_F_NONBLOCK);

			MUST(r > 0 && read(p[0], to + n, (size_t)r) == r);
			n += (size_t)r;
		}
		close(p[0]);
		close(p[1]);
	} else {
		WANT_EQ(d->len, 0);
	}
}

enum way { LOOP, LOOP_COPY, WORKER, WORKER_COPY, WORKER_NO_PIPE, WAYS };

static int
read_way(struct obj *o, enum way way, uint64_t off, uint32_t count, struct stat *st,
	 struct vfs_data *d)
{
	struct vfs_ctx c = way == LOOP || way == LOOP_COPY ? on_loop(&s) : as_worker(&s);

	return vfs_read(&c, o, off, count, way == LOOP_COPY || way == WORKER_COPY,
			way == WORKER || way == WORKER_COPY ? pipe_fd : NULL, st, d);
}

static void
tell(enum way way, uint64_t off, uint32_t count)
{
	static const char *const names[] = {"loop", "loop, copy", "worker", "worker, copy",
					    "worker, no pipe"};

	fprintf(stderr, "\n    (%s, offset %llu, count %u)", names[way], (unsigned long long)off,
		count);
}

/* The reply of one READ is what pread says, as long, too, also when it touches a page more than a
 * pipe has room for. */
static void
same_as_pread(struct obj *o, int fd, enum way way, uint64_t off, uint32_t count)
{
	static unsigned char expected[MIB], bytes[MIB + 1];
	int before = box_failed;
	uint64_t n = count < MIB ? count : MIB, size;
	struct vfs_data d;
	struct stat st;
	int error = read_way(o, way, off, count, &st, &d);

	size = (uint64_t)st.st_size;
	n = off >= size ? 0 : n < size - off ? n : size - off;
	WANT_EQ(error, 0);
	if (error) {
		tell(way, off, count);
		return;
	}
	WANT_EQ(d.len, n);
	WANT_EQ(d.tail, way == WORKER && off % 4096 + n > MIB ? off % 4096 + n - MIB : 0);
	WANT_EQ(d.eof, off + d.len >= size);
	collect(&d, bytes);
	if (n) {
		WANT(pread(fd, expected, n, (off_t)off) == (ssize_t)n);
		WANT(memcmp(expected, bytes, d.len) == 0);
	}
	if (box_failed != before)
		tell(way, off, count);
}

static const uint32_t counts[] = {0,	1,     3,	4,   512,      4096,
				  4097, 65536, MIB - 1, MIB, 4u << 20, UINT32_MAX};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static void
matrix(const char *name, bool loops)
{
	struct obj *o = object(&s, name);
	int fd = open(at(&s, name), O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);
	uint64_t top = (uint64_t)size;
	uint64_t offsets[] = {0,	 1,	  511, 512,	4095,	 4096,		 4097,
			      top - 10,	 top - 1, top, top + 1, top / 2, INT64_MAX - 16, INT64_MAX,
			      UINT64_MAX};

	same_as_pread(o, fd, WORKER, 0, MIB); /* opens, and makes pages of what is there */
	for (enum way w = loops ? LOOP : WORKER; w < WAYS; w++)
		for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
			for (int c = 0; c < COUNTS && box_failed < 5; c++) {
				wake_up(&s);
				same_as_pread(o, fd, w, offsets[i], counts[c]);
			}
	close(fd);
	put(&s, o);
}

static void
matrix_on(const char *type, bool loops)
{
	static const int sizes[] = {0, 1, 2,	3,    4,    5,	    6,	    7,
				    8, 9, 4095, 4096, 4097, 300001, 3000000};
	char name[32];

	begin(type);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		sprintf(name, "f%d", sizes[i]);
		box_file(at(&s, name), (size_t)sizes[i], 0644);
		matrix(name, loops);
	}
	box_file(at(&s, "sparse"), 5000, 0644);
	MUST(truncate(at(&s, "sparse"), 900000) == 0);
	box_command("dd if=%s of=%s bs=1000 seek=500 count=3 conv=notrunc status=none",
		    at(&s, "f300001"), at(&s, "sparse"));
	/* holes need no page, but only tmpfs knows that: elsewhere the worker makes them */
	struct obj *o = object(&s, "sparse");
	int fd = open(at(&s, "sparse"), O_RDONLY);
	same_as_pread(o, fd, WORKER, 0, MIB);
	close(fd);
	put(&s, o);
	matrix("sparse", loops);
	serve_end(&s);
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
	begin("tmpfs");
	box_command("mount -o remount,huge=always %s 2>/dev/null || :", s.dir);
	box_file(at(&s, "big"), 6000000, 0644);
	MUST(truncate(at(&s, "big"), 9000000) == 0);
	matrix("big", true);
	serve_end(&s);
}

/* The same on huge pages, where the kernel has them. */
TEST(vread, matrix_huge_pages)
{
	BOXED(huge_pages);
}

/* ---- which road ---- */

static void
road(void)
{
	static unsigned char bytes[MIB + 1];
	struct vfs_data d;
	struct stat st;

	begin("ext4");
	box_file(at(&s, "f"), 200000, 0644);
	struct obj *o = object(&s, "f");
	s.vfs.splice_from = 16384;
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), ESLEEP); /* not open yet */
	WANT_EQ(read_way(o, WORKER, 0, 65536, &st, &d), 0);
	WANT(d.pipe[0] == pipe_fd[0] && d.pipe[1] == pipe_fd[1] && !d.mem && d.fd < 0);
	collect(&d, bytes);
	WANT_EQ(read_way(o, LOOP, 100, 65536, &st, &d), 0);
	WANT(d.fd >= 0 && !d.mem && d.off == 100 && d.len == 65536);
	uint64_t small = counter(ST_COPY_SMALL), never = counter(ST_COPY_NEVER);
	WANT_EQ(read_way(o, LOOP, 0, 16383, &st, &d), 0);
	WANT(d.mem && d.fd < 0 && d.len == 16383);
	buf_give(d.mem, d.cap);
	WANT_EQ(counter(ST_COPY_SMALL), small + 1);
	WANT_EQ(read_way(o, LOOP, 0, 16384, &st, &d), 0);
	WANT(d.fd >= 0);
	WANT_EQ(read_way(o, LOOP, 190000, 65536, &st, &d), 0); /* what is left decides */
	WANT(d.mem && d.len == 10000 && d.eof);
	buf_give(d.mem, d.cap);
	s.vfs.splice_from = UINT32_MAX;
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), 0);
	WANT(d.mem != NULL);
	buf_give(d.mem, d.cap);
	WANT_EQ(counter(ST_COPY_NEVER), never + 1);
	s.vfs.splice_from = 0;
	WANT_EQ(read_way(o, LOOP, 0, 1, &st, &d), 0);
	WANT(d.fd >= 0);
	obj_refuse_splice(o);
	uint64_t refused = counter(ST_COPY_REFUSED);
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), 0);
	WANT(d.mem != NULL);
	buf_give(d.mem, d.cap);
	WANT_EQ(counter(ST_COPY_REFUSED), refused + 1);
	put(&s, o);
	serve_end(&s);
}

/* From the threshold up a READ is spliced, below it copied; -z never and a file that refuses splice
 * are copied; the counters say why. */
TEST(vread, road)
{
	BOXED(road);
}

/* Drops a file's pages. */
static void
chill(const char *name)
{
	int fd = open(at(&s, name), O_RDONLY);

	MUST(fd >= 0 && fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	close(fd);
}

static void
cold(void)
{
	struct vfs_data d;
	struct stat st;
	int rfd;

	begin("ext4");
	box_file(at(&s, "f"), 4000000, 0644);
	struct obj *o = object(&s, "f");
	MUST(obj_reader(s.files, o, true, &rfd) == 0);
	chill("f");
	uint64_t counted = counter(ST_READ_COLD);
	WANT_EQ(read_way(o, LOOP, 2000000, 65536, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP_COPY, 2000000, 4096, &st, &d), ESLEEP);
	WANT_EQ(counter(ST_READ_COLD), counted + 2);
	wake_up(&s);
	int fd = open(at(&s, "f"), O_RDONLY);
	same_as_pread(o, fd, WORKER, 2000000, 65536); /* pread by another descriptor comes after */
	wake_up(&s);
	same_as_pread(o, fd, LOOP, 2000000, 65536);
	same_as_pread(o, fd, LOOP_COPY, 2000000, 4096);
	__atomic_add_fetch(&o->cold, 1, __ATOMIC_RELAXED);
	WANT_EQ(read_way(o, LOOP, 2000000, 65536, &st, &d), ESLEEP);
	__atomic_sub_fetch(&o->cold, 1, __ATOMIC_RELAXED);
	WANT_EQ(o->cold, 0);
	/* pages missing in the middle, present at both ends */
	same_as_pread(o, fd, WORKER, 0, 262144);
	MUST(posix_fadvise(fd, 65536, 16384, POSIX_FADV_DONTNEED) == 0);
	wake_up(&s);
	WANT_EQ(read_way(o, LOOP, 0, 262144, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), 0);
	close(fd);
	put(&s, o);
	serve_end(&s);
}

/* What is not resident goes to a worker, whose pipe makes it resident; while a worker reads an
 * object no loop trusts residency of it. */
TEST(vread, cold)
{
	BOXED(cold);
}

static void
scattered(void)
{
	enum { P = 4096 };
	static const off_t warm[] = {0, 100, 300, 301, 302, 499, 900};
	char page[P];
	struct vfs_data d;
	struct stat st;
	int rfd;

	begin("ext4");
	box_file(at(&s, "f"), 4000000, 0644);
	struct obj *o = object(&s, "f");
	s.vfs.splice_from = 0;
	MUST(obj_reader(s.files, o, true, &rfd) == 0);
	chill("f");
	int fd = open(at(&s, "f"), O_RDONLY);
	MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
	for (size_t i = 0; i < sizeof warm / sizeof warm[0]; i++)
		MUST(pread(fd, page, P, warm[i] * P) == P);
	wake_up(&s);
	WANT_EQ(read_way(o, LOOP, 0, P, &st, &d), 0);
	WANT_EQ(read_way(o, LOOP, 900 * P, P, &st, &d), 0);
	WANT_EQ(read_way(o, LOOP, 500 * P, P, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP, 300 * P + 100, 2 * P, &st, &d), 0);
	WANT_EQ(read_way(o, LOOP, 499 * P, 2 * P, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP, 100 * P, 7, &st, &d), 0);
	MUST(pread(fd, page, P, 500 * P) == P);
	wake_up(&s);
	WANT_EQ(read_way(o, LOOP, 0, P, &st, &d), 0);
	WANT_EQ(read_way(o, LOOP, 500 * P, P, &st, &d), 0);
	close(fd);
	put(&s, o);
	serve_end(&s);
}

/* READs here and there in one batch: each is answered if its own pages are in memory, whatever is
 * missing elsewhere. */
TEST(vread, scattered)
{
	BOXED(scattered);
}

static void
probes(void)
{
	struct vfs_data d;
	struct stat st;

	begin("ext4");
	box_file(at(&s, "f"), 1000000, 0644);
	struct obj *o = object(&s, "f");
	WANT_EQ(read_way(o, WORKER_COPY, 0, 1, &st, &d), 0);
	buf_give(d.mem, d.cap);
	wake_up(&s);
	WANT_EQ(read_way(o, LOOP, 0, 8192, &st, &d), 0);
	struct vfs_seen *seen = &s.batch.seen[0];
	WANT(seen->obj == o && seen->warm_from == 0 && seen->warm_to >= 131072);
	seen->warm_to = 65536;
	WANT_EQ(read_way(o, LOOP, 65536, 8192, &st, &d), 0);
	WANT_EQ(seen->warm_from, 65536);
	WANT_EQ(read_way(o, LOOP, 999000, 8192, &st, &d), 0);
	WANT_EQ(seen->warm_to, 1000000);
	put(&s, o);
	serve_end(&s);
}

/* One probe answers for the READs that follow it in a batch, never beyond the end of the file. */
TEST(vread, probes)
{
	BOXED(probes);
}

static void
blind(void)
{
	struct vfs_data d;
	struct stat st;

	setenv("SPLICED_WITHOUT", "cachestat", 1);
	begin("ext4");
	WANT(!s.kernel.cachestat);
	box_file(at(&s, "f"), 1000000, 0644);
	struct obj *o = object(&s, "f");
	int fd = open(at(&s, "f"), O_RDONLY);
	same_as_pread(o, fd, WORKER, 0, MIB);
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP, 0, 65535, &st, &d), 0);
	WANT(d.mem && d.len == 65535);
	buf_give(d.mem, d.cap);
	same_as_pread(o, fd, LOOP, 3, 4097);
	chill("f");
	WANT_EQ(read_way(o, LOOP, 500000, 4096, &st, &d), ESLEEP);
	s.kernel.nowait = false;
	WANT_EQ(read_way(o, LOOP, 0, 4096, &st, &d), ESLEEP);
	same_as_pread(o, fd, WORKER, 500000, 4096);
	close(fd);
	put(&s, o);
	serve_end(&s);
}

/* Without cachestat loops copy small READs that cannot wait, and workers do the rest. */
TEST(vread, without_cachestat)
{
	BOXED(blind);
}

/* ---- permission ---- */

static int
try_as(struct obj *o, uid_t uid, gid_t gid)
{
	struct vfs_data d;
	struct stat st;

	s.cred = box_cred(uid, gid, 0, NULL);
	int error = read_way(o, WORKER_NO_PIPE, 0, 10, &st, &d);
	if (!error)
		buf_give(d.mem, d.cap);
	return error;
}

static void
permission(void)
{
	begin("tmpfs");
	box_file(at(&s, "f"), 10, 0000);
	MUST(chown(at(&s, "f"), 1000, 1000) == 0);
	struct obj *o = object(&s, "f");
	WANT_EQ(try_as(o, 1000, 1000), 0);
	WANT_EQ(try_as(o, 1001, 1000), EACCES);
	WANT_EQ(try_as(o, 0, 0), 0);
	MUST(chmod(at(&s, "f"), 0010) == 0);
	WANT_EQ(try_as(o, 1001, 1000), 0);
	WANT_EQ(try_as(o, 1001, 1001), EACCES);
	MUST(chmod(at(&s, "f"), 0020) == 0);
	WANT_EQ(try_as(o, 1001, 1000), EACCES);
	MUST(chmod(at(&s, "f"), 0440) == 0);
	WANT_EQ(try_as(o, 1001, 1000), 0);
	WANT_EQ(try_as(o, 1001, 1001), EACCES);
	MUST(chmod(at(&s, "f"), 0001) == 0);
	WANT_EQ(try_as(o, 1001, 1001), 0);
	WANT_EQ(try_as(o, 1001, 1000), EACCES);
	put(&s, o);
	serve_end(&s);
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

	begin("tmpfs");
	MUST(mkfifo(at(&s, "fifo"), 0666) == 0 && symlink("x", at(&s, "link")) == 0);
	struct obj *fifo = object(&s, "fifo"), *link = object(&s, "link");
	WANT_EQ(read_way(s.root, WORKER, 0, 10, &st, &d), EISDIR);
	WANT_EQ(read_way(fifo, WORKER, 0, 10, &st, &d), EINVAL);
	WANT_EQ(read_way(link, WORKER, 0, 10, &st, &d), EINVAL);
	put(&s, fifo);
	put(&s, link);
	serve_end(&s);
}

/* Only regular files are read. */
TEST(vread, kinds)
{
	BOXED(kinds);
}

/* ---- what changes under a READ ---- */

static void
shrunk(void)
{
	static unsigned char bytes[MIB];
	struct vfs_data d;
	struct stat st;

	begin("ext4");
	box_file(at(&s, "f"), 500000, 0644);
	struct obj *o = object(&s, "f");
	struct vfs_ctx c = on_loop(&s);
	c.may_sleep = true; /* a worker whose attributes are those of the batch, that is, old */
	WANT_EQ(vfs_getattr(&c, o, &st), 0);
	MUST(truncate(at(&s, "f"), 4096 + 7) == 0);
	WANT_EQ(vfs_read(&c, o, 0, 100000, false, pipe_fd, &st, &d), 0);
	WANT_EQ(d.len, 4096 + 7);
	WANT(d.eof && d.pipe[0] >= 0);
	collect(&d, bytes);
	WANT_EQ(vfs_read(&c, o, 4096, 100000, true, pipe_fd, &st, &d), 0);
	WANT_EQ(d.len, 7);
	WANT(d.eof && d.mem);
	WANT_EQ(bytes[4096 + 6], box_pattern(4096 + 6));
	collect(&d, bytes);
	for (int copy = 0; copy < 2; copy++) {
		WANT_EQ(vfs_read(&c, o, 100000, 100000, copy, pipe_fd, &st, &d), 0);
		WANT(d.len == 0 && d.eof && !d.mem && d.pipe[0] < 0 && d.fd < 0);
	}
	c.may_sleep = false;
	WANT_EQ(vfs_read(&c, o, 0, 100000, true, NULL, &st, &d), ESLEEP);
	put(&s, o);
	serve_end(&s);
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

	begin("ext4");
	box_file(at(&s, "f"), 1000, 0644);
	struct obj *o = object(&s, "f");
	struct vfs_ctx c = on_loop(&s);
	c.may_sleep = true;
	WANT_EQ(vfs_getattr(&c, o, &st), 0);
	box_file(at(&s, "f"), 5000, 0644);
	WANT_EQ(vfs_read(&c, o, 0, 100000, true, NULL, &st, &d), 0);
	WANT_EQ(d.len, 1000);
	WANT(d.eof);
	buf_give(d.mem, d.cap);
	put(&s, o);
	serve_end(&s);
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
	struct obj *o = object(&s, name);
	int fd = open(at(&s, name), O_RDONLY);
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
	put(&s, o);
}

static void
liars(void)
{
	strcpy(s.dir, "/proc");
	serve(&s, s.dir, "fsid=7", 0);
	MUST(pipe2(pipe_fd, O_NONBLOCK | O_CLOEXEC) == 0);
	whole("version");
	whole("filesystems");
	whole("sys/kernel/ostype");
	if (access("/proc/config.gz", R_OK) == 0) {
		uint64_t refused = counter(ST_COPY_REFUSED);

		whole("config.gz"); /* has a size and does not know splice */
		WANT(counter(ST_COPY_REFUSED) > refused);
	}
	serve_end(&s);
	strcpy(s.dir, "/sys");
	serve(&s, s.dir, "fsid=8", 0);
	whole("kernel/mm/transparent_hugepage/enabled");
	serve_end(&s);
}

/* Files of procfs (size 0) and sysfs (size 4096) are read to their real end, whether or not they
 * know splice. */
TEST(vread, liars)
{
	BOXED(liars);
}

/* ---- readahead ---- */

static uint64_t
resident_pages(int fd, uint64_t from, uint64_t to)
{
	struct k_cachestat cs;

	MUST(k_cachestat(fd, from, to - from, &cs) == 0);
	return cs.cached;
}

static void
ahead(void)
{
	static unsigned char bytes[MIB + 1];
	const uint64_t step = 65536;
	struct vfs_data d;
	struct stat st;
	int rfd, slept = 0;
	uint64_t size = 40u << 20, missing = 0;

	begin("ext4");
	if (!s.kernel.cachestat)
		return;
	box_file(at(&s, "f"), size, 0644);
	struct obj *o = object(&s, "f");
	MUST(obj_reader(s.files, o, true, &rfd) == 0);
	chill("f");
	MUST(resident_pages(rfd, 0, size) < 100);
	uint64_t i = 0;
	for (; i < 8; i++) { /* READs that overtake each other */
		MUST(read_way(o, WORKER, (i ^ 1) * step, (uint32_t)step, &st, &d) == 0);
		collect(&d, bytes);
	}
	WANT_EQ(resident_pages(rfd, 8 * step, 10 * step), 2 * step / 4096);
	for (; i < size / step; i++) {
		wake_up(&s);
		missing += step / 4096 - resident_pages(rfd, i * step, (i + 1) * step);
		int error = read_way(o, LOOP, i * step, (uint32_t)step, &st, &d);

		if (error == ESLEEP) {
			slept++;
			MUST(read_way(o, WORKER, i * step, (uint32_t)step, &st, &d) == 0);
			collect(&d, bytes);
		}
	}
	WANT(slept > 3);     /* or else nobody would have read on */
	WANT(missing < 200); /* others may drop caches meanwhile */
	put(&s, o);
	box_file(at(&s, "g"), size, 0644);
	o = object(&s, "g");
	MUST(obj_reader(s.files, o, true, &rfd) == 0);
	chill("g");
	for (i = 0; i < 20; i++) { /* here and there */
		MUST(read_way(o, WORKER, ((i * 37 + 3) % 40) << 20, 8192, &st, &d) == 0);
		collect(&d, bytes);
	}
	WANT(resident_pages(rfd, 0, size) <= 40);
	put(&s, o);
	serve_end(&s);
}

/* A sequential reader finds its pages asked for before it comes, also when its READs overtake each
 * other; one that jumps about causes little to be read that it did not ask for. */
TEST(vread, ahead)
{
	BOXED(ahead);
}
