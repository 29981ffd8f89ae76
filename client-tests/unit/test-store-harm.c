/* SPDX-License-Identifier: BSD-2-Clause */
/* What breaks around the store: crashes, full disks, damage, a second server. */
#include "storebox.h"
#include <dirent.h>
#include <lmdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* A second server on one state directory is told who is there, and the first goes on. */
TEST(store, second_opener)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	char err[512] = "", pid[32];

	snprintf(pid, sizeof pid, "process %d", (int)getpid());
	CU_ASSERT_PTR_NULL(store_open(d.path, err, sizeof err));
	CU_ASSERT(strstr(err, "another server") && strstr(err, pid) && strstr(err, d.path));
	issue(s, row(1, 0, "a"));
	store_close(s);
	store_close(reopen(&d));
	drop_dir(&d);
}

/* The other side of a fork gets errors, not a broken file. */
TEST(store, fork_is_refused)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r = row(1, 0, "a"), got;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(store_issue(s, &r, 1) == EIO && store_find(s, FS, 1, &got) == EIO ? 0 : 1);
	CU_ASSERT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	issue(s, row(1, 0, "a"));
	store_close(s);
	drop_dir(&d);
}

/* No descriptor of the store crosses an exec. */
TEST(store, close_on_exec)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	char link[64], to[256];
	int open_ones = 0;
	DIR *fds = opendir("/proc/self/fd");
	struct dirent *e;

	CU_ASSERT_PTR_NOT_NULL_FATAL(fds);
	while ((e = readdir(fds))) {
		snprintf(link, sizeof link, "/proc/self/fd/%.20s", e->d_name);
		ssize_t n = readlink(link, to, sizeof to - 1);

		if (n < 0 || strncmp(to, d.path, strlen(d.path)) != 0)
			continue;
		open_ones++;
		to[n] = '\0';
		if (!(fcntl(atoi(e->d_name), F_GETFD) & FD_CLOEXEC)) {
			printf("not closed: %s\n", to);
			CU_FAIL("not close-on-exec");
		}
	}
	CU_ASSERT(open_ones >= 4); /* directory, lock, file, LMDB's lock */
	closedir(fds);
	store_close(s);
	drop_dir(&d);
}

/* A full map gives ENOSPC to new objects only; what is known is found; after sweeping there is room
 * again. */
static bool
dead_from(void *arg, const struct store_row *r)
{
	return r->id.ino < *(const uint64_t *)arg;
}

TEST(store, map_full)
{
	const struct store_limits small = {256 << 10, 256 << 10};
	struct dir d = make_dir();
	char err[512], name[256];
	struct store *s = store_open_limits(d.path, &small, err, sizeof err);
	struct store_row r;
	uint64_t first, n, keep = 100;
	int rc = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	memset(name, 'n', 200);
	name[200] = '\0';
	first = issue(s, row(1, 0, name));
	for (n = 2; n < 5000 && rc == 0; n++) {
		r = row(n, 0, name);
		rc = store_issue(s, &r, 1);
	}
	CU_ASSERT_EQUAL(rc, ENOSPC);
	CU_ASSERT(n > 200);
	CU_ASSERT_EQUAL(store_find(s, FS, first, &r), 0);
	CU_ASSERT_EQUAL(issue(s, row(1, 0, name)), first);
	r = row(9999, 0, name);
	CU_ASSERT_EQUAL(store_issue(s, &r, 1), ENOSPC); /* an answer, not a hang */
	store_close(s);
	/* with more room it goes on where it was */
	s = reopen(&d);
	CU_ASSERT_EQUAL(store_find(s, FS, first, &r), 0);
	issue(s, row(9999, 0, name));
	while (store_sweep(s, dead_from, &keep, 1000) > 0)
		;
	struct store_info info;

	store_info(s, &info);
	CU_ASSERT_EQUAL(info.rows, 99);
	store_close(s);
	drop_dir(&d);
}

/* A full map is enlarged while there is a limit left, and nobody notices. */
TEST(store, map_grows)
{
	const struct store_limits grow = {256 << 10, 16 << 20};
	struct dir d = make_dir();
	char err[512], name[256];
	struct store *s = store_open_limits(d.path, &grow, err, sizeof err);
	struct store_info info;

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	memset(name, 'n', 200);
	name[200] = '\0';
	for (uint64_t n = 1; n <= 3000; n++)
		issue(s, row(n, 0, name));
	store_info(s, &info);
	CU_ASSERT(info.rows == 3000 && info.map_bytes > (256 << 10) &&
		  info.used_bytes > 600 * 1000);
	store_close(s);
	drop_dir(&d);
}

/* A process that died inside a read transaction does not make the file grow for ever. */
TEST(store, dead_reader)
{
	const struct store_limits lim = {4 << 20, 4 << 20};
	struct dir d = make_dir();
	char err[512], path[128];
	struct store *s = store_open_limits(d.path, &lim, err, sizeof err);
	struct store_row r;
	int up[2], rc = 0;
	pid_t pid;
	char byte;

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	issue(s, row(1, 0, "a"));
	snprintf(path, sizeof path, "%s/store.lmdb", d.path);
	CU_ASSERT_EQUAL_FATAL(pipe(up), 0);
	pid = fork();
	if (pid == 0) {
		MDB_env *env;
		MDB_txn *txn;

		if (mdb_env_create(&env) || mdb_env_set_maxreaders(env, 512) ||
		    mdb_env_open(env, path, MDB_NOSUBDIR | MDB_RDONLY, 0600) ||
		    mdb_txn_begin(env, NULL, MDB_RDONLY, &txn))
			_exit(1);
		byte = 'r';
		if (write(up[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	CU_ASSERT_EQUAL(read(up[0], &byte, 1), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (uint64_t n = 0; n < 3000 && rc == 0; n++) {
		r = row(1, n, "a"); /* one row rewritten again and again */
		rc = store_issue(s, &r, 1);
	}
	CU_ASSERT_EQUAL(rc, 0);
	close(up[0]);
	close(up[1]);
	store_close(s);
	drop_dir(&d);
}

/* Every serial that was returned before a kill -9 means the same after it. */
TEST(store, kill_in_the_middle)
{
	int rounds = check_full() ? 50 : 4;
	struct dir d = make_dir();
	uint64_t v[2], next = 1, count = 0;
	struct store_row r;

	for (int round = 0; round < rounds; round++) {
		static uint64_t got[200000][2];
		size_t n = 0;
		int up[2];
		pid_t pid;

		CU_ASSERT_EQUAL_FATAL(pipe(up), 0);
		pid = fork();
		if (pid == 0) {
			char err[256];
			struct store *s = store_open(d.path, err, sizeof err);

			for (v[0] = next; s; v[0]++) {
				r = row(v[0], 0, "name");
				if (store_issue(s, &r, 1))
					break;
				v[1] = r.serial;
				if (write(up[1], v, sizeof v) != sizeof v)
					break;
			}
			_exit(1);
		}
		close(up[1]);
		/* killed while it works, at another point each time */
		while (n < (size_t)(50 + 37 * round) && read(up[0], got[n], sizeof v) == sizeof v)
			n++;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (n < 200000 && read(up[0], got[n], sizeof v) == sizeof v)
			n++;
		close(up[0]);

		struct store *s = reopen(&d);

		for (size_t i = 0; i < n; i++)
			CU_ASSERT(store_find(s, FS, got[i][1], &r) == 0 && r.id.ino == got[i][0]);
		store_close(s);
		CU_ASSERT(n > 0);
		count += n;
		next = n ? got[n - 1][0] + 2 : next;
	}
	CU_ASSERT(count >= (uint64_t)rounds * 50);
	drop_dir(&d);
}

static void
damage(const struct dir *d, void (*how)(const char *path))
{
	char path[128];

	snprintf(path, sizeof path, "%s/store.lmdb", d->path);
	how(path);
}

static void
cut(const char *path)
{
	struct stat st;

	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(truncate(path, st.st_size / 2 / 4096 * 4096), 0);
}

static void
scribble(const char *path)
{
	int fd = open(path, O_WRONLY);
	char junk[8192];

	memset(junk, 0x5a, sizeof junk);
	CU_ASSERT_EQUAL(write(fd, junk, sizeof junk), (ssize_t)sizeof junk);
	close(fd);
}

static int
count_aside(const struct dir *d)
{
	DIR *dir = opendir(d->path);
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)))
		n += strncmp(e->d_name, "store.lmdb.damaged-", 19) == 0;
	if (dir)
		closedir(dir);
	return n;
}

static void
fill(const struct dir *d)
{
	struct store *s = reopen(d);
	static struct store_row v[3000];

	for (uint64_t i = 0; i < 3000; i++)
		v[i] = row(i + 1, 0, "some name");
	CU_ASSERT_EQUAL(store_issue(s, v, 3000), 0);
	store_close(s);
}

/* A truncated file, or one that is no database, is moved aside, not served, and not fatal. */
TEST(store, damaged)
{
	void (*const how[])(const char *) = {cut, scribble};

	for (int i = 0; i < 2; i++) {
		struct dir d = make_dir();
		struct store *s;
		struct store_info info;

		fill(&d);
		damage(&d, how[i]);
		s = reopen(&d);
		store_info(s, &info);
		CU_ASSERT_EQUAL(info.rows, 0);
		CU_ASSERT_EQUAL(count_aside(&d), 1);
		issue(s, row(1, 0, "a"));
		store_close(s);
		store_close(reopen(&d));
		CU_ASSERT_EQUAL(count_aside(&d), 1);
		drop_dir(&d);
	}
}

/* A store of another format is refused, and left as it is. */
TEST(store, other_version)
{
	struct dir d = make_dir();
	char path[128], err[512] = "";
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi meta;
	uint32_t version = 99;
	MDB_val k = {7, (void *)(uintptr_t) "version"}, v = {sizeof version, &version};

	fill(&d);
	snprintf(path, sizeof path, "%s/store.lmdb", d.path);
	CU_ASSERT_EQUAL_FATAL(mdb_env_create(&env), 0);
	mdb_env_set_maxdbs(env, 8);
	CU_ASSERT_EQUAL_FATAL(mdb_env_open(env, path, MDB_NOSUBDIR, 0600), 0);
	CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(env, NULL, 0, &txn), 0);
	CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, "meta", 0, &meta), 0);
	CU_ASSERT_EQUAL(mdb_put(txn, meta, &k, &v, 0), 0);
	CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
	CU_ASSERT_PTR_NULL(store_open(d.path, err, sizeof err));
	CU_ASSERT(strstr(err, "format 99") != NULL);
	CU_ASSERT_EQUAL(count_aside(&d), 0);
	drop_dir(&d);
}

/* Runs fn in a child with its own mounts; its result is the child's exit status. */
static void
in_own_mounts(int (*fn)(const char *dir))
{
	struct dir d = make_dir();
	int status;
	pid_t pid;

	if (geteuid() != 0) {
		printf("skipped: needs root to mount ");
		drop_dir(&d);
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
			_exit(100);
		_exit(fn(d.path));
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		printf("child: %#x ", (unsigned)status);
	drop_dir(&d);
}

static int
on_fuse(const char *dir)
{
	char opts[128], err[512] = "";
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	/* nobody serves it; for a stranger the kernel answers statfs by itself */
	snprintf(opts, sizeof opts, "fd=%d,rootmode=40000,user_id=1,group_id=1", fd);
	if (fd < 0 || mount("nobody", dir, "fuse", 0, opts))
		return 2;
	if (store_open(dir, err, sizeof err))
		return 3;
	return strstr(err, "FUSE") && strstr(err, "-s") ? 0 : 4;
}

/* A state directory on a file system that may be a network one is refused, with the way out. */
TEST(store, remote_file_system)
{
	in_own_mounts(on_fuse);
}

static int
on_full_disk(const char *dir)
{
	char err[512] = "", name[256];
	struct store *s;
	struct store_row r;
	uint64_t first, n;
	int rc = 0;

	if (mount("small", dir, "tmpfs", 0, "size=512k,mode=700"))
		return 2;
	s = store_open(dir, err, sizeof err);
	if (!s)
		return 3;
	memset(name, 'n', 200);
	name[200] = '\0';
	r = row(1, 0, name);
	if (store_issue(s, &r, 1))
		return 4;
	first = r.serial;
	for (n = 2; n < 20000 && rc == 0; n++) {
		r = row(n, 0, name);
		rc = store_issue(s, &r, 1);
	}
	if (rc == 0 || store_find(s, FS, first, &r) || r.id.ino != 1)
		return 5;
	/* room is made: it goes on without a restart */
	if (mount(NULL, dir, NULL, MS_REMOUNT, "size=4m,mode=700"))
		return 6;
	r = row(100000, 0, name);
	if (store_issue(s, &r, 1))
		return 7;
	if (store_find(s, FS, first, &r))
		return 8;
	store_close(s);
	return 0;
}

/* A full disk is an error of the call, not a SIGBUS; what was known stays known; with room again
 * all goes on. */
TEST(store, disk_full)
{
	in_own_mounts(on_full_disk);
}

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_SPACE 0 /* the sanitizer's own maps do not fit */
#else
#define OWN_SPACE 1
#endif

static int
in_little_space(const char *dir)
{
	const struct rlimit lim = {(rlim_t)2 << 30, (rlim_t)2 << 30};
	char err[512] = "";
	struct store *s;
	struct store_row r = row(1, 0, "a");

	if (OWN_SPACE && setrlimit(RLIMIT_AS, &lim))
		return 2;
	s = store_open(dir, err, sizeof err);
	if (!s || store_issue(s, &r, 1))
		return 3;
	store_close(s);
	return 0;
}

/* Little address space makes a small map, not a failure. */
TEST(store, little_address_space)
{
	in_own_mounts(in_little_space);
}
