/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bed.h"

/* ---- the tree: "o", and "into" (when o is a directory, that is what names are made in) ---- */

void
local_must(int rc)
{
	if (rc >= 0)
		return;
	perror("matrix");
	exit(1);
}

static void
fill(const char *dir)
{
	char path[300];

	snprintf(path, sizeof path, "%s/file", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	local_must(fd);
	local_must((int)write(fd, "inside", 6));
	local_must(fchown(fd, OWNER, GROUP));
	close(fd);
	snprintf(path, sizeof path, "%s/sub", dir);
	local_must(mkdir(path, 0755));
}

void
local_plant(const char *base, enum kind kind, const struct modes *m)
{
	char o[300], into[300];

	local_must(mkdir(base, 0755));
	snprintf(o, sizeof o, "%s/o", base);
	snprintf(into, sizeof into, "%s/into", base);
	local_must(mkdir(into, 0755));
	fill(into);
	if (kind == K_FILE) {
		int fd = open(o, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		local_must(fd);
		local_must((int)write(fd, "0123456789", 10));
		close(fd);
	} else if (kind == K_DIR) {
		local_must(mkdir(o, 0755));
		fill(o);
	} else if (kind == K_LINK) {
		local_must(symlink("into/file", o));
	} else {
		local_must(mkfifo(o, 0644));
	}
	local_must(lchown(o, OWNER, GROUP));
	local_must(chown(into, OWNER, GROUP));
	local_must(chmod(into, m->into));
	if (kind != K_LINK)
		local_must(chmod(o, kind == K_DIR ? m->into : m->obj));
}

void
local_uproot(const char *base)
{
	static const char *const names[] = {"file", "sub", "new", NULL};
	static const char *const dirs[] = {"o", "into"};
	char path[300];

	for (int d = 0; d < 2; d++) {
		for (int i = 0; names[i]; i++) {
			snprintf(path, sizeof path, "%s/%s/%s", base, dirs[d], names[i]);
			(void)remove(path);
		}
		snprintf(path, sizeof path, "%s/%s", base, dirs[d]);
		(void)remove(path);
	}
	local_must(rmdir(base));
}

/* Everything of it that can be seen, as text. */
size_t
local_describe(const char *dir, char *text, size_t at, size_t size)
{
	struct dirent **v;
	int n = scandir(dir, &v, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char path[800];
		struct stat st;

		snprintf(path, sizeof path, "%s/%s", dir, v[i]->d_name);
		if (strcmp(v[i]->d_name, ".") != 0 && strcmp(v[i]->d_name, "..") != 0 &&
		    lstat(path, &st) == 0) {
			at += (size_t)snprintf(text + at, size - at, " %s:%o:%u:%u:%ld%s",
					       v[i]->d_name, st.st_mode, st.st_uid, st.st_gid,
					       S_ISDIR(st.st_mode) ? 0 : (long)st.st_size,
					       st.st_mtim.tv_sec == 1000000000 ? ":then" : "");
			if (S_ISDIR(st.st_mode))
				at = local_describe(path, text, at, size);
		}
		free(v[i]);
	}
	free(v);
	return at;
}

/* ---- as a process of that user ---- */

static uint32_t
access_bits(int fd, bool dir)
{
	static const int ask[] = {R_OK, W_OK, X_OK};
	unsigned has = 0;

	for (int i = 0; i < 3; i++)
		if (syscall(SYS_faccessat2, fd, "", ask[i], AT_EMPTY_PATH | AT_EACCESS) == 0)
			has |= (unsigned)ask[i];
	uint32_t bits = has & R_OK ? ACCESS3_READ : 0;
	if (has & X_OK)
		bits |= dir ? ACCESS3_LOOKUP : ACCESS3_EXECUTE;
	if (has & W_OK && !dir)
		bits |= ACCESS3_MODIFY | ACCESS3_EXTEND;
	if (has & W_OK && has & X_OK && dir)
		bits |= ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE;
	return bits;
}

static int
opens(const char *proc, int flags)
{
	int fd = open(proc, flags | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd;
}

/* o and into: O_PATH descriptors. proc: a path to o through the first. 0 or -1 with errno. */
static int
locally(enum op op, int o, int into, const char *proc)
{
	const struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}},
			      then[2] = {{1000000000, 0}, {1000000000, 0}};

	switch (op) {
	case CHMOD:
		return fchmodat(AT_FDCWD, proc, 02700, 0);
	case CHOWN:
		return fchownat(o, "", OTHER, (gid_t)-1, AT_EMPTY_PATH);
	case CHGRP:
		return fchownat(o, "", (uid_t)-1, GROUP, AT_EMPTY_PATH);
	case SIZE:
		return truncate(proc, 3);
	case NOW:
		return utimensat(o, "", now, AT_EMPTY_PATH);
	case THEN:
		return utimensat(o, "", then, AT_EMPTY_PATH);
	case LOOKUP:
		return faccessat(o, "file", F_OK, AT_SYMLINK_NOFOLLOW);
	case READ:
		return opens(proc, O_RDONLY);
	case WRITE: {
		int fd = open(proc, O_WRONLY | O_CLOEXEC);

		return fd < 0 ? -1 : pwrite(fd, "xx", 2, 0) == 2 ? close(fd) : -1;
	}
	case CREATE:
		return openat(o, "new", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0640);
	case UNCHECK:
		return openat(o, "file", O_CREAT | O_PATH | O_CLOEXEC, 0640);
	case EXCL:
		return openat(o, "new", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	case MKDIR:
		return mkdirat(o, "new", 0750);
	case SYMLINK:
		return symlinkat("x", o, "new");
	case FIFO:
		return mknodat(o, "new", S_IFIFO | 0640, 0);
	case DEVICE:
		return mknodat(o, "new", S_IFCHR | 0640, 0x103);
	case REMOVE:
		return unlinkat(o, "file", 0);
	case RMDIR:
		return unlinkat(o, "sub", AT_REMOVEDIR);
	case RENAME:
		return renameat(o, "file", into, "new");
	case LINK:
		return linkat(AT_FDCWD, proc, into, "new", AT_SYMLINK_FOLLOW);
	case READDIR:
	case READPLUS:
		return opens(proc, O_RDONLY | O_DIRECTORY);
	default:
		return 0; /* nobody is refused these */
	}
}

/* Does it on the tree at base, in a child that is the caller for good. */
void
local_try(const char *base, enum op op, enum kind kind, const struct caller *who,
	  struct outcome *out)
{
	fflush(NULL);
	pid_t pid = fork();

	local_must(pid);
	if (pid == 0) {
		char path[300], proc[64];
		gid_t group = who->group;

		snprintf(path, sizeof path, "%s/o", base);
		int o = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		snprintf(path, sizeof path, "%s/into", base);
		int into = open(path, O_PATH | O_CLOEXEC);
		snprintf(proc, sizeof proc, "/proc/self/fd/%d", o);
		local_must(setgroups(group ? 1 : 0, &group));
		local_must(setresgid(who->gid, who->gid, who->gid));
		local_must(setresuid(who->uid, who->uid, who->uid));
		out->access = access_bits(o, kind == K_DIR);
		out->error = locally(op, o, into, proc) < 0 ? errno : 0;
		_exit(0);
	}
	int status;
	local_must(waitpid(pid, &status, 0));
	local_must(status == 0 ? 0 : -1);
	local_describe(base, out->tree, 0, sizeof out->tree);
}
