/* SPDX-License-Identifier: BSD-2-Clause */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"
#include "peer.h"
#include "stat.h"

#define BACKLOG 1024
#define ACCEPTS 64 /* per wake-up */
#define MAX_SOCKETS 32

struct listener {
	struct ev_loop *ev;
	ev_io io[MAX_SOCKETS];
	unsigned n;
	int spare; /* a descriptor kept for the moment when there are none */
	ev_timer again;
	struct loop *const *loops;
	unsigned nloops;
	struct log_limit limit;
	char usual[16]; /* congestion control of connections that are not to ourselves */
};

unsigned
listener_count(const struct listener *ln)
{
	return ln->n;
}

/* The loop with the least bytes lately; connections decide when nothing moves. */
static struct loop *
choose(const struct listener *ln)
{
	struct loop *best = ln->loops[0];
	uint64_t best_load = UINT64_MAX;

	for (unsigned i = 0; i < ln->nloops; i++) {
		struct loop *l = ln->loops[i];
		uint64_t load = (__atomic_load_n(&l->bytes_recent, __ATOMIC_RELAXED) >> 20 << 20) +
				__atomic_load_n(&l->nconns, __ATOMIC_RELAXED) +
				__atomic_load_n(&l->promised, __ATOMIC_RELAXED);

		if (load < best_load) {
			best = l;
			best_load = load;
		}
	}
	return best;
}

static void
pause_accepting(struct listener *ln, int why)
{
	for (unsigned i = 0; i < ln->n; i++)
		ev_io_stop(ln->ev, &ln->io[i]);
	ev_timer_again(ln->ev, &ln->again);
	for (unsigned i = 0; i < ln->nloops; i++)
		loop_make_room(ln->loops[i]);
	if (log_may(&ln->limit))
		log_warn("cannot accept connections for now: %s; those that are open are served "
			 "on. Raise the limit of open files "
			 "(ulimit -n, LimitNOFILE=)",
			 strerror(why));
}

/* Out of descriptors: the spare one lets us take the next connection and close it, so that its peer
 * is not left hanging. */
static void
refuse_one(struct listener *ln, int fd)
{
	close(ln->spare);
	int s = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	if (s >= 0)
		close(s);
	stat_inc(ST_CONN_REFUSED);
	ln->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/*
 * To ourselves there is no path whose rate could be probed, and pacing (bbr) only costs timers:
 * half the server's CPU for 32 KiB READs. Once a socket has been paced it stays so, whatever is set
 * later: therefore sockets are accepted without, and those of other machines get the system's
 * choice.
 */
static void
set_congestion(const struct listener *ln, int fd, const struct sockaddr_storage *addr)
{
	if (ln->usual[0] && !peer_is_local(addr))
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, ln->usual,
			   (socklen_t)strlen(ln->usual));
}

/* Keeps the system's choice of congestion control, and accepts with one that does not pace. */
static void
accept_unpaced(struct listener *ln, int fd)
{
	socklen_t len = sizeof ln->usual - 1;

	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, ln->usual, &len) < 0)
		ln->usual[0] = '\0';
	else if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) < 0)
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4); /* always there */
}

static void
on_accept(struct ev_loop *ev, ev_io *w, int revents)
{
	struct listener *ln = w->data;

	(void)ev;
	(void)revents;
	for (int i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage addr = {0};
		socklen_t len = sizeof addr;
		int fd =
		    accept4(w->fd, (struct sockaddr *)&addr, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			set_congestion(ln, fd, &addr);
			loop_adopt(choose(ln), fd, &addr);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			int why = errno;

			if (ln->spare >= 0 && (why == EMFILE || why == ENFILE))
				refuse_one(ln, w->fd);
			pause_accepting(ln, why);
			return;
		}
		/* ECONNABORTED and network errors of the new socket: the next one (accept(2)) */
	}
}

static void
on_again(struct ev_loop *ev, ev_timer *w, int revents)
{
	struct listener *ln = w->data;

	(void)revents;
	ev_timer_stop(ev, w);
	for (unsigned i = 0; i < ln->n; i++)
		ev_io_start(ev, &ln->io[i]);
}

static const char *
bind_remedy(int e)
{
	switch (e) {
	case EADDRINUSE:
		return "; another server (the kernel's nfsd, another spliced?) has it: stop that, "
		       "or choose -p PORT";
	case EACCES:
		return "; ports below 1024 need root or CAP_NET_BIND_SERVICE";
	case EADDRNOTAVAIL:
		return "; this machine has no such address: see ip addr";
	default:
		return "";
	}
}

/* A listening socket, or -1 with errno and a sentence. */
static int
bind_one(const struct conf_addr *a, uint16_t port, bool dual, char *err, size_t errlen)
{
	struct sockaddr_storage sa = a->addr;
	char text[INET6_ADDRSTRLEN] = "";
	int on = 1, off = 0;
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	peer_set_port(&sa, port);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		if (sa.ss_family == AF_INET6)
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, dual ? &off : &on, sizeof on);
		if (bind(fd, (struct sockaddr *)&sa, a->len) == 0 && listen(fd, BACKLOG) == 0)
			return fd;
	}
	int e = errno;

	getnameinfo((struct sockaddr *)&sa, a->len, text, sizeof text, NULL, 0, NI_NUMERICHOST);
	snprintf(err, errlen, "cannot listen on %s port %u: %s%s", text, port, strerror(e),
		 bind_remedy(e));
	if (fd >= 0)
		close(fd);
	errno = e;
	return -1;
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_storage sa = {0};
	socklen_t len = sizeof sa;
	struct peer self;

	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return 0;
	peer_init(&self, &sa);
	return self.port;
}

static bool
add_address(struct listener *ln, const struct conf_addr *a, uint16_t *port, bool dual, char *err,
	    size_t errlen)
{
	if (ln->n == MAX_SOCKETS) {
		snprintf(err, errlen, "more than %d addresses to listen on", MAX_SOCKETS);
		return false;
	}
	int fd = bind_one(a, *port, dual, err, errlen);

	if (fd < 0)
		return false;
	*port = port_of(fd);
	accept_unpaced(ln, fd);
	ev_io_init(&ln->io[ln->n], on_accept, fd, EV_READ);
	ln->io[ln->n].data = ln;
	ev_io_start(ln->ev, &ln->io[ln->n++]);
	return true;
}

/* No address given: everywhere. One dual-stack socket, or IPv4 alone where IPv6 is off. */
static bool
add_everywhere(struct listener *ln, uint16_t *port, char *err, size_t errlen)
{
	struct conf_addr any6 = {.len = sizeof(struct sockaddr_in6)},
			 any4 = {.len = sizeof(struct sockaddr_in)};

	any6.addr.ss_family = AF_INET6;
	any4.addr.ss_family = AF_INET;
	if (add_address(ln, &any6, port, true, err, errlen))
		return true;
	return (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) &&
	       add_address(ln, &any4, port, false, err, errlen);
}

void
listener_free(struct listener *ln)
{
	for (unsigned i = 0; i < ln->n; i++) {
		ev_io_stop(ln->ev, &ln->io[i]);
		close(ln->io[i].fd);
	}
	ev_timer_stop(ln->ev, &ln->again);
	if (ln->spare >= 0)
		close(ln->spare);
	free(ln);
}

struct listener *
listener_new(struct ev_loop *ev, const struct conf_addr *addrs, size_t n, uint16_t *port,
	     struct loop *const *loops, unsigned nloops, char *err, size_t errlen)
{
	struct listener *ln = calloc(1, sizeof *ln);
	bool ok = true;

	if (!ln) {
		snprintf(err, errlen, "out of memory");
		return NULL;
	}
	ln->ev = ev;
	ln->loops = loops;
	ln->nloops = nloops;
	ln->limit.burst = 1;
	ln->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ev_timer_init(&ln->again, on_again, 0., 1.);
	ln->again.data = ln;
	for (size_t i = 0; ok && i < n; i++)
		ok = add_address(ln, &addrs[i], port, false, err, errlen);
	if (n == 0)
		ok = add_everywhere(ln, port, err, errlen);
	if (!ok) {
		listener_free(ln);
		return NULL;
	}
	return ln;
}
