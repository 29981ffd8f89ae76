/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LOOKUP: one name in one directory.
 *
 * The happy path asks the kernel nothing but two fstats: the directory's permission and the name
 * are remembered, the child is in the cache. Otherwise the name is opened as O_PATH beneath the
 * directory, following nothing and crossing no mount; on a loop only as far as the kernel's own
 * memory of names reaches (RESOLVE_CACHED), else a worker does it again without that limit.
 *
 * What is remembered: see names.h, and only on local file systems, whose directories change their
 * times with every change. The directory's attributes are taken first, the name is looked up after,
 * so that a change in between at worst spoils an entry that will never be found.
 *
 * Where something is mounted inside an export, the directory beneath it is found if the export is
 * a mount clone; else that cannot be reached by name, and the answer is EACCES. What is mounted is
 * entered by vfs_enter() only, and whether to do that is not decided here.
 */
#include "names.h"
#include "vfsint.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif
#define CONFINED (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)
#define OPEN_FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)
#define RACES 8 /* openat2 answers EAGAIN when renames elsewhere disturb it */

/* RFC 1813 3.3.3: neither empty nor long, and nothing that is no single component. */
static int
check_name(const char *name, size_t len)
{
	if (len == 0 || memchr(name, '\0', len) || memchr(name, '/', len))
		return EINVAL;
	return len > NAME_MAX ? ENAMETOOLONG : 0;
}

/* Without openat2: a single component opened with O_NOFOLLOW stays beneath; a mount shows in the
 * device number (but not on btrfs, whose subvolumes have their own). */
static int
open_plain(const struct vfs_ctx *ctx, const struct obj *dir, const char *name, int *fd,
	   struct stat *st)
{
	struct stat dst;

	if (!ctx->may_sleep)
		return ESLEEP;
	*fd = openat(dir->fd, name, OPEN_FLAGS);
	if (*fd < 0)
		return errno;
	if (fstat(*fd, st) == 0 && fstat(dir->fd, &dst) == 0) {
		if (st->st_dev == dst.st_dev || dir->ex->fs.btrfs)
			return 0;
		errno = EXDEV;
	}
	int error = errno;
	close(*fd);
	return error;
}

static int
open_confined(const struct vfs_ctx *ctx, const struct obj *dir, const char *name)
{
	uint64_t how = CONFINED | (ctx->may_sleep ? 0 : RESOLVE_CACHED);
	int fd = -1;

	for (int i = 0; i < RACES && fd < 0; i++) {
		fd = k_openat2(dir->fd, name, OPEN_FLAGS, 0, how);
		if (fd < 0 && (errno != EAGAIN || !ctx->may_sleep))
			break;
	}
	return fd;
}

int
vfs_open_name(const struct vfs_ctx *ctx, const struct obj *dir, const char *name, int *fd,
	      struct stat *st)
{
	const struct kernel *k = ctx->vfs->kernel;

	if (!k->openat2)
		return open_plain(ctx, dir, name, fd, st);
	if (!ctx->may_sleep && (!k->cached_open || !dir->ex->fs.local))
		return ESLEEP;
	*fd = open_confined(ctx, dir, name);
	if (*fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		if (!ctx->may_sleep)
			return ESLEEP;
		files_relieve(ctx->vfs->files);
		*fd = open_confined(ctx, dir, name);
	}
	if (*fd < 0)
		return errno == EAGAIN && !ctx->may_sleep ? ESLEEP : errno;
	if (fstat(*fd, st) == 0)
		return 0;
	int error = errno;
	close(*fd);
	return error;
}

/* Takes the descriptor over and finds its object; st becomes known in the batch. */
static int
adopt(const struct vfs_ctx *ctx, struct export *ex, int fd, const struct stat *st,
      const struct handle *id, struct obj **child)
{
	int error = obj_adopt(ctx->vfs->files, ex, fd, st, id, child);
	struct vfs_seen *s = error ? NULL : vfs_seen(ctx, *child);

	if (s && !s->have_st) {
		s->st = *st;
		s->calm = false; /* not worth another look at the clock */
		s->have_st = true;
	}
	return error;
}

/* Asks the kernel for the name. */
static int
look_up(const struct vfs_ctx *ctx, struct obj *dir, const char *name, size_t len,
	struct obj **child, struct stat *st)
{
	struct handle id;
	char text[NAME_MAX + 1];
	int fd;

	memcpy(text, name, len);
	text[len] = '\0';
	if (ctx->may_sleep)
		files_keep_up(ctx->vfs->files);
	int error = vfs_open_name(ctx, dir, text, &fd, st);
	if (error)
		return error == EXDEV ? EACCES : error;
	error = resolve_name(ctx->vfs->resolve, dir->ex, fd, st, &dir->id, dir->ino, text, len,
			     ctx->may_sleep, &id);
	if (error) {
		close(fd);
		return error == EAGAIN && !ctx->may_sleep ? ESLEEP : error;
	}
	return adopt(ctx, dir->ex, fd, st, &id, child);
}

/* The object of a remembered handle. ESTALE: the memory was no good. */
static int
recall(const struct vfs_ctx *ctx, struct obj *dir, const nfs_fh3 *fh, struct obj **child,
       struct stat *st)
{
	struct obj *seen = ctx->batch ? vfs_batch_find(ctx->batch, fh) : NULL;
	struct handle id;
	int error = 0;

	if (seen && seen->ex == dir->ex)
		*child = obj_ref(seen);
	else if (handle_parse(ctx->vfs->resolve->key, fh, &id) != 0)
		return ESTALE;
	else
		error = vfs_object(ctx, dir->ex, fh, &id, child);
	if (error)
		return error;
	error = vfs_getattr(ctx, *child, st);
	if (error)
		obj_put(ctx->vfs->files, *child);
	return error;
}

int
vfs_open_parent(const struct vfs_ctx *ctx, const struct obj *dir, int *fd, struct stat *st,
		struct handle *id)
{
	const struct resolve *r = ctx->vfs->resolve;
	int error = resolve_parent(r, dir->ex, dir->fd, fd);

	if (error)
		return error;
	if (fstat(*fd, st) != 0)
		error = errno;
	else if (resolve_is_root(dir->ex, st))
		error = handle_parse(r->key, &dir->ex->root, id);
	else
		error = resolve_name(r, dir->ex, *fd, st, NULL, 0, NULL, 0, true, id);
	if (error)
		close(*fd);
	return error;
}

static int
look_up_parent(const struct vfs_ctx *ctx, struct obj *dir, struct obj **child, struct stat *st)
{
	struct handle id;
	int fd;

	if (!ctx->may_sleep)
		return ESLEEP;
	int error = vfs_open_parent(ctx, dir, &fd, st, &id);
	return error ? error : adopt(ctx, dir->ex, fd, st, &id, child);
}

/* A directory that is held open. */
static int
enter_dir(const struct vfs_ctx *ctx, struct export *to, int dirfd, struct obj **child,
	  struct stat *st)
{
	struct handle id;
	int fd, error;

	if (!ctx->may_sleep)
		return ESLEEP;
	fd = openat(dirfd, ".", OPEN_FLAGS | O_DIRECTORY);
	if (fd < 0)
		return errno;
	error = fstat(fd, st) == 0
		    ? resolve_name(ctx->vfs->resolve, to, fd, st, NULL, 0, NULL, 0, true, &id)
		    : errno;
	if (!error)
		return adopt(ctx, to, fd, st, &id, child);
	close(fd);
	return error;
}

int
vfs_enter(const struct vfs_ctx *ctx, struct obj *dir, struct export *to, int dirfd,
	  struct obj **child, struct stat *st)
{
	struct handle id;
	struct stat dst;
	int error = vfs_getattr(ctx, dir, &dst);

	if (!error)
		error = vfs_need(ctx, dir, &dst, X_OK);
	if (error)
		return error;
	if (dirfd >= 0)
		return enter_dir(ctx, to, dirfd, child, st);
	if (handle_parse(ctx->vfs->resolve->key, &to->root, &id) != 0)
		return ESTALE;
	error = vfs_object(ctx, to, &to->root, &id, child);
	if (error)
		return error;
	error = vfs_getattr(ctx, *child, st);
	if (error) {
		obj_put(ctx->vfs->files, *child);
		*child = NULL;
	}
	return error;
}

int
vfs_lookup(const struct vfs_ctx *ctx, struct obj *dir, const char *name, size_t len,
	   struct obj **child, struct stat *st)
{
	struct names *names = files_names(ctx->vfs->files);
	struct stat dst;
	nfs_fh3 fh;
	bool calm;

	if (!S_ISDIR(dir->type))
		return ENOTDIR;
	int error = check_name(name, len);
	if (!error)
		error = vfs_look(ctx, dir, &dst, &calm);
	if (!error)
		error = vfs_need(ctx, dir, &dst, X_OK);
	if (error)
		return error;
	bool up = len == 2 && memcmp(name, "..", 2) == 0;
	if ((len == 1 && *name == '.') || (up && resolve_is_root(dir->ex, &dst))) {
		*child = obj_ref(dir);
		*st = dst;
		return 0;
	}
	if (up)
		return look_up_parent(ctx, dir, child, st);
	if (dir->ex->fs.local && names_find(names, dir->birth, &dst, name, len, &fh)) {
		error = recall(ctx, dir, &fh, child, st);
		if (error != ESTALE)
			return error;
	}
	error = look_up(ctx, dir, name, len, child, st);
	if (!error && calm && dir->ex->fs.local)
		names_put(names, dir->birth, &dst, name, len, &(*child)->fh);
	return error;
}
