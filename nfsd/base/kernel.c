/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this kernel and these capabilities allow. Every feature is tried, because a version number
 * says nothing about a container's seccomp filter, a missing capability or a file system. A try
 * leaves nothing behind: the file is unnamed, the mount clone is detached and dissolves at close,
 * the identity is put back. Runs before there are other threads.
 */
#include "kernel.h"
#include "log.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* one number on every architecture; glibc 2.36 does not know it */
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif
#define BIG_PIPE (1 << 20)
#define NOBODY 65534

int
k_cachestat(int fd, uint64_t off, uint64_t len, struct k_cachestat *out)
{
	struct {
		uint64_t off, len;
	} range = {off, len};

	return (int)syscall(SYS_cachestat, fd, &range, out, 0);
}

int
k_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

int
k_faccess(int fd, int mode)
{
	/* not glibc's faccessat(): on an old kernel it would answer by guessing from the mode bits
	 */
	return (int)syscall(SYS_faccessat2, fd, "", mode, AT_EMPTY_PATH | AT_EACCESS);
}

int
k_fchmod(int fd, unsigned mode)
{
	return (int)syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH);
}

/* What the tries need: the directory as an O_PATH descriptor, and a file with one byte in it; -1
 * where it cannot be had. */
struct probe {
	int dir, file;
};

/* An unnamed file with one byte. Where dir is read-only any readable file must do. */
static int
open_file(const char *dir)
{
	char path[4096];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) { /* a file system without O_TMPFILE */
		snprintf(path, sizeof path, "%s/.probe-XXXXXX", dir);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd >= 0 && pwrite(fd, "x", 1, 0) == 1)
		return fd;
	if (fd >= 0)
		close(fd);
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static bool
try_cachestat(const struct probe *p)
{
	struct k_cachestat cs;

	return k_cachestat(p->file, 0, 0, &cs) == 0;
}

/* Worked, or failed in a way that only a kernel with the feature knows. */
static bool
opened(int fd, int known_errno)
{
	if (fd < 0)
		return errno == known_errno;
	close(fd);
	return true;
}

static bool
try_openat2(const struct probe *p)
{
	return opened(k_openat2(p->dir, ".", O_PATH | O_CLOEXEC, 0, RESOLVE_BENEATH), 0);
}

static bool
try_cached_open(const struct probe *p)
{
	return opened(k_openat2(p->dir, ".", O_PATH | O_CLOEXEC, 0, RESOLVE_CACHED), EAGAIN);
}

static bool
try_faccess_empty(const struct probe *p)
{
	return k_faccess(p->dir, R_OK) == 0 || errno == EACCES;
}

static int
release_number(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	if (uname(&u) != 0 || sscanf(u.release, "%d.%d", &major, &minor) != 2)
		return 0;
	return major * 1000 + minor;
}

/* tmpfs says EOPNOTSUPP to a flag that the kernel knows well: since 4.14 it is the file system's
 * no. */
static bool
try_nowait(const struct probe *p)
{
	char byte;
	struct iovec v = {&byte, 1};

	return preadv2(p->file, &v, 1, 0, RWF_NOWAIT) >= 0 || errno == EAGAIN ||
	       (errno == EOPNOTSUPP && release_number() >= 4014);
}

static bool
try_mount_clone(const struct probe *p)
{
	struct mount_attr attr = {.attr_set =
				      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
	int fd = open_tree(p->dir, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	bool yes;

	if (fd < 0)
		return false;
	yes = mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof attr) == 0;
	close(fd);
	return yes;
}

/* Whether the file system of an export has handles is another question, asked there; this one is
 * about the capability. */
static bool
try_khandle(const struct probe *p)
{
	union {
		struct file_handle fh;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = {.fh = {.handle_bytes = MAX_HANDLE_SZ}};
	int mount_id, base = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool yes;

	if (base < 0)
		return false;
	if (name_to_handle_at(base, "", &h.fh, &mount_id, AT_EMPTY_PATH) != 0) {
		h.fh.handle_type =
		    1; /* well-formed, names nothing: refused for that only if we may ask */
		h.fh.handle_bytes = 8;
	}
	yes = opened(open_by_handle_at(base, &h.fh, O_PATH | O_CLOEXEC), ESTALE);
	close(base);
	return yes;
}

/* Raw calls: they change this thread only. setfsuid(2) reports no error; asking with -1 tells who
 * we are. */
static bool
try_setid(const struct probe *p)
{
	gid_t groups[64];
	int n = getgroups(64, groups);
	long uid = syscall(SYS_setfsuid, -1), gid = syscall(SYS_setfsgid, -1);
	bool yes = n < 0 || syscall(SYS_setgroups, n, groups) == 0;

	(void)p;
	syscall(SYS_setfsgid, NOBODY);
	yes = yes && syscall(SYS_setfsgid, -1) == NOBODY;
	syscall(SYS_setfsgid, gid);
	syscall(SYS_setfsuid, NOBODY);
	yes = yes && syscall(SYS_setfsuid, -1) == NOBODY;
	syscall(SYS_setfsuid, uid);
	return yes;
}

static bool
try_big_pipe(const struct probe *p)
{
	int fd[2];
	bool yes;

	(void)p;
	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	yes = fcntl(fd[0], F_SETPIPE_SZ, BIG_PIPE) >= BIG_PIPE;
	close(fd[0]);
	close(fd[1]);
	return yes;
}

/* Nothing need be changed to learn whether the call is there. */
static bool
try_fchmodat2(const struct probe *p)
{
	(void)p;
	return k_fchmod(-1, 0600) != 0 && errno == EBADF;
}

static const struct feature {
	const char *name;
	size_t field;
	bool (*try)(const struct probe *);
} features[] = {
#define FEATURE(name)                                                                              \
	{                                                                                          \
#name, offsetof(struct kernel, name), try_##name                                   \
	}
    FEATURE(cachestat), FEATURE(openat2),     FEATURE(cached_open), FEATURE(faccess_empty),
    FEATURE(nowait),	FEATURE(mount_clone), FEATURE(khandle),	    FEATURE(setid),
    FEATURE(big_pipe),	FEATURE(fchmodat2),
#undef FEATURE
};
#define NFEATURES (sizeof features / sizeof features[0])

/* Is the word (n bytes) in the comma list? */
static bool
in_list(const char *list, const char *word, size_t n)
{
	while (list && *list) {
		size_t len = strcspn(list, ",");

		if (len == n && memcmp(list, word, n) == 0)
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

/* A misspelt name would silently test nothing. */
static void
check_words(const char *list)
{
	while (list && *list) {
		size_t len = strcspn(list, ","), i = 0;

		while (i < NFEATURES && (strlen(features[i].name) != len ||
					 memcmp(list, features[i].name, len) != 0))
			i++;
		if (i == NFEATURES && len && !in_list("all", list, len))
			log_warn("SPLICED_WITHOUT: there is no feature \"%.*s\"; ignored", (int)len,
				 list);
		list += len + (list[len] == ',');
	}
}

void
kernel_probe(struct kernel *k, const char *dir)
{
	const char *without = getenv("SPLICED_WITHOUT");
	struct probe p = {open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), open_file(dir)};
	size_t used = 0;

	if (p.dir < 0) /* not made yet, say: that says nothing about the kernel */
		p.dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	memset(k, 0, sizeof *k);
	k->release = release_number();
	check_words(without);
	for (size_t i = 0; i < NFEATURES; i++) {
		const struct feature *f = &features[i];
		bool off = in_list(without, f->name, strlen(f->name)) || in_list(without, "all", 3);
		bool have;

		if (f->field == offsetof(struct kernel, cached_open))
			off = off || !k->openat2; /* a cached open is an openat2 */
		have = !off && f->try(&p);

		memcpy((char *)k + f->field, &have, sizeof have);
		if (!have && used < sizeof k->missing)
			used += (size_t)snprintf(k->missing + used, sizeof k->missing - used,
						 "%s%s", used ? ", " : "", f->name);
	}
	if (p.dir >= 0)
		close(p.dir);
	if (p.file >= 0)
		close(p.file);
}
