/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMOD_H
#define VMOD_H
/*
 * The verbs that change something, in errno terms. They run in workers only (may sleep), as the caller (ident bracket), and return
 * 0 or an errno value. When one returns 0 and the context is not async, the change is on stable storage: object and directory, by the
 * table in sync.c; only vmod_write(VMOD_UNSTABLE) may leave that to vmod_commit. A sync that fails is an error of the verb, and may have
 * lost data of others: then the write verifier changes (vfs_lost).
 *
 * Names: 1-255 bytes, no '/', no NUL; "." and ".." are EEXIST where something would be made, EINVAL for RMDIR ".", ENOTEMPTY or
 * EEXIST for RMDIR "..", EISDIR... as RFC 1813 3.3.8-3.3.15 say; over 255 ENAMETOOLONG. Nothing follows a symbolic link, nothing enters another
 * file system. umask is 0: modes are exact. Handles follow: the store learns of every rename, link and removal in the same step.
 *
 * `after` attributes: filled whenever the object could be examined (have_* true), also when the verb failed. `before` attributes cannot be had
 * atomically from user space and are given only when the export promises that nobody writes locally (ctx->exact_wcc), under the
 * object's mutation lock.
 */
#include "vfs.h"

struct vmod_wcc { /* of one object touched by a verb */
	bool have_before, have_after;
	struct stat before, after;
};

struct vmod_attrs { /* what to set; RFC 1813 sattr3 */
	bool set_mode, set_uid, set_gid, set_size;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint64_t size;
	enum { TIME_KEEP, TIME_SERVER, TIME_CLIENT } set_atime, set_mtime;
	struct timespec atime, mtime;
};

/*
 * SETATTR. guard: NULL, or the ctime the object must still have (to the nanosecond), checked under the object's mutation lock: else ENOTSYNC and
 * nothing changed. Size first, then owner, mode, times, so that the times asked for stand. EFBIG for sizes over 2^63-1, EISDIR/EINVAL
 * for a size of what is no file. The owner may set the size whatever the mode. setuid/setgid bits are cleared as local kernels do.
 */
#define ENOTSYNC 4002
int vmod_setattr(const struct vfs_ctx *, struct obj *, const struct vmod_attrs *, const struct timespec *guard, struct vmod_wcc *);

enum vmod_stable { VMOD_UNSTABLE, VMOD_DATA_SYNC, VMOD_FILE_SYNC };
/*
 * WRITE of n bytes at offset from data (n 0: permission is checked, nothing else). *done: bytes written; short only when the disk said so
 * after some went well (then 0 is returned). *level: what was truly done, at least what was asked. Owner override; setuid/setgid cleared for
 * non-root. EFBIG past the largest file, ENOSPC, EDQUOT, EIO, EROFS.
 */
int vmod_write(const struct vfs_ctx *, struct obj *, uint64_t offset, const void *data, uint32_t n, enum vmod_stable asked, uint32_t *done,
	       enum vmod_stable *level, struct vmod_wcc *);
/* The same for bytes waiting in a pipe (received by splice). What is not written stays in the pipe for the caller to drain. */
int vmod_write_pipe(const struct vfs_ctx *, struct obj *, uint64_t offset, int pipe, uint32_t n, enum vmod_stable asked, uint32_t *done,
		    enum vmod_stable *level, struct vmod_wcc *);
/* COMMIT: everything written before this call is on stable storage when it returns 0. The whole file whatever the range. */
int vmod_commit(const struct vfs_ctx *, struct obj *, uint64_t offset, uint32_t count, struct vmod_wcc *);

enum vmod_how { VMOD_UNCHECKED, VMOD_GUARDED, VMOD_EXCLUSIVE };
struct vmod_made {      /* a new (or found) object */
	struct obj *obj; /* referenced */
	struct stat st;
};
/*
 * CREATE. UNCHECKED on an existing regular file succeeds and applies the size only; GUARDED is EEXIST; EXCLUSIVE keeps the 8-byte
 * verifier in the store before the reply (all 8 bytes, 0 is legal), so that a repeat with the same verifier finds the same file, also after
 * kill -9; it is dropped at the first SETATTR. The owner of what it made 0444 may write it.
 */
int vmod_create(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen, enum vmod_how, const struct vmod_attrs *,
		const unsigned char verifier[8], struct vmod_made *, struct vmod_wcc *dir_wcc);
int vmod_mkdir(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen, const struct vmod_attrs *, struct vmod_made *,
	       struct vmod_wcc *dir_wcc);
/* text: len bytes; EINVAL when empty or with a NUL, ENAMETOOLONG over 1024 or what the file system takes. */
int vmod_symlink(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen, const char *text, size_t len,
		 const struct vmod_attrs *, struct vmod_made *, struct vmod_wcc *dir_wcc);
/* type: S_IFIFO, S_IFSOCK (anybody), S_IFCHR, S_IFBLK (real root only: EPERM). */
int vmod_mknod(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen, mode_t type, uint32_t major, uint32_t minor,
	       const struct vmod_attrs *, struct vmod_made *, struct vmod_wcc *dir_wcc);

/* REMOVE (EISDIR for a directory), RMDIR (ENOTDIR, ENOTEMPTY). */
int vmod_remove(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen, struct vmod_wcc *dir_wcc);
int vmod_rmdir(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen, struct vmod_wcc *dir_wcc);
/* Both directories of one export (else EXDEV, the caller's to check by export; here by file system). */
int vmod_rename(const struct vfs_ctx *, struct obj *from, const char *fname, size_t flen, struct obj *to, const char *tname, size_t tlen,
		struct vmod_wcc *from_wcc, struct vmod_wcc *to_wcc);
int vmod_link(const struct vfs_ctx *, struct obj *obj, struct obj *dir, const char *name, size_t namelen, struct vmod_wcc *obj_wcc,
	      struct vmod_wcc *dir_wcc);

/*
 * The write verifier of this instance: random, never zero, the same for all loops. vfs_lost() is the only function that changes it: called when
 * a sync or a write-back error may have lost data that somebody was told is unstable or stable.
 */
uint64_t vfs_verifier(const struct vfs *);
void vfs_lost(const struct vfs *, const char *why);

#endif
