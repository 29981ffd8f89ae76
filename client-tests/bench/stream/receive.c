/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stream.h"

#define RECV_BUF (256u << 10)

static int
listen_on(const struct stream *s)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *a;
	int one = 1;
	if (getaddrinfo(s->address, s->port, &hints, &a))
		return -1;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 16)) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(a);
	return fd;
}

/* Time counts from the first byte. */
static void
take_all(int fd, uint8_t *buf)
{
	struct account a;
	ssize_t n = recv(fd, buf, RECV_BUF, 0);
	account_begin(&a);
	for (; n > 0; n = recv(fd, buf, RECV_BUF, 0)) {
		a.bytes += (uint64_t)n;
		a.calls++;
	}
	account_print(&a, NULL);
}

int
stream_receive(const struct stream *s)
{
	uint8_t *buf = malloc(RECV_BUF);
	int listener = listen_on(s);
	if (!buf || listener < 0) {
		fprintf(stderr, "stream: %s port %s: cannot listen: %s\n", s->address, s->port,
			strerror(errno));
		free(buf);
		return -1;
	}
	printf("ready\n");
	fflush(stdout);
	for (unsigned i = 0; !s->connections || i < s->connections; i++) {
		int fd = accept(listener, NULL, NULL);
		if (fd < 0)
			break;
		take_all(fd, buf);
		close(fd);
	}
	free(buf);
	close(listener);
	return 0;
}
