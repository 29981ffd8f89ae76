/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_H
#define STORE_H
/*
 * The store: an LMDB environment in the state directory that remembers what handles mean. Only db.c
 * and dbrow.c beneath it name LMDB. One thread of its own writes, committing what has gathered
 * (group commit). Readers are workers, never loops: each read is one short transaction. With kernel
 * handles the store is only a memory of names (may be late, may be dropped under load). For serials
 * it is the truth: store_issue() returns when the row is on stable storage.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct store;

#define STORE_NAME_MAX 255

/* Identity of an object where the kernel's handle cannot be used. Two objects never share one; an
 * object never changes its own. */
struct store_ident {
	uint32_t fs_id; /* the name space: for serials that of the export (export.ns), for notes the
			   file system's id */
	uint32_t type;	/* mode & S_IFMT */
	uint64_t ino;
	uint64_t extra; /* what tells users of one inode number apart, by the file system's own word
			   (hash of its handle); 0: nothing */
	int64_t btime_ns; /* birth time; 0: unknown, or extra says it better */
};
/*
 * A row: what an object is and where it was last seen. parent is the serial (or inode for kernel
 * handles) of its directory; 0 is the export's root, which has no row itself. The store keeps a few
 * former (parent, name) pairs too: other links, names before a rename.
 */
struct store_row {
	struct store_ident id;
	uint64_t inst; /* where inode numbers may be dealt anew (FUSE): which mount this was seen
			  in; else 0 */
	uint64_t serial;
	uint64_t parent;
	uint16_t namelen;
	char name[STORE_NAME_MAX + 1];
};

/* Opens (makes) DIR/store.lmdb after locking DIR/lock against a second server; refuses network file
 * systems and other on-disk versions; clears dead readers; a damaged environment is moved aside and
 * begun anew (said in the log). NULL with err. The environment must not cross a fork. */
struct store *store_open(const char *statedir, char *err, size_t errlen);
void store_close(struct store *); /* writes what is queued */
/* The same with a map of other sizes than usual; 0: as usual. Every other number is for tests. */
struct store_limits {
	size_t map, map_max; /* bytes reserved at first, and at most when it is full */
};
struct store *store_open_limits(const char *statedir, const struct store_limits *, char *err,
				size_t errlen);
/* The state directory, canonical. */
const char *store_dir(const struct store *);

/* The serial of an object, issued at first sight and never again for another; n rows in one
 * transaction (READDIRPLUS); a new parent or name becomes the first of the remembered ones. An
 * identity seen under another inst keeps its serial only if (parent, name) is one of the
 * remembered. Fills serial in each row. Blocks until committed; when nothing is new, it only reads.
 * 0 or errno (ENOSPC, EIO: map full, disk full; old rows still answer). */
int store_issue(struct store *, struct store_row *rows, size_t n);
/* The serial of an identity that is known already (seen under this inst); ENOENT if it is not.
 * Never writes. */
int store_known(struct store *, const struct store_ident *, uint64_t inst, uint64_t *serial);
/* By serial: 0, ENOENT, or another errno. Counts ST_STORE_HIT/MISS. */
int store_find(struct store *, uint32_t fs_id, uint64_t serial, struct store_row *out);
/* Every remembered (parent, name) of a serial, latest first: at most max rows into out; their
 * number in *n. Else as store_find. */
int store_links(struct store *, uint32_t fs_id, uint64_t serial, struct store_row *out, size_t max,
		size_t *n);
#define STORE_LINKS 4
/* Objects remembered under this directory: calls fn for each, outside of any transaction, until it
 * returns nonzero. */
int store_children(struct store *, uint32_t fs_id, uint64_t parent,
		   int (*fn)(void *, const struct store_row *), void *arg);
/* Serials of the directories in which something is remembered (0: the root); as store_children. */
int store_parents(struct store *, uint32_t fs_id, int (*fn)(void *, uint64_t serial), void *arg);

/*
 * What somebody did to names through this server, in one commit; returns when it is on stable
 * storage. MADE: a new object, whose identity may have been another's before (FUSE): it gets a
 * serial of its own, in serial. MOVED: the object of this serial is now where (and, where places
 * are identities, what) `now` says, and no longer where `was` says. LINKED: it is also where `now`
 * says. UNLINKED: not there any more, but elsewhere. GONE: it was its last name; the serial is
 * never found again. Serials without a row are passed over.
 *
 * An error (ENOSPC, EIO, ENOMEM): MADE did not happen. The others did, in the file system, and the
 * store goes by it from now on: it has not reached the disk yet, but does as soon as it can be
 * written (owed.c).
 */
enum store_step { STORE_MADE, STORE_MOVED, STORE_LINKED, STORE_UNLINKED, STORE_GONE };
struct store_change {
	enum store_step step;
	uint64_t serial;
	struct store_row now; /* MADE, MOVED, LINKED: all but the serial */
	struct store_row was; /* MOVED, UNLINKED: parent and name */
};
int store_follow(struct store *, struct store_change *, size_t n);

/*
 * Verifiers of exclusive creation: which 8 bytes the client said that made this file. put returns
 * when it is on stable storage; drop is queued, and costs a look only when there is none. Kept for
 * STORE_EXCL_MAX files; of more, the older half is forgotten.
 */
#define STORE_EXCL_MAX 16384
int store_excl_put(struct store *, const struct store_ident *, const unsigned char v[8]);
int store_excl_get(struct store *, const struct store_ident *, unsigned char v[8]); /* ENOENT */
void store_excl_drop(struct store *, const struct store_ident *);

/* Names for kernel handles: queued, never waits, dropped (counted) when the queue is full. */
void store_note(struct store *, uint32_t fs_id, uint64_t ino, uint64_t parent_ino, const char *name,
		size_t namelen);
int store_noted(struct store *, uint32_t fs_id, uint64_t ino, struct store_row *out);

/* Dead rows: sweep calls alive() (outside of any transaction) for the next max rows and removes
 * those for which it says no, unless they were issued again meanwhile; the next call goes on where
 * this one stopped. One sweep at a time. Returns rows removed. */
size_t store_sweep(struct store *, bool (*alive)(void *, const struct store_row *), void *arg,
		   size_t max);

/* The mount list (MOUNT DUMP), kept over restarts: host and path texts. add is idempotent; both are
 * queued. At most STORE_MOUNTS_MAX are kept. */
#define STORE_MOUNTS_MAX 65536
void store_mount_add(struct store *, const char *host, const char *path);
void store_mount_del(struct store *, const char *host,
		     const char *path); /* path NULL: all of that host */
/* Calls fn for each until it returns nonzero; fn must be quick and must not call the store. */
int store_mounts(struct store *, int (*fn)(void *, const char *host, const char *path), void *arg);

/* Waits until everything queued so far is committed. */
void store_flush(struct store *);
struct store_info {
	uint64_t rows, notes, mounts, map_bytes, used_bytes;
};
void store_info(struct store *, struct store_info *);

#endif
