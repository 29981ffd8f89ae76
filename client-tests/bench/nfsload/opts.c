/* SPDX-License-Identifier: BSD-2-Clause */
#include "opts.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec.h"

static const char about[] =
    "Measures NFSv3 servers over TCP with raw calls, many servers interleaved in one run (A B A B "
    "...)."
    "\v"
    "A server is NAME=HOST:PORT[:MOUNTPORT]/PATH[@PID]. PATH is that of a file on the server; the "
    "longest of its "
    "parents that the server lets us mount is used, or the part before '//' where PATH holds one. "
    "With PID the CPU "
    "time of the server (all its threads, exact to the nanosecond) is shown; it must run on this "
    "machine.\n\n"
    "By default READ data is thrown away inside the kernel (MSG_TRUNC) from 16 KiB up, so that the "
    "client is not the "
    "bottleneck. With --verify every byte is compared instead.\n\n"
    "Figures: MB are 10^6 bytes, GB 10^9; latency runs from the send of the call to the last byte "
    "of its reply. A ratio "
    "is the median of the ratios of single rounds, with smallest and largest.\n\n"
    "Example: nfsload --op read --size 64K --depth 16 --rounds 5 --server "
    "a=127.0.0.1:2049/srv/file@$PID_A "
    "--server b=127.0.0.1:3049:3048/srv/file@$PID_B\n\n"
    "Exit status: 0 done, 1 could not measure, 2 measured but answers were wrong or refused.";

enum key {
	KEY_RANDOM = 256,
	KEY_ALIGN,
	KEY_SHIFT,
	KEY_REFILL,
	KEY_ROUNDS,
	KEY_WARMUP,
	KEY_NAMES,
	KEY_VERIFY,
	KEY_PATTERN,
	KEY_MAKE_PATTERN,
	KEY_DISCARD_FROM,
	KEY_RCVBUF,
	KEY_UID,
	KEY_GID,
	KEY_GROUPS,
	KEY_PRIVPORT,
	KEY_CPU,
	KEY_JSON,
	KEY_SAVE,
	KEY_BASE,
	KEY_THREADS,
};

static const struct argp_option rows[] = {
    {"server", 'S', "SPEC", 0, "a server to measure, repeatable (form: see below)", 1},
    {"base", KEY_BASE, "NAME", 0, "ratios refer to this server (default: the first)", 1},
    {"op", 'o', "OP", 0, "read, getattr, lookup or null (default read)", 2},
    {"size", 's', "BYTES", 0, "bytes per READ, K and M allowed (default 8192)", 2},
    {"random", KEY_RANDOM, NULL, 0, "READs at random offsets (default: cyclic over the file)", 2},
    {"align", KEY_ALIGN, "BYTES", 0, "random offsets are multiples of this (default: the size)", 2},
    {"shift", KEY_SHIFT, "BYTES", 0, "add this to every offset, to see unaligned READs", 2},
    {"names", KEY_NAMES, "N", 0,
     "LOOKUP and GETATTR of files f0..fN-1 beside the file (default: the file itself)", 2},
    {"connections", 'c', "N", 0, "TCP connections per server (default 1)", 3},
    {"depth", 'd', "N", 0, "calls in flight per connection (default 16)", 3},
    {"threads", KEY_THREADS, "N", 0, "threads of the client (default 1)", 3},
    {"refill", KEY_REFILL, "N", 0, "send new calls only when N slots are free (default 1)", 3},
    {"seconds", 't', "S", 0, "length of one measurement (default 1)", 4},
    {"calls", 'n', "N", 0, "measure N calls instead of a time", 4},
    {"warmup", KEY_WARMUP, "S", 0, "unmeasured load before each measurement (default 0.2)", 4},
    {"rounds", KEY_ROUNDS, "N", 0, "measurements per server, interleaved (default 5)", 4},
    {"verify", KEY_VERIFY, "FILE", 0, "compare all data with this local copy", 5},
    {"pattern", KEY_PATTERN, NULL, 0, "the file is one of --make-pattern: check it by itself", 5},
    {"make-pattern", KEY_MAKE_PATTERN, "FILE,BYTES", 0, "write a self-describing file and exit", 5},
    {"discard-from", KEY_DISCARD_FROM, "BYTES", 0,
     "READs of this size and up are discarded in the kernel, smaller ones copied out in bulk "
     "(default 16K)",
     5},
    {"uid", KEY_UID, "N", 0, "AUTH_SYS user (default: ours)", 6},
    {"gid", KEY_GID, "N", 0, "AUTH_SYS group (default: ours)", 6},
    {"groups", KEY_GROUPS, "N,N", 0, "AUTH_SYS further groups, at most 16", 6},
    {"privport", KEY_PRIVPORT, "yes|no", 0, "call from a port below 1024 (default: when we may)",
     6},
    {"rcvbuf", KEY_RCVBUF, "BYTES", 0, "fixed SO_RCVBUF (default: the kernel's tuning)", 6},
    {"cpu", KEY_CPU, "N", 0, "run on this processor only", 6},
    {"json", KEY_JSON, NULL, 0, "one JSON object instead of the table", 7},
    {"save", KEY_SAVE, "FILE", 0, "write the JSON object to FILE as well", 7},
    {0},
};

const char *
op_name(enum op op)
{
	static const char *const names[] = {"NULL", "GETATTR", "LOOKUP", "READ"};
	return names[op];
}

int64_t
parse_size(const char *s)
{
	char *end;
	if (*s < '0' || *s > '9')
		return -1;
	long long v = strtoll(s, &end, 10);
	unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : 0;
	if (end[shift ? 1 : 0] || v > (INT64_MAX >> 20))
		return -1;
	return v << shift;
}

static uint64_t
number(struct argp_state *st, const char *what, const char *arg, int64_t low, int64_t high)
{
	int64_t v = parse_size(arg);
	if (v < low || v > high)
		argp_error(st, "--%s %s: need a number from %lld to %lld", what, arg,
			   (long long)low, (long long)high);
	return (uint64_t)v;
}

static double
seconds(struct argp_state *st, const char *what, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);
	if (end == arg || *end || !(v >= 0 && v < 1e6))
		argp_error(st, "--%s %s: need a number of seconds", what, arg);
	return v;
}

static void
take_op(struct argp_state *st, struct opts *o, const char *arg)
{
	for (enum op op = OP_NULL; op <= OP_READ; op++) {
		if (!strcasecmp(arg, op_name(op))) {
			o->op = op;
			return;
		}
	}
	argp_error(st, "--op %s: need read, getattr, lookup or null", arg);
}

static void
take_groups(struct argp_state *st, struct opts *o, const char *arg)
{
	o->cred.ngids = 0;
	for (const char *p = arg; *p;) {
		char *end;
		unsigned long v = strtoul(p, &end, 10);
		if (end == p || (*end && *end != ',') || v > UINT32_MAX ||
		    o->cred.ngids == CRED_GROUPS)
			argp_error(st, "--groups %s: need at most %d numbers with commas between",
				   arg, CRED_GROUPS);
		o->cred.gids[o->cred.ngids++] = (uint32_t)v;
		p = *end ? end + 1 : end;
	}
}

static void
take_server(struct argp_state *st, struct opts *o, const char *arg)
{
	if (o->nservers == SERVERS_MAX)
		argp_error(st, "more than %d servers", SERVERS_MAX);
	const char *why = spec_parse(&o->server[o->nservers], arg);
	if (why)
		argp_error(st, "--server %s: %s; the form is NAME=HOST:PORT[:MOUNTPORT]/PATH[@PID]",
			   arg, why);
	o->nservers++;
}

/* Everything must agree once all options are known. */
static void
check(struct argp_state *st, struct opts *o)
{
	if (o->make_pattern)
		return;
	if (!o->nservers)
		argp_error(st, "no --server given");
	if (o->verify && o->pattern)
		argp_error(st, "--verify and --pattern exclude each other");
	if (o->refill > o->depth)
		argp_error(st, "--refill %u is more than --depth %u", o->refill, o->depth);
	if (o->threads > o->conns)
		argp_error(st,
			   "--threads %u is more than --connections %u; a connection belongs to "
			   "one thread",
			   o->threads, o->conns);
	if (!o->calls && o->seconds <= 0)
		argp_error(st, "--seconds 0: nothing to measure");
	bool found = !o->base;
	for (unsigned i = 0; i < o->nservers && !found; i++)
		found = !strcmp(o->base, o->server[i].name);
	if (!found)
		argp_error(st, "--base %s: no server has this name", o->base);
}

/* Options that say who calls and from where. */
static error_t
parse_caller(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case KEY_UID:
		o->cred.uid = (uint32_t)number(st, "uid", arg, 0, UINT32_MAX);
		return 0;
	case KEY_GID:
		o->cred.gid = (uint32_t)number(st, "gid", arg, 0, UINT32_MAX);
		return 0;
	case KEY_GROUPS:
		take_groups(st, o, arg);
		return 0;
	case KEY_PRIVPORT:
		if (strcmp(arg, "yes") != 0 && strcmp(arg, "no") != 0)
			argp_error(st, "--privport %s: need yes or no", arg);
		o->privport = arg[0] == 'y';
		return 0;
	case KEY_RCVBUF:
		o->rcvbuf = (int)number(st, "rcvbuf", arg, 1024, 1 << 30);
		return 0;
	case KEY_CPU:
		o->cpu = (int)number(st, "cpu", arg, 0, 1023);
		return 0;
	case 'S':
		take_server(st, o, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Options that say what is asked of the file. */
static error_t
parse_work(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case 'o':
		take_op(st, o, arg);
		return 0;
	case 's':
		o->size = (uint32_t)number(st, "size", arg, 1, 64 << 20);
		return 0;
	case KEY_RANDOM:
		o->random = true;
		return 0;
	case KEY_ALIGN:
		o->align = number(st, "align", arg, 1, INT64_MAX >> 20);
		return 0;
	case KEY_SHIFT:
		o->shift = number(st, "shift", arg, 0, INT64_MAX >> 20);
		return 0;
	case KEY_NAMES:
		o->names = (unsigned)number(st, "names", arg, 0, 1000000);
		return 0;
	case KEY_VERIFY:
		o->verify = arg;
		return 0;
	case KEY_PATTERN:
		o->pattern = true;
		return 0;
	case KEY_MAKE_PATTERN:
		o->make_pattern = arg;
		return 0;
	case KEY_DISCARD_FROM:
		o->discard_from = number(st, "discard-from", arg, 0, INT64_MAX >> 20);
		return 0;
	default:
		return parse_caller(key, arg, st);
	}
}

static error_t
parse(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case 'c':
		o->conns = (unsigned)number(st, "connections", arg, 1, 10000);
		return 0;
	case 'd':
		o->depth = (unsigned)number(st, "depth", arg, 1, DEPTH_MAX);
		return 0;
	case KEY_THREADS:
		o->threads = (unsigned)number(st, "threads", arg, 1, 256);
		return 0;
	case KEY_REFILL:
		o->refill = (unsigned)number(st, "refill", arg, 1, DEPTH_MAX);
		return 0;
	case 't':
		o->seconds = seconds(st, "seconds", arg);
		return 0;
	case 'n':
		o->calls = number(st, "calls", arg, 1, INT64_MAX >> 20);
		return 0;
	case KEY_WARMUP:
		o->warmup = seconds(st, "warmup", arg);
		return 0;
	case KEY_ROUNDS:
		o->rounds = (unsigned)number(st, "rounds", arg, 1, 10000);
		return 0;
	case KEY_JSON:
		o->json = true;
		return 0;
	case KEY_SAVE:
		o->save = arg;
		return 0;
	case KEY_BASE:
		o->base = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(st, "'%s' is no option; servers are given with --server", arg);
		return EINVAL;
	case ARGP_KEY_END:
		check(st, o);
		return 0;
	default:
		return parse_work(key, arg, st);
	}
}

void
opts_parse(struct opts *o, int argc, char **argv)
{
	static const struct argp argp = {.options = rows, .parser = parse, .doc = about};
	*o = (struct opts){
	    .op = OP_READ,
	    .size = 8192,
	    .conns = 1,
	    .depth = 16,
	    .threads = 1,
	    .refill = 1,
	    .rounds = 5,
	    .seconds = 1,
	    .warmup = 0.2,
	    .discard_from = 16384,
	    .privport = -1,
	    .cpu = -1,
	};
	cred_own(&o->cred);
	argp_err_exit_status = 1;
	argp_parse(&argp, argc, argv, 0, NULL, o);
}

void
opts_free(struct opts *o)
{
	for (unsigned i = 0; i < o->nservers; i++)
		spec_free(&o->server[i]);
}
