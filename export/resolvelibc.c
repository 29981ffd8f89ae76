/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the machine's own name services are asked: getaddrinfo(3), gethostbyaddr(3), innetgr(3),
 * getgrouplist(3), which go by nsswitch.conf(5). Each may block for as long as they please.
 */
#include "resolver.h"
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#define HOST_BUF 16384

static int
error_of(int gai)
{
	switch (gai) {
	case 0:
		return 0;
	case EAI_NONAME:
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		return ENOENT;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_SYSTEM:
		return errno ? errno : EAGAIN;
	default:
		return EAGAIN;
	}
}

static void
map_v4(struct in6_addr *out, const void *v4)
{
	memset(out, 0, sizeof *out);
	out->s6_addr[10] = out->s6_addr[11] = 0xff;
	memcpy(&out->s6_addr[12], v4, 4);
}

static int
by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct in6_addr));
}

/* Sorted, so that the order in which servers like to answer is no change. */
static int
forward(void *arg, const char *name, struct resolver_addrs *out)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
	int error = error_of(getaddrinfo(name, NULL, &hints, &found));

	(void)arg;
	if (error)
		return error;
	out->n = 0;
	for (struct addrinfo *a = found; a && out->n < RESOLVER_ADDRS; a = a->ai_next)
		if (a->ai_family == AF_INET6)
			out->v[out->n++] = ((struct sockaddr_in6 *)(void *)a->ai_addr)->sin6_addr;
		else if (a->ai_family == AF_INET)
			map_v4(&out->v[out->n++],
			       &((struct sockaddr_in *)(void *)a->ai_addr)->sin_addr);
	freeaddrinfo(found);
	qsort(out->v, out->n, sizeof out->v[0], by_bytes);
	return 0;
}

/* Does the name lead back to the address? Whoever owns an address can give it any name. */
static int
confirm(const char *name, const struct in6_addr *a)
{
	struct resolver_addrs addrs;
	int error = strlen(name) < RESOLVER_NAME ? forward(NULL, name, &addrs) : ENOENT;

	if (error)
		return error;
	for (unsigned i = 0; i < addrs.n; i++)
		if (memcmp(&addrs.v[i], a, sizeof *a) == 0)
			return 0;
	return ENOENT;
}

static int
add_name(const char *name, const struct in6_addr *a, struct resolver_names *out)
{
	int error = out->n < RESOLVER_NAMES ? confirm(name, a) : ENOENT;

	if (error == 0)
		strcpy(out->v[out->n++], name);
	return error;
}

static int
reverse(void *arg, const struct in6_addr *a, struct resolver_names *out)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(a);
	char *buf = malloc(HOST_BUF);
	struct hostent h, *found = NULL;
	int why = 0, error;

	(void)arg;
	if (!buf)
		return ENOMEM;
	out->n = 0;
	gethostbyaddr_r(v4 ? (const void *)&a->s6_addr[12] : a, v4 ? 4 : 16,
			v4 ? AF_INET : AF_INET6, &h, buf, HOST_BUF, &found, &why);
	if (!found) {
		free(buf);
		return why == HOST_NOT_FOUND || why == NO_DATA ? ENOENT : EAGAIN;
	}
	error = add_name(h.h_name, a, out);
	for (char **alias = h.h_aliases; *alias; alias++) {
		int e = add_name(*alias, a, out);

		if (e && e != ENOENT)
			error = e;
	}
	free(buf);
	return out->n ? 0 : error;
}

static int
netgroup(void *arg, const char *group, const char *host)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* not safe for threads */
	bool in;

	(void)arg;
	pthread_mutex_lock(&one);
	in = innetgr(group, host, NULL, NULL);
	pthread_mutex_unlock(&one);
	return in ? 0 : ENOENT;
}

static int
groups(void *arg, uid_t uid, gid_t *v, unsigned *n)
{
	char buf[16384];
	struct passwd pw, *found;
	int error = getpwuid_r(uid, &pw, buf, sizeof buf, &found), room = (int)*n;

	(void)arg;
	if (!error && !found)
		return ENOENT;
	if (error)
		return error == ENOENT || error == ESRCH ? ENOENT : EAGAIN;
	if (getgrouplist(pw.pw_name, pw.pw_gid, v, &room) < 0)
		room = (int)*n; /* more than fit: those that did */
	*n = (unsigned)room;
	return 0;
}

const struct resolver_ops resolver_ops_libc = {
    .forward = forward, .reverse = reverse, .netgroup = netgroup, .groups = groups};
