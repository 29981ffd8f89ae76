/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Listing a directory: entries come from the kernel (getdents64, its offsets as cookies) or from a
 * snapshot (vsnap.c), pass through one place that adds attributes and handles in groups when they
 * are wanted, and go to emit one by one. Nothing is remembered between listings but the snapshots;
 * memory is one buffer and one group, whatever the directory holds.
 *
 * "." and ".." never need a lookup by name: the first is the directory itself, the second its
 * parent by handle, or at the export's root the root again, so that nothing above an export is ever
 * seen.
 */
#include "vdir.h"
#include "names.h"
#include "times.h"
#include "vfsint.h"
#include "vsnap.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUP 32
#define DENTS_MIN 2048 /* more than the longest name's entry */
#define DENTS_MAX 32768
#define DENTS_EACH 64 /* a usual entry's bytes: what is read beyond the page is read in vain */

/* Names gathered to be examined together; the names stay where they were read. */
struct group {
	size_t n, max;
	const char *name[GROUP];
	uint64_t ino[GROUP], cookie[GROUP];
	int fd[GROUP], error[GROUP];
	struct stat st[GROUP];
	struct handle id[GROUP];
};

struct listing {
	const struct vfs_ctx *ctx;
	struct obj *dir;
	struct stat st; /* the directory's */
	int fd;
	bool examine; /* with_attrs, and the caller may search */
	bool calm;    /* a change of the directory would show in its times */
	bool full;    /* emit has had enough */
	size_t hint;
	int (*emit)(void *, const struct vdir_entry *);
	void *arg;
	struct group g;
};

static void
emit(struct listing *l, const struct vdir_entry *e)
{
	if (!l->full)
		l->full = l->emit(l->arg, e) != 0;
}

/* ---- groups ---- */

static void
examine(struct listing *l)
{
	struct group *g = &l->g;

	for (size_t i = 0; i < g->n; i++) {
		g->id[i].ilen = 0;
		g->error[i] = vfs_open_name(l->ctx, l->dir, g->name[i], &g->fd[i], &g->st[i]);
		if (g->error[i])
			g->fd[i] = -1;
	}
	/* without handles the entries are still good: the client looks them up */
	if (resolve_names(l->ctx->vfs->resolve, l->dir->ex, &l->dir->id, l->dir->ino, g->n, g->fd,
			  g->st, g->name, g->id) != 0)
		for (size_t i = 0; i < g->n; i++)
			g->id[i].ilen = 0;
	for (size_t i = 0; i < g->n; i++)
		if (g->fd[i] >= 0)
			close(g->fd[i]);
}

/* The handle that a name of this calm directory was found to have before, by a lookup or a listing.
 */
static bool
recall(const struct listing *l, const char *name, struct handle *id)
{
	const struct vfs *v = l->ctx->vfs;
	nfs_fh3 fh;

	return names_find(files_names(v->files), l->dir->birth, &l->st, name, strlen(name), &fh) &&
	       handle_parse(v->resolve->key, &fh, id) == 0;
}

static void
remember(const struct listing *l, const char *name, const struct handle *id)
{
	const struct vfs *v = l->ctx->vfs;
	nfs_fh3 fh;

	handle_seal(v->resolve->key, id, &fh);
	names_put(files_names(v->files), l->dir->birth, &l->st, name, strlen(name), &fh);
}

/*
 * The same with two system calls for an entry instead of four: attributes and handle by name. They
 * are of one object if no name of the directory has changed meanwhile, which its times tell if they
 * were calm when the listing began. False: not so here, or it did change; nothing is known then.
 * Within a mount of our own only: elsewhere a name could lead into another file system. A handle
 * that is remembered (names.h) saves the second call.
 */
static bool
examine_by_name(struct listing *l)
{
	struct group *g = &l->g;
	struct export *ex = l->dir->ex;
	bool fresh[GROUP] = {false};
	struct stat now;

	if (!l->calm || !ex->fs.local || !ex->fs.khandle || !ex->fs.confined)
		return false;
	for (size_t i = 0; i < g->n; i++) {
		bool there = fstatat(l->fd, g->name[i], &g->st[i], AT_SYMLINK_NOFOLLOW) == 0;

		g->error[i] = there ? 0 : errno;
		g->id[i].ilen = 0;
		if (there && !recall(l, g->name[i], &g->id[i]))
			fresh[i] = resolve_at(l->ctx->vfs->resolve, ex, l->fd, l->dir->ino,
					      g->name[i], g->st[i].st_ino, &g->id[i]) == 0;
	}
	l->calm = fstat(l->fd, &now) == 0 && same_time(&now.st_ctim, &l->st.st_ctim) &&
		  same_time(&now.st_mtim, &l->st.st_mtim);
	for (size_t i = 0; l->calm && i < g->n; i++)
		if (fresh[i])
			remember(l, g->name[i], &g->id[i]);
	return l->calm;
}

static void
flush(struct listing *l)
{
	struct group *g = &l->g;

	if (g->n == 0 || l->full)
		return;
	if (!examine_by_name(l))
		examine(l);
	for (size_t i = 0; i < g->n; i++) {
		struct vdir_entry e = {.name = g->name[i],
				       .namelen = strlen(g->name[i]),
				       .fileid = g->ino[i],
				       .cookie = g->cookie[i]};

		if (g->error[i] == ENOENT)
			continue;
		if (!g->error[i]) {
			e.have_st = true;
			e.st = g->st[i];
			e.fileid = e.st.st_ino;
			e.id = g->id[i];
		}
		emit(l, &e);
	}
	g->n = 0;
}

static void
add(struct listing *l, const char *name, uint64_t ino, uint64_t cookie)
{
	struct group *g = &l->g;

	if (!l->examine) {
		emit(l,
		     &(struct vdir_entry){
			 .name = name, .namelen = strlen(name), .fileid = ino, .cookie = cookie});
		return;
	}
	g->name[g->n] = name;
	g->ino[g->n] = ino;
	g->cookie[g->n++] = cookie;
	if (g->n == g->max)
		flush(l);
}

/* ---- "." and ".." ---- */

static void
fill_parent(struct listing *l, struct vdir_entry *e)
{
	int fd;

	if (vfs_open_parent(l->ctx, l->dir, &fd, &e->st, &e->id) != 0)
		return;
	close(fd);
	e->fileid = e->st.st_ino;
	e->have_st = true;
}

static void
add_dot(struct listing *l, const char *name, uint64_t ino, uint64_t cookie)
{
	struct vdir_entry e = {
	    .name = name, .namelen = strlen(name), .fileid = ino, .cookie = cookie};
	bool up = name[1] == '.', self = !up || resolve_is_root(l->dir->ex, &l->st);

	flush(l);
	if (self)
		e.fileid = l->st.st_ino;
	if (l->examine && self) {
		e.st = l->st;
		e.id = l->dir->id;
		e.have_st = true;
	} else if (l->examine && !l->full) {
		fill_parent(l, &e);
	}
	emit(l, &e);
}

static bool
is_dot(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* ---- the two sources ---- */

static size_t
dents_for(size_t hint)
{
	if (hint == 0 || hint > DENTS_MAX / DENTS_EACH)
		return DENTS_MAX;
	return hint * DENTS_EACH < DENTS_MIN ? DENTS_MIN : hint * DENTS_EACH;
}

static int
list_kernel(struct listing *l, uint64_t cookie, bool *eof)
{
	size_t size = dents_for(l->hint);
	ssize_t n = -1;
	char *buf;

	if (cookie && lseek(l->fd, (off_t)cookie, SEEK_SET) < 0)
		return EINVAL;
	buf = malloc(size);
	if (!buf)
		return ENOMEM;
	while (!l->full && (n = getdents64(l->fd, buf, size)) > 0) {
		for (ssize_t at = 0; at < n && !l->full;) {
			const struct dirent64 *d = (const struct dirent64 *)(buf + at);

			at += d->d_reclen;
			if (is_dot(d->d_name))
				add_dot(l, d->d_name, d->d_ino, (uint64_t)d->d_off);
			else
				add(l, d->d_name, d->d_ino, (uint64_t)d->d_off);
		}
		flush(l); /* its names stand in buf */
	}
	int error = n < 0 && !l->full ? errno : 0;
	*eof = n == 0 && !l->full;
	free(buf);
	return error;
}

/* The inode number of "..", where the root is not asked for. */
static uint64_t
parent_ino(const struct listing *l)
{
	struct stat st;
	int fd;

	if (resolve_is_root(l->dir->ex, &l->st) ||
	    resolve_parent(l->ctx->vfs->resolve, l->dir->ex, l->dir->fd, &fd) != 0)
		return l->st.st_ino;
	bool ok = fstat(fd, &st) == 0;
	close(fd);
	return ok ? st.st_ino : l->st.st_ino;
}

static int
list_snapshots(struct listing *l, uint64_t cookie, bool *eof)
{
	const struct handle_key *key = l->ctx->vfs->resolve->key;
	struct snap *s;
	bool more = true;

	if (cookie < SNAP_DOT)
		add_dot(l, ".", l->st.st_ino, SNAP_DOT);
	if (cookie < SNAP_DOTDOT && !l->full)
		add_dot(l, "..", parent_ino(l), SNAP_DOTDOT);
	while (more && !l->full) {
		int error = snap_get(key, l->dir, l->fd, &l->st, cookie, &s);
		if (error)
			return error;
		for (size_t i = snap_after(s, cookie); i < s->n && !l->full; i++)
			add(l, s->text + s->v[i].text, s->v[i].ino, s->v[i].cookie);
		flush(l); /* its names stand in the snapshot */
		more = s->hi != UINT64_MAX;
		cookie = s->hi - 1;
		snap_put(s);
	}
	*eof = !l->full;
	return 0;
}

/* ---- the verb ---- */

static int
permit(struct listing *l, bool with_attrs)
{
	int granted, error = vfs_look(l->ctx, l->dir, &l->st, &l->calm);

	if (!error)
		error =
		    vfs_access(l->ctx, l->dir, &l->st, R_OK | (with_attrs ? X_OK : 0), &granted);
	if (error)
		return error;
	l->examine = with_attrs && (granted & X_OK);
	return granted & R_OK ? 0 : EACCES;
}

int
vdir_list(const struct vfs_ctx *ctx, struct obj *dir, uint64_t cookie, bool with_attrs,
	  size_t max_entries_hint, int (*emit_fn)(void *, const struct vdir_entry *), void *arg,
	  bool *eof)
{
	struct listing l = {
	    .ctx = ctx, .dir = dir, .emit = emit_fn, .arg = arg, .hint = max_entries_hint};

	*eof = false;
	if (!S_ISDIR(dir->type))
		return ENOTDIR;
	if (!ctx->may_sleep)
		return ESLEEP;
	if (cookie > INT64_MAX)
		return EINVAL;
	l.g.max = max_entries_hint && max_entries_hint < GROUP ? max_entries_hint : GROUP;
	int error = permit(&l, with_attrs);
	if (error)
		return error;
	l.fd = files_reopen(ctx->vfs->files, dir->fd, O_RDONLY | O_DIRECTORY);
	if (l.fd < 0)
		return errno;
	error = dir->ex->fs.own_cookies ? list_kernel(&l, cookie, eof)
					: list_snapshots(&l, cookie, eof);
	close(l.fd);
	return error;
}

void
vdir_free_cache(void)
{
	snap_free_cache();
}
