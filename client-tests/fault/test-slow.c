/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A disk that sleeps: what is in memory is served meanwhile, by the same loop; and file systems
 * that do not splice, or lie about sizes, are read all the same.
 *
 * slowfs holds operations until it is told to release them, so these tests know that a READ is
 * stuck while they ask for something else.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

#define MIB (1u << 20)

#define ROUNDS 8

/* A disk that can be held: ext4 on a loop device over an image that slowfs serves. It holds "warm",
 * 1 MiB, and "cold0"..., 4 MiB each. Nothing of them is in memory: the disk was filled through
 * another mount. (Pages that were sent once cannot be dropped at will: freed network buffers that
 * hold them may wait for their processor's next packet.) */
static struct srv *
slow_disk(void)
{
	struct srv *s = srv_new();

	srv_mkdir(s, "images");
	srv_ext4(s, "images/disk", 64);
	for (int i = 0; i < ROUNDS; i++) {
		char name[32];

		snprintf(name, sizeof name, "images/disk/cold%d", i);
		pattern_file(srv_path(s, name), 1, 4 * MIB);
	}
	pattern_file(srv_path(s, "images/disk/warm"), 2, MIB);
	CU_ASSERT_EQUAL_FATAL(umount(s->mount[--s->nmounts]), 0);
	free(s->mount[s->nmounts]);
	srv_slowfs(s, "images/disk.image", "slow");
	srv_mount_image(s, "slow/disk", "disk");
	return s;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Attributes and warm data are answered without delay while something else sleeps. */
static void
warm_is_fast(struct cl *c, const nfs_fh3 *warm, uint32_t tag)
{
	enum { N = 200 };
	double took[N];
	READ3res r;

	for (int i = 0; i < N; i++) {
		double began = now_s();

		if (i % 2) {
			CU_ASSERT_EQUAL_FATAL(cl_getattr(c, warm, NULL), NFS3_OK);
		} else {
			uint64_t off = (uint64_t)i * 4099;

			CU_ASSERT_EQUAL_FATAL(cl_read(c, warm, off, 65536, &r), NFS3_OK);
			CU_ASSERT_TRUE(pattern_is(tag, off, r.READ3res_u.resok.data.base,
						  r.READ3res_u.resok.count));
		}
		took[i] = now_s() - began;
	}
	qsort(took, N, sizeof *took, compare_doubles);
	CU_ASSERT(took[N / 2] < 0.005);
	CU_ASSERT(took[N * 95 / 100] < (under_sanitizer() ? 0.5 : 0.05));
}

/* READs of a file whose disk does not answer, overlapping each other, hold up neither attributes
 * nor warm READs on the same loop, of another file nor on other connections; when the disk answers,
 * so do they, with the right bytes. */
TEST(slow, a_sleeping_disk_does_not_stop_the_loop)
{
	struct srv *s = slow_disk();

	srv_start(s, (const char *[]){"-j1", NULL}, "disk", NULL);
	struct cl *c = srv_client(s), *sleeper = srv_client(s);
	nfs_fh3 cold = cl_handle(c, srv_path(s, "disk"), "cold0"),
		warm = cl_handle(c, srv_path(s, "disk"), "warm");
	READ3res r;

	CU_ASSERT_EQUAL(cl_read(c, &warm, 0, MIB, &r), NFS3_OK);
	CU_ASSERT_EQUAL(cl_getattr(c, &cold, NULL), NFS3_OK);
	srv_tell(s, "hold read");
	for (uint32_t i = 0; i < 8; i++)
		cl_call_read(sleeper, &cold, i * 100000, 262144);
	UNTIL(srv_waiting(s, "read") > 0);
	warm_is_fast(c, &warm, 2);
	CU_ASSERT_EQUAL(cl_getattr(c, &cold, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(cl_getattr(sleeper, &warm, NULL), NFS3_OK); /* overtakes the READs */
	srv_tell(s, "release read");
	for (int i = 0; i < 8; i++) {
		CU_ASSERT_TRUE_FATAL(cl_recv(sleeper));
		CU_ASSERT_EQUAL(cl_read_results(sleeper, &r), NFS3_OK);
		CU_ASSERT_TRUE(pattern_is(1, (cl_xid(sleeper) - 1) * 100000,
					  r.READ3res_u.resok.data.base, 262144));
	}
	cl_free(c);
	cl_free(sleeper);
	srv_free(s);
}

/* The same on FUSE, where any call may sleep: attributes and data of a local export are answered
 * meanwhile. */
TEST(slow, a_sleeping_fuse_does_not_stop_the_loop)
{
	struct srv *s = srv_new();

	srv_mkdir(s, "a");
	srv_mkdir(s, "source");
	pattern_file(srv_path(s, "a/warm"), 2, MIB);
	pattern_file(srv_path(s, "source/file"), 1, MIB);
	srv_slowfs(s, "source", "slow");
	srv_start(s, (const char *[]){"-j1", NULL}, "a", "slow", NULL);
	struct cl *c = srv_client(s), *sleeper = srv_client(s);
	nfs_fh3 cold = cl_handle(c, srv_path(s, "slow"), "file"),
		warm = cl_handle(c, srv_path(s, "a"), "warm");
	READ3res r;

	CU_ASSERT_EQUAL(cl_read(c, &warm, 0, MIB, &r), NFS3_OK);
	srv_tell(s, "hold all");
	for (int i = 0; i < 4; i++)
		cl_call_getattr(sleeper, &cold);
	cl_call_read(sleeper, &cold, 0, 65536);
	UNTIL(srv_waiting(s, "getattr") > 0);
	warm_is_fast(c, &warm, 2);
	srv_tell(s, "release all");
	for (int i = 0; i < 5; i++)
		CU_ASSERT_TRUE_FATAL(cl_recv(sleeper));
	CU_ASSERT_EQUAL(cl_read(sleeper, &cold, 100, 65536, &r), NFS3_OK);
	CU_ASSERT_TRUE(pattern_is(1, 100, r.READ3res_u.resok.data.base, 65536));
	cl_free(c);
	cl_free(sleeper);
	srv_free(s);
}

/* One client's READs that all sleep leave workers for another's. */
TEST(slow, one_client_cannot_take_every_worker)
{
	struct srv *s = srv_new();

	srv_mkdir(s, "one");
	srv_mkdir(s, "two");
	pattern_file(srv_path(s, "one/file"), 1, MIB);
	pattern_file(srv_path(s, "two/file"), 2, MIB);
	srv_slowfs(s, "one", "slow");
	srv_start(s, (const char *[]){"-j1", "-w4", NULL}, "slow", "two", NULL);
	struct cl *greedy = srv_client(s), *c = srv_client(s);
	nfs_fh3 cold = cl_handle(greedy, srv_path(s, "slow"), "file"), fh;

	srv_tell(s, "hold all");
	for (int i = 0; i < 40; i++)
		cl_call_getattr(greedy, &cold);
	UNTIL(srv_waiting(s, "getattr") > 0);
	fh = cl_handle(c, srv_path(s, "two"), "file"); /* MNT and LOOKUP need workers */
	CU_ASSERT_EQUAL(cl_getattr(c, &fh, NULL), NFS3_OK);
	srv_tell(s, "release all");
	for (int i = 0; i < 40; i++)
		CU_ASSERT_TRUE_FATAL(cl_recv(greedy));
	cl_free(greedy);
	cl_free(c);
	srv_free(s);
}

/* Clients that are gone when their READs come back from the disk leave nothing behind, in
 * descriptors or memory; nor does a client that does not take what the disk gave. */
TEST(slow, results_nobody_waits_for_leave_nothing)
{
	struct srv *s = slow_disk();

	srv_start(s, (const char *[]){"-j1", "-zalways", NULL}, "disk", NULL);
	struct cl *c = srv_client(s);
	READ3res r;
	unsigned fds = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct cl *gone[8];
		char name[32];

		snprintf(name, sizeof name, "cold%d", round);
		nfs_fh3 cold = cl_handle(c, srv_path(s, "disk"), name);
		srv_tell(s, "hold read");
		for (int k = 0; k < 8; k++) {
			gone[k] = cl_new(s->port, 4096);
			for (uint32_t i = 0; i < 4; i++)
				cl_call_read(gone[k], &cold, i * MIB, MIB);
		}
		UNTIL(srv_waiting(s, "read") > 0);
		for (int k = 0; k < 4; k++)
			cl_reset(gone[k]); /* before they come back */
		srv_tell(s, "release read");
		for (int k = 4; k < 8; k++) {
			char some[1000];

			CU_ASSERT_TRUE(cl_bytes(gone[k], some, sizeof some));
		}
		UNTIL(srv_idle(s)); /* all have come back from the disk and wait to be sent */
		for (int k = 4; k < 8; k++)
			cl_reset(gone[k]);
		CU_ASSERT_EQUAL(cl_read(c, &cold, 1000000, 4096, &r), NFS3_OK);
		CU_ASSERT_TRUE(pattern_is(1, 1000000, r.READ3res_u.resok.data.base, 4096));
		if (round == 1)
			fds = srv_fds(s);
	}
	UNTIL(srv_fds(s) <= fds + 48); /* idle pipes come and go */
	cl_free(c);
	srv_free(s);
}

/* "name":N of a report. */
static unsigned long
number(const char *json, const char *name)
{
	char quoted[64];

	snprintf(quoted, sizeof quoted, "\"%s\":", name);
	const char *at = strstr(json, quoted);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	return strtoul(at + strlen(quoted), NULL, 10);
}

/* READs that wait for a disk hold no pipes, however many they are: only those that workers are busy
 * with do. All pipes together stay within their limit, and every reply is as long as was asked for,
 * also when it touches a page more than a pipe has room for. */
TEST(slow, reads_that_wait_hold_no_pipes)
{
	enum { CLIENTS = 30, READS = 3, WORKERS = 4 };
	struct srv *s = slow_disk();
	struct cl *cl[CLIENTS];
	char json[16384];
	READ3res r;

	srv_start(s, (const char *[]){"-j1", "-w4", "-zalways", NULL}, "disk", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 cold = cl_handle(c, srv_path(s, "disk"), "cold0");
	CU_ASSERT_EQUAL(cl_getattr(c, &cold, NULL), NFS3_OK);
	for (int i = 0; i < CLIENTS; i++) {
		cl[i] = srv_client(s);
		CU_ASSERT_EQUAL(cl_getattr(cl[i], &cold, NULL), NFS3_OK);
	}
	unsigned fds = srv_fds(s);
	srv_tell(s, "hold read");
	for (int i = 0; i < CLIENTS; i++)
		for (uint32_t k = 0; k < READS; k++)
			cl_call_read(cl[i], &cold, k * MIB + (uint32_t)i * 131, MIB);
	for (int i = 0; i < CLIENTS; i++) /* overtakes the READs, so those were taken in */
		CU_ASSERT_EQUAL(cl_getattr(cl[i], &cold, NULL), NFS3_OK);
	UNTIL(srv_waiting(s, "read") > 0);
	CU_ASSERT(srv_fds(s) <= fds + 2 * WORKERS + 8);
	srv_tell(s, "release read");
	for (int i = 0; i < CLIENTS; i++)
		for (int k = 0; k < READS; k++) {
			CU_ASSERT_TRUE_FATAL(cl_recv(cl[i]));
			CU_ASSERT_EQUAL_FATAL(cl_read_results(cl[i], &r), NFS3_OK);
			CU_ASSERT_EQUAL(r.READ3res_u.resok.count, MIB);
			CU_ASSERT_TRUE(pattern_is(1, (cl_xid(cl[i]) - 2) * MIB + (uint32_t)i * 131,
						  r.READ3res_u.resok.data.base,
						  r.READ3res_u.resok.count));
		}
	srv_stat(s, json, sizeof json);
	unsigned long pages = number(json, "pipe_pages"), most = number(json, "pipe_pages_limit");
	CU_ASSERT(pages > 0 && pages <= most);
	for (int i = 0; i < CLIENTS; i++)
		cl_free(cl[i]);
	cl_free(c);
	srv_free(s);
}

/* A disk error under a READ is that READ's status, not the end of the connection, and is not
 * remembered. */
TEST(slow, a_disk_error_is_a_status)
{
	struct srv *s = slow_disk();

	srv_start(s, (const char *[]){"-j1", "-zalways", NULL}, "disk", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 cold = cl_handle(c, srv_path(s, "disk"), "cold0");
	READ3res r;

	CU_ASSERT_EQUAL(cl_getattr(c, &cold, NULL), NFS3_OK);
	srv_tell(s, "fail read EIO");
	CU_ASSERT_EQUAL(cl_read(c, &cold, 2 * MIB, 65536, &r), NFS3ERR_IO);
	CU_ASSERT_EQUAL(cl_getattr(c, &cold, NULL), NFS3_OK);
	srv_tell(s, "fail read 0");
	CU_ASSERT_EQUAL(cl_read(c, &cold, 2 * MIB, 65536, &r), NFS3_OK);
	CU_ASSERT_TRUE(pattern_is(1, 2 * MIB, r.READ3res_u.resok.data.base, 65536));
	cl_free(c);
	srv_free(s);
}

/* Files that refuse splice, or say a size that is not theirs, are read to their end: procfs. */
TEST(slow, procfs_is_read_by_copying)
{
	static const char *const files[] = {"sys/kernel/ostype", "version", "filesystems"};
	struct srv *s = srv_new();
	struct cl *c;

	srv_mkdir(s, "a");
	srv_mkdir(s, "proc");
	CU_ASSERT_EQUAL_FATAL(mount("proc", srv_path(s, "proc"), "proc", 0, NULL), 0);
	s->mount[s->nmounts++] = strdup(srv_path(s, "proc"));
	srv_start(s, (const char *[]){"-zalways", NULL}, "proc", NULL);
	c = srv_client(s);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		nfs_fh3 fh = cl_handle(c, srv_path(s, "proc"), files[i]);
		char path[300], want[8192];
		READ3res r;

		snprintf(path, sizeof path, "/proc/%s", files[i]);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, want, sizeof want);

		close(fd);
		CU_ASSERT_EQUAL_FATAL(cl_read(c, &fh, 0, sizeof want, &r), NFS3_OK);
		CU_ASSERT_EQUAL(r.READ3res_u.resok.count, n);
		CU_ASSERT_TRUE(n > 0 && memcmp(r.READ3res_u.resok.data.base, want, (size_t)n) == 0);
		CU_ASSERT_EQUAL(cl_read(c, &fh, (uint64_t)n, 4096, &r), NFS3_OK);
		CU_ASSERT_EQUAL(r.READ3res_u.resok.count, 0);
		CU_ASSERT_TRUE(r.READ3res_u.resok.eof);
	}
	cl_free(c);
	srv_free(s);
}
