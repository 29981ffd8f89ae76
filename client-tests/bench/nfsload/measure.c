/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPU time is read from the POSIX CPU clock of the server's process (clock_getcpuclockid(3)): it
 * sums all threads, also those that have ended, to the nanosecond, and brings the running ones up
 * to date; the ticks of /proc/PID/stat are 10 ms wide. It is read when nothing is in flight. What
 * the kernel does for the server while the server runs (loopback: delivering to the client's
 * socket) is charged to it; work in the kernel's own threads is charged to nobody.
 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static int64_t
cpu_ns(clockid_t clock)
{
	struct timespec t;
	if (clock_gettime(clock, &t))
		return -1;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int
complain(char err[RUN_ERR], const struct server_spec *s, const char *why)
{
	snprintf(err, RUN_ERR, "server %.100s (%.80s:%s): %s", s->name, s->host, s->port, why);
	return -1;
}

static int
open_clock(struct server *s, char err[RUN_ERR])
{
	const struct server_spec *spec = s->target.spec;
	if (!spec->pid)
		return 0;
	int rc = clock_getcpuclockid(spec->pid, &s->clock);
	if (rc) {
		char why[RPC_ERR];
		snprintf(why, sizeof why, "CPU clock of pid %d: %s", (int)spec->pid, strerror(rc));
		return complain(err, spec, why);
	}
	s->has_clock = true;
	return 0;
}

/* What only the size of the file tells. */
static int
check_file(const struct run *r, const struct server *s, char err[RUN_ERR])
{
	char why[RPC_ERR];
	const struct target *t = &s->target;
	uint64_t need = r->o->shift + (opts_has(r->o, OP_WRITE) ? r->o->size : 1);
	if (!opts_has_data(r->o))
		return 0;
	if (need > t->size)
		snprintf(why, sizeof why,
			 "the file holds %llu bytes, this needs %llu: it is not made longer",
			 (unsigned long long)t->size, (unsigned long long)need);
	else if (r->verify.copy && r->verify.size != t->size)
		snprintf(why, sizeof why, "the file holds %llu bytes, the copy to verify with %llu",
			 (unsigned long long)t->size, (unsigned long long)r->verify.size);
	else
		why[0] = '\0';
	if (why[0])
		return complain(err, t->spec, why);
	if (t->rtmax && r->o->size > t->rtmax)
		fprintf(stderr, "nfsload: %s: READs of %u bytes, but its rtmax is %u\n",
			t->spec->name, r->o->size, t->rtmax);
	return 0;
}

static int
open_conns(struct run *r, struct server *s, char err[RUN_ERR])
{
	bool look = r->o->verify || r->o->pattern;
	s->conn = calloc(r->o->conns, sizeof *s->conn);
	s->sample = calloc(r->o->rounds, sizeof *s->sample);
	if (!s->conn || !s->sample || calls_make(&s->calls, r->o, &s->target))
		return complain(err, s->target.spec, "out of memory, or a name is too long");
	while (s->nconn < r->o->conns) {
		struct conn *c = &s->conn[s->nconn];
		unsigned index = s->nconn++;
		if (conn_open(c, r->o, &s->target, &s->calls, look ? &r->verify : NULL, index))
			return complain(err, s->target.spec, c->err);
	}
	return 0;
}

static int
open_server(struct run *r, const struct server_spec *spec, char err[RUN_ERR])
{
	char why[RPC_ERR];
	struct server *s = &r->server[r->nservers++];
	if (spec == &r->sink.spec)
		sink_target(&s->target, &r->sink);
	else if (target_open(&s->target, spec, r->o, why))
		return complain(err, spec, why);
	return open_clock(s, err) || check_file(r, s, err) || open_conns(r, s, err) ? -1 : 0;
}

int
run_open(struct run *r, const struct opts *o, char err[RUN_ERR])
{
	*r = (struct run){.o = o, .verify = {.pattern = o->pattern}};
	if (o->verify && verifier_open(&r->verify, o->verify, err))
		return -1;
	if (o->sink && sink_start(&r->sink, o, err))
		return -1;
	for (unsigned i = 0; i < o->nservers; i++)
		if (open_server(r, &o->server[i], err))
			return -1;
	return o->sink ? open_server(r, &r->sink.spec, err) : 0;
}

static int
measure_one(struct run *r, struct server *s, struct sample *m, char err[RUN_ERR])
{
	char why[RPC_ERR];
	struct tally *t = calloc(2, sizeof *t); /* of the warm-up, of the measured part */
	struct part warm = {.seconds = r->o->warmup, .rate = r->o->rate};
	struct part real = {.seconds = r->o->seconds, .calls = r->o->calls, .rate = r->o->rate};
	if (!t)
		return complain(err, s->target.spec, "out of memory");
	int rc =
	    warm.seconds > 0 ? load_run(s->conn, s->nconn, r->o->threads, &warm, &t[0], why) : 0;
	int64_t server = s->has_clock ? cpu_ns(s->clock) : 0;
	int64_t client = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t begin = now_ns();
	if (!rc)
		rc = load_run(s->conn, s->nconn, r->o->threads, &real, &t[1], why);
	m->seconds = (double)(now_ns() - begin) / 1e9;
	m->client_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - client;
	m->server_ns = s->has_clock ? cpu_ns(s->clock) - server : 0;
	m->calls = t[1].calls;
	m->tasks = t[1].tasks;
	m->entries = t[1].entries;
	m->bytes = t[1].bytes;
	tally_add(&s->tally, &t[1]);
	free(t);
	return rc ? complain(err, s->target.spec, why) : 0;
}

int
run_measure(struct run *r, char err[RUN_ERR])
{
	for (unsigned round = 0; round < r->o->rounds; round++)
		for (unsigned i = 0; i < r->nservers; i++)
			if (measure_one(r, &r->server[i], &r->server[i].sample[round], err))
				return -1;
	return 0;
}

void
run_close(struct run *r)
{
	for (unsigned i = 0; i < r->nservers; i++) {
		struct server *s = &r->server[i];
		for (unsigned k = 0; k < s->nconn; k++)
			conn_close(&s->conn[k]);
		free(s->conn);
		free(s->sample);
		calls_free(&s->calls);
		target_close(&s->target);
	}
	verifier_close(&r->verify);
	sink_stop(&r->sink);
}
