/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From handle to descriptor and back. Kernel handles are a system call each way; serials go through
 * walk.c and the store.
 */
#include "resolve.h"
#include "kernel.h"
#include "khandle.h"
#include "log.h"
#include "resolve_int.h"
#include "stat.h"
#include "store.h"
#include "walk.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIMB_MAX 4096

static uint64_t
get64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

static void
put64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (56 - 8 * i));
}

uint64_t
resolve_serial_of(const struct handle *h)
{
	/* cppcheck-suppress ctunullpointer ; callers have a handle */
	return h->kind == HANDLE_SERIAL ? get64(h->ident) : 0;
}

void
resolve_serial_handle(const struct export *ex, uint64_t serial, uint64_t subvolume,
		      struct handle *out)
{
	memset(out, 0, sizeof *out);
	out->kind = HANDLE_SERIAL;
	out->ilen = ex->fs.btrfs ? 16 : 8;
	put64(out->ident, serial);
	if (ex->fs.btrfs)
		put64(out->ident + 8, subvolume);
	out->export_id = ex->id;
	out->fs_id = ex->fs.id;
}

bool
resolve_is_root(const struct export *ex, const struct stat *st)
{
	return st->st_ino == ex->fs.root_ino && st->st_dev == ex->fs.root_dev;
}

static int
open_root(const struct export *ex, int *fd)
{
	*fd = openat(ex->fs.root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 ? errno : 0;
}

static int
open_kernel(const struct export *ex, const struct handle *h, int *fd)
{
	static struct log_limit limit = {.burst = 1};
	struct stat st;
	int rc;

	if (!ex->fs.khandle)
		return ESTALE;
	rc = khandle_open(ex->fs.handles, h, fd);
	if (rc == EPERM) {
		if (log_may(&limit))
			log_error("%s: CAP_DAC_READ_SEARCH is gone: handles cannot be opened",
				  ex->path);
		return EIO;
	}
	/* removed, but still open somewhere: to a client it is gone */
	if (rc == 0 && ex->fs.local && fstat(*fd, &st) == 0 && st.st_nlink == 0) {
		close(*fd);
		*fd = -1;
		rc = ESTALE;
	}
	return rc;
}

int
resolve_open(const struct resolve *r, const struct export *ex, const struct handle *h, int *fd)
{
	int rc = ESTALE;

	*fd = -1;
	if (h->fs_id != ex->fs.id && (!ex->fs.id_old || h->fs_id != ex->fs.id_old))
		rc = ESTALE; /* another file system stands there now */
	else if (h->kind == HANDLE_KERNEL)
		rc = open_kernel(ex, h, fd);
	else if (h->ilen >= 8 && resolve_serial_of(h) == 0)
		rc = open_root(ex, fd);
	else if (h->ilen >= 8 && r->store)
		rc = walk_open(r, ex, resolve_serial_of(h), fd);
	if (rc == ESTALE)
		stat_inc(ST_STALE_HANDLES);
	return rc;
}

static bool
no_name(const char *name, size_t n)
{
	return !name || n == 0 || (n == 1 && name[0] == '.') ||
	       (n == 2 && name[0] == '.' && name[1] == '.');
}

/* A kernel handle was got, or not (rc): completes it and notes where it was found. */
static int
named(const struct resolve *r, const struct export *ex, int rc, uint64_t ino, uint64_t dir_ino,
      const char *name, size_t namelen, struct handle *out)
{
	if (rc) {
		out->ilen = 0;
		return rc == EOVERFLOW || rc == EOPNOTSUPP ? EIO : rc;
	}
	out->export_id = ex->id;
	out->fs_id = ex->fs.id;
	if (r->store && dir_ino && !no_name(name, namelen))
		store_note(r->store, ex->fs.id, ino, dir_ino, name, namelen);
	return 0;
}

static int
name_kernel(const struct resolve *r, const struct export *ex, int fd, const struct stat *st,
	    uint64_t dir_ino, const char *name, size_t namelen, struct handle *out)
{
	int rc;

	memset(out, 0, sizeof *out);
	rc = khandle_get(fd, out);
	return named(r, ex, rc, st->st_ino, dir_ino, name, namelen, out);
}

int
resolve_at(const struct resolve *r, const struct export *ex, int dirfd, uint64_t dir_ino,
	   const char *name, uint64_t ino, struct handle *out)
{
	int rc;

	memset(out, 0, sizeof *out);
	if (!ex->fs.khandle || !ex->fs.confined)
		return EOPNOTSUPP;
	rc = khandle_get_at(dirfd, name, out);
	return named(r, ex, rc, ino, dir_ino, name, strlen(name), out);
}

int
resolve_row(const struct export *ex, int fd, const struct stat *st, uint64_t parent,
	    const char *name, size_t namelen, struct store_row *row, uint64_t *subvolume)
{
	if (namelen > STORE_NAME_MAX || memchr(name, '/', namelen) || memchr(name, '\0', namelen))
		return EINVAL;
	memset(row, 0, sizeof *row);
	row->inst = ex->fs.inst;
	row->parent = parent;
	row->namelen = (uint16_t)namelen;
	memcpy(row->name, name, namelen);
	return walk_ident(ex, fd, st, parent, name, namelen, &row->id, subvolume);
}

static int
name_serial(const struct resolve *r, const struct export *ex, int fd, const struct stat *st,
	    const struct handle *dir, const char *name, size_t namelen, struct handle *out)
{
	struct store_ident id;
	struct store_row row;
	uint64_t subvolume = 0;
	int rc;

	if (no_name(name, namelen) || !dir || dir->kind != HANDLE_SERIAL) {
		rc = walk_serial(r, ex, fd, &row.serial);
		if (rc == 0 && ex->fs.btrfs)
			rc = walk_ident(ex, fd, st, 0, "", 0, &id, &subvolume);
	} else {
		rc = resolve_row(ex, fd, st, resolve_serial_of(dir), name, namelen, &row,
				 &subvolume);
		if (rc == 0)
			rc = store_issue(r->store, &row, 1);
	}
	if (rc == 0)
		resolve_serial_handle(ex, row.serial, subvolume, out);
	return rc;
}

int
resolve_name(const struct resolve *r, const struct export *ex, int fd, const struct stat *st,
	     const struct handle *dir, uint64_t dir_ino, const char *name, size_t namelen,
	     bool may_sleep, struct handle *out)
{
	memset(out, 0, sizeof *out);
	if (resolve_is_root(ex, st))
		return handle_parse(r->key, &ex->root, out);
	if (ex->fs.khandle)
		return name_kernel(r, ex, fd, st, dir_ino, name, namelen, out);
	if (!may_sleep)
		return EAGAIN;
	return name_serial(r, ex, fd, st, dir, name, namelen, out);
}

/* What a group of names needs until its serials are there. */
struct group {
	struct store_row *rows;
	uint64_t *subvolume;
	size_t *index; /* of rows[k] in out */
	size_t n;
};

static int
finish_group(const struct resolve *r, const struct export *ex, struct group *g, struct handle *out)
{
	int rc = store_issue(r->store, g->rows, g->n);

	for (size_t k = 0; rc == 0 && k < g->n; k++)
		resolve_serial_handle(ex, g->rows[k].serial, g->subvolume[k], &out[g->index[k]]);
	return rc;
}

static int
names_serial(const struct resolve *r, const struct export *ex, const struct handle *dir, size_t n,
	     const int *fds, const struct stat *st, const char *const *names, struct handle *out)
{
	struct group g = {calloc(n, sizeof *g.rows), calloc(n, sizeof *g.subvolume),
			  calloc(n, sizeof *g.index), 0};
	int rc = g.rows && g.subvolume && g.index ? 0 : ENOMEM;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		size_t len = fds[i] < 0 ? 0 : strlen(names[i]);

		if (fds[i] < 0)
			continue;
		if (no_name(names[i], len) || resolve_is_root(ex, &st[i]) ||
		    dir->kind != HANDLE_SERIAL) {
			if (resolve_name(r, ex, fds[i], &st[i], dir, 0, names[i], len, true,
					 &out[i]))
				out[i].ilen = 0;
		} else if (resolve_row(ex, fds[i], &st[i], resolve_serial_of(dir), names[i], len,
				       &g.rows[g.n], &g.subvolume[g.n]) == 0) {
			g.index[g.n++] = i;
		}
	}
	if (rc == 0)
		rc = finish_group(r, ex, &g, out);
	free(g.rows);
	free(g.subvolume);
	free(g.index);
	return rc;
}

int
resolve_names(const struct resolve *r, const struct export *ex, const struct handle *dir,
	      uint64_t dir_ino, size_t n, const int *fds, const struct stat *st,
	      const char *const *names, struct handle *out)
{
	if (n == 0)
		return 0;
	memset(out, 0, n * sizeof *out);
	if (!ex->fs.khandle)
		return names_serial(r, ex, dir, n, fds, st, names, out);
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0 && resolve_name(r, ex, fds[i], &st[i], dir, dir_ino, names[i],
						strlen(names[i]), true, &out[i]))
			out[i].ilen = 0;
	return 0;
}

/* One step up, within the mount. */
static int
step_up(int dirfd)
{
	const uint64_t how = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
	int fd = k_openat2(dirfd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC, 0, how);

	if (fd < 0 && errno == ENOSYS)
		fd = openat(dirfd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd;
}

/*
 * Does the way up from here meet the root? Asked only without a mount of our own: there the kernel
 * itself refuses ".." outside of the mount's root. The top of everything is where ".." leads
 * nowhere new.
 */
static int
meets_root(const struct export *ex, int from)
{
	struct stat st, last = {0};
	int fd = fcntl(from, F_DUPFD_CLOEXEC, 0), up, rc = ESTALE;

	for (int n = 0; fd >= 0 && n < CLIMB_MAX; n++) {
		if (fstat(fd, &st) < 0 || (st.st_ino == last.st_ino && st.st_dev == last.st_dev))
			break;
		if (resolve_is_root(ex, &st)) {
			rc = 0;
			break;
		}
		last = st;
		up = step_up(fd);
		close(fd);
		fd = up;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

int
resolve_parent(const struct resolve *r, const struct export *ex, int dirfd, int *fd)
{
	struct stat st;
	int rc;

	(void)r;
	*fd = -1;
	if (fstat(dirfd, &st) < 0)
		return errno;
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	if (resolve_is_root(ex, &st))
		return open_root(ex, fd);
	*fd = step_up(dirfd);
	if (*fd < 0)
		return errno == ENOENT || errno == EXDEV ? ESTALE : errno;
	rc = ex->fs.confined ? 0 : meets_root(ex, *fd);
	if (rc) {
		close(*fd);
		*fd = -1;
	}
	return rc;
}

struct sweep {
	const struct resolve *r;
	const struct export_table *table;
};

static bool
row_alive(void *arg, const struct store_row *row)
{
	const struct sweep *s = arg;

	for (size_t i = 0; i < s->table->n; i++)
		if (s->table->v[i]->ns == row->id.fs_id)
			return walk_alive(s->r, s->table->v[i], row->serial);
	return true;
}

size_t
resolve_sweep(const struct resolve *r, const struct export_table *table, size_t max)
{
	struct sweep s = {r, table};

	return r->store ? store_sweep(r->store, row_alive, &s, max) : 0;
}

/* "inode 12, directory": what is there now. */
static void
describe_object(const struct resolve *r, const struct export *ex, const struct handle *h,
		char *text, size_t size, uint64_t *ino)
{
	struct stat st;
	int fd, rc = resolve_open(r, ex, h, &fd);

	*ino = 0;
	if (rc) {
		snprintf(text, size, "not found: %s", strerror(rc));
		return;
	}
	if (fstat(fd, &st) == 0) {
		*ino = st.st_ino;
		snprintf(text, size, "inode %llu, %s", (unsigned long long)st.st_ino,
			 S_ISDIR(st.st_mode)   ? "directory"
			 : S_ISREG(st.st_mode) ? "file"
			 : S_ISLNK(st.st_mode) ? "symbolic link"
					       : "special file");
	} else {
		snprintf(text, size, "cannot be examined: %s", strerror(errno));
	}
	close(fd);
}

/* Where the store saw it last. False: it never did. */
static bool
describe_place(const struct resolve *r, const struct export *ex, const struct handle *h,
	       uint64_t ino, char *text, size_t size)
{
	struct store_row row;
	char name[512];
	int rc = ENOENT;

	if (r->store && h->kind == HANDLE_SERIAL)
		rc = store_find(r->store, ex->ns, resolve_serial_of(h), &row);
	else if (r->store && ino)
		rc = store_noted(r->store, ex->fs.id, ino, &row);
	if (rc)
		return false;
	log_text(name, sizeof name, row.name, row.namelen);
	snprintf(text, size, "last seen as \"%s\" in directory %s %llu", name,
		 h->kind == HANDLE_SERIAL ? "serial" : "inode", (unsigned long long)row.parent);
	return true;
}

int
resolve_describe(const struct resolve *r, const struct export_table *table, const nfs_fh3 *fh,
		 char *text, size_t size)
{
	struct handle h;
	struct export *ex;
	char object[256], place[768] = "", kind[64];
	uint64_t ino;

	if (handle_parse(r->key, fh, &h)) {
		snprintf(text, size, "not a handle of this server (or sealed with another key)");
		return EBADF;
	}
	ex = export_by_id(table, h.export_id);
	if (!ex) {
		snprintf(text, size, "export %08x, which is not served now", h.export_id);
		return ESTALE;
	}
	describe_object(r, ex, &h, object, sizeof object, &ino);
	if (h.kind == HANDLE_SERIAL)
		snprintf(kind, sizeof kind, "serial %llu",
			 (unsigned long long)resolve_serial_of(&h));
	else
		snprintf(kind, sizeof kind, "kernel handle of type %#x", h.ktype);
	if (h.kind == HANDLE_SERIAL && resolve_serial_of(&h) == 0)
		snprintf(place, sizeof place, "its root");
	else
		describe_place(r, ex, &h, ino, place, sizeof place);
	snprintf(text, size, "export %s, file system %08x, %s: %s%s%s", ex->path, h.fs_id, kind,
		 object, *place ? ", " : "", place);
	return 0;
}
