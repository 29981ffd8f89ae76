/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Restarts and ends: handles outlive the server, one server per state directory, a stop finishes
 * what runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handle.h"
#include "server.h"
#include "store.h"

#define MIB (1u << 20)

static struct srv *
bed(void)
{
	struct srv *s = srv_new();

	srv_mkdir(s, "a");
	srv_mkdir(s, "a/dir");
	srv_mkdir(s, "b");
	pattern_file(srv_path(s, "a/dir/file"), 1, 100000);
	pattern_file(srv_path(s, "b/other"), 2, 100000);
	return s;
}

/* Does this handle, from an earlier life, still mean these contents? */
static void
still(struct srv *s, const nfs_fh3 *fh, uint32_t tag)
{
	struct cl *c = srv_client(s);
	READ3res r;

	CU_ASSERT_EQUAL_FATAL(cl_read(c, fh, 1000, 5000, &r), NFS3_OK);
	CU_ASSERT_TRUE(pattern_is(tag, 1000, r.READ3res_u.resok.data.base, 5000));
	cl_free(c);
}

/* Handles mean the same after kill -9 and a restart, with the exports in another order, after their
 * files were renamed meanwhile, and with the store lost. */
TEST(restart, handles_outlive_the_server)
{
	struct srv *s = bed();

	srv_start(s, NULL, "a", "b", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 file = cl_handle(c, srv_path(s, "a"), "dir/file"),
		other = cl_handle(c, srv_path(s, "b"), "other");

	cl_free(c);
	CU_ASSERT_TRUE(WIFSIGNALED(srv_stop(s, SIGKILL)));
	srv_start(s, NULL, "a", "b", NULL);
	still(s, &file, 1);
	srv_stop(s, SIGKILL);
	CU_ASSERT_EQUAL(rename(srv_path(s, "a/dir"), srv_path(s, "a/moved")), 0);
	CU_ASSERT_EQUAL(rename(srv_path(s, "a/moved/file"), srv_path(s, "a/moved/renamed")), 0);
	srv_start(s, NULL, "b", "a", NULL);
	still(s, &file, 1);
	still(s, &other, 2);
	CU_ASSERT_EQUAL(srv_stop(s, SIGTERM), 0);
	run_program((const char *[]){"rm", "-rf", srv_path(s, "state/store.lmdb"), NULL});
	srv_start(s, NULL, "a", "b", NULL);
	still(s, &file, 1);
	still(s, &other, 2);
	srv_free(s);
}

/* A handle of a removed file is stale, also when its inode number is in use again; never another
 * file's contents. */
TEST(restart, handles_of_removed_files_are_stale)
{
	struct srv *s = bed();

	srv_ext4(s, "a/disk", 32);
	pattern_file(srv_path(s, "a/disk/old"), 5, 10000);
	srv_start(s, NULL, "a/disk", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 old = cl_handle(c, srv_path(s, "a/disk"), "old");
	READ3res r;

	CU_ASSERT_EQUAL(cl_read(c, &old, 0, 10, &r), NFS3_OK);
	srv_stop(s, SIGKILL);
	cl_free(c);
	CU_ASSERT_EQUAL(unlink(srv_path(s, "a/disk/old")), 0);
	for (int i = 0; i < 20; i++) {
		char name[64];

		snprintf(name, sizeof name, "a/disk/new%d", i);
		pattern_file(srv_path(s, name), 6, 10000);
	}
	srv_start(s, NULL, "a/disk", NULL);
	c = srv_client(s);
	CU_ASSERT_EQUAL(cl_read(c, &old, 0, 10, &r), NFS3ERR_STALE);
	CU_ASSERT_EQUAL(cl_getattr(c, &old, NULL), NFS3ERR_STALE);
	cl_free(c);
	srv_free(s);
}

/* A handle of one export with the id of another, any bit changed, or of another server's key, opens
 * nothing. */
TEST(restart, forged_handles_open_nothing)
{
	struct srv *s = bed();

	srv_start(s, NULL, "a", "b", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 file = cl_handle(c, srv_path(s, "a"), "dir/file"),
		other = cl_handle(c, srv_path(s, "b"), "other"), mixed = file;

	memcpy(mixed.data + 4, other.data + 4, 4);
	CU_ASSERT_EQUAL(cl_getattr(c, &mixed, NULL), NFS3ERR_BADHANDLE);
	for (unsigned bit = 0; bit < file.len * 8; bit++) {
		mixed = file;
		mixed.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
		CU_ASSERT_EQUAL_FATAL(cl_getattr(c, &mixed, NULL), NFS3ERR_BADHANDLE);
	}
	for (mixed.len = 0; mixed.len <= 64; mixed.len++)
		CU_ASSERT_NOT_EQUAL(cl_getattr(c, &mixed, NULL), NFS3_OK);
	cl_free(c);
	srv_stop(s, SIGTERM);
	CU_ASSERT_EQUAL(rename(srv_path(s, "state"), srv_path(s, "former")), 0);
	srv_start(s, NULL, "a", "b", NULL);
	c = srv_client(s);
	CU_ASSERT_EQUAL(cl_getattr(c, &file, NULL), NFS3ERR_BADHANDLE);
	cl_free(c);
	srv_free(s);
}

/* A second server on the same state directory ends with a message that names it; the first goes on,
 * and after kill -9 no stale lock keeps the next one out. */
TEST(restart, one_server_per_state_directory)
{
	struct srv *s = bed(), second = {.options = s->options, .statedir = s->statedir};

	srv_start(s, NULL, "a", NULL);
	strcpy(second.base, s->base);
	pthread_mutex_init(&second.lock, NULL);
	pthread_cond_init(&second.said, NULL);
	srv_spawn(&second, NULL, (const char *[]){"b", NULL});
	CU_ASSERT_FALSE(srv_ready(&second));
	int status = srv_stop(&second, 0);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) != 0);
	CU_ASSERT_TRUE(srv_said(&second, srv_path(s, "state")));
	free(second.log);
	struct cl *c = srv_client(s);
	nfs_fh3 root;
	CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "a"), &root), MNT3_OK);
	cl_free(c);
	for (int i = 0; i < 5; i++) {
		srv_stop(s, SIGKILL);
		srv_start(s, NULL, "a", NULL);
	}
	srv_free(s);
}

/* SIGTERM lets a READ that has begun to leave arrive whole, and one that a slow disk holds up get
 * its reply, and then ends with success. */
TEST(restart, a_stop_finishes_what_runs)
{
	struct srv *s = bed();

	pattern_file(srv_path(s, "a/big"), 3, 4 * MIB);
	srv_slowfs(s, "a", "slow");
	srv_start(s, (const char *[]){"-j1", NULL}, "a", "slow", NULL);
	struct cl *c = srv_client(s), *slow = srv_client(s);
	nfs_fh3 big = cl_handle(c, srv_path(s, "a"), "big"),
		file = cl_handle(slow, srv_path(s, "slow"), "dir/file");
	char first;
	READ3res r;

	cl_call_read(c, &big, 0, MIB);
	CU_ASSERT_EQUAL_FATAL(recv(c->fd, &first, 1, MSG_PEEK), 1);
	srv_tell(s, "hold read");
	cl_call_read(slow, &file, 0, 100000);
	UNTIL(srv_waiting(s, "read") > 0);
	kill(s->pid, SIGTERM);
	UNTIL(srv_said(s, "finishing calls"));
	srv_tell(s, "release read");
	CU_ASSERT_TRUE_FATAL(cl_recv(slow));
	CU_ASSERT_EQUAL(cl_read_results(slow, &r), NFS3_OK);
	CU_ASSERT_TRUE(pattern_is(1, 0, r.READ3res_u.resok.data.base, 100000));
	CU_ASSERT_TRUE_FATAL(cl_recv(c));
	CU_ASSERT_EQUAL(cl_read_results(c, &r), NFS3_OK);
	CU_ASSERT_TRUE(pattern_is(3, 0, r.READ3res_u.resok.data.base, MIB));
	CU_ASSERT_EQUAL(srv_stop(s, 0), 0);
	cl_free(c);
	cl_free(slow);
	srv_free(s);
}

/* ---- a store of many rows ---- */

static void
fill_store(struct srv *s, size_t rows)
{
	enum { STEP = 1000 };
	char err[512] = "";

	srv_mkdir(s, "state");
	chmod(srv_path(s, "state"), 0700);
	struct store *store = store_open(srv_path(s, "state"), err, sizeof err);
	struct store_row *row = calloc(STEP, sizeof *row);

	CU_ASSERT_PTR_NOT_NULL_FATAL(store);
	for (size_t i = 0; i < rows; i += STEP) {
		for (size_t k = 0; k < STEP; k++) {
			row[k] = (struct store_row){
			    .id = {.fs_id = 7, .type = S_IFREG, .ino = i + k + 1, .extra = i + k},
			    .parent = 0};
			row[k].namelen =
			    (uint16_t)snprintf(row[k].name, sizeof row[k].name, "file-%zu", i + k);
		}
		CU_ASSERT_EQUAL_FATAL(store_issue(store, row, STEP), 0);
	}
	store_close(store);
	free(row);
}

/* With a store of a million rows the first request is answered as soon after the start as with
 * none. */
TEST(restart, a_large_store_does_not_delay_the_start)
{
	struct srv *s = bed();
	double began, took, best = 1e9;
	nfs_fh3 root;

	fill_store(s, under_sanitizer() ? 100000 : 1000000);
	for (int i = 0; i < 3; i++) {
		began = now_s();
		srv_start(s, NULL, "a", NULL);
		struct cl *c = srv_client(s);
		CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "a"), &root), MNT3_OK);
		CU_ASSERT_EQUAL(cl_getattr(c, &root, NULL), NFS3_OK);
		took = now_s() - began;
		best = took < best ? took : best;
		cl_free(c);
		srv_stop(s, SIGTERM);
	}
	CU_ASSERT(best < (under_sanitizer() ? 2 : 0.1));
	srv_free(s);
}
