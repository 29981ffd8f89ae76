/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RESOLVE_INT_H
#define RESOLVE_INT_H
/* What resolve.c and follow.c share. */
#include "resolve.h"
#include "store.h"

/* The serial in a handle; 0: the root's, or a kernel handle. */
uint64_t resolve_serial_of(const struct handle *);
void resolve_serial_handle(const struct export *, uint64_t serial, uint64_t subvolume,
			   struct handle *);
/* All of a row but its serial, for the object behind fd, as a name in the directory of serial
 * parent. *subvolume: of btrfs. */
int resolve_row(const struct export *, int fd, const struct stat *, uint64_t parent,
		const char *name, size_t namelen, struct store_row *, uint64_t *subvolume);

#endif
