/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding the object of a serial. The store says what it is (inode, type, and the file system's own
 *word or the birth time) and where it was seen. Names are hints, identity is checked at the end:
 *whatever is opened is compared with what the serial means, so a wrong object cannot come out.
 *
 * Happy path: the rows up to the root give one path, one openat2 opens it, one comparison confirms
 *it.
 *
 * Failing that, something on the way was renamed. Then, one search at a time (search.c):
 *	1. every remembered (parent, name), from the root down; where a name fails, the directory
 *itself is read for the inode;
 *	2. the whole export, breadth first, up to a bound;
 *	3. if that was not all of it, every directory in which the store remembers anything, up to
 *another. What is found gets a new row, so the next walk is a happy one. What is not found is
 *remembered for half a minute, so that a client that insists on a dead handle does not cost a
 *search each time.
 *
 * Limits. Where neither handles nor birth times last (FUSE), a changed place is believed only
 *within one mount: after a remount the inode number may have been dealt to another. Where inode
 *numbers never last (vfat) the place is the identity.
 */
#include "walk.h"
#include "kernel.h"
#include "khandle.h"
#include "walk_int.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif
#define STEP (O_PATH | O_NOFOLLOW | O_CLOEXEC)
#define GONE_SECONDS 30
#define PATH_STEPS 2048

struct walk *
walk_new(void)
{
	struct walk *w = calloc(1, sizeof *w);

	if (w) {
		pthread_mutex_init(&w->search, NULL);
		pthread_mutex_init(&w->lock, NULL);
	}
	return w;
}

void
walk_free(struct walk *w)
{
	if (!w)
		return;
	pthread_mutex_destroy(&w->search);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static int64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec;
}

bool
walk_is_gone(struct walk *w, uint64_t serial)
{
	struct gone *g = &w->gone[serial % WALK_GONE];
	bool gone;

	pthread_mutex_lock(&w->lock);
	gone = g->serial == serial && now() < g->until;
	pthread_mutex_unlock(&w->lock);
	return gone;
}

void
walk_set_gone(struct walk *w, uint64_t serial)
{
	pthread_mutex_lock(&w->lock);
	w->gone[serial % WALK_GONE] = (struct gone){serial, now() + GONE_SECONDS};
	pthread_mutex_unlock(&w->lock);
}

static bool
mount_of(int fd, uint64_t *id)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) < 0)
		return false;
	*id = x.stx_mnt_id;
	return true;
}

/* One component, which may be neither a link on the way nor another mount. */
static int
step(int dir, const char *name, uint64_t mnt)
{
	uint64_t here;
	int fd = strcmp(name, "..") == 0 ? -1 : openat(dir, name, STEP);

	if (fd >= 0 && (!mount_of(fd, &here) || here != mnt)) {
		close(fd);
		fd = -1;
		errno = EXDEV;
	}
	return fd;
}

/* For kernels without openat2: a descriptor per component. O_PATH with O_NOFOLLOW opens a link as
 * itself, and below it there is nothing. */
static int
beneath_by_steps(int dirfd, const char *path)
{
	char copy[PATH_MAX], *save = NULL;
	uint64_t mnt;
	int fd, next;

	if (strlen(path) >= sizeof copy) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(copy, path);
	fd = openat(dirfd, ".", STEP);
	if (fd < 0 || !mount_of(fd, &mnt))
		return fd;
	for (char *c = strtok_r(copy, "/", &save); c && fd >= 0; c = strtok_r(NULL, "/", &save)) {
		next = step(fd, c, mnt);
		close(fd);
		fd = next;
	}
	return fd;
}

int
walk_beneath(int dirfd, const char *path)
{
	const uint64_t how =
	    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
	int fd = -1;

	for (int tries = 0; tries < 32; tries++) { /* EAGAIN: somebody is renaming on the way */
		fd = k_openat2(dirfd, path, STEP, 0, how);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd < 0 && errno == ENOSYS)
		return beneath_by_steps(dirfd, path);
	return fd;
}

/* The place instead of the inode number. */
static uint64_t
place_hash(uint64_t parent, const char *name, size_t namelen)
{
	static const unsigned char key[crypto_shorthash_siphash24_KEYBYTES] = "parent and name";
	unsigned char buf[8 + STORE_NAME_MAX];
	uint64_t h;

	memcpy(buf, &parent, 8);
	memcpy(buf + 8, name, namelen);
	crypto_shorthash_siphash24((unsigned char *)&h, buf, 8 + namelen, key);
	return h;
}

int
walk_ident(const struct export *ex, int fd, const struct stat *st, uint64_t parent,
	   const char *name, size_t namelen, struct store_ident *id, uint64_t *subvolume)
{
	const struct fs *fs = &ex->fs;
	struct handle kh;
	struct statx x;
	int rc;

	memset(id, 0, sizeof *id);
	id->fs_id = ex->ns;
	if (subvolume)
		*subvolume = 0;
	if (!st || (fs->btime && !fs->lasting)) {
		if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, &x) < 0)
			return errno;
		id->type = x.stx_mode & S_IFMT;
		id->ino = x.stx_ino;
		if (fs->btime && !fs->lasting && x.stx_mask & STATX_BTIME)
			id->btime_ns = x.stx_btime.tv_sec * 1000000000LL + x.stx_btime.tv_nsec;
	} else {
		id->type = st->st_mode & S_IFMT;
		id->ino = st->st_ino;
	}
	if (fs->paths)
		id->ino = place_hash(parent, name, namelen);
	if (!fs->lasting)
		return 0;
	rc = khandle_get(fd, &kh);
	if (rc)
		return rc == EOVERFLOW || rc == EOPNOTSUPP ? EIO : rc;
	id->extra = khandle_hash(&kh);
	if (subvolume)
		*subvolume = khandle_subvolume(&kh);
	return 0;
}

bool
walk_is(const struct export *ex, int fd, const struct store_row *row)
{
	struct store_ident id;

	if (walk_ident(ex, fd, NULL, row->parent, row->name, row->namelen, &id, NULL))
		return false;
	return id.ino == row->id.ino && id.type == row->id.type && id.extra == row->id.extra &&
	       id.btime_ns == row->id.btime_ns;
}

int
walk_issue(const struct resolve *r, const struct export *ex, int fd, uint64_t parent,
	   const char *name, size_t namelen, uint64_t *serial)
{
	struct store_row row;
	int rc;

	if (namelen == 0 || namelen > STORE_NAME_MAX)
		return EINVAL;
	rc = walk_ident(ex, fd, NULL, parent, name, namelen, &row.id, NULL);
	if (rc)
		return rc;
	row.inst = ex->fs.inst;
	row.parent = parent;
	row.namelen = (uint16_t)namelen;
	memcpy(row.name, name, namelen);
	row.name[namelen] = '\0';
	rc = store_issue(r->store, &row, 1);
	*serial = row.serial;
	return rc;
}

/* The path of a serial by latest names, at the end of buf. 0; ESTALE: no such serial; ENAMETOOLONG:
 * no single path. *row: its own row. */
static int
path_of(const struct resolve *r, const struct export *ex, uint64_t serial, char *buf, size_t size,
	char **path, struct store_row *row)
{
	struct store_row up = {0};
	char *p = buf + size - 1;
	int rc;

	row->serial = 0;
	*p = '\0';
	for (int steps = 0; steps < PATH_STEPS; steps++) {
		struct store_row *at = steps == 0 ? row : &up;

		rc = store_find(r->store, ex->ns, serial, at);
		if (rc)
			return rc == ENOENT ? ESTALE : rc;
		if ((size_t)(p - buf) < (size_t)at->namelen + 1)
			return ENAMETOOLONG;
		if (*p)
			*--p = '/';
		p -= at->namelen;
		memcpy(p, at->name, at->namelen);
		serial = at->parent;
		if (serial == 0) {
			*path = p;
			return 0;
		}
	}
	return ENAMETOOLONG; /* or a circle: names of different times */
}

/* Errors that say nothing about the object. */
bool
walk_is_hard(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOMEM || code == EIO || code == EINTR ||
	       code == ENOTCONN || code == EAGAIN;
}

/* *fd -1 with 0: it is not there by that path. */
static int
open_straight(const struct resolve *r, const struct export *ex, uint64_t serial, int *fd)
{
	char buf[PATH_MAX], *path;
	struct store_row row;
	int rc = path_of(r, ex, serial, buf, sizeof buf, &path, &row);

	*fd = -1;
	if (rc == ENAMETOOLONG)
		return 0;
	if (rc) /* its own row, or one above it, is missing */
		return rc == ESTALE && row.serial == serial ? 0 : rc;
	*fd = walk_beneath(ex->fs.root, path);
	if (*fd < 0)
		return walk_is_hard(errno) || errno == EACCES ? errno : 0;
	if (!walk_is(ex, *fd, &row)) {
		close(*fd);
		*fd = -1;
	}
	return 0;
}

static int
open_anyhow(const struct resolve *r, const struct export *ex, uint64_t serial, int *fd,
	    bool *complete)
{
	int rc = open_straight(r, ex, serial, fd);

	*complete = false;
	if (rc || *fd >= 0)
		return rc;
	if (walk_is_gone(ex->walk, serial))
		return ESTALE;
	pthread_mutex_lock(&ex->walk->search);
	/* another may have found it, or not, while this one waited */
	rc = open_straight(r, ex, serial, fd);
	if (rc == 0 && *fd < 0)
		rc = walk_is_gone(ex->walk, serial) ? ESTALE
						    : search_open(r, ex, serial, fd, complete);
	pthread_mutex_unlock(&ex->walk->search);
	return rc;
}

int
walk_open(const struct resolve *r, const struct export *ex, uint64_t serial, int *fd)
{
	bool complete;

	return open_anyhow(r, ex, serial, fd, &complete);
}

/* A rename during a search may hide an object from it: gone is what two whole searches have missed.
 */
bool
walk_alive(const struct resolve *r, const struct export *ex, uint64_t serial)
{
	bool complete;
	int fd, rc;

	for (int tries = 0; tries < 2; tries++) {
		rc = open_anyhow(r, ex, serial, &fd, &complete);
		if (rc == 0)
			close(fd);
		if (rc != ESTALE || !complete)
			return true;
		pthread_mutex_lock(&ex->walk->lock);
		ex->walk->gone[serial % WALK_GONE] = (struct gone){0, 0};
		pthread_mutex_unlock(&ex->walk->lock);
	}
	return false;
}

/* Climbs to the root, or to what is known, and names everything on the way back. */
static int
climb(const struct resolve *r, const struct export *ex, int fd, int depth, uint64_t *serial)
{
	struct store_ident id;
	struct stat st;
	char name[STORE_NAME_MAX + 1];
	uint64_t parent = 0;
	int up, rc;

	if (fstat(fd, &st) < 0)
		return errno;
	*serial = 0;
	if (resolve_is_root(ex, &st))
		return 0;
	rc = walk_ident(ex, fd, &st, 0, "", 0, &id, NULL);
	if (rc || (!ex->fs.paths && store_known(r->store, &id, ex->fs.inst, serial) == 0))
		return rc;
	if (depth == 0)
		return ENAMETOOLONG;
	rc = resolve_parent(r, ex, fd, &up);
	if (rc)
		return rc;
	rc = climb(r, ex, up, depth - 1, &parent);
	if (rc == 0)
		rc = search_name(ex, up, &st, name);
	if (rc == 0)
		rc = walk_issue(r, ex, fd, parent, name, strlen(name), serial);
	close(up);
	return rc;
}

int
walk_serial(const struct resolve *r, const struct export *ex, int fd, uint64_t *serial)
{
	return climb(r, ex, fd, 256, serial);
}
