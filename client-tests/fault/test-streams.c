/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams: whatever a peer does to its connection, every record that reaches anybody is whole, in
 * sync and its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"

#define MIB (1u << 20)
#define ALWAYS ((const char *[]){"-j1", "-zalways", NULL})

/* A server with one export "a" that holds "big", 4 MiB of pattern 1, and "small", 5 bytes of
 * pattern 2. */
static struct srv *
bed(const char *const *options)
{
	struct srv *s = srv_new();

	srv_mkdir(s, "a");
	pattern_file(srv_path(s, "a/big"), 1, 4 * MIB);
	pattern_file(srv_path(s, "a/small"), 2, 5);
	srv_start(s, options, "a", NULL);
	return s;
}

static nfs_fh3
handle(struct srv *s, struct cl *c, const char *path)
{
	return cl_handle(c, srv_path(s, "a"), path);
}

/* A client that has sent half a call, and one that does not read what it asked for, delay nobody
 * else on the same loop; both get their answers when they go on. */
TEST(streams, stalled_peers_hold_up_nobody)
{
	struct srv *s = bed(ALWAYS);
	struct cl *half = srv_client(s), *deaf = cl_new(s->port, 4096), *other = srv_client(s);
	nfs_fh3 big = handle(s, other, "big");
	char call[CL_CALL_MAX];
	size_t n = cl_build_getattr(call, 77, &big);
	READ3res r;

	cl_send(half, call, 10);
	for (int i = 0; i < 60; i++)
		cl_call_read(deaf, &big, 0, MIB);
	for (int i = 0; i < 50; i++) {
		CU_ASSERT_EQUAL(cl_getattr(other, &big, NULL), NFS3_OK);
		CU_ASSERT_EQUAL(cl_read(other, &big, (uint64_t)i * 4096, 65536, &r), NFS3_OK);
	}
	cl_send(half, call + 10, n - 10);
	CU_ASSERT_TRUE_FATAL(cl_recv(half));
	CU_ASSERT_EQUAL(cl_xid(half), 77);
	for (int i = 0; i < 60; i++) {
		CU_ASSERT_TRUE_FATAL(cl_recv(deaf));
		CU_ASSERT_EQUAL(cl_read_results(deaf, &r), NFS3_OK);
		CU_ASSERT_TRUE(pattern_is(1, 0, r.READ3res_u.resok.data.base, MIB));
	}
	cl_free(half);
	cl_free(deaf);
	cl_free(other);
	srv_free(s);
}

/* ---- a peer that sips ---- */

#define SIPS 200

struct sip { /* what call number xid asked for; count 0: attributes */
	uint64_t off;
	uint32_t count;
};

static void
send_mixture(struct cl *c, const nfs_fh3 *big, struct sip *want)
{
	for (unsigned i = 1; i <= SIPS; i++) {
		want[i].off = (uint64_t)random() % (4 * MIB);
		want[i].count = i % 4 == 0 ? 0 : 1 + (uint32_t)random() % 100000;
		if (want[i].count)
			cl_call_read(c, big, want[i].off, want[i].count);
		else
			cl_call_getattr(c, big);
	}
}

static void
check_mixture(struct cl *c, const struct sip *want)
{
	uint32_t xid = cl_xid(c);
	GETATTR3res g;
	READ3res r;

	CU_ASSERT_FATAL(xid >= 1 && xid <= SIPS);
	if (want[xid].count == 0) {
		CU_ASSERT_TRUE(cl_results(c, (xdrproc_t)xdr_GETATTR3res, &g, sizeof g));
		CU_ASSERT_EQUAL(g.GETATTR3res_u.resok.obj_attributes.size, 4 * MIB);
		return;
	}
	CU_ASSERT_EQUAL(cl_read_results(c, &r), NFS3_OK);
	const READ3resok *ok = &r.READ3res_u.resok;
	uint64_t left = 4 * MIB - want[xid].off;

	CU_ASSERT_EQUAL(ok->count, left < want[xid].count ? left : want[xid].count);
	CU_ASSERT_EQUAL(ok->eof, want[xid].off + ok->count == 4 * MIB);
	CU_ASSERT_TRUE(pattern_is(1, want[xid].off, ok->data.base, ok->count));
}

/* Takes the next n bytes of the stream at most 3000 at a time, and now and then none for a while,
 * so that the socket fills. */
static bool
sip(struct cl *c, char *to, size_t n)
{
	while (n > 0) {
		size_t k = 1 + (size_t)random() % 3000;

		k = k < n ? k : n;
		if (!cl_bytes(c, to, k))
			return false;
		to += k;
		n -= k;
	}
	return true;
}

/* 200 READs and GETATTRs pipelined by a peer with a tiny window that sips: each reply comes once,
 * whole, with the bytes asked for. In every way of sending. */
static void
sip_with(const char *mode)
{
	struct srv *s = bed((const char *[]){"-j1", mode, NULL});
	struct cl *c = cl_new(s->port, 4096), *first = srv_client(s);
	nfs_fh3 big = handle(s, first, "big");
	struct sip want[SIPS + 1];
	bool seen[SIPS + 1] = {false};
	char mark[4];

	srandom(1);
	send_mixture(c, &big, want);
	c->buf = malloc(c->cap = MIB);
	for (unsigned i = 0; i < SIPS; i++) {
		CU_ASSERT_TRUE_FATAL(sip(c, mark, 4));
		c->len = ((size_t)(mark[1] & 0xff) << 16) | (size_t)(mark[2] & 0xff) << 8 |
			 (size_t)(mark[3] & 0xff);
		CU_ASSERT_FATAL((mark[0] & 0xff) == 0x80 && c->len <= c->cap);
		CU_ASSERT_TRUE_FATAL(sip(c, c->buf, c->len));
		check_mixture(c, want);
		CU_ASSERT_FALSE(seen[cl_xid(c)]);
		seen[cl_xid(c)] = true;
	}
	cl_free(c);
	cl_free(first);
	srv_free(s);
}

TEST(streams, a_sipping_peer_gets_every_record_spliced)
{
	sip_with("-zalways");
}

TEST(streams, a_sipping_peer_gets_every_record_copied)
{
	sip_with("-znever");
}

TEST(streams, a_sipping_peer_gets_every_record_of_both_kinds)
{
	sip_with("-zauto");
}

/* Connections that die with replies half sent leave nothing behind that reaches another client:
 * what others read of another file is that file. The server's descriptors come back too. */
TEST(streams, a_dead_peers_bytes_reach_nobody)
{
	struct srv *s = bed(ALWAYS);
	struct cl *other = srv_client(s);
	nfs_fh3 big = handle(s, other, "big"), mine;
	READ3res r;

	pattern_file(srv_path(s, "a/mine"), 3, 2 * MIB);
	mine = handle(s, other, "mine");
	CU_ASSERT_EQUAL(cl_read(other, &mine, 0, 4096, &r), NFS3_OK);
	for (int i = 0; i < 40; i++) {
		struct cl *c = cl_new(s->port, 4096);
		char some[5000];

		for (int k = 0; k < 6; k++)
			cl_call_read(c, &big, 0, MIB);
		CU_ASSERT_TRUE(cl_bytes(c, some, sizeof some));
		if (i % 2)
			cl_reset(c);
		else
			cl_free(c);
		uint64_t off = (uint64_t)i * 12345;
		CU_ASSERT_EQUAL_FATAL(cl_read(other, &mine, off, 200000, &r), NFS3_OK);
		CU_ASSERT_TRUE(
		    pattern_is(3, off, r.READ3res_u.resok.data.base, r.READ3res_u.resok.data.len));
	}
	/* standard 3, loops, state, listener, two files, this client, and up to 24 idle pipes */
	UNTIL(srv_fds(s) < 100);
	cl_free(other);
	srv_free(s);
}

/* A peer that resets while large READs are on their way, again and again, ends its connection and
 * nothing else. */
TEST(streams, resets_during_large_reads_are_survived)
{
	struct srv *s = bed(ALWAYS);
	struct cl *other = srv_client(s);
	nfs_fh3 big = handle(s, other, "big");

	for (int i = 0; i < 100; i++) {
		struct cl *c = srv_client(s);
		char some[64];

		for (int k = 0; k < 4; k++)
			cl_call_read(c, &big, 0, MIB);
		if (i % 3)
			CU_ASSERT_TRUE(cl_bytes(c, some, sizeof some));
		cl_reset(c);
	}
	CU_ASSERT_EQUAL(cl_getattr(other, &big, NULL), NFS3_OK);
	CU_ASSERT_TRUE(srv_alive(s));
	cl_free(other);
	srv_free(s);
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* No reply waits for a timer: not a READ of nothing, at the end, with a pad, of 1 MiB, nor one that
 * fails. (Bytes left corked wait 200 ms.) */
TEST(streams, no_reply_is_left_corked)
{
	static const struct {
		const char *file;
		uint64_t off;
		uint32_t count;
	} reads[] = {{"small", 0, 5}, {"small", 0, 3}, {"small", 5, 10}, {"big", 0, 4096},
		     {"big", 0, 0},   {"big", 1, MIB}, {".", 0, 100},	 {"big", 4 * MIB - 1, 9}};
	struct srv *s = bed(ALWAYS);
	struct cl *c = srv_client(s);

	for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
		nfs_fh3 fh = handle(s, c, reads[i].file);
		double took[20];
		READ3res r;

		for (int k = 0; k < 20; k++) {
			double began = now_s();

			CU_ASSERT_NOT_EQUAL_FATAL(cl_read(c, &fh, reads[i].off, reads[i].count, &r),
						  -1);
			took[k] = now_s() - began;
		}
		qsort(took, 20, sizeof *took, compare_doubles);
		CU_ASSERT(took[10] < 0.1);
	}
	cl_free(c);
	srv_free(s);
}

/* Every reply is one record of one fragment, whatever its size. (cl_recv refuses a second
 * fragment.) */
TEST(streams, every_reply_is_one_fragment)
{
	static const uint32_t counts[] = {65531, 65532, 65536, 262140, 262144, MIB - 1, MIB};
	static const char *const modes[] = {"-zalways", "-znever", "-zauto"};

	for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
		struct srv *s = bed((const char *[]){modes[m], NULL});
		struct cl *c = srv_client(s);
		nfs_fh3 big = handle(s, c, "big");
		READ3res r;

		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
			CU_ASSERT_EQUAL_FATAL(cl_read(c, &big, 7, counts[i], &r), NFS3_OK);
			const READ3resok *ok = &r.READ3res_u.resok;
			/* from an odd offset 1 MiB touches a page more than fits a pipe */
			CU_ASSERT(ok->count <= counts[i] && ok->count > counts[i] - 4096);
			CU_ASSERT_TRUE(pattern_is(1, 7, ok->data.base, ok->count));
		}
		cl_free(c);
		srv_free(s);
	}
}

/* ---- a file that changes while it is read ---- */

/* One thing that somebody does to the file while it is read; n counts up. */
static void
disturb(int fd, unsigned n)
{
	static const off_t sizes[] = {MIB, 4096, 0, MIB, 70000, 1, MIB - 3};

	if (n % 5 == 4) {
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(n % 200) * 4096,
			  65536);
		return;
	}
	off_t size = sizes[n % (sizeof sizes / sizeof *sizes)];

	CU_ASSERT_EQUAL(ftruncate(fd, size), 0);
	if (size > 0 && n % 2)
		CU_ASSERT(pwrite(fd, "data", 4, size - 1) > 0);
}

/* However a file is cut, extended and punched while 16 connections read it, every reply's lengths
 * agree and the next reply is found where this one ends. A connection that had to be given up is
 * opened again. */
static void
race(struct srv *s, const char *file)
{
	struct cl *c[16];
	struct cl *first = srv_client(s);
	nfs_fh3 fh = handle(s, first, file);
	unsigned rounds = check_full() ? 20000 : 1500, lost = 0;
	char path[300];

	snprintf(path, sizeof path, "a/%s", file);
	int fd = open(srv_path(s, path), O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 16; i++)
		c[i] = srv_client(s);
	for (unsigned n = 0; n < rounds; n++) {
		struct cl **me = &c[n % 16];
		READ3res r;

		for (uint32_t k = 0; k < 4; k++)
			cl_call_read(*me, &fh, k * 70001, k % 2 ? MIB : 40000);
		disturb(fd, n);
		for (int k = 0; k < 4; k++) {
			if (!cl_recv(*me)) {
				lost++;
				cl_free(*me);
				*me = srv_client(s);
				break;
			}
			int status = cl_read_results(*me, &r);

			CU_ASSERT_FATAL(status == NFS3_OK || status == NFS3ERR_JUKEBOX);
		}
	}
	CU_ASSERT_EQUAL(lost, 0);
	for (int i = 0; i < 16; i++)
		cl_free(c[i]);
	cl_free(first);
	close(fd);
}

TEST(streams, a_changing_file_never_breaks_a_stream)
{
	struct srv *s = bed(ALWAYS);

	pattern_file(srv_path(s, "a/changing"), 4, MIB);
	race(s, "changing");
	srv_free(s);
}

TEST(streams, a_changing_file_never_breaks_a_stream_on_ext4)
{
	struct srv *s = srv_new();

	srv_ext4(s, "a", 64);
	pattern_file(srv_path(s, "a/changing"), 4, MIB);
	srv_start(s, (const char *[]){"-j2", "-zalways", NULL}, "a", NULL);
	race(s, "changing");
	srv_free(s);
}

/* A READ that was promised but not yet sent when the file was cut still sends what it promised, or
 * closes: the peer with the tiny window finds whole records only. */
TEST(streams, a_promised_length_is_kept)
{
	struct srv *s = bed(ALWAYS);
	struct cl *slow = cl_new(s->port, 4096), *other = srv_client(s);
	nfs_fh3 big = handle(s, other, "big");
	char head[100];
	READ3res r;

	for (int i = 0; i < 8; i++)
		cl_call_read(slow, &big, (uint64_t)i * 300000, MIB);
	CU_ASSERT_EQUAL(recv(slow->fd, head, sizeof head, MSG_PEEK | MSG_WAITALL), sizeof head);
	CU_ASSERT_EQUAL(truncate(srv_path(s, "a/big"), 4096), 0);
	CU_ASSERT_EQUAL(cl_getattr(other, &big, NULL), NFS3_OK);
	for (int i = 0; i < 8; i++) {
		CU_ASSERT_TRUE_FATAL(cl_recv(slow));
		CU_ASSERT_EQUAL(cl_read_results(slow, &r), NFS3_OK);
	}
	cl_free(slow);
	cl_free(other);
	srv_free(s);
}
