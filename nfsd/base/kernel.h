/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KERNEL_H
#define KERNEL_H
/*
 * What this kernel and these capabilities allow, found once at start by trying. The absence of a
 * feature costs speed or a convenience, never correctness; `splicectl stat` says which are missing.
 * The environment variable SPLICED_WITHOUT (comma list of the names below, or "all") forces
 * features off, for tests.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kernel {
	bool cachestat;	    /* cachestat(2), 6.5: are these pages resident? */
	bool openat2;	    /* openat2(2), 5.6 */
	bool cached_open;   /* RESOLVE_CACHED, 5.12 */
	bool faccess_empty; /* faccessat2(AT_EMPTY_PATH) works on an O_PATH descriptor, 5.8 */
	bool nowait;	    /* preadv2(RWF_NOWAIT) */
	bool mount_clone;   /* open_tree + mount_setattr: root with CAP_SYS_ADMIN, 5.12 */
	bool khandle;	    /* open_by_handle_at: CAP_DAC_READ_SEARCH */
	bool setid;	    /* may act as any user: CAP_SETUID and CAP_SETGID */
	bool big_pipe;	    /* a pipe of 1 MiB can be had */
	bool fchmodat2;	    /* fchmodat2(AT_EMPTY_PATH), 6.6: chmod of an O_PATH descriptor */
	int release;	    /* major * 1000 + minor */
	char missing[160];  /* human-readable comma list of what is absent */
};

/* Tries everything. dir: a directory to try file calls in; / where it cannot be opened. Never
 * fails. */
void kernel_probe(struct kernel *, const char *dir);

/* Thin wrappers for calls that glibc 2.36 lacks; errno as usual. */
struct k_cachestat {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};
int k_cachestat(int fd, uint64_t off, uint64_t len, struct k_cachestat *);
int k_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);
int k_faccess(int fd, int mode);     /* faccessat2(fd, "", mode, AT_EMPTY_PATH|AT_EACCESS) */
int k_fchmod(int fd, unsigned mode); /* fchmodat2(fd, "", mode, AT_EMPTY_PATH) */

#endif
