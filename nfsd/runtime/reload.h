/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RELOAD_H
#define RELOAD_H
/*
 * The exports of a running server, and how they change: read at the start, read again on SIGHUP or
 * by command, added to and taken from at run time, made anew when something is mounted. All of it
 * is the work of one thread, which makes a table beside the one that is served and swaps it in when
 * it is whole; a change that is wrong anywhere changes nothing.
 */
#include "conf.h"
#include "diag.h"
#include "entries.h"
#include "table.h"
#include <stdio.h>

struct engine;
struct files;
struct reload;
struct resolver;

#define ETC_EXPORTS "/etc/exports"
#define ETC_EXPORTS_D "/etc/exports.d"

/* What the command line and the files say; false on any error. */
bool reload_read(const struct conf *, struct entries *, struct diag *);

/*
 * Reads the exports, makes the first table, gives it to the engine and starts the thread, which
 * keeps the capabilities of its maker: call before they are narrowed. env and conf must live as
 * long. NULL after saying every error in the log.
 */
struct reload *reload_new(const struct conf *, const struct export_env *, struct engine *);
/* The server is up: who answers names, and which cache keeps descriptors of exports. From here on
 * changes are possible. */
void reload_ready(struct reload *, struct resolver *who, struct files *);
/* Ends the thread; requests that wait are refused. Every call must have ended. NULL is ignored. */
void reload_free(struct reload *);

/* Reads everything again, in the background; the outcome is said in the log. */
void reload_request(struct reload *);
/*
 * The commands, which wait: each prints what changes, or every error. 0 or an errno.
 *	reload_all	reads everything again; what was changed at run time is gone
 *	reload_add	CLIENT:PATH with options (NULL: defaults); replaces the same client's
 *	reload_remove	CLIENT:PATH, or PATH for all clients of it
 */
int reload_all(struct reload *, FILE *out);
int reload_add(struct reload *, const char *what, const char *options, FILE *out);
int reload_remove(struct reload *, const char *what, FILE *out);

#endif
