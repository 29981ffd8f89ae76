/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may do what: the client's rule, its port, the squashed caller, and the kernel's permissions
 * as that caller. The expected answers are POSIX's, worked out here from mode bits, not asked of
 * the server.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bed.h"

enum { OWNER = 1111, GROUP = 2222, OTHER = 3333 };

static void
as(struct bed *b, uint32_t uid, uint32_t gid)
{
	b->uid = uid;
	b->gid = gid;
	b->ngids = 0;
}

static void
give(struct bed *b, const char *path, mode_t mode, uid_t uid, gid_t gid)
{
	CU_ASSERT_EQUAL(chown(bed_path(b, path), uid, gid), 0);
	CU_ASSERT_EQUAL(chmod(bed_path(b, path), mode), 0);
}

static uint32_t
access_of(struct bed *b, const nfs_fh3 *fh, uint32_t asked)
{
	ACCESS3args a = {*fh, asked};
	ACCESS3res r;

	if (BED_NFS(b, ACCESS, &a, &r) != NFS3_OK)
		return UINT32_MAX;
	CU_ASSERT_TRUE(r.ACCESS3res_u.resok.obj_attributes.attributes_follow);
	return r.ACCESS3res_u.resok.access;
}

/* rwx that a caller has by the mode bits; root (unsquashed) has all but x where nobody has. */
static unsigned
posix(mode_t mode, uint32_t uid, uint32_t gid, bool dir)
{
	if (uid == 0)
		return 6 | (dir || (mode & 0111) ? 1u : 0);
	return (uid == OWNER ? mode >> 6 : gid == GROUP ? mode >> 3 : mode) & 7;
}

static uint32_t
expected(unsigned rwx, bool dir)
{
	uint32_t bits = rwx & 4 ? ACCESS3_READ : 0;

	if (rwx & 1)
		bits |= dir ? ACCESS3_LOOKUP : ACCESS3_EXECUTE;
	return bits; /* a read-only service grants no change */
}

/* ACCESS for every mode of a file and of a directory, and every caller, is what POSIX says; never
 * more than asked. */
static void
access_table(const char *options, bool squashed)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = options});
	static const uint32_t who[][2] = {
	    {0, 0}, {OWNER, OTHER}, {OTHER, GROUP}, {OTHER, OTHER}, {65534, 65534}};
	unsigned wrong = 0;

	bed_write(b, "a/file", "x", 1);
	bed_mkdir(b, "a/dir", 0700);
	bed_settle(b);
	nfs_fh3 fh[2] = {bed_fh(b, &b->root_a, "file"), bed_fh(b, &b->root_a, "dir")};
	for (mode_t mode = 0; mode <= 0777; mode += check_full() ? 1 : 9) {
		give(b, "a/file", mode, OWNER, GROUP);
		give(b, "a/dir", mode, OWNER, GROUP);
		for (size_t w = 0; w < sizeof who / sizeof *who; w++) {
			uint32_t uid = who[w][0] == 0 && squashed ? 65534 : who[w][0];
			uint32_t gid = who[w][0] == 0 && squashed ? 65534 : who[w][1];

			as(b, who[w][0], who[w][1]);
			for (int dir = 0; dir < 2; dir++) {
				uint32_t want = expected(posix(mode, uid, gid, dir), dir);

				wrong += access_of(b, &fh[dir], 0x3f) != want;
				wrong +=
				    access_of(b, &fh[dir], ACCESS3_READ) != (want & ACCESS3_READ);
			}
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(access_of(b, &fh[0], 0), 0);
	bed_free(b);
}

TEST(wire_who, access_root_squash)
{
	access_table("ro", true);
}

TEST(wire_who, access_no_root_squash)
{
	access_table("ro,no_root_squash", false);
}

/* all_squash makes everyone the anonymous user, whose id can be chosen. */
TEST(wire_who, all_squash)
{
	struct bed *b =
	    bed_new(&(struct bed_opts){.options_a = "ro,all_squash,anonuid=1111,anongid=2222"});
	nfs_fh3 fh;

	bed_write(b, "a/file", "x", 1);
	give(b, "a/file", 0400, OWNER, 0);
	bed_settle(b);
	as(b, 0, 0);
	fh = bed_fh(b, &b->root_a, "file");
	CU_ASSERT_EQUAL(access_of(b, &fh, 0x3f), ACCESS3_READ);
	as(b, OTHER, OTHER);
	CU_ASSERT_EQUAL(access_of(b, &fh, 0x3f), ACCESS3_READ);
	give(b, "a/file", 0040, 0, GROUP);
	CU_ASSERT_EQUAL(access_of(b, &fh, 0x3f), ACCESS3_READ);
	bed_free(b);
}

static int
read_as(struct bed *b, const nfs_fh3 *fh, uint32_t uid, uint32_t gid)
{
	READ3res r;

	as(b, uid, gid);
	return bed_read(b, fh, 0, 10, &r);
}

/* READ: by mode; by the owner whatever the mode says; and by whoever may execute (RFC 1813
 * section 4.4). */
TEST(wire_who, read)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 fh;

	bed_write(b, "a/file", "x", 1);
	bed_settle(b);
	fh = bed_fh(b, &b->root_a, "file");
	give(b, "a/file", 0000, OWNER, GROUP);
	CU_ASSERT_EQUAL(read_as(b, &fh, OWNER, OTHER), NFS3_OK);
	CU_ASSERT_EQUAL(read_as(b, &fh, OTHER, GROUP), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(read_as(b, &fh, OTHER, OTHER), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(read_as(b, &fh, 0, 0), NFS3ERR_ACCES);
	give(b, "a/file", 0040, OWNER, GROUP);
	CU_ASSERT_EQUAL(read_as(b, &fh, OTHER, GROUP), NFS3_OK);
	CU_ASSERT_EQUAL(read_as(b, &fh, OTHER, OTHER), NFS3ERR_ACCES);
	give(b, "a/file", 0111, OWNER, GROUP);
	CU_ASSERT_EQUAL(read_as(b, &fh, OTHER, OTHER), NFS3_OK);
	give(b, "a/file", 0222, OWNER, GROUP);
	CU_ASSERT_EQUAL(read_as(b, &fh, OTHER, OTHER), NFS3ERR_ACCES);
	bed_free(b);
}

/* All 16 groups of a credential count, and no group of the server's does. */
TEST(wire_who, groups)
{
	struct bed *b = bed_new(NULL);
	READ3res r;
	nfs_fh3 fh;

	bed_write(b, "a/file", "x", 1);
	give(b, "a/file", 0040, 0, GROUP);
	bed_settle(b);
	fh = bed_fh(b, &b->root_a, "file");
	as(b, OTHER, OTHER);
	for (b->ngids = 0; b->ngids < 15; b->ngids++)
		b->gids[b->ngids] = 4000 + b->ngids;
	CU_ASSERT_EQUAL(bed_read(b, &fh, 0, 1, &r), NFS3ERR_ACCES);
	b->gids[b->ngids++] = GROUP;
	CU_ASSERT_EQUAL(bed_read(b, &fh, 0, 1, &r), NFS3_OK);
	give(b, "a/file", 0040, 0, 0);
	CU_ASSERT_EQUAL(bed_read(b, &fh, 0, 1, &r), NFS3ERR_ACCES);
	/* nor can root's group be claimed */
	b->gids[3] = 0;
	CU_ASSERT_EQUAL(bed_read(b, &fh, 0, 1, &r), NFS3ERR_ACCES);
	b->gid = 0;
	CU_ASSERT_EQUAL(bed_read(b, &fh, 0, 1, &r), NFS3ERR_ACCES);
	bed_free(b);
}

/* An id of -1 is nobody's: it becomes the anonymous user, also where root is not squashed. */
TEST(wire_who, minus_one)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = "ro,no_root_squash"});
	nfs_fh3 fh;

	bed_write(b, "a/file", "x", 1);
	give(b, "a/file", 0600, 0, 0);
	bed_settle(b);
	fh = bed_fh(b, &b->root_a, "file");
	CU_ASSERT_EQUAL(read_as(b, &fh, 0, 0), NFS3_OK);
	CU_ASSERT_EQUAL(read_as(b, &fh, UINT32_MAX, 0), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(read_as(b, &fh, UINT32_MAX, UINT32_MAX), NFS3ERR_ACCES);
	give(b, "a/file", 0060, 0, 0);
	CU_ASSERT_EQUAL(read_as(b, &fh, OTHER, UINT32_MAX), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(read_as(b, &fh, OTHER, 0), NFS3_OK);
	as(b, OTHER, OTHER);
	b->gids[b->ngids++] = UINT32_MAX;
	READ3res r;
	CU_ASSERT_EQUAL(bed_read(b, &fh, 0, 1, &r), NFS3ERR_ACCES);
	bed_free(b);
}

/* Search permission of the directory decides LOOKUP, read permission the listings; as the caller,
 * at once after a chmod. */
TEST(wire_who, directories)
{
	struct bed *b = bed_new(NULL);
	struct bed_list l;
	nfs_fh3 dir, fh;

	bed_mkdir(b, "a/dir", 0755);
	bed_write(b, "a/dir/file", "x", 1);
	bed_settle(b);
	as(b, OTHER, OTHER);
	dir = bed_fh(b, &b->root_a, "dir");
	CU_ASSERT_EQUAL(bed_lookup(b, &dir, "file", &fh), NFS3_OK);
	for (int round = 0; round < 2; round++) {
		give(b, "a/dir", 0744, OWNER, GROUP);
		CU_ASSERT_EQUAL(bed_lookup(b, &dir, "file", &fh), NFS3ERR_ACCES);
		CU_ASSERT_EQUAL(bed_lookup(b, &dir, "none", &fh), NFS3ERR_ACCES);
		CU_ASSERT_EQUAL(bed_lookup(b, &dir, "..", &fh), NFS3ERR_ACCES);
		bed_list(b, &dir, 0, 4096, false, 0, &l);
		CU_ASSERT_EQUAL(l.status, NFS3_OK);
		free(l.v);
		give(b, "a/dir", 0711, OWNER, GROUP);
		CU_ASSERT_EQUAL(bed_lookup(b, &dir, "file", &fh), NFS3_OK);
		bed_list(b, &dir, 0, 4096, false, 0, &l);
		CU_ASSERT_EQUAL(l.status, NFS3ERR_ACCES);
		free(l.v);
		bed_list(b, &dir, 0, 4096, true, 4096, &l);
		CU_ASSERT_EQUAL(l.status, NFS3ERR_ACCES);
		free(l.v);
	}
	/* as it was named before, a file's handle is no way around: its own mode decides */
	give(b, "a/dir", 0700, OWNER, GROUP);
	CU_ASSERT_EQUAL(bed_getattr(b, &fh, NULL), NFS3_OK);
	bed_free(b);
}

static void
from(struct bed *b, uint32_t addr, uint16_t port)
{
	((struct sockaddr_in *)&b->peer.addr)->sin_addr.s_addr = htonl(addr);
	((struct sockaddr_in *)&b->peer.addr)->sin_port = htons(port);
	b->peer.port = port;
	memset(b->peer.rules, 0, sizeof b->peer.rules); /* another peer remembers nothing */
}

/* A client that no rule names is refused by MNT and by every procedure alike, though it holds a
 * genuine handle. */
TEST(wire_who, barred_client)
{
	struct bed *b = bed_new(&(struct bed_opts){.clients_a = "10.1.0.0/16"});
	char path[100];

	snprintf(path, sizeof path, "%s/a", b->base);
	for (uint32_t p = 1; p < BED_NFS_PROCS; p++) {
		bed_any(b, p, &b->root_a, &b->root_a);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_ACCES);
	}
	CU_ASSERT_EQUAL(bed_mnt(b, path, NULL), MNT3ERR_ACCES);
	from(b, 0x0a010203, 700);
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_mnt(b, path, NULL), MNT3_OK);
	from(b, 0x0a020203, 700);
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(bed_mnt(b, path, NULL), MNT3ERR_ACCES);
	bed_free(b);
}

/* Under `secure` a source port of 1024 and above is refused by MNT and NFS alike; under `insecure`
 * it is not. */
TEST(wire_who, ports)
{
	struct bed *b =
	    bed_new(&(struct bed_opts){.options_a = "ro,secure", .options_b = "ro,insecure"});
	char path[2][100];

	snprintf(path[0], sizeof path[0], "%s/a", b->base);
	snprintf(path[1], sizeof path[1], "%s/b", b->base);
	from(b, INADDR_LOOPBACK, 1023);
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_mnt(b, path[0], NULL), MNT3_OK);
	from(b, INADDR_LOOPBACK, 1024);
	for (uint32_t p = 1; p < BED_NFS_PROCS; p++) {
		bed_any(b, p, &b->root_a, &b->root_a);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_PERM);
	}
	CU_ASSERT_EQUAL(bed_mnt(b, path[0], NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_b, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_mnt(b, path[1], NULL), MNT3_OK);
	bed_free(b);
}

/* An unprivileged server serves its own user and root, which it makes its own user; anybody else
 * only under all_squash. */
TEST(wire_who, unprivileged_server)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_b = "ro,all_squash"});
	char path[100];

	snprintf(path, sizeof path, "%s/a", b->base);
	b->ident = (struct ident){.can_switch = false, .self_uid = OWNER, .self_gid = GROUP};
	as(b, OWNER, GROUP);
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3_OK);
	as(b, 0, 0);
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_mnt(b, path, NULL), MNT3_OK);
	as(b, OTHER, GROUP);
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(bed_mnt(b, path, NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(bed_getattr(b, &b->root_b, NULL), NFS3_OK);
	b->flavor = AUTH_NONE;
	CU_ASSERT_EQUAL(bed_mnt(b, path, NULL), MNT3ERR_ACCES);
	b->ident = (struct ident){.can_switch = true};
	bed_free(b);
}
