/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CROSS_H
#define CROSS_H
/*
 * Ways from one export into another that is mounted in it: which name of which directory leads
 * where, and where ".." of what is mounted leads. A table has a list of them, which is empty unless
 * some export has crossmnt or nohide. Whether a peer may go that way is for the gate to say.
 */
#include "export.h"

/* A mount point. Shared by tables as long as it stays the same. */
struct crossing {
	unsigned refs;	     /* atomic */
	char *path;	     /* canonical */
	uint64_t mount;	     /* key of what is mounted there: mounts.h */
	struct export *from; /* referenced: the export that holds the directory */
	int dir;	     /* the directory, O_PATH */
	uint64_t dev, ino;   /* of the directory */
	const char *name;    /* in path */
	size_t namelen;
};
/* A crossing in a table. */
struct cross {
	struct crossing *c; /* referenced */
	size_t to;	    /* place of the export that is mounted there */
};

struct crossing *crossing_ref(struct crossing *);
void crossing_put(struct crossing *);
/* Puts the list of a table in order. */
void cross_sort(struct export_table *);

/* Are the ways of two tables the same ones? */
bool cross_same(const struct export_table *, const struct export_table *);

/* May this be a directory with a crossing? Cheap; true may be wrong. */
bool cross_any(const struct export_table *, const struct export *, uint64_t ino);
/* The crossing at a name of a directory of an export; NULL: none. */
const struct cross *cross_at(const struct export_table *, const struct export *, uint64_t dev,
			     uint64_t ino, const char *name, size_t len);
/* Where an export is mounted in another; NULL: nowhere. */
const struct cross *cross_above(const struct export_table *, const struct export *);

/*
 * Opening what is mounted somewhere may take for ever (FUSE, network). A file system of such a kind
 * is opened by a thread of its own, and waited for a little; when that is over the work goes on
 * and can be asked for again.
 */
struct opening;
struct plan_export; /* plan.h */
struct opened {
	struct export *ex;  /* of a mount without a line of its own; the caller's reference */
	struct crossing *c; /* the caller's reference */
	int code;	    /* 0, or why there is nothing; err says it in words */
	char err[512];
};
/* Opens the crossing into x, mounted in from, and x itself if it is crossed. local: neither can
 * hang. */
struct opening *opening_start(const struct export_env *, const struct plan_export *x,
			      struct export *from, bool local);
/* False: it still goes on after so many milliseconds; ask again. True: *o is what came of it; only
 * once. */
bool opening_wait(struct opening *, int ms, struct opened *o);
struct opening *opening_ref(struct opening *);
void opening_put(struct opening *);

/* Opens an export by its path, and where that is on this machine; mount: key of what is mounted
 * there, 0 for one with a line. NULL with *code and err. */
struct export *export_open(const struct export_env *, const char *path, const char *where,
			   const struct export_opts *, bool rw, uint64_t mount, int *code,
			   char *err, size_t errlen);

#endif
