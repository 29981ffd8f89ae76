/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory with one file, "disk": the image as seen through its write cache (disk.c). Meant for
 * `losetup`. */
#include "fs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DISK_INO = 2 };

static struct fs *
fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct stat
image_stat(fuse_req_t req, fuse_ino_t ino)
{
	struct stat st = {.st_ino = ino, .st_nlink = 2, .st_mode = S_IFDIR | 0755};

	if (ino == DISK_INO) {
		st.st_mode = S_IFREG | 0600;
		st.st_nlink = 1;
		st.st_size = disk_size(fs_of(req)->disk);
		st.st_blocks = st.st_size / 512;
	}
	return st;
}

static void
image_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e = {.ino = DISK_INO, .attr_timeout = 1, .entry_timeout = 1};

	if (fs_refuse(req, OP_LOOKUP))
		return;
	if (parent != FUSE_ROOT_ID || strcmp(name, "disk") != 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	e.attr = image_stat(req, DISK_INO);
	fuse_reply_entry(req, &e);
}

static void
image_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st = image_stat(req, ino);

	(void)fi;
	if (!fs_refuse(req, OP_GETATTR))
		fuse_reply_attr(req, &st, 1);
}

static void
image_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (fs_refuse(req, OP_OPEN))
		return;
	if (ino != DISK_INO) {
		fuse_reply_err(req, EISDIR);
		return;
	}
	fi->direct_io = 1; /* no page cache in front of ours, which can be forgotten */
	fuse_reply_open(req, fi);
}

static void
image_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	if (fs_refuse(req, OP_READ))
		return;
	char *buf = malloc(size ? size : 1);
	ssize_t n = buf ? disk_read(fs_of(req)->disk, buf, size, at) : -ENOMEM;
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	free(buf);
}

static void
image_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t at,
	    struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	if (fs_refuse(req, OP_WRITE))
		return;
	ssize_t n = disk_write(fs_of(req)->disk, buf, size, at);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}

static void
image_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	if (!fs_refuse(req, OP_FSYNC))
		fuse_reply_err(req, disk_flush(fs_of(req)->disk));
}

const struct fuse_lowlevel_ops image_ops = {
    .lookup = image_lookup,
    .getattr = image_getattr,
    .open = image_open,
    .read = image_read,
    .write = image_write,
    .fsync = image_fsync,
};
