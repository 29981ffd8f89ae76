/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CREATE. RFC 1813 3.3.8.
 *
 * Exclusive creation must recognise its own repeat, also when the server was killed at any point.
 * So the file is made without a name (O_TMPFILE), its verifier is committed to the store under the
 * file's identity, and only then it is linked to its name, which fails if there is one. A file with
 * that name and no verifier of ours is somebody else's, always. Where there are no nameless files
 * (FUSE, vfat, old overlayfs) the verifier comes after the name: a kill in between makes the repeat
 * EEXIST, which no client can tell from having lost a race. The times are never used.
 */
#include "vmodmake.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RACES 8

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
	error = making_adopt(m, fd, false);
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
		VMOD_CALL(m->fd, openat(m->dir->fd, ".", O_TMPFILE | making_flags(m), m->mode));
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
	int error = making_named(m);

	if (error)
		return error;
	error = keep_verifier(m, m->fd);
	return error && fstat(m->fd, &st) == 0 ? making_undo(m, &st, error) : error;
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
	m.mode = making_mode(&m.a, MODE_FILE);
	m.verifier = exclusive ? verifier : NULL;
	int error = making_begin(&m, name, namelen);
	bool new = false;
	for (int races = 0; !error && races < RACES; races++) {
		error = exclusive ? make_exclusive(&m) : making_named(&m);
		new = !error;
		if (!new)
			making_let_go(&m.fd);
		if (error != EEXIST || how == VMOD_GUARDED)
			break;
		error = found(&m);
		if (error != ENOENT)
			break;
		error = 0; /* and once more */
	}
	if (new)
		error = making_finish(&m, SYNC_CREATE);
	return making_end(&m, error);
}
