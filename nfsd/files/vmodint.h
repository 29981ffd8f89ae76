/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMODINT_H
#define VMODINT_H
/* What the files of the modifying verbs share (vmod.c, vmodattr.c, vmodmake.c, vmodcreate.c,
 * vwrite.c); nobody else needs it. */
#include "follow.h"
#include "vfsint.h"
#include "vmod.h"
#include <limits.h>

/* The mutation locks of one or two objects (b may be NULL, or a). alone: no other change at the
 * same time; else only those who want to be alone are kept out. */
struct vmod_hold {
	struct obj *v[2];
};
void vmod_hold(struct vmod_hold *, bool alone, struct obj *a, struct obj *b);
void vmod_release(struct vmod_hold *);

/* before: only when the context says that it can be told; under the lock, alone. */
void vmod_before(const struct vfs_ctx *, const struct obj *, struct vmod_wcc *);
void vmod_after(const struct obj *, struct vmod_wcc *);

/* Becomes the caller; 0 (then ident_end) or EACCES, ENOMEM. */
int vmod_as(const struct vfs_ctx *);
/* Runs a system call again that a signal has disturbed. */
#define VMOD_CALL(r, call)                                                                         \
	do                                                                                         \
		(r) = (call);                                                                      \
	while ((r) < 0 && errno == EINTR)
/* What a failed name-space call says about a name in dir: EBUSY is a mount point in the way
 * (EACCES), ENOENT may mean that the directory itself has been removed (ESTALE). */
int vmod_error(const struct obj *dir, int error);

/* A name as text; 0, EINVAL, ENAMETOOLONG. */
int vmod_name(const char *name, size_t len, char text[NAME_MAX + 1]);
/* "." 1, ".." 2, else 0. */
int vmod_dots(const char *text);
struct place vmod_place(const struct obj *dir, const char *text);

/* May the caller write this file? The owner may whatever the mode. 0, EACCES, EROFS. */
int vmod_may_write(const struct vfs_ctx *, struct obj *, const struct stat *);

/* EINVAL, EFBIG, EISDIR for what cannot be set on an object of this type. */
int vmod_check(const struct vmod_attrs *, mode_t type);
/* Sets attributes as the caller: size, owner, mode, times. fd: of the object, O_PATH is enough;
 * wfd: the same open for writing, when the size is set. No locks, no sync. */
int vmod_apply(const struct vfs_ctx *, int fd, int wfd, mode_t type, const struct vmod_attrs *);

#endif
