/* SPDX-License-Identifier: BSD-2-Clause */
#include "box.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int box_failed;

void
box_die(const char *file, int line, const char *what)
{
	fprintf(stderr, "\n    %s:%d: cannot go on: %s (%s)\n", file, line, what, strerror(errno));
	_exit(100);
}

static void
box_make(void)
{
	MUST(unshare(CLONE_NEWNS) == 0);
	MUST(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	/* all of /run, so that nothing of the box is seen outside, nor left there */
	MUST(mount("none", "/run", "tmpfs", 0, "mode=755") == 0);
	MUST(mkdir(BOX, 0755) == 0);
	MUST(mount("none", BOX, "tmpfs", 0, "mode=755") == 0);
	umask(0);
}

int
box_run(void (*fn)(void))
{
	int status;

	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		box_failed = 0;
		box_make();
		fn();
		exit(box_failed > 99 ? 99 : box_failed); /* not _exit: a leak checker looks now */
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void
box_command(const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	MUST(n > 0 && (size_t)n < sizeof text);
	if (system(text) != 0)
		box_die(text, 0, "a command failed");
}

void
box_mount(const char *type, const char *name, char *path)
{
	MUST(snprintf(path, 64, "%s/%s", BOX, name) < 64);
	MUST(mkdir(path, 0755) == 0);
	if (strcmp(type, "tmpfs") == 0) {
		MUST(mount("none", path, "tmpfs", 0, "mode=755") == 0);
	} else if (strcmp(type, "overlay") == 0) {
		box_command("mkdir -p %s.lower %s.rw && mount -t tmpfs none %s.rw && mkdir %s.rw/u "
			    "%s.rw/w && mount -t overlay none -o "
			    "lowerdir=%s.lower,upperdir=%s.rw/u,workdir=%s.rw/w %s",
			    path, path, path, path, path, path, path, path, path);
	} else {
		const char *quiet = type[0] == 'e' ? "-q -F -b 4096" : "-q -f";

		if (strcmp(type, "ext4-seconds") == 0) {
			quiet = "-q -F -b 4096 -I 128";
			type = "ext4";
		}
		box_command("truncate -s 400M %s.img && mkfs.%s %s %s.img >/dev/null && mount -t "
			    "%s -o loop %s.img %s",
			    path, type, quiet, path, type, path, path);
	}
	MUST(chmod(path, 0755) == 0);
}

unsigned char
box_pattern(uint64_t at)
{
	return (unsigned char)((at * 2654435761u >> 13) ^ at ^ (at >> 12));
}

void
box_file(const char *path, size_t n, mode_t mode)
{
	unsigned char *p = malloc(n + 1);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	MUST(p && fd >= 0);
	for (size_t i = 0; i < n; i++)
		p[i] = box_pattern(i);
	MUST(write(fd, p, n) == (ssize_t)n && fchmod(fd, mode) == 0 && close(fd) == 0);
	free(p);
}

struct cred
box_cred(uid_t uid, gid_t gid, uint32_t ngroups, const gid_t *groups)
{
	struct cred c = {.uid = uid, .gid = gid, .ngroups = ngroups};

	if (ngroups)
		memcpy(c.groups, groups, ngroups * sizeof *groups);
	cred_seal(&c);
	return c;
}
