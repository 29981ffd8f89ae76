/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VSNAP_H
#define VSNAP_H
/*
 * Snapshots of directories whose own offsets are not stable. A name's cookie is 63 bits of a keyed
 * hash of it, so that it stays whatever else comes and goes; a snapshot is the names of a directory
 * in the order of their cookies, as many as fit the bound, from some cookie on.
 */
#include "file.h"
#include "handle.h"
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SNAP_DOT 1u    /* the cookie of "." */
#define SNAP_DOTDOT 2u /* and of ".."; names begin above */

struct snap_name {
	uint64_t cookie;
	uint64_t ino;
	uint32_t text; /* offset in snap.text, NUL-terminated there */
	uint32_t len;
};

struct snap {
	unsigned refs; /* atomic */
	nfs_fh3 dir;
	struct stat st;	 /* the directory's, before it was read */
	int64_t born;	 /* CLOCK_MONOTONIC seconds */
	uint64_t lo, hi; /* holds every name whose cookie is in [lo, hi) */
	size_t n;
	struct snap_name *v; /* by cookie; neither "." nor ".." */
	char *text;
	size_t bytes;
	struct snap *next; /* the cache's */
};

/*
 * A snapshot that holds what follows `cookie`. fd: the directory, open for reading and nobody
 * else's; st: its attributes, just taken. From the start (cookie 0) it is always read anew; later
 * pages use the one in the cache, if the directory has not changed or the snapshot is young. Ends
 * with snap_put(). ENOMEM, EIO and what getdents64(2) says.
 */
int snap_get(const struct handle_key *, struct obj *dir, int fd, const struct stat *st,
	     uint64_t cookie, struct snap **);
void snap_put(struct snap *);
/* The first name after this cookie; n when there is none. */
size_t snap_after(const struct snap *, uint64_t cookie);

/* For snap_get, and tests: a snapshot without the cache, of less than 2 * max names. */
#define SNAP_NAMES 262144
int snap_read(const struct handle_key *, int fd, uint64_t cookie, size_t max, struct snap **);
/* Orders names whose cookies are bare hashes, and moves those that collide to the next free value.
 */
void snap_order(struct snap_name *, size_t n, const char *text);
void snap_free_cache(void);

#endif
