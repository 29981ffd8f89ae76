/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WALK_H
#define WALK_H
/*
 * From a serial to a descriptor, beneath an export's root. May sleep, and search.
 */
#include "resolve.h"
#include "store.h"

/* What the walks of one export remember: serials that a whole search did not find, for a while. */
struct walk *walk_new(void);
void walk_free(struct walk *);

/* The identity of the object behind fd. st may be NULL. *subvolume (may be NULL): of btrfs. 0 or
 * errno. For file systems without lasting inode numbers parent and name are part of it. */
int walk_ident(const struct export *, int fd, const struct stat *st, uint64_t parent,
	       const char *name, size_t namelen, struct store_ident *id, uint64_t *subvolume);

/* Fills a row and has its serial issued: the object behind fd, found as name in the directory of
 * serial parent. 0 or errno. */
int walk_issue(const struct resolve *, const struct export *, int fd, uint64_t parent,
	       const char *name, size_t namelen, uint64_t *serial);

/* Opens a serial (not 0) as an O_PATH descriptor. 0, ESTALE, or another errno. */
int walk_open(const struct resolve *, const struct export *, uint64_t serial, int *fd);
/* Is there still an object of this serial? May answer true when it cannot be known. For sweeping.
 */
bool walk_alive(const struct resolve *, const struct export *, uint64_t serial);

/* The serial of a directory beneath the root that was not found by its name: the known one, or its
 * names are found by climbing, and issued. */
int walk_serial(const struct resolve *, const struct export *, int fd, uint64_t *serial);

/* openat2 of one component or path beneath a directory: O_PATH, never through links, never into
 * another mount; -1 with errno. A kernel without openat2 is served by single steps. */
int walk_beneath(int dirfd, const char *path);

#endif
