/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RESOLVE_H
#define RESOLVE_H
/*
 * From handle to descriptor and back, beneath an export's root. These calls may sleep (disk, store)
 * unless said otherwise.
 */
#include "export.h"
#include <stdbool.h>
#include <sys/stat.h>

struct resolve {
	const struct handle_key *key;
	struct store *store;
};

/*
 * Opens the object that h names as an O_PATH descriptor (O_NOFOLLOW: a symlink is itself). By
 * kernel handle, or for serials by a walk from the root that is verified (inode, type, birth time),
 * follows renames done through us, and searches remembered parents before it gives up. 0 and *fd;
 * ESTALE when the object is gone or is another; EIO, ENOMEM, EMFILE.
 */
int resolve_open(const struct resolve *, const struct export *, const struct handle *h, int *fd);

/*
 * The handle of the object behind fd (O_PATH is enough). dir/name tell where it was found (dir NULL
 * for a root); name NULL, "." or "..": it is a directory that was not found by its name. Kernel
 * handles: one system call, never sleeps on a local file system. Serials: waits for the store; with
 * may_sleep false answers EAGAIN instead. 0, EAGAIN, ENOSPC or EIO (store full, broken), ESTALE (it
 * went away meanwhile).
 */
int resolve_name(const struct resolve *, const struct export *, int fd, const struct stat *st,
		 const struct handle *dir, uint64_t dir_ino, const char *name, size_t namelen,
		 bool may_sleep, struct handle *out);

/*
 * The handle behind a name of a directory (dirfd, readable or O_PATH; NUL-terminated; not "." or
 * ".."), without opening it. Kernel handles within a mount of our own only (EOPNOTSUPP). Whether
 * the name led to the same object a moment before or after is the caller's to know. May sleep.
 */
int resolve_at(const struct resolve *, const struct export *, int dirfd, uint64_t dir_ino,
	       const char *name, uint64_t ino, struct handle *out);

/* For READDIRPLUS: n objects of one directory at once, serials in one commit. fds[i] < 0 are
 * skipped (out[i].ilen = 0), and so is what has no handle. "." and ".." may be among the names. An
 * error is one of the store: then no out[i] is good. */
int resolve_names(const struct resolve *, const struct export *, const struct handle *dir,
		  uint64_t dir_ino, size_t n, const int *fds, const struct stat *st,
		  const char *const *names, struct handle *out);

/* ".." of a directory, never above the export's root (the root's parent is the root). O_PATH
 * descriptor. ESTALE when the directory is no longer beneath the root. */
int resolve_parent(const struct resolve *, const struct export *, int dirfd, int *fd);
/* Is this (device, inode) the export's root? */
bool resolve_is_root(const struct export *, const struct stat *);

/* Removes rows of the store whose objects are gone: looks at the next max rows (each may cost a
 * search), returns how many went. Rows of exports that are not in the table stay. For a timer, in a
 * worker. */
size_t resolve_sweep(const struct resolve *, const struct export_table *, size_t max);

/* Human text of what a handle means ("export /srv, ext4 inode 12, last seen as dir/name"), for
 * splicectl fh. */
int resolve_describe(const struct resolve *, const struct export_table *, const nfs_fh3 *,
		     char *text, size_t size);

#endif
