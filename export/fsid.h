/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FSID_H
#define FSID_H
/*
 * Which file system is this? The answer must be the same after a reboot or remount, whoever asks,
 * and different for another file system.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fsid {
	uint8_t data[64]; /* to be hashed */
	size_t len;
	bool weak; /* it has no UUID: known by type, source and mount point only */
};

/* fd: a readable directory; type: its statfs f_type; mnt_id: of the mount it was reached by. 0, or
 * ENOTSUP with a message. */
int fsid_find(int fd, const char *path, long type, uint64_t mnt_id, struct fsid *, char *err,
	      size_t errlen);
/* Appends a btrfs subvolume: each has inode numbers of its own. */
void fsid_add_subvolume(struct fsid *, uint64_t subvolume);

#endif
