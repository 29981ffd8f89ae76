/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CREATE, MKDIR, SYMLINK, MKNOD. RFC 1813 3.3.8 to 3.3.11.
 *
 * The object is made by one call as the caller, with its final mode: permission, quota, default
 * ACLs, setgid directories are the kernel's business. Then, as the server, it is opened (a file is
 * never opened again by name: the descriptor that made it leads to it), gets its other attributes
 * and its handle, and goes to the disk. What goes wrong after the making is undone, as far as the
 * name still leads to what was made.
 *
 * Exclusive creation must recognise its own repeat, also when the server was killed at any point.
 * So the file is made without a name (O_TMPFILE), its verifier is committed to the store under the
 * file's identity, and only then it is linked to its name, which fails if there is one. A file with
 * that name and no verifier of ours is somebody else's, always. Where there are no nameless files
 * (FUSE, vfat, old overlayfs) the verifier comes after the name: a kill in between makes the repeat
 * EEXIST, which no client can tell from having lost a race. The times are never used.
 */
#include "vmodint.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define RACES 8
#define MODE_FILE 0600
#define MODE_DIR 0700
#define SPECIAL (S_ISUID | S_ISGID | S_ISVTX)

struct making {
	const struct vfs_ctx *ctx;
	struct obj *dir;
	char text[NAME_MAX + 1];
	struct vmod_attrs a;
	mode_t type, mode;
	dev_t dev;		       /* MKNOD */
	const char *link;	       /* SYMLINK */
	const unsigned char *verifier; /* EXCLUSIVE */
	int fd;			       /* a file's, open for writing; else -1 */
	struct vmod_made *made;
	struct vmod_wcc *w;
};

static int
begin(struct making *m, const char *name, size_t len)
{
	*m->w = (struct vmod_wcc){0};
	*m->made = (struct vmod_made){0};
	m->fd = -1;
	if (!m->ctx->may_sleep)
		return ESLEEP;
	if (!S_ISDIR(m->dir->type))
		return ENOTDIR;
	int error = vmod_name(name, len, m->text);
	if (!error && vmod_dots(m->text))
		error = EEXIST;
	return error ? error : vmod_check(&m->a, m->type);
}

/* ---- the call that makes it, as the caller ---- */

static int
file_flags(const struct making *m)
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
		VMOD_CALL(m->fd, openat(dir, m->text, O_CREAT | O_EXCL | O_NOFOLLOW | file_flags(m),
					m->mode));
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

static int
make_named(struct making *m)
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
static int
adopt(struct making *m, int fd, bool fresh)
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

static void
undo(struct making *m, const struct stat *st)
{
	struct stat now;

	if (fstatat(m->dir->fd, m->text, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
	    now.st_ino != st->st_ino || now.st_dev != st->st_dev || vmod_as(m->ctx) != 0)
		return;
	int r = unlinkat(m->dir->fd, m->text, S_ISDIR(m->type) ? AT_REMOVEDIR : 0);
	(void)r; /* or it stays: a file that nobody asked for any more */
	ident_end(m->ctx->vfs->ident);
	m->w->have_before = false;
	vmod_after(m->dir, m->w);
}

/* After the name is there. */
static int
finish(struct making *m, enum sync_verb verb)
{
	struct stat st;
	int fd, error = open_made(m, &fd, &st);

	if (error)
		return error == ENOENT ? ESTALE : error;
	error = set_attrs(m, fd, &st);
	if (error)
		close(fd);
	else
		error = adopt(m, fd, true);
	if (error)
		undo(m, &st);
	return error ? error : sync_verb(m->ctx, verb, m->made->obj, m->dir, NULL);
}

static int
end(struct making *m, int error)
{
	if (m->fd >= 0)
		close(m->fd);
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
	int error = begin(m, name, len);

	if (!error)
		error = make_named(m);
	if (!error)
		error = finish(m, verb);
	return end(m, error);
}

static mode_t
mode_of(const struct vmod_attrs *a, mode_t otherwise)
{
	return a->set_mode ? a->mode & 07777 : otherwise;
}

int
vmod_mkdir(const struct vfs_ctx *ctx, struct obj *dir, const char *name, size_t len,
	   const struct vmod_attrs *a, struct vmod_made *made, struct vmod_wcc *w)
{
	struct making m = {.ctx = ctx, .dir = dir, .a = *a, .type = S_IFDIR, .made = made, .w = w};

	m.mode = mode_of(a, MODE_DIR);
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
		int error = begin(&m, name, namelen);

		return end(&m, error ? error : bad ? EINVAL : ENAMETOOLONG);
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

	m.mode = mode_of(a, MODE_FILE);
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
		int error = begin(&m, name, namelen);

		return end(&m, error ? error : bad);
	}
	return make(&m, name, namelen, SYNC_MKNOD);
}

/* ---- CREATE ---- */

static int
identity(const struct making *m, int fd, struct store_ident *id)
{
	struct place at = vmod_place(m->dir, m->text);

	return follow_ident(m->ctx->vfs->resolve, m->dir->ex, fd, &at, NULL, id);
}

/* Is this file the work of the same call? */
static bool
is_repeat(const struct making *m, int fd)
{
	struct store *store = m->ctx->vfs->resolve->store;
	unsigned char v[8];
	struct store_ident id;

	return store && identity(m, fd, &id) == 0 && store_excl_get(store, &id, v) == 0 &&
	       memcmp(v, m->verifier, sizeof v) == 0;
}

static int
keep_verifier(const struct making *m, int fd)
{
	struct store *store = m->ctx->vfs->resolve->store;
	struct store_ident id;
	int error = identity(m, fd, &id);

	if (error)
		return error;
	return store ? store_excl_put(store, &id, m->verifier) : 0;
}

/* The name is taken. EEXIST, or 0 when that is what was wanted; ENOENT: it is gone again. */
static int
found(struct making *m)
{
	struct stat st;
	int fd, error = vfs_open_name(m->ctx, m->dir, m->text, &fd, &st);

	if (error)
		return error == EXDEV ? EEXIST : error;
	if (!S_ISREG(st.st_mode) || (m->verifier && !is_repeat(m, fd))) {
		close(fd);
		return EEXIST;
	}
	error = adopt(m, fd, false);
	if (error)
		return error;
	if (m->verifier) /* the first try may have been cut off before this */
		return sync_verb(m->ctx, SYNC_CREATE, m->made->obj, m->dir, NULL);
	if (!m->a.set_size)
		return 0;
	const struct vmod_attrs size = {.set_size = true, .size = m->a.size};
	struct vmod_wcc w;
	error = vmod_setattr(m->ctx, m->made->obj, &size, NULL, &w);
	if (w.have_after)
		m->made->st = w.after;
	return error;
}

/* The caller must be able to search the directory to learn that the name is there. */
static int
look_for_name(struct making *m)
{
	struct stat st;
	int fd, error = vfs_getattr(m->ctx, m->dir, &st);

	if (!error)
		error = vfs_need(m->ctx, m->dir, &st, X_OK);
	if (error)
		return error;
	error = vfs_open_name(m->ctx, m->dir, m->text, &fd, &st);
	if (!error)
		close(fd);
	return !error || error == EXDEV ? EEXIST : error == ENOENT ? 0 : error;
}

static int
open_nameless(struct making *m)
{
	unsigned tries = 0;
	int error;

	do {
		error = vmod_as(m->ctx);
		if (error)
			return error;
		VMOD_CALL(m->fd, openat(m->dir->fd, ".", O_TMPFILE | file_flags(m), m->mode));
		error = m->fd < 0 ? errno : 0;
		ident_end(m->ctx->vfs->ident);
	} while (files_retry(m->ctx->vfs->files, error, &tries));
	return error;
}

static int
link_name(struct making *m)
{
	struct vmod_hold hold;
	char number[16];
	int r, error;

	snprintf(number, sizeof number, "%d", m->fd);
	vmod_hold(&hold, m->ctx->exact_wcc, m->dir, NULL);
	vmod_before(m->ctx, m->dir, m->w);
	error = vmod_as(m->ctx);
	if (!error) {
		VMOD_CALL(r, linkat(files_proc(m->ctx->vfs->files), number, m->dir->fd, m->text,
				    AT_SYMLINK_FOLLOW));
		error = r ? errno : 0;
		ident_end(m->ctx->vfs->ident);
	}
	vmod_after(m->dir, m->w);
	vmod_release(&hold);
	return vmod_error(m->dir, error);
}

static int
make_then_keep(struct making *m)
{
	struct stat st;
	int error = make_named(m);

	if (error)
		return error;
	error = keep_verifier(m, m->fd);
	if (error && fstat(m->fd, &st) == 0)
		undo(m, &st);
	return error;
}

/* Those say that there are no nameless files here: open(2). */
static bool
knows_no_nameless(int error)
{
	return error == EOPNOTSUPP || error == EISDIR || error == EINVAL || error == ENOSYS;
}

static int
make_exclusive(struct making *m)
{
	int error = look_for_name(m);

	if (!error)
		error = open_nameless(m);
	if (knows_no_nameless(error))
		return make_then_keep(m);
	if (!error)
		error = keep_verifier(m, m->fd);
	return error ? vmod_error(m->dir, error) : link_name(m);
}

int
vmod_create(const struct vfs_ctx *ctx, struct obj *dir, const char *name, size_t namelen,
	    enum vmod_how how, const struct vmod_attrs *a, const unsigned char verifier[8],
	    struct vmod_made *made, struct vmod_wcc *w)
{
	static const struct vmod_attrs none;
	bool exclusive = how == VMOD_EXCLUSIVE;
	struct making m = {.ctx = ctx, .dir = dir, .type = S_IFREG, .made = made, .w = w};

	m.a = exclusive || !a ? none : *a;
	m.mode = mode_of(&m.a, MODE_FILE);
	m.verifier = exclusive ? verifier : NULL;
	int error = begin(&m, name, namelen);
	bool new = false;
	for (int races = 0; !error && races < RACES; races++) {
		error = exclusive ? make_exclusive(&m) : make_named(&m);
		new = !error;
		if (m.fd >= 0 && !new) {
			close(m.fd);
			m.fd = -1;
		}
		if (error != EEXIST || how == VMOD_GUARDED)
			break;
		error = found(&m);
		if (error != ENOENT)
			break;
		error = 0; /* and once more */
	}
	if (new)
		error = finish(&m, SYNC_CREATE);
	return end(&m, error);
}
