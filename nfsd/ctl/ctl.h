/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_H
#define CTL_H
/* splicectl: one request to the server's control socket, its reply on standard output. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses. */
enum { CTL_OK = 0, CTL_FAILED = 1, CTL_USAGE = 2 };

struct ctl {
	char statedir[PATH_MAX];
};

struct ctl_reply {
	bool ok;    /* the server did it; else text is its reason */
	char *text; /* NUL-terminated, to be freed */
	size_t len;
};

/* Asks. 0 and a reply, or an errno: ENOENT and ECONNREFUSED mean that no server runs. */
int ctl_ask(const struct ctl *, int argc, char *const *argv, struct ctl_reply *);
/* Says on standard error why ctl_ask() failed and what to do; CTL_FAILED. */
int ctl_explain(const struct ctl *, int error);
/* Asks and prints: text to standard output, a refusal to standard error. An exit status. */
int ctl_pass_on(const struct ctl *, int argc, char **argv);

/* The commands that do more than pass on. argv[0] is the command's name; an exit status. */
int ctl_top(const struct ctl *, int argc, char **argv);
int ctl_key(const struct ctl *, int argc, char **argv);

#endif
