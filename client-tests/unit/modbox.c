/* SPDX-License-Identifier: BSD-2-Clause */
#include "modbox.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct served mod;
static char state[128];

void
mod_begin(const char *type)
{
	box_mount(type, "m", mod.dir);
	snprintf(state, sizeof state, "%s/state", BOX);
	MUST(mkdir(state, 0700) == 0);
	serve_from(&mod, state, mod.dir, NULL, 0);
}

void
mod_again(void)
{
	serve_from(&mod, state, mod.dir, NULL, 0);
}

void
mod_end(void)
{
	serve_end(&mod);
}

const char *
mod_at(const char *name)
{
	return at(&mod, name);
}

struct vfs_ctx
mod_as_groups(uid_t uid, gid_t gid, uint32_t n, const gid_t *groups)
{
	mod.cred = box_cred(uid, gid, n, groups);
	return as_worker(&mod);
}

struct vfs_ctx
mod_as(uid_t uid)
{
	return mod_as_groups(uid, uid, 0, NULL);
}

static int
give(int error, struct vmod_made *made, struct obj **obj)
{
	MUST((error == 0) == (made->obj != NULL));
	if (error == 0 && obj)
		*obj = made->obj;
	else if (error == 0)
		put(&mod, made->obj);
	return error;
}

int
mod_create(const struct vfs_ctx *ctx, struct obj *dir, const char *name, mode_t mode,
	   struct obj **obj)
{
	const struct vmod_attrs a = {.set_mode = true, .mode = mode};
	struct vmod_made made;
	struct vmod_wcc w;

	return give(vmod_create(ctx, dir, name, strlen(name), VMOD_GUARDED, &a, NULL, &made, &w),
		    &made, obj);
}

int
mod_exclusive(const struct vfs_ctx *ctx, struct obj *dir, const char *name, const char *verifier,
	      struct obj **obj)
{
	const struct vmod_attrs a = {0};
	struct vmod_made made;
	struct vmod_wcc w;
	int error = vmod_create(ctx, dir, name, strlen(name), VMOD_EXCLUSIVE, &a,
				(const unsigned char *)verifier, &made, &w);

	WANT(w.have_after && !w.have_before);
	return give(error, &made, obj);
}

int
mod_mkdir(const struct vfs_ctx *ctx, struct obj *dir, const char *name, mode_t mode,
	  struct obj **obj)
{
	const struct vmod_attrs a = {.set_mode = true, .mode = mode};
	struct vmod_made made;
	struct vmod_wcc w;

	return give(vmod_mkdir(ctx, dir, name, strlen(name), &a, &made, &w), &made, obj);
}

int
mod_symlink(const struct vfs_ctx *ctx, struct obj *dir, const char *name, const char *text)
{
	const struct vmod_attrs a = {.set_mode = true, .mode = 0777};
	struct vmod_made made;
	struct vmod_wcc w;

	return give(vmod_symlink(ctx, dir, name, strlen(name), text, strlen(text), &a, &made, &w),
		    &made, NULL);
}

int
mod_mknod(const struct vfs_ctx *ctx, struct obj *dir, const char *name, mode_t type)
{
	const struct vmod_attrs a = {.set_mode = true, .mode = 0640};
	struct vmod_made made;
	struct vmod_wcc w;

	return give(vmod_mknod(ctx, dir, name, strlen(name), type, 1, 3, &a, &made, &w), &made,
		    NULL);
}

int
mod_remove(const struct vfs_ctx *ctx, struct obj *dir, const char *name)
{
	struct vmod_wcc w;
	int error = vmod_remove(ctx, dir, name, strlen(name), &w);

	WANT(w.have_after);
	return error;
}

int
mod_rmdir(const struct vfs_ctx *ctx, struct obj *dir, const char *name)
{
	struct vmod_wcc w;
	int error = vmod_rmdir(ctx, dir, name, strlen(name), &w);

	WANT(w.have_after);
	return error;
}

int
mod_rename(const struct vfs_ctx *ctx, struct obj *from, const char *f, struct obj *to,
	   const char *t)
{
	struct vmod_wcc fw, tw;
	int error = vmod_rename(ctx, from, f, strlen(f), to, t, strlen(t), &fw, &tw);

	WANT(fw.have_after && tw.have_after);
	return error;
}

int
mod_link(const struct vfs_ctx *ctx, struct obj *o, struct obj *dir, const char *name)
{
	struct vmod_wcc ow, dw;
	int error = vmod_link(ctx, o, dir, name, strlen(name), &ow, &dw);

	WANT(ow.have_after && dw.have_after);
	return error;
}

int
mod_chmod(const struct vfs_ctx *ctx, struct obj *o, mode_t mode)
{
	const struct vmod_attrs a = {.set_mode = true, .mode = mode};
	struct vmod_wcc w;
	int error = vmod_setattr(ctx, o, &a, NULL, &w);

	WANT(w.have_after);
	return error;
}

int
mod_size(const struct vfs_ctx *ctx, struct obj *o, uint64_t size)
{
	const struct vmod_attrs a = {.set_size = true, .size = size};
	struct vmod_wcc w;
	int error = vmod_setattr(ctx, o, &a, NULL, &w);

	WANT(w.have_after);
	return error;
}

int
mod_write(const struct vfs_ctx *ctx, struct obj *o, uint64_t off, const char *text,
	  enum vmod_stable asked)
{
	enum vmod_stable level;
	struct vmod_wcc w;
	uint32_t done;
	int error = vmod_write(ctx, o, off, text, (uint32_t)strlen(text), asked, &done, &level, &w);

	WANT(w.have_after);
	if (error == 0)
		WANT(done == strlen(text) && level >= asked);
	return error;
}

int
mod_commit(const struct vfs_ctx *ctx, struct obj *o)
{
	struct vmod_wcc w;
	int error = vmod_commit(ctx, o, 0, 0, &w);

	WANT(w.have_after);
	return error;
}

struct stat
mod_stat(const char *name)
{
	struct stat st;

	MUST(lstat(mod_at(name), &st) == 0);
	return st;
}

bool
mod_there(const char *name)
{
	struct stat st;

	return lstat(mod_at(name), &st) == 0;
}

bool
mod_holds(const char *name, const char *text)
{
	char buf[256] = "";
	int fd = open(mod_at(name), O_RDONLY);

	MUST(fd >= 0);
	ssize_t n = read(fd, buf, sizeof buf - 1);
	close(fd);
	return n == (ssize_t)strlen(text) && memcmp(buf, text, (size_t)n) == 0;
}

int
mod_resolves(struct obj *o)
{
	struct obj *again;
	struct stat was, now;

	MUST(fstat(o->fd, &was) == 0);
	files_drop(mod.files, NULL, NULL);
	int error = obj_get(mod.files, mod.ex, &o->fh, &o->id, true, &again);
	if (error)
		return error;
	MUST(fstat(again->fd, &now) == 0);
	error = now.st_ino == was.st_ino && now.st_dev == was.st_dev ? 0 : EBADMSG;
	put(&mod, again);
	return error;
}
