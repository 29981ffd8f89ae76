/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_H
#define STORE_H
/*
 * The store: an LMDB environment in the state directory that remembers what handles mean. Only this file names LMDB.
 * One thread of its own writes, committing what has gathered (group commit). Readers are workers, never loops: each read is
 * one short transaction. With kernel handles the store is only a memory of names (may be late, may be dropped under load).
 * For serials it is the truth: store_issue() returns when the row is on stable storage.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct store;

#define STORE_NAME_MAX 255
#define STORE_KEY_MAX 36

/* Identity of an object where the kernel's handle cannot be used: verified by type and birth time. */
struct store_ident {
	uint32_t fs_id;
	uint32_t type;     /* mode & S_IFMT */
	uint64_t ino, dev; /* dev: 0 unless sub-mounts are crossed */
	int64_t btime_ns;  /* 0: unknown */
};
/* A row: what an object is and where it was last seen. parent is the serial (or inode for kernel handles) of its directory; 0 for a root. */
struct store_row {
	struct store_ident id;
	uint64_t serial;
	uint64_t parent;
	uint16_t namelen;
	char name[STORE_NAME_MAX + 1];
};

/* Opens (makes) DIR/store.lmdb after locking DIR/lock against a second server; refuses network file systems and other on-disk
 * versions; clears dead readers; a damaged environment is moved aside and begun anew (said in the log). NULL with err. The environment must
 * not cross a fork. */
struct store *store_open(const char *statedir, char *err, size_t errlen);
void store_close(struct store *); /* writes what is queued */

/* The serial of an object, issued at first sight; n rows in one transaction (READDIRPLUS); parent and name are updated when they changed.
 * Fills serial in each row. Blocks until committed. 0 or errno (ENOSPC, EIO: map full, disk full; old rows still answer). */
int store_issue(struct store *, struct store_row *rows, size_t n);
/* By serial: 0, ENOENT, or another errno. Counts ST_STORE_HIT/MISS. */
int store_find(struct store *, uint32_t fs_id, uint64_t serial, struct store_row *out);
/* Objects remembered under this directory (for the search before STALE): calls fn for each until it returns nonzero. */
int store_children(struct store *, uint32_t fs_id, uint64_t parent, int (*fn)(void *, const struct store_row *), void *arg);

/* Names for kernel handles: queued, never waits, dropped (counted) when the queue is full. */
void store_note(struct store *, uint32_t fs_id, uint64_t ino, uint64_t parent_ino, const char *name, size_t namelen);
int store_noted(struct store *, uint32_t fs_id, uint64_t ino, struct store_row *out);

/* Dead rows: sweep calls alive() for rows and removes those for which it says no; bounded work per call; returns rows removed. */
size_t store_sweep(struct store *, bool (*alive)(void *, const struct store_row *), void *arg, size_t max);

/* The mount list (MOUNT DUMP), kept over restarts: host and path texts. add is idempotent. */
void store_mount_add(struct store *, const char *host, const char *path);
void store_mount_del(struct store *, const char *host, const char *path); /* path NULL: all of that host */
int store_mounts(struct store *, int (*fn)(void *, const char *host, const char *path), void *arg);

/* Waits until everything queued so far is committed. */
void store_flush(struct store *);
struct store_info {
	uint64_t rows, notes, mounts, map_bytes, used_bytes;
};
void store_info(struct store *, struct store_info *);

#endif
