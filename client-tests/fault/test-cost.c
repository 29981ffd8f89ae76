/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request costs, counted, not timed: system calls of warm READs, allocations of everything
 * that runs all day.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

#define MIB (1u << 20)

static struct srv *
bed(struct srv *s, const char *mode)
{
	srv_mkdir(s, "a");
	pattern_file(srv_path(s, "a/file"), 1, 4 * MIB);
	srv_start(s, (const char *[]){"-j1", mode, NULL}, "a", NULL);
	return s;
}

/* rounds times depth READs of count bytes, depth of them in one write and then their replies. */
static void
read_deep(struct cl *c, const nfs_fh3 *fh, uint32_t count, unsigned depth, unsigned rounds)
{
	char *calls = malloc(depth * 256);
	READ3res r;

	for (unsigned i = 0; i < rounds; i++) {
		size_t n = 0;

		for (unsigned k = 0; k < depth; k++)
			n += cl_build_read(calls + n, k, fh,
					   (uint64_t)(i * depth + k) % 256 * count % (4 * MIB),
					   count);
		cl_send(c, calls, n);
		for (unsigned k = 0; k < depth; k++) {
			CU_ASSERT_TRUE_FATAL(cl_recv(c));
			CU_ASSERT_EQUAL_FATAL(cl_read_results(c, &r), NFS3_OK);
			CU_ASSERT_EQUAL(r.READ3res_u.resok.count, count);
		}
	}
	free(calls);
}

/* ---- system calls ---- */

/* Are all threads of the server traced? */
static bool
all_traced(struct srv *s)
{
	char path[300], line[256];
	bool all = true;

	snprintf(path, sizeof path, "/proc/%d/task", s->pid);
	DIR *d = opendir(path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	for (struct dirent *e; (e = readdir(d));) {
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%s/status", s->pid, e->d_name);
		FILE *f = fopen(path, "re");

		while (f && fgets(line, sizeof line, f))
			if (strncmp(line, "TracerPid:", 10) == 0 && atoi(line + 10) == 0)
				all = false;
		if (f)
			fclose(f);
	}
	closedir(d);
	return all;
}

static pid_t
trace(struct srv *s, const char *to)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%d", s->pid);
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 2);
		execlp("strace", "strace", "-f", "-c", "-U", "calls,name", "-o", to, "-p", pid,
		       NULL);
		_exit(127);
	}
	UNTIL(all_traced(s) || waitpid(child, NULL, WNOHANG) == child);
	CU_ASSERT_TRUE_FATAL(all_traced(s));
	return child;
}

/* Ends it; the calls it counted. */
static unsigned long
traced(pid_t child, const char *file)
{
	char line[256], name[64];
	unsigned long n, total = 0;

	kill(child, SIGINT);
	waitpid(child, NULL, 0);
	FILE *f = fopen(file, "re");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lu %63s", &n, name) == 2 && strcmp(name, "total") != 0)
			total += n;
	}
	fclose(f);
	return total;
}

static void
count_calls(const char *mode, uint32_t count, double most)
{
	enum { DEPTH = 16, ROUNDS = 60 };
	struct srv *s = bed(srv_new(), mode);
	struct cl *c = srv_client(s);
	nfs_fh3 fh = cl_handle(c, srv_path(s, "a"), "file");
	const char *to = srv_path(s, "calls");

	read_deep(c, &fh, count, DEPTH, 40); /* everything is open and in memory */
	pid_t child = trace(s, to);
	read_deep(c, &fh, count, DEPTH, ROUNDS);
	double each = (double)traced(child, to) / (DEPTH * ROUNDS);

	if (each > most || each < 0.1)
		fprintf(stderr, "\n%s, %u bytes: %.2f system calls for each READ\n", mode, count,
			each);
	CU_ASSERT(each <= most);
	CU_ASSERT(each > 0.1); /* else nothing was counted */
	cl_free(c);
	srv_free(s);
}

/* A warm READ of 8 KiB among 16 in flight costs at most two and a half system calls, copied or
 * spliced. */
TEST(cost, a_warm_read_takes_few_system_calls)
{
	count_calls("-zauto", 8192, 2.5);
	count_calls("-zalways", 8192, 2.5);
	count_calls("-znever", 8192, 2.5);
}

/* One of 64 KiB costs at most three. */
TEST(cost, a_warm_large_read_takes_few_system_calls)
{
	count_calls("-zauto", 65536, 3);
}

/* ---- allocations ---- */

static const char counter_source[] =
    "#include <fcntl.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
    "void *__libc_malloc(size_t); void *__libc_calloc(size_t, size_t);\n"
    "void *__libc_realloc(void *, size_t);\n"
    "static unsigned long nowhere, *count = &nowhere;\n"
    "__attribute__((constructor)) static void begin(void) {\n"
    "	int fd = open(getenv(\"MALLOC_COUNT\"), O_RDWR);\n"
    "	if (fd >= 0) count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);\n"
    "	close(fd); }\n"
    "#define COUNT __atomic_add_fetch(count, 1, __ATOMIC_RELAXED)\n"
    "void *malloc(size_t n) { COUNT; return __libc_malloc(n); }\n"
    "void *calloc(size_t a, size_t b) { COUNT; return __libc_calloc(a, b); }\n"
    "void *realloc(void *p, size_t n) { COUNT; return __libc_realloc(p, n); }\n";

/* A library that counts allocations into the page that is returned. */
static volatile unsigned long *
build_counter(struct srv *s)
{
	const char *page = srv_path(s, "count"), *source = srv_path(s, "count.c"),
		   *lib = srv_path(s, "count.so");
	static char kept[256];
	int fd = open(page, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	FILE *f = fopen(source, "we");

	CU_ASSERT_FATAL(fd >= 0 && ftruncate(fd, 4096) == 0 && f);
	fputs(counter_source, f);
	fclose(f);
	CU_ASSERT_EQUAL_FATAL(
	    run_program((const char *[]){"cc", "-O1", "-shared", "-fPIC", "-o", lib, source, NULL}),
	    0);
	void *count = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CU_ASSERT_FATAL(count != MAP_FAILED);
	close(fd);
	setenv("MALLOC_COUNT", page, 1);
	snprintf(kept, sizeof kept, "%s", lib);
	s->preload = kept;
	return count;
}

/* Warm attributes, lookups and READs of every way of sending allocate nothing: a thousand of each
 * make not even ten allocations. */
TEST(cost, warm_requests_allocate_nothing)
{
	static const char *const modes[] = {"-zauto", "-zalways", "-znever"};

	if (under_sanitizer()) {
		printf("not counted under a sanitizer, which has its own malloc ... ");
		return;
	}
	for (size_t m = 0; m < 3; m++) {
		struct srv *s = srv_new();
		volatile unsigned long *count = build_counter(s);

		bed(s, modes[m]);
		struct cl *c = srv_client(s);
		nfs_fh3 root, fh = cl_handle(c, srv_path(s, "a"), "file"), again;
		unsigned long before = 0;

		CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "a"), &root), MNT3_OK);
		for (int round = 0; round < 2; round++) {
			before = *count;
			CU_ASSERT_FATAL(before > 0);
			read_deep(c, &fh, 8192, 16, 60);
			read_deep(c, &fh, 65536, 4, 250);
			for (int i = 0; i < 1000; i++) {
				CU_ASSERT_EQUAL_FATAL(cl_getattr(c, &fh, NULL), NFS3_OK);
				CU_ASSERT_EQUAL_FATAL(cl_lookup(c, &root, "file", &again), NFS3_OK);
			}
		}
		if (*count - before >= 10)
			fprintf(stderr, "\n%s: %lu allocations\n", modes[m], *count - before);
		CU_ASSERT(*count - before < 10);
		munmap((void *)(uintptr_t)count, 4096);
		cl_free(c);
		srv_free(s);
	}
}
