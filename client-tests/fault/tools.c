/* SPDX-License-Identifier: BSD-2-Clause */
/* Other programs, mounts, and what /proc tells about the server. */
#include "tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

bool
under_sanitizer(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return true;
#endif
#endif
	return false;
}

const char *
tool_path(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned turn;
	char *p = path[turn++ % 4];
	ssize_t n = readlink("/proc/self/exe", p, PATH_MAX - 64);

	p[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(p, '/');
	strcpy(slash ? slash + 1 : p, name);
	return p;
}

static pid_t
spawn(const char *const *argv, int out)
{
	const char *beside = tool_path(argv[0]);
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (out >= 0) {
		dup2(out, 1);
		dup2(out, 2);
	}
	if (strcmp(argv[0], "slowfs") == 0)
		setenv("TSAN_OPTIONS", "report_bugs=0", 1); /* libfuse is not built for it */
	if (access(beside, X_OK) == 0)
		execv(beside, (char *const *)(uintptr_t)argv);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	fprintf(stderr, "%s: %m\n", argv[0]);
	_exit(127);
}

/* Runs it; the exit status, and what it said (up to size - 1 bytes) in text. */
static int
run_and_read(const char *const *argv, char *text, size_t size)
{
	int out = memfd_create("output", MFD_CLOEXEC), status = -1;
	pid_t pid = spawn(argv, out);

	waitpid(pid, &status, 0);
	ssize_t n = pread(out, text, size - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int
run_program(const char *const *argv)
{
	char text[4096];
	int rc = run_and_read(argv, text, sizeof text);

	if (rc != 0)
		fprintf(stderr, "\n%s: exit status %d: %s\n", argv[0], rc, text);
	return rc;
}

/* ---- mounts ---- */

static void
remember_mount(struct srv *s, const char *path)
{
	CU_ASSERT_FATAL(s->nmounts < SRV_MOUNTS);
	s->mount[s->nmounts++] = strdup(srv_path(s, path));
}

void
srv_mount_image(struct srv *s, const char *image, const char *path)
{
	const char *const argv[] = {"mount",	       "-o", "loop", srv_path(s, image),
				    srv_path(s, path), NULL};

	CU_ASSERT_FATAL(mkdir(srv_path(s, path), 0755) == 0 || errno == EEXIST);
	CU_ASSERT_EQUAL_FATAL(run_program(argv), 0);
	remember_mount(s, path);
}

void
srv_image(struct srv *s, const char *image, const char *type, unsigned mib)
{
	const char *file = srv_path(s, image);
	const char *const ext4[] = {"mkfs.ext4",	  "-q", "-F", "-E",
				    "lazy_itable_init=0", file, NULL},
			  *const xfs[] = {"mkfs.xfs", "-q", file, NULL};
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CU_ASSERT_FATAL(fd >= 0 && ftruncate(fd, (off_t)mib << 20) == 0);
	close(fd);
	CU_ASSERT_EQUAL_FATAL(run_program(strcmp(type, "xfs") == 0 ? xfs : ext4), 0);
}

void
srv_ext4(struct srv *s, const char *path, unsigned mib)
{
	char image[128];

	snprintf(image, sizeof image, "%s.image", path);
	srv_image(s, image, "ext4", mib);
	srv_mount_image(s, image, path);
}

void
srv_slowfs(struct srv *s, const char *source, const char *path)
{
	const char *at = srv_path(s, path), *from = srv_path(s, source),
		   *control = srv_path(s, "slowfs.control");
	const char *const argv[] = {"slowfs", "--control", control, from, at, NULL};
	struct stat before, after;

	CU_ASSERT_FATAL(access(tool_path("slowfs"), X_OK) == 0);
	srv_mkdir(s, path);
	CU_ASSERT_FATAL(stat(at, &before) == 0);
	s->slowfs = spawn(argv, -1);
	UNTIL(stat(at, &after) == 0 && after.st_dev != before.st_dev);
	remember_mount(s, path);
}

static void
mount_over(struct srv *s, const char *type, const char *path, const char *options)
{
	const char *const argv[] = {"mount",	       "-t", type, "-o", options, "none",
				    srv_path(s, path), NULL};

	srv_mkdir(s, path);
	CU_ASSERT_EQUAL_FATAL(run_program(argv), 0);
	remember_mount(s, path);
}

static void
fresh_overlay(struct srv *s, const char *path)
{
	char below[64], options[512];

	snprintf(below, sizeof below, "%s.layers", path);
	mount_over(s, "tmpfs", below, "mode=755");
	const char *at = srv_path(s, below);
	snprintf(options, sizeof options, "lowerdir=%s/l,upperdir=%s/u,workdir=%s/w", at, at, at);
	for (int i = 0; i < 3; i++) {
		snprintf(below, sizeof below, "%s.layers/%c", path, "luw"[i]);
		srv_mkdir(s, below);
	}
	mount_over(s, "overlay", path, options);
}

static void
fresh_image(struct srv *s, const char *type, const char *path)
{
	char image[128], mkfs[32];

	snprintf(image, sizeof image, "%s.image", path);
	snprintf(mkfs, sizeof mkfs, "mkfs.%s", type);
	const char *at = srv_path(s, image);
	int fd = open(at, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CU_ASSERT_FATAL(fd >= 0 && ftruncate(fd, 400 << 20) == 0);
	close(fd);
	CU_ASSERT_EQUAL_FATAL(run_program((const char *[]){mkfs, "-q", at, NULL}), 0);
	srv_mount_image(s, image, path);
}

void
srv_fresh(struct srv *s, const char *type, const char *path)
{
	char source[64];

	if (strcmp(type, "tmpfs") == 0) {
		mount_over(s, type, path, "mode=755");
	} else if (strcmp(type, "overlay") == 0) {
		fresh_overlay(s, path);
	} else if (strcmp(type, "fuse") == 0) {
		snprintf(source, sizeof source, "%s.source", path);
		srv_mkdir(s, source);
		srv_slowfs(s, source, path);
	} else {
		fresh_image(s, type, path);
	}
}

void
srv_stat(struct srv *s, char *json, size_t size)
{
	const char *const argv[] = {"splicectl", "-s",	   srv_path(s, s->statedir),
				    "stat",	 "--json", NULL};

	CU_ASSERT_EQUAL(run_and_read(argv, json, size), 0);
}

void
srv_tell(struct srv *s, const char *command)
{
	const char *argv[8] = {"slowfs", "--tell", srv_path(s, "slowfs.control")};
	char copy[64], *rest = copy;
	int n = 3;

	strcpy(copy, command);
	while (n < 7 && (argv[n] = strsep(&rest, " ")))
		n++;
	argv[n] = NULL;
	CU_ASSERT_EQUAL(run_program(argv), 0);
}

unsigned
srv_waiting(struct srv *s, const char *op)
{
	char text[2048], word[32];
	unsigned calls = 0, waiting = 0;

	run_and_read(
	    (const char *[]){"slowfs", "--tell", srv_path(s, "slowfs.control"), "stat", NULL}, text,
	    sizeof text);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (sscanf(line, "%31s calls %u waiting %u", word, &calls, &waiting) == 3 &&
		    strcmp(word, op) == 0)
			return waiting;
	return 0;
}

/* ---- /proc ---- */

static long
status_kib(struct srv *s, const char *field)
{
	char path[64], line[256];
	long kib = -1;

	snprintf(path, sizeof path, "/proc/%d/status", s->pid);
	FILE *f = fopen(path, "re");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (fgets(line, sizeof line, f))
		if (strncmp(line, field, strlen(field)) == 0)
			kib = atol(line + strlen(field));
	fclose(f);
	return kib;
}

long
srv_rss_kib(struct srv *s)
{
	return status_kib(s, "VmRSS:");
}

long
srv_anon_kib(struct srv *s)
{
	return status_kib(s, "RssAnon:");
}

unsigned
srv_fds(struct srv *s)
{
	char path[64];
	unsigned n = 0;

	snprintf(path, sizeof path, "/proc/%d/fd", s->pid);
	DIR *d = opendir(path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	for (struct dirent *e; (e = readdir(d));)
		n += *e->d_name != '.';
	closedir(d);
	return n;
}

double
srv_cpu(struct srv *s)
{
	char path[64], text[1024] = "";
	unsigned long user = 0, system = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", s->pid);
	FILE *f = fopen(path, "re");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	/* proc(5): utime and stime are fields 14 and 15; the name before may hold anything */
	const char *rest = strrchr(text, ')');
	CU_ASSERT_FATAL(rest &&
			sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
			       &user, &system) == 2);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

bool
srv_idle(struct srv *s)
{
	char path[300], text[256];
	bool idle = true;

	snprintf(path, sizeof path, "/proc/%d/task", s->pid);
	DIR *d = opendir(path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	for (struct dirent *e; (e = readdir(d));) {
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%s/stat", s->pid, e->d_name);
		FILE *f = fopen(path, "re");
		size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

		text[n] = '\0';
		if (f)
			fclose(f);
		const char *rest = strrchr(text, ')');
		idle = idle && (!rest || rest[2] == 'S');
	}
	closedir(d);
	return idle;
}
