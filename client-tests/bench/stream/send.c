/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "stream.h"

#define CLOCK_EVERY (1u << 20) /* bytes between two looks at the clock */

/* The running state of a sender. */
struct sender {
	const struct stream *s;
	int sock, file;
	int pipe[2];
	uint8_t *buf;
	size_t buf_at;
	uint64_t size; /* of the file */
	off_t at;
	struct account a;
};

const char *
mode_name(enum mode m)
{
	static const char *const names[] = {"write", "copy", "sendfile", "splice"};
	return names[m];
}

static int
connect_to(const struct stream *s)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *a;
	if (getaddrinfo(s->address, s->port, &hints, &a))
		return -1;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen)) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(a);
	return fd;
}

static bool
open_file(struct sender *d)
{
	struct stat st;
	d->file = open(d->s->path, O_RDONLY | O_CLOEXEC);
	if (d->file < 0 || fstat(d->file, &st) || !st.st_size)
		return false;
	d->size = (uint64_t)st.st_size;
	if (d->s->mode != MODE_SPLICE)
		return true;
	return !pipe2(d->pipe, O_CLOEXEC) && fcntl(d->pipe[1], F_SETPIPE_SZ, 1 << 20) > 0;
}

static bool
write_all(struct sender *d, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t k = send(d->sock, p, n, MSG_NOSIGNAL);
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

/* The next piece of the buffer; pieces do not wrap. */
static uint8_t *
next_piece(struct sender *d)
{
	if (d->buf_at + d->s->piece > d->s->buffer)
		d->buf_at = 0;
	uint8_t *p = d->buf + d->buf_at;
	d->buf_at += d->s->piece;
	return p;
}

static bool
splice_piece(struct sender *d, size_t n)
{
	while (n) {
		ssize_t k = splice(d->file, &d->at, d->pipe[1], NULL, n, 0);
		if (k <= 0)
			return false;
		n -= (size_t)k;
		for (ssize_t left = k, m; left; left -= m) {
			m = splice(d->pipe[0], NULL, d->sock, NULL, (size_t)left,
				   n ? SPLICE_F_MORE : 0);
			if (m <= 0)
				return false;
		}
	}
	return true;
}

static bool
sendfile_piece(struct sender *d, size_t n)
{
	while (n) {
		ssize_t k = sendfile(d->sock, d->file, &d->at, n);
		if (k <= 0)
			return false;
		n -= (size_t)k;
	}
	return true;
}

/* One piece, the last of a file being shorter. Its bytes, 0 after a failure. */
static size_t
send_piece(struct sender *d)
{
	size_t n = d->s->piece;
	if (d->s->mode == MODE_WRITE)
		return write_all(d, next_piece(d), n) ? n : 0;
	if ((uint64_t)d->at >= d->size)
		d->at = 0;
	if (n > d->size - (uint64_t)d->at)
		n = (size_t)(d->size - (uint64_t)d->at);
	if (d->s->mode == MODE_SENDFILE)
		return sendfile_piece(d, n) ? n : 0;
	if (d->s->mode == MODE_SPLICE)
		return splice_piece(d, n) ? n : 0;
	uint8_t *p = next_piece(d);
	if (pread(d->file, p, n, d->at) != (ssize_t)n || !write_all(d, p, n))
		return 0;
	d->at += (off_t)n;
	return n;
}

static uint64_t
now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int
send_all(struct sender *d)
{
	uint64_t end = now_ns() + (uint64_t)(d->s->seconds * 1e9), look = 0;
	uint64_t limit = d->s->limit ? d->s->limit : UINT64_MAX;
	uint8_t none;
	account_begin(&d->a);
	while (d->a.bytes < limit) {
		size_t n = send_piece(d);
		if (!n)
			return -1;
		d->a.bytes += n;
		d->a.calls++;
		if (d->s->limit || d->a.bytes < look)
			continue;
		look = d->a.bytes + CLOCK_EVERY;
		if (now_ns() >= end)
			break;
	}
	/* all of it has arrived when the receiver hangs up */
	shutdown(d->sock, SHUT_WR);
	if (recv(d->sock, &none, 1, 0))
		return -1;
	account_print(&d->a, d->s);
	return 0;
}

int
stream_send(const struct stream *s)
{
	struct sender d = {.s = s, .file = -1, .pipe = {-1, -1}};
	d.sock = connect_to(s);
	if (d.sock < 0) {
		fprintf(stderr, "stream: %s port %s: %s\n", s->address, s->port, strerror(errno));
		return -1;
	}
	d.buf = aligned_alloc(4096, (s->buffer + 4095) & ~(size_t)4095);
	int rc = -1;
	if (!d.buf)
		fprintf(stderr, "stream: no memory for a buffer of %zu bytes\n", s->buffer);
	else if (memset(d.buf, 0x5a, s->buffer) && s->mode != MODE_WRITE && !open_file(&d))
		fprintf(stderr, "stream: %s: %s\n", s->path, strerror(errno));
	else if ((rc = send_all(&d)) != 0)
		fprintf(stderr, "stream: sending by %s: %s\n", mode_name(s->mode), strerror(errno));
	free(d.buf);
	close(d.sock);
	if (d.file >= 0)
		close(d.file);
	return rc;
}
