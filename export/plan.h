/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAN_H
#define PLAN_H
/*
 * From what is written to what shall be served: entries gathered by directory, paths made
 * canonical, options that belong together checked. Nothing of the server is needed, so `spliced -n`
 * stops here.
 */
#include "diag.h"
#include "entries.h"
#include "export.h"

struct plan_export {
	char *path;   /* canonical; as written where there is none */
	char *where;  /* the same on this machine: another one only with a rootdir (rootdir.h) */
	char *absent; /* why it cannot be served now; NULL: it can */
	bool missing; /* there is no such path */
	struct rules *rules;
	struct export_opts opts; /* fsid= and mountpoint, whichever entry gave them */
	bool rw;
	/* where another file system is mounted in an export: crossplan.c */
	bool crossed;	/* it has no line of its own, but the rules of the export above */
	bool local;	/* what is mounted answers without asking anybody */
	size_t above;	/* place in v of the export in which it is mounted; SIZE_MAX: it is not, or
			   nobody is led in from there */
	int mnt_id;	/* crossed: of the mount */
	uint64_t mount; /* key of the mount (mounts.h), where above is one */
	char *type;	/* crossed: "ext4" */
};
struct plan {
	struct plan_export *v; /* sorted by path */
	size_t n;
	struct sources *sources;
	const char *rootdir; /* of the entries; not owned */
};

/* False when something is wrong; the plan is then of no use, but is to be freed all the same. A
 * path of a file that is not there is no error: it may come. unprivileged: see export_env. */
bool plan_make(struct plan *, const struct entries *, bool unprivileged, struct diag *);
void plan_free(struct plan *);
/*
 * Adds what is mounted below exports with crossmnt, at any depth, and finds what has a line of its
 * own but is mounted in another export that leads into it. Reads the list of mounts, and asks no
 * file system. Part of plan_make(), which has put v in order. False without memory.
 */
bool plan_cross(struct plan *);
/* As exports(5), a client a line, everything spelled out. */
void plan_print(const struct plan *, FILE *);
/* "FILE:LINE:COL", or "command line". */
const char *place_text(const struct sources *, struct origin, char *buf, size_t size);
/* Options as a list, everything spelled out. */
char *opts_text(const struct export_opts *, char *buf, size_t size);
#define OPTS_TEXT 512
/* Messages about a place: with file, line, column, or with the path that the command line named. */
void plan_say(struct diag *, enum diag_level, const struct sources *, struct origin,
	      const char *path, const char *message);

#endif
