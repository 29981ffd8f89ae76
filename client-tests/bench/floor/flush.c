/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The three ways to put a batch on the wire, each with as few system calls as it can:
 *   hot       heads and data gathered from memory, one sendmsg
 *   sendfile  send(head, MSG_MORE) and sendfile for each reply with data; heads without data
 * between them travel together pipe      head written into a pipe, file pages spliced behind it,
 * one splice to the socket for as much as the pipe holds The socket does not block; where it is
 * full, poll waits. One slow client therefore stops all: good enough for measuring.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "floor.h"

static const uint8_t zero[4];

/* After a failed send: true when it is worth another try. */
static bool
wait_writable(int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLOUT};
	if (errno == EINTR)
		return true;
	return errno == EAGAIN && poll(&p, 1, 30000) == 1 && !(p.revents & (POLLERR | POLLHUP));
}

/* Sends bytes; flags may hold MSG_MORE. */
static bool
send_all(int sock, const uint8_t *p, size_t n, int flags)
{
	while (n) {
		ssize_t k = send(sock, p, n, flags | MSG_NOSIGNAL);
		if (k < 0 && !wait_writable(sock))
			return false;
		if (k > 0) {
			p += k;
			n -= (size_t)k;
		}
	}
	return true;
}

/* hot */

/* Appends to the last iovec where memory goes on, so that small replies make one piece. */
static unsigned
gather(struct iovec *iov, unsigned n, const uint8_t *p, size_t len)
{
	if (!len)
		return n;
	if (n && (const uint8_t *)iov[n - 1].iov_base + iov[n - 1].iov_len == p) {
		iov[n - 1].iov_len += len;
		return n;
	}
	iov[n].iov_base = (void *)(uintptr_t)p;
	iov[n].iov_len = len;
	return n + 1;
}

static bool
send_gathered(int sock, struct iovec *iov, unsigned n)
{
	while (n) {
		struct msghdr m = {.msg_iov = iov, .msg_iovlen = n};
		ssize_t k = sendmsg(sock, &m, MSG_NOSIGNAL);
		if (k < 0 && !wait_writable(sock))
			return false;
		while (n && k >= (ssize_t)iov->iov_len) {
			k -= (ssize_t)iov->iov_len;
			iov++;
			n--;
		}
		if (n && k > 0) {
			iov->iov_base = (uint8_t *)iov->iov_base + k;
			iov->iov_len -= (size_t)k;
		}
	}
	return true;
}

/*
 * Each reply of a batch comes from its own place in the hot buffer (which is taken from its
 * beginning again with the next batch), as any server's would: one place for all would lie in the
 * first-level cache, and the floor would measure that cache.
 */
static bool
flush_hot(const struct batch *b, const struct served *s, int sock)
{
	struct iovec iov[3 * BATCH_CALLS];
	unsigned n = 0;
	size_t at = 0;
	for (unsigned i = 0; i < b->n; i++) {
		const struct answer *a = &b->answer[i];
		n = gather(iov, n, a->head, a->head_len);
		if (at + a->data > READ_MAX)
			at = 0;
		n = gather(iov, n, s->hot + at, a->data);
		at += a->data;
		n = gather(iov, n, zero, pad_of(a->data));
	}
	return send_gathered(sock, iov, n);
}

/* sendfile */

static bool
sendfile_all(int sock, int fd, uint64_t offset, size_t n)
{
	off_t at = (off_t)offset;
	while (n) {
		ssize_t k = sendfile(sock, fd, &at, n);
		if (k == 0) /* the file shrank: the promise cannot be kept */
			return false;
		if (k < 0 && !wait_writable(sock))
			return false;
		if (k > 0)
			n -= (size_t)k;
	}
	return true;
}

/* Heads lie one behind the other in memory: `from` is the first not sent yet. */
static bool
flush_sendfile(const struct batch *b, const struct served *s, int sock)
{
	const uint8_t *from = b->memory;
	for (unsigned i = 0; i < b->n; i++) {
		const struct answer *a = &b->answer[i];
		const uint8_t *to = a->head + a->head_len;
		if (!a->data)
			continue;
		if (!send_all(sock, from, (size_t)(to - from), MSG_MORE) ||
		    !sendfile_all(sock, s->fd, a->offset, a->data) ||
		    !send_all(sock, zero, pad_of(a->data), 0))
			return false;
		from = to;
	}
	return send_all(sock, from, (size_t)(b->memory + b->used - from), 0);
}

/* pipe */

static bool
drain_pipe(const struct served *s, int sock, size_t *held, bool more)
{
	while (*held) {
		ssize_t k = splice(s->pipe[0], NULL, sock, NULL, *held,
				   SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0));
		if (k < 0 && !wait_writable(sock))
			return false;
		if (k > 0)
			*held -= (size_t)k;
	}
	return true;
}

static bool
bytes_to_pipe(const struct served *s, int sock, const uint8_t *p, size_t n, size_t *held)
{
	while (n) {
		ssize_t k = write(s->pipe[1], p, n);
		if (k < 0 && (errno != EAGAIN || !*held || !drain_pipe(s, sock, held, true)))
			return false;
		if (k > 0) {
			p += k;
			n -= (size_t)k;
			*held += (size_t)k;
		}
	}
	return true;
}

static bool
file_to_pipe(const struct served *s, int sock, const struct answer *a, size_t *held)
{
	off_t at = (off_t)a->offset;
	size_t n = a->data;
	while (n) {
		ssize_t k = splice(s->fd, &at, s->pipe[1], NULL, n, SPLICE_F_NONBLOCK);
		if (k == 0)
			return false;
		if (k < 0 && (errno != EAGAIN || !*held || !drain_pipe(s, sock, held, true)))
			return false;
		if (k > 0) {
			n -= (size_t)k;
			*held += (size_t)k;
		}
	}
	return true;
}

/* Like flush_sendfile, but into the pipe; it is emptied when full and at the end. */
static bool
flush_pipe(const struct batch *b, const struct served *s, int sock)
{
	const uint8_t *from = b->memory;
	size_t held = 0;
	for (unsigned i = 0; i < b->n; i++) {
		const struct answer *a = &b->answer[i];
		const uint8_t *to = a->head + a->head_len;
		if (!a->data)
			continue;
		if (!bytes_to_pipe(s, sock, from, (size_t)(to - from), &held) ||
		    !file_to_pipe(s, sock, a, &held) ||
		    !bytes_to_pipe(s, sock, zero, pad_of(a->data), &held))
			return false;
		from = to;
	}
	size_t rest = (size_t)(b->memory + b->used - from);
	if (from == b->memory) /* nothing but heads */
		return send_all(sock, from, rest, 0);
	return bytes_to_pipe(s, sock, from, rest, &held) && drain_pipe(s, sock, &held, false);
}

bool
pipe_renew(struct served *s)
{
	if (s->pipe[0] >= 0)
		close(s->pipe[0]);
	if (s->pipe[1] >= 0)
		close(s->pipe[1]);
	s->pipe[0] = s->pipe[1] = -1;
	if (pipe2(s->pipe, O_CLOEXEC | O_NONBLOCK))
		return false;
	return fcntl(s->pipe[1], F_SETPIPE_SZ, 1 << 20) >= 0;
}

bool
flush_batch(struct batch *b, struct served *s, int sock)
{
	bool good = s->mode == MODE_HOT	       ? flush_hot(b, s, sock)
		    : s->mode == MODE_SENDFILE ? flush_sendfile(b, s, sock)
					       : flush_pipe(b, s, sock);
	if (!good && s->mode == MODE_PIPE)
		pipe_renew(s); /* it may hold what was meant for the lost peer */
	b->n = 0;
	b->bytes = 0;
	b->used = 0;
	return good;
}
