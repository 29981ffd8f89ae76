/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VDIR_H
#define VDIR_H
/*
 * Reading directories. Cookies are the file system's own offsets where those are stable
 * (fs.own_cookies), elsewhere a 63-bit keyed hash of the name over a cached, bounded snapshot of
 * the directory, sorted by hash, which can be rebuilt at any time: a name keeps its cookie whatever
 * else is created or removed. Every listing opens its own descriptor. Always in a worker: ESLEEP on
 * a loop.
 */
#include "vfs.h"

struct vdir_entry {
	const char *name; /* NUL-terminated, valid during emit */
	size_t namelen;
	uint64_t fileid;
	uint64_t cookie; /* resume after this entry */
	/* with_attrs only; have_st false when the object could not be examined (then no attributes,
	 * no handle) */
	bool have_st;
	struct stat st;
	struct handle id; /* ilen 0: none */
};

/*
 * Calls emit for each entry after cookie (0: from the start) until it returns nonzero (no room:
 * that entry was not taken) or the directory ends (*eof true). "." and ".." are listed; ".." of the
 * export's root is the root itself (fileid and, with attributes, handle). with_attrs: entries are
 * examined (one descriptor each, closed again; handles of a serial file system committed in groups
 * before they are emitted); what was removed meanwhile is left out, and for a caller without search
 * permission entries come without attributes. max_entries_hint: about how many emit will take, 0
 * unknown; no more are examined at once. Permission (R_OK, by the caller) is checked here. ENOTDIR,
 * EACCES, EINVAL for a cookie that cannot be one of ours (BAD_COOKIE).
 */
int vdir_list(const struct vfs_ctx *, struct obj *dir, uint64_t cookie, bool with_attrs,
	      size_t max_entries_hint, int (*emit)(void *, const struct vdir_entry *), void *arg,
	      bool *eof);

/* Snapshots are cached in one process-wide, bounded place; freed here at the end. */
void vdir_free_cache(void);

#endif
