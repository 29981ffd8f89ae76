/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records and headers: what is no call ends its connection and nothing else, what is a call is
 * answered once, however it is cut and whatever it asks for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server.h"

static struct srv *
bed(void)
{
	struct srv *s = srv_new();

	srv_mkdir(s, "a");
	pattern_file(srv_path(s, "a/big"), 1, 65536);
	srv_start(s, NULL, "a", NULL);
	return s;
}

static nfs_fh3
handle(struct srv *s, struct cl *c, const char *path)
{
	return cl_handle(c, srv_path(s, "a"), path);
}

/* Is a connection on which this was sent closed by the server, without an answer? */
static bool
is_closed_after(struct srv *s, const void *bytes, size_t n)
{
	struct cl *c = srv_client(s);
	char one;

	cl_send(c, bytes, n);
	ssize_t k = recv(c->fd, &one, 1, 0); /* 0 or a reset; -1 with EAGAIN after CL_SECONDS */
	bool closed = k == 0 || (k < 0 && errno == ECONNRESET);

	cl_free(c);
	return closed;
}

/* Record marks of every wrong size end their connection at once and cost nothing: no memory, no
 * time, and others are served. */
TEST(records, bad_record_marks_end_their_connection_only)
{
	static const unsigned char marks[][12] = {
	    {0x80, 0, 0, 0},
	    {0x80, 0, 0, 1, 0},
	    {0x80, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7},
	    {0x80, 0x20, 0, 0},
	    {0x7f, 0xff, 0xff, 0xff},
	    {0xff, 0xff, 0xff, 0xff},
	    {0x80, 0, 0, 8, 0, 0, 0, 1},
	    {'G', 'E', 'T', ' '},
	};
	struct srv *s = bed();
	struct cl *other = srv_client(s);
	nfs_fh3 big = handle(s, other, "big");
	long before = srv_rss_kib(s);

	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
			CU_ASSERT_TRUE(is_closed_after(s, marks[i], sizeof marks[i]));
	if (!under_sanitizer())
		CU_ASSERT(srv_rss_kib(s) - before < 1024);
	CU_ASSERT_EQUAL(cl_getattr(other, &big, NULL), NFS3_OK);
	cl_free(other);
	srv_free(s);
}

/* 64 fragments make a record; one more, or a long run of empty ones, ends the connection. */
TEST(records, fragments_are_bounded)
{
	struct srv *s = bed();
	struct cl *c = srv_client(s);
	nfs_fh3 big = handle(s, c, "big");
	char call[CL_CALL_MAX], cut[8 * CL_CALL_MAX];
	size_t n = cl_build_getattr(call, 5, &big), at = 0;
	static const char empty[4 * 10000];

	for (size_t i = 4; i < n; i++) { /* a byte each, but for the last: the rest */
		bool last = i - 4 == 63;
		size_t k = last ? n - i : 1;

		memcpy(cut + at, (char[]){(char)(last ? 0x80 : 0), 0, 0, (char)k}, 4);
		memcpy(cut + at + 4, call + i, k);
		at += 4 + k;
		if (last)
			break;
	}
	cl_send(c, cut, at);
	CU_ASSERT_TRUE_FATAL(cl_recv(c));
	CU_ASSERT_EQUAL(cl_xid(c), 5);
	cut[63 * 5] = 0; /* the last one is not the last any more, and another follows */
	memcpy(cut + at, "\200\0\0\1x", 5);
	CU_ASSERT_TRUE(is_closed_after(s, cut, at + 5));
	CU_ASSERT_TRUE(is_closed_after(s, empty, sizeof empty));
	cl_free(c);
	srv_free(s);
}

/* What the server does not offer is answered exactly, and the connection stays usable: unknown
 * programs, versions and procedures, RPC versions, credentials. */
TEST(records, unknown_programs_keep_the_connection)
{
	static const struct {
		uint32_t prog, vers, proc;
		int verdict;
	} calls[] = {{100227, 3, 0, PROG_UNAVAIL},  {100003, 2, 0, PROG_MISMATCH},
		     {100003, 4, 0, PROG_MISMATCH}, {100005, 4, 0, PROG_MISMATCH},
		     {100003, 3, 22, PROC_UNAVAIL}, {100003, 3, 999, PROC_UNAVAIL},
		     {100021, 4, 0, PROG_UNAVAIL},  {100003, 3, 0, SUCCESS},
		     {100005, 3, 0, SUCCESS},	    {100005, 1, 0, SUCCESS}};
	struct srv *s = bed();
	struct cl *c = srv_client(s);
	char call[CL_CALL_MAX];
	size_t off, n;

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		cl_call(c, calls[i].prog, calls[i].vers, calls[i].proc, NULL, NULL);
		CU_ASSERT_TRUE_FATAL(cl_recv(c));
		CU_ASSERT_EQUAL(cl_xid(c), c->xid);
		CU_ASSERT_EQUAL(cl_verdict(c, &off), calls[i].verdict);
	}
	n = cl_build(call, 900, NFS_PROGRAM, NFS_V3, 0, NULL, NULL);
	call[4 + 11] = 3; /* RPC version */
	cl_send(c, call, n);
	CU_ASSERT_TRUE_FATAL(cl_recv(c));
	CU_ASSERT_EQUAL(cl_verdict(c, &off), 200);
	call[4 + 11] = 2;
	call[4 + 27] = 6; /* RPCSEC_GSS */
	cl_send(c, call, n);
	CU_ASSERT_TRUE_FATAL(cl_recv(c));
	CU_ASSERT_EQUAL(cl_verdict(c, &off), 100 + AUTH_REJECTEDCRED);
	call[4 + 27] = 1;
	cl_send(c, call, n);
	CU_ASSERT_TRUE_FATAL(cl_recv(c));
	CU_ASSERT_EQUAL(cl_verdict(c, &off), SUCCESS);
	cl_free(c);
	srv_free(s);
}

/* 256 calls in one write, and one call byte by byte: one reply for each. */
TEST(records, one_reply_for_each_call_however_it_is_cut)
{
	struct srv *s = bed();
	struct cl *c = srv_client(s);
	nfs_fh3 big = handle(s, c, "big");
	char *many = malloc(256 * CL_CALL_MAX);
	bool seen[256] = {false};
	size_t n = 0;

	for (uint32_t i = 0; i < 256; i++)
		n += cl_build_getattr(many + n, 1000 + i, &big);
	cl_send(c, many, n);
	for (int i = 0; i < 256; i++) {
		CU_ASSERT_TRUE_FATAL(cl_recv(c));
		CU_ASSERT_FATAL(cl_xid(c) >= 1000 && cl_xid(c) < 1256);
		CU_ASSERT_FALSE(seen[cl_xid(c) - 1000]);
		seen[cl_xid(c) - 1000] = true;
	}
	n = cl_build_getattr(many, 5, &big);
	for (size_t i = 0; i < n; i++)
		cl_send(c, many + i, 1);
	CU_ASSERT_TRUE_FATAL(cl_recv(c));
	CU_ASSERT_EQUAL(cl_xid(c), 5);
	free(many);
	cl_free(c);
	srv_free(s);
}
