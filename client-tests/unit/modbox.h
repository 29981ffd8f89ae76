/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODBOX_H
#define MODBOX_H
/* In a box: a served directory that tests change, with short names for the verbs. Every helper that
 * expects success ends the box when there is none. */
#include "check.h"
#include "served.h"
#include "vmod.h"
#include <errno.h>

extern struct served mod;

/* Serves a fresh file system of a type (box_mount); then a second time from the same state. */
void mod_begin(const char *type);
void mod_again(void);
void mod_end(void);
/* A path beneath the served directory; good for four calls. */
const char *mod_at(const char *name);
/* A worker's view as this user (gid the same as uid, and these groups). */
struct vfs_ctx mod_as(uid_t uid);
struct vfs_ctx mod_as_groups(uid_t uid, gid_t gid, uint32_t n, const gid_t *groups);

/* The verbs by names as text. obj NULL: the new object is put at once. */
int mod_create(const struct vfs_ctx *, struct obj *dir, const char *name, mode_t mode,
	       struct obj **obj);
int mod_exclusive(const struct vfs_ctx *, struct obj *dir, const char *name, const char *verifier,
		  struct obj **obj);
int mod_mkdir(const struct vfs_ctx *, struct obj *dir, const char *name, mode_t mode,
	      struct obj **obj);
int mod_symlink(const struct vfs_ctx *, struct obj *dir, const char *name, const char *text);
int mod_mknod(const struct vfs_ctx *, struct obj *dir, const char *name, mode_t type);
int mod_remove(const struct vfs_ctx *, struct obj *dir, const char *name);
int mod_rmdir(const struct vfs_ctx *, struct obj *dir, const char *name);
int mod_rename(const struct vfs_ctx *, struct obj *from, const char *f, struct obj *to,
	       const char *t);
int mod_link(const struct vfs_ctx *, struct obj *, struct obj *dir, const char *name);
int mod_chmod(const struct vfs_ctx *, struct obj *, mode_t);
int mod_size(const struct vfs_ctx *, struct obj *, uint64_t);
int mod_write(const struct vfs_ctx *, struct obj *, uint64_t off, const char *text,
	      enum vmod_stable);
int mod_commit(const struct vfs_ctx *, struct obj *);

struct stat mod_stat(const char *name); /* lstat; ends the box when it is not there */
bool mod_there(const char *name);
/* What the file holds is this text. */
bool mod_holds(const char *name, const char *text);
/* Does the handle of this object still lead to it, with an empty cache? 0, ESTALE, ... */
int mod_resolves(struct obj *);

/* Each test runs on these; fn is given the type. */
#define MOD_TYPES(suite, name, fn)                                                                 \
	MOD_ON(suite, name, fn, tmpfs)                                                             \
	MOD_ON(suite, name, fn, ext4)                                                              \
	MOD_ON(suite, name, fn, xfs) MOD_ON(suite, name, fn, btrfs) MOD_ON(suite, name, fn, overlay)
#define MOD_ON(suite, name, fn, type)                                                              \
	static void fn##_on_##type(void)                                                           \
	{                                                                                          \
		fn(#type);                                                                         \
	}                                                                                          \
	TEST(suite, name##_##type)                                                                 \
	{                                                                                          \
		BOXED(fn##_on_##type);                                                             \
	}

#endif
