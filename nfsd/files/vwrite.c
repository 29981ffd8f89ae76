/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WRITE and COMMIT. RFC 1813 3.3.7, 3.3.21.
 *
 * The bytes go through the object's one descriptor for writing, which was opened as the server, but
 * are written as the caller: quotas, reserved blocks and the clearing of setuid and setgid bits ask
 * who writes, not who opened.
 *
 * UNSTABLE bytes pin the object in the cache until a sync, so that this very descriptor is told of
 * a failed write-back (sync.c). The verifier that goes with them is the caller's to take: before
 * the write here, after the sync in COMMIT.
 */
#include "buf.h"
#include "stat.h"
#include "vmodint.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define COPY (64u << 10)

/* Where the bytes are: in memory, or in a pipe (data NULL). */
struct source {
	const char *data;
	int pipe;
	bool nosplice;
	int error; /* what stopped the writing */
};

/* For files that know no splice. What was taken from the pipe and not written is gone, but counted
 * as not written. */
static ssize_t
write_copied(struct source *s, int fd, off_t at, size_t n)
{
	size_t cap = n < COPY ? n : COPY;
	char *mem = buf_take(cap);
	ssize_t got, put = 0, r = 0;

	if (!mem) {
		errno = ENOMEM;
		return -1;
	}
	VMOD_CALL(got, read(s->pipe, mem, cap));
	while (got > 0 && put < got) {
		VMOD_CALL(r, pwrite(fd, mem + put, (size_t)(got - put), at + put));
		if (r <= 0)
			break;
		put += r;
	}
	int error = errno;
	buf_give(mem, cap);
	errno = error;
	return put ? put : got <= 0 ? got : r;
}

static ssize_t
write_some(struct source *s, int fd, off_t at, size_t n, uint32_t done)
{
	ssize_t r;
	off_t to = at;

	if (s->data) {
		VMOD_CALL(r, pwrite(fd, s->data + done, n, at));
		return r;
	}
	if (!s->nosplice) {
		VMOD_CALL(r, splice(s->pipe, NULL, fd, &to, n, SPLICE_F_MOVE));
		if (r >= 0 || errno != EINVAL)
			return r;
		s->nosplice = true;
	}
	return write_copied(s, fd, at, n);
}

/* As many as go. 0, or errno when none went. */
static int
write_all(struct source *s, int fd, uint64_t offset, uint32_t n, uint32_t *done)
{
	while (*done < n) {
		ssize_t r = write_some(s, fd, (off_t)(offset + *done), n - *done, *done);

		if (r <= 0) {
			s->error = r < 0 ? errno : EIO;
			return *done ? 0 : s->error;
		}
		*done += (uint32_t)r;
	}
	return 0;
}

static int
as_caller(const struct vfs_ctx *ctx, struct obj *o, struct source *s, int fd, uint64_t offset,
	  uint32_t n, uint32_t *done, struct vmod_wcc *w)
{
	struct vmod_hold hold;
	int error;

	vmod_hold(&hold, ctx->exact_wcc, o, NULL);
	vmod_before(ctx, o, w);
	error = vmod_as(ctx);
	if (!error) {
		error = write_all(s, fd, offset, n, done);
		ident_end(ctx->vfs->ident);
	}
	vmod_after(o, w);
	vmod_release(&hold);
	return error;
}

static int
check(const struct vfs_ctx *ctx, struct obj *o, uint64_t offset, uint32_t n)
{
	struct stat st;

	if (!S_ISREG(o->type))
		return S_ISDIR(o->type) ? EISDIR : EINVAL;
	int error = vfs_getattr(ctx, o, &st);
	if (!error)
		error = vmod_may_write(ctx, o, &st);
	if (!error && n && (offset > INT64_MAX || n > INT64_MAX - offset))
		error = EFBIG;
	return error;
}

/* How far it must go before the reply. */
static int
settle(const struct vfs_ctx *ctx, struct obj *o, enum vmod_stable asked, enum vmod_stable *level)
{
	*level = asked;
	if (asked == VMOD_UNSTABLE || ctx->async) {
		sync_note(o);
		return 0;
	}
	return sync_verb(ctx, asked == VMOD_DATA_SYNC ? SYNC_WRITE_DATA : SYNC_WRITE, o, NULL,
			 NULL);
}

static int
write_from(const struct vfs_ctx *ctx, struct obj *o, struct source *s, uint64_t offset, uint32_t n,
	   enum vmod_stable asked, uint32_t *done, enum vmod_stable *level, struct vmod_wcc *w)
{
	int fd, error = check(ctx, o, offset, n);

	if (error)
		return error;
	if (n == 0) {
		*level = VMOD_FILE_SYNC;
		return 0;
	}
	error = obj_writer(ctx->vfs->files, o, &fd);
	if (!error)
		error = as_caller(ctx, o, s, fd, offset, n, done, w);
	stat_add(s->pipe >= 0 && !s->nosplice ? ST_WRITE_SPLICED : ST_WRITE_COPIED, *done);
	if (s->error == EIO) { /* may be the news of an earlier one's failed write-back */
		sync_distrust(fd);
		sync_lost(files_sync(ctx->vfs->files), "a write failed", s->error);
	}
	return error ? error : settle(ctx, o, asked, level);
}

static int
write_verb(const struct vfs_ctx *ctx, struct obj *o, struct source *s, uint64_t offset, uint32_t n,
	   enum vmod_stable asked, uint32_t *done, enum vmod_stable *level, struct vmod_wcc *w)
{
	*w = (struct vmod_wcc){0};
	*done = 0;
	*level = VMOD_UNSTABLE;
	if (!ctx->may_sleep)
		return ESLEEP;
	int error = write_from(ctx, o, s, offset, n, asked, done, level, w);
	if (!w->have_after)
		vmod_after(o, w);
	return error;
}

int
vmod_write(const struct vfs_ctx *ctx, struct obj *o, uint64_t offset, const void *data, uint32_t n,
	   enum vmod_stable asked, uint32_t *done, enum vmod_stable *level, struct vmod_wcc *w)
{
	struct source s = {.data = data, .pipe = -1};

	return write_verb(ctx, o, &s, offset, n, asked, done, level, w);
}

int
vmod_write_pipe(const struct vfs_ctx *ctx, struct obj *o, uint64_t offset, int pipe, uint32_t n,
		enum vmod_stable asked, uint32_t *done, enum vmod_stable *level, struct vmod_wcc *w)
{
	struct source s = {.pipe = pipe};

	return write_verb(ctx, o, &s, offset, n, asked, done, level, w);
}

int
vmod_commit(const struct vfs_ctx *ctx, struct obj *o, uint64_t offset, uint32_t count,
	    struct vmod_wcc *w)
{
	struct stat st;
	int error = 0;

	(void)offset; /* a part of a file cannot be synced without its size and blocks anyway */
	(void)count;
	*w = (struct vmod_wcc){0};
	if (!ctx->may_sleep)
		return ESLEEP;
	if (!S_ISREG(o->type))
		error = S_ISDIR(o->type) ? EISDIR : EINVAL;
	if (!error)
		error = vfs_getattr(ctx, o, &st);
	if (!error)
		error = sync_verb(ctx, SYNC_COMMIT, o, NULL, NULL);
	vmod_after(o, w);
	return error;
}
