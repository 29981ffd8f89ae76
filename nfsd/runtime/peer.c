/* SPDX-License-Identifier: BSD-2-Clause */
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

void
peer_init(struct peer *p, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *a6 = (const void *)addr;
	struct sockaddr_in a4 = {.sin_family = AF_INET};

	memset(p, 0, sizeof *p);
	p->addr = *addr;
	if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a6->sin6_addr)) {
		memcpy(&a4.sin_addr, &a6->sin6_addr.s6_addr[12], 4);
		a4.sin_port = a6->sin6_port;
		memset(&p->addr, 0, sizeof p->addr);
		memcpy(&p->addr, &a4, sizeof a4);
	}
	if (p->addr.ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &a6->sin6_addr, p->text, sizeof p->text);
		p->port = ntohs(a6->sin6_port);
		p->local = IN6_IS_ADDR_LOOPBACK(&a6->sin6_addr);
	} else {
		memcpy(&a4, &p->addr, sizeof a4);
		inet_ntop(AF_INET, &a4.sin_addr, p->text, sizeof p->text);
		p->port = ntohs(a4.sin_port);
		p->local = ntohl(a4.sin_addr.s_addr) >> 24 == 127;
	}
}

void
peer_set_port(struct sockaddr_storage *sa, uint16_t port)
{
	if (sa->ss_family == AF_INET6)
		((struct sockaddr_in6 *)sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)sa)->sin_port = htons(port);
}

bool
peer_is_local(const struct sockaddr_storage *addr)
{
	struct peer p;

	peer_init(&p, addr);
	return p.local;
}
