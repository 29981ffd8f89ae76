/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VFS_H
#define VFS_H
/*
 * The verbs, in errno terms: no XDR, no NFS status here. Each returns 0, an errno value, or ESLEEP
 * when ctx->may_sleep is false and the verb could sleep (then nothing has happened, and a worker
 * repeats it).
 *
 * struct vfs_batch is what a loop remembers between the calls of one wake-up, all of which were
 * received before it began: one fstat and one residency probe per object, one permission answer per
 * (object, credential). A worker passes none and asks the kernel each time.
 */
#include "file.h"
#include "ident.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define VFS_BATCH 64
#define VFS_READ_MAX (1u << 20) /* longest READ answered; a longer count is clamped */

struct vfs_seen {	 /* an object within a batch */
	struct obj *obj; /* referenced until vfs_batch_end */
	struct stat st;
	bool have_st;
	bool calm; /* st was taken when its times were older than the clock's grain */
	uint64_t warm_from, warm_to; /* resident byte range, by the last probe */
};
struct vfs_batch {
	struct vfs_seen seen[VFS_BATCH];
	unsigned n;
	bool deep; /* many calls are expected: set by who fills the batch */
};

struct vfs {
	struct files *files;
	const struct ident *ident;
	const struct kernel *kernel;
	const struct resolve *resolve;
	/* READ: from this many bytes up the reply is spliced; 0 = always, UINT32_MAX = never (-z)
	 */
	uint32_t splice_from;
	uint32_t splice_deep; /* the same in a batch of many calls, whose heads cost less each */
};
/* One call's view. */
struct vfs_ctx {
	const struct vfs *vfs;
	const struct cred *cred; /* squashed */
	struct vfs_batch *batch; /* NULL in a worker */
	bool may_sleep;
	bool async;	/* the export's option: changes are not waited for (vmod.h) */
	bool exact_wcc; /* nobody changes the export but this server: `before` can be told */
};

void vfs_batch_begin(struct vfs_batch *);
void vfs_batch_end(struct vfs_batch *, struct files *);
/* The object that this very handle led to earlier in the batch, borrowed; NULL: none. */
struct obj *vfs_batch_find(const struct vfs_batch *, const nfs_fh3 *);

/* The object of a handle, through the batch's memory first. Reference for the caller (obj_put). */
int vfs_object(const struct vfs_ctx *, struct export *, const nfs_fh3 *, const struct handle *,
	       struct obj **);

/* Attributes. fstat of an open object; on a file system that is not local: ESLEEP on a loop. ESTALE
 * for what has lost its last name (the object is then forgotten). */
int vfs_getattr(const struct vfs_ctx *, struct obj *, struct stat *);

/*
 * Does the caller have these of R_OK|W_OK|X_OK? *granted is the subset; asks the kernel as the
 * caller (ACLs included), remembered while ctime stays. EACCES when this server cannot act as the
 * caller at all.
 */
int vfs_access(const struct vfs_ctx *, struct obj *, const struct stat *, int asked, int *granted);

/*
 * LOOKUP: one component; "." and ".." included (".." stops at the export's root; needs search
 * permission). ENOENT, ENOTDIR, EACCES, ENAMETOOLONG (> 255), EINVAL ('/' or NUL or empty). What is
 * mounted on or beyond the export's file system is not entered. *child is referenced. st: the
 * child's attributes.
 */
int vfs_lookup(const struct vfs_ctx *, struct obj *dir, const char *name, size_t namelen,
	       struct obj **child, struct stat *st);

/* The same across a mount: from a directory, which the caller may search, to the root of another
 * export, or (dirfd >= 0) to that directory of it. May sleep unless it is cached. */
int vfs_enter(const struct vfs_ctx *, struct obj *dir, struct export *to, int dirfd,
	      struct obj **child, struct stat *st);

/* READLINK into buf; *len bytes, not terminated. EINVAL when it is no symbolic link. */
int vfs_readlink(const struct vfs_ctx *, struct obj *, char *buf, size_t size, size_t *len);

/*
 * READ: what the bytes are and how they should travel. Owner override and execute-implies-read are
 * applied here. offset >= size: len 0, eof. st comes before the data is looked at, so data may be
 * newer than attributes, never older. EACCES, EISDIR, EINVAL (no regular file), ESTALE, EIO; EAGAIN
 * (try later) for a leased file or one that changes too fast.
 */
struct vfs_data {
	uint32_t len; /* bytes that follow; <= count */
	bool eof;     /* offset + len reaches the size */
	/* exactly one of, none when len is 0; but mem beside pipe holds the last bytes: */
	void *mem; /* buf_take(cap) memory holding the bytes; the caller gives it back with
		      buf_give(mem, cap) */
	size_t cap;
	int fd; /* -1, or: splice from here at off (descriptor belongs to obj; hold the reference
		   until sent) */
	off_t off;
	int pipe[2];   /* [0] >= 0: a full pipe holding len - tail bytes, filled by a worker; the
			  caller owns it */
	uint32_t tail; /* bytes in mem that follow those in pipe */
};
/* copy: never splice (rebuild after a file shrank, option). pipe: a drained pipe of >= need bytes
 * to fill in a worker, or NULL. */
int vfs_read(const struct vfs_ctx *, struct obj *, uint64_t offset, uint32_t count, bool copy,
	     const int pipe[2], struct stat *st, struct vfs_data *);

/* When the object was made, nanoseconds since 1970. ENOTSUP where the file system does not know.
 * May sleep. */
int vfs_born(const struct obj *, uint64_t *ns);
int vfs_statfs(const struct vfs_ctx *, struct obj *, struct statvfs *);
struct vfs_limits {
	uint32_t link_max, name_max;
	bool no_trunc, chown_restricted, case_insensitive, case_preserving;
};
int vfs_limits(const struct vfs_ctx *, struct obj *, struct vfs_limits *);

#endif
