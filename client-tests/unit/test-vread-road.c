/* SPDX-License-Identifier: BSD-2-Clause */
/* Which way a READ goes: spliced or copied, on the loop or in a worker, and what is read ahead. */
#include "readbox.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void
road(void)
{
	static unsigned char bytes[MIB + 1];
	struct vfs_data d;
	struct stat st;

	reads_begin("ext4");
	box_file(at(&reads, "f"), 200000, 0644);
	struct obj *o = object(&reads, "f");
	reads.vfs.splice_from = 16384;
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), ESLEEP); /* not open yet */
	WANT_EQ(read_way(o, WORKER, 0, 65536, &st, &d), 0);
	WANT(d.pipe[0] == reads_pipe[0] && d.pipe[1] == reads_pipe[1] && !d.mem && d.fd < 0);
	collect(&d, bytes);
	WANT_EQ(read_way(o, LOOP, 100, 65536, &st, &d), 0);
	WANT(d.fd >= 0 && !d.mem && d.off == 100 && d.len == 65536);
	uint64_t small = reads_counter(ST_COPY_SMALL), never = reads_counter(ST_COPY_NEVER);
	WANT_EQ(read_way(o, LOOP, 0, 16383, &st, &d), 0);
	WANT(d.mem && d.fd < 0 && d.len == 16383);
	buf_give(d.mem, d.cap);
	WANT_EQ(reads_counter(ST_COPY_SMALL), small + 1);
	WANT_EQ(read_way(o, LOOP, 0, 16384, &st, &d), 0);
	WANT(d.fd >= 0);
	WANT_EQ(read_way(o, LOOP, 190000, 65536, &st, &d), 0); /* what is left decides */
	WANT(d.mem && d.len == 10000 && d.eof);
	buf_give(d.mem, d.cap);
	reads.vfs.splice_from = UINT32_MAX;
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), 0);
	WANT(d.mem != NULL);
	buf_give(d.mem, d.cap);
	WANT_EQ(reads_counter(ST_COPY_NEVER), never + 1);
	reads.vfs.splice_from = 0;
	WANT_EQ(read_way(o, LOOP, 0, 1, &st, &d), 0);
	WANT(d.fd >= 0);
	obj_refuse_splice(o);
	uint64_t refused = reads_counter(ST_COPY_REFUSED);
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), 0);
	WANT(d.mem != NULL);
	buf_give(d.mem, d.cap);
	WANT_EQ(reads_counter(ST_COPY_REFUSED), refused + 1);
	put(&reads, o);
	serve_end(&reads);
}

/* From the threshold up a READ is spliced, below it copied; -z never and a file that refuses splice
 * are copied; the counters say why. */
TEST(vread, road)
{
	BOXED(road);
}

static void
cold(void)
{
	struct vfs_data d;
	struct stat st;
	int rfd;

	reads_begin("ext4");
	box_file(at(&reads, "f"), 4000000, 0644);
	struct obj *o = object(&reads, "f");
	MUST(obj_reader(reads.files, o, true, &rfd) == 0);
	chill("f");
	uint64_t counted = reads_counter(ST_READ_COLD);
	WANT_EQ(read_way(o, LOOP, 2000000, 65536, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP_COPY, 2000000, 4096, &st, &d), ESLEEP);
	WANT_EQ(reads_counter(ST_READ_COLD), counted + 2);
	wake_up(&reads);
	int fd = open(at(&reads, "f"), O_RDONLY);
	same_as_pread(o, fd, WORKER, 2000000, 65536); /* pread by another descriptor comes after */
	wake_up(&reads);
	same_as_pread(o, fd, LOOP, 2000000, 65536);
	same_as_pread(o, fd, LOOP_COPY, 2000000, 4096);
	__atomic_add_fetch(&o->cold, 1, __ATOMIC_RELAXED);
	WANT_EQ(read_way(o, LOOP, 2000000, 65536, &st, &d), ESLEEP);
	__atomic_sub_fetch(&o->cold, 1, __ATOMIC_RELAXED);
	WANT_EQ(o->cold, 0);
	/* pages missing in the middle, present at both ends */
	same_as_pread(o, fd, WORKER, 0, 262144);
	MUST(posix_fadvise(fd, 65536, 16384, POSIX_FADV_DONTNEED) == 0);
	wake_up(&reads);
	WANT_EQ(read_way(o, LOOP, 0, 262144, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), 0);
	close(fd);
	put(&reads, o);
	serve_end(&reads);
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

	reads_begin("ext4");
	box_file(at(&reads, "f"), 4000000, 0644);
	struct obj *o = object(&reads, "f");
	reads.vfs.splice_from = 0;
	MUST(obj_reader(reads.files, o, true, &rfd) == 0);
	chill("f");
	int fd = open(at(&reads, "f"), O_RDONLY);
	MUST(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
	for (size_t i = 0; i < sizeof warm / sizeof warm[0]; i++)
		MUST(pread(fd, page, P, warm[i] * P) == P);
	wake_up(&reads);
	WANT_EQ(read_way(o, LOOP, 0, P, &st, &d), 0);
	WANT_EQ(read_way(o, LOOP, 900 * P, P, &st, &d), 0);
	WANT_EQ(read_way(o, LOOP, 500 * P, P, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP, 300 * P + 100, 2 * P, &st, &d), 0);
	WANT_EQ(read_way(o, LOOP, 499 * P, 2 * P, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP, 100 * P, 7, &st, &d), 0);
	MUST(pread(fd, page, P, 500 * P) == P);
	wake_up(&reads);
	WANT_EQ(read_way(o, LOOP, 0, P, &st, &d), 0);
	WANT_EQ(read_way(o, LOOP, 500 * P, P, &st, &d), 0);
	close(fd);
	put(&reads, o);
	serve_end(&reads);
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

	reads_begin("ext4");
	box_file(at(&reads, "f"), 1000000, 0644);
	struct obj *o = object(&reads, "f");
	WANT_EQ(read_way(o, WORKER_COPY, 0, 1, &st, &d), 0);
	buf_give(d.mem, d.cap);
	wake_up(&reads);
	WANT_EQ(read_way(o, LOOP, 0, 8192, &st, &d), 0);
	struct vfs_seen *seen = &reads.batch.seen[0];
	WANT(seen->obj == o && seen->warm_from == 0 && seen->warm_to >= 131072);
	seen->warm_to = 65536;
	WANT_EQ(read_way(o, LOOP, 65536, 8192, &st, &d), 0);
	WANT_EQ(seen->warm_from, 65536);
	WANT_EQ(read_way(o, LOOP, 999000, 8192, &st, &d), 0);
	WANT_EQ(seen->warm_to, 1000000);
	put(&reads, o);
	serve_end(&reads);
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
	reads_begin("ext4");
	WANT(!reads.kernel.cachestat);
	box_file(at(&reads, "f"), 1000000, 0644);
	struct obj *o = object(&reads, "f");
	int fd = open(at(&reads, "f"), O_RDONLY);
	same_as_pread(o, fd, WORKER, 0, MIB);
	WANT_EQ(read_way(o, LOOP, 0, 65536, &st, &d), ESLEEP);
	WANT_EQ(read_way(o, LOOP, 0, 65535, &st, &d), 0);
	WANT(d.mem && d.len == 65535);
	buf_give(d.mem, d.cap);
	same_as_pread(o, fd, LOOP, 3, 4097);
	chill("f");
	WANT_EQ(read_way(o, LOOP, 500000, 4096, &st, &d), ESLEEP);
	reads.kernel.nowait = false;
	WANT_EQ(read_way(o, LOOP, 0, 4096, &st, &d), ESLEEP);
	same_as_pread(o, fd, WORKER, 500000, 4096);
	close(fd);
	put(&reads, o);
	serve_end(&reads);
}

/* Without cachestat loops copy small READs that cannot wait, and workers do the rest. */
TEST(vread, without_cachestat)
{
	BOXED(blind);
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

	reads_begin("ext4");
	if (!reads.kernel.cachestat)
		return;
	box_file(at(&reads, "f"), size, 0644);
	struct obj *o = object(&reads, "f");
	MUST(obj_reader(reads.files, o, true, &rfd) == 0);
	chill("f");
	MUST(resident_pages(rfd, 0, size) < 100);
	uint64_t i = 0;
	for (; i < 8; i++) { /* READs that overtake each other */
		MUST(read_way(o, WORKER, (i ^ 1) * step, (uint32_t)step, &st, &d) == 0);
		collect(&d, bytes);
	}
	WANT_EQ(resident_pages(rfd, 8 * step, 10 * step), 2 * step / 4096);
	for (; i < size / step; i++) {
		wake_up(&reads);
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
	put(&reads, o);
	box_file(at(&reads, "g"), size, 0644);
	o = object(&reads, "g");
	MUST(obj_reader(reads.files, o, true, &rfd) == 0);
	chill("g");
	for (i = 0; i < 20; i++) { /* here and there */
		MUST(read_way(o, WORKER, ((i * 37 + 3) % 40) << 20, 8192, &st, &d) == 0);
		collect(&d, bytes);
	}
	WANT(resident_pages(rfd, 0, size) <= 40);
	put(&reads, o);
	serve_end(&reads);
}

/* A sequential reader finds its pages asked for before it comes, also when its READs overtake each
 * other; one that jumps about causes little to be read that it did not ask for. */
TEST(vread, ahead)
{
	BOXED(ahead);
}
