/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SETATTR, and setting attributes of what was just made. RFC 1813 3.3.2.
 *
 * What the cache holds is an O_PATH descriptor, which most calls that take a descriptor refuse:
 *
 *	size	ftruncate	of the shared descriptor for writing (permission was asked before)
 *	owner	fchownat	AT_EMPTY_PATH: any object, symbolic links too
 *	mode	fchmodat2	AT_EMPTY_PATH; before Linux 6.6 by /proc/self/fd. Not of a link
 *	times	utimensat	AT_EMPTY_PATH; before Linux 5.8 by /proc/self/fd
 *
 * All are made as the caller, so setuid and setgid bits go when they go for a local process. In
 * this order what was asked for stands: setting size or owner takes such bits away, and both touch
 * the times.
 *
 * A failure in the middle leaves what was done before it. Only size can be done and a later step
 * fail for lack of permission (whoever may write but owns nothing).
 */
#include "vmodint.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define NS 1000000000

static bool
bad_time(enum vmod_time how, const struct timespec *t)
{
	return how == TIME_CLIENT && (t->tv_nsec < 0 || t->tv_nsec >= NS);
}

int
vmod_check(const struct vmod_attrs *a, mode_t type)
{
	if ((a->set_uid && a->uid == (uid_t)-1) || (a->set_gid && a->gid == (gid_t)-1))
		return EINVAL;
	if (bad_time(a->set_atime, &a->atime) || bad_time(a->set_mtime, &a->mtime))
		return EINVAL;
	if (!a->set_size)
		return 0;
	if (!S_ISREG(type))
		return S_ISDIR(type) ? EISDIR : EINVAL;
	return a->size > INT64_MAX ? EFBIG : 0;
}

/* ---- one attribute, as whoever the thread is ---- */

static int
set_size(int wfd, uint64_t size)
{
	int r;

	VMOD_CALL(r, ftruncate(wfd, (off_t)size));
	return r ? errno : 0;
}

static int
set_owner(int fd, const struct vmod_attrs *a)
{
	int r;

	VMOD_CALL(r, fchownat(fd, "", a->set_uid ? a->uid : (uid_t)-1,
			      a->set_gid ? a->gid : (gid_t)-1, AT_EMPTY_PATH));
	return r ? errno : 0;
}

static int
set_mode(const struct vfs *v, int fd, mode_t mode)
{
	char name[16];
	int r;

	if (v->kernel->fchmodat2) {
		VMOD_CALL(r, k_fchmod(fd, mode & 07777));
	} else {
		snprintf(name, sizeof name, "%d", fd);
		VMOD_CALL(r, fchmodat(files_proc(v->files), name, mode & 07777, 0));
	}
	return r ? errno : 0;
}

static struct timespec
time_arg(enum vmod_time how, const struct timespec *t)
{
	if (how == TIME_CLIENT)
		return *t;
	return (struct timespec){0, how == TIME_SERVER ? UTIME_NOW : UTIME_OMIT};
}

/* The size's change has set mtime already. */
static bool
wants_times(const struct vmod_attrs *a, struct timespec t[2])
{
	enum vmod_time m = a->set_size && a->set_mtime == TIME_SERVER ? TIME_KEEP : a->set_mtime;

	t[0] = time_arg(a->set_atime, &a->atime);
	t[1] = time_arg(m, &a->mtime);
	return a->set_atime != TIME_KEEP || m != TIME_KEEP;
}

static int
set_times(const struct vfs *v, int fd, const struct timespec t[2])
{
	char name[16];
	int r;

	VMOD_CALL(r, utimensat(fd, "", t, AT_EMPTY_PATH));
	if (r != 0 && (errno == EINVAL || errno == ENOENT)) {
		snprintf(name, sizeof name, "%d", fd);
		VMOD_CALL(r, utimensat(files_proc(v->files), name, t, 0));
	}
	return r ? errno : 0;
}

/* ---- all of them ---- */

static int
apply(const struct vfs_ctx *ctx, int fd, int wfd, mode_t type, const struct vmod_attrs *a)
{
	int error = 0;

	if (a->set_size)
		error = set_size(wfd, a->size);
	if (!error && (a->set_uid || a->set_gid))
		error = set_owner(fd, a);
	if (!error && a->set_mode && !S_ISLNK(type))
		error = set_mode(ctx->vfs, fd, a->mode);
	return error;
}

int
vmod_apply(const struct vfs_ctx *ctx, int fd, int wfd, mode_t type, const struct vmod_attrs *a)
{
	struct timespec t[2];
	int error = vmod_as(ctx);

	if (error)
		return error;
	error = apply(ctx, fd, wfd, type, a);
	if (!error && wants_times(a, t))
		error = set_times(ctx->vfs, fd, t);
	ident_end(ctx->vfs->ident);
	return error;
}

/*
 * One time to now, the other as it is: NFS lets everybody do that who may write (as ATTR_MTIME does
 * in the kernel), utimensat(2) only the owner. Then the server does it.
 */
static int
set_now(const struct vfs_ctx *ctx, struct obj *o, const struct stat *st, const struct vmod_attrs *a)
{
	struct timespec t[2];

	if (a->set_atime == TIME_CLIENT || a->set_mtime == TIME_CLIENT || a->set_mode ||
	    a->set_uid || a->set_gid || !wants_times(a, t) || vfs_need(ctx, o, st, W_OK) != 0)
		return EPERM;
	return set_times(ctx->vfs, o->fd, t);
}

static bool
in_sync(const struct obj *o, const struct timespec *guard)
{
	struct stat st;

	return fstat(o->fd, &st) == 0 && st.st_ctim.tv_sec == guard->tv_sec &&
	       st.st_ctim.tv_nsec == guard->tv_nsec;
}

static int
change(const struct vfs_ctx *ctx, struct obj *o, int wfd, const struct stat *st,
       const struct vmod_attrs *a, const struct timespec *guard, struct vmod_wcc *w)
{
	struct vmod_hold hold;
	int error = 0;

	vmod_hold(&hold, ctx->exact_wcc || guard, o, NULL);
	vmod_before(ctx, o, w);
	if (guard && !in_sync(o, guard))
		error = ENOTSYNC;
	if (!error)
		error = vmod_apply(ctx, o->fd, wfd, o->type, a);
	if (error == EPERM)
		error = set_now(ctx, o, st, a);
	/* what was done before the failure has made the guard wrong */
	if (error && error != ENOTSYNC && guard && !in_sync(o, guard))
		error = sync_made(error);
	vmod_after(o, w);
	vmod_release(&hold);
	return error;
}

/* The creation is over: its client has come back. */
static void
drop_verifier(const struct vfs_ctx *ctx, const struct obj *o)
{
	const struct resolve *r = ctx->vfs->resolve;
	struct store_ident id;

	if (S_ISREG(o->type) && r->store && follow_ident(r, o->ex, o->fd, NULL, &o->id, &id) == 0)
		store_excl_drop(r->store, &id);
}

static int
setattr(const struct vfs_ctx *ctx, struct obj *o, const struct vmod_attrs *a,
	const struct timespec *guard, struct vmod_wcc *w)
{
	struct stat st;
	int wfd = -1, error = vmod_check(a, o->type);

	if (!error)
		error = vfs_getattr(ctx, o, &st);
	if (!error && a->set_size)
		error = vmod_may_write(ctx, o, &st);
	if (!error && a->set_size)
		error = obj_writer(ctx->vfs->files, o, &wfd);
	if (!error)
		error = change(ctx, o, wfd, &st, a, guard, w);
	if (error)
		return error;
	drop_verifier(ctx, o);
	return sync_verb(ctx, SYNC_SETATTR, o, NULL, NULL);
}

int
vmod_setattr(const struct vfs_ctx *ctx, struct obj *o, const struct vmod_attrs *a,
	     const struct timespec *guard, struct vmod_wcc *w)
{
	*w = (struct vmod_wcc){0};
	if (!ctx->may_sleep)
		return ESLEEP;
	int error = setattr(ctx, o, a, guard, w);
	if (!w->have_after)
		vmod_after(o, w);
	return error;
}
