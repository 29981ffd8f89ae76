/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAST_FRAGMENT 0x80000000u

void
cred_own(struct cred *c)
{
	*c = (struct cred){.uid = geteuid(), .gid = getegid()};
}

void
rpc_begin(struct enc *e, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc,
	  const struct cred *c)
{
	static const char machine[] = "nfsload"; /* 7 bytes: two words with the pad */
	e->len = 0;
	enc_u32(e, 0);
	enc_u32(e, xid);
	enc_u32(e, 0); /* CALL */
	enc_u32(e, 2); /* RPC version */
	enc_u32(e, prog);
	enc_u32(e, vers);
	enc_u32(e, proc);
	enc_u32(e, 1); /* AUTH_SYS */
	enc_u32(e, 4 + 12 + 12 + 4 * c->ngids);
	enc_u32(e, 0); /* stamp */
	enc_string(e, machine);
	enc_u32(e, c->uid);
	enc_u32(e, c->gid);
	enc_u32(e, c->ngids);
	for (unsigned i = 0; i < c->ngids; i++)
		enc_u32(e, c->gids[i]);
	enc_u32(e, 0); /* verifier AUTH_NONE */
	enc_u32(e, 0);
}

void
rpc_end(struct enc *e)
{
	put_be32(e->base, LAST_FRAGMENT | (uint32_t)(e->len - 4));
}

static int
refused(struct dec *d, char err[RPC_ERR])
{
	uint32_t kind = dec_u32(d);
	uint32_t why = dec_u32(d);
	if (d->over)
		return 0;
	if (kind == 1)
		snprintf(err, RPC_ERR,
			 "the server rejected our credential (auth_stat %u; 5 is TOOWEAK: it may "
			 "want a port "
			 "below 1024)",
			 why);
	else
		snprintf(err, RPC_ERR, "the server rejected the RPC version (reject_stat %u)",
			 kind);
	return -1;
}

int
rpc_reply(struct dec *d, uint32_t *xid, char err[RPC_ERR])
{
	static const char *const names[] = {"SUCCESS",	    "PROG_UNAVAIL", "PROG_MISMATCH",
					    "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"};
	*xid = dec_u32(d);
	uint32_t type = dec_u32(d);
	uint32_t denied = dec_u32(d);
	if (d->over)
		return 0;
	if (type != 1 || denied > 1) {
		snprintf(err, RPC_ERR, "no RPC reply (message type %u, reply_stat %u)", type,
			 denied);
		return -1;
	}
	if (denied)
		return refused(d, err);
	dec_u32(d); /* verifier flavor */
	uint32_t n = dec_u32(d);
	if (!d->over && n > 400) {
		snprintf(err, RPC_ERR, "a verifier of %u bytes, the limit is 400", n);
		return -1;
	}
	dec_bytes(d, n + xdr_pad(n));
	uint32_t stat = dec_u32(d);
	if (d->over)
		return 0;
	if (stat) {
		snprintf(err, RPC_ERR, "the server did not run the call: accept_stat %u (%s)", stat,
			 stat < 6 ? names[stat] : "unknown");
		return -1;
	}
	return 1;
}

/* Binds to a free port below 1024, from the top, as the kernel's client does. 0, or errno. */
static int
bind_low(int fd, int family)
{
	for (uint16_t port = 1023; port >= 512; port--) {
		struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
		struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
		int rc = family == AF_INET6 ? bind(fd, (struct sockaddr *)&a6, sizeof a6)
					    : bind(fd, (struct sockaddr *)&a4, sizeof a4);
		if (!rc)
			return 0;
		if (errno != EADDRINUSE)
			return errno;
	}
	return EADDRINUSE;
}

static bool
is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)(const void *)a;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)(const void *)a;
	if (a->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a6->sin6_addr);
	return a->sa_family == AF_INET && ntohl(a4->sin_addr.s_addr) >> 24 == 127;
}

static int
try_address(const struct addrinfo *a, int privport, int rcvbuf, const char **what)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*what = "socket";
	if (fd < 0)
		return -errno;
	int rc = privport ? bind_low(fd, a->ai_family) : 0;
	if (rc && privport > 0) {
		*what = "bind to a port below 1024";
		close(fd);
		return -rc;
	}
	/* must precede connect: it decides the window scale */
	if (rcvbuf)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf);
	/* on loopback, pacing (bbr) of what WRITE sends would only measure timers */
	if (is_loopback(a->ai_addr))
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
	*what = "connect";
	if (connect(fd, a->ai_addr, a->ai_addrlen)) {
		rc = errno;
		close(fd);
		return -rc;
	}
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

int
rpc_connect(const char *host, const char *port, int privport, int rcvbuf, char err[RPC_ERR])
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	int rc = getaddrinfo(host, port, &hints, &list);
	if (rc) {
		snprintf(err, RPC_ERR, "%s: %s", host, gai_strerror(rc));
		return -1;
	}
	int fd = -1;
	const char *what = "";
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		/* a low port may still be in TIME_WAIT towards this peer: then any other will do */
		fd = try_address(a, privport, rcvbuf, &what);
		if (fd == -EADDRNOTAVAIL && privport < 0)
			fd = try_address(a, 0, rcvbuf, &what);
	}
	freeaddrinfo(list);
	if (fd >= 0)
		return fd;
	snprintf(err, RPC_ERR, "%s port %s: %s: %s", host, port, what, strerror(-fd));
	return -1;
}

static int
read_full(int fd, void *p, size_t n, char err[RPC_ERR])
{
	ssize_t got = recv(fd, p, n, MSG_WAITALL);
	if (got == (ssize_t)n)
		return 0;
	if (got < 0)
		snprintf(err, RPC_ERR, "no answer: %s", strerror(errno));
	else
		snprintf(err, RPC_ERR, "the server closed the connection instead of answering");
	return -1;
}

/* One record of any number of fragments. Its length, or -1. */
static ssize_t
read_record(int fd, uint8_t *buf, size_t cap, char err[RPC_ERR])
{
	size_t len = 0;
	uint8_t mark[4];
	do {
		if (read_full(fd, mark, 4, err))
			return -1;
		size_t n = get_be32(mark) & ~LAST_FRAGMENT;
		if (n > cap - len) {
			snprintf(err, RPC_ERR, "a reply of more than %zu bytes", cap);
			return -1;
		}
		if (n && read_full(fd, buf + len, n, err))
			return -1;
		len += n;
	} while (!(get_be32(mark) & LAST_FRAGMENT));
	return (ssize_t)len;
}

int
rpc_call(int fd, const struct enc *e, uint8_t *buf, size_t cap, struct dec *res, char err[RPC_ERR])
{
	struct timeval limit = {.tv_sec = 10};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	if (e->over) {
		snprintf(err, RPC_ERR, "a call longer than %zu bytes", e->cap);
		return -1;
	}
	if (send(fd, e->base, e->len, MSG_NOSIGNAL) != (ssize_t)e->len) {
		snprintf(err, RPC_ERR, "send: %s", strerror(errno));
		return -1;
	}
	ssize_t n = read_record(fd, buf, cap, err);
	if (n < 0)
		return -1;
	uint32_t xid;
	*res = (struct dec){.p = buf, .left = (size_t)n};
	int rc = rpc_reply(res, &xid, err);
	if (rc > 0 && xid == get_be32(e->base + RPC_XID_AT))
		return 0;
	if (rc > 0)
		snprintf(err, RPC_ERR, "a reply to xid %08x, which we did not ask", xid);
	else if (!rc)
		snprintf(err, RPC_ERR, "a reply of %zd bytes that ends inside its header", n);
	return -1;
}

const char *
status_name(uint32_t status)
{
	static const struct {
		uint32_t status;
		const char *name;
	} table[] = {
	    {0, "OK"},
	    {1, "PERM"},
	    {2, "NOENT"},
	    {5, "IO"},
	    {6, "NXIO"},
	    {13, "ACCES"},
	    {17, "EXIST"},
	    {18, "XDEV"},
	    {19, "NODEV"},
	    {20, "NOTDIR"},
	    {21, "ISDIR"},
	    {22, "INVAL"},
	    {27, "FBIG"},
	    {28, "NOSPC"},
	    {30, "ROFS"},
	    {31, "MLINK"},
	    {63, "NAMETOOLONG"},
	    {66, "NOTEMPTY"},
	    {69, "DQUOT"},
	    {70, "STALE"},
	    {71, "REMOTE"},
	    {10001, "BADHANDLE"},
	    {10002, "NOT_SYNC"},
	    {10003, "BAD_COOKIE"},
	    {10004, "NOTSUPP"},
	    {10005, "TOOSMALL"},
	    {10006, "SERVERFAULT"},
	    {10007, "BADTYPE"},
	    {10008, "JUKEBOX"},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].status == status)
			return table[i].name;
	return "unknown";
}
