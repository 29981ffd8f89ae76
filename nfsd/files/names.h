/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NAMES_H
#define NAMES_H
/*
 * Remembered lookups: (directory, name) -> handle, one table of fixed size for the process. An
 * entry holds while the directory's ctime and mtime are those it was made under. A name is kept as
 * its 128-bit keyed hash, a directory as its obj's birth number, a child as its handle: entries pin
 * nothing, and what they lead to is opened by handle when it is no longer cached.
 */
#include "wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct names;

/* slots is rounded up to a power of two, at least 64; NULL when memory is gone. */
struct names *names_new(size_t slots);
void names_free(struct names *);

/* The child's handle, if it is remembered and dir_st is what it was. */
bool names_find(struct names *, uint64_t dir, const struct stat *dir_st, const char *name,
		size_t len, nfs_fh3 *child);
/* Remembers. The caller vouches that dir_st was taken before the lookup and that its times were
 * older than the clock's grain (vfs_calm), so that any later change shows in them. */
void names_put(struct names *, uint64_t dir, const struct stat *dir_st, const char *name,
	       size_t len, const nfs_fh3 *child);

#endif
