/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

enum { RECORD_MAX = 65536 };

struct proxy {
	int listener, port, server;
	pthread_t thread;
	_Atomic int harm;
	char call[RECORD_MAX], reply[RECORD_MAX];
};

static struct sockaddr_in
loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

/* One record of one fragment, with its mark; its bytes, 0 at the end. */
static size_t
receive(int fd, char *buf)
{
	uint32_t mark;

	if (recv(fd, &mark, sizeof mark, MSG_WAITALL) != sizeof mark)
		return 0;
	size_t n = ntohl(mark) & 0x7fffffff;
	memcpy(buf, &mark, sizeof mark);
	if (n > RECORD_MAX - sizeof mark || recv(fd, buf + 4, n, MSG_WAITALL) != (ssize_t)n)
		return 0;
	return n + sizeof mark;
}

static bool
transmit(int fd, const char *buf, size_t n)
{
	return send(fd, buf, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* The reply to this call; others, to what came twice before, are dropped. */
static size_t
reply_to(struct proxy *p, int server)
{
	size_t n;

	while ((n = receive(server, p->reply)) >= 8 && memcmp(p->reply + 4, p->call + 4, 4) != 0)
		;
	return n;
}

/* One call of n bytes. False: the connections end. */
static bool
carry(struct proxy *p, int client, int server, size_t n)
{
	int harm = atomic_exchange(&p->harm, PASS);

	if (!transmit(server, p->call, harm == HALF_CALL ? n / 2 : n) || harm == HALF_CALL ||
	    harm == CUT_BEHIND || (harm == TWICE && !transmit(server, p->call, n)))
		return false;
	size_t got = reply_to(p, server);
	return got >= 8 && harm != DROP_REPLY && transmit(client, p->reply, got);
}

static void *
run(void *arg)
{
	struct proxy *p = arg;
	const struct sockaddr_in to = loopback(p->server);
	int client;

	while ((client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		size_t n;

		if (connect(server, (const struct sockaddr *)&to, sizeof to) == 0)
			while ((n = receive(client, p->call)) >= 8 && carry(p, client, server, n))
				;
		close(server);
		close(client);
	}
	return NULL;
}

struct proxy *
proxy_new(int server_port)
{
	struct proxy *p = calloc(1, sizeof *p);
	struct sockaddr_in at = loopback(0);
	socklen_t len = sizeof at;

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	p->server = server_port;
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_FATAL(p->listener >= 0 &&
			bind(p->listener, (struct sockaddr *)&at, sizeof at) == 0 &&
			listen(p->listener, 8) == 0 &&
			getsockname(p->listener, (struct sockaddr *)&at, &len) == 0 &&
			pthread_create(&p->thread, NULL, run, p) == 0);
	p->port = ntohs(at.sin_port);
	return p;
}

/* After its client has gone. */
void
proxy_free(struct proxy *p)
{
	shutdown(p->listener, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->listener);
	free(p);
}

int
proxy_port(const struct proxy *p)
{
	return p->port;
}

void
proxy_harm(struct proxy *p, enum harm_to_call harm)
{
	atomic_store(&p->harm, harm);
}
