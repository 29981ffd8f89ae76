/* SPDX-License-Identifier: BSD-2-Clause */
/* What the server keeps open stands in nobody's way for long: a file system that clients have
 * written to can be made read-only, or be unmounted once it is not exported any more. */
#include <stdlib.h>
#include <sys/mount.h>

#include "change.h"
#include "server.h"

static bool
turns_read_only(struct srv *s)
{
	return mount(NULL, srv_path(s, "disk"), NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0;
}

static void
turns_back(struct srv *s)
{
	CU_ASSERT_EQUAL_FATAL(mount(NULL, srv_path(s, "disk"), NULL, MS_REMOUNT, NULL), 0);
}

static nfs_fh3
written(struct cl *c, const nfs_fh3 *root, stable_how how)
{
	nfs_fh3 fh = {0};

	CU_ASSERT_EQUAL(ch_create(c, root, "f", &fh), NFS3_OK);
	CU_ASSERT_EQUAL(ch_pattern(c, &fh, 1, 0, 20000, how, NULL), NFS3_OK);
	return fh;
}

static void
is_read_only(struct srv *s, struct cl *c, const nfs_fh3 *root, const nfs_fh3 *fh)
{
	CU_ASSERT_EQUAL(ch_pattern(c, fh, 1, 0, 10, FILE_SYNC, NULL), NFS3ERR_ROFS);
	turns_back(s);
	CU_ASSERT_EQUAL(ch_remove(c, root, "f"), NFS3_OK);
}

static struct cl *
serve(struct srv *s, const char *options, nfs_fh3 *root)
{
	srv_ext4(s, "disk", 32);
	s->options = options;
	srv_start(s, NULL, "disk", NULL);
	struct cl *c = srv_client(s);
	CU_ASSERT_EQUAL_FATAL(cl_mnt(c, srv_path(s, "disk"), root), MNT3_OK);
	return c;
}

/* A file system to which clients have written turns read-only soon after they have committed, by
 * itself, with its clients still there. */
TEST(idle, turns_read_only)
{
	struct srv *s = srv_new();
	nfs_fh3 root, fh;
	struct cl *c = serve(s, "rw,no_root_squash,insecure", &root);

	fh = written(c, &root, FILE_SYNC);
	UNTIL(turns_read_only(s));
	is_read_only(s, c, &root, &fh);
	fh = written(c, &root, UNSTABLE);
	CU_ASSERT_EQUAL(ch_commit(c, &fh, NULL), NFS3_OK);
	UNTIL(turns_read_only(s));
	is_read_only(s, c, &root, &fh);
	written(c, &root, FILE_SYNC);
	CU_ASSERT_EQUAL(ch_remove(c, &root, "f"), NFS3_OK);
	UNTIL(turns_read_only(s));
	turns_back(s);
	cl_free(c);
	srv_free(s);
}

static void
settled(const char *options)
{
	struct srv *s = srv_new();
	nfs_fh3 root, fh;
	struct cl *c = serve(s, options, &root);
	const char *const settle[] = {"splicectl", "-s", srv_path(s, "state"), "settle", NULL};

	fh = written(c, &root, UNSTABLE);
	CU_ASSERT_FALSE(turns_read_only(s));
	CU_ASSERT_EQUAL(run_program(settle), 0);
	CU_ASSERT_TRUE(turns_read_only(s));
	is_read_only(s, c, &root, &fh);
	cl_free(c);
	srv_free(s);
}

/* What nobody has committed, and what an async export holds, goes when the administrator says so.
 */
TEST(idle, settles_when_told)
{
	settled("rw,no_root_squash,insecure");
	settled("rw,no_root_squash,insecure,async");
}

/* A file system that is not exported any more can be unmounted while its clients are still there.
 */
TEST(idle, is_let_go)
{
	struct srv *s = srv_new();
	nfs_fh3 root;
	struct cl *c = serve(s, "rw,no_root_squash,insecure", &root);
	const char *disk = s->mount[s->nmounts - 1];
	const char *const unexport[] = {"splicectl", "-s", srv_path(s, "state"),
					"unexport",  disk, NULL};

	written(c, &root, UNSTABLE);
	CU_ASSERT_EQUAL(run_program(unexport), 0);
	CU_ASSERT_EQUAL(cl_getattr(c, &root, NULL), NFS3ERR_STALE);
	UNTIL(umount(disk) == 0);
	free(s->mount[--s->nmounts]);
	cl_free(c);
	srv_free(s);
}
