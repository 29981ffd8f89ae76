/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making something: MKDIR, SYMLINK, MKNOD, and the common part of CREATE. RFC 1813 3.3.8 to 3.3.11.
 *
 * The object is made by one call as the caller, with its final mode: permission, quota, default
 * ACLs, setgid directories are the kernel's business. Then, as the server, it is opened (a file is
 * never opened again by name: the descriptor that made it leads to it), gets its other attributes
 * and its handle, and goes to the disk. What goes wrong after the making is undone, as far as the
 * name still leads to what was made; for the one thing that goes wrong easily, having no descriptor
 * to open it with, one is kept ready.
 */
#include "vmodmake.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SPECIAL (S_ISUID | S_ISGID | S_ISVTX)

int
making_begin(struct making *m, const char *name, size_t len)
{
	*m->w = (struct vmod_wcc){0};
	*m->made = (struct vmod_made){0};
	m->fd = m->spare = -1;
	if (!m->ctx->may_sleep)
		return ESLEEP;
	if (!S_ISDIR(m->dir->type))
		return ENOTDIR;
	int error = vmod_name(name, len, m->text);
	if (!error && vmod_dots(m->text))
		error = EEXIST;
	if (!error)
		error = vmod_check(&m->a, m->type);
	if (error)
		return error;
	unsigned tries = 0;
	do
		m->spare = fcntl(m->dir->fd, F_DUPFD_CLOEXEC, 0);
	while (m->spare < 0 && files_retry(m->ctx->vfs->files, errno, &tries));
	return m->spare < 0 ? errno : 0;
}

void
making_let_go(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- the call that makes it, as the caller ---- */

int
making_flags(const struct making *m)
{
	/* an ordinary server could not open again what it makes 0000 */
	return (m->ctx->vfs->ident->can_switch ? O_WRONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK;
}

static int
call(struct making *m)
{
	int r = 0, dir = m->dir->fd;

	switch (m->type) {
	case S_IFREG:
		VMOD_CALL(m->fd, openat(dir, m->text,
					O_CREAT | O_EXCL | O_NOFOLLOW | making_flags(m), m->mode));
		r = m->fd;
		break;
	case S_IFDIR:
		VMOD_CALL(r, mkdirat(dir, m->text, m->mode));
		break;
	case S_IFLNK:
		VMOD_CALL(r, symlinkat(m->link, dir, m->text));
		break;
	default:
		VMOD_CALL(r, mknodat(dir, m->text, m->type | m->mode, m->dev));
	}
	return r < 0 ? errno : 0;
}

static int
call_as_caller(struct making *m)
{
	unsigned tries = 0;
	int error;

	do {
		error = vmod_as(m->ctx);
		if (error)
			return error;
		error = call(m);
		ident_end(m->ctx->vfs->ident);
	} while (files_retry(m->ctx->vfs->files, error, &tries));
	return error;
}

int
making_named(struct making *m)
{
	struct vmod_hold hold;

	vmod_hold(&hold, m->ctx->exact_wcc, m->dir, NULL);
	vmod_before(m->ctx, m->dir, m->w);
	int error = vmod_error(m->dir, call_as_caller(m));
	vmod_after(m->dir, m->w);
	vmod_release(&hold);
	return error;
}

/* ---- what follows the making ---- */

/* An O_PATH descriptor of what was made. */
static int
open_made(struct making *m, int *fd, struct stat *st)
{
	unsigned tries = 0;
	int error;

	making_let_go(&m->spare);
	if (m->fd < 0) {
		do
			error = vfs_open_name(m->ctx, m->dir, m->text, fd, st);
		while (files_retry(m->ctx->vfs->files, error, &tries));
	} else {
		*fd = files_reopen(m->ctx->vfs->files, m->fd, O_PATH);
		if (*fd < 0)
			return errno;
		error = fstat(*fd, st) == 0 ? 0 : errno;
		if (error)
			close(*fd);
	}
	if (!error && (st->st_mode & S_IFMT) != m->type) { /* taken away and replaced at once */
		close(*fd);
		error = ESTALE;
	}
	return error;
}

/*
 * What is left to set: mode is there already, but mkdir(2) knows no setuid and setgid bits, and a
 * new owner or size takes them away. An owner that it has need not be set.
 */
static struct vmod_attrs
left_to_set(const struct making *m, const struct stat *st)
{
	struct vmod_attrs a = m->a;

	a.set_uid = a.set_uid && a.uid != st->st_uid;
	a.set_gid = a.set_gid && a.gid != st->st_gid;
	a.set_size = a.set_size && a.size > 0 && m->fd >= 0;
	if (a.set_atime == TIME_SERVER)
		a.set_atime = TIME_KEEP;
	if (a.set_mtime == TIME_SERVER)
		a.set_mtime = TIME_KEEP;
	a.set_mode = a.set_mode && (a.mode & SPECIAL) &&
		     (S_ISDIR(m->type) ? (a.mode & SPECIAL & ~st->st_mode) != 0
				       : a.set_uid || a.set_gid || a.set_size);
	if (S_ISDIR(m->type)) /* what it has inherited, and what an ACL says */
		a.mode = (st->st_mode & 07777) | (a.mode & SPECIAL);
	return a;
}

/* Clients send the owner with a creation whether he may give away or not. */
static int
set_attrs(struct making *m, int fd, const struct stat *st)
{
	struct vmod_attrs a = left_to_set(m, st);
	int error = 0;

	if (m->ctx->cred->uid != 0 && (a.set_uid || a.set_gid)) {
		struct vmod_attrs owner = a;

		owner.set_size = false;
		owner.set_atime = owner.set_mtime = TIME_KEEP;
		error = vmod_apply(m->ctx, fd, -1, m->type, &owner);
		a.set_uid = a.set_gid = false;
		a.set_mode = a.set_mode && (S_ISDIR(m->type) || a.set_size);
	}
	if (error == EPERM)
		error = 0;
	if (!error && (a.set_uid || a.set_gid || a.set_mode || a.set_size ||
		       a.set_atime != TIME_KEEP || a.set_mtime != TIME_KEEP))
		error = vmod_apply(m->ctx, fd, m->fd, m->type, &a);
	return error;
}

/* The object of fd, which is taken over; descriptors for writing too. */
int
making_adopt(struct making *m, int fd, bool fresh)
{
	const struct vfs *v = m->ctx->vfs;
	struct place at = vmod_place(m->dir, m->text);
	struct export *ex = m->dir->ex;
	struct stat *st = &m->made->st;
	struct handle id;
	int error = fstat(fd, st) == 0 ? 0 : errno;

	if (!error)
		error = fresh ? follow_made(v->resolve, ex, fd, st, &at, &id)
			      : resolve_name(v->resolve, ex, fd, st, at.dir, at.dir_ino, at.name,
					     at.len, true, &id);
	if (error) {
		close(fd);
		return error;
	}
	error = obj_adopt(v->files, ex, fd, st, &id, &m->made->obj);
	if (!error && m->fd >= 0) {
		obj_keep(m->made->obj, m->fd,
			 v->ident->can_switch ? -1 : fcntl(m->fd, F_DUPFD_CLOEXEC, 0));
		m->fd = -1;
	}
	return error;
}

int
making_undo(struct making *m, const struct stat *st, int error)
{
	struct stat now;

	if (fstatat(m->dir->fd, m->text, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
	    now.st_ino != st->st_ino || now.st_dev != st->st_dev || vmod_as(m->ctx) != 0)
		return sync_made(error);
	int r = unlinkat(m->dir->fd, m->text, S_ISDIR(m->type) ? AT_REMOVEDIR : 0);
	ident_end(m->ctx->vfs->ident);
	m->w->have_before = false;
	vmod_after(m->dir, m->w);
	return r ? sync_made(error) : error; /* it stays: a file that nobody asked for any more */
}

/* After the name is there. */
int
making_finish(struct making *m, enum sync_verb verb)
{
	struct stat st = {0};
	int fd, error = open_made(m, &fd, &st);

	if (error == ENOENT)
		return ESTALE;
	if (error) /* of what cannot be looked at only a file is known to be ours */
		return m->fd >= 0 && fstat(m->fd, &st) == 0 ? making_undo(m, &st, error)
							    : sync_made(error);
	error = set_attrs(m, fd, &st);
	if (error)
		close(fd);
	else
		error = making_adopt(m, fd, true);
	return error ? making_undo(m, &st, error)
		     : sync_verb(m->ctx, verb, m->made->obj, m->dir, NULL);
}

int
making_end(struct making *m, int error)
{
	making_let_go(&m->fd);
	making_let_go(&m->spare);
	if (error && m->made->obj) {
		obj_put(m->ctx->vfs->files, m->made->obj);
		m->made->obj = NULL;
	}
	if (!m->w->have_after)
		vmod_after(m->dir, m->w);
	return error;
}

static int
make(struct making *m, const char *name, size_t len, enum sync_verb verb)
{
	int error = making_begin(m, name, len);

	if (!error)
		error = making_named(m);
	if (!error)
		error = making_finish(m, verb);
	return making_end(m, error);
}

mode_t
making_mode(const struct vmod_attrs *a, mode_t otherwise)
{
	return a->set_mode ? a->mode & 07777 : otherwise;
}

int
vmod_mkdir(const struct vfs_ctx *ctx, struct obj *dir, const char *name, size_t len,
	   const struct vmod_attrs *a, struct vmod_made *made, struct vmod_wcc *w)
{
	struct making m = {.ctx = ctx, .dir = dir, .a = *a, .type = S_IFDIR, .made = made, .w = w};

	m.mode = making_mode(a, MODE_DIR);
	m.a.set_size = false;
	return make(&m, name, len, SYNC_MKDIR);
}

int
vmod_symlink(const struct vfs_ctx *ctx, struct obj *dir, const char *name, size_t namelen,
	     const char *text, size_t len, const struct vmod_attrs *a, struct vmod_made *made,
	     struct vmod_wcc *w)
{
	struct making m = {.ctx = ctx, .dir = dir, .a = *a, .type = S_IFLNK, .made = made, .w = w};
	char link[PATH_MAX];
	bool bad = len == 0 || memchr(text, '\0', len);

	m.a.set_size = m.a.set_mode = false;
	if (bad || len >= sizeof link) {
		int error = making_begin(&m, name, namelen);

		return making_end(&m, error ? error : bad ? EINVAL : ENAMETOOLONG);
	}
	memcpy(link, text, len);
	link[len] = '\0';
	m.link = link;
	return make(&m, name, namelen, SYNC_SYMLINK);
}

int
vmod_mknod(const struct vfs_ctx *ctx, struct obj *dir, const char *name, size_t namelen,
	   mode_t type, uint32_t major, uint32_t minor, const struct vmod_attrs *a,
	   struct vmod_made *made, struct vmod_wcc *w)
{
	struct making m = {.ctx = ctx, .dir = dir, .a = *a, .type = type, .made = made, .w = w};
	bool device = S_ISCHR(type) || S_ISBLK(type);
	int bad = 0;

	m.mode = making_mode(a, MODE_FILE);
	m.a.set_size = false;
	if (device)
		m.dev = makedev(major, minor);
	if (!device && !S_ISFIFO(type) && !S_ISSOCK(type))
		bad = EINVAL;
	else if (S_ISCHR(type) && m.dev == 0 && ctx->cred->uid != 0)
		bad = EPERM; /* the one device that the kernel lets anybody make: a whiteout */
	else if (device && (major >= 1u << 12 || minor >= 1u << 20))
		bad = EINVAL;
	if (bad) {
		int error = making_begin(&m, name, namelen);

		return making_end(&m, error ? error : bad);
	}
	return make(&m, name, namelen, SYNC_MKNOD);
}
