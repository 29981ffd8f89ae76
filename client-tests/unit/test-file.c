/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "served.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct served s;
static char dir[64];

static void
begin(const char *type, size_t max)
{
	box_mount(type, "e", dir);
	serve(&s, dir, NULL, max);
}

static void
make_files(int n)
{
	char path[256];

	for (int i = 0; i < n; i++) {
		sprintf(path, "%s/f%d", dir, i);
		MUST(mknod(path, S_IFREG | 0644, 0) == 0);
	}
}

static size_t
cached(void)
{
	struct files_info info;

	files_info(s.files, &info);
	return info.objs;
}

static int
open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	MUST(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void
one_object(void)
{
	struct obj *a, *b;

	begin("tmpfs", 0);
	make_files(1);
	a = object(&s, "f0");
	WANT_EQ(again(&s, a, false, &b), 0);
	WANT(a == b);
	WANT_EQ(a->type, S_IFREG);
	put(&s, b);
	obj_forget(s.files, a);
	WANT_EQ(again(&s, a, false, &b), ESLEEP);
	WANT_EQ(again(&s, a, true, &b), 0);
	WANT(a != b && a->ino == b->ino && a->birth != b->birth);
	put(&s, a);
	put(&s, b);
	serve_end(&s);
}

static void
other_export(void)
{
	struct export other;
	struct obj *a, *b, *c;

	begin("tmpfs", 0);
	make_files(1);
	other = *s.ex;
	a = object(&s, "f0");
	WANT_EQ(obj_get(s.files, &other, &a->fh, &a->id, false, &b), ESLEEP);
	WANT_EQ(obj_get(s.files, &other, &a->fh, &a->id, true, &b), 0);
	WANT(a != b && a->ex == s.ex && b->ex == &other);
	WANT_EQ(again(&s, a, true, &c), 0);
	WANT(c != b && c->ex == s.ex);
	put(&s, a);
	put(&s, b);
	put(&s, c);
	serve_end(&s);
}

/* An object belongs to the export that it was opened in; when the export was replaced, its handle
 * is opened anew, in the new one. */
TEST(file, other_export)
{
	BOXED(other_export);
}

/* A handle has one object, found without sleeping while it is cached; a forgotten one is opened
 * anew by who may sleep. */
TEST(file, one_object)
{
	BOXED(one_object);
}

enum { THREADS = 8, ROUNDS = 200 };
static pthread_barrier_t together;
static struct obj *got[THREADS], *model;

static void *
get_it(void *arg)
{
	struct obj **mine = arg;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&together);
		MUST(again(&s, model, true, mine) == 0);
		pthread_barrier_wait(&together);
		pthread_barrier_wait(&together);
	}
	return NULL;
}

static void
race(void)
{
	pthread_t t[THREADS];

	begin("tmpfs", 0);
	make_files(1);
	model = object(&s, "f0");
	obj_forget(s.files, model); /* ours is no longer the cache's */
	MUST(pthread_barrier_init(&together, NULL, THREADS + 1) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, get_it, &got[i]) == 0);
	for (int r = 0; r < ROUNDS; r++) {
		pthread_barrier_wait(&together);
		pthread_barrier_wait(&together);
		for (int i = 1; i < THREADS; i++)
			WANT(got[i] == got[0]);
		obj_forget(s.files, got[0]);
		for (int i = 0; i < THREADS; i++)
			put(&s, got[i]);
		pthread_barrier_wait(&together);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	put(&s, model);
	WANT_EQ(cached(), 1);
	serve_end(&s);
}

/* Workers that open one handle at the same time end with one object. */
TEST(file, race)
{
	BOXED(race);
}

static void
eviction_on(const char *type)
{
	enum { N = 2000, MAX = 64 };
	static nfs_fh3 fh[N];
	static ino_t ino[N];
	char name[32];

	begin(type, MAX);
	make_files(N);
	struct obj *held = object(&s, "f7");
	int before = open_descriptors();
	for (int i = 0; i < N; i++) {
		sprintf(name, "f%d", i);
		struct obj *o = object(&s, name);

		fh[i] = o->fh;
		ino[i] = o->ino;
		put(&s, o);
		WANT(cached() <= MAX);
	}
	WANT(open_descriptors() < before + 500);
	for (int i = N - 1; i >= 0; i--) {
		struct handle h;
		struct obj *o;

		MUST(handle_parse(&s.key, &fh[i], &h) == 0);
		MUST(obj_get(s.files, s.ex, &fh[i], &h, true, &o) == 0);
		WANT_EQ(o->ino, ino[i]);
		if (i == 7)
			WANT(o == held);
		put(&s, o);
	}
	put(&s, held);
	serve_end(&s);
}

static void
eviction_ext4(void)
{
	eviction_on("ext4");
}

static void
eviction_overlay(void)
{
	eviction_on("overlay");
}

/* A cache of 64 objects forgets none of 2,000 handles: eviction costs time, never validity; what
 * somebody holds stays. By kernel handles, and by serials. */
TEST(file, eviction_by_kernel_handle)
{
	BOXED(eviction_ext4);
}
TEST(file, eviction_by_serial)
{
	BOXED(eviction_overlay);
}

static void
sweep(void)
{
	char path[128];

	begin("ext4", 0);
	make_files(3);
	struct obj *a = object(&s, "f0"), *b = object(&s, "f1"), *o;
	put(&s, b);
	size_t n = cached();
	sprintf(path, "%s/f0", dir);
	MUST(unlink(path) == 0);
	sprintf(path, "%s/f1", dir);
	MUST(unlink(path) == 0);
	files_sweep(s.files);
	WANT_EQ(cached(), n - 2);
	WANT_EQ(again(&s, a, true, &o), ESTALE);
	put(&s, a);
	serve_end(&s);
}

/* Objects whose last name was removed behind the server's back leave the cache by themselves, so
 * that their space can be freed. */
TEST(file, sweep)
{
	BOXED(sweep);
}

static void
readers(void)
{
	char path[128];
	int fd, other;

	begin("tmpfs", 0);
	make_files(1);
	sprintf(path, "%s/fifo", dir);
	MUST(mkfifo(path, 0666) == 0);
	sprintf(path, "%s/null", dir);
	MUST(mknod(path, S_IFCHR | 0666, 0x103) == 0);
	sprintf(path, "%s/link", dir);
	MUST(symlink("f0", path) == 0);
	struct obj *file = object(&s, "f0"), *fifo = object(&s, "fifo"), *null = object(&s, "null");
	struct obj *link = object(&s, "link");
	WANT_EQ(obj_reader(s.files, file, false, &fd), ESLEEP);
	WANT_EQ(obj_reader(s.files, file, true, &fd), 0);
	WANT_EQ(obj_reader(s.files, file, false, &other), 0);
	WANT_EQ(fd, other);
	WANT_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	WANT_EQ(obj_reader(s.files, s.root, true, &fd), EISDIR);
	WANT_EQ(obj_reader(s.files, fifo, true, &fd), EINVAL);
	WANT_EQ(obj_reader(s.files, null, true, &fd), EINVAL);
	WANT_EQ(obj_reader(s.files, link, true, &fd), EINVAL);
	WANT(S_ISLNK(link->type));
	put(&s, file);
	put(&s, fifo);
	put(&s, null);
	put(&s, link);
	serve_end(&s);
}

/* Only regular files are ever opened for reading, once per object. */
TEST(file, readers)
{
	BOXED(readers);
}

static void
few_descriptors(void)
{
	struct rlimit few;
	struct obj *held[64], *o;
	char name[32];
	int n = 0, error = 0;
	struct vfs_ctx w;
	struct stat st;

	begin("tmpfs", 10000);
	make_files(200);
	few.rlim_cur = few.rlim_max = (rlim_t)open_descriptors() + 20;
	MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
	w = as_worker(&s);
	for (int i = 0; i < 200; i++) { /* idle ones make room */
		int len = sprintf(name, "f%d", i), fd;

		MUST(vfs_lookup(&w, s.root, name, (size_t)len, &o, &st) == 0);
		WANT_EQ(obj_reader(s.files, o, true, &fd), 0);
		put(&s, o);
	}
	for (; n < 64; n++) { /* held ones do not */
		int len = sprintf(name, "f%d", n);

		error = vfs_lookup(&w, s.root, name, (size_t)len, &held[n], &st);
		if (error)
			break;
	}
	WANT_EQ(error, EMFILE);
	WANT(n > 5);
	while (n-- > 0)
		put(&s, held[n]);
	WANT_EQ(vfs_lookup(&w, s.root, "f150", 4, &o, &st), 0);
	put(&s, o);
	serve_end(&s);
}

/* When descriptors run out, idle objects make room; when all are in use the answer is EMFILE, and
 * when they are put it works again. */
TEST(file, few_descriptors)
{
	BOXED(few_descriptors);
}

static void
sizes(void)
{
	struct rlimit r;
	struct files_info info;

	box_mount("tmpfs", "e", dir);
	MUST(getrlimit(RLIMIT_NOFILE, &r) == 0);
	r.rlim_cur = r.rlim_max;
	MUST(setrlimit(RLIMIT_NOFILE, &r) == 0);
	serve(&s, dir, NULL, 0);
	files_info(s.files, &info);
	WANT_EQ(info.max_objs, r.rlim_cur / 4 < 131072 ? r.rlim_cur / 4 : 131072);
	serve_end(&s);
	r.rlim_cur = 48;
	MUST(setrlimit(RLIMIT_NOFILE, &r) == 0);
	struct files *f = files_new(&s.resolve, &s.ident, 0);
	MUST(f);
	files_info(f, &info);
	WANT_EQ(info.max_objs, 16);
	files_free(f);
}

/* The default size follows RLIMIT_NOFILE, within reason at both ends. */
TEST(file, default_size)
{
	BOXED(sizes);
}

static bool
is_that(void *arg, const struct export *ex)
{
	return ex == arg;
}

static void
dropping(void)
{
	begin("tmpfs", 0);
	make_files(5);
	for (int i = 0; i < 5; i++)
		put(&s, object(&s, (char[]){'f', (char)('0' + i), 0}));
	WANT_EQ(cached(), 6);
	struct export other = *s.ex;
	files_drop(s.files, is_that, &other);
	WANT_EQ(cached(), 6);
	files_drop(s.files, is_that, s.ex);
	WANT_EQ(cached(), 0);
	serve_end(&s);
}

/* Dropping an export drops its objects and no others. */
TEST(file, dropping)
{
	BOXED(dropping);
}
