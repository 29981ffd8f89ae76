/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef READBOX_H
#define READBOX_H
/* In a box: a served directory that tests read, with every way that vfs_read has. */
#include "buf.h"
#include "check.h"
#include "served.h"
#include "stat.h"

#define MIB (1u << 20)

extern struct served reads;
extern int reads_pipe[2]; /* a worker's, of a MiB */

/* Serves a fresh file system of a type (box_mount). */
void reads_begin(const char *type);
/* This thread's. */
uint64_t reads_counter(enum stat_id);
/* Drops a file's pages. */
void chill(const char *name);

enum way { LOOP, LOOP_COPY, WORKER, WORKER_COPY, WORKER_NO_PIPE, WAYS };

/* vfs_read() one way; what it gives must be collected, or its memory given back. */
int read_way(struct obj *, enum way, uint64_t off, uint32_t count, struct stat *,
	     struct vfs_data *);
/* Takes the bytes out of what vfs_read gave, as a sender would; one byte of room more than there
 * are. */
void collect(struct vfs_data *, unsigned char *to);
/* The reply of one READ is what pread of fd says, as long, too, also when it touches a page more
 * than a pipe has room for. */
void same_as_pread(struct obj *, int fd, enum way, uint64_t off, uint32_t count);

#endif
