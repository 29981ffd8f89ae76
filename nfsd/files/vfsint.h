/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VFSINT_H
#define VFSINT_H
/* What the files of the verbs (vfs.c, vname.c, vread.c, vdir.c) share; nobody else needs it. */
#include "vfs.h"
#include <time.h>

/* This object's place in the batch's memory, made if there is room; NULL without a batch. */
struct vfs_seen *vfs_seen(const struct vfs_ctx *, struct obj *);
/* vfs_getattr, and whether the times in st were older than the clock's grain when it was taken:
 * then every later change of the object shows in them. */
int vfs_look(const struct vfs_ctx *, struct obj *, struct stat *, bool *calm);
/* Are both times of st at least two grains (of the clock, of the file system) before now? */
bool vfs_calm(const struct timespec *now, const struct stat *st);
/* The clock by which the kernel stamps files. */
void vfs_now(struct timespec *now);
/* 0 if the caller has all of these of R_OK|W_OK|X_OK, else EACCES (or as vfs_access). */
int vfs_need(const struct vfs_ctx *, struct obj *, const struct stat *, int needed);

/*
 * Opens one component beneath a directory as O_PATH, following nothing and crossing no mount, and
 * takes its attributes. No permission is checked. ENOENT, EXDEV (a mount point), EMFILE, ESLEEP.
 */
int vfs_open_name(const struct vfs_ctx *, const struct obj *dir, const char *name, int *fd,
		  struct stat *);
/* The parent of a directory that is not its export's root: O_PATH descriptor, attributes, handle.
 * Sleeps. */
int vfs_open_parent(const struct vfs_ctx *, const struct obj *dir, int *fd, struct stat *,
		    struct handle *);

#endif
