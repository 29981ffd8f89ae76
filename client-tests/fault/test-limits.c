/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits: many connections, no descriptors, peers that take and give nothing, a greedy one. What
 * they cost is bounded, and a modest client is served.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

#define MIB (1u << 20)

static struct srv *
bed(const struct rlimit *nofile, const char *const *options)
{
	struct srv *s = srv_new();

	srv_mkdir(s, "a");
	pattern_file(srv_path(s, "a/big"), 1, 4 * MIB);
	pattern_file(srv_path(s, "a/other"), 2, 8192);
	if (nofile)
		s->nofile = *nofile;
	srv_start(s, options, "a", NULL);
	return s;
}

static nfs_fh3
handle(struct srv *s, struct cl *c, const char *path)
{
	return cl_handle(c, srv_path(s, "a"), path);
}

/* The descriptors of this test program must suffice for so many connections. */
static unsigned
can_open(unsigned want)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	return r.rlim_cur < want + 64 ? (unsigned)r.rlim_cur - 64 : want;
}

/* 2,000 idle connections cost at most 8 KiB of the server's memory each, and it still answers. */
TEST(limits, an_idle_connection_is_cheap)
{
	struct srv *s = bed(NULL, NULL);
	unsigned n = can_open(check_full() ? 10000 : 2000);
	struct cl **c = calloc(n, sizeof(struct cl *));
	struct cl *other = srv_client(s);
	nfs_fh3 big = handle(s, other, "big");
	unsigned fds = srv_fds(s);
	long before = srv_rss_kib(s);

	for (unsigned i = 0; i < n; i++)
		c[i] = srv_client(s);
	UNTIL(srv_fds(s) >= fds + n);
	if (!under_sanitizer())
		CU_ASSERT(srv_rss_kib(s) - before <= 8 * (long)n);
	CU_ASSERT_EQUAL(cl_getattr(other, &big, NULL), NFS3_OK);
	for (unsigned i = 0; i < n; i++)
		cl_free(c[i]);
	UNTIL(srv_fds(s) <= fds);
	cl_free(other);
	free(c);
	srv_free(s);
}

/* Out of descriptors the server does not spin, serves those it has (also a file not yet open), and
 * takes new connections when descriptors are free again. */
TEST(limits, without_descriptors_it_rests_and_recovers)
{
	struct rlimit few = {64, 64};
	struct srv *s = bed(&few, (const char *[]){"-j1", "-zalways", NULL});
	struct cl *old = srv_client(s), *c[300];
	nfs_fh3 big = handle(s, old, "big"), late;
	READ3res r;

	CU_ASSERT_EQUAL(cl_read(old, &big, 0, 65536, &r), NFS3_OK);
	for (size_t i = 0; i < 300; i++)
		c[i] = cl_try(s->port, 0);
	UNTIL(srv_said(s, "cannot accept connections for now"));
	double cpu = srv_cpu(s), began = now_s();
	while (now_s() - began < 2)
		CU_ASSERT_EQUAL_FATAL(cl_getattr(old, &big, NULL), NFS3_OK);
	double busy = srv_cpu(s);
	began = now_s();
	while (now_s() - began < 1.5) /* nobody asks for anything now */
		pause_briefly();
	if (!under_sanitizer())
		CU_ASSERT(srv_cpu(s) - busy < 0.15);
	CU_ASSERT(busy >= cpu);
	CU_ASSERT_EQUAL(cl_read(old, &big, 100, MIB, &r), NFS3_OK);
	CU_ASSERT_TRUE(pattern_is(1, 100, r.READ3res_u.resok.data.base, r.READ3res_u.resok.count));
	for (size_t i = 0; i < 300; i++)
		cl_free(c[i]);
	struct cl *new = srv_client(s);
	late = handle(s, new, "other");
	CU_ASSERT_EQUAL(cl_read(new, &late, 0, 8192, &r), NFS3_OK);
	cl_free(new);
	cl_free(old);
	srv_free(s);
}

/* Connections that never showed a handle and do nothing make room when descriptors run out: a new
 * client gets in although nobody leaves. */
TEST(limits, strangers_make_room)
{
	struct rlimit few = {64, 64};
	struct srv *s = bed(&few, (const char *[]){"-j1", NULL});
	struct cl *strangers[100];

	for (size_t i = 0; i < 100; i++)
		strangers[i] = cl_try(s->port, 0);
	struct cl *c = NULL;
	nfs_fh3 root;
	int got = -1;

	/* one that was accepted only to be told so tries again, as clients do */
	UNTIL((cl_free(c), c = cl_try(s->port, 0),
	       got = c ? cl_mnt(c, srv_path(s, "a"), &root) : -1, got == MNT3_OK));
	CU_ASSERT_EQUAL(cl_getattr(c, &root, NULL), NFS3_OK);
	for (size_t i = 0; i < 100; i++)
		cl_free(strangers[i]);
	cl_free(c);
	srv_free(s);
}

/* ---- peers that take and give nothing ---- */

static struct cl *
zero_window_reader(struct srv *s, const nfs_fh3 *fh, int reads)
{
	struct cl *c = cl_new(s->port, 4096);
	char calls[64 * 256];
	size_t n = 0;

	for (int i = 0; i < reads; i++)
		n += cl_build_read(calls + n, (uint32_t)i, fh, 0, MIB);
	cl_send(c, calls, n);
	return c;
}

/* Peers that each want 8 MiB and read nothing, and peers that send a byte of a large record and no
 * more: the server's memory stays within its budget of a few MiB for each, and a normal client is
 * served. */
TEST(limits, takers_that_give_nothing_are_bounded)
{
	struct srv *s = bed(NULL, (const char *[]){"-j1", NULL});
	unsigned deaf = check_full() ? 500 : 60, mute = check_full() ? 1000 : 300;
	struct cl **c = calloc(deaf + mute, sizeof(struct cl *)), *other = srv_client(s);
	nfs_fh3 big = handle(s, other, "big");
	long before = srv_anon_kib(s);
	READ3res r;

	can_open(deaf + mute);
	for (unsigned i = 0; i < deaf; i++)
		c[i] = zero_window_reader(s, &big, 8);
	for (unsigned i = 0; i < mute; i++) {
		c[deaf + i] = srv_client(s);
		cl_send(c[deaf + i], "\200\17\377\377a", 5); /* 1 MiB announced, a byte sent */
	}
	for (int i = 0; i < 300; i++)
		CU_ASSERT_EQUAL_FATAL(cl_read(other, &big, (uint64_t)i * 8192, 8192, &r), NFS3_OK);
	double began = now_s(); /* pipes behind stalled peers become memory after a second or two */
	long most = 0;

	while (now_s() - began < 4) {
		long now = srv_anon_kib(s);

		most = now > most ? now : most;
		CU_ASSERT_EQUAL_FATAL(cl_getattr(other, &big, NULL), NFS3_OK);
		pause_briefly();
	}
	if (!under_sanitizer())
		CU_ASSERT(most - before < 3 * 1024 * (long)deaf + 8 * (long)mute + 4096);
	for (unsigned i = 0; i < deaf + mute; i++)
		cl_free(c[i]);
	CU_ASSERT_EQUAL(cl_read(other, &big, 0, MIB, &r), NFS3_OK);
	cl_free(other);
	free(c);
	srv_free(s);
}

/* A peer that sends small calls without end and reads no reply is not read from any more before its
 * replies take much memory: each waits in a block of its own, far larger than itself. */
TEST(limits, small_replies_unread_are_bounded)
{
	struct srv *s = bed(NULL, (const char *[]){"-j1", NULL});
	struct cl *c = cl_new(s->port, 4096), *other = srv_client(s);
	nfs_fh3 big = handle(s, other, "big");
	long before = srv_anon_kib(s);
	char calls[64 * 256];
	size_t n = 0, sent = 0;

	for (uint32_t i = 0; i < 64; i++)
		n += cl_build_getattr(calls + n, i, &big);
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	/* until the server has stopped reading and both socket buffers are full */
	for (int full = 0; full < 200 && sent < 256 * (size_t)MIB;) {
		ssize_t k = send(c->fd, calls + sent % n, n - sent % n, MSG_NOSIGNAL);

		if (k > 0) {
			sent += (size_t)k;
			full = 0;
		} else {
			CU_ASSERT_FATAL(errno == EAGAIN);
			full++;
			pause_briefly();
		}
	}
	CU_ASSERT(sent < 64 * (size_t)MIB);
	if (!under_sanitizer())
		CU_ASSERT(srv_anon_kib(s) - before < 16 * 1024);
	CU_ASSERT_EQUAL(cl_getattr(other, &big, NULL), NFS3_OK);
	cl_free(c);
	cl_free(other);
	srv_free(s);
}

/* ---- a greedy one ---- */

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct greedy {
	struct cl *c;
	nfs_fh3 fh;
	int stop;
};

/* 64 READs of 1 MiB always outstanding, read as fast as they come. */
static void *
be_greedy(void *arg)
{
	struct greedy *g = arg;
	char *sink = malloc(MIB);
	ssize_t n;

	for (int i = 0; i < 64; i++)
		cl_call_read(g->c, &g->fh, 0, MIB);
	for (size_t got = 0; (n = recv(g->c->fd, sink, MIB, 0)) > 0;) {
		if (__atomic_load_n(&g->stop, __ATOMIC_RELAXED))
			break;
		for (got += (size_t)n; got >= MIB; got -= MIB)
			cl_call_read(g->c, &g->fh, 0, MIB);
	}
	free(sink);
	return NULL;
}

/* Beside a client with 64 READs of 1 MiB in flight, another's GETATTRs on the same loop are
 * answered soon. */
TEST(limits, a_greedy_client_does_not_starve_a_modest_one)
{
	enum { N = 500 };
	struct srv *s = bed(NULL, (const char *[]){"-j1", NULL});
	struct cl *modest = srv_client(s);
	struct greedy g = {.c = srv_client(s), .fh = handle(s, modest, "big")};
	double took[N];
	pthread_t t;

	CU_ASSERT_FATAL(pthread_create(&t, NULL, be_greedy, &g) == 0);
	for (int i = 0; i < N; i++) {
		double began = now_s();

		CU_ASSERT_EQUAL_FATAL(cl_getattr(modest, &g.fh, NULL), NFS3_OK);
		took[i] = now_s() - began;
	}
	__atomic_store_n(&g.stop, 1, __ATOMIC_RELAXED);
	shutdown(g.c->fd, SHUT_RDWR);
	pthread_join(t, NULL);
	qsort(took, N, sizeof *took, compare_doubles);
	CU_ASSERT(took[N * 99 / 100] < 0.05);
	cl_free(g.c);
	cl_free(modest);
	srv_free(s);
}

/* A storm of connections that come and go, some in the middle of a call, leaves nothing behind. */
TEST(limits, a_storm_of_connections_leaves_nothing)
{
	struct srv *s = bed(NULL, NULL);
	struct cl *other = srv_client(s);
	nfs_fh3 big = handle(s, other, "big");
	unsigned fds = srv_fds(s), n = check_full() ? 50000 : 3000;
	char call[CL_CALL_MAX];
	size_t len = cl_build_getattr(call, 1, &big);

	for (unsigned i = 0; i < n; i++) {
		struct cl *c = srv_client(s);

		if (i % 4)
			cl_send(c, call, i % 4 == 1 ? len / 2 : len);
		if (i % 8 == 3)
			CU_ASSERT_TRUE(cl_recv(c));
		if (i % 3)
			cl_reset(c);
		else
			cl_free(c);
	}
	CU_ASSERT_EQUAL(cl_getattr(other, &big, NULL), NFS3_OK);
	UNTIL(srv_fds(s) <= fds);
	cl_free(other);
	srv_free(s);
}
