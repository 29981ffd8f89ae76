/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SYNC_H
#define SYNC_H
/*
 * Stable storage: what each verb makes stable and how, syncs that callers share, and the write
 * verifier, which changes when something may have been lost. See the story in sync.c.
 */
#include <stdbool.h>
#include <stdint.h>

struct files;
struct obj;
struct vfs_ctx;

/* What remembers syncs, in every object. Guarded by a lock of struct sync, but for the last two. */
struct flush {
	uint64_t started, done; /* syncs of this object, by number */
	uint64_t failed;	/* the last that failed, and how */
	int error;
	int waiting; /* for the next; atomic, for who watches */
	bool running;
	bool full;	  /* somebody who waits for the next wants attributes too */
	uint64_t wrote;	  /* changes that nobody has waited for; atomic */
	uint64_t settled; /* as many of them are on the disk, or lost and told; atomic */
	int64_t since;	  /* monotonic second of the latest; atomic */
};

/* The calls. Tests put others here. 0, or -1 with errno. */
struct sync_ops {
	int (*file)(int fd); /* fsync(2) */
	int (*data)(int fd); /* fdatasync(2) */
	int (*fs)(int fd);   /* syncfs(2) */
};

struct sync;
struct sync *sync_new(void); /* NULL: no memory, or no randomness */
void sync_free(struct sync *);
/* Before there are callers. */
void sync_use(struct sync *, const struct sync_ops *);

uint64_t sync_verifier(const struct sync *);
/* The one function that changes the verifier. why: for the log, with the errno value. */
void sync_lost(struct sync *, const char *why, int error);

/*
 * Makes what was done to an object so far stable through fd, a descriptor of it. May share a sync
 * that others wait for too, if it begins after this call. full: attributes too, else only what
 * reading the data back needs. 0, or the errno value of a sync that began after this call; then the
 * verifier has changed before anybody learns of it.
 */
int sync_flush(struct sync *, struct obj *, int fd, bool full);
/* A write or a write-back of this file failed: its pages in memory are not what the disk has. */
void sync_distrust(int fd);
/* Nobody waits for this change of the object: from now until a sync it is pinned. */
void sync_note(struct obj *);
bool sync_is_pinned(const struct obj *);
int64_t sync_since(const struct obj *); /* the latest sync_note, by this clock: */
int64_t sync_clock(void);
/* Closes a descriptor through which was written; some file systems tell only now what they lost. */
void sync_close(struct sync *, int fd);
/* The same for an object that nobody uses any more: if it is pinned, with a sync before. */
void sync_last(struct sync *, struct obj *, int fd);

enum sync_verb {
	SYNC_SETATTR,
	SYNC_WRITE_DATA,
	SYNC_WRITE,
	SYNC_COMMIT,
	SYNC_CREATE,
	SYNC_MKDIR,
	SYNC_SYMLINK,
	SYNC_MKNOD,
	SYNC_REMOVE,
	SYNC_RMDIR,
	SYNC_RENAME,
	SYNC_RENAME_DIR, /* of a directory into another one: its ".." changes */
	SYNC_LINK,
};
/* What went wrong after a change was made and stays: never an error that asks to come again
 * (memory, descriptors), for the client would make the change twice, and fail. EIO instead. */
int sync_made(int error);
/* After a verb: what the table says, unless the context is async. self, dir, dir2 may be NULL when
 * the verb's row has no use for them, and dir2 when it is dir. 0 or errno: the first failure, and
 * never one that asks to come again, but for WRITE and COMMIT. */
int sync_verb(const struct vfs_ctx *, enum sync_verb, struct obj *self, struct obj *dir,
	      struct obj *dir2);

#endif
