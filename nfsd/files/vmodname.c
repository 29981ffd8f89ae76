/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * REMOVE, RMDIR, RENAME, LINK. RFC 1813 3.3.12 to 3.3.15.
 *
 * Before the change the server looks at what the names lead to, so that afterwards it can tell the
 * store, and let go of objects that have lost their last name (their space is not free as long as
 * the cache holds them open, and their handles are STALE from now on). The change itself is one
 * call as the caller. Should somebody else rename in between, the wrong row gets a wrong hint, but
 * a row is deleted only when the object that was looked at has really lost its last name.
 */
#include "vmodint.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a name leads to. */
struct target {
	int fd; /* O_PATH; -1: nothing, or it cannot be looked at */
	struct stat st;
	struct follow who;
};

static void
look(const struct vfs_ctx *ctx, struct obj *dir, const char *text, struct target *t)
{
	struct place at = vmod_place(dir, text);

	if (vfs_open_name(ctx, dir, text, &t->fd, &t->st) != 0)
		t->fd = -1;
	else
		follow_look(ctx->vfs->resolve, dir->ex, t->fd, &t->st, &at, &t->who);
}

static void
look_end(struct target *t)
{
	if (t->fd >= 0)
		close(t->fd);
}

/* Has it lost its last name? Where link counts may lie, by what was seen before. */
static bool
is_gone(const struct obj *dir, const struct target *t)
{
	struct stat st;

	if (fstat(t->fd, &st) != 0)
		return errno == ENOENT || errno == ESTALE;
	if (dir->ex->fs.local || dir->ex->fs.khandle || st.st_nlink == 0)
		return st.st_nlink == 0;
	return S_ISDIR(t->st.st_mode) || t->st.st_nlink <= 1;
}

/* The cache lets go of an object without a name. */
static void
forget(const struct vfs_ctx *ctx, struct obj *dir, const struct target *t)
{
	struct files *f = ctx->vfs->files;
	struct obj *o = t->who.known ? obj_cached(f, dir->ex, &t->who.handle) : NULL;

	if (!o)
		return;
	obj_forget(f, o);
	obj_put(f, o);
}

/* ---- REMOVE, RMDIR ---- */

static int
unlink_as_caller(const struct vfs_ctx *ctx, struct obj *dir, const char *text, int flag,
		 struct vmod_wcc *w)
{
	struct vmod_hold hold;
	int r, error;

	vmod_hold(&hold, ctx->exact_wcc, dir, NULL);
	vmod_before(ctx, dir, w);
	error = vmod_as(ctx);
	if (!error) {
		VMOD_CALL(r, unlinkat(dir->fd, text, flag));
		error = r ? errno : 0;
		ident_end(ctx->vfs->ident);
	}
	vmod_after(dir, w);
	vmod_release(&hold);
	return vmod_error(dir, error);
}

static void
unlinked(const struct vfs_ctx *ctx, struct obj *dir, const char *text, const struct target *t)
{
	struct place at = vmod_place(dir, text);

	if (t->fd < 0)
		return;
	bool gone = is_gone(dir, t);
	if (gone)
		forget(ctx, dir, t);
	follow_removed(ctx->vfs->resolve, dir->ex, &t->who, &at, gone);
}

static int
check(const struct vfs_ctx *ctx, const struct obj *dir, const char *name, size_t len, char *text)
{
	if (!ctx->may_sleep)
		return ESLEEP;
	if (!S_ISDIR(dir->type))
		return ENOTDIR;
	return vmod_name(name, len, text);
}

static int
take_away(const struct vfs_ctx *ctx, struct obj *dir, const char *text, int flag,
	  enum sync_verb verb, struct vmod_wcc *w)
{
	struct target t;

	look(ctx, dir, text, &t);
	int error = unlink_as_caller(ctx, dir, text, flag, w);
	if (!error)
		unlinked(ctx, dir, text, &t);
	look_end(&t);
	return error ? error : sync_verb(ctx, verb, NULL, dir, NULL);
}

int
vmod_remove(const struct vfs_ctx *ctx, struct obj *dir, const char *name, size_t len,
	    struct vmod_wcc *w)
{
	char text[NAME_MAX + 1];

	*w = (struct vmod_wcc){0};
	int error = check(ctx, dir, name, len, text);
	if (!error)
		error = vmod_dots(text) ? EISDIR : take_away(ctx, dir, text, 0, SYNC_REMOVE, w);
	if (!w->have_after && error != ESLEEP)
		vmod_after(dir, w);
	return error;
}

int
vmod_rmdir(const struct vfs_ctx *ctx, struct obj *dir, const char *name, size_t len,
	   struct vmod_wcc *w)
{
	char text[NAME_MAX + 1];

	*w = (struct vmod_wcc){0};
	int error = check(ctx, dir, name, len, text);
	if (!error && vmod_dots(text))
		error = vmod_dots(text) == 1 ? EINVAL : ENOTEMPTY;
	if (!error)
		error = take_away(ctx, dir, text, AT_REMOVEDIR, SYNC_RMDIR, w);
	if (!w->have_after && error != ESLEEP)
		vmod_after(dir, w);
	return error;
}

/* ---- RENAME ---- */

struct renaming {
	const struct vfs_ctx *ctx;
	struct obj *from, *to;
	char ftext[NAME_MAX + 1], ttext[NAME_MAX + 1];
	struct target who, over;
	struct vmod_wcc *fw, *tw;
};

static int
rename_as_caller(struct renaming *m)
{
	struct vmod_hold hold;
	int r, error;

	vmod_hold(&hold, m->ctx->exact_wcc, m->from, m->to);
	vmod_before(m->ctx, m->from, m->fw);
	vmod_before(m->ctx, m->to, m->tw);
	error = vmod_as(m->ctx);
	if (!error) {
		VMOD_CALL(r, renameat(m->from->fd, m->ftext, m->to->fd, m->ttext));
		error = r ? errno : 0;
		ident_end(m->ctx->vfs->ident);
	}
	vmod_after(m->from, m->fw);
	vmod_after(m->to, m->tw);
	vmod_release(&hold);
	error = vmod_error(m->from, error);
	return error == ENOENT ? vmod_error(m->to, error) : error;
}

static void
renamed(struct renaming *m)
{
	const struct target *who = &m->who, *over = &m->over;
	struct place from = vmod_place(m->from, m->ftext), to = vmod_place(m->to, m->ttext);
	bool gone = false;

	if (who->fd < 0)
		return;
	if (over->fd >= 0) {
		/* two names of one file: rename(2) does nothing */
		if (over->st.st_ino == who->st.st_ino && over->st.st_dev == who->st.st_dev)
			return;
		gone = is_gone(m->to, over);
		if (gone)
			forget(m->ctx, m->to, over);
	}
	follow_moved(m->ctx->vfs->resolve, m->from->ex, &who->who, who->fd, &who->st, &from, &to,
		     over->fd >= 0 ? &over->who : NULL, gone);
}

/* A directory that has moved into another: its ".." has changed, so it is synced, too. */
static int
sync_renamed(struct renaming *m)
{
	struct files *f = m->ctx->vfs->files;
	struct obj *dir2 = m->from == m->to ? NULL : m->from, *self = NULL;
	bool moved = dir2 && m->who.fd >= 0 && S_ISDIR(m->who.st.st_mode);

	if (moved && m->who.who.known &&
	    obj_adopt(f, m->from->ex, m->who.fd, &m->who.st, &m->who.who.handle, &self) == 0)
		m->who.fd = -1;
	int error = sync_verb(m->ctx, self ? SYNC_RENAME_DIR : SYNC_RENAME, self, m->to, dir2);
	obj_put(f, self);
	return error;
}

static int
do_rename(struct renaming *m)
{
	look(m->ctx, m->from, m->ftext, &m->who);
	look(m->ctx, m->to, m->ttext, &m->over);
	int error = rename_as_caller(m);
	if (!error) {
		renamed(m);
		error = sync_renamed(m);
	}
	look_end(&m->who);
	look_end(&m->over);
	return error;
}

int
vmod_rename(const struct vfs_ctx *ctx, struct obj *from, const char *fname, size_t flen,
	    struct obj *to, const char *tname, size_t tlen, struct vmod_wcc *fw,
	    struct vmod_wcc *tw)
{
	struct renaming m = {.ctx = ctx, .from = from, .to = to, .fw = fw, .tw = tw};

	*fw = *tw = (struct vmod_wcc){0};
	int error = check(ctx, from, fname, flen, m.ftext);
	if (!error)
		error = check(ctx, to, tname, tlen, m.ttext);
	if (error == ESLEEP)
		return error;
	if (!error && from->ex != to->ex)
		error = EXDEV;
	if (!error && (vmod_dots(m.ftext) || vmod_dots(m.ttext)))
		error = EINVAL;
	if (!error)
		error = do_rename(&m);
	if (!fw->have_after)
		vmod_after(from, fw);
	if (!tw->have_after)
		vmod_after(to, tw);
	return error;
}

/* ---- LINK ---- */

/* linkat(AT_EMPTY_PATH) wants CAP_DAC_READ_SEARCH, which the caller has not got; through
 * /proc/self/fd it is an ordinary link, of a symbolic link too. */
static int
link_as_caller(const struct vfs_ctx *ctx, struct obj *o, struct obj *dir, const char *text,
	       struct vmod_wcc *ow, struct vmod_wcc *dw)
{
	struct vmod_hold hold;
	char number[16];
	int r, error;

	snprintf(number, sizeof number, "%d", o->fd);
	vmod_hold(&hold, ctx->exact_wcc, o, dir);
	vmod_before(ctx, o, ow);
	vmod_before(ctx, dir, dw);
	error = vmod_as(ctx);
	if (!error) {
		VMOD_CALL(r, linkat(files_proc(ctx->vfs->files), number, dir->fd, text,
				    AT_SYMLINK_FOLLOW));
		error = r ? errno : 0;
		ident_end(ctx->vfs->ident);
	}
	vmod_after(o, ow);
	vmod_after(dir, dw);
	vmod_release(&hold);
	if (error == ENOENT && ow->have_after && ow->after.st_nlink == 0)
		return ESTALE;
	return vmod_error(dir, error);
}

static int
do_link(const struct vfs_ctx *ctx, struct obj *o, struct obj *dir, const char *text,
	struct vmod_wcc *ow, struct vmod_wcc *dw)
{
	struct place at = vmod_place(dir, text);
	int error = link_as_caller(ctx, o, dir, text, ow, dw);

	if (error)
		return error;
	follow_linked(ctx->vfs->resolve, dir->ex, &o->id, o->fd, &ow->after, &at);
	return sync_verb(ctx, SYNC_LINK, o, dir, NULL);
}

int
vmod_link(const struct vfs_ctx *ctx, struct obj *o, struct obj *dir, const char *name,
	  size_t namelen, struct vmod_wcc *ow, struct vmod_wcc *dw)
{
	char text[NAME_MAX + 1];

	*ow = *dw = (struct vmod_wcc){0};
	int error = check(ctx, dir, name, namelen, text);
	if (error == ESLEEP)
		return error;
	if (!error && o->ex != dir->ex)
		error = EXDEV;
	if (!error && S_ISDIR(o->type))
		error = EINVAL;
	if (!error && vmod_dots(text))
		error = EEXIST;
	if (!error)
		error = do_link(ctx, o, dir, text, ow, dw);
	if (!ow->have_after)
		vmod_after(o, ow);
	if (!dw->have_after)
		vmod_after(dir, dw);
	return error;
}
