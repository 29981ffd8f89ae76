/* SPDX-License-Identifier: BSD-2-Clause */
#include "follow.h"
#include "khandle.h"
#include "resolve_int.h"
#include "walk.h"
#include <errno.h>
#include <string.h>

static void
look_kernel(const struct export *ex, int fd, struct follow *f)
{
	f->known = khandle_get(fd, &f->handle) == 0;
	f->handle.export_id = ex->id;
	f->handle.fs_id = ex->fs.id;
}

void
follow_look(const struct resolve *r, const struct export *ex, int fd, const struct stat *st,
	    const struct place *at, struct follow *f)
{
	uint64_t subvolume = 0;

	memset(f, 0, sizeof *f);
	if (ex->fs.khandle) {
		look_kernel(ex, fd, f);
		return;
	}
	if (walk_ident(ex, fd, st, resolve_serial_of(at->dir), at->name, at->len, &f->id,
		       &subvolume) != 0 ||
	    store_known(r->store, &f->id, ex->fs.inst, &f->serial) != 0)
		return;
	f->known = true;
	resolve_serial_handle(ex, f->serial, subvolume, &f->handle);
}

int
follow_made(const struct resolve *r, const struct export *ex, int fd, const struct stat *st,
	    const struct place *at, struct handle *out)
{
	struct store_change c = {.step = STORE_MADE};
	uint64_t subvolume = 0;

	if (ex->fs.khandle)
		return resolve_name(r, ex, fd, st, at->dir, at->dir_ino, at->name, at->len, true,
				    out);
	int rc = resolve_row(ex, fd, st, resolve_serial_of(at->dir), at->name, at->len, &c.now,
			     &subvolume);
	if (rc == 0)
		rc = store_follow(r->store, &c, 1);
	if (rc == 0)
		resolve_serial_handle(ex, c.serial, subvolume, out);
	return rc;
}

static void
set_place(struct store_row *row, const struct place *at)
{
	row->parent = resolve_serial_of(at->dir);
	row->namelen = (uint16_t)at->len;
	memcpy(row->name, at->name, at->len);
}

static void
set_removed(struct store_change *c, const struct follow *who, const struct place *at, bool gone)
{
	*c = (struct store_change){.step = gone ? STORE_GONE : STORE_UNLINKED,
				   .serial = who->serial};
	set_place(&c->was, at);
}

void
follow_moved(const struct resolve *r, const struct export *ex, const struct follow *who, int fd,
	     const struct stat *st, const struct place *from, const struct place *to,
	     const struct follow *over, bool over_gone)
{
	struct store_change c[2];
	uint64_t subvolume;
	size_t n = 0;

	if (ex->fs.khandle) {
		if (r->store)
			store_note(r->store, ex->fs.id, st->st_ino, to->dir_ino, to->name, to->len);
		return;
	}
	if (over && over->known)
		set_removed(&c[n++], over, to, over_gone || ex->fs.paths);
	if (who->known) {
		c[n] = (struct store_change){.step = STORE_MOVED, .serial = who->serial};
		if (resolve_row(ex, fd, st, resolve_serial_of(to->dir), to->name, to->len,
				&c[n].now, &subvolume) == 0)
			set_place(&c[n++].was, from);
	}
	(void)store_follow(r->store, c, n);
}

void
follow_linked(const struct resolve *r, const struct export *ex, const struct handle *h, int fd,
	      const struct stat *st, const struct place *at)
{
	struct store_change c = {.step = STORE_LINKED, .serial = resolve_serial_of(h)};
	struct handle other;
	uint64_t subvolume;

	if (ex->fs.khandle || ex->fs.paths) /* a place of its own is an object of its own */
		(void)resolve_name(r, ex, fd, st, at->dir, at->dir_ino, at->name, at->len, true,
				   &other);
	else if (resolve_row(ex, fd, st, resolve_serial_of(at->dir), at->name, at->len, &c.now,
			     &subvolume) == 0)
		(void)store_follow(r->store, &c, 1);
}

void
follow_removed(const struct resolve *r, const struct export *ex, const struct follow *who,
	       const struct place *at, bool gone)
{
	struct store_change c;

	if (ex->fs.khandle || !who->known)
		return;
	set_removed(&c, who, at, gone || ex->fs.paths);
	(void)store_follow(r->store, &c, 1);
}

int
follow_ident(const struct resolve *r, const struct export *ex, int fd, const struct place *at,
	     const struct handle *h, struct store_ident *id)
{
	struct store_row row;

	if (at)
		return walk_ident(ex, fd, NULL, resolve_serial_of(at->dir), at->name, at->len, id,
				  NULL);
	if (!ex->fs.paths)
		return walk_ident(ex, fd, NULL, 0, "", 0, id, NULL);
	int rc = store_find(r->store, ex->ns, resolve_serial_of(h), &row);
	if (rc == 0)
		*id = row.id;
	return rc;
}
