/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMOD_H
#define VMOD_H
/*
 * The verbs that change something, in errno terms. They run in workers only (ESLEEP on a loop), act
 * as the caller, and return 0 or an errno value. When one returns 0 and the context is not async,
 * the change is on stable storage: object and directory, by the table in sync.c; only
 * vmod_write(VMOD_UNSTABLE) may leave that to vmod_commit. A sync that fails is an error of the
 * verb, and may have lost data of others: then the write verifier changes (sync_lost).
 *
 * Names: 1-255 bytes, no '/', no NUL (EINVAL); over 255 ENAMETOOLONG. "." and ".." are EEXIST where
 * something would be made, EISDIR for REMOVE, EINVAL for RENAME and RMDIR ".", ENOTEMPTY for RMDIR
 * "..". Nothing follows a symbolic link, nothing enters another file system; a mount point in the
 * way is EACCES. umask is 0: modes are exact, but for what the kernel takes away from everybody and
 * what default ACLs say. Handles follow: the store learns of every rename, link and removal in the
 * same step.
 *
 * Errors beyond the obvious: ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EMLINK as the file system says;
 * EACCES also for a file that is being executed; ESTALE for a directory that has been removed;
 * EAGAIN while a lease is broken; EMFILE, ENFILE, ENOMEM after a second of trying.
 *
 * `after` attributes: filled whenever the object could be examined (have_after), also when the verb
 * failed. `before` attributes cannot be had atomically from user space and are given only when the
 * export promises that nobody writes locally (ctx->exact_wcc), under the object's mutation lock.
 */
#include "vfs.h"

struct vmod_wcc { /* of one object touched by a verb */
	bool have_before, have_after;
	struct stat before, after;
};

enum vmod_time { TIME_KEEP, TIME_SERVER, TIME_CLIENT };
struct vmod_attrs { /* what to set; RFC 1813 sattr3 */
	bool set_mode, set_uid, set_gid, set_size;
	mode_t mode; /* of 07777 */
	uid_t uid;
	gid_t gid;
	uint64_t size;
	enum vmod_time set_atime, set_mtime;
	struct timespec atime, mtime;
};

/*
 * SETATTR. guard: NULL, or the ctime the object must still have (to the nanosecond), checked under
 * the object's mutation lock: else ENOTSYNC and nothing changed. Size first, then owner, mode,
 * times, so that what was asked for stands. EFBIG for sizes over 2^63-1, EISDIR or EINVAL for the
 * size of what is no file, EINVAL for ids of -1 and nanoseconds over 999999999. The mode of a
 * symbolic link is ignored. The owner may set the size whatever the mode.
 */
#define ENOTSYNC 4002
int vmod_setattr(const struct vfs_ctx *, struct obj *, const struct vmod_attrs *,
		 const struct timespec *guard, struct vmod_wcc *);

enum vmod_stable { VMOD_UNSTABLE, VMOD_DATA_SYNC, VMOD_FILE_SYNC };
/*
 * WRITE of n bytes at offset from data (n 0: permission is checked, nothing else). *done: bytes
 * written; fewer than asked only when the disk said so after some went well (then 0 is returned).
 * *level: what was truly done, at least what was asked; in an async export what was asked, and not
 * true. Owner override; setuid/setgid are cleared for those for whom the kernel does it. EFBIG past
 * the largest file. The verifier to tell is the one from before the call.
 */
int vmod_write(const struct vfs_ctx *, struct obj *, uint64_t offset, const void *data, uint32_t n,
	       enum vmod_stable asked, uint32_t *done, enum vmod_stable *level, struct vmod_wcc *);
/* The same for bytes waiting in a pipe (received by splice). What is not written stays in the pipe
 * for the caller to drain. */
int vmod_write_pipe(const struct vfs_ctx *, struct obj *, uint64_t offset, int pipe, uint32_t n,
		    enum vmod_stable asked, uint32_t *done, enum vmod_stable *level,
		    struct vmod_wcc *);
/* COMMIT: everything written before this call is on stable storage when it returns 0, if the
 * verifier is still the same. The whole file whatever the range. The verifier to tell is the one
 * from after the call. No permission is asked for. */
int vmod_commit(const struct vfs_ctx *, struct obj *, uint64_t offset, uint32_t count,
		struct vmod_wcc *);

enum vmod_how { VMOD_UNCHECKED, VMOD_GUARDED, VMOD_EXCLUSIVE };
struct vmod_made {	 /* a new (or found) object */
	struct obj *obj; /* referenced */
	struct stat st;
};
/*
 * CREATE. UNCHECKED on an existing regular file succeeds and applies the size only (what is no file
 * is EEXIST); GUARDED is EEXIST; EXCLUSIVE keeps the 8-byte verifier in the store before the file
 * gets its name (all 8 bytes, 0 is legal), so that a repeat with the same verifier finds the same
 * file, also after kill -9; it is dropped at the first SETATTR. attrs (not used for EXCLUSIVE):
 * mode 0600 when none is set; owner and group count for root, others' are ignored when they may
 * not. The owner of what it made 0444 may write it.
 */
int vmod_create(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen,
		enum vmod_how, const struct vmod_attrs *, const unsigned char verifier[8],
		struct vmod_made *, struct vmod_wcc *dir_wcc);
/* Mode 0700 when none is set. */
int vmod_mkdir(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen,
	       const struct vmod_attrs *, struct vmod_made *, struct vmod_wcc *dir_wcc);
/* text: len bytes; EINVAL when empty or with a NUL, ENAMETOOLONG over 4095 or what the file system
 * takes. Its mode is ignored. */
int vmod_symlink(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen,
		 const char *text, size_t len, const struct vmod_attrs *, struct vmod_made *,
		 struct vmod_wcc *dir_wcc);
/* type: S_IFIFO, S_IFSOCK (anybody), S_IFCHR, S_IFBLK (root only: EPERM); else EINVAL. */
int vmod_mknod(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen,
	       mode_t type, uint32_t major, uint32_t minor, const struct vmod_attrs *,
	       struct vmod_made *, struct vmod_wcc *dir_wcc);

/* REMOVE (EISDIR for a directory), RMDIR (ENOTDIR, ENOTEMPTY). */
int vmod_remove(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen,
		struct vmod_wcc *dir_wcc);
int vmod_rmdir(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen,
	       struct vmod_wcc *dir_wcc);
/* Both directories of one export, else EXDEV. */
int vmod_rename(const struct vfs_ctx *, struct obj *from, const char *fname, size_t flen,
		struct obj *to, const char *tname, size_t tlen, struct vmod_wcc *from_wcc,
		struct vmod_wcc *to_wcc);
/* EINVAL for a directory. */
int vmod_link(const struct vfs_ctx *, struct obj *obj, struct obj *dir, const char *name,
	      size_t namelen, struct vmod_wcc *obj_wcc, struct vmod_wcc *dir_wcc);

/*
 * The write verifier of this instance: random, never zero, the same for all loops. It changes (by
 * sync_lost alone, of which vfs_lost is the name for other boxes) when a sync or a write-back error
 * may have lost data that somebody was told is unstable or stable.
 */
uint64_t vfs_verifier(const struct vfs *);
void vfs_lost(const struct vfs *, const char *why);

#endif
