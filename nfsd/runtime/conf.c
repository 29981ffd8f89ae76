/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_int.h"
#include "control.h"
#include "version.h"
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct option_row {
	int letter;
	const char *name, *arg, *help; /* arg NULL: a switch */
	/* true, or false with the reason (why, and what to do) in why */
	bool (*set)(struct conf *, const char *arg, char *why, size_t size);
};

#define REASON(...) (snprintf(why, size, __VA_ARGS__), false)

/* A whole decimal number from low to high. */
static bool
number(const char *text, unsigned long low, unsigned long high, unsigned long *n)
{
	char *end;

	if (text[0] < '0' || text[0] > '9') /* strtoul takes blanks and a sign */
		return false;
	errno = 0;
	*n = strtoul(text, &end, 10);
	return *end == '\0' && errno == 0 && *n >= low && *n <= high;
}

static bool
set_options(struct conf *c, const char *arg, char *why, size_t size)
{
	if (c->options)
		return REASON("given twice; write one list, such as -o rw,all_squash");
	c->options = arg;
	return true;
}

static bool
set_clients(struct conf *c, const char *arg, char *why, size_t size)
{
	if (c->clients)
		return REASON("given twice; write one list, such as -c 10.0.0.0/8,192.168.1.7");
	if (!arg[0])
		return REASON(
		    "names nobody; write a list, such as -c 10.0.0.0/8, or leave -c out for "
		    "this machine alone");
	c->clients = arg;
	return true;
}

static bool
set_file(struct conf *c, const char *arg, char *why, size_t size)
{
	if (c->file)
		return REASON("given twice; one file may be read");
	if (!arg[0])
		return REASON("not a file name; name an exports file, or leave -e out");
	c->file = arg;
	return true;
}

static bool
set_check(struct conf *c, const char *arg, char *why, size_t size)
{
	(void)arg, (void)why, (void)size;
	c->check = true;
	return true;
}

static bool
set_port(struct conf *c, const char *arg, char *why, size_t size)
{
	unsigned long n;

	if (!number(arg, 0, 65535, &n))
		return REASON("a port is a number from 0 to 65535; 0 picks a free one");
	c->port = (uint16_t)n;
	c->port_given = true;
	return true;
}

/* Numeric only: a name could stand for several addresses, or for other ones tomorrow. */
static bool
set_addr(struct conf *c, const char *arg, char *why, size_t size)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
	struct conf_addr *a = &c->addrs[c->naddrs];

	if (c->naddrs == CONF_ADDRS_MAX)
		return REASON("more than %d addresses; leave -a out to listen on all",
			      CONF_ADDRS_MAX);
	if (getaddrinfo(arg, NULL, &hints, &found) != 0)
		return REASON(
		    "not a numeric address; write one like 192.0.2.1, ::1 or fe80::1%%eth0");
	memcpy(&a->addr, found->ai_addr, found->ai_addrlen);
	a->len = found->ai_addrlen;
	freeaddrinfo(found);
	for (size_t i = 0; i < c->naddrs; i++)
		if (!memcmp(&c->addrs[i].addr, &a->addr, a->len))
			return REASON("given twice; name each address once");
	c->naddrs++;
	return true;
}

static bool
set_statedir(struct conf *c, const char *arg, char *why, size_t size)
{
	if (!arg[0] || strlen(arg) >= sizeof c->statedir)
		return REASON("not a directory name; name one on a local disk that only the server "
			      "may write to");
	strcpy(c->statedir, arg);
	return true;
}

static bool
set_loops(struct conf *c, const char *arg, char *why, size_t size)
{
	unsigned long n;

	if (!number(arg, 1, CONF_LOOPS_MAX, &n))
		return REASON("a number from 1 to %d is needed; leave -j out for one per processor",
			      CONF_LOOPS_MAX);
	c->loops = (unsigned)n;
	return true;
}

static bool
set_workers(struct conf *c, const char *arg, char *why, size_t size)
{
	unsigned long n;

	if (!number(arg, 1, CONF_WORKERS_MAX, &n))
		return REASON("a number from 1 to %d is needed; leave -w out for %d",
			      CONF_WORKERS_MAX, CONF_WORKERS);
	c->workers = (unsigned)n;
	c->workers_given = true;
	return true;
}

/* The modes of -z and -Z. */
static bool
mode(const char *arg, uint32_t for_auto, uint32_t for_always, uint32_t *from)
{
	if (!strcmp(arg, "auto"))
		*from = for_auto;
	else if (!strcmp(arg, "always"))
		*from = for_always;
	else if (!strcmp(arg, "never"))
		*from = CONF_SPLICE_NEVER;
	else
		return false;
	return true;
}

static bool
set_splice(struct conf *c, const char *arg, char *why, size_t size)
{
	unsigned long n;

	if (mode(arg, CONF_SPLICE_AUTO, CONF_SPLICE_ALWAYS, &c->splice_from))
		return true;
	if (!number(arg, 0, CONF_SPLICE_NEVER - 1, &n))
		return REASON(
		    "write auto, always, never, or the least READ in bytes that is not copied");
	c->splice_from = (uint32_t)n;
	return true;
}

static bool
set_receive(struct conf *c, const char *arg, char *why, size_t size)
{
	return mode(arg, CONF_RECEIVE_AUTO, CONF_RECEIVE_ALWAYS, &c->receive_from) ||
	       REASON("write auto, always or never");
}

static bool
set_manage_gids(struct conf *c, const char *arg, char *why, size_t size)
{
	(void)arg, (void)why, (void)size;
	c->manage_gids = true;
	return true;
}

static bool
set_no_rpcbind(struct conf *c, const char *arg, char *why, size_t size)
{
	(void)arg, (void)why, (void)size;
	c->no_rpcbind = true;
	return true;
}

static bool
set_detach(struct conf *c, const char *arg, char *why, size_t size)
{
	(void)arg, (void)why, (void)size;
	c->detach = true;
	return true;
}

static bool
set_quiet(struct conf *c, const char *arg, char *why, size_t size)
{
	(void)arg, (void)why, (void)size;
	c->level = LOG_LVL_WARN;
	return true;
}

static bool
set_verbose(struct conf *c, const char *arg, char *why, size_t size)
{
	(void)arg, (void)why, (void)size;
	c->level = LOG_LVL_DEBUG;
	return true;
}

#define OPT_VERSION 1000 /* no letter */

static const struct option_row rows[] = {
    {'o', "options", "OPTS", "export options of every DIR (default ro,secure)", set_options},
    {'c', "clients", "CLIENTS",
     "who may mount: ADDR, ADDR/BITS or *, with commas\n"
     "(default this machine: 127.0.0.0/8,::1)",
     set_clients},
    {'e', "exports", "FILE",
     "read the exports from this file (default, without a\n"
     "DIR: /etc/exports and /etc/exports.d/*.exports)",
     set_file},
    {'n', "check", NULL, "check the exports and exit", set_check},
    {'p', "port", "PORT", "TCP port of NFS and MOUNT; 0: a free one (default 2049)", set_port},
    {'a', "address", "ADDR", "listen on this address; repeat for more (default all)", set_addr},
    {'s', "state", "STATEDIR",
     "handle key, database and control socket\n"
     "(default /var/lib/spliced for root,\n"
     "else $XDG_STATE_HOME/spliced)",
     set_statedir},
    {'j', "loops", "LOOPS", "event loops (default one per processor)", set_loops},
    {'w', "workers", "WORKERS", "threads for what may sleep (default 16)", set_workers},
    {'z', "zero-copy", "MODE",
     "auto, always, never, or the least READ in bytes that is\n"
     "not copied (default auto: 8192)",
     set_splice},
    {'Z', "splice-receive", "MODE",
     "data of long WRITEs by splice from socket to file:\n"
     "auto, always or never (default auto)",
     set_receive},
    {'g', "manage-gids", NULL,
     "look up the groups of callers here; a call itself can\n"
     "bring 16",
     set_manage_gids},
    {'R', "no-rpcbind", NULL, "do not register with rpcbind", set_no_rpcbind},
    {'D', "detach", NULL, "go to the background when ready", set_detach},
    {'q', "quiet", NULL, "say warnings and errors only", set_quiet},
    {'v', "verbose", NULL, "say more", set_verbose},
    {'h', "help", NULL, "this text", NULL},
    {OPT_VERSION, "version", NULL, "the version", NULL},
};
#define NROWS (sizeof rows / sizeof rows[0])

static void
usage(FILE *out)
{
	fprintf(out, "Usage: spliced [OPTION ...] [DIR ...]\n"
		     "Serve each DIR, or what exports(5) names, over NFS version 3, without\n"
		     "copying what is read.\n\n");
	for (size_t i = 0; i < NROWS; i++) {
		const struct option_row *r = &rows[i];
		const char *line = r->help;
		char left[40];

		if (r->letter < 256)
			snprintf(left, sizeof left, "-%c, --%s %s", r->letter, r->name,
				 r->arg ? r->arg : "");
		else
			snprintf(left, sizeof left, "    --%s", r->name);
		for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
			fprintf(out, "  %-22s ", left);
			fwrite(line, 1, strcspn(line, "\n"), out);
			fputc('\n', out);
			left[0] = '\0';
		}
	}
	fprintf(out, "\nExample: spliced -c 192.168.0.0/16 /srv/data\n");
}

/* getopt_long(3) forms of the rows. */
static void
getopt_forms(char *letters, struct option *longs)
{
	*letters++ = ':'; /* tell a missing argument from an unknown option */
	for (size_t i = 0; i < NROWS; i++) {
		const struct option_row *r = &rows[i];

		longs[i] = (struct option){r->name, r->arg ? required_argument : no_argument, NULL,
					   r->letter};
		if (r->letter >= 256)
			continue;
		*letters++ = (char)r->letter;
		if (r->arg)
			*letters++ = ':';
	}
	*letters = '\0';
	longs[NROWS] = (struct option){NULL, 0, NULL, 0};
}

static const struct option_row *
row_of(int letter)
{
	for (size_t i = 0; i < NROWS; i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

int
conf_complain(FILE *err, const char *what, const char *value, const char *why)
{
	char text[200];

	fprintf(err, "spliced: %s%s%s: %s\n", what, value ? " " : "",
		value ? log_text(text, sizeof text, value, strlen(value)) : "", why);
	return 2;
}

/* What getopt refused. */
static int
refuse(int letter, const char *word, FILE *err)
{
	const struct option_row *r = row_of(optopt);
	char what[40];

	if (r)
		snprintf(what, sizeof what, "--%s", r->name);
	else if (optopt)
		snprintf(what, sizeof what, "-%c", optopt);
	if (letter == ':')
		return conf_complain(err, what, NULL, "needs a value; see spliced --help");
	if (r)
		return conf_complain(err, what, NULL, "takes no value; see spliced --help");
	return conf_complain(err, "no such option", optopt ? what : word, "see spliced --help");
}

bool
conf_set(struct conf *c, int letter, const char *arg, char *why, size_t size)
{
	return row_of(letter)->set(c, arg, why, size);
}

/* One option that getopt returned; -1 to go on, else the exit status. */
static int
apply(struct conf *c, int letter, const char *word, FILE *out, FILE *err)
{
	const struct option_row *r;
	char why[200], what[40];

	if (letter == ':' || letter == '?')
		return refuse(letter, word, err);
	if (letter == 'h') {
		usage(out);
		return 0;
	}
	if (letter == OPT_VERSION) {
		fprintf(out, "spliced " SPLICED_VERSION "\n");
		return 0;
	}
	r = row_of(letter);
	if (r->set(c, optarg, why, sizeof why))
		return -1;
	snprintf(what, sizeof what, "-%c", letter);
	return conf_complain(err, what, optarg, why);
}

static unsigned
processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1 ? 1 : n > CONF_LOOPS_MAX ? CONF_LOOPS_MAX : (unsigned)n;
}

void
conf_set_ports(struct conf *c)
{
	for (size_t i = 0; i < c->naddrs; i++) {
		struct sockaddr_storage *a = &c->addrs[i].addr;

		if (a->ss_family == AF_INET6)
			((struct sockaddr_in6 *)a)->sin6_port = htons(c->port);
		else
			((struct sockaddr_in *)a)->sin_port = htons(c->port);
	}
}

/* What can be said only when every option has been seen. */
static int
finish(struct conf *c, FILE *err)
{
	if (c->ndirs == 0 && (c->options || c->clients))
		return conf_complain(
		    err, c->options ? "-o" : "-c", c->options ? c->options : c->clients,
		    "is for a DIR, and none is named; exports files say it themselves");
	for (size_t i = 0; i < c->ndirs; i++)
		if (!c->dirs[i][0])
			return conf_complain(
			    err, "DIR", NULL,
			    "an empty name is not a directory; write . for the current one");
	if (!c->statedir[0] && control_statedir(c->statedir, sizeof c->statedir) != 0)
		return conf_complain(err, "no state directory", NULL,
				     "neither XDG_STATE_HOME nor HOME is set; name one with -s");
	conf_set_ports(c);
	return -1;
}

int
conf_parse(struct conf *c, int argc, char **argv, FILE *out, FILE *err)
{
	struct option longs[NROWS + 1];
	char letters[2 * NROWS + 2];
	int letter, status = -1;

	memset(c, 0, sizeof *c);
	c->port = CONF_PORT;
	c->loops = processors();
	c->workers = CONF_WORKERS;
	c->splice_from = CONF_SPLICE_AUTO;
	c->receive_from = CONF_RECEIVE_AUTO;
	c->level = LOG_LVL_INFO;
	getopt_forms(letters, longs);
	opterr = 0;
	optind = 0; /* glibc: start over */
	while (status < 0) {
		letter = getopt_long(argc, argv, letters, longs, NULL);
		if (letter < 0)
			break;
		status = apply(c, letter, argv[optind - 1], out, err);
	}
	if (status >= 0)
		return status;
	c->dirs = argv + optind;
	c->ndirs = (size_t)(argc - optind);
	return finish(c, err);
}
