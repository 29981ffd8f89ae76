/* SPDX-License-Identifier: BSD-2-Clause */
#include "rootdir.h"
#include "kernel.h"
#include "paths.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of an open file, by the kernel. */
static char *
path_of(int fd)
{
	char link[40], path[PATH_MAX + 1];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return NULL;
	path[n] = '\0';
	return strdup(path);
}

/* What is opened can be elsewhere when it is moved meanwhile: then it is not there. */
static char *
if_below(const char *rootdir, char *where)
{
	if (where && path_is_below(where, rootdir))
		return where;
	free(where);
	errno = ENOENT;
	return NULL;
}

/* Before Linux 5.6: absolute symbolic links lead out, and what they lead to is not there. */
static char *
without_openat2(const char *rootdir, const char *path)
{
	char *whole = NULL, *where;

	if (asprintf(&whole, "%s/%s", rootdir, path) < 0)
		return NULL;
	where = realpath(whole, NULL);
	free(whole);
	return where ? if_below(rootdir, where) : NULL;
}

char *
rootdir_real(const char *rootdir, const char *path)
{
	int dir, fd, error;
	char *where = NULL;

	if (!rootdir)
		return realpath(path, NULL);
	dir = open(rootdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	fd = k_openat2(dir, path, O_PATH | O_CLOEXEC, 0, RESOLVE_IN_ROOT);
	error = errno;
	close(dir);
	if (fd < 0 && error == ENOSYS)
		return without_openat2(rootdir, path);
	if (fd >= 0) {
		where = if_below(rootdir, path_of(fd));
		error = errno;
		close(fd);
	}
	errno = error;
	return where;
}

const char *
rootdir_shown(const char *rootdir, const char *where)
{
	const char *shown = rootdir ? where + strlen(rootdir) : where;

	return *shown ? shown : "/";
}

char *
rootdir_where(const char *rootdir, const char *shown)
{
	char *where;

	if (!rootdir)
		return strdup(shown);
	return asprintf(&where, "%s%s", rootdir, shown[1] ? shown : "") < 0 ? NULL : where;
}
