/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * File systems that come, go and hang inside an export while it is served.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"

static struct srv *
served(void)
{
	struct srv *s = srv_new();

	srv_mkdir(s, "a");
	srv_mkdir(s, "a/m");
	pattern_file(srv_path(s, "a/file"), 1, 1000);
	pattern_file(srv_path(s, "a/m/beneath"), 2, 1000);
	s->options = "rw,insecure,no_root_squash,crossmnt";
	return s;
}

static nfs_fh3
root_of(struct srv *s, struct cl *c)
{
	nfs_fh3 fh = {0};

	CU_ASSERT_EQUAL_FATAL(cl_mnt(c, srv_path(s, "a"), &fh), MNT3_OK);
	return fh;
}

/* Does a name of a directory's lead to a directory with this name in it? */
static bool
leads_to(struct cl *c, const nfs_fh3 *dir, const char *name, const char *what)
{
	nfs_fh3 fh, in;

	return cl_lookup(c, dir, name, &fh) == NFS3_OK && cl_lookup(c, &fh, what, &in) == NFS3_OK;
}

/* Is the image still in use by a loop device? */
static bool
in_use(struct srv *s, const char *image)
{
	char cmd[300];

	snprintf(cmd, sizeof cmd, "test -n \"$(losetup -j %s)\"", srv_path(s, image));
	return system(cmd) == 0;
}

/* Without a reload, what is mounted is led into; and what is unmounted, which works at once though
 * a client has a file of it, is stale, and its disk is let go of while the connection idles. */
TEST(fault_mounts, come_and_go)
{
	struct srv *s = served();
	struct cl *c;
	nfs_fh3 root, m, file;
	READ3res r;

	srv_start(s, (const char *[]){"-j1", NULL}, "a", NULL);
	c = srv_client(s);
	root = root_of(s, c);
	CU_ASSERT_TRUE(leads_to(c, &root, "m", "beneath"));
	srv_ext4(s, "a/m", 32);
	pattern_file(srv_path(s, "a/m/inside"), 3, 1000);
	UNTIL(leads_to(c, &root, "m", "inside"));
	CU_ASSERT_EQUAL(cl_lookup(c, &root, "m", &m), NFS3_OK);
	CU_ASSERT_EQUAL(cl_lookup(c, &m, "inside", &file), NFS3_OK);
	CU_ASSERT_EQUAL(cl_read(c, &file, 0, 1000, &r), NFS3_OK);
	CU_ASSERT_TRUE(in_use(s, "a/m.image"));
	CU_ASSERT_EQUAL(umount(s->mount[s->nmounts - 1]), 0);
	free(s->mount[--s->nmounts]);
	UNTIL(!in_use(s, "a/m.image"));
	CU_ASSERT_EQUAL(cl_getattr(c, &file, NULL), NFS3ERR_STALE);
	CU_ASSERT_TRUE(leads_to(c, &root, "m", "beneath"));
	cl_free(c);
	srv_free(s);
}

/* Is somebody held up inside slowfs? */
static bool
waiting(struct srv *s)
{
	return srv_waiting(s, "getattr") + srv_waiting(s, "open") > 0;
}

/* A file system that does not answer holds up neither the start nor anybody else; when it
answers, it is there. */
TEST(fault_mounts, one_hangs)
{
	struct srv *s = served();
	struct cl *c;
	nfs_fh3 root, fh;

	srv_mkdir(s, "real");
	pattern_file(srv_path(s, "real/inside"), 3, 1000);
	srv_slowfs(s, "real", "a/hung");
	srv_tell(s, "hold all");
	srv_start(s, (const char *[]){"-j1", NULL}, "a", NULL);
	UNTIL(waiting(s));
	c = srv_client(s);
	root = root_of(s, c);
	CU_ASSERT_EQUAL(cl_lookup(c, &root, "file", &fh), NFS3_OK);
	CU_ASSERT_EQUAL(cl_getattr(c, &fh, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(cl_lookup(c, &root, "hung", &fh), NFS3_OK);
	CU_ASSERT_FALSE(leads_to(c, &root, "hung", "inside"));
	srv_tell(s, "release all");
	UNTIL(leads_to(c, &root, "hung", "inside"));
	cl_free(c);
	srv_free(s);
}
