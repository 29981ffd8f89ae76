/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A directory seen through FUSE. Objects are O_PATH descriptors (node.c); what needs a real
 * descriptor or a path goes through /proc/self/fd. The kernel checks permissions (mount option
 * default_permissions); new objects are given to the caller.
 */
#include "fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct dir {
	DIR *d;
	off_t at;	     /* where the stream stands */
	struct dirent *held; /* read but not sent: it did not fit */
};

struct proc_path {
	char s[40];
};

static struct fs *
fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct node *
node_of(fuse_req_t req, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &fs_of(req)->nodes.root : (struct node *)ino;
}

static int
fd_of(fuse_req_t req, fuse_ino_t ino)
{
	return node_of(req, ino)->fd;
}

static struct proc_path
path_of(fuse_req_t req, fuse_ino_t ino)
{
	struct proc_path p;

	snprintf(p.s, sizeof p.s, "/proc/self/fd/%d", fd_of(req, ino));
	return p;
}

static void
reply_errno(fuse_req_t req, int rc)
{
	fuse_reply_err(req, rc < 0 ? errno : 0);
}

/* answers with the object that `name` is now */
static void
reply_entry(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param e = {.attr_timeout = fs->timeout, .entry_timeout = fs->timeout};
	struct node *n = node_get(&fs->nodes, fd_of(req, parent), name, &e.attr);

	if (!n) {
		fuse_reply_err(req, errno);
		return;
	}
	e.ino = (fuse_ino_t)n;
	fuse_reply_entry(req, &e);
}

static void
mirror_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	if (!fs_refuse(req, OP_LOOKUP))
		reply_entry(req, parent, name);
}

static void
mirror_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	node_put(&fs_of(req)->nodes, node_of(req, ino), n);
	fuse_reply_none(req);
}

static void
mirror_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *f)
{
	for (size_t i = 0; i < count; i++)
		node_put(&fs_of(req)->nodes, node_of(req, f[i].ino), f[i].nlookup);
	fuse_reply_none(req);
}

static void
reply_attr(fuse_req_t req, fuse_ino_t ino)
{
	struct stat st;

	if (fstatat(fd_of(req, ino), "", &st, AT_EMPTY_PATH) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_attr(req, &st, fs_of(req)->timeout);
}

static void
mirror_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)fi;
	if (!fs_refuse(req, OP_GETATTR))
		reply_attr(req, ino);
}

static int
set_times(const char *path, const struct stat *st, int set)
{
	struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};

	if (set & FUSE_SET_ATTR_ATIME)
		t[0] = st->st_atim;
	if (set & FUSE_SET_ATTR_ATIME_NOW)
		t[0].tv_nsec = UTIME_NOW;
	if (set & FUSE_SET_ATTR_MTIME)
		t[1] = st->st_mtim;
	if (set & FUSE_SET_ATTR_MTIME_NOW)
		t[1].tv_nsec = UTIME_NOW;
	return utimensat(AT_FDCWD, path, t, 0);
}

static void
mirror_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int set, struct fuse_file_info *fi)
{
	const int times = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME;
	struct proc_path p = path_of(req, ino);
	int rc = 0;

	(void)fi;
	if (fs_refuse(req, OP_CHANGE))
		return;
	if (set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		rc = fchownat(fd_of(req, ino), "", set & FUSE_SET_ATTR_UID ? st->st_uid : (uid_t)-1,
			      set & FUSE_SET_ATTR_GID ? st->st_gid : (gid_t)-1, AT_EMPTY_PATH);
	if (rc == 0 && set & FUSE_SET_ATTR_MODE)
		rc = chmod(p.s, st->st_mode);
	if (rc == 0 && set & FUSE_SET_ATTR_SIZE)
		rc = truncate(p.s, st->st_size);
	if (rc == 0 && set & times)
		rc = set_times(p.s, st, set);
	if (rc < 0)
		fuse_reply_err(req, errno);
	else
		reply_attr(req, ino);
}

static void
mirror_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char text[4097];
	ssize_t n = readlinkat(fd_of(req, ino), "", text, sizeof text - 1);

	if (n < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	text[n] = '\0';
	fuse_reply_readlink(req, text);
}

/* after a successful creation: the caller owns it, and is told what it is */
static void
reply_new(fuse_req_t req, fuse_ino_t parent, const char *name, int rc)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	if (rc == 0)
		rc = fchownat(fd_of(req, parent), name, ctx->uid, ctx->gid, AT_SYMLINK_NOFOLLOW);
	if (rc < 0)
		fuse_reply_err(req, errno);
	else
		reply_entry(req, parent, name);
}

static void
mirror_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	if (!fs_refuse(req, OP_CHANGE))
		reply_new(req, parent, name, mknodat(fd_of(req, parent), name, mode, dev));
}

static void
mirror_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	if (!fs_refuse(req, OP_CHANGE))
		reply_new(req, parent, name, mkdirat(fd_of(req, parent), name, mode));
}

static void
mirror_symlink(fuse_req_t req, const char *text, fuse_ino_t parent, const char *name)
{
	if (!fs_refuse(req, OP_CHANGE))
		reply_new(req, parent, name, symlinkat(text, fd_of(req, parent), name));
}

static void
mirror_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct proc_path p = path_of(req, ino);

	if (fs_refuse(req, OP_CHANGE))
		return;
	if (linkat(AT_FDCWD, p.s, fd_of(req, parent), name, AT_SYMLINK_FOLLOW) < 0)
		fuse_reply_err(req, errno);
	else
		reply_entry(req, parent, name);
}

static void
mirror_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	if (!fs_refuse(req, OP_CHANGE))
		reply_errno(req, unlinkat(fd_of(req, parent), name, 0));
}

static void
mirror_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	if (!fs_refuse(req, OP_CHANGE))
		reply_errno(req, unlinkat(fd_of(req, parent), name, AT_REMOVEDIR));
}

static void
mirror_rename(fuse_req_t req, fuse_ino_t from, const char *name, fuse_ino_t to, const char *newname,
	      unsigned flags)
{
	if (!fs_refuse(req, OP_CHANGE))
		reply_errno(req, renameat2(fd_of(req, from), name, fd_of(req, to), newname, flags));
}

static void
reply_open(fuse_req_t req, struct fuse_file_info *fi, int fd)
{
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	fi->fh = (uint64_t)fd;
	fi->direct_io = fs_of(req)->direct_io;
	fi->keep_cache = fs_of(req)->keep_cache;
	if (fuse_reply_open(req, fi) != 0) /* the caller is gone and will not release it */
		close(fd);
}

static void
mirror_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct proc_path p = path_of(req, ino);

	if (!fs_refuse(req, OP_OPEN))
		reply_open(req, fi, open(p.s, (fi->flags & ~O_NOFOLLOW) | O_CLOEXEC));
}

static void
mirror_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *fi)
{
	(void)ino;
	if (fs_refuse(req, OP_READ))
		return;
	char *buf = malloc(size ? size : 1);
	ssize_t n = buf ? pread((int)fi->fh, buf, size, at) : -1;
	if (n < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	free(buf);
}

static void
mirror_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t at,
	     struct fuse_file_info *fi)
{
	(void)ino;
	if (fs_refuse(req, OP_WRITE))
		return;
	ssize_t n = pwrite((int)fi->fh, buf, size, at);
	if (n < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_write(req, (size_t)n);
}

static void
mirror_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	if (!fs_refuse(req, OP_FSYNC))
		reply_errno(req, datasync ? fdatasync((int)fi->fh) : fsync((int)fi->fh));
}

static void
mirror_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	close((int)fi->fh);
	fuse_reply_err(req, 0);
}

static void
mirror_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct proc_path p = path_of(req, ino);

	if (fs_refuse(req, OP_OPEN))
		return;
	struct dir *dir = calloc(1, sizeof *dir);
	if (dir)
		dir->d = opendir(p.s);
	if (!dir || !dir->d) {
		fuse_reply_err(req, errno);
		free(dir);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)dir;
	fuse_reply_open(req, fi);
}

static void
mirror_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *fi)
{
	struct dir *dir = (struct dir *)(uintptr_t)fi->fh;
	size_t used = 0;

	(void)ino;
	if (fs_refuse(req, OP_READDIR))
		return;
	char *buf = malloc(size);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (at != dir->at) {
		seekdir(dir->d, at);
		dir->held = NULL;
		dir->at = at;
	}
	while (dir->held || (dir->held = readdir(dir->d))) {
		struct dirent *de = dir->held;
		struct stat st = {.st_ino = de->d_ino, .st_mode = (mode_t)de->d_type << 12};
		size_t need =
		    fuse_add_direntry(req, buf + used, size - used, de->d_name, &st, de->d_off);
		if (need > size - used)
			break;
		used += need;
		dir->at = de->d_off;
		dir->held = NULL;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

static void
mirror_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct dir *dir = (struct dir *)(uintptr_t)fi->fh;

	(void)ino;
	closedir(dir->d);
	free(dir);
	fuse_reply_err(req, 0);
}

static void
mirror_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	      struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param e = {.attr_timeout = fs->timeout, .entry_timeout = fs->timeout};
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	if (fs_refuse(req, OP_CHANGE))
		return;
	int fd =
	    openat(fd_of(req, parent), name, (fi->flags | O_CREAT | O_CLOEXEC) & ~O_NOFOLLOW, mode);
	struct node *n = NULL;
	if (fd >= 0 && fchown(fd, ctx->uid, ctx->gid) == 0)
		n = node_get(&fs->nodes, fd_of(req, parent), name, &e.attr);
	if (!n) {
		fuse_reply_err(req, errno);
		if (fd >= 0)
			close(fd);
		return;
	}
	e.ino = (fuse_ino_t)n;
	fi->fh = (uint64_t)fd;
	fi->direct_io = fs->direct_io;
	fuse_reply_create(req, &e, fi);
}

static void
mirror_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;

	if (fstatvfs(fd_of(req, ino), &st) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops mirror_ops = {
    .lookup = mirror_lookup,
    .forget = mirror_forget,
    .forget_multi = mirror_forget_multi,
    .getattr = mirror_getattr,
    .setattr = mirror_setattr,
    .readlink = mirror_readlink,
    .mknod = mirror_mknod,
    .mkdir = mirror_mkdir,
    .symlink = mirror_symlink,
    .link = mirror_link,
    .unlink = mirror_unlink,
    .rmdir = mirror_rmdir,
    .rename = mirror_rename,
    .open = mirror_open,
    .read = mirror_read,
    .write = mirror_write,
    .fsync = mirror_fsync,
    .release = mirror_release,
    .opendir = mirror_opendir,
    .readdir = mirror_readdir,
    .releasedir = mirror_releasedir,
    .create = mirror_create,
    .statfs = mirror_statfs,
};
