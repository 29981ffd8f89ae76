/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_INT_H
#define STORE_INT_H
/* What store.c (opening, reading, sweeping), writer.c (the queue and its thread) and change.c (what
 * became of names) share. */
#include "db.h"
#include <pthread.h>
#include <stdatomic.h>

#define RECENT 4096 /* notes remembered as already queued */

/* Somebody waits for these: on the waiter's stack. */
enum req_kind { REQ_ISSUE, REQ_DELETE, REQ_FLUSH, REQ_FOLLOW, REQ_EXCL };
struct req {
	enum req_kind kind;
	struct store_row *rows;	      /* ISSUE */
	struct db_row *dead;	      /* DELETE: rows; removed ones are counted in gone */
	struct store_change *changes; /* FOLLOW */
	const struct store_ident *id; /* EXCL */
	const unsigned char *verifier;
	size_t n, gone;
	int err;
	bool done, owed;
	struct req *next;
};

/* Nobody waits for these: on the heap. */
enum item_kind { ITEM_NOTE, ITEM_MOUNT, ITEM_UNMOUNT, ITEM_EXCL_DROP };
struct item {
	enum item_kind kind;
	uint32_t fs_id;
	uint64_t ino, parent;
	size_t len;    /* of text, all of it */
	bool has_path; /* UNMOUNT */
	struct item *next;
	char text[]; /* NOTE: the name; EXCL_DROP: a struct store_ident; else "host\0path\0" */
};

/* A row that a sweep is about to remove, unless it is issued again meanwhile. */
struct doomed {
	uint64_t serial;
	bool saved;
};

struct store {
	/* guards everything down to the blank line; never held over a transaction */
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct req *reqs, **reqs_end;
	struct item *items, **items_end;
	size_t item_bytes;
	int64_t items_since; /* monotonic ns of the oldest */
	bool stop;
	struct doomed *doomed; /* sorted by serial */
	size_t ndoomed;
	bool removing;		      /* the doomed are being removed: too late to save one */
	struct req *owed, **owed_end; /* changes that could not be written; the writing thread's,
					 others look (owed_look) */

	_Atomic uint64_t sweeps; /* counts removals */
	_Atomic size_t nowed;
	_Atomic uint64_t recent[RECENT];
	/* the writing thread's own */
	uint64_t next_serial;
	int owed_error; /* why something is owed */
	/* one sweep at a time */
	pthread_mutex_t sweep_lock;
	uint64_t sweep_at;

	struct db *db;
	char *dir;
	int dirfd, lockfd;
	pid_t pid;
	pthread_t thread;
};

/* Starts and ends the thread; what is queued is written before it ends. */
int writer_start(struct store *);
void writer_stop(struct store *);
/* Queues a request and waits until it is committed; its error. */
int writer_wait(struct store *, struct req *);
/* Queues an item (of writer_item) for which nobody waits; dropped and counted when too much is
 * waiting. */
struct item *writer_item(enum item_kind, size_t len);
void writer_push(struct store *, struct item *);
/* In the writing thread: requests from the first up to stop (not with it; NULL: all) in one
 * transaction; 0 or errno. */
int writer_batch(struct store *, struct req *first, struct req *stop);
/* In a transaction of the writing thread: the serial of an object, as store_issue. */
int writer_issue(struct store *, struct db_txn *, struct store_row *, bool *dirty);
/* And one step of store_follow. */
int change_apply(struct store *, struct db_txn *, struct store_change *, bool *dirty);
/* Changes that could not be written (owed.c), of the writing thread: remembers those of a failed
 * request that are done in the file system; writes what is remembered; gives up what is. */
void owed_add(struct store *, const struct req *);
void owed_pay(struct store *);
void owed_drop(struct store *);
/* Of any thread: the latest change of this serial's object that the rows do not know, if it is
 * GONE or MOVED. */
bool owed_look(struct store *, uint64_t serial, struct store_change *);
/* A read transaction of any thread's. */
int store_begin(struct store *, struct db_txn *);
/* The new (parent, name) first, then the former ones as far as there is room. */
void row_add_link(struct db_row *, const struct store_row *);
/* Is this (parent, name) among the row's? */
bool row_has_link(const struct db_row *, const struct store_row *);
/* Keeps a sweep from removing a row that has just been issued; false when it is too late. The
 * writing thread, which is the one that removes, sees the row inside its transaction: for it
 * (by_writer) it is never too late. */
bool sweep_save(struct store *, uint64_t serial, bool by_writer);

#endif
