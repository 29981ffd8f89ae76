/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ENTRIES_H
#define ENTRIES_H
/*
 * Exports as they are written: files of exports(5), or words of a command line, as a list of (path,
 * client, options). Nothing is looked up in any file system here.
 */
#include "diag.h"
#include "export.h"

struct entry {
	char *path;		     /* as written, decoded; absolute */
	struct origin at;	     /* of the path; on the command line .line counts the DIRs */
	struct export_client client; /* owns its text */
	char *mountpoint;	     /* path of mountpoint=; NULL: none */
};

struct entries {
	struct entry *v;
	size_t n, cap;
	struct sources *sources; /* NULL until something was added */
	const char *rootdir;	 /* of all the paths (rootdir.h); not owned; NULL: none */
};

/* Adds what a text says; name: of its file. False on any error in it (all are in the diag); what
 * was right is added all the same. */
bool entries_parse(struct entries *, const char *name, const char *text, size_t n, struct diag *);
/* Adds a file. */
bool entries_read(struct entries *, const char *file, struct diag *);
/* Adds file, if there is one, then dir's *.exports in the order of versionsort(3), if there are
 * any: /etc/exports and /etc/exports.d. */
bool entries_read_all(struct entries *, const char *file, const char *dir, struct diag *);
/* Adds a DIR of a command line with a list of options (NULL: defaults) and a comma list of clients
 * (NULL: loopback). source: where that was said; NULL: the server's own command line. unit: its
 * number from 1; messages begin with the path. */
bool entries_add(struct entries *, const struct export_spec *, const char *source, unsigned unit,
		 struct diag *);
/* Removes entries of a path whose client is written so, or all of the path (NULL). How many. The
 * path is compared as it is written. */
size_t entries_remove(struct entries *, const char *path, const char *client);
/* An independent copy of everything in from, added to another list; false without memory. */
bool entries_copy(struct entries *to, const struct entries *from);
void entries_free(struct entries *);

#endif
