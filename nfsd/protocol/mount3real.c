/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which path is meant by one with symbolic links in it. The kernel is asked, as the server, what is
 * at the end of the path, and what that is called. It is asked for peers only that may use some
 * export: others could make this server look into places that wake an automounter or hang. This may
 * take long, and happens in a worker. Nothing of what is found is told: it is a key for the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mount3proc.h"
#include "permit.h"
#include "rootdir.h"

enum { DEPTH_MAX = 64 }; /* components that may be missing at the end */

/* Who is not known yet, because a name service is slow, is given the benefit. */
static bool
is_client(struct call *c)
{
	const struct export_client *rule;

	for (size_t i = 0; i < c->table->n; i++) {
		int e = permit_peer(c, c->table->v[i], &rule);

		if (e == 0 || e == EAGAIN)
			return true;
	}
	return false;
}

/* The name of what is at a path, or NULL. */
static const char *
name_of(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	char self[32];
	ssize_t n;

	if (fd < 0)
		return NULL;
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	n = readlink(self, buf, size - 1);
	close(fd);
	if (n <= 0 || buf[0] != '/')
		return NULL;
	buf[n] = '\0';
	return buf;
}

/* The same where all paths are below a directory of this machine. */
static const char *
name_below(const char *rootdir, const char *path, char *buf, size_t size)
{
	char *where = rootdir_real(rootdir, path);
	bool fits = where && strlen(where) < size;

	if (fits)
		strcpy(buf, rootdir_shown(rootdir, where));
	free(where);
	return fits ? buf : NULL;
}

const char *
mount3_real(struct call *c, const char *path)
{
	size_t len = strlen(path), n;
	char head[MNTPATHLEN + 1], found[PATH_MAX], *out;
	const char *name = NULL;

	if (len > MNTPATHLEN || !is_client(c))
		return NULL;
	memcpy(head, path, len + 1);
	for (int i = 0; i < DEPTH_MAX && len > 1; i++) {
		name = c->table->rootdir ? name_below(c->table->rootdir, head, found, sizeof found)
					 : name_of(head, found, sizeof found);
		if (name)
			break;
		while (head[--len] != '/')
			;
		head[len] = '\0';
	}
	if (!name || strncmp(name, head, len + 1) == 0)
		return NULL;
	if (strlen(name) + strlen(path + len) >= MNTPATHLEN)
		return NULL;
	out = arena_alloc(&c->arena, strlen(name) + strlen(path + len) + 1);
	if (!out)
		return NULL;
	n = strlen(name);
	memcpy(out, name, n);
	strcpy(out + n, path + len);
	return out;
}
