/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The long way to the object of a serial: see the story in walk.c. A hunt looks for the object
 * itself and, at the same time, for every directory on its remembered ways that is not where it
 * was: one pass over the tree finds whichever comes first, the walk is tried again, and so on.
 */
#include "walk_int.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WANTED 32      /* objects looked for at once */
#define DEPTH 512      /* directories on a remembered way */
#define STEPS 4096     /* rows looked at in one walk */
#define ENTRIES 400000 /* directory entries looked at in one hunt */
#define DIRECTORY 32   /* what opening a directory costs, in entries */
#define ROUNDS 8       /* walks and passes */
#define BTRFS_SUBVOL_INO 256

struct hunt {
	const struct resolve *r;
	const struct export *ex;
	struct store_row *want; /* up to WANTED; NULL: nothing is kept */
	size_t nwant;
	long entries, steps; /* left */
	bool complete, found;
};

/* Directories still to be read, as paths from the root. */
struct queue {
	char **v;
	size_t head, n, cap;
};

static bool
push(struct queue *q, const char *dir, const char *name)
{
	char **v, *path;

	if (q->n == q->cap) {
		size_t cap = q->cap ? q->cap * 2 : 64;

		v = reallocarray(q->v, cap, sizeof *v);
		if (!v)
			return false;
		q->v = v;
		q->cap = cap;
	}
	if (asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", name) < 0)
		return false;
	if (strlen(path) >= PATH_MAX) {
		free(path);
		return false;
	}
	q->v[q->n++] = path;
	return true;
}

static void
queue_free(struct queue *q)
{
	while (q->head < q->n)
		free(q->v[q->head++]);
	free(q->v);
}

static int
root_dup(const struct export *ex)
{
	return openat(ex->fs.root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* May the object be looked for elsewhere than under its names? Not where another may have got its
 * inode number. */
static bool
may_move(const struct export *ex, const struct store_row *row)
{
	return !ex->fs.paths && row->inst == ex->fs.inst;
}

static DIR *
open_listing(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* Inode and type of an entry. A local file system tells them in the listing; elsewhere they may
 * differ from what stat says. */
static bool
entry_facts(const struct export *ex, int dir, const struct dirent *e, uint64_t *ino, uint32_t *type)
{
	struct stat st;

	*ino = e->d_ino;
	*type = (uint32_t)DTTOIF((unsigned)e->d_type);
	if (ex->fs.local && e->d_type != DT_UNKNOWN) {
		/* the root of a subvolume is listed by another number than it has */
		if (ex->fs.btrfs && e->d_type == DT_DIR &&
		    fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			*ino = st.st_ino;
		return true;
	}
	if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return false;
	*ino = st.st_ino;
	*type = st.st_mode & S_IFMT;
	return true;
}

static bool
is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Which of the wanted is this entry? -1: none. */
static int
which(const struct hunt *h, int dir, const char *name, uint64_t ino, uint32_t type)
{
	int found = -1, fd = -1;

	for (size_t i = 0; found < 0 && i < h->nwant; i++) {
		if (h->want[i].id.ino != ino || h->want[i].id.type != type)
			continue;
		if (fd < 0)
			fd = walk_beneath(dir, name);
		if (fd >= 0 && walk_is(h->ex, fd, &h->want[i]))
			found = (int)i;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

/*
 * Reads one directory. 1: one of the wanted is there, as name (STORE_NAME_MAX + 1 bytes). 0: none.
 * q (may be NULL) gets its directories, path being its own. Whatever cannot be looked at makes the
 * hunt incomplete.
 */
static int
read_dir(struct hunt *h, int dir, const char *path, struct queue *q, char *name)
{
	DIR *d = open_listing(dir);
	struct dirent *e;
	uint64_t ino;
	uint32_t type;
	int found = -1;

	if (!d) {
		if (errno != ENOENT)
			h->complete = false;
		return 0;
	}
	while (found < 0 && (e = readdir(d))) {
		if (is_dot(e->d_name))
			continue;
		h->entries -= h->ex->fs.local ? 1 : 16;
		if (h->entries < 0)
			break;
		if (!entry_facts(h->ex, dir, e, &ino, &type))
			continue;
		found = which(h, dir, e->d_name, ino, type);
		if (found >= 0)
			memcpy(name, e->d_name, strlen(e->d_name) + 1);
		else if (q && type == S_IFDIR && !push(q, path, e->d_name))
			h->complete = false;
	}
	closedir(d);
	return found >= 0;
}

static void
want(struct hunt *h, const struct store_row *row)
{
	for (size_t i = 0; i < h->nwant; i++)
		if (h->want[i].serial == row->serial)
			return;
	if (h->want && h->nwant < WANTED && may_move(h->ex, row))
		h->want[h->nwant++] = *row;
}

static int locate(struct hunt *h, uint64_t serial, int depth, int *fd);

/* Under another name in the directory where it was last. */
static int
renamed_in(struct hunt *h, struct store_row *row, int dir)
{
	struct hunt one = {.r = h->r, .ex = h->ex, .want = row, .nwant = 1, .entries = h->entries};
	char name[STORE_NAME_MAX + 1];
	uint64_t serial;
	int fd = -1;

	if (may_move(h->ex, row) && read_dir(&one, dir, "", NULL, name))
		fd = walk_beneath(dir, name);
	h->entries = one.entries;
	if (fd >= 0) /* found is found, even if the store cannot take it now */
		walk_issue(h->r, h->ex, fd, row->parent, name, strlen(name), &serial);
	return fd;
}

/* By its name in that parent, or by any name in it. 0 with *fd -1: not there. */
static int
locate_in(struct hunt *h, struct store_row *row, int depth, int *fd)
{
	int dir, rc = locate(h, row->parent, depth + 1, &dir);

	*fd = -1;
	if (rc)
		return rc == ESTALE ? 0 : rc;
	*fd = walk_beneath(dir, row->name);
	if (*fd < 0 && walk_is_hard(errno))
		rc = errno;
	if (*fd >= 0 && !walk_is(h->ex, *fd, row)) {
		close(*fd);
		*fd = -1;
	}
	if (rc == 0 && *fd < 0)
		*fd = renamed_in(h, row, dir);
	close(dir);
	return rc;
}

/* From the root down, by every remembered place. What is not where it was becomes wanted. */
static int
locate(struct hunt *h, uint64_t serial, int depth, int *fd)
{
	struct store_row *rows;
	size_t n;
	int rc;

	*fd = -1;
	if (serial == 0) {
		*fd = root_dup(h->ex);
		return *fd < 0 ? errno : 0;
	}
	if (depth > DEPTH || h->steps-- <= 0 || (depth && walk_is_gone(h->ex->walk, serial)))
		return ESTALE;
	rows = malloc(STORE_LINKS * sizeof *rows);
	if (!rows)
		return ENOMEM;
	rc = store_links(h->r->store, h->ex->ns, serial, rows, STORE_LINKS, &n);
	if (rc == ENOENT)
		rc = ESTALE;
	for (size_t i = 0; rc == 0 && *fd < 0 && i < n; i++)
		rc = locate_in(h, &rows[i], depth, fd);
	if (rc == 0 && *fd < 0) {
		want(h, &rows[0]);
		rc = ESTALE;
	}
	free(rows);
	return rc;
}

/* Gives rows to a path from the root, component by component, and so a new place to the object at
 * its end. */
static int
adopt(struct hunt *h, const char *path)
{
	char copy[PATH_MAX + STORE_NAME_MAX + 2], *save = NULL;
	uint64_t serial = 0;
	int fd = root_dup(h->ex), next, rc = 0;

	if (fd < 0)
		return errno;
	memcpy(copy, path, strlen(path) + 1);
	for (char *c = strtok_r(copy, "/", &save); rc == 0 && c; c = strtok_r(NULL, "/", &save)) {
		next = walk_beneath(fd, c);
		rc =
		    next < 0 ? errno : walk_issue(h->r, h->ex, next, serial, c, strlen(c), &serial);
		close(fd);
		fd = next;
		if (fd < 0)
			return rc;
	}
	close(fd);
	return rc;
}

/* One directory of the store's memory. */
static int
look_in(void *arg, uint64_t serial)
{
	struct hunt *h = arg;
	struct hunt way = {.r = h->r, .ex = h->ex, .steps = STEPS, .entries = h->entries};
	char name[STORE_NAME_MAX + 1];
	uint64_t child;
	int dir, fd, found = 0;

	h->entries -= DIRECTORY;
	if (h->entries < 0)
		return 1;
	if (locate(&way, serial, 1, &dir))
		return 0;
	if (read_dir(h, dir, "", NULL, name)) {
		fd = walk_beneath(dir, name);
		found =
		    fd >= 0 && walk_issue(h->r, h->ex, fd, serial, name, strlen(name), &child) == 0;
		if (fd >= 0)
			close(fd);
	}
	close(dir);
	h->found = found;
	return found;
}

/* Breadth first: what was moved is rarely deep. 0: something was found. */
static int
look_everywhere(struct hunt *h)
{
	struct queue q = {0};
	char name[STORE_NAME_MAX + 1], path[PATH_MAX + STORE_NAME_MAX + 2];
	int fd, rc = ESTALE;

	h->complete = push(&q, "", ".");
	while (rc == ESTALE && q.head < q.n && h->entries >= 0) {
		char *dir = q.v[q.head++];
		bool top = strcmp(dir, ".") == 0;

		fd = walk_beneath(h->ex->fs.root, dir);
		if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != EXDEV)
			h->complete = false;
		if (fd >= 0 && read_dir(h, fd, top ? "" : dir, &q, name)) {
			snprintf(path, sizeof path, "%s/%s", dir, name);
			rc = adopt(h, top ? name : path);
			if (rc)
				rc = walk_is_hard(rc) || rc == ENOSPC ? rc : ESTALE;
		}
		if (fd >= 0)
			close(fd);
		free(dir);
	}
	if (h->entries < 0)
		h->complete = false;
	queue_free(&q);
	return rc;
}

/* 0: something was found, the walk may get further now. In an export that is too large to be read
 * whole, what clients have used before is looked at too. */
static int
look(struct hunt *h)
{
	int rc;

	h->complete = true;
	if (h->nwant == 0) /* it may not be elsewhere */
		return ESTALE;
	h->entries = ENTRIES;
	rc = look_everywhere(h);
	if (rc != ESTALE || h->complete)
		return rc;
	h->entries = ENTRIES / 4;
	h->found = false;
	store_parents(h->r->store, h->ex->ns, look_in, h);
	return h->found ? 0 : ESTALE;
}

/* Nothing of what was looked for is anywhere. */
static void
give_up(const struct hunt *h, uint64_t serial)
{
	for (size_t i = 0; i < h->nwant; i++)
		walk_set_gone(h->ex->walk, h->want[i].serial);
	walk_set_gone(h->ex->walk, serial);
}

int
search_open(const struct resolve *r, const struct export *ex, uint64_t serial, int *fd,
	    bool *complete)
{
	struct hunt h = {.r = r, .ex = ex, .want = calloc(WANTED, sizeof *h.want)};
	int rc = h.want ? ESTALE : ENOMEM;

	for (int round = 0; rc == ESTALE && round < ROUNDS; round++) {
		h.nwant = 0;
		h.steps = STEPS;
		h.entries = ENTRIES;
		rc = locate(&h, serial, 0, fd);
		if (rc != ESTALE || (rc = look(&h)))
			break;
		rc = ESTALE; /* and once more */
	}
	if (rc == ESTALE)
		give_up(&h, serial);
	*complete = h.complete;
	free(h.want);
	return rc;
}

int
search_name(const struct export *ex, int dir, const struct stat *st, char *name)
{
	DIR *d = open_listing(dir);
	struct dirent *e;
	struct stat at;
	int rc = ESTALE;

	if (!d)
		return errno;
	while (rc == ESTALE && (e = readdir(d))) {
		if (is_dot(e->d_name) || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		if (ex->fs.local && !ex->fs.btrfs && e->d_ino != st->st_ino)
			continue;
		if (fstatat(dir, e->d_name, &at, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
		    at.st_ino == st->st_ino && at.st_dev == st->st_dev) {
			memcpy(name, e->d_name, strlen(e->d_name) + 1);
			rc = 0;
		}
	}
	closedir(d);
	return rc;
}
