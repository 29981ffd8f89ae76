/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAULT_CHANGE_H
#define FAULT_CHANGE_H
/* Whole calls of the write side (client.h): the status, or -1 when the connection ended. */
#include "client.h"

enum { CH_BLOCK = 4096 };

/* Sends it, and does not wait. False: the connection ended. */
bool ch_send_write(struct cl *, uint32_t xid, const nfs_fh3 *, uint64_t off, const void *,
		   uint32_t n, stable_how);
/* verf may be NULL. */
int ch_write(struct cl *, const nfs_fh3 *, uint64_t off, const void *, uint32_t n, stable_how,
	     writeverf3 verf);
int ch_commit(struct cl *, const nfs_fh3 *, writeverf3 verf);
/* GUARDED, mode 0644; fh may be NULL. */
int ch_create(struct cl *, const nfs_fh3 *dir, const char *name, nfs_fh3 *fh);
int ch_mkdir(struct cl *, const nfs_fh3 *dir, const char *name, nfs_fh3 *fh);
int ch_remove(struct cl *, const nfs_fh3 *dir, const char *name);
int ch_rename(struct cl *, const nfs_fh3 *dir, const char *from, const char *to);

/* n bytes of a pattern (client.h) from off on, in WRITEs of CH_BLOCK; the first status that
 * is not OK. The verifier of the last. */
int ch_pattern(struct cl *, const nfs_fh3 *, uint32_t tag, uint64_t off, size_t n, stable_how,
	       writeverf3 verf);

#endif
