/* SPDX-License-Identifier: BSD-2-Clause */
/* Names in calls that change something: made byte for byte, or refused with the status that says
 * why, in each of the nine. RFC 1813 sections 3.2 and 4.6. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/change.h"

enum act {
	CREATE_N,
	EXCLUSIVE_N,
	MKDIR_N,
	SYMLINK_N,
	MKNOD_N,
	LINK_N,
	TO_N,
	FROM_N,
	REMOVE_N,
	RMDIR_N,
	ACTS
};
#define MAKES(act) ((act) <= TO_N)

/* Does it with a name of any bytes. "file" and "dir" are there. */
static int
act(struct bed *b, enum act what, const char *s, size_t len)
{
	const nfs_fh3 file = bed_fh(b, &b->root_a, "file");
	const diropargs3 where = {b->root_a, {(u_int)len, s}};
	CREATE3args create = {where, {GUARDED, {set_mode(0600)}}};
	MKDIR3args mkdir = {where, set_mode(0700)};
	SYMLINK3args link = {where, {set_nothing(), {1, "x"}}};
	MKNOD3args node = {where, {NF3FIFO, {.pipe_attributes = set_mode(0600)}}};
	RENAME3args to = {{b->root_a, {4, "from"}}, where}, from = {where, {b->root_a, {2, "to"}}};
	LINK3args hard = {file, where};
	REMOVE3args gone = {where};
	CREATE3res r;
	RENAME3res rr;
	LINK3res lr;
	REMOVE3res gr;

	switch (what) {
	case EXCLUSIVE_N:
		create.how.mode = EXCLUSIVE;
		memcpy(create.how.createhow3_u.verf, "verifier", 8);
		return BED_DO(b, CREATE, &create, &r);
	case CREATE_N:
		return BED_DO(b, CREATE, &create, &r);
	case MKDIR_N:
		return BED_DO(b, MKDIR, &mkdir, &r);
	case SYMLINK_N:
		return BED_DO(b, SYMLINK, &link, &r);
	case MKNOD_N:
		return BED_DO(b, MKNOD, &node, &r);
	case LINK_N:
		return BED_DO(b, LINK, &hard, &lr);
	case TO_N:
		return BED_DO(b, RENAME, &to, &rr);
	case FROM_N:
		return BED_DO(b, RENAME, &from, &rr);
	case REMOVE_N:
		return BED_DO(b, REMOVE, &gone, &gr);
	default:
		return BED_DO(b, RMDIR, &gone, &gr);
	}
}

static struct bed *
make(void)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});

	bed_write(b, "a/file", "x", 1);
	bed_write(b, "a/from", "x", 1);
	bed_mkdir(b, "a/dir", 0755);
	bed_write(b, "a/dir/file", "x", 1);
	bed_write(b, "b/file", "x", 1);
	return b;
}

static unsigned
entries(struct bed *b, const char *path)
{
	DIR *d = opendir(bed_path(b, path));
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Empty, with a slash or a NUL: ACCES. Over 255 bytes: NAMETOOLONG. Nothing is made of the part
 * that would do, nothing elsewhere. */
TEST(wire_newnames, refused)
{
	struct bed *b = make();
	char *x = malloc(65536);
	static const struct {
		const char *s;
		size_t len;
	} bad[] = {{"", 0},	   {"/", 1},	    {"new/", 4},     {"/new", 4},
		   {"dir/new", 7}, {"../b/new", 8}, {"dir/file", 8}, {"\0", 1},
		   {"file\0", 5},  {"new\0x", 5},   {"./file", 6},   {"../b/file", 9}};
	unsigned was[] = {entries(b, "a"), entries(b, "a/dir"), entries(b, "b")};

	memset(x, 'x', 65536);
	for (enum act a = 0; a < ACTS; a++) {
		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
			CU_ASSERT_EQUAL(act(b, a, bad[i].s, bad[i].len), NFS3ERR_ACCES);
		CU_ASSERT_EQUAL(act(b, a, x, 256), NFS3ERR_NAMETOOLONG);
		CU_ASSERT_EQUAL(act(b, a, x, 65536), NFS3ERR_NAMETOOLONG);
	}
	CU_ASSERT_EQUAL(entries(b, "a"), was[0]);
	CU_ASSERT_EQUAL(entries(b, "a/dir"), was[1]);
	CU_ASSERT_EQUAL(entries(b, "b"), was[2]);
	free(x);
	bed_free(b);
}

/* "." and "..": there already, for who would make them; never renamed, never removed. */
TEST(wire_newnames, dots)
{
	static const int one[ACTS] = {NFS3ERR_EXIST, NFS3ERR_EXIST, NFS3ERR_EXIST, NFS3ERR_EXIST,
				      NFS3ERR_EXIST, NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_INVAL,
				      NFS3ERR_ISDIR, NFS3ERR_INVAL};
	struct bed *b = make();
	unsigned was = entries(b, "a");

	for (enum act a = 0; a < ACTS; a++) {
		CU_ASSERT_EQUAL(act(b, a, ".", 1), one[a]);
		CU_ASSERT_EQUAL(act(b, a, "..", 2), a == RMDIR_N ? NFS3ERR_NOTEMPTY : one[a]);
	}
	CU_ASSERT_EQUAL(entries(b, "a"), was);
	bed_free(b);
}

static void
exactly(struct bed *b, enum act a, const char *name, size_t len)
{
	char path[300];

	snprintf(path, sizeof path, "a/%.*s", (int)len, name);
	CU_ASSERT_EQUAL(act(b, a, name, len), NFS3_OK);
	CU_ASSERT_TRUE(bed_there(b, path));
	enum act away = a == TO_N ? FROM_N : a == MKDIR_N ? RMDIR_N : REMOVE_N;
	CU_ASSERT_EQUAL(act(b, away, name, len), NFS3_OK);
	CU_ASSERT_FALSE(bed_there(b, path));
	if (a == TO_N) {
		char to[300];

		snprintf(to, sizeof to, "%s/a/from", b->base);
		CU_ASSERT_EQUAL(rename(bed_path(b, "a/to"), to), 0);
	}
}

/* A name is bytes: each of the 254 there can be, invalid UTF-8, and 255 of them. */
TEST(wire_newnames, byte_exact)
{
	struct bed *b = make();
	char name[256];

	for (enum act a = 0; MAKES(a); a++) {
		for (int c = 1; c < 256; c++) {
			name[0] = (char)c;
			name[1] = 'z';
			if (c != '/')
				exactly(b, a, name, 2);
		}
		memset(name, 0xff, 255);
		exactly(b, a, name, 255);
		memcpy(name, "...", 3);
		exactly(b, a, name, 3);
		memcpy(name, " ", 1);
		exactly(b, a, name, 1);
	}
	bed_free(b);
}
