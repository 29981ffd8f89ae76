/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KHANDLE_H
#define KHANDLE_H
/* The kernel's own file handles: name_to_handle_at(2), open_by_handle_at(2). */
#include "handle.h"

/* Fills kind, ktype, ilen and ident of *h for the object behind fd (O_PATH is enough). 0,
 * EOPNOTSUPP, EOVERFLOW (too long for us), or another errno. Anybody may ask. */
int khandle_get(int fd, struct handle *h);
/* The same for a name in a directory, which is not followed when it is a symbolic link. */
int khandle_get_at(int dirfd, const char *name, struct handle *h);
/* An O_PATH descriptor of the object, within the mount of mountfd (not O_PATH). ESTALE when it is
 * gone; EPERM without CAP_DAC_READ_SEARCH; EMFILE, ENFILE, ENOMEM, EIO. */
int khandle_open(int mountfd, const struct handle *h, int *fd);
/* The subvolume in a handle of btrfs, 0 if it is none. Subvolume numbers are never used twice
 * within a file system. */
uint64_t khandle_subvolume(const struct handle *h);
/* 64-bit hash of a kernel handle, without a key: kept in the store, where a new key must not change
 * it. */
uint64_t khandle_hash(const struct handle *h);

#endif
