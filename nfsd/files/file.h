/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FILE_H
#define FILE_H
/*
 * struct obj: a resolved handle. The cache maps handle -> obj for every thread: sharded by hash,
 * one short mutex per shard, CLOCK eviction of objects nobody holds, capped well under
 * RLIMIT_NOFILE. Eviction costs time, never validity. An obj's descriptors are opened as the server
 * and shared; they close when the last reference goes, on a thread of the cache's own (closing the
 * last descriptor of a removed file can take long). An object that was changed by somebody who did
 * not wait for the disk is pinned until it is synced (sync.h): its descriptor is the one that will
 * hear of a failed write-back.
 *
 * Locks, in the order they are taken: obj->change (two objects: the lower address first),
 * shard->lock, obj->lock. Only the first is held over system calls that may sleep.
 */
#include "cred.h"
#include "export.h"
#include "resolve.h"
#include "sync.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct ident;

/* vfs functions return 0 or an errno value, or this: it could sleep, let a worker do it. Not an
 * errno of the kernel. */
#define ESLEEP 4000

#define OBJ_PERMS 8

/* A permission answer of the kernel, true as long as ctime stays. */
struct perm {
	uint64_t cred;		/* cred.hash */
	uint8_t asked, granted; /* R_OK | W_OK | X_OK; asked 0: unused */
	struct timespec ctime;
};

/* Readahead of one sequential reader (vread.c). All hints, all atomic, relaxed. */
struct ahead {
	uint64_t next;	 /* end of the last read from disk: a sequential reader goes on here */
	uint64_t upto;	 /* how far was read ahead */
	uint64_t mark;	 /* a READ beyond this goes to a worker, to read on; UINT64_MAX: none */
	uint64_t window; /* bytes read ahead last; 0: not sequential */
};

struct obj {
	pthread_rwlock_t change; /* alone: a change that must see no other; shared: any change */
	pthread_mutex_t lock;	 /* perms */
	nfs_fh3 fh;		 /* the key: the whole sealed handle */
	struct handle id;	 /* parsed */
	struct export *ex;	 /* referenced */
	int fd;			 /* O_PATH */
	int rfd;		 /* O_RDONLY for READ, -1 until first used; atomic */
	int wfd;     /* O_WRONLY of a file, O_RDONLY of a directory (to sync it); atomic */
	mode_t type; /* S_IFMT bits */
	uint64_t ino;
	uint64_t birth; /* unlike any other obj's of this process: names remembered in it */
	struct perm perms[OBJ_PERMS];
	unsigned perm_hand;
	bool perm_warm; /* the kernel has the object's ACL in memory: a check cannot sleep (local
			   file systems); atomic */
	bool nosplice;	/* splice refused this file: READ copies; atomic */
	unsigned cold;	/* pool reads outstanding; while > 0 loops do not trust residency; atomic */
	struct ahead ra;
	struct flush flush;
	/* cache's own */
	unsigned refs; /* atomic; the cache holds one while linked */
	bool linked, used;
	struct obj *hnext, *cprev, *cnext;
};

struct files;
struct names;

/* max_objs 0: from RLIMIT_NOFILE (half of it, two descriptors each; at most 131072 objects). Starts
 * a thread: call after any fork. NULL with errno when memory or /proc is missing. */
struct files *files_new(const struct resolve *, const struct ident *, size_t max_objs);
/* Every reference must have been put. */
void files_free(struct files *);

/*
 * The object of a parsed handle in its export, with a reference. Cached: any thread. Else ESLEEP
 * when !may_sleep, or it is opened. ESTALE, EMFILE, EIO, ENOMEM.
 */
int obj_get(struct files *, struct export *, const nfs_fh3 *, const struct handle *, bool may_sleep,
	    struct obj **);
/* The object behind an O_PATH descriptor just opened (the descriptor is taken over, also on
 * failure), whose handle is id. Never sleeps. ENOMEM. */
int obj_adopt(struct files *, struct export *, int fd, const struct stat *, const struct handle *id,
	      struct obj **);
struct obj *obj_ref(struct obj *);
void obj_put(struct files *, struct obj *);
/* Forget an object (stale): the next get opens anew. */
void obj_forget(struct files *, struct obj *);
/* Drops every cached object whose export is gone by gone(), which is asked with a lock held; all of
 * them: NULL. One pass, however many exports are gone. */
void files_drop(struct files *, bool (*gone)(void *, const struct export *), void *arg);

/* The O_RDONLY descriptor of a regular file, opened at first use through /proc/self/fd (may sleep:
 * ESLEEP when !may_sleep and not yet open); valid as long as the reference. EINVAL/EISDIR for what
 * is no regular file; EAGAIN while somebody holds a lease on it (fcntl(2)). */
int obj_reader(struct files *, struct obj *, bool may_sleep, int *fd);

/*
 * The descriptor through which a regular file is written, or a directory synced; as obj_reader.
 * Opened as the server, whatever the mode: an ordinary user who owns the file but may not write it
 * gives himself the right for a moment. May sleep; not under obj->change. EACCES also for a file
 * that is being executed, EPERM for an immutable one, EROFS, EINVAL for what is neither.
 */
int obj_writer(struct files *, struct obj *, int *fd);

/* The sender found that this file cannot be spliced (EINVAL): READ copies it from now on. */
static inline void
obj_refuse_splice(struct obj *o)
{
	__atomic_store_n(&o->nosplice, true, __ATOMIC_RELAXED);
}

/* ---- for this box ---- */

/* Opens what a descriptor names, with O_CLOEXEC | O_NONBLOCK and flags; a descriptor of the
 * caller's, or -1 with errno. May sleep. Out of descriptors, as files_retry says. */
int files_reopen(struct files *, int fd, int flags);
/* Is it worth trying again after this error? Out of descriptors: room is made and, from the second
 * time on, waited for, a second in all. *tries begins at 0. Sleeps. */
bool files_retry(struct files *, int error, unsigned *tries);
/* The cached object of a handle, referenced; NULL: it is not in the cache. */
struct obj *obj_cached(struct files *, struct export *, const struct handle *);
/* A new file's descriptors, open for writing, and for reading (or -1), become the object's, or are
 * closed where it has its own. */
void obj_keep(struct obj *, int wfd, int rfd);
/* /proc/self/fd, for calls that take a path. */
int files_proc(const struct files *);
struct sync *files_sync(const struct files *);
/* Idle objects: what is pinned for min_age seconds and more is synced, descriptors for writing that
 * need not stay open are closed (a file that is open for writing cannot be executed). The cache's
 * thread does it every few seconds. Sleeps. */
void files_settle(struct files *, int min_age);
/* Makes room after EMFILE or ENFILE: evicts idle objects and closes them. May sleep. */
void files_relieve(struct files *);
/* Closes what was evicted, if the cache's thread has fallen far behind: for workers, before they
 * open more. */
void files_keep_up(struct files *);
/* Forgets cached objects of local file systems that have lost their last name, so that their space
 * is freed. The cache's thread does it every few seconds. */
void files_sweep(struct files *);
/* The memory of lookups (names.h). */
struct names *files_names(struct files *);

struct files_info {
	size_t objs, max_objs;
};
void files_info(struct files *, struct files_info *);

#endif
