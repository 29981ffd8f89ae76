/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN_CAP (256u << 10)
#define BATCH 128
#define REPLY_MAX 320
#define CALL_HEAD 28 /* mark, xid, type, RPC version, program, version, procedure */
#define SINK_FILE (UINT64_C(1) << 50) /* bytes that its file holds: no READ reaches the end */

/* One client. */
struct peer {
	int fd;
	const struct opts *o;
	uint8_t *data; /* of every READ */
	uint8_t in[IN_CAP];
	size_t have;
	size_t skip;	  /* bytes of a call that are still to come and do not matter */
	uint32_t skipped; /* and the call that they belong to: procedure and xid */
	uint8_t xid[4];
	uint8_t out[BATCH][REPLY_MAX];
	struct iovec iov[2 * BATCH];
	unsigned n, niov;
};

static void
zeros(struct enc *e, size_t n)
{
	for (size_t i = 0; i < n; i += 4)
		enc_u32(e, 0);
}

/* Results of success, attributes where a server gives them. */
static void
results(struct enc *e, const struct opts *o, uint32_t proc)
{
	if (proc == op_table[OP_LOOKUP].proc) {
		enc_u32(e, 32);
		zeros(e, 32);
	}
	if (proc == op_table[OP_WRITE].proc || proc == op_table[OP_COMMIT].proc ||
	    proc == op_table[OP_REMOVE].proc || proc == op_table[OP_CREATE].proc)
		enc_u32(e, 0); /* no attributes from before; or no handle */
	enc_u32(e, 1);
	if (proc == op_table[OP_GETATTR].proc)
		e->len -= 4; /* bare */
	zeros(e, 84);
	if (proc == op_table[OP_READ].proc) {
		enc_u32(e, o->size);
		enc_u32(e, 0);
		enc_u32(e, o->size);
	}
	if (proc == op_table[OP_LOOKUP].proc)
		enc_u32(e, 0); /* no attributes of the directory */
	if (proc == op_table[OP_CREATE].proc)
		zeros(e, 8); /* nor before, nor after */
	if (proc == op_table[OP_WRITE].proc) {
		enc_u32(e, o->size);
		enc_u32(e, o->stable);
	}
	if (proc == op_table[OP_WRITE].proc || proc == op_table[OP_COMMIT].proc)
		zeros(e, 8); /* verifier */
	if (proc == op_table[OP_READDIRPLUS].proc) {
		zeros(e, 12); /* verifier, no entry */
		enc_u32(e, 1);
	}
}

static bool
flush(struct peer *p)
{
	struct iovec *v = p->iov;
	while (p->niov) {
		ssize_t n = writev(p->fd, v, (int)p->niov);
		if (n <= 0)
			return false;
		while (p->niov && (size_t)n >= v->iov_len) {
			n -= (ssize_t)v->iov_len;
			v++;
			p->niov--;
		}
		if (p->niov && n) {
			v->iov_base = (uint8_t *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
	p->n = 0;
	return true;
}

static bool
answer(struct peer *p, const uint8_t *xid, uint32_t proc)
{
	static const uint8_t accepted[20] = {0, 0, 0, 1}; /* a reply, accepted, run with success */
	struct enc e = {.base = p->out[p->n], .cap = REPLY_MAX};
	uint32_t bulk = proc == op_table[OP_READ].proc ? p->o->size + xdr_pad(p->o->size) : 0;
	enc_u32(&e, 0);
	memcpy(e.base + 4, xid, 4);
	memcpy(e.base + 8, accepted, sizeof accepted);
	e.len = 8 + sizeof accepted;
	if (proc) {
		enc_u32(&e, 0);
		results(&e, p->o, proc);
	}
	put_be32(e.base, 0x80000000u | ((uint32_t)e.len - 4 + bulk));
	p->iov[p->niov++] = (struct iovec){e.base, e.len};
	if (bulk)
		p->iov[p->niov++] = (struct iovec){p->data, bulk};
	return ++p->n < BATCH || flush(p);
}

/* Answers what is complete. */
static bool
take(struct peer *p)
{
	size_t at = 0;
	for (;;) {
		size_t n = p->have - at;
		if (p->skip) {
			size_t drop = n < p->skip ? n : p->skip;
			p->skip -= drop;
			at += drop;
			if (p->skip || !answer(p, p->xid, p->skipped))
				break;
			continue;
		}
		if (n < CALL_HEAD)
			break;
		const uint8_t *call = p->in + at;
		p->skip = (get_be32(call) & 0x7fffffff) + (size_t)4;
		p->skipped = get_be32(call + 24);
		memcpy(p->xid, call + 4, 4);
	}
	memmove(p->in, p->in + at, p->have - at);
	p->have -= at;
	return flush(p);
}

static void *
serve(void *arg)
{
	struct peer *p = arg;
	ssize_t n;
	do {
		n = recv(p->fd, p->in + p->have, IN_CAP - p->have, 0);
		p->have += n > 0 ? (size_t)n : 0;
	} while (n > 0 && take(p));
	close(p->fd);
	free(p);
	return NULL;
}

static _Noreturn void
run_sink(int listener, const struct opts *o, uint8_t *data)
{
	int one = 1;
	for (;;) {
		pthread_t thread;
		struct peer *p = calloc(1, sizeof *p);
		if (!p)
			_exit(1);
		p->o = o;
		p->data = data;
		p->fd = accept(listener, NULL, NULL);
		if (p->fd < 0)
			_exit(1);
		setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		if (pthread_create(&thread, NULL, serve, p))
			_exit(1);
		pthread_detach(thread);
	}
}

static int
listen_on_loopback(char port[8])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 1024) ||
	    getsockname(fd, (struct sockaddr *)&a, &len)) {
		close(fd);
		return -1;
	}
	snprintf(port, 8, "%u", ntohs(a.sin_port));
	return fd;
}

static _Noreturn void
child(int listener, const struct opts *o, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGPIPE, SIG_IGN);
	if (o->sink_cpu >= 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET((unsigned)o->sink_cpu, &set);
		sched_setaffinity(0, sizeof set, &set);
	}
	uint8_t *data = calloc(1, o->size + 4);
	if (!data)
		_exit(1);
	run_sink(listener, o, data);
}

int
sink_start(struct sink *s, const struct opts *o, char *err)
{
	pid_t parent = getpid();
	int listener = listen_on_loopback(s->port);
	s->pid = listener < 0 ? -1 : fork();
	if (!s->pid)
		child(listener, o, parent);
	if (s->pid < 0)
		snprintf(err, RPC_ERR, "--sink: cannot start: %s", strerror(errno));
	if (listener >= 0)
		close(listener);
	static char name[] = "sink", host[] = "127.0.0.1", path[] = "/sink";
	s->spec = (struct server_spec){.name = name,
				       .host = host,
				       .port = s->port,
				       .mountport = s->port,
				       .path = path,
				       .pid = s->pid};
	return s->pid < 0 ? -1 : 0;
}

void
sink_stop(struct sink *s)
{
	if (s->pid <= 0)
		return;
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	s->pid = 0;
}

void
sink_target(struct target *t, const struct sink *s)
{
	*t = (struct target){.spec = &s->spec, .size = SINK_FILE};
	t->file.fh.len = t->dir.len = 32;
	t->file.name = strdup("file");
	t->object = &t->file;
	t->nobjects = 1;
}
