/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The small verbs, and the two things every verb begins with: what are the object's attributes, and
 * may this caller.
 *
 * Permission is the kernel's answer to faccessat2(2) asked as the caller, remembered in the object
 * per credential as long as ctime stays. Two clocks spoil that memory if nobody looks: a change in
 * the same clock tick as an earlier one leaves ctime as it was, so nothing is remembered under a
 * ctime that was younger than two ticks *before* the question was asked (or than the file system's
 * own grain: ext4 with small inodes and FAT keep seconds); and a batch's attributes
 * are older than the question, which is harmless, since an answer remembered under an old ctime is
 * never found under the new one.
 *
 * Can a check sleep? Only to read an ACL that is not in memory. The kernel does not consult one for
 * the owner nor when the group bits are empty, and what it has once consulted stays with the inode,
 * which our descriptor holds: obj->perm_warm.
 */
#include "times.h"
#include "vfsint.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GRAIN_NS 20000000	  /* two ticks of the slowest kernel clock (HZ=100) */
#define ROUND_NS 10000000	  /* times that are multiples of this may be rounded to seconds */
#define ROUND_GRAIN_NS 4000000000 /* two of the coarsest: 2 s (FAT) */
#define FAST_LINK 60		  /* a symbolic link up to here lies in ext4's inode */
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* ---- the batch ---- */

void
vfs_batch_begin(struct vfs_batch *b)
{
	b->n = 0;
	b->deep = false;
}

void
vfs_batch_end(struct vfs_batch *b, struct files *f)
{
	for (unsigned i = 0; i < b->n; i++)
		obj_put(f, b->seen[i].obj);
	b->n = 0;
}

struct obj *
vfs_batch_find(const struct vfs_batch *b, const nfs_fh3 *fh)
{
	for (unsigned i = b->n; i-- > 0;) {
		struct obj *o = b->seen[i].obj;

		if (o->fh.len == fh->len && memcmp(o->fh.data, fh->data, fh->len) == 0)
			return o;
	}
	return NULL;
}

static struct vfs_seen *
remember(struct vfs_batch *b, struct obj *o)
{
	if (b->n == VFS_BATCH)
		return NULL;
	struct vfs_seen *s = &b->seen[b->n++];
	s->obj = obj_ref(o);
	s->have_st = s->calm = false;
	s->warm_from = s->warm_to = 0;
	return s;
}

struct vfs_seen *
vfs_seen(const struct vfs_ctx *ctx, struct obj *o)
{
	struct vfs_batch *b = ctx->batch;

	if (!b)
		return NULL;
	for (unsigned i = b->n; i-- > 0;)
		if (b->seen[i].obj == o)
			return &b->seen[i];
	return remember(b, o);
}

int
vfs_object(const struct vfs_ctx *ctx, struct export *ex, const nfs_fh3 *fh, const struct handle *h,
	   struct obj **out)
{
	struct vfs_batch *b = ctx->batch;
	struct obj *o = b ? vfs_batch_find(b, fh) : NULL;

	if (o && o->ex == ex) {
		*out = obj_ref(o);
		return 0;
	}
	int error = obj_get(ctx->vfs->files, ex, fh, h, ctx->may_sleep, out);
	if (!error && b)
		remember(b, *out);
	return error;
}

/* ---- attributes ---- */

static bool
is_calm(const struct timespec *now, const struct timespec *t)
{
	int64_t grain = t->tv_nsec % ROUND_NS ? GRAIN_NS : ROUND_GRAIN_NS;
	int64_t seconds = now->tv_sec - t->tv_sec;

	if (seconds < 0 || seconds > 10)
		return seconds > 0;
	return seconds * 1000000000 + now->tv_nsec - t->tv_nsec >= grain;
}

bool
vfs_calm(const struct timespec *now, const struct stat *st)
{
	return is_calm(now, &st->st_ctim) && is_calm(now, &st->st_mtim);
}

void
vfs_now(struct timespec *now)
{
	clock_gettime(CLOCK_REALTIME_COARSE, now);
}

/* A file system of our list counts names rightly, so none left means gone. Others may say 0 for
 * anything. */
static bool
is_gone(const struct obj *o, const struct stat *st)
{
	return st->st_nlink == 0 && (o->ex->fs.local || o->ex->fs.khandle);
}

int
vfs_look(const struct vfs_ctx *ctx, struct obj *o, struct stat *st, bool *calm)
{
	struct vfs_seen *s = vfs_seen(ctx, o);
	struct timespec now;

	if (s && s->have_st) {
		*st = s->st;
		*calm = s->calm;
		return 0;
	}
	if (!ctx->may_sleep && !o->ex->fs.local)
		return ESLEEP;
	vfs_now(&now); /* before the attributes: what changes later must get another time */
	int error = fstat(o->fd, st) == 0 ? 0 : errno;
	if (error == ENOENT || error == ESTALE || (!error && is_gone(o, st))) {
		obj_forget(ctx->vfs->files, o);
		return ESTALE;
	}
	if (error)
		return error;
	*calm = vfs_calm(&now, st);
	if (s) {
		s->st = *st;
		s->calm = *calm;
		s->have_st = true;
	}
	return 0;
}

int
vfs_getattr(const struct vfs_ctx *ctx, struct obj *o, struct stat *st)
{
	bool calm;

	return vfs_look(ctx, o, st, &calm);
}

/* ---- permission ---- */

/* One question to the kernel as whoever the thread is. 0, EACCES, or another errno. passing is set
 * when a refusal may end without a change of ctime: a file system that is read-only for now. */
static int
ask(const struct kernel *k, const struct obj *o, int mask, bool *passing)
{
	char path[32];

	int r;
	if (k->faccess_empty) {
		r = k_faccess(o->fd, mask);
	} else {
		snprintf(path, sizeof path, "/proc/self/fd/%d", o->fd);
		r = (int)syscall(SYS_faccessat2, AT_FDCWD, path, mask, AT_EACCESS);
	}
	if (r == 0)
		return 0;
	/* EROFS: writing to a read-only mount. EPERM: writing to the immutable. ETXTBSY, likewise
	 */
	*passing |= errno == EROFS || errno == ETXTBSY;
	return errno == EROFS || errno == EPERM || errno == ETXTBSY ? EACCES : errno;
}

/* All at once when all are granted, else bit by bit. */
static int
ask_all(const struct kernel *k, const struct obj *o, int asked, int *granted, bool *passing)
{
	int error = ask(k, o, asked, passing);

	*granted = error ? 0 : asked;
	if (error != EACCES || (asked & (asked - 1)) == 0)
		return error == EACCES ? 0 : error;
	for (int bit = X_OK; bit <= R_OK; bit <<= 1) {
		if (!(asked & bit))
			continue;
		error = ask(k, o, bit, passing);
		if (!error)
			*granted |= bit;
		else if (error != EACCES)
			return error;
	}
	return 0;
}

/* The remembered answer's slot for this credential under this ctime; obj->lock is held. */
static struct perm *
perm_slot(struct obj *o, uint64_t cred, const struct timespec *ctime)
{
	for (int i = 0; i < OBJ_PERMS; i++) {
		struct perm *p = &o->perms[i];

		if (p->asked && p->cred == cred && same_time(&p->ctime, ctime))
			return p;
	}
	return NULL;
}

static bool
recall(struct obj *o, uint64_t cred, const struct stat *st, int asked, int *granted)
{
	bool known = false;

	pthread_mutex_lock(&o->lock);
	struct perm *p = perm_slot(o, cred, &st->st_ctim);
	if (p && (asked & ~p->asked) == 0) {
		*granted = asked & p->granted;
		known = true;
	}
	pthread_mutex_unlock(&o->lock);
	return known;
}

static void
keep(struct obj *o, uint64_t cred, const struct stat *st, int asked, int granted)
{
	pthread_mutex_lock(&o->lock);
	struct perm *p = perm_slot(o, cred, &st->st_ctim);
	if (!p) {
		p = &o->perms[o->perm_hand++ % OBJ_PERMS];
		*p = (struct perm){.cred = cred, .ctime = st->st_ctim};
	}
	p->granted = (uint8_t)((p->granted & ~asked) | granted);
	p->asked |= (uint8_t)asked;
	pthread_mutex_unlock(&o->lock);
}

static bool
consults_acl(const struct cred *c, const struct stat *st)
{
	return c->uid != st->st_uid && (st->st_mode & S_IRWXG);
}

static bool
check_may_sleep(const struct obj *o, const struct cred *c, const struct stat *st)
{
	return !o->ex->fs.local ||
	       (consults_acl(c, st) && !__atomic_load_n(&o->perm_warm, __ATOMIC_RELAXED));
}

int
vfs_access(const struct vfs_ctx *ctx, struct obj *o, const struct stat *st, int asked, int *granted)
{
	const struct cred *c = ctx->cred;
	struct timespec now;
	bool passing = false;
	int error;

	asked &= R_OK | W_OK | X_OK;
	*granted = 0;
	if (!asked || recall(o, c->hash, st, asked, granted))
		return 0;
	if (!ctx->may_sleep && check_may_sleep(o, c, st))
		return ESLEEP;
	vfs_now(&now);
	error = ident_begin(ctx->vfs->ident, c);
	if (error)
		return error == EPERM ? EACCES : error;
	error = ask_all(ctx->vfs->kernel, o, asked, granted, &passing);
	ident_end(ctx->vfs->ident);
	if (error)
		return error;
	if (consults_acl(c, st))
		__atomic_store_n(&o->perm_warm, true, __ATOMIC_RELAXED);
	if (!passing && vfs_calm(&now, &(struct stat){.st_ctim = st->st_ctim}))
		keep(o, c->hash, st, asked, *granted);
	return 0;
}

int
vfs_need(const struct vfs_ctx *ctx, struct obj *o, const struct stat *st, int needed)
{
	int granted, error = vfs_access(ctx, o, st, needed, &granted);

	return error ? error : granted == needed ? 0 : EACCES;
}

/* ---- the rest ---- */

/* Does the link's text lie in the inode, which is in memory? */
static bool
link_is_near(const struct obj *o, const struct stat *st)
{
	switch (o->ex->fs.type) {
	case TMPFS_MAGIC:
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
		return st->st_size < FAST_LINK && st->st_blocks == 0;
	}
	return false;
}

int
vfs_readlink(const struct vfs_ctx *ctx, struct obj *o, char *buf, size_t size, size_t *len)
{
	struct stat st;

	if (!S_ISLNK(o->type))
		return EINVAL;
	int error = vfs_getattr(ctx, o, &st);
	if (error)
		return error;
	if (!ctx->may_sleep && !link_is_near(o, &st))
		return ESLEEP;
	ssize_t n = readlinkat(o->fd, "", buf, size);
	if (n < 0)
		return errno == ENOENT ? ESTALE : errno;
	*len = (size_t)n;
	return 0;
}

int
vfs_born(const struct obj *o, uint64_t *ns)
{
	struct statx sx;

	if (statx(o->fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) != 0)
		return errno;
	if (!(sx.stx_mask & STATX_BTIME) || sx.stx_btime.tv_sec < 0)
		return ENOTSUP;
	*ns = (uint64_t)sx.stx_btime.tv_sec * 1000000000u + sx.stx_btime.tv_nsec;
	return 0;
}

int
vfs_statfs(const struct vfs_ctx *ctx, struct obj *o, struct statvfs *sv)
{
	if (!ctx->may_sleep) /* btrfs takes its time */
		return ESLEEP;
	return fstatvfs(o->fd, sv) == 0 ? 0 : errno;
}

/* The most names a file can have, where the file system has a limit that is known here. */
static uint32_t
link_max(long type)
{
	switch (type) {
	case EXT4_SUPER_MAGIC:
		return 65000;
	case BTRFS_SUPER_MAGIC:
		return 65535;
	case MSDOS_SUPER_MAGIC:
		return 1;
	}
	return 0x7fffffff;
}

int
vfs_limits(const struct vfs_ctx *ctx, struct obj *o, struct vfs_limits *l)
{
	const struct fs *fs = &o->ex->fs;
	struct statvfs sv;

	*l = (struct vfs_limits){.link_max = link_max(fs->type),
				 .name_max = 255,
				 .no_trunc = true,
				 .chown_restricted = true,
				 .case_insensitive = fs->type == MSDOS_SUPER_MAGIC,
				 .case_preserving = true};
	if (fs->local)
		return 0;
	if (!ctx->may_sleep)
		return ESLEEP;
	if (fstatvfs(o->fd, &sv) != 0)
		return errno;
	if (sv.f_namemax > 0 && sv.f_namemax < 255)
		l->name_max = (uint32_t)sv.f_namemax;
	return 0;
}
