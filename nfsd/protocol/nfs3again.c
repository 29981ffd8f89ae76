/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call that had begun when the server died comes again (c->after_crash, call.h), and whether it
 * was carried out is not known. Judged here is by what the file system shows:
 *
 *	SETATTR		the guard fails, the object has changed since, all is as was asked
 *	CREATE, MKDIR,	the name is taken, by an object of that type, born after the call began
 *	SYMLINK, MKNOD	and before this server did (but exclusive, which has its own proof)
 *	REMOVE, RMDIR	the name is gone, the directory has changed since; or the name leads to
 *			what was born after the call began, so somebody has made it anew
 *	RENAME		the old name is gone or made anew, what the new one leads to has
 *			changed since
 *	LINK		the name leads to the object, which has changed since
 *
 * What is shown so is success. It may not be complete: what was made may lack attributes that are
 * set after the making, and nothing need have reached the disk. So both follow before the reply.
 * Without proof the call is carried out, or fails, as any other: a second maker of a file must not
 * be told that it is his, and what was made after a removal must not be removed.
 *
 * Limits: a file system that stamps no births, or not the ctime of what is renamed, shows nothing,
 * and one that rounds to seconds takes what happened up to a second before the call for its work.
 */
#include <errno.h>

#include "nfs3mod.h"
#include "sync.h"

#define SECOND 1000000000u
#define TICK 20000000u /* more than the clock may lag that the intent was stamped with */
#define SPECIAL (S_ISUID | S_ISGID | S_ISVTX)

/* ---- times ---- */

static uint64_t
whole_seconds(uint64_t ns)
{
	return ns - ns % SECOND;
}

static bool
changed_since(const struct call *c, const struct stat *st)
{
	if (st->st_ctim.tv_sec < 0)
		return false;
	return (uint64_t)st->st_ctim.tv_sec * SECOND + (uint64_t)st->st_ctim.tv_nsec >=
	       whole_seconds(c->intent_ns);
}

static bool
born_between(const struct call *c, const struct obj *o)
{
	uint64_t born;

	return vfs_born(o, &born) == 0 && born >= whole_seconds(c->intent_ns) &&
	       born <= c->engine->since_ns;
}

static int
look(struct call *c, struct obj *dir, const filename3 *name, struct obj **o, struct stat *st)
{
	struct vfs_ctx ctx = call_ctx(c);

	return vfs_lookup(&ctx, dir, name->s, name->len, o, st);
}

static void
put(const struct call *c, struct obj *o)
{
	obj_put(c->engine->vfs->files, o);
}

bool
nfs3_again_anew(struct call *c, const filename3 *name)
{
	struct obj *o;
	struct stat st;
	uint64_t born;

	if (!c->after_crash || look(c, c->obj[0], name, &o, &st) != 0)
		return false;
	bool anew = vfs_born(o, &born) == 0 && born > c->intent_ns + TICK;
	put(c, o);
	return anew;
}

/* ---- attributes ---- */

static bool
is_set(const struct vmod_attrs *a, const struct stat *st)
{
	return (!a->set_mode || (st->st_mode & 07777) == a->mode) &&
	       (!a->set_uid || st->st_uid == a->uid) && (!a->set_gid || st->st_gid == a->gid) &&
	       (!a->set_size || (uint64_t)st->st_size == a->size) &&
	       (a->set_atime != TIME_CLIENT || st->st_atim.tv_sec == a->atime.tv_sec) &&
	       (a->set_mtime != TIME_CLIENT || st->st_mtim.tv_sec == a->mtime.tv_sec);
}

int
nfs3_again_set(struct call *c, int e, const struct vmod_attrs *a)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct stat st;

	if (e != ENOTSYNC || !c->after_crash || vfs_getattr(&ctx, c->obj[0], &st) != 0 ||
	    !changed_since(c, &st) || !is_set(a, &st))
		return e;
	return sync_verb(&ctx, SYNC_SETATTR, c->obj[0], NULL, NULL);
}

/* ---- what was made ---- */

/* What a creation sets after the making, as far as it is not there. */
static struct vmod_attrs
missing(const struct vmod_attrs *a, const struct stat *st)
{
	mode_t special = a->set_mode && !S_ISLNK(st->st_mode) ? a->mode & SPECIAL : 0;

	return (struct vmod_attrs){
	    .set_mode = (special & ~st->st_mode) != 0,
	    .mode = (st->st_mode & 07777) | special,
	    .set_uid = a->set_uid && a->uid != st->st_uid,
	    .uid = a->uid,
	    .set_gid = a->set_gid && a->gid != st->st_gid,
	    .gid = a->gid,
	    /* else somebody has written already */
	    .set_size = S_ISREG(st->st_mode) && a->set_size && a->size > 0 && st->st_size == 0,
	    .size = a->size,
	    .set_atime = a->set_atime == TIME_CLIENT && a->atime.tv_sec != st->st_atim.tv_sec
			     ? TIME_CLIENT
			     : TIME_KEEP,
	    .atime = a->atime,
	    .set_mtime = a->set_mtime == TIME_CLIENT && a->mtime.tv_sec != st->st_mtim.tv_sec
			     ? TIME_CLIENT
			     : TIME_KEEP,
	    .mtime = a->mtime,
	};
}

/* The owner apart: who may not give away is not refused the creation. */
static int
complete(const struct vfs_ctx *ctx, struct vmod_made *m, const struct vmod_attrs *asked)
{
	struct vmod_attrs rest = missing(asked, &m->st), owner = {0};
	struct vmod_wcc w;
	int e = 0;

	if (rest.set_uid || rest.set_gid) {
		owner = (struct vmod_attrs){.set_uid = rest.set_uid,
					    .uid = rest.uid,
					    .set_gid = rest.set_gid,
					    .gid = rest.gid};
		e = vmod_setattr(ctx, m->obj, &owner, NULL, &w);
		if (e == EPERM && ctx->cred->uid != 0)
			e = 0;
		if (e == 0)
			e = vfs_getattr(ctx, m->obj, &m->st);
		rest = missing(asked, &m->st); /* a new owner takes bits of the mode away */
	}
	rest.set_uid = rest.set_gid = false;
	if (e == 0 && (rest.set_mode || rest.set_size || rest.set_atime == TIME_CLIENT ||
		       rest.set_mtime == TIME_CLIENT))
		e = vmod_setattr(ctx, m->obj, &rest, NULL, &w);
	return e ? e : vfs_getattr(ctx, m->obj, &m->st);
}

int
nfs3_again_made(struct call *c, int e, const filename3 *name, mode_t type,
		const struct vmod_attrs *a, struct vmod_made *m)
{
	static const enum sync_verb verbs[] = {
	    [S_IFREG >> 12] = SYNC_CREATE,  [S_IFDIR >> 12] = SYNC_MKDIR,
	    [S_IFLNK >> 12] = SYNC_SYMLINK, [S_IFIFO >> 12] = SYNC_MKNOD,
	    [S_IFSOCK >> 12] = SYNC_MKNOD,  [S_IFCHR >> 12] = SYNC_MKNOD,
	    [S_IFBLK >> 12] = SYNC_MKNOD};
	struct vfs_ctx ctx = call_ctx(c);

	if (e != EEXIST || !c->after_crash || look(c, c->obj[0], name, &m->obj, &m->st) != 0)
		return e;
	if (m->obj->type == type && born_between(c, m->obj)) {
		e = complete(&ctx, m, a);
		if (e == 0)
			e = sync_verb(&ctx, verbs[type >> 12], m->obj, c->obj[0], NULL);
	}
	if (e != 0) {
		put(c, m->obj);
		m->obj = NULL;
	}
	return e;
}

/* ---- names that went, and came ---- */

int
nfs3_again_removed(struct call *c, int e)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct stat st;

	if (e != ENOENT || !c->after_crash || vfs_getattr(&ctx, c->obj[0], &st) != 0 ||
	    !changed_since(c, &st))
		return e;
	return sync_verb(&ctx, SYNC_REMOVE, NULL, c->obj[0], NULL);
}

int
nfs3_again_renamed(struct call *c, int e, const filename3 *to)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct obj *o, *dir2 = c->obj[0] == c->obj[1] ? NULL : c->obj[0];
	struct stat st;

	if (e != ENOENT || !c->after_crash || look(c, c->obj[1], to, &o, &st) != 0)
		return e;
	if (changed_since(c, &st))
		e = sync_verb(&ctx, dir2 && S_ISDIR(o->type) ? SYNC_RENAME_DIR : SYNC_RENAME, o,
			      c->obj[1], dir2);
	put(c, o);
	return e;
}

int
nfs3_again_linked(struct call *c, int e, const filename3 *name)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct obj *o;
	struct stat st;

	if (e != EEXIST || !c->after_crash || look(c, c->obj[1], name, &o, &st) != 0)
		return e;
	if (o == c->obj[0] && changed_since(c, &st))
		e = sync_verb(&ctx, SYNC_LINK, o, c->obj[1], NULL);
	put(c, o);
	return e;
}
