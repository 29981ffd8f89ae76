/* SPDX-License-Identifier: BSD-2-Clause */
#include "mountbox.h"
#include "check.h"
#include "lib/scratch.h"
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

static int failures; /* of the child */

void
mountbox_ok(bool fact, const char *text, const char *file, int line)
{
	if (fact)
		return;
	failures++;
	printf("\n    %s:%d: not so: %s", file, line, text);
}

void
mountbox_sh(const char *fmt, ...)
{
	char cmd[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof cmd, fmt, ap);
	va_end(ap);
	if (system(cmd) != 0) {
		failures++;
		printf("\n    failed: %s", cmd);
	}
}

void
mountbox_run(void (*fn)(const char *dir))
{
	char dir[64];
	int status = 0;
	pid_t pid;

	if (geteuid() != 0) {
		printf("skipped: needs root to mount ");
		return;
	}
	scratch_make(dir, "mount");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
			_exit(100);
		fn(dir);
		fflush(stdout);
		_exit(failures ? 1 : 0);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	if (WIFSIGNALED(status))
		printf(" killed by signal %d ", WTERMSIG(status));
	/* its mounts went with it */
	scratch_drop(dir);
}

void
mountbox_mkfs(const char *dir, const char *type, const char *name)
{
	mountbox_sh("mkdir -p %s/%s", dir, name);
	if (strcmp(type, "tmpfs") == 0) {
		mountbox_sh("mount -t tmpfs tmpfs %s/%s", dir, name);
		return;
	}
	mountbox_sh("truncate -s 320M %s/%s.img", dir, name);
	mountbox_sh("PATH=$PATH:/sbin:/usr/sbin; mkfs.%s -q %s/%s.img >/dev/null 2>&1", type, dir,
		    name);
	mountbox_sh("PATH=$PATH:/sbin:/usr/sbin; mount -o loop %s/%s.img %s/%s", dir, name, dir,
		    name);
}

void
side_open(struct side *s, const char *dir, enum side_mode mode)
{
	memset(s, 0, sizeof *s);
	snprintf(s->state, sizeof s->state, "%s/state-%d", dir, (int)mode);
	kernel_probe(&s->kernel, dir);
	if (mode != KERNEL_CLONED)
		s->kernel.mount_clone = false;
	if (mode == SERIALS)
		s->kernel.khandle = false;
	OK(handle_key_load(&s->key, s->state, s->err, sizeof s->err) == 0);
	s->env = (struct export_env){.kernel = &s->kernel, .key = &s->key};
	s->env.store = store_open(s->state, s->err, sizeof s->err);
	OK(s->env.store != NULL);
	s->r = (struct resolve){&s->key, s->env.store};
}

struct export_table *
side_export(struct side *s, const char *options, ...)
{
	struct export_spec spec[8];
	size_t n = 0;
	va_list ap;

	va_start(ap, options);
	for (const char *p; (p = va_arg(ap, const char *));)
		spec[n++] = (struct export_spec){p, options, "*"};
	va_end(ap);
	s->t = export_table_make(&s->env, spec, n, s->err, sizeof s->err);
	return s->t;
}

void
side_restart(struct side *s)
{
	struct export_spec spec[8];
	size_t n = s->t->n;

	for (size_t i = 0; i < n; i++)
		spec[i] = (struct export_spec){strdup(s->t->v[i]->path), NULL, "*"};
	export_table_put(s->t);
	store_close(s->env.store);
	s->env.store = store_open(s->state, s->err, sizeof s->err);
	s->r.store = s->env.store;
	s->t = export_table_make(&s->env, spec, n, s->err, sizeof s->err);
	OK(s->t != NULL);
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)spec[i].path);
}

void
side_close(struct side *s)
{
	export_table_put(s->t);
	store_close(s->env.store);
}

struct handle
side_walk(struct side *s, const struct export *ex, const char *path)
{
	char copy[4096], *save = NULL;
	struct handle h, dir;
	struct stat st, dst;
	int fd, up;

	OK(handle_parse(&s->key, &ex->root, &h) == 0);
	snprintf(copy, sizeof copy, "%s", path);
	for (char *c = strtok_r(copy, "/", &save); c; c = strtok_r(NULL, "/", &save)) {
		dir = h;
		if (resolve_open(&s->r, ex, &dir, &up)) {
			mountbox_ok(false, "the directory opens", __FILE__, __LINE__);
			break;
		}
		fd = openat(up, c, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		OK(fd >= 0 && fstat(fd, &st) == 0 && fstat(up, &dst) == 0);
		OK(resolve_name(&s->r, ex, fd, &st, &dir, dst.st_ino, c, strlen(c), true, &h) == 0);
		close(fd);
		close(up);
	}
	return h;
}

bool
side_opens(struct side *s, const struct export *ex, const struct handle *h, const char *path)
{
	char full[4096];
	struct stat want, got;
	bool same;
	int fd, rc;

	snprintf(full, sizeof full, "%s/%s", ex->path, path);
	rc = resolve_open(&s->r, ex, h, &fd);
	if (rc) {
		printf("\n    %s: %s", full, strerror(rc));
		return false;
	}
	same = lstat(full, &want) == 0 && fstat(fd, &got) == 0 && want.st_ino == got.st_ino &&
	       want.st_dev == got.st_dev && (fcntl(fd, F_GETFL) & O_PATH) &&
	       (fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	return same;
}

bool
side_stale(struct side *s, const struct export *ex, const struct handle *h)
{
	int fd, rc = resolve_open(&s->r, ex, h, &fd);

	if (rc == 0)
		close(fd);
	return rc == ESTALE;
}
