/* SPDX-License-Identifier: BSD-2-Clause */
#include "opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "spec.h"

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

/* A value of a form of its own. */
static void
take(struct argp_state *st, const char *what, const char *arg,
     const char *(*parse)(struct opts *, const char *))
{
	const char *expected = parse(st->input, arg);
	if (expected)
		argp_error(st, "--%s %s: need %s", what, arg, expected);
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
	if (!o->nservers && !o->sink)
		argp_error(st, "no --server given");
	if (opts_has(o, OP_WRITE) && !o->overwrite)
		argp_error(st, "WRITEs destroy what the file holds; say --overwrite if they may");
	if (o->verify && o->pattern)
		argp_error(st, "--verify and --pattern exclude each other");
	if (o->spread && !o->names)
		argp_error(st, "--spread: over which files? say --names N too");
	if (o->spread && (o->verify || o->pattern))
		argp_error(st, "--spread: other files than FILE cannot be verified");
	if (o->refill > o->depth)
		argp_error(st, "--refill %u is more than --depth %u", o->refill, o->depth);
	if (o->threads > o->conns)
		argp_error(st,
			   "--threads %u is more than --connections %u; a connection belongs to "
			   "one thread",
			   o->threads, o->conns);
	if (!o->calls && o->seconds <= 0)
		argp_error(st, "--seconds 0: nothing to measure");
	bool found = !o->base || (o->sink && !strcmp(o->base, "sink"));
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
		take(st, "groups", arg, value_groups);
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

/* Options of WRITE and of directories. */
static error_t
parse_changes(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case KEY_STABLE:
		take(st, "stable", arg, value_stable);
		return 0;
	case KEY_COMMIT:
		o->commit = number(st, "commit", arg, 0, INT64_MAX >> 20);
		return 0;
	case KEY_OVERWRITE:
		o->overwrite = true;
		return 0;
	case KEY_LISTING:
		o->listing = (uint32_t)number(st, "listing", arg, 512, 64 << 20);
		return 0;
	default:
		return parse_caller(key, arg, st);
	}
}

/* Options that say what is asked of the file. */
static error_t
parse_work(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case 'o':
		take(st, "op", arg, value_op);
		return 0;
	case KEY_MIX:
		take(st, "mix", arg, value_mix);
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
	case KEY_SPREAD:
		o->spread = true;
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
		return parse_changes(key, arg, st);
	}
}

/* Options of the load's shape. */
static error_t
parse_shape(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
	case 'c':
		o->conns = (unsigned)number(st, "connections", arg, 1, 10000);
		return 0;
	case 'd':
		o->depth = (unsigned)number(st, "depth", arg, 1, DEPTH_MAX);
		return 0;
	case KEY_RATE:
		o->rate = (double)number(st, "rate", arg, 1, 100000000);
		return 0;
	case KEY_POISSON:
		o->poisson = true;
		return 0;
	case KEY_THREADS:
		o->threads = (unsigned)number(st, "threads", arg, 1, 256);
		return 0;
	case KEY_REFILL:
		o->refill = (unsigned)number(st, "refill", arg, 1, DEPTH_MAX);
		return 0;
	default:
		return parse_work(key, arg, st);
	}
}

static error_t
parse(int key, char *arg, struct argp_state *st)
{
	struct opts *o = st->input;
	switch (key) {
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
	case KEY_SINK:
		o->sink = true;
		o->sink_cpu = arg ? (int)number(st, "sink", arg, 0, 1023) : -1;
		return 0;
	case KEY_BASE:
		o->base = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(st, "'%s' is no option; servers are given with --server", arg);
		return EINVAL;
	case ARGP_KEY_END:
		if (!o->depth)
			o->depth = o->rate > 0 ? 1024 : 16;
		check(st, o);
		return 0;
	default:
		return parse_shape(key, arg, st);
	}
}

void
opts_parse(struct opts *o, int argc, char **argv)
{
	static const struct argp argp = {.options = rows, .parser = parse, .doc = about};
	*o = (struct opts){
	    .only = OP_READ,
	    .weight[OP_READ] = 1,
	    .weights = 1,
	    .size = 8192,
	    .commit = 64 << 20,
	    .listing = 64 << 10,
	    .conns = 1,
	    .threads = 1,
	    .refill = 1,
	    .rounds = 5,
	    .seconds = 1,
	    .warmup = 0.2,
	    .discard_from = 16384,
	    .privport = -1,
	    .cpu = -1,
	    .sink_cpu = -1,
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
