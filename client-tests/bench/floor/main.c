/* SPDX-License-Identifier: BSD-2-Clause */
/* Options, the listening socket and the one loop. What floor is for stands in floor.h. */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "floor.h"

struct floor {
	struct served served;
	struct replies replies;
	struct batch batch;
	size_t batch_bytes;
	uint16_t port;
	struct in_addr address;
	const char *path;
	int ep, listener, signals;
	bool stop;
	struct peer *peers;
	uint64_t calls, wakeups, flushes;
};

static const char about[] =
    "Answers NFSv3 calls over TCP with prepared replies: the price of the "
    "wire, without a file server.\v"
    "MOUNT and NFS answer on one port of 127.0.0.1 (or --address). Any name looked up is "
    "FILE. With --hot every READ returns the "
    "beginning of FILE, whatever offset was asked: it measures, it does "
    "not serve. With --write FILE is overwritten. SIGUSR1 and the end print how many calls "
    "came per wake-up and went per flush.";

static const struct argp_option rows[] = {
    {"port", 'p', "PORT", 0, "TCP port; 0 (default) picks one and prints 'port N'", 0},
    {"address", 'a', "ADDR", 0, "IPv4 address to listen on (default 127.0.0.1)", 0},
    {"hot", 'h', NULL, 0, "READ from a hot memory buffer, one sendmsg per batch (default)", 0},
    {"sendfile", 's', NULL, 0, "header with MSG_MORE, then sendfile, for each READ", 0},
    {"pipe", 'i', NULL, 0, "headers and file pages through a pipe, one splice per batch", 0},
    {"write", 'w', NULL, 0, "WRITE by pwrite, COMMIT and stable WRITEs by fdatasync", 0},
    {"hand-off", 't', NULL, 0, "a thread does the WRITEs, the loop waits", 0},
    {"batch", 'b', "BYTES", 0, "most reply bytes before a flush (default 1048576)", 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *st)
{
	struct floor *f = st->input;
	char *end = NULL;
	unsigned long v = arg ? strtoul(arg, &end, 10) : 0;
	bool number = end && end != arg && !*end;
	switch (key) {
	case 'p':
		if (!number || v > 65535)
			argp_error(st, "--port %s: need a number from 0 to 65535", arg);
		f->port = (uint16_t)v;
		return 0;
	case 'b':
		if (!number || !v)
			argp_error(st, "--batch %s: need a number of bytes", arg);
		f->batch_bytes = v;
		return 0;
	case 'a':
		if (inet_pton(AF_INET, arg, &f->address) != 1)
			argp_error(st, "--address %s: need an IPv4 address", arg);
		return 0;
	case 'h':
		f->served.mode = MODE_HOT;
		return 0;
	case 's':
		f->served.mode = MODE_SENDFILE;
		return 0;
	case 'i':
		f->served.mode = MODE_PIPE;
		return 0;
	case 'w':
		f->served.write = true;
		return 0;
	case 't':
		f->served.hand = handoff_new();
		if (!f->served.hand)
			argp_failure(st, 1, errno, "--hand-off");
		return 0;
	case ARGP_KEY_ARG:
		if (f->path)
			argp_error(st, "one FILE only");
		f->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(st, "no FILE given");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int
fail(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	return 1;
}

static void
print_counts(const struct floor *f)
{
	double calls = (double)f->calls;
	printf("calls %llu, per wake-up %.2f, per flush %.2f\n", (unsigned long long)f->calls,
	       f->wakeups ? calls / (double)f->wakeups : 0.0,
	       f->flushes ? calls / (double)f->flushes : 0.0);
	fflush(stdout);
}

/* The file, the hot buffer, the pipe: whatever the mode needs. */
static int
open_served(struct served *s, const char *path)
{
	struct stat st;
	s->fd = open(path, (s->write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st))
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	s->size = (uint64_t)st.st_size;
	s->hot = aligned_alloc(4096, READ_MAX);
	if (!s->hot)
		return -1;
	memset(s->hot, 0, READ_MAX); /* every page is ours, also behind a short file */
	if (pread(s->fd, s->hot, READ_MAX, 0) < 0)
		return -1;
	s->pipe[0] = s->pipe[1] = -1;
	return s->mode != MODE_PIPE || pipe_renew(s) ? 0 : -1;
}

static void
watch(const struct floor *f, int fd, void *who)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = who};
	epoll_ctl(f->ep, EPOLL_CTL_ADD, fd, &e);
}

static int
open_listener(struct floor *f)
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET, .sin_port = htons(f->port), .sin_addr = f->address};
	socklen_t len = sizeof a;
	int one = 1;
	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (f->listener < 0)
		return -1;
	setsockopt(f->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	/* as the server does: pacing (bbr) has no place on loopback, and stays with a socket that
	 * began with it */
	if (ntohl(f->address.s_addr) >> 24 == 127)
		setsockopt(f->listener, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
	if (bind(f->listener, (struct sockaddr *)&a, sizeof a) || listen(f->listener, 128) ||
	    getsockname(f->listener, (struct sockaddr *)&a, &len))
		return -1;
	printf("port %u\n", ntohs(a.sin_port));
	fflush(stdout);
	watch(f, f->listener, &f->listener);
	return 0;
}

static int
open_signals(struct floor *f)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	f->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (f->signals < 0)
		return -1;
	watch(f, f->signals, &f->signals);
	return 0;
}

static void
take_signal(struct floor *f)
{
	struct signalfd_siginfo si;
	if (read(f->signals, &si, sizeof si) != sizeof si)
		return;
	if (si.ssi_signo == SIGUSR1)
		print_counts(f);
	else
		f->stop = true;
}

static void
accept_peer(struct floor *f)
{
	int one = 1;
	int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	size_t cap = (f->served.write ? RECORD_MAX : INPUT_MAX) + RECORD_PEEK;
	struct peer *p = fd >= 0 ? peer_new(fd, cap) : NULL;
	if (!p) {
		if (fd >= 0)
			close(fd);
		return;
	}
	p->next = f->peers;
	f->peers = p;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	watch(f, fd, p);
}

static void
close_peer(struct floor *f, struct peer *p)
{
	struct peer **at = &f->peers;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	close(p->fd);
	free(p);
}

static bool
flush(struct floor *f, struct peer *p)
{
	if (!f->batch.n)
		return true;
	f->flushes++;
	return flush_batch(&f->batch, &f->served, p->fd);
}

/* With --pipe: learns from whole records, and finds those whose data has not come yet. */
static void
look_for_data(const struct floor *f, struct peer *p, const uint8_t *in, size_t len)
{
	struct writing w;
	if (f->served.mode != MODE_PIPE || !f->served.write || !p->large)
		return;
	if (len) {
		p->head = is_write(in + 4, len - 4, &w) ? w.head + 4 : 0;
	} else if (p->head && p->have == p->head && is_write(in + 4, p->have - 4, &w) &&
		   w.head + 4 == p->have) {
		p->pass = w.n;
		p->to = w.offset;
	}
}

static bool
answer_all(struct floor *f, struct peer *p)
{
	size_t at = 0, len;
	uint64_t before = f->calls;
	while ((len = peer_record(p, at)) != 0) {
		if (len == SIZE_MAX ||
		    !answer_call(&f->batch, &f->replies, &f->served, p->in + at + 4, len - 4))
			return false;
		look_for_data(f, p, p->in + at, len);
		f->calls++;
		at += len;
		if ((f->batch.n == BATCH_CALLS || f->batch.bytes >= f->batch_bytes) && !flush(f, p))
			return false;
	}
	f->wakeups += f->calls != before;
	peer_consume(p, at);
	look_for_data(f, p, p->in, 0);
	return flush(f, p);
}

/* The data of a WRITE on its way through the pipe. */
static bool
pass(struct floor *f, struct peer *p)
{
	struct writing w;
	ssize_t n = peer_pass(p, &f->served);
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	if (p->pass)
		return true;
	is_write(p->in + 4, p->have - 4, &w);
	answer_write(&f->batch, &f->replies, &f->served, p->in + 4, &w);
	f->calls++;
	f->wakeups++;
	p->have = 0;
	return flush(f, p);
}

static bool
receive(struct floor *f, struct peer *p)
{
	if (p->pass)
		return pass(f, p);
	ssize_t n = peer_receive(p);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	p->have += (size_t)n;
	return n > 0 && answer_all(f, p);
}

static void
serve(struct floor *f, struct peer *p)
{
	if (receive(f, p))
		return;
	f->batch.n = 0; /* replies to a peer that is gone */
	f->batch.bytes = f->batch.used = 0;
	close_peer(f, p);
}

static void
loop(struct floor *f)
{
	struct epoll_event e[64];
	while (!f->stop) {
		int n = epoll_wait(f->ep, e, 64, -1);
		for (int i = 0; i < n; i++) {
			if (e[i].data.ptr == &f->listener)
				accept_peer(f);
			else if (e[i].data.ptr == &f->signals)
				take_signal(f);
			else
				serve(f, e[i].data.ptr);
		}
	}
}

int
main(int argc, char **argv)
{
	static const struct argp argp = {
	    .options = rows, .parser = parse, .args_doc = "FILE", .doc = about};
	struct floor *f = calloc(1, sizeof *f); /* too large for a stack */
	if (!f)
		return fail("memory");
	f->batch_bytes = 1 << 20;
	f->address.s_addr = htonl(INADDR_LOOPBACK);
	argp_parse(&argp, argc, argv, 0, NULL, f);
	if (open_served(&f->served, f->path))
		return fail(f->path);
	f->ep = epoll_create1(EPOLL_CLOEXEC);
	replies_prepare(&f->replies, &f->served);
	if (f->ep < 0 || open_signals(f))
		return fail("cannot begin");
	if (open_listener(f))
		return fail("cannot listen");
	loop(f);
	print_counts(f);
	while (f->peers)
		close_peer(f, f->peers);
	free(f->served.hot);
	free(f);
	return 0;
}
