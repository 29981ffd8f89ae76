/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "kernel.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"cachestat", "openat2",	"cached_open", "faccess_empty",
				    "nowait",	 "mount_clone", "khandle",     "setid",
				    "big_pipe",	 "fchmodat2"};

static int
entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Probing leaves the directory empty, no descriptor open and the identity as it was. */
TEST(kernel, leaves_nothing)
{
	char dir[] = "/tmp/spliced-kernel-XXXXXX";
	struct kernel k;
	int before = entries("/proc/self/fd");

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	kernel_probe(&k, dir);
	CU_ASSERT_EQUAL(entries(dir), 2);
	CU_ASSERT_EQUAL(entries("/proc/self/fd"), before);
	CU_ASSERT_EQUAL((uid_t)setfsuid((uid_t)-1), geteuid());
	CU_ASSERT_EQUAL((gid_t)setfsgid((gid_t)-1), getegid());
	CU_ASSERT(k.release >= 4000);
	rmdir(dir);
}

/* What the probe found is so: each call it promises works here and now. */
TEST(kernel, found_is_true)
{
	char path[] = "/tmp/spliced-kernel-XXXXXX";
	struct k_cachestat cs = {0};
	struct kernel k;
	int file = mkstemp(path), dir = open("/tmp", O_PATH | O_DIRECTORY), fd;

	CU_ASSERT_FATAL(file >= 0 && dir >= 0);
	kernel_probe(&k, "/tmp");
	CU_ASSERT_EQUAL(write(file, "x", 1), 1);
	CU_ASSERT_EQUAL(k_cachestat(file, 0, 0, &cs) == 0, k.cachestat);
	if (k.cachestat)
		CU_ASSERT_EQUAL(cs.cached, 1);
	fd = k_openat2(dir, "..", O_PATH, 0, 0x08 /* RESOLVE_BENEATH */);
	CU_ASSERT_EQUAL(fd, -1);
	CU_ASSERT_EQUAL(errno == EXDEV, k.openat2);
	CU_ASSERT_EQUAL(k_faccess(dir, X_OK) == 0, k.faccess_empty);
	close(file);
	close(dir);
	unlink(path);
}

/* SPLICED_WITHOUT switches off exactly the features it names, and says so in `missing`. */
TEST(kernel, without)
{
	struct kernel all, k;

	unsetenv("SPLICED_WITHOUT");
	kernel_probe(&all, "/tmp");
	setenv("SPLICED_WITHOUT", "nowait,big_pipe", 1);
	kernel_probe(&k, "/tmp");
	CU_ASSERT_FALSE(k.nowait);
	CU_ASSERT_FALSE(k.big_pipe);
	CU_ASSERT_EQUAL(k.openat2, all.openat2);
	CU_ASSERT_EQUAL(k.cachestat, all.cachestat);
	CU_ASSERT_PTR_NOT_NULL(strstr(k.missing, "nowait"));
	CU_ASSERT_PTR_NOT_NULL(strstr(k.missing, "big_pipe"));
	setenv("SPLICED_WITHOUT", "nowaitx,openat",
	       1); /* no such names: said, and nothing is off */
	kernel_probe(&k, "/tmp");
	CU_ASSERT_STRING_EQUAL(k.missing, all.missing);
	setenv("SPLICED_WITHOUT", "openat2", 1);
	kernel_probe(&k, "/tmp");
	CU_ASSERT_FALSE(k.cached_open);
	CU_ASSERT_PTR_NOT_NULL(strstr(k.missing, "cached_open"));
	setenv("SPLICED_WITHOUT", "all", 1);
	kernel_probe(&k, "/tmp");
	CU_ASSERT_FALSE(k.openat2 || k.cachestat || k.khandle || k.setid || k.mount_clone);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(k.missing, names[i]));
	unsetenv("SPLICED_WITHOUT");
}

/* A directory that does not exist says nothing about the kernel: another one is tried. */
TEST(kernel, no_directory)
{
	struct kernel there, gone;

	kernel_probe(&there, "/");
	kernel_probe(&gone, "/nonexistent/dir");
	CU_ASSERT_EQUAL(gone.openat2, there.openat2);
	CU_ASSERT_EQUAL(gone.faccess_empty, there.faccess_empty);
	CU_ASSERT_EQUAL(gone.mount_clone, there.mount_clone);
	CU_ASSERT_EQUAL(gone.khandle, there.khandle);
}
