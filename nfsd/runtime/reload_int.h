/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RELOAD_INT_H
#define RELOAD_INT_H
/*
 * What reload.c (the thread and its requests), reloadtable.c (how a table comes into effect) and
 * reloadwhat.c (what is to be exported) share.
 */
#include "reload.h"
#include <pthread.h>

#define RETIRED_MAX 64

enum what { ALL, ADD, REMOVE };

struct job {
	struct job *next;
	enum what what;
	const char *name, *options;
	FILE *out;
	int rc;
	bool waited; /* somebody waits, and owns it; else it is freed when done */
	bool done;
};

struct reload {
	pthread_mutex_t lock; /* jobs, stop, ready */
	pthread_cond_t done;
	struct job *head, **tail;
	bool stop, ready;
	pthread_t thread;
	bool running;
	int wake; /* eventfd */
	const struct conf *conf;
	struct export_env env;
	struct engine *engine;
	/* the thread's own from reload_ready() on */
	struct resolver *who;
	struct files *files;
	struct entries now; /* what is served, as written */
	struct export_table *retired[RETIRED_MAX];
	unsigned nretired;
	int mounts; /* /proc/self/mountinfo, readable with priority when it changes; or -1 */
};

/* ---- reloadwhat.c ---- */

/* The entries as ADD or REMOVE make them from those that are served: 0, or an errno after saying
 * why to the asker or as a diagnosis. */
int reload_change(struct reload *, struct job *, struct entries *, struct diag *);

/* ---- reloadtable.c; the thread's, and reload_new()'s ---- */

/* The first table, with every error and warning in the log; NULL: there were errors. */
struct export_table *reload_first(struct reload *);
/* Names of clients are asked for now, so that they are known when a client comes. */
void reload_ask_names(const struct export_table *);
/* Does one request, and says what came of it: 0 or an errno. */
int reload_run(struct reload *, struct job *);
/* File systems have changed: the same entries may give another table. Silent when they do not. */
void reload_look(struct reload *);
/* Frees former tables that nobody holds any more; with all, waits for them. */
void reload_sweep(struct reload *, bool all);

#endif
