/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"
#include "peer.h"
#include "stat.h"

#define UDP_CALLS 32 /* running at once */
#define UDP_REPLY_MAX                                                                              \
	8800 /* what every implementation takes; a longer list is asked again over TCP */
#define UDP_SOCKETS 32
#define MARK 4 /* a datagram has no record mark */

struct datagram {
	struct job job; /* first */
	struct datagram *next;
	struct udp *udp;
	int fd;
	struct sockaddr_storage from;
	socklen_t fromlen;
	char control[64]; /* the address that was asked, as the kernel said it and wants it back */
	size_t controllen;
	struct peer peer;
	struct call call;
};

struct udp {
	struct ev_loop *ev;
	ev_io io[UDP_SOCKETS];
	unsigned n;
	struct pool *pool;
	pthread_mutex_t lock; /* idle */
	struct datagram *idle;
	struct datagram all[UDP_CALLS];
};

static struct datagram *
take(struct udp *u)
{
	pthread_mutex_lock(&u->lock);
	struct datagram *d = u->idle;
	if (d)
		u->idle = d->next;
	pthread_mutex_unlock(&u->lock);
	return d;
}

static void
give(struct datagram *d)
{
	struct udp *u = d->udp;

	call_reset(&d->call);
	pthread_mutex_lock(&u->lock);
	d->next = u->idle;
	u->idle = d;
	pthread_mutex_unlock(&u->lock);
}

static void
answer(struct datagram *d)
{
	static const char zeros[4];
	struct call *c = &d->call;
	struct iovec iov[3] = {{c->head + MARK, c->headlen - MARK},
			       {c->body.base, c->body.len},
			       {(char *)(uintptr_t)zeros, c->pad}};
	struct msghdr m = {.msg_name = &d->from,
			   .msg_namelen = d->fromlen,
			   .msg_iov = iov,
			   .msg_iovlen = 3,
			   .msg_control = d->control,
			   .msg_controllen = d->controllen};

	if (call_reply_len(c) - MARK > UDP_REPLY_MAX || (c->body.len > 0 && !c->body.base))
		return;
	if (sendmsg(d->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("%s: UDP reply not sent: %s", d->peer.text, strerror(errno));
}

static void
work(struct job *j)
{
	struct datagram *d = (struct datagram *)j;

	d->call.may_sleep = true;
	if (call_run(&d->call) == CALL_REPLY)
		answer(d);
	give(d);
}

/* Keeps the destination address of the datagram in the form in which sendmsg takes a source address
 * (ip(7), ipv6(7)). */
static void
keep_source(struct datagram *d, struct msghdr *m)
{
	d->controllen = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = c->cmsg_len;

		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo *p = (void *)CMSG_DATA(c);

			p->ipi_ifindex = 0; /* the route decides; ipi_spec_dst is the source */
		} else if (c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != IPV6_PKTINFO) {
			continue;
		}
		if (n <= sizeof d->control) {
			memcpy(d->control, c, n);
			d->controllen = CMSG_ALIGN(n);
		}
	}
}

static bool
receive(struct datagram *d, int fd)
{
	char control[256] __attribute__((aligned(8)));
	struct iovec iov = {d->call.rec_mem, sizeof d->call.rec_mem};
	struct msghdr m = {.msg_name = &d->from,
			   .msg_namelen = sizeof d->from,
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof control};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n <= 0 || (m.msg_flags & MSG_TRUNC))
		return false;
	d->fd = fd;
	d->fromlen = m.msg_namelen;
	d->call.rec = d->call.rec_mem;
	d->call.reclen = (size_t)n;
	keep_source(d, &m);
	return true;
}

static void
on_datagram(struct ev_loop *ev, ev_io *w, int revents)
{
	struct udp *u = w->data;
	struct datagram *d = take(u);
	char drop;

	(void)ev;
	(void)revents;
	if (!d) {
		if (recv(w->fd, &drop, 1, MSG_DONTWAIT) >= 0)
			stat_inc(ST_UDP_DROPPED);
		return;
	}
	if (!receive(d, w->fd)) {
		give(d);
		return;
	}
	peer_init(&d->peer, &d->from);
	d->call.peer = &d->peer;
	d->call.datagram = true;
	d->job.work = work;
	d->job.lane = 0;
	pool_submit(u->pool, &d->job);
}

static int
open_socket(const struct conf_addr *a, uint16_t port, bool dual)
{
	struct sockaddr_storage sa = a->addr;
	int on = 1, off = 0,
	    fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	peer_set_port(&sa, port);
	if (sa.ss_family == AF_INET6) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, dual ? &off : &on, sizeof on);
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
	} else {
		setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
	}
	if (bind(fd, (struct sockaddr *)&sa, a->len) == 0)
		return fd;
	int e = errno;

	close(fd);
	errno = e;
	return -1;
}

static bool
add_socket(struct udp *u, const struct conf_addr *a, uint16_t port, bool dual)
{
	int fd = u->n < UDP_SOCKETS ? open_socket(a, port, dual) : -1;

	if (fd < 0)
		return false;
	ev_io_init(&u->io[u->n], on_datagram, fd, EV_READ);
	u->io[u->n].data = u;
	ev_io_start(u->ev, &u->io[u->n++]);
	return true;
}

struct udp *
udp_new(struct ev_loop *ev, const struct conf_addr *addrs, size_t n, uint16_t port,
	struct engine *engine, struct pool *pool, char *err, size_t errlen)
{
	struct conf_addr any6 = {.addr.ss_family = AF_INET6, .len = sizeof(struct sockaddr_in6)};
	struct conf_addr any4 = {.addr.ss_family = AF_INET, .len = sizeof(struct sockaddr_in)};
	struct udp *u = calloc(1, sizeof *u);
	bool ok = u != NULL;

	if (!u)
		return NULL;
	pthread_mutex_init(&u->lock, NULL);
	u->ev = ev;
	u->pool = pool;
	for (unsigned i = 0; i < UDP_CALLS; i++) {
		u->all[i].udp = u;
		call_init(&u->all[i].call, engine);
		give(&u->all[i]);
	}
	for (size_t i = 0; ok && i < n; i++)
		ok = add_socket(u, &addrs[i], port, false);
	if (n == 0)
		ok = add_socket(u, &any6, port, true) || add_socket(u, &any4, port, false);
	if (ok)
		return u;
	snprintf(err, errlen, "cannot listen on UDP port %u: %s", port, strerror(errno));
	udp_stop(u);
	udp_free(u);
	return NULL;
}

void
udp_stop(struct udp *u)
{
	for (unsigned i = 0; i < u->n; i++)
		ev_io_stop(u->ev, &u->io[i]);
}

void
udp_free(struct udp *u)
{
	for (unsigned i = 0; i < u->n; i++)
		close(u->io[i].fd);
	pthread_mutex_destroy(&u->lock);
	free(u);
}
