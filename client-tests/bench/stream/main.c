/* SPDX-License-Identifier: BSD-2-Clause */
#include <argp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

static const struct argp_option rows[] = {
    {"mode", 'm', "HOW", 0, "write, copy, sendfile or splice (default sendfile)", 1},
    {"piece", 'n', "BYTES", 0, "bytes per call (default 8192)", 1},
    {"buffer", 'b', "BYTES", 0, "write and copy cycle over a buffer of this size (default: piece)",
     1},
    {"file", 'f', "FILE", 0, "what is sent, over and over; not for write", 1},
    {"seconds", 't', "S", 0, "how long (default 1)", 1},
    {"limit", 'l', "BYTES", 0, "how much, instead", 1},
    {"connections", 'c', "N", 0, "receiver: end after so many (default: never)", 2},
    {"cpu", 'C', "N", 0, "run on this processor", 3},
    {0},
};

static double
number(struct argp_state *st, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);
	if (end == arg || *end || !(v >= 0 && v < 1e18))
		argp_error(st, "'%s' is no number", arg);
	return v;
}

static void
take_mode(struct argp_state *st, struct stream *s, const char *arg)
{
	for (enum mode m = MODE_WRITE; m <= MODE_SPLICE; m++) {
		if (!strcmp(arg, mode_name(m))) {
			s->mode = m;
			return;
		}
	}
	argp_error(st, "--mode %s: need write, copy, sendfile or splice", arg);
}

static void
take_word(struct argp_state *st, struct stream *s, const char *arg)
{
	if (st->arg_num == 0 && (!strcmp(arg, "send") || !strcmp(arg, "receive")))
		s->sender = arg[0] == 's';
	else if (st->arg_num == 1)
		s->address = arg;
	else if (st->arg_num == 2)
		s->port = arg;
	else
		argp_usage(st);
}

static void
check(struct argp_state *st, struct stream *s)
{
	if (!s->port)
		argp_usage(st);
	if (!s->buffer)
		s->buffer = s->piece;
	if (!s->piece || s->buffer < s->piece)
		argp_error(st, "the buffer must hold a piece");
	if (s->sender && s->mode != MODE_WRITE && !s->path)
		argp_error(st, "--mode %s needs --file", mode_name(s->mode));
}

static error_t
parse(int key, char *arg, struct argp_state *st)
{
	struct stream *s = st->input;
	switch (key) {
	case 'm':
		take_mode(st, s, arg);
		return 0;
	case 'n':
		s->piece = (size_t)number(st, arg);
		return 0;
	case 'b':
		s->buffer = (size_t)number(st, arg);
		return 0;
	case 'f':
		s->path = arg;
		return 0;
	case 't':
		s->seconds = number(st, arg);
		return 0;
	case 'l':
		s->limit = (uint64_t)number(st, arg);
		return 0;
	case 'c':
		s->connections = (unsigned)number(st, arg);
		return 0;
	case 'C':
		s->cpu = (int)number(st, arg);
		return 0;
	case ARGP_KEY_ARG:
		take_word(st, s, arg);
		return 0;
	case ARGP_KEY_END:
		check(st, s);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int
pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	return sched_setaffinity(0, sizeof set, &set);
}

int
main(int argc, char **argv)
{
	static const struct argp argp = {
	    .options = rows,
	    .parser = parse,
	    .args_doc = "send|receive ADDRESS PORT",
	    .doc = "Sends bytes over one TCP connection in the way asked, or receives them; prints "
		   "what it took as JSON."};
	struct stream s = {.mode = MODE_SENDFILE, .piece = 8192, .seconds = 1, .cpu = -1};
	argp_parse(&argp, argc, argv, 0, NULL, &s);
	if (s.cpu >= 0 && pin(s.cpu)) {
		perror("stream: --cpu");
		return 1;
	}
	return (s.sender ? stream_send(&s) : stream_receive(&s)) ? 1 : 0;
}
