/* SPDX-License-Identifier: BSD-2-Clause */
#include "readbox.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct served reads;
int reads_pipe[2];

void
reads_begin(const char *type)
{
	serve_type(&reads, type);
	MUST(pipe2(reads_pipe, O_NONBLOCK | O_CLOEXEC) == 0);
	MUST(fcntl(reads_pipe[1], F_SETPIPE_SZ, MIB) == (int)MIB);
}

uint64_t
reads_counter(enum stat_id id)
{
	return stat_self()->count[id];
}

void
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

int
read_way(struct obj *o, enum way way, uint64_t off, uint32_t count, struct stat *st,
	 struct vfs_data *d)
{
	struct vfs_ctx c = way == LOOP || way == LOOP_COPY ? on_loop(&reads) : as_worker(&reads);

	return vfs_read(&c, o, off, count, way == LOOP_COPY || way == WORKER_COPY,
			way == WORKER || way == WORKER_COPY ? reads_pipe : NULL, st, d);
}

static void
tell(enum way way, uint64_t off, uint32_t count)
{
	static const char *const names[] = {"loop", "loop, copy", "worker", "worker, copy",
					    "worker, no pipe"};

	fprintf(stderr, "\n    (%s, offset %llu, count %u)", names[way], (unsigned long long)off,
		count);
}

void
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

void
chill(const char *name)
{
	int fd = open(at(&reads, name), O_RDONLY);

	MUST(fd >= 0 && fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	close(fd);
}
