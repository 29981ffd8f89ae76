/* SPDX-License-Identifier: BSD-2-Clause */
/* Names from the wire: found byte for byte, or refused with the status that says why. RFC 1813
 * sections 3.2 and 3.3.3. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bed.h"

static int
lookup(struct bed *b, const nfs_fh3 *dir, const char *s, size_t len, LOOKUP3res *r)
{
	LOOKUP3args a = {{*dir, {(u_int)len, s}}};

	return BED_NFS(b, LOOKUP, &a, r);
}

static void
make_named(struct bed *b, const char *name)
{
	char path[300];

	snprintf(path, sizeof path, "a/%s", name);
	bed_write(b, path, "x", 1);
}

/* Empty names, slashes and NULs are ACCES (section 3.2), more than 255 bytes NAMETOOLONG; none of
 * them closes anything. */
TEST(wire_names, refused)
{
	struct bed *b = bed_new(NULL);
	char *x = malloc(65536);
	LOOKUP3res r;

	memset(x, 'x', 65536);
	bed_write(b, "a/file", "x", 1);
	bed_mkdir(b, "a/dir", 0755);
	bed_write(b, "a/dir/file", "x", 1);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, "", 0, &r), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, "/", 1, &r), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, "/file", 5, &r), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, "dir/file", 8, &r), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, "../b", 4, &r), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, "file\0", 5, &r), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, "\0", 1, &r), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, x, 255, &r), NFS3ERR_NOENT);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, x, 256, &r), NFS3ERR_NAMETOOLONG);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, x, 65536, &r), NFS3ERR_NAMETOOLONG);
	/* every refusal still carries the directory's attributes */
	CU_ASSERT_TRUE(r.LOOKUP3res_u.resfail.dir_attributes.attributes_follow);
	free(x);
	bed_free(b);
}

/* A name is bytes: every byte but NUL and '/', invalid UTF-8, and 255 of them are found exactly as
 * they are. */
TEST(wire_names, byte_exact)
{
	struct bed *b = bed_new(NULL);
	char name[257];
	LOOKUP3res r;
	fattr3 attr;

	for (int c = 1; c < 256; c++) {
		name[0] = (char)c;
		name[1] = 'z';
		name[2] = 0;
		if (c != '/')
			make_named(b, name);
	}
	memset(name, 0xff, 255);
	name[255] = 0;
	make_named(b, name);
	bed_settle(b);
	CU_ASSERT_EQUAL(lookup(b, &b->root_a, name, 255, &r), NFS3_OK);
	for (int c = 1; c < 256; c++) {
		struct bed_list l;

		if (c == '/')
			continue;
		name[0] = (char)c;
		name[1] = 'z';
		CU_ASSERT_EQUAL(lookup(b, &b->root_a, name, 2, &r), NFS3_OK);
		if (c != 'a')
			continue;
		CU_ASSERT_EQUAL(bed_getattr(b, &r.LOOKUP3res_u.resok.object, &attr), NFS3_OK);
		bed_list(b, &b->root_a, 0, 65536, false, 0, &l);
		CU_ASSERT_EQUAL(l.n, 2 + 254 + 1);
		free(l.v);
	}
	bed_free(b);
}

static uint64_t
fileid(struct bed *b, const nfs_fh3 *fh)
{
	fattr3 a;

	CU_ASSERT_EQUAL(bed_getattr(b, fh, &a), NFS3_OK);
	return a.fileid;
}

static bool
same(const nfs_fh3 *x, const nfs_fh3 *y)
{
	return x->len == y->len && memcmp(x->data, y->data, x->len) == 0;
}

/* "." and ".." can be looked up; the root's ".." is the root itself, whatever lies above. */
TEST(wire_names, dots)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 fh, dir;

	bed_mkdir(b, "a/dir", 0755);
	bed_mkdir(b, "a/dir/sub", 0755);
	bed_settle(b);
	dir = bed_fh(b, &b->root_a, "dir");
	CU_ASSERT_EQUAL(bed_lookup(b, &dir, ".", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &dir));
	CU_ASSERT_EQUAL(bed_lookup(b, &dir, "..", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &b->root_a));
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "..", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &b->root_a));
	CU_ASSERT_EQUAL(fileid(b, &fh), fileid(b, &b->root_a));
	fh = bed_fh(b, &b->root_a, "dir/sub/../..");
	CU_ASSERT_TRUE(same(&fh, &b->root_a));
	bed_free(b);
}

/* A link is looked up as itself, wherever it points; nothing behind it is ever reached. */
TEST(wire_names, links_are_not_followed)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 fh, sub;
	fattr3 a;

	CU_ASSERT_EQUAL(symlink("/etc", bed_path(b, "a/abs")), 0);
	CU_ASSERT_EQUAL(symlink("../b", bed_path(b, "a/up")), 0);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "abs", &fh), NFS3_OK);
	CU_ASSERT_EQUAL(bed_getattr(b, &fh, &a), NFS3_OK);
	CU_ASSERT_EQUAL(a.type, NF3LNK);
	CU_ASSERT_EQUAL(bed_lookup(b, &fh, "passwd", &sub), NFS3ERR_NOTDIR);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "up", &fh), NFS3_OK);
	CU_ASSERT_EQUAL(bed_lookup(b, &fh, "file", &sub), NFS3ERR_NOTDIR);
	bed_free(b);
}
