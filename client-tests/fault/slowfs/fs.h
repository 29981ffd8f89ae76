/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOWFS_FS_H
#define SLOWFS_FS_H

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>

#include "disk.h"
#include "faults.h"
#include "node.h"

/* The private data of a session, whichever of the two file systems it runs. */
struct fs {
	struct faults *faults;
	double timeout;	    /* seconds that names and attributes may be remembered by the kernel */
	bool direct_io;	    /* files are read past the page cache (and then refuse splice) */
	bool keep_cache;    /* pages survive the next open */
	struct nodes nodes; /* mirror.c */
	struct disk *disk;  /* image.c */
};

/* A directory, mirrored: every operation of a local file system but extended attributes and locks.
 */
extern const struct fuse_lowlevel_ops mirror_ops;
/* One file "disk" in an otherwise empty directory: a disk image for a loop device. */
extern const struct fuse_lowlevel_ops image_ops;

/* Counts and delays; true when the operation has been answered with the error it must fail with. */
bool fs_refuse(fuse_req_t req, enum op op);

#endif
