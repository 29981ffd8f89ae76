/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registration lives in one detached thread: look, register, wait for the end, unregister.
 * libtirpc waits up to a minute for an answer and cannot be interrupted, so rpcb_stop() waits for
 * the thread only for a bounded time and then leaves it behind; whoever of the two comes last frees
 * what they share.
 *
 * rpcbind lets root remove anybody's entry, the kernel server's too. So an entry is removed only if
 * it is certainly stale: it names our own port (which we hold), or a port where nobody listens.
 */
#include "rpcb.h"
#include "log.h"
#include <errno.h>
#include <netconfig.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rpc/rpc.h>
#include <rpc/rpcb_clnt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define RPCBIND_SOCKET "/run/rpcbind.sock"
#define STOP_SECONDS 2
#define NFS_PROGRAM 100003
#define MOUNT_PROGRAM 100005

struct registrar {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop, done; /* under the lock */
	int users;	 /* the thread and the server; the last one frees */
	uint16_t port;
	bool v6;
	/* only the thread */
	unsigned set; /* bit by offer and transport */
};

static const struct offer {
	rpcprog_t program;
	rpcvers_t version;
} offers[] = {{NFS_PROGRAM, 3}, {MOUNT_PROGRAM, 1}, {MOUNT_PROGRAM, 2}, {MOUNT_PROGRAM, 3}};
#define NOFFERS (sizeof offers / sizeof offers[0])
static const char *const transports[] = {"tcp", "tcp6"};

/* Is anybody at rpcbind's local socket? libtirpc would try the network next, for a long time. */
static bool
rpcbind_answers(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = RPCBIND_SOCKET};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes =
	    fd >= 0 && (connect(fd, (struct sockaddr *)&a, sizeof a) == 0 || errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return yes;
}

/* The port in a universal address "h1.h2.h3.h4.p1.p2" (RFC 1833 section 2.1, RFC 5665); -1 if it is
 * none. */
static int
port_of(const char *uaddr)
{
	const char *low = strrchr(uaddr, '.'), *high = low;
	unsigned a, b;

	if (!low)
		return -1;
	while (high > uaddr && high[-1] != '.')
		high--;
	if (high == uaddr || sscanf(high, "%u.%u", &a, &b) != 2 || a > 255 || b > 255)
		return -1;
	return (int)(a << 8 | b);
}

/* Is the port in use on any address of this machine? With SO_REUSEADDR only a listening socket
 * stands in the way. */
static bool
in_use(int port, bool v6)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	int one = 1, fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool free;

	if (fd < 0)
		return true; /* not known: leave it alone */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	free = (v6 ? bind(fd, (struct sockaddr *)&six, sizeof six)
		   : bind(fd, (struct sockaddr *)&four, sizeof four)) == 0;
	close(fd);
	return !free;
}

static bool
is_ours(const RPCB *map, const char *transport)
{
	if (strcmp(map->r_netid, transport) != 0)
		return false;
	for (size_t i = 0; i < NOFFERS; i++)
		if (map->r_prog == offers[i].program && map->r_vers == offers[i].version)
			return true;
	return false;
}

/* Removes stale entries of this transport. False when another server's are there; *other is its
 * port. */
static bool
clear_stale(const struct registrar *r, rpcblist_ptr maps, const struct netconfig *transport,
	    int *other)
{
	bool v6 = !strcmp(transport->nc_netid, "tcp6"), clear = true;

	for (; maps; maps = maps->rpcb_next) {
		const RPCB *m = &maps->rpcb_map;
		int port = port_of(m->r_addr);

		if (!is_ours(m, transport->nc_netid))
			continue;
		if (port == r->port || port < 0 || !in_use(port, v6)) {
			rpcb_unset(m->r_prog, m->r_vers, transport);
		} else {
			*other = port;
			clear = false;
		}
	}
	return clear;
}

static bool
set(const struct registrar *r, const struct offer *o, const struct netconfig *transport)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(r->port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(r->port)};
	struct netbuf addr = {sizeof four, sizeof four, &four};

	if (!strcmp(transport->nc_netid, "tcp6"))
		addr = (struct netbuf){sizeof six, sizeof six, &six};
	return rpcb_set(o->program, o->version, transport, &addr);
}

/* One transport. False when something was not registered; why then says what. */
static bool
set_transport(struct registrar *r, unsigned t, rpcblist_ptr maps, char *why, size_t size)
{
	struct netconfig *transport = getnetconfigent(transports[t]);
	unsigned failed = 0;
	int other = 0;

	if (!transport) {
		snprintf(why, size, "%s is not in /etc/netconfig", transports[t]);
		return false;
	}
	if (!clear_stale(r, maps, transport, &other)) {
		snprintf(why, size, "another server is registered there, on port %d", other);
		freenetconfigent(transport);
		return false;
	}
	for (unsigned i = 0; i < NOFFERS; i++) {
		if (set(r, &offers[i], transport))
			r->set |= 1u << (i * 2 + t);
		else
			failed++;
	}
	freenetconfigent(transport);
	if (failed)
		snprintf(why, size, "it refused %u of %zu entries for %s", failed, NOFFERS,
			 transports[t]);
	return failed == 0;
}

static void
unset_all(struct registrar *r)
{
	for (unsigned t = 0; t < 2; t++) {
		struct netconfig *transport = r->set ? getnetconfigent(transports[t]) : NULL;

		for (unsigned i = 0; transport && i < NOFFERS; i++)
			if (r->set & 1u << (i * 2 + t))
				rpcb_unset(offers[i].program, offers[i].version, transport);
		if (transport)
			freenetconfigent(transport);
	}
	r->set = 0;
}

static void
register_all(struct registrar *r)
{
	struct netconfig *local = getnetconfigent("local");
	rpcblist_ptr maps = local ? rpcb_getmaps(local, "localhost") : NULL;
	char why[100] = "";
	bool good = true;

	for (unsigned t = 0; good && t < (r->v6 ? 2u : 1u); t++)
		good = set_transport(r, t, maps, why, sizeof why);
	xdr_free((xdrproc_t)xdr_rpcblist_ptr, &maps);
	if (local)
		freenetconfigent(local);
	if (good)
		log_info("registered with rpcbind: NFS 3 and MOUNT 1-3 on port %u", r->port);
	else
		log_info("rpcbind: %s; clients must say port=%u,mountport=%u", why, r->port,
			 r->port);
}

/* The last user frees. Called with the lock held. */
static void
leave(struct registrar *r)
{
	bool last = --r->users == 0;

	pthread_mutex_unlock(&r->lock);
	if (!last)
		return;
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void *
rpcb_thread(void *arg)
{
	struct registrar *r = arg;

	if (rpcbind_answers())
		register_all(r);
	else
		log_info("rpcbind does not run here; clients must say port=%u,mountport=%u",
			 r->port, r->port);
	pthread_mutex_lock(&r->lock);
	while (!r->stop)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
	unset_all(r);
	pthread_mutex_lock(&r->lock);
	r->done = true;
	pthread_cond_broadcast(&r->changed);
	leave(r);
	return NULL;
}

struct registrar *
rpcb_start(uint16_t port, bool v6)
{
	struct registrar *r = calloc(1, sizeof *r);
	pthread_condattr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int error;

	if (!r) {
		log_info("not registered with rpcbind: out of memory");
		return NULL;
	}
	r->users = 2;
	r->port = port;
	r->v6 = v6;
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
	error = pthread_create(&thread, NULL, rpcb_thread, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		log_info("not registered with rpcbind: no thread: %s", strerror(error));
		free(r);
		return NULL;
	}
	pthread_detach(thread);
	return r;
}

void
rpcb_stop(struct registrar *r)
{
	struct timespec until;

	if (!r)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += STOP_SECONDS;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_broadcast(&r->changed);
	while (!r->done && pthread_cond_timedwait(&r->changed, &r->lock, &until) == 0)
		;
	leave(r);
}
