/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ADMIN_H
#define ADMIN_H
/*
 * The control socket, STATEDIR/control: one request line, one reply, close (nfsd/base/control.h
 * has the grammar). Commands are a table that the caller hands over. Only root and the server's own
 * user are served.
 */
#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct admin;

struct admin_command {
	const char *name;
	const char *args; /* for the help text: "CLIENT PATH"; NULL: none */
	const char *help; /* one line */
	bool slow; /* may sleep: runs in a thread of its own, beside the loop and other commands */
	/*
	 * argv[0] is the name; argv ends with NULL. Writes the reply to out. 0: done. Anything
	 * else: refused, and what was written is the message (what, why, what to do).
	 */
	int (*fn)(void *arg, int argc, char **argv, FILE *out);
};

struct admin_ops {
	const struct admin_command *commands; /* lives as long as the admin */
	size_t ncommands;
};

/*
 * Makes the socket (mode 0600; a stale one is replaced, a live one is an error) and serves it on
 * the loop, in whose thread this and admin_free() are called. `help` is answered here. NULL with a
 * message in err.
 */
struct admin *admin_new(struct ev_loop *, const char *statedir, const struct admin_ops *, void *arg,
			char *err, size_t errlen);
/* Removes the socket, drops clients, waits for slow commands that still run. NULL is ignored. */
void admin_free(struct admin *);

#endif
