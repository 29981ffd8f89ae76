/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The local kernel is the yardstick: every verb is done twice, here by the server for a caller, and
 * in an equal directory by a real process of that user. Error and what is there afterwards (names,
 * types, modes, owners, link counts, sizes) must be the same.
 */
#include "modbox.h"
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct actor {
	uid_t uid;
	gid_t gid;
	uint32_t n;
	gid_t groups[2];
} actors[] = {
    {0, 0, 0, {0}},	     {1000, 1000, 0, {0}}, /* owns most */
    {1001, 1001, 1, {2000}},			   /* of the directories' group */
    {1002, 1002, 0, {0}},			   /* nobody in particular */
    {1000, 1000, 1, {2000}},
};

static const struct dir {
	mode_t mode;
	uid_t uid;
	gid_t gid;
} dirs[] = {
    {0755, 1000, 1000}, {0777, 0, 0},	    {01777, 0, 0},	 {02775, 0, 2000},
    {0711, 1000, 2000}, {0700, 1000, 1000}, {03777, 1001, 2000}, {0733, 0, 0},
};

static void
plant_file(const char *dir, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	char path[600];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	MUST(fd >= 0 && write(fd, "0123456789", 10) == 10 && fchown(fd, uid, gid) == 0 &&
	     fchmod(fd, mode) == 0);
	close(fd);
}

static void
plant(const char *dir, const struct dir *d)
{
	char path[600];

	MUST(mkdir(dir, 0700) == 0);
	plant_file(dir, "own", 0640, 1000, 1000);
	plant_file(dir, "root", 0644, 0, 0);
	plant_file(dir, "any", 0666, 1002, 2000);
	plant_file(dir, "suid", 06777, 1000, 2000);
	plant_file(dir, "sgid", 02666, 1001, 2000);
	snprintf(path, sizeof path, "%s/sub", dir);
	MUST(mkdir(path, 0755) == 0 && chown(path, 1000, 1000) == 0);
	snprintf(path, sizeof path, "%s/full", dir);
	MUST(mkdir(path, 0777) == 0 && chown(path, 1001, 1001) == 0);
	plant_file(path, "x", 0644, 1000, 1000);
	MUST(chown(dir, d->uid, d->gid) == 0 && chmod(dir, d->mode) == 0);
}

/* One act: by name in a directory, or on a file of it. */
enum act {
	CREATE,
	EXCL,
	MKDIR,
	SYMLINK,
	FIFO,
	DEVICE,
	REMOVE,
	RMDIR,
	RENAME,
	OVER,
	INTO,
	LINK,
	BY_NAME, /* those before need only the directory's permissions, those behind a handle */
	CHMOD = BY_NAME,
	CHOWN,
	CHGRP,
	SIZE,
	NOW,
	THEN,
	WRITE,
	ACTS
};
static const struct {
	enum act act;
	const char *name;
	unsigned arg;
} things[] = {
    {CREATE, "new", 0644}, {CREATE, "new", 06777}, {CREATE, "own", 0644}, {EXCL, "new", 0},
    {EXCL, "root", 0},	   {MKDIR, "new", 0755},   {MKDIR, "sub", 0755},  {SYMLINK, "new", 0},
    {FIFO, "new", 0622},   {DEVICE, "new", 0600},  {REMOVE, "own", 0},	  {REMOVE, "root", 0},
    {REMOVE, "any", 0},	   {REMOVE, "sub", 0},	   {REMOVE, "none", 0},	  {RMDIR, "sub", 0},
    {RMDIR, "full", 0},	   {RMDIR, "own", 0},	   {RENAME, "own", 0},	  {RENAME, "root", 0},
    {RENAME, "sub", 0},	   {OVER, "own", 0},	   {OVER, "any", 0},	  {INTO, "own", 0},
    {INTO, "sub", 0},	   {LINK, "own", 0},	   {LINK, "root", 0},	  {LINK, "any", 0},
    {LINK, "suid", 0},	   {CHMOD, "own", 0600},   {CHMOD, "own", 06755}, {CHMOD, "root", 0600},
    {CHMOD, "any", 02755}, {CHMOD, "sub", 03777},  {CHOWN, "own", 1001},  {CHOWN, "suid", 1000},
    {CHGRP, "own", 2000},  {CHGRP, "suid", 1000},  {CHGRP, "any", 1001},  {SIZE, "own", 5},
    {SIZE, "root", 5},	   {SIZE, "any", 20},	   {SIZE, "suid", 5},	  {SIZE, "sgid", 5},
    {NOW, "own", 0},	   {NOW, "any", 0},	   {NOW, "root", 0},	  {THEN, "own", 0},
    {THEN, "any", 0},	   {WRITE, "own", 0},	   {WRITE, "root", 0},	  {WRITE, "any", 0},
    {WRITE, "suid", 0},	   {WRITE, "sgid", 0},
};
enum { THINGS = sizeof things / sizeof *things };

/* As the process that it is, in its working directory. */
static int
act_locally(enum act act, const char *n, unsigned arg)
{
	const struct timespec then[2] = {{1000000000, 0}, {1000000000, 0}};
	int r = -1, fd;

	switch (act) {
	case CREATE:
	case EXCL:
		r = open(n, O_CREAT | O_EXCL | O_WRONLY, act == EXCL ? 0600 : arg);
		break;
	case MKDIR:
		r = mkdir(n, arg);
		break;
	case SYMLINK:
		r = symlink("text", n);
		break;
	case FIFO:
		r = mkfifo(n, arg);
		break;
	case DEVICE:
		r = mknod(n, S_IFCHR | arg, makedev(1, 3));
		break;
	case REMOVE:
		r = unlink(n);
		break;
	case RMDIR:
		r = rmdir(n);
		break;
	case RENAME:
		r = rename(n, "new");
		break;
	case OVER:
		r = rename(n, "root");
		break;
	case INTO:
		r = renameat(AT_FDCWD, n, AT_FDCWD, "full/new");
		break;
	case LINK:
		r = link(n, "new");
		break;
	case CHMOD:
		r = chmod(n, arg);
		break;
	case CHOWN:
		r = chown(n, arg, (gid_t)-1);
		break;
	case CHGRP:
		r = chown(n, (uid_t)-1, arg);
		break;
	case SIZE:
		r = truncate(n, arg);
		break;
	case NOW:
		r = utimensat(AT_FDCWD, n, NULL, 0);
		break;
	case THEN:
		r = utimensat(AT_FDCWD, n, then, 0);
		break;
	case WRITE:
		fd = open(n, O_WRONLY);
		r = fd < 0 ? -1 : write(fd, "x", 1) == 1 ? 0 : -1;
		break;
	default:
		break;
	}
	return r < 0 ? errno : 0;
}

/* A process that is this user, and does what it is told. */
static struct {
	pid_t pid;
	int to[2], from[2];
} local;
struct order {
	char dir[64];
	size_t thing;
};

static void
serve_local(const struct actor *a)
{
	struct order o;

	umask(0);
	if (setgroups(a->n, a->groups) != 0 || setresgid(a->gid, a->gid, a->gid) != 0 ||
	    setresuid(a->uid, a->uid, a->uid) != 0)
		_exit(1);
	while (read(local.to[0], &o, sizeof o) == sizeof o) {
		int error = chdir(o.dir) == 0
				? act_locally(things[o.thing].act, things[o.thing].name,
					      things[o.thing].arg)
				: errno;

		if (write(local.from[1], &error, sizeof error) != sizeof error)
			break;
	}
	_exit(0);
}

static void
local_begin(const struct actor *a)
{
	MUST(pipe(local.to) == 0 && pipe(local.from) == 0);
	local.pid = fork();
	MUST(local.pid >= 0);
	if (local.pid == 0) {
		close(local.to[1]);
		serve_local(a);
	}
	close(local.to[0]);
	close(local.from[1]);
}

static void
local_end(void)
{
	close(local.to[1]);
	close(local.from[0]);
	MUST(waitpid(local.pid, NULL, 0) == local.pid);
}

static int
locally(const char *dir, size_t i)
{
	struct order o = {.thing = i};
	int error;

	snprintf(o.dir, sizeof o.dir, "%s", dir);
	MUST(write(local.to[1], &o, sizeof o) == sizeof o);
	MUST(read(local.from[0], &error, sizeof error) == sizeof error);
	return error;
}

static int
set(const struct vfs_ctx *c, struct obj *o, enum act act, unsigned arg)
{
	struct vmod_attrs a = {0};
	struct vmod_wcc w;

	switch (act) {
	case CHMOD:
		a = (struct vmod_attrs){.set_mode = true, .mode = arg};
		break;
	case CHOWN:
		a = (struct vmod_attrs){.set_uid = true, .uid = arg};
		break;
	case CHGRP:
		a = (struct vmod_attrs){.set_gid = true, .gid = arg};
		break;
	case SIZE:
		a = (struct vmod_attrs){.set_size = true, .size = arg};
		break;
	case NOW:
		a = (struct vmod_attrs){.set_atime = TIME_SERVER, .set_mtime = TIME_SERVER};
		break;
	default:
		a = (struct vmod_attrs){.set_atime = TIME_CLIENT,
					.atime = {1000000000, 0},
					.set_mtime = TIME_CLIENT,
					.mtime = {1000000000, 0}};
	}
	return vmod_setattr(c, o, &a, NULL, &w);
}

static int
by_handle(const struct vfs_ctx *c, struct obj *dir, const char *where, size_t i)
{
	char path[600];
	int error;

	snprintf(path, sizeof path, "%s/%s", where, things[i].name);
	struct obj *o = object(&mod, path);
	if (things[i].act == WRITE)
		error = mod_write(c, o, 0, "x", VMOD_UNSTABLE);
	else if (things[i].act == LINK)
		error = mod_link(c, o, dir, "new");
	else
		error = set(c, o, things[i].act, things[i].arg);
	put(&mod, o);
	return error;
}

static int
remotely(const struct vfs_ctx *c, const char *where, size_t i)
{
	struct obj *dir = object(&mod, where), *full;
	const char *n = things[i].name;
	char path[600];
	int error = 0;

	switch (things[i].act) {
	case CREATE:
		error = mod_create(c, dir, n, things[i].arg, NULL);
		break;
	case EXCL:
		error = mod_exclusive(c, dir, n, "12345678", NULL);
		break;
	case MKDIR:
		error = mod_mkdir(c, dir, n, things[i].arg, NULL);
		break;
	case SYMLINK:
		error = mod_symlink(c, dir, n, "text");
		break;
	case FIFO:
	case DEVICE: {
		const struct vmod_attrs a = {.set_mode = true, .mode = things[i].arg};
		struct vmod_made made;
		struct vmod_wcc w;

		error = vmod_mknod(c, dir, n, strlen(n), things[i].act == FIFO ? S_IFIFO : S_IFCHR,
				   1, 3, &a, &made, &w);
		if (!error)
			put(&mod, made.obj);
		break;
	}
	case REMOVE:
		error = mod_remove(c, dir, n);
		break;
	case RMDIR:
		error = mod_rmdir(c, dir, n);
		break;
	case RENAME:
	case OVER:
		error = mod_rename(c, dir, n, dir, things[i].act == RENAME ? "new" : "root");
		break;
	case INTO:
		snprintf(path, sizeof path, "%s/full", where);
		full = object(&mod, path);
		error = mod_rename(c, dir, n, full, "new");
		put(&mod, full);
		break;
	default:
		error = by_handle(c, dir, where, i);
	}
	put(&mod, dir);
	return error;
}

/* Everything that can be seen of a directory, as text. */
static void
describe(const char *dir, char *text, size_t size)
{
	struct dirent **v;
	size_t at = 0;
	int n = scandir(dir, &v, NULL, alphasort);

	MUST(n >= 0);
	for (int i = 0; i < n; i++) {
		char path[900];
		struct stat st;

		snprintf(path, sizeof path, "%s/%s", dir, v[i]->d_name);
		if (strcmp(v[i]->d_name, "..") != 0 && lstat(path, &st) == 0)
			at += (size_t)snprintf(text + at, at < size ? size - at : 0,
					       " %s:%o:%u:%u:%lu:%ld%s", v[i]->d_name, st.st_mode,
					       st.st_uid, st.st_gid,
					       S_ISDIR(st.st_mode) ? 0 : (unsigned long)st.st_nlink,
					       S_ISDIR(st.st_mode) ? 0 : (long)st.st_size,
					       st.st_mtim.tv_sec == 1000000000 ? ":then" : "");
		free(v[i]);
	}
	free(v);
}

/* What NFS gives beyond the local file system: the owner writes whatever the mode, handles need no
 * search permission, and LINK's source none either. */
static bool
comparable(const struct actor *a, const struct dir *d, size_t i)
{
	bool searchable = a->uid == 0 || a->uid == d->uid || (d->mode & 0001);

	return things[i].act < LINK || searchable;
}

static void
compare(const struct actor *a, const struct dir *d, size_t i)
{
	static unsigned serial;
	char theirs[64], ours[64], there[4096] = "", here[4096] = "", path[256];

	snprintf(theirs, sizeof theirs, "l%u", serial);
	snprintf(ours, sizeof ours, "r%u", serial++);
	plant(mod_at(theirs), d);
	plant(mod_at(ours), d);
	struct vfs_ctx c = mod_as_groups(a->uid, a->gid, a->n, a->groups);
	c.async = true; /* it is about permissions */
	int expected = locally(mod_at(theirs), i), error = remotely(&c, ours, i);
	describe(mod_at(theirs), there, sizeof there);
	describe(mod_at(ours), here, sizeof here);
	if (error != expected || strcmp(here, there) != 0)
		fprintf(
		    stderr, "\n    %s by %u(%u) in %o of %u: thing %zu\n    %s (%d)\n    %s (%d)",
		    things[i].name, a->uid, a->n, d->mode, d->uid, i, there, expected, here, error);
	WANT_EQ(error, expected);
	WANT(strcmp(here, there) == 0);
	snprintf(path, sizeof path, "%s/full", mod_at(theirs));
	describe(path, there + strlen(there), sizeof there - strlen(there));
	snprintf(path, sizeof path, "%s/full", mod_at(ours));
	describe(path, here + strlen(here), sizeof here - strlen(here));
	WANT(strcmp(here, there) == 0);
}

static void
matrix(const char *type)
{
	/* every change runs all of it on two, and a third of it on the others */
	size_t step =
	    check_full() || strcmp(type, "tmpfs") == 0 || strcmp(type, "ext4") == 0 ? 1 : 3;

	mod_begin(type);
	for (size_t a = 0; a < sizeof actors / sizeof *actors; a++) {
		local_begin(&actors[a]);
		for (size_t d = 0; d < sizeof dirs / sizeof *dirs; d++)
			for (size_t i = (a + d) % step; i < THINGS; i += step)
				if (comparable(&actors[a], &dirs[d], i))
					compare(&actors[a], &dirs[d], i);
		local_end();
	}
	mod_end();
}
/* For every caller, directory and verb: what a process of that user may, and what comes of it. */
MOD_TYPES(vmod_who, matrix, matrix)
