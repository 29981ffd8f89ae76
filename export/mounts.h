/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MOUNTS_H
#define MOUNTS_H
/*
 * What is mounted where, as this process sees it: one reading of /proc/self/mountinfo (proc(5)). No
 * file system is asked anything, so one that hangs does not matter here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mount {
	int id, parent;
	char *path; /* of the mount point, decoded */
	char *type; /* "ext4" */
	/* Tells this mount from another one that is given the same id later: a hash of id, device,
	 * root, type, and whether it is read-only; never 0. */
	uint64_t key;
};
struct mounts {
	struct mount *v; /* by path */
	size_t n;
};

/* False, with nothing in it, when /proc/self/mountinfo cannot be read. rootdir: what is not beneath
 * it is left out, and paths begin there (rootdir.h); NULL: the whole. */
bool mounts_read(struct mounts *, const char *rootdir);
void mounts_free(struct mounts *);

/* Is this what a path walk meets at its path? (Else it is covered by a later mount, there or
 * above.) */
bool mounts_shown(const struct mounts *, const struct mount *);
/* The mount in which the directory lies on which m (and what m may cover) is mounted; NULL: none.
 */
const struct mount *mounts_beneath(const struct mounts *, const struct mount *m);
/* The mount in which a path (canonical) lies. */
const struct mount *mounts_of(const struct mounts *, const char *path);
/* The path that is next above the first len bytes of path: its length, 1 for "/", and 0 above that.
 */
size_t mounts_shorter(const char *path, size_t len);
/* May it be led into? Not into what is no file system for files (proc, sysfs, cgroup, autofs...).
 */
bool mounts_is_files(const struct mount *);
/* Is it of a kind that answers without asking anybody (a disk, memory)? Others may hang. */
bool mounts_is_local(const struct mount *);

#endif
