/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DB_H
#define DB_H
/*
 * The tables of the store and their transactions, over LMDB (db.c: environment, dbrow.c: tables; no
 *other file names it). Pure storage: no threads, no policy. One thread writes; any number read,
 *each transaction short. Errors are errno values: ENOENT not there, ENOSPC map or disk full, EIO
 *damaged.
 *
 *	rows      serial                             -> what it is, and up to DB_LINKS (parent,
 *name), latest first idents    name space, inode, type, rest      -> serial children  name space,
 *parent, serial         -> nothing notes     file system, inode                 -> parent inode,
 *name mounts    hash of host and path              -> host, path exclusive identity as in idents
 *-> verifier, time meta      "version", "serial"
 *
 * Integers in keys are big-endian, so that what is made one after the other lies side by side.
 */
#include "store.h"
#include <stdbool.h>

#define DB_LINKS 4
#define DB_FILE "store.lmdb"
#define DB_VERSION 1

struct db_link {
	uint64_t parent;
	uint16_t namelen;
	char name[STORE_NAME_MAX + 1];
};
struct db_row {
	struct store_ident id;
	uint64_t inst, serial;
	unsigned nlinks;
	struct db_link link[DB_LINKS];
};

struct db;
struct db_txn {
	struct db *db;
	void *txn;
	bool write;
};

/* dir is locked by the caller, and still has the environment to itself. NULL with err. A damaged
 * file is moved aside. */
struct db *db_open(const char *dir, int dirfd, const struct store_limits *, char *err,
		   size_t errlen);
void db_close(struct db *);

/* A transaction ends with exactly one db_commit (write) or db_abort (either). db_write is for the
 * one writing thread. */
int db_read(struct db *, struct db_txn *);
int db_write(struct db *, struct db_txn *);
int db_commit(struct db_txn *);
void db_abort(struct db_txn *);
/*
 * After an error, by the writing thread with no transaction of its own: what can be done so that a
 * second try may succeed? Clears dead readers, enlarges a full map, opens a broken environment
 * anew. True: try again.
 */
bool db_mend(struct db *, int error);

int db_row_get(struct db_txn *, uint64_t serial, struct db_row *);
int db_ident_get(struct db_txn *, const struct store_ident *, uint64_t *serial);
/* Writes the row, in place of old (NULL: a new one). */
int db_row_put(struct db_txn *, const struct db_row *, const struct db_row *old);
int db_row_del(struct db_txn *, const struct db_row *);
/* The next rows after a serial: at most max; *n of them. */
int db_rows_after(struct db_txn *, uint64_t serial, struct db_row *rows, size_t max, size_t *n);
/* Serials of children of parent, after a serial. */
int db_children(struct db_txn *, uint32_t fs_id, uint64_t parent, uint64_t after, uint64_t *v,
		size_t max, size_t *n);
/* Directories that have remembered children, after a serial (first: pass 0 and any true); 0 itself,
 * the root, is among them. */
int db_parents(struct db_txn *, uint32_t fs_id, bool first, uint64_t after, uint64_t *v, size_t max,
	       size_t *n);

int db_note_get(struct db_txn *, uint32_t fs_id, uint64_t ino, struct db_link *);
int db_note_put(struct db_txn *, uint32_t fs_id, uint64_t ino, const struct db_link *);

int db_excl_get(struct db_txn *, const struct store_ident *, unsigned char v[8]);
int db_excl_put(struct db_txn *, const struct store_ident *, const unsigned char v[8],
		uint64_t now); /* seconds */
int db_excl_del(struct db_txn *, const struct store_ident *);

int db_mount_put(struct db_txn *, const char *host, const char *path);
/* path NULL: every path of that host. ENOENT: there was none. */
int db_mount_del(struct db_txn *, const char *host, const char *path);
int db_mounts(struct db_txn *, int (*fn)(void *, const char *host, const char *path), void *arg);

/* The last serial issued, 0 if none; and its new value. */
int db_serial_get(struct db_txn *, uint64_t *);
int db_serial_put(struct db_txn *, uint64_t);

void db_info(struct db *, struct store_info *);

#endif
