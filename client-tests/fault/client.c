/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rpc/auth.h>
#include <rpc/rpc_msg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct cl *
cl_try(int port, int rcvbuf)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = CL_SECONDS};
	struct cl *c = calloc(1, sizeof *c);
	int on = 1;

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (rcvbuf)
		setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf);
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(c->fd, (struct sockaddr *)&a, sizeof a) == 0)
		return c;
	cl_free(c);
	return NULL;
}

struct cl *
cl_new(int port, int rcvbuf)
{
	struct cl *c = cl_try(port, rcvbuf);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	return c;
}

void
cl_free(struct cl *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	free(c->buf);
	free(c);
}

void
cl_reset(struct cl *c)
{
	struct linger now = {1, 0};

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	cl_free(c);
}

/* ---- calls ---- */

static char *
put32(char *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
	return p + 4;
}

static uint32_t
get32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return ntohl(v);
}

size_t
cl_build(char *buf, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc, xdrproc_t enc,
	 void *args)
{
	const uint32_t head[] = {xid,
				 CALL,
				 2,
				 prog,
				 vers,
				 proc,
				 AUTH_SYS,
				 20,
				 0 /* stamp */,
				 0 /* machine */,
				 0 /* uid */,
				 0 /* gid */,
				 0 /* gids */,
				 AUTH_NONE,
				 0};
	char *p = buf + 4;
	XDR x;

	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		p = put32(p, head[i]);
	if (enc) {
		xdrmem_create(&x, p, (u_int)(CL_CALL_MAX - (p - buf)), XDR_ENCODE);
		CU_ASSERT_FATAL(enc(&x, args));
		p += xdr_getpos(&x);
	}
	put32(buf, 0x80000000u | (uint32_t)(p - buf - 4));
	return (size_t)(p - buf);
}

size_t
cl_build_read(char *buf, uint32_t xid, const nfs_fh3 *fh, uint64_t off, uint32_t count)
{
	READ3args a = {.file = *fh, .offset = off, .count = count};

	return cl_build(buf, xid, NFS_PROGRAM, NFS_V3, NFSPROC3_READ, (xdrproc_t)xdr_READ3args, &a);
}

size_t
cl_build_getattr(char *buf, uint32_t xid, const nfs_fh3 *fh)
{
	GETATTR3args a = {.object = *fh};

	return cl_build(buf, xid, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR,
			(xdrproc_t)xdr_GETATTR3args, &a);
}

bool
cl_send(struct cl *c, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n > 0) {
		ssize_t k = send(c->fd, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

void
cl_call(struct cl *c, uint32_t prog, uint32_t vers, uint32_t proc, xdrproc_t enc, void *args)
{
	char buf[CL_CALL_MAX];

	cl_send(c, buf, cl_build(buf, ++c->xid, prog, vers, proc, enc, args));
}

void
cl_call_read(struct cl *c, const nfs_fh3 *fh, uint64_t off, uint32_t count)
{
	char buf[CL_CALL_MAX];

	cl_send(c, buf, cl_build_read(buf, ++c->xid, fh, off, count));
}

void
cl_call_getattr(struct cl *c, const nfs_fh3 *fh)
{
	char buf[CL_CALL_MAX];

	cl_send(c, buf, cl_build_getattr(buf, ++c->xid, fh));
}

/* ---- replies ---- */

bool
cl_bytes(struct cl *c, void *to, size_t n)
{
	char *p = to;

	while (n > 0) {
		ssize_t k = recv(c->fd, p, n, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

bool
cl_recv(struct cl *c)
{
	char mark[4];

	if (!cl_bytes(c, mark, 4))
		return false;
	c->mark = get32(mark);
	c->len = c->mark & 0x7fffffff;
	CU_ASSERT_FATAL(c->mark >> 31 && c->len >= 12 && c->len <= CL_READ_MAX + 1024);
	if (c->len > c->cap) {
		c->cap = c->len;
		c->buf = realloc(c->buf, c->cap);
		CU_ASSERT_PTR_NOT_NULL_FATAL(c->buf);
	}
	return cl_bytes(c, c->buf, c->len);
}

uint32_t
cl_xid(const struct cl *c)
{
	return get32(c->buf);
}

int
cl_verdict(const struct cl *c, size_t *off)
{
	const char *p = c->buf;

	CU_ASSERT_FATAL(c->len >= 16 && get32(p + 4) == REPLY);
	*off = 12;
	if (get32(p + 8) == MSG_DENIED)
		return get32(p + 12) == AUTH_ERROR ? 100 + (int)get32(p + 16) : 200;
	CU_ASSERT_FATAL(c->len >= 24 && get32(p + 12) == AUTH_NONE && get32(p + 16) == 0);
	*off = 24;
	return (int)get32(p + 20);
}

bool
cl_results(const struct cl *c, xdrproc_t dec, void *res, size_t size)
{
	size_t off;
	XDR x;

	if (cl_verdict(c, &off) != SUCCESS)
		return false;
	memset(res, 0, size);
	xdrmem_create(&x, c->buf + off, (u_int)(c->len - off), XDR_DECODE);
	return dec(&x, res) && xdr_getpos(&x) == c->len - off;
}

int
cl_read_results(const struct cl *c, READ3res *r)
{
	const READ3resok *ok = &r->READ3res_u.resok;

	if (!cl_results(c, (xdrproc_t)xdr_READ3res, r, sizeof *r)) {
		CU_FAIL("a READ reply does not decode to its last byte");
		return -1;
	}
	if (r->status != NFS3_OK)
		return (int)r->status;
	CU_ASSERT_EQUAL(ok->count, ok->data.len);
	CU_ASSERT_TRUE(ok->file_attributes.attributes_follow);
	for (u_int i = ok->data.len; i % 4; i++)
		CU_ASSERT_EQUAL(((char *)ok->data.base)[i], 0);
	return NFS3_OK;
}

/* ---- whole calls ---- */

int
cl_mnt(struct cl *c, const char *path, nfs_fh3 *fh)
{
	dirpath dir = {(u_int)strlen(path), path};
	mountres3 r;

	cl_call(c, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT, (xdrproc_t)xdr_dirpath, &dir);
	if (!cl_recv(c) || !cl_results(c, (xdrproc_t)xdr_mountres3, &r, sizeof r))
		return -1;
	if (r.fhs_status == MNT3_OK)
		*fh = r.mountres3_u.mountinfo.fhandle;
	xdr_free((xdrproc_t)xdr_mountres3, &r);
	return (int)r.fhs_status;
}

int
cl_lookup(struct cl *c, const nfs_fh3 *dir, const char *name, nfs_fh3 *fh)
{
	LOOKUP3args a = {.what = {.dir = *dir, .name = {(u_int)strlen(name), name}}};
	LOOKUP3res r;

	cl_call(c, NFS_PROGRAM, NFS_V3, NFSPROC3_LOOKUP, (xdrproc_t)xdr_LOOKUP3args, &a);
	if (!cl_recv(c) || !cl_results(c, (xdrproc_t)xdr_LOOKUP3res, &r, sizeof r))
		return -1;
	if (r.status == NFS3_OK)
		*fh = r.LOOKUP3res_u.resok.object;
	return (int)r.status;
}

int
cl_getattr(struct cl *c, const nfs_fh3 *fh, fattr3 *attr)
{
	GETATTR3res r;

	cl_call_getattr(c, fh);
	if (!cl_recv(c) || !cl_results(c, (xdrproc_t)xdr_GETATTR3res, &r, sizeof r))
		return -1;
	if (r.status == NFS3_OK && attr)
		*attr = r.GETATTR3res_u.resok.obj_attributes;
	return (int)r.status;
}

int
cl_read(struct cl *c, const nfs_fh3 *fh, uint64_t off, uint32_t count, READ3res *r)
{
	cl_call_read(c, fh, off, count);
	return cl_recv(c) ? cl_read_results(c, r) : -1;
}

nfs_fh3
cl_handle(struct cl *c, const char *export, const char *path)
{
	char copy[1024], *rest = copy;
	nfs_fh3 fh = {0};

	CU_ASSERT_EQUAL_FATAL(cl_mnt(c, export, &fh), MNT3_OK);
	strcpy(copy, path);
	for (char *name; (name = strsep(&rest, "/"));)
		if (*name)
			CU_ASSERT_EQUAL_FATAL(cl_lookup(c, &fh, name, &fh), NFS3_OK);
	return fh;
}

/* ---- contents ---- */

static uint64_t
pattern_word(uint32_t tag, uint64_t i)
{
	uint64_t x = i * 0x9e3779b97f4a7c15u + tag * 0xbf58476d1ce4e5b9u;

	x = (x ^ x >> 31) * 0x94d049bb133111ebu;
	return x ^ x >> 29;
}

void
pattern_fill(uint32_t tag, uint64_t off, void *to, size_t n)
{
	char *p = to;

	while (n > 0) {
		uint64_t w = pattern_word(tag, off / 8);
		size_t skip = off % 8, k = 8 - skip < n ? 8 - skip : n;

		memcpy(p, (char *)&w + skip, k);
		p += k;
		off += k;
		n -= k;
	}
}

bool
pattern_is(uint32_t tag, uint64_t off, const void *at, size_t n)
{
	const char *p = at;

	while (n > 0) {
		uint64_t w = pattern_word(tag, off / 8);
		size_t skip = off % 8, k = 8 - skip < n ? 8 - skip : n;

		if (memcmp(p, (char *)&w + skip, k) != 0)
			return false;
		p += k;
		off += k;
		n -= k;
	}
	return true;
}

void
pattern_file(const char *path, uint32_t tag, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	char block[65536];

	CU_ASSERT_FATAL(fd >= 0);
	for (size_t off = 0; off < n; off += sizeof block) {
		size_t k = n - off < sizeof block ? n - off : sizeof block;

		pattern_fill(tag, off, block, k);
		CU_ASSERT_EQUAL_FATAL(write(fd, block, k), (ssize_t)k);
	}
	close(fd);
}
