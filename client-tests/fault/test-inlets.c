/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WRITE data that is received into a pipe: whatever becomes of the call, the bytes of the next one
 * are the next one's, and what was in the pipe reaches no other file.
 */
#include <endian.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"
#include "tools.h"

#define MIB (1u << 20)
#define ROOM (MIB + 1024)

/* A server with an export "a", to be written as root, on a file system given by make or tmpfs. */
static struct srv *
bed(const char *mode, void (*make)(struct srv *))
{
	struct srv *s = srv_new();
	char path[PATH_MAX];

	s->options = "rw,insecure,no_root_squash,async";
	if (make)
		make(s);
	else
		srv_mkdir(s, "a");
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/f%d", srv_path(s, "a"), i);
		pattern_file(path, 9, 0);
	}
	srv_start(s, (const char *[]){"-j1", mode, NULL}, "a", NULL);
	return s;
}

/* A WRITE of n bytes of pattern `tag` to buf (ROOM bytes): the head encoded, the data behind it. */
static size_t
build_write(char *buf, uint32_t xid, const nfs_fh3 *fh, uint32_t tag, uint64_t off, uint32_t n,
	    stable_how stable)
{
	WRITE3args a = {
	    .file = *fh, .offset = off, .count = n, .stable = stable, .data = {.len = n}};
	size_t head =
	    cl_build(buf, xid, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, (xdrproc_t)xdr_WRITE3args, &a);
	uint32_t mark;

	pattern_fill(tag, off, buf + head, n);
	memset(buf + head + n, 0, -n & 3);
	size_t all = head + n + (-n & 3);
	mark = htobe32(0x80000000u | (uint32_t)(all - 4));
	memcpy(buf, &mark, 4);
	return all;
}

static void
send_write(struct cl *c, const nfs_fh3 *fh, uint32_t tag, uint64_t off, uint32_t n, stable_how how)
{
	char *buf = malloc(ROOM);

	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	CU_ASSERT_TRUE(cl_send(c, buf, build_write(buf, ++c->xid, fh, tag, off, n, how)));
	free(buf);
}

/* The next reply is a WRITE's: its status, and how many bytes it took. -1: no reply. */
static int
written(struct cl *c, uint32_t *count)
{
	WRITE3res r;

	*count = 0;
	if (!cl_recv(c) || !cl_results(c, (xdrproc_t)xdr_WRITE3res, &r, sizeof r))
		return -1;
	if (r.status == NFS3_OK)
		*count = r.WRITE3res_u.resok.count;
	return (int)r.status;
}

static bool
writes(struct cl *c, const nfs_fh3 *fh, uint32_t tag, uint64_t off, uint32_t n, stable_how how)
{
	uint32_t count;

	send_write(c, fh, tag, off, n, how);
	return written(c, &count) == NFS3_OK && count == n;
}

/* n bytes at off of a file of the export are pattern tag's. */
static bool
holds(struct srv *s, const char *path, uint32_t tag, uint64_t off, size_t n)
{
	int fd = open(srv_path(s, path), O_RDONLY | O_CLOEXEC);
	char *buf = malloc(n);
	bool same = fd >= 0 && buf && pread(fd, buf, n, (off_t)off) == (ssize_t)n &&
		    pattern_is(tag, off, buf, n);

	free(buf);
	if (fd >= 0)
		close(fd);
	return same;
}

/* A counter of the server, -1 when it does not say. */
static long long
counter(struct srv *s, const char *name)
{
	static char text[1 << 16];
	char command[PATH_MAX + 512], key[64];

	snprintf(command, sizeof command, "%s -s %s stat --json", tool_path("splicectl"),
		 srv_path(s, "state"));
	snprintf(key, sizeof key, "\"%s\"", name);
	FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c) */
	if (!f)
		return -1;
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	pclose(f);
	const char *at = strstr(text, key), *colon = at ? strchr(at, ':') : NULL;
	return colon ? atoll(colon + 1) : -1;
}

static nfs_fh3
handle(struct srv *s, struct cl *c, const char *name)
{
	return cl_handle(c, srv_path(s, "a"), name);
}

/* Long WRITEs, whatever their stability and the lengths of those between them, put their bytes
 * where they belong, and most of them by splice. */
TEST(inlets, long_writes_arrive)
{
	struct srv *s = bed("-Zauto", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 f = handle(s, c, "f0");
	static const uint32_t odd[] = {MIB - 1, 131072 + 2, 5, 65536, 131072};
	uint64_t at = 0;

	for (unsigned i = 0; i < 24; i++) {
		CU_ASSERT_TRUE(writes(c, &f, 1, at, MIB, i % 3));
		at += MIB;
		if (i % 4 == 3) {
			uint32_t n = odd[i / 4 % 5];

			CU_ASSERT_TRUE(writes(c, &f, 1, at, n, i % 3));
			CU_ASSERT_EQUAL(cl_getattr(c, &f, NULL), NFS3_OK);
			at += n;
		}
	}
	CU_ASSERT_TRUE(holds(s, "a/f0", 1, 0, at));
	CU_ASSERT(counter(s, "write_bytes_spliced") >= 12 * (long long)MIB);
	cl_free(c);
	srv_free(s);
}

/* -Z never: none is. */
TEST(inlets, never_means_never)
{
	struct srv *s = bed("-Znever", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 f = handle(s, c, "f0");

	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_TRUE(writes(c, &f, 1, i * (uint64_t)MIB, MIB, UNSTABLE));
	CU_ASSERT_TRUE(holds(s, "a/f0", 1, 0, 4 * (size_t)MIB));
	CU_ASSERT_EQUAL(counter(s, "write_bytes_spliced"), 0);
	CU_ASSERT_EQUAL(counter(s, "write_bytes_copied"), 4 * (long long)MIB);
	cl_free(c);
	srv_free(s);
}

/* WRITEs that are refused, between good ones and all on their way at once, are answered each with
 * its own, and none of their bytes ends in another file. */
TEST(inlets, a_refused_write_leaves_nothing)
{
	struct srv *s = bed("-Zauto", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 f[2] = {handle(s, c, "f0"), handle(s, c, "f1")}, bad = f[0];
	uint32_t count, first;
	bool good[40];

	CU_ASSERT_EQUAL_FATAL(unlink(srv_path(s, "a/f1")), 0);
	bad.data[bad.len - 1] ^= 1;
	CU_ASSERT_TRUE(writes(c, &f[0], 1, 0, MIB, UNSTABLE));
	first = c->xid + 1;
	for (unsigned i = 0; i < 40;
	     i += 4) { /* more at once would need a client that reads meanwhile */
		send_write(c, &f[0], 1, (1 + i / 4) * (uint64_t)MIB, MIB, UNSTABLE);
		send_write(c, &bad, 2, 0, MIB, UNSTABLE);
		send_write(c, &f[0], 3, INT64_MAX - 10, MIB, UNSTABLE);
		send_write(c, &f[0], 1, (20 + i / 4) * (uint64_t)MIB, MIB, FILE_SYNC);
		for (unsigned k = 0; k < 4; k++) {
			int status = written(c, &count);
			uint32_t which = cl_xid(c) - first;

			CU_ASSERT_FATAL(which < 40);
			good[which] = status == NFS3_OK && count == MIB;
			CU_ASSERT_EQUAL(good[which], which % 4 == 0 || which % 4 == 3);
		}
	}
	CU_ASSERT_TRUE(holds(s, "a/f0", 1, 0, 11 * (size_t)MIB));
	CU_ASSERT_TRUE(holds(s, "a/f0", 1, 20 * (uint64_t)MIB, 10 * (size_t)MIB));
	CU_ASSERT(counter(s, "write_bytes_spliced") > 10 * (long long)MIB);
	cl_free(c);
	srv_free(s);
}

static void
small_disk(struct srv *s)
{
	srv_ext4(s, "a", 24);
}

/* A disk that fills up in the middle of a WRITE: what was said to be written is there, the rest is
 * NOSPC, and the connection goes on. */
TEST(inlets, a_full_disk_is_told)
{
	struct srv *s = bed("-Zauto", small_disk);
	struct cl *c = srv_client(s);
	nfs_fh3 f = handle(s, c, "f0");
	uint64_t at = 0;
	uint32_t count;
	int status;

	do {
		send_write(c, &f, 1, at, MIB, UNSTABLE);
		status = written(c, &count);
		at += count;
	} while (status == NFS3_OK && at < 64 * (uint64_t)MIB);
	CU_ASSERT_EQUAL(status, NFS3ERR_NOSPC);
	CU_ASSERT(at > 2 * MIB);
	CU_ASSERT(counter(s, "write_bytes_spliced") > (long long)MIB);
	for (int i = 0; i < 5; i++) {
		send_write(c, &f, 2, at + MIB, MIB, FILE_SYNC);
		CU_ASSERT_NOT_EQUAL(written(c, &count), -1);
		CU_ASSERT_EQUAL(cl_getattr(c, &f, NULL), NFS3_OK);
		CU_ASSERT_TRUE(writes(c, &f, 1, 0, MIB, UNSTABLE));
	}
	CU_ASSERT_TRUE(holds(s, "a/f0", 1, 0, at));
	cl_free(c);
	srv_free(s);
}

/* A file system whose writes fail answers IO, and the next WRITE writes its own bytes. */
TEST(inlets, a_failing_disk_is_told)
{
	struct srv *s = srv_new();
	uint32_t count;

	s->options = "rw,insecure,no_root_squash";
	srv_mkdir(s, "source");
	pattern_file(srv_path(s, "source/f0"), 9, 10);
	srv_slowfs(s, "source", "a");
	srv_start(s, (const char *[]){"-j1", "-Zauto", NULL}, "a", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 f = handle(s, c, "f0");
	CU_ASSERT_TRUE(writes(c, &f, 1, 0, MIB, FILE_SYNC));
	for (int i = 0; i < 3; i++) {
		srv_tell(s, "fail write EIO");
		send_write(c, &f, 2, MIB, MIB, FILE_SYNC);
		CU_ASSERT_EQUAL(written(c, &count), NFS3ERR_IO);
		srv_tell(s, "fail write 0");
		CU_ASSERT_TRUE(writes(c, &f, 1, MIB, MIB, FILE_SYNC));
	}
	CU_ASSERT_TRUE(holds(s, "source/f0", 1, 0, 2 * (size_t)MIB));
	cl_free(c);
	srv_free(s);
}

/* Data that comes in crumbs, too many for a pipe, arrives all the same. */
TEST(inlets, crumbs)
{
	struct srv *s = bed("-Zauto", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 f = handle(s, c, "f0");
	char *buf = malloc(ROOM);
	int on = 1;
	uint32_t count;

	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	CU_ASSERT_TRUE(writes(c, &f, 1, 0, MIB, UNSTABLE));
	size_t n = build_write(buf, ++c->xid, &f, 1, MIB, MIB, UNSTABLE);
	long long before = counter(s, "bytes_received");
	for (size_t at = 0; at < n; at += 512) {
		size_t k = n - at < 512 ? n - at : 512;

		CU_ASSERT_TRUE_FATAL(cl_send(c, buf + at, k));
		/* the server has it: one crumb is one piece. Some thousand are enough */
		if (at < 2048 * 512 && at % (64 * 512) == 0)
			UNTIL(counter(s, "bytes_received") >= before + (long long)(at + k));
	}
	CU_ASSERT_EQUAL(written(c, &count), NFS3_OK);
	CU_ASSERT_EQUAL(count, MIB);
	CU_ASSERT(counter(s, "copied_pipe_overflowed") >= 1);
	for (unsigned i = 2; i < 6; i++)
		CU_ASSERT_TRUE(writes(c, &f, 1, i * (uint64_t)MIB, MIB, UNSTABLE));
	CU_ASSERT_TRUE(holds(s, "a/f0", 1, 0, 6 * (size_t)MIB));
	free(buf);
	cl_free(c);
	srv_free(s);
}

/* A connection that ends in the middle of a WRITE leaves the file as it was and no descriptor open,
 * and the next one's data is its own. */
TEST(inlets, an_unfinished_write_is_forgotten)
{
	struct srv *s = bed("-Zauto", NULL);
	struct cl *other = srv_client(s);
	nfs_fh3 f = handle(s, other, "f0");
	char *buf = malloc(ROOM);

	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	CU_ASSERT_TRUE(writes(other, &f, 1, 0, MIB, UNSTABLE));
	CU_ASSERT_TRUE(writes(other, &f, 1, MIB, MIB, UNSTABLE));
	unsigned fds = srv_fds(s);
	for (unsigned i = 0; i < 20; i++) {
		struct cl *c = srv_client(s);

		CU_ASSERT_EQUAL(cl_getattr(c, &f, NULL), NFS3_OK);
		CU_ASSERT_TRUE(writes(c, &f, 1, 0, MIB, UNSTABLE));
		long long before = counter(s, "bytes_received");
		size_t n = build_write(buf, ++c->xid, &f, 2, 0, MIB, UNSTABLE) / 2;
		CU_ASSERT_TRUE(cl_send(c, buf, n));
		UNTIL(counter(s, "bytes_received") == before + (long long)n);
		if (i % 2)
			cl_reset(c);
		else
			cl_free(c);
	}
	CU_ASSERT_TRUE(writes(other, &f, 1, 2 * (uint64_t)MIB, MIB, UNSTABLE));
	CU_ASSERT_TRUE(holds(s, "a/f0", 1, 0, 3 * (size_t)MIB));
	UNTIL(srv_fds(s) <= fds + 16); /* idle pipes are kept */
	free(buf);
	cl_free(other);
	srv_free(s);
}
