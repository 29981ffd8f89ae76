/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles from the wire: nothing but a handle of ours for an object that exists gets past them, in
 * any procedure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bed.h"

/* A tree with one object of each kind; *fh of the kind that a procedure is about. */
static struct bed *
make_bed(const struct bed_opts *o)
{
	struct bed *b = bed_new(o);

	bed_mkdir(b, "a/dir", 0777);
	bed_write(b, "a/file", "0123456789", 10);
	CU_ASSERT_EQUAL(symlink("target", bed_path(b, "a/link")), 0);
	bed_write(b, "b/file", "b", 1);
	bed_settle(b);
	return b;
}

static nfs_fh3
fh_for(struct bed *b, uint32_t proc)
{
	mode_t kind = bed_kind(proc);

	return bed_fh(b, &b->root_a,
		      kind == S_IFREG	? "file"
		      : kind == S_IFLNK ? "link"
		      : kind		? "dir"
					: "file");
}

static int
status_of(struct bed *b, uint32_t proc, const nfs_fh3 *fh, const nfs_fh3 *fh2)
{
	bed_any(b, proc, fh, fh2);
	bed_run_all(b);
	return bed_status(b);
}

static void
every_length(const char *without)
{
	struct bed *b = make_bed(&(struct bed_opts){.without = without});
	nfs_fh3 fh;

	for (uint32_t p = 1; p < BED_NFS_PROCS; p++) {
		fh = fh_for(b, p);
		for (u_int len = 0; len <= WIRE_FH_MAX; len++) {
			nfs_fh3 cut = {.len = len};

			if (len == fh.len)
				continue;
			memcpy(cut.data, fh.data, len < fh.len ? len : fh.len);
			CU_ASSERT_EQUAL(status_of(b, p, &cut, &b->root_a), NFS3ERR_BADHANDLE);
		}
		bed_any(b, p, &fh, &b->root_a);
		bed_put32(b, b->args_off, 65);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_outcome(b, NULL), OUT_ACCEPTED + GARBAGE_ARGS);
	}
	bed_free(b);
}

/* A handle of any length from 0 to 64 that is not ours is BADHANDLE in every procedure; a longer
 * one is GARBAGE_ARGS. */
TEST(wire_handles, every_length)
{
	every_length(NULL);
	every_length("all");
}

static void
every_bit(const char *without)
{
	struct bed *b = make_bed(&(struct bed_opts){.without = without});
	nfs_fh3 good = bed_fh(b, &b->root_a, "file"), dir = bed_fh(b, &b->root_a, "dir");

	for (u_int bit = 0; bit < good.len * 8; bit++) {
		nfs_fh3 bad = good, bad_dir = dir;

		bad.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
		bad_dir.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
		CU_ASSERT_EQUAL(bed_getattr(b, &bad, NULL), NFS3ERR_BADHANDLE);
		CU_ASSERT_EQUAL(status_of(b, NFSPROC3_LINK, &good, &bad_dir), NFS3ERR_BADHANDLE);
		CU_ASSERT_EQUAL(status_of(b, NFSPROC3_RENAME, &dir, &bad_dir), NFS3ERR_BADHANDLE);
	}
	CU_ASSERT_EQUAL(bed_getattr(b, &good, NULL), NFS3_OK);
	bed_free(b);
}

/* Every single bit of a handle is checked: flipping any makes it BADHANDLE, be it the first or the
 * second handle of a call. */
TEST(wire_handles, every_bit)
{
	every_bit(NULL);
	every_bit("all");
}

/* Another export's id in a handle, its check value kept, is a forgery like any other. */
TEST(wire_handles, other_exports_id)
{
	struct bed *b = make_bed(NULL);
	nfs_fh3 fh = bed_fh(b, &b->root_a, "file");

	memcpy(fh.data + 4, b->root_b.data + 4, 4);
	CU_ASSERT_EQUAL(bed_getattr(b, &fh, NULL), NFS3ERR_BADHANDLE);
	bed_free(b);
}

/* A genuine handle of an export that is no more served is STALE. */
TEST(wire_handles, export_gone)
{
	struct bed *b = make_bed(NULL);
	struct handle h;
	nfs_fh3 fh = bed_fh(b, &b->root_a, "file");

	CU_ASSERT_EQUAL(handle_parse(&b->key, &fh, &h), 0);
	h.export_id ^= 1;
	handle_seal(&b->key, &h, &fh);
	for (uint32_t p = 1; p < BED_NFS_PROCS; p++)
		CU_ASSERT_EQUAL(status_of(b, p, &fh, &fh), NFS3ERR_STALE);
	bed_free(b);
}

static void
make(struct bed *b, const char *path, mode_t kind)
{
	if (kind == S_IFDIR)
		bed_mkdir(b, path, 0755);
	else if (kind == S_IFREG || kind == 0)
		bed_write(b, path, "x", 1);
	else if (symlink("x", bed_path(b, path)) != 0)
		CU_FAIL("symlink");
}

static void
removed(const char *without)
{
	struct bed *b = make_bed(&(struct bed_opts){.without = without});

	for (uint32_t p = 1; p < BED_NFS_PROCS; p++) {
		mode_t kind = bed_kind(p);
		const char *name = kind == S_IFDIR ? "a/dir/gone" : "a/gone";
		nfs_fh3 dir = bed_fh(b, &b->root_a, kind == S_IFDIR ? "dir" : ""), fh;

		for (int again = 0; again < 2; again++) {
			make(b, name, kind);
			if (!again) {
				CU_ASSERT_EQUAL(bed_lookup(b, &dir, "gone", &fh), NFS3_OK);
			} else {
				CU_ASSERT_EQUAL(status_of(b, p, &fh, &b->root_a), NFS3ERR_STALE);
			}
			CU_ASSERT_EQUAL(remove(bed_path(b, name)), 0);
			CU_ASSERT_EQUAL(status_of(b, p, &fh, &b->root_a), NFS3ERR_STALE);
		}
	}
	bed_free(b);
}

/* A removed object is STALE in every procedure, also when a new one has taken its name and perhaps
 * its inode. */
TEST(wire_handles, removed)
{
	removed(NULL);
	removed("all");
}

static void
renamed(const char *without)
{
	struct bed *b = make_bed(&(struct bed_opts){.without = without});
	nfs_fh3 fh;
	char to[PATH_MAX];

	bed_mkdir(b, "a/dir/sub", 0755);
	bed_write(b, "a/dir/sub/f", "moved", 5);
	bed_settle(b);
	fh = bed_fh(b, &b->root_a, "dir/sub/f");
	snprintf(to, sizeof to, "%s/a/dir/sub/g", b->base);
	CU_ASSERT_EQUAL(rename(bed_path(b, "a/dir/sub/f"), to), 0);
	snprintf(to, sizeof to, "%s/a/sub2", b->base);
	CU_ASSERT_EQUAL(rename(bed_path(b, "a/dir/sub"), to), 0);
	bed_settle(b);
	READ3res r;
	CU_ASSERT_EQUAL(bed_read(b, &fh, 0, 100, &r), NFS3_OK);
	CU_ASSERT_EQUAL(r.READ3res_u.resok.count, 5);
	CU_ASSERT_EQUAL(memcmp(r.READ3res_u.resok.data.base, "moved", 5), 0);
	bed_free(b);
}

/* A handle follows its object through renames, of itself and of the directories above it. */
TEST(wire_handles, renamed)
{
	renamed(NULL);
	renamed("all");
}

/* Handles of two exports in one call are XDEV, both ways. */
TEST(wire_handles, two_exports)
{
	struct bed *b = make_bed(NULL);
	nfs_fh3 file = bed_fh(b, &b->root_a, "file"), file_b = bed_fh(b, &b->root_b, "file");

	CU_ASSERT_EQUAL(status_of(b, NFSPROC3_LINK, &file, &b->root_b), NFS3ERR_XDEV);
	CU_ASSERT_EQUAL(status_of(b, NFSPROC3_LINK, &file_b, &b->root_a), NFS3ERR_XDEV);
	CU_ASSERT_EQUAL(status_of(b, NFSPROC3_RENAME, &b->root_a, &b->root_b), NFS3ERR_XDEV);
	CU_ASSERT_EQUAL(status_of(b, NFSPROC3_RENAME, &b->root_b, &b->root_a), NFS3ERR_XDEV);
	bed_free(b);
}

/* An object of the wrong kind gets the status that says so, in every procedure. */
TEST(wire_handles, wrong_kind)
{
	struct bed *b = make_bed(NULL);
	nfs_fh3 file = bed_fh(b, &b->root_a, "file"), dir = bed_fh(b, &b->root_a, "dir"),
		link = bed_fh(b, &b->root_a, "link");

	for (uint32_t p = 1; p < BED_NFS_PROCS; p++) {
		mode_t kind = bed_kind(p);

		if (kind == S_IFDIR) {
			CU_ASSERT_EQUAL(status_of(b, p, &file, &dir), NFS3ERR_NOTDIR);
			CU_ASSERT_EQUAL(status_of(b, p, &link, &dir), NFS3ERR_NOTDIR);
		} else if (kind == S_IFREG) {
			CU_ASSERT_EQUAL(status_of(b, p, &dir, &dir), NFS3ERR_ISDIR);
			CU_ASSERT_EQUAL(status_of(b, p, &link, &dir), NFS3ERR_INVAL);
		} else if (kind == S_IFLNK) {
			CU_ASSERT_EQUAL(status_of(b, p, &file, &dir), NFS3ERR_INVAL);
			CU_ASSERT_EQUAL(status_of(b, p, &dir, &dir), NFS3ERR_INVAL);
		}
	}
	CU_ASSERT_EQUAL(status_of(b, NFSPROC3_RENAME, &dir, &file), NFS3ERR_NOTDIR);
	CU_ASSERT_EQUAL(status_of(b, NFSPROC3_LINK, &file, &file), NFS3ERR_NOTDIR);
	bed_free(b);
}

/* A peer is known from its first genuine handle on, and not before. */
TEST(wire_handles, known_peer)
{
	struct bed *b = make_bed(NULL);
	nfs_fh3 bad = b->root_a;

	b->peer.known = 0;
	bad.data[bad.len - 1] ^= 1;
	bed_getattr(b, &bad, NULL);
	CU_ASSERT_EQUAL(b->peer.known, 0);
	bed_getattr(b, &b->root_a, NULL);
	CU_ASSERT_EQUAL(b->peer.known, 1);
	bed_free(b);
}
