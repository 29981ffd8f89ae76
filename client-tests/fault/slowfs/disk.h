/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOWFS_DISK_H
#define SLOWFS_DISK_H

#include <sys/types.h>

struct disk;

/* A disk with a write cache over an open image file, which it then owns. NULL without memory. */
struct disk *disk_new(int fd);
/* What is in the cache is written first. */
void disk_free(struct disk *d);

/* Like pread and pwrite, but whole: number of bytes (short only at the end of the image) or a
 * negative errno value. A write stays in the cache. Any thread. */
ssize_t disk_read(struct disk *d, char *buf, size_t len, off_t at);
ssize_t disk_write(struct disk *d, const char *buf, size_t len, off_t at);

/* Cache to image. 0 or an errno value. */
int disk_flush(struct disk *d);
/* What has not been flushed is as if it had never been written. */
void disk_forget(struct disk *d);

off_t disk_size(const struct disk *d);

#endif
