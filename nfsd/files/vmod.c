/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every modifying verb begins and ends with: locks, attributes around the change, names, and
 * the caller's right to write.
 *
 * A verb looks at what it needs as the server, makes the change itself as the caller, in one
 * bracket, so that it is the kernel who says no, and lets store and disk follow as the server.
 */
#include "vmodint.h"
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void
lock(struct obj *o, bool alone)
{
	if (alone)
		pthread_rwlock_wrlock(&o->change);
	else
		pthread_rwlock_rdlock(&o->change);
}

void
vmod_hold(struct vmod_hold *h, bool alone, struct obj *a, struct obj *b)
{
	if (b == a)
		b = NULL;
	if (b && (uintptr_t)b < (uintptr_t)a) {
		struct obj *t = a;

		a = b;
		b = t;
	}
	*h = (struct vmod_hold){{a, b}};
	lock(a, alone);
	if (b)
		lock(b, alone);
}

void
vmod_release(struct vmod_hold *h)
{
	if (h->v[1])
		pthread_rwlock_unlock(&h->v[1]->change);
	pthread_rwlock_unlock(&h->v[0]->change);
}

void
vmod_before(const struct vfs_ctx *ctx, const struct obj *o, struct vmod_wcc *w)
{
	w->have_before = ctx->exact_wcc && fstat(o->fd, &w->before) == 0;
}

void
vmod_after(const struct obj *o, struct vmod_wcc *w)
{
	w->have_after = fstat(o->fd, &w->after) == 0;
}

int
vmod_as(const struct vfs_ctx *ctx)
{
	int error = ident_begin(ctx->vfs->ident, ctx->cred);

	return error == EPERM ? EACCES : error;
}

int
vmod_error(const struct obj *dir, int error)
{
	struct stat st;

	if (error == EBUSY || error == ETXTBSY)
		return EACCES;
	if (error == ENOENT && fstat(dir->fd, &st) == 0 && st.st_nlink == 0 && dir->ex->fs.local)
		return ESTALE;
	return error;
}

int
vmod_name(const char *name, size_t len, char text[NAME_MAX + 1])
{
	if (len == 0 || memchr(name, '\0', len) || memchr(name, '/', len))
		return EINVAL;
	if (len > NAME_MAX)
		return ENAMETOOLONG;
	memcpy(text, name, len);
	text[len] = '\0';
	return 0;
}

int
vmod_dots(const char *text)
{
	return strcmp(text, ".") == 0 ? 1 : strcmp(text, "..") == 0 ? 2 : 0;
}

struct place
vmod_place(const struct obj *dir, const char *text)
{
	return (struct place){&dir->id, dir->ino, text, strlen(text)};
}

/* RFC 1813 4.4: he could have opened it before its mode changed. */
static bool
is_owner(const struct vfs_ctx *ctx, const struct stat *st)
{
	const struct ident *id = ctx->vfs->ident;

	return ctx->cred->uid == st->st_uid && (id->can_switch || ctx->cred->uid == id->self_uid);
}

int
vmod_may_write(const struct vfs_ctx *ctx, struct obj *o, const struct stat *st)
{
	struct statvfs sv;
	int error = is_owner(ctx, st) ? 0 : vfs_need(ctx, o, st, W_OK);

	if (error == EACCES && fstatvfs(o->fd, &sv) == 0 && sv.f_flag & ST_RDONLY)
		return EROFS;
	return error;
}
