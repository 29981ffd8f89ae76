/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"
#include "ctl.h"
#include "version.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* fn NULL: the server answers, its text is printed. */
static const struct command {
	const char *name, *args, *help;
	int min, max; /* words after the name */
	int (*fn)(const struct ctl *, int argc, char **argv);
} commands[] = {
    {"stat", "[--json]", "counters since the server's start", 0, 1, NULL},
    {"top", "[--once SECONDS]", "rates, refreshed every second; q ends", 0, 2, ctl_top},
    {"exports", "", "what is exported, to whom, with which options", 0, 0, NULL},
    {"clients", "", "who is connected", 0, 0, NULL},
    {"settle", "", "sync and close what clients wrote, as before remount,ro", 0, 0, NULL},
    {"fh", "HEX", "what a file handle means", 1, 1, NULL},
    {"key", "export|import FILE", "move the handle key (works without a server)", 2, 2, ctl_key},
    {"reload", "", "read the exports again; prints what changes", 0, 0, NULL},
    {"export", "CLIENT:PATH [-o OPTS]", "export more, until the next reload", 1, 3, NULL},
    {"unexport", "CLIENT:PATH", "export less, until the next reload", 1, 1, NULL},
    {"explain", "CLIENT PATH [UID]", "what a client may do with a path, and why", 2, 3, NULL},
    {"version", "", "the running server's version", 0, 0, NULL},
    {"help", "", "what the running server knows", 0, 0, NULL},
};
#define NCOMMANDS (sizeof commands / sizeof commands[0])

static void
usage(FILE *out)
{
	fprintf(out, "Usage: splicectl [-s STATEDIR] COMMAND [ARGUMENT ...]\n"
		     "Ask a running spliced server.\n\n");
	for (size_t i = 0; i < NCOMMANDS; i++) {
		char left[64];

		snprintf(left, sizeof left, "%s %s", commands[i].name, commands[i].args);
		fprintf(out, "  %-29s %s\n", left, commands[i].help);
	}
	fprintf(out, "\n  -s, --state STATEDIR     the server's state directory\n"
		     "                           (default /var/lib/spliced for root,\n"
		     "                           else $XDG_STATE_HOME/spliced)\n"
		     "  -h, --help               this text\n"
		     "      --version            the version of splicectl\n");
}

static int
complain(const char *what, const char *why)
{
	fprintf(stderr, "splicectl: %s: %s; see splicectl --help\n", what, why);
	return CTL_USAGE;
}

static int
run(const struct ctl *ctl, int argc, char **argv)
{
	if (argc == 0)
		return complain("no command", "say what to do, as in: splicectl stat");
	for (size_t i = 0; i < NCOMMANDS; i++) {
		const struct command *c = &commands[i];

		if (strcmp(c->name, argv[0]) != 0)
			continue;
		if (argc - 1 < c->min || argc - 1 > c->max) {
			fprintf(stderr, "splicectl: the form is: splicectl %s%s%s\n", c->name,
				*c->args ? " " : "", c->args);
			return CTL_USAGE;
		}
		return c->fn ? c->fn(ctl, argc, argv) : ctl_pass_on(ctl, argc, argv);
	}
	return complain(argv[0], "no such command");
}

static int
set_statedir(struct ctl *ctl, const char *dir)
{
	if (!dir[0] || strlen(dir) >= sizeof ctl->statedir)
		return complain("-s", "not a directory name");
	strcpy(ctl->statedir, dir);
	return CTL_OK;
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = {{"state", required_argument, NULL, 's'},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {NULL, 0, NULL, 0}};
	struct ctl ctl = {""};
	int letter;

	while ((letter = getopt_long(argc, argv, "+s:h", longs, NULL)) >= 0) {
		switch (letter) {
		case 's':
			if (set_statedir(&ctl, optarg) != CTL_OK)
				return CTL_USAGE;
			break;
		case 'h':
			usage(stdout);
			return CTL_OK;
		case 'V':
			printf("splicectl " SPLICED_VERSION "\n");
			return CTL_OK;
		default: /* getopt has said what */
			return CTL_USAGE;
		}
	}
	if (!ctl.statedir[0] && control_statedir(ctl.statedir, sizeof ctl.statedir) != 0)
		return complain("no state directory",
				"neither XDG_STATE_HOME nor HOME is set; give -s");
	return run(&ctl, argc - optind, argv + optind);
}
