/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sender against a real TCP connection: whatever mixture of bytes, file spans and full pipes is
 * queued, and however slowly the peer reads, the peer gets exactly the queued bytes in order; a
 * span that cannot be had leaves the queue whole.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buf.h"
#include "check.h"
#include "reply.h"

#define FILE_BYTES (3u << 20)
#define MAXR 400

struct bed {
	int srv, cli, file;
	char *content; /* of the file */
	struct pipe_stock stock;
	struct pipes pipes;
	struct sender out;
	struct replies done, redo;
	struct send_ctx x;
	struct reply r[MAXR];
	char *want; /* what the peer must receive */
	size_t nwant, cap;
	char *got;
	size_t ngot;
};

static void
tcp_pair(struct bed *b, int sndbuf)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	CU_ASSERT_FATAL(bind(l, (struct sockaddr *)&a, n) == 0 && listen(l, 1) == 0);
	getsockname(l, (struct sockaddr *)&a, &n);
	b->cli = socket(AF_INET, SOCK_STREAM, 0);
	if (sndbuf)
		setsockopt(b->cli, SOL_SOCKET, SO_RCVBUF, &sndbuf, sizeof sndbuf);
	CU_ASSERT_FATAL(connect(b->cli, (struct sockaddr *)&a, n) == 0);
	b->srv = accept4(l, NULL, NULL, SOCK_NONBLOCK);
	fcntl(b->cli, F_SETFL, O_NONBLOCK);
	if (sndbuf)
		setsockopt(b->srv, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof sndbuf);
	setsockopt(b->srv, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	close(l);
}

static void
bed_make(struct bed *b, int sndbuf)
{
	char name[] = "/tmp/test-reply.XXXXXX";

	memset(b, 0, sizeof *b);
	tcp_pair(b, sndbuf);
	b->file = mkstemp(name);
	unlink(name);
	b->content = malloc(FILE_BYTES);
	for (size_t i = 0; i < FILE_BYTES; i++)
		b->content[i] = (char)(i * 2654435761u >> 13);
	CU_ASSERT_FATAL(write(b->file, b->content, FILE_BYTES) == FILE_BYTES);
	pipe_stock_init(&b->stock, NULL);
	pipes_init(&b->pipes, &b->stock, 4);
	sender_init(&b->out);
	replies_init(&b->done);
	replies_init(&b->redo);
	b->x = (struct send_ctx){.pipes = &b->pipes,
				 .quantum = 2u << 20,
				 .max_pipes = 8,
				 .done = &b->done,
				 .redo = &b->redo,
				 .redo_room = 1u << 20};
	b->cap = 64u << 20;
	b->want = malloc(b->cap);
	b->got = malloc(b->cap);
}

static void
bed_free(struct bed *b)
{
	struct replies left;

	replies_init(&left);
	sender_fini(&b->out, &b->pipes, &left);
	pipes_fini(&b->pipes);
	CU_ASSERT_EQUAL(b->pipes.nout, 0);
	pipe_stock_fini(&b->stock);
	CU_ASSERT_EQUAL(b->stock.slots, 0);
	CU_ASSERT_EQUAL(budget_used(), 0);
	close(b->srv);
	close(b->cli);
	close(b->file);
	free(b->content);
	free(b->want);
	free(b->got);
}

static void
expect(struct bed *b, const void *p, size_t n)
{
	CU_ASSERT_FATAL(b->nwant + n <= b->cap);
	memcpy(b->want + b->nwant, p, n);
	b->nwant += n;
}

/* Queues reply i: a head of h bytes and a body of n bytes at off of the file, as a span, or copied,
 * or (full) as a pipe that a worker has filled. */
static void
queue_any(struct bed *b, unsigned i, size_t h, off_t off, size_t n, int span, struct pipe *full)
{
	struct reply *r = &b->r[i];
	char *head = malloc(h + 1);

	for (size_t k = 0; k < h; k++)
		head[k] = (char)(i * 31 + k);
	*r = (struct reply){.head = head, .headlen = h, .pad = (unsigned)(-n & 3)};
	r->body.len = (u_int)n;
	r->body.fd = span ? b->file : -1;
	r->body.off = off;
	r->body.base = span ? NULL : b->content + off;
	if (full) {
		r->body.fd = full->r;
		r->body.off = -1;
		r->full_pipe = full;
	}
	expect(b, head, h);
	expect(b, b->content + off, n);
	expect(b, "\0\0\0", r->pad);
	sender_queue(&b->out, r);
}

static void
queue(struct bed *b, unsigned i, size_t h, off_t off, size_t n, int span)
{
	queue_any(b, i, h, off, n, span, NULL);
}

static void
queue_full(struct bed *b, unsigned i, size_t h, off_t off, size_t n)
{
	struct pipe *p = pipes_take(&b->pipes);
	loff_t at = off;

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	CU_ASSERT_FATAL(splice(b->file, &at, p->w, NULL, n, 0) == (ssize_t)n);
	p->bytes = n;
	p->used = p->slots;
	queue_any(b, i, h, off, n, 1, p);
}

static void
reap(struct bed *b)
{
	struct reply *r;

	while ((r = replies_take(&b->done)))
		free((char *)(uintptr_t)r->head);
}

/* Reads at most n bytes that are there now. */
static void
receive(struct bed *b, size_t n)
{
	if (n > b->cap - b->ngot)
		n = b->cap - b->ngot;
	ssize_t k = recv(b->cli, b->got + b->ngot, n, 0);
	if (k > 0)
		b->ngot += (size_t)k;
}

static void
wait_readable(struct bed *b)
{
	struct pollfd p = {.fd = b->cli, .events = POLLIN};

	CU_ASSERT_FATAL(poll(&p, 1, 10000) == 1);
}

/* Sends and receives until all is there, the peer reading `sip` bytes at a time. */
static void
run(struct bed *b, size_t sip)
{
	enum send_result sr;

	do {
		sr = sender_flush(&b->out, b->srv, &b->x);
		CU_ASSERT_FATAL(sr != SEND_BROKEN);
		reap(b);
		if (b->ngot < b->nwant && sr != SEND_AGAIN) {
			wait_readable(b);
			receive(b, sip);
		}
	} while (sr != SEND_IDLE || b->ngot < b->nwant);
	CU_ASSERT_EQUAL(b->ngot, b->nwant);
	CU_ASSERT(memcmp(b->got, b->want, b->nwant) == 0);
	CU_ASSERT_EQUAL(b->out.unsent, 0);
	CU_ASSERT_FALSE(b->out.corked);
}

/* Bytes, spans and both kinds interleaved, of every size around a page, arrive whole and in order.
 */
TEST(reply, mixture_arrives_in_order)
{
	static const size_t sizes[] = {0, 1, 2, 3, 4, 511, 4095, 4096, 4097, 8192, 65536, 1u << 20};
	struct bed *b = malloc(sizeof *b);
	unsigned i = 0;

	bed_make(b, 0);
	for (unsigned round = 0; round < 4; round++)
		for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++, i++)
			queue(b, i, 24 + i, (off_t)(i * 4099 % 100000), sizes[k],
			      (i + round) % 3 != 0);
	run(b, 1u << 20);
	CU_ASSERT(b->x.spliced > 0 && b->x.copied > 0);
	bed_free(b);
	free(b);
}

/* A peer that sips 1-3000 bytes with tiny socket buffers gets the same bytes: resuming never
 * repeats or skips. */
TEST(reply, slow_peer_gets_the_same_bytes)
{
	struct bed *b = malloc(sizeof *b);

	bed_make(b, 4096);
	srandom(7);
	for (unsigned i = 0; i < 120; i++)
		queue(b, i, 60 + (size_t)(random() % 100), random() % 100000,
		      (size_t)(random() % 30000), random() % 2 == 0);
	while (b->ngot < b->nwant) {
		enum send_result sr = sender_flush(&b->out, b->srv, &b->x);
		CU_ASSERT_FATAL(sr != SEND_BROKEN);
		reap(b);
		receive(b, (size_t)(1 + random() % 3000));
		if (random() % 50 == 0)
			CU_ASSERT_FATAL(sender_unpin(&b->out, &b->pipes) >= 0);
	}
	CU_ASSERT(memcmp(b->got, b->want, b->nwant) == 0);
	bed_free(b);
	free(b);
}

/* A pipe that a worker filled goes out after its head and is reused only drained. */
TEST(reply, full_pipe_joins_the_chain)
{
	struct bed *b = malloc(sizeof *b);

	bed_make(b, 0);
	for (unsigned i = 0; i < 20; i++)
		queue_full(b, i, 100, (off_t)i * 5000, 1 + i * 3001);
	run(b, 1u << 20);
	bed_free(b);
	free(b);
}

/* A span beyond the file's end (it shrank) leaves through redo; everything else of the batch
 * arrives, also what a worker had filled. */
TEST(reply, shrunk_file_is_taken_out_whole)
{
	struct bed *b = malloc(sizeof *b);

	bed_make(b, 0);
	queue(b, 0, 80, 0, 5000, 1);
	queue_full(b, 1, 90, 0, 9000);
	size_t keep = b->nwant;
	queue(b, 2, 100, 8192, 8192, 1);
	b->nwant = keep;
	b->r[2].body.off = FILE_BYTES - 100;
	queue(b, 3, 70, 0, 300, 0);
	run(b, 1u << 20);
	struct reply *r = replies_take(&b->redo);
	CU_ASSERT_PTR_EQUAL(r, &b->r[2]);
	CU_ASSERT_EQUAL(b->r[2].why, REDO_SHORT);
	CU_ASSERT_PTR_NULL(replies_take(&b->redo));
	free((char *)(uintptr_t)b->r[2].head);
	bed_free(b);
	free(b);
}

/* Bytes sent with MORE ahead of a span that then went away are pushed out, not corked for 200 ms.
 */
TEST(reply, no_cork_is_left_when_the_last_goes_away)
{
	struct bed *b = malloc(sizeof *b);

	bed_make(b, 0);
	queue(b, 0, 900, 0, 6000, 0);
	size_t keep = b->nwant;
	queue(b, 1, 100, 0, 8192, 1);
	b->nwant = keep;
	b->r[1].body.off = FILE_BYTES;
	run(b, 1u << 20);
	CU_ASSERT_PTR_EQUAL(replies_take(&b->redo), &b->r[1]);
	free((char *)(uintptr_t)b->r[1].head);
	bed_free(b);
	free(b);
}

/* This process gets no more descriptors, until the limit that was is set again. */
static struct rlimit
no_descriptors(void)
{
	struct rlimit old, none;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 3;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &none), 0);
	return old;
}

/* With no descriptor left for a pipe the span goes to redo, and bytes still flow. */
TEST(reply, without_pipes_spans_are_redone)
{
	struct bed *b = malloc(sizeof *b);

	bed_make(b, 0);
	queue(b, 0, 90, 0, 300, 0);
	size_t keep = b->nwant;
	queue(b, 1, 100, 0, 8192, 1);
	b->nwant = keep;
	struct rlimit old = no_descriptors();
	enum send_result sr = sender_flush(&b->out, b->srv, &b->x);
	setrlimit(RLIMIT_NOFILE, &old);
	CU_ASSERT_EQUAL(sr, SEND_IDLE);
	run(b, 1u << 20);
	CU_ASSERT_PTR_EQUAL(replies_take(&b->redo), &b->r[1]);
	CU_ASSERT_EQUAL(b->r[1].why, REDO_NOPIPE);
	free((char *)(uintptr_t)b->r[1].head);
	bed_free(b);
	free(b);
}

/* Without pipes only so many bytes become copies at once; the other spans wait for those copies,
 * which overtake them, and become copies when these are gone. */
TEST(reply, without_pipes_copies_are_bounded)
{
	struct bed *b = malloc(sizeof *b);

	bed_make(b, 0);
	for (unsigned i = 0; i < 3; i++)
		queue(b, i, 100, 0, 600000, 1);
	b->nwant = 0;
	struct rlimit old = no_descriptors();
	CU_ASSERT_EQUAL(sender_flush(&b->out, b->srv, &b->x), SEND_STARVED);
	CU_ASSERT_PTR_EQUAL(replies_take(&b->redo), &b->r[0]);
	CU_ASSERT_PTR_NULL(replies_take(&b->redo));
	/* the copy is there: it goes first, and while others are to come the rest waits */
	queue(b, 3, 100, 0, 5000, 0);
	b->x.redo_room = 0;
	CU_ASSERT_EQUAL(sender_flush(&b->out, b->srv, &b->x), SEND_STARVED);
	CU_ASSERT_PTR_EQUAL(b->done.first, &b->r[3]);
	CU_ASSERT_PTR_NULL(replies_take(&b->redo));
	/* nothing is to come: one goes whatever the room */
	b->x.awaiting = false;
	CU_ASSERT_EQUAL(sender_flush(&b->out, b->srv, &b->x), SEND_STARVED);
	CU_ASSERT_PTR_EQUAL(replies_take(&b->redo), &b->r[1]);
	CU_ASSERT_PTR_NULL(replies_take(&b->redo));
	setrlimit(RLIMIT_NOFILE, &old);
	/* and pipes again: no copy */
	b->x.plain = false;
	expect(b, b->r[2].head, 100);
	expect(b, b->content, 600000);
	queue(b, 4, 100, 0, 300, 0);
	run(b, 1u << 20);
	CU_ASSERT_PTR_NULL(replies_take(&b->redo));
	free((char *)(uintptr_t)b->r[0].head);
	free((char *)(uintptr_t)b->r[1].head);
	bed_free(b);
	free(b);
}

/* When the last pipe is full but for the pad and no other can be had, the span is redone, never the
 * bytes-only reply that rode ahead of it: that call is done, and must not be run twice. */
TEST(reply, only_a_span_is_ever_redone)
{
	struct bed *b = malloc(sizeof *b);
	struct pipe *p;

	bed_make(b, 0);
	p = pipes_take(&b->pipes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	size_t n =
	    (size_t)(p->slots - 1) * PIPE_SLOT - 1; /* one slot for the heads; one pad byte */
	pipes_give(&b->pipes, p);
	queue(b, 0, 90, 0, 30, 0);
	size_t keep = b->nwant;
	queue(b, 1, 100, 0, n, 1);
	b->nwant = keep;
	struct rlimit old = no_descriptors();
	enum send_result sr = sender_flush(&b->out, b->srv, &b->x);
	setrlimit(RLIMIT_NOFILE, &old);
	CU_ASSERT_EQUAL(sr, SEND_IDLE);
	CU_ASSERT_PTR_EQUAL(replies_take(&b->redo), &b->r[1]);
	CU_ASSERT_PTR_NULL(replies_take(&b->redo));
	free((char *)(uintptr_t)b->r[1].head);
	run(b, 1u << 20);
	bed_free(b);
	free(b);
}

/* A full pipe that waits is in the budget, and leaves it with its reply, also when the connection
 * ends first; the pipe then stays with the reply, for its owner to close. */
TEST(reply, waiting_pipes_are_accounted)
{
	struct bed *b = malloc(sizeof *b);
	struct replies left;

	bed_make(b, 0);
	queue_full(b, 0, 90, 0, 70000);
	CU_ASSERT_EQUAL(budget_used(), 70000);
	replies_init(&left);
	sender_fini(&b->out, &b->pipes, &left);
	CU_ASSERT_EQUAL(budget_used(), 0);
	struct reply *r = replies_take(&left);
	CU_ASSERT_PTR_EQUAL_FATAL(r, &b->r[0]);
	CU_ASSERT_PTR_NOT_NULL(r->full_pipe);
	pipes_give(&b->pipes, r->full_pipe);
	free((char *)(uintptr_t)r->head);
	bed_free(b);
	free(b);
}

/* A file that does not splice (procfs) is told apart from one that shrank. */
TEST(reply, refusal_is_said)
{
	struct bed *b = malloc(sizeof *b);
	int proc = open("/proc/self/status", O_RDONLY);

	bed_make(b, 0);
	queue(b, 0, 90, 0, 300, 0);
	size_t keep = b->nwant;
	queue(b, 1, 100, 0, 8192, 1);
	b->nwant = keep;
	b->r[1].body.fd = proc;
	run(b, 1u << 20);
	CU_ASSERT_PTR_EQUAL(replies_take(&b->redo), &b->r[1]);
	CU_ASSERT_EQUAL(b->r[1].why, REDO_REFUSED);
	free((char *)(uintptr_t)b->r[1].head);
	close(proc);
	bed_free(b);
	free(b);
}

/* A reset peer is an error of that connection, never a signal. */
TEST(reply, reset_peer_is_one_broken_connection)
{
	struct bed *b = malloc(sizeof *b);
	struct linger lg = {1, 0};
	enum send_result sr = SEND_IDLE;

	bed_make(b, 0);
	for (unsigned i = 0; i < 30; i++)
		queue(b, i, 90, 0, 1u << 20, 1);
	setsockopt(b->cli, SOL_SOCKET, SO_LINGER, &lg, sizeof lg);
	sr = sender_flush(&b->out, b->srv, &b->x);
	close(b->cli);
	while (sr == SEND_AGAIN || sr == SEND_BLOCKED)
		sr = sender_flush(&b->out, b->srv, &b->x);
	CU_ASSERT_EQUAL(sr, SEND_BROKEN);
	reap(b);
	for (struct reply *r = b->out.wait.first; r; r = r->next)
		free((char *)(uintptr_t)r->head);
	b->cli = -1;
	bed_free(b);
	free(b);
}
