/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes: the kernel's, in the wire's terms, in every reply that has a place for them. RFC 1813
 * sections 2.5 and 2.6. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/bed.h"
#include "nfs3attr.h"
#include "vfs.h"

static void
compare(struct bed *b, const char *path, const nfs_fh3 *fh, ftype3 type)
{
	struct stat st;
	fattr3 a;

	CU_ASSERT_EQUAL(bed_getattr(b, fh, &a), NFS3_OK);
	CU_ASSERT_EQUAL(lstat(bed_path(b, path), &st), 0);
	CU_ASSERT_EQUAL(a.type, type);
	CU_ASSERT_EQUAL(a.mode, st.st_mode & 07777);
	CU_ASSERT_EQUAL(a.nlink, st.st_nlink);
	CU_ASSERT_EQUAL(a.uid, st.st_uid);
	CU_ASSERT_EQUAL(a.gid, st.st_gid);
	CU_ASSERT_EQUAL(a.size, (uint64_t)st.st_size);
	CU_ASSERT_EQUAL(a.used, (uint64_t)st.st_blocks * 512);
	CU_ASSERT_EQUAL(a.rdev.specdata1, major(st.st_rdev));
	CU_ASSERT_EQUAL(a.rdev.specdata2, minor(st.st_rdev));
	CU_ASSERT_EQUAL(a.fileid, st.st_ino);
	CU_ASSERT_NOT_EQUAL(a.fsid, 0);
	CU_ASSERT_EQUAL(a.mtime.seconds, st.st_mtim.tv_sec);
	CU_ASSERT_EQUAL(a.mtime.nseconds, st.st_mtim.tv_nsec);
	CU_ASSERT_EQUAL(a.ctime.seconds, st.st_ctim.tv_sec);
	CU_ASSERT_EQUAL(a.ctime.nseconds, st.st_ctim.tv_nsec);
	CU_ASSERT_EQUAL(a.atime.seconds, st.st_atim.tv_sec);
}

/* One of each kind: GETATTR says what lstat says, and devices and FIFOs are never opened for it. */
TEST(wire_attrs, every_type)
{
	struct bed *b = bed_new(NULL);
	static const struct {
		const char *name;
		mode_t mode;
		ftype3 type;
	} kinds[] = {{"file", S_IFREG | 04711, NF3REG},
		     {"fifo", S_IFIFO | 0640, NF3FIFO},
		     {"sock", S_IFSOCK | 0600, NF3SOCK},
		     {"chr", S_IFCHR | 0666, NF3CHR},
		     {"blk", S_IFBLK | 0600, NF3BLK}};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		char path[32];
		nfs_fh3 fh;

		snprintf(path, sizeof path, "a/%s", kinds[i].name);
		CU_ASSERT_EQUAL(mknod(bed_path(b, path), kinds[i].mode, makedev(7, 9)), 0);
		CU_ASSERT_EQUAL(chown(bed_path(b, path), 1234, 5678), 0);
		CU_ASSERT_EQUAL(chmod(bed_path(b, path), kinds[i].mode & 07777), 0);
		bed_settle(b);
		fh = bed_fh(b, &b->root_a, kinds[i].name);
		compare(b, path, &fh, kinds[i].type);
	}
	bed_mkdir(b, "a/dir", 03777);
	CU_ASSERT_EQUAL(symlink("some/where", bed_path(b, "a/link")), 0);
	bed_settle(b);
	nfs_fh3 dir = bed_fh(b, &b->root_a, "dir"), link = bed_fh(b, &b->root_a, "link");
	compare(b, "a/dir", &dir, NF3DIR);
	compare(b, "a/link", &link, NF3LNK);
	compare(b, "a", &b->root_a, NF3DIR);
	bed_free(b);
}

/* Times that 32 unsigned bits cannot say are the nearest that they can; those up to 2106 are exact.
 */
TEST(wire_attrs, times)
{
	static const struct {
		int64_t sec;
		uint32_t want;
	} v[] = {{0, 0},
		 {-1, 0},
		 {INT64_MIN, 0},
		 {INT32_MAX, INT32_MAX},
		 {1ll << 31, 1u << 31},
		 {UINT32_MAX, UINT32_MAX},
		 {1ll << 32, UINT32_MAX},
		 {INT64_MAX, UINT32_MAX}};

	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		nfstime3 t = nfs3_time(&(struct timespec){v[i].sec, 5});

		CU_ASSERT_EQUAL(t.seconds, v[i].want);
	}
	CU_ASSERT_EQUAL(nfs3_time(&(struct timespec){7, 999999999}).nseconds, 999999999);
	CU_ASSERT_EQUAL(nfs3_time(&(struct timespec){-7, 999999999}).nseconds, 0);
	CU_ASSERT_NOT_EQUAL(nfs3_fileid(0), 0);
	CU_ASSERT_EQUAL(nfs3_fileid(7), 7);
}

/* Every errno has a status of RFC 1813: itself where the numbers mean the same, never success, and
 * never a number of ours. */
TEST(wire_attrs, errnos)
{
	static const int known[] = {1,	2,  5,	6,  13, 17, 18, 19, 20, 21,
				    22, 27, 28, 30, 31, 63, 66, 69, 70, 71};

	CU_ASSERT_EQUAL(nfs3_status(0), NFS3_OK);
	CU_ASSERT_EQUAL(nfs3_status(ESLEEP), ESLEEP);
	for (int e = 1; e < 200; e++) {
		int st = nfs3_status(e);
		bool ok = st >= NFS3ERR_BADHANDLE && st <= NFS3ERR_JUKEBOX;

		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			ok |= st == known[i];
		CU_ASSERT_TRUE(ok);
	}
	CU_ASSERT_EQUAL(nfs3_status(ENAMETOOLONG), NFS3ERR_NAMETOOLONG);
	CU_ASSERT_EQUAL(nfs3_status(ENOTEMPTY), NFS3ERR_NOTEMPTY);
	CU_ASSERT_EQUAL(nfs3_status(ESTALE), NFS3ERR_STALE);
	CU_ASSERT_EQUAL(nfs3_status(EDQUOT), NFS3ERR_DQUOT);
	CU_ASSERT_EQUAL(nfs3_status(EMFILE), NFS3ERR_JUKEBOX);
	CU_ASSERT_EQUAL(nfs3_status(ENOMEM), NFS3ERR_JUKEBOX);
	CU_ASSERT_EQUAL(nfs3_status(EXFULL), NFS3ERR_IO);
}

/* The first post_op_attr or wcc_data of a failed result: are its attributes there, and is "before"
 * absent? */
static bool
fail_has_attrs(struct bed *b, uint32_t proc)
{
	size_t off = RPC_HEAD + 4, n = b->reply.len;
	const char *p = b->reply.buf;
	bool wcc = false;

	switch (proc) {
	case NFSPROC3_SETATTR:
	case NFSPROC3_WRITE ... NFSPROC3_RENAME:
	case NFSPROC3_COMMIT:
		wcc = true;
		break;
	default:
		break;
	}
	if (wcc) {
		CU_ASSERT_EQUAL(bed_get32(p + off), FALSE); /* before */
		off += 4;
	}
	return off + WIRE_POST_OP <= n && bed_get32(p + off) == TRUE;
}

/* The modifying procedures are refused as on a read-only file system, with the attributes of the
 * object or directory they are about. */
TEST(wire_attrs, read_only)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 file, dir;

	bed_write(b, "a/file", "0123456789", 10);
	bed_mkdir(b, "a/dir", 0777);
	bed_settle(b);
	file = bed_fh(b, &b->root_a, "file");
	dir = bed_fh(b, &b->root_a, "dir");
	for (uint32_t p = 1; p < BED_NFS_PROCS; p++) {
		unsigned n;

		if (!call_programs[0]->rows(3, &n)[p].writes)
			continue;
		bed_any(b, p, bed_kind(p) == S_IFDIR ? &b->root_a : &file, &dir);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_ROFS);
		CU_ASSERT_TRUE(fail_has_attrs(b, p));
		CU_ASSERT_TRUE(b->reply.failed);
	}
	/* the second half of a pair of wcc_data is there, too */
	bed_any(b, NFSPROC3_RENAME, &b->root_a, &dir);
	bed_run_all(b);
	CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD + 4 + 2 * (4 + WIRE_POST_OP));
	bed_any(b, NFSPROC3_LINK, &file, &dir);
	bed_run_all(b);
	CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD + 4 + WIRE_POST_OP + 4 + WIRE_POST_OP);
	compare(b, "a/file", &file, NF3REG);
	bed_free(b);
}

/* A failed query still says the attributes of what it was about. */
TEST(wire_attrs, failures_carry_attributes)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 file, dir;
	static const uint32_t dirs[] = {NFSPROC3_LOOKUP, NFSPROC3_READDIR, NFSPROC3_READDIRPLUS};

	bed_write(b, "a/file", "x", 1);
	bed_mkdir(b, "a/dir", 0700);
	CU_ASSERT_EQUAL(chmod(bed_path(b, "a/file"), 0600), 0);
	bed_settle(b);
	file = bed_fh(b, &b->root_a, "file");
	dir = bed_fh(b, &b->root_a, "dir");
	b->uid = b->gid = 4321;
	for (size_t i = 0; i < 3; i++) {
		bed_any(b, dirs[i], &dir, &dir);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_ACCES);
		CU_ASSERT_TRUE(fail_has_attrs(b, dirs[i]));
		bed_any(b, dirs[i], &file, &dir);
		bed_run_all(b);
		CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_NOTDIR);
		CU_ASSERT_TRUE(fail_has_attrs(b, dirs[i]));
	}
	bed_any(b, NFSPROC3_READ, &file, &dir);
	bed_run_all(b);
	CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_ACCES);
	CU_ASSERT_TRUE(fail_has_attrs(b, NFSPROC3_READ));
	bed_any(b, NFSPROC3_READLINK, &file, &dir);
	bed_run_all(b);
	CU_ASSERT_EQUAL(bed_status(b), NFS3ERR_INVAL);
	CU_ASSERT_TRUE(fail_has_attrs(b, NFSPROC3_READLINK));
	bed_free(b);
}

/* LOOKUP carries the attributes of both: what was found, and where. */
TEST(wire_attrs, lookup)
{
	struct bed *b = bed_new(NULL);
	LOOKUP3args a = {{b->root_a, {4, "file"}}};
	LOOKUP3res r;
	const LOOKUP3resok *ok = &r.LOOKUP3res_u.resok;

	bed_write(b, "a/file", "12345", 5);
	bed_settle(b);
	CU_ASSERT_EQUAL(BED_NFS(b, LOOKUP, &a, &r), NFS3_OK);
	CU_ASSERT_TRUE(ok->obj_attributes.attributes_follow);
	CU_ASSERT_EQUAL(ok->obj_attributes.post_op_attr_u.attributes.size, 5);
	CU_ASSERT_TRUE(ok->dir_attributes.attributes_follow);
	CU_ASSERT_EQUAL(ok->dir_attributes.post_op_attr_u.attributes.type, NF3DIR);
	bed_free(b);
}

/* A link's text of any length up to the longest the kernel keeps comes back whole. */
TEST(wire_attrs, readlink)
{
	struct bed *b = bed_new(NULL);
	static const size_t lens[] = {1, 2, 3, 4, 5, 59, 60, 61, 1023, 1024, 4094, 4095};
	char *text = malloc(PATH_MAX);

	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		READLINK3args a;
		READLINK3res r;
		const READLINK3resok *ok = &r.READLINK3res_u.resok;

		memset(text, 'a' + (int)i, lens[i]);
		text[lens[i]] = 0;
		CU_ASSERT_EQUAL(symlink(text, bed_path(b, "a/link")), 0);
		bed_settle(b);
		a.symlink = bed_fh(b, &b->root_a, "link");
		CU_ASSERT_EQUAL(BED_NFS(b, READLINK, &a, &r), NFS3_OK);
		CU_ASSERT_EQUAL(ok->data.len, lens[i]);
		CU_ASSERT_EQUAL(memcmp(ok->data.s, text, lens[i]), 0);
		CU_ASSERT_TRUE(ok->symlink_attributes.attributes_follow);
		CU_ASSERT_EQUAL(unlink(bed_path(b, "a/link")), 0);
	}
	free(text);
	bed_free(b);
}

/* FSSTAT is statvfs, FSINFO says what READ and READDIR then keep, PATHCONF what the file system
 * does. */
TEST(wire_attrs, file_system)
{
	struct bed *b = bed_new(NULL);
	FSSTAT3args fa = {b->root_a};
	FSSTAT3res fr;
	FSINFO3args ia = {b->root_a};
	FSINFO3res ir;
	const FSINFO3resok *i = &ir.FSINFO3res_u.resok;
	PATHCONF3args pa = {b->root_a};
	PATHCONF3res pr;
	const PATHCONF3resok *p = &pr.PATHCONF3res_u.resok;
	struct statvfs s;

	CU_ASSERT_EQUAL(statvfs(b->base, &s), 0);
	CU_ASSERT_EQUAL(BED_NFS(b, FSSTAT, &fa, &fr), NFS3_OK);
	CU_ASSERT_EQUAL(fr.FSSTAT3res_u.resok.tbytes, s.f_blocks * s.f_frsize);
	CU_ASSERT_EQUAL(fr.FSSTAT3res_u.resok.tfiles, s.f_files);
	CU_ASSERT(fr.FSSTAT3res_u.resok.abytes <= fr.FSSTAT3res_u.resok.tbytes);
	CU_ASSERT_TRUE(fr.FSSTAT3res_u.resok.obj_attributes.attributes_follow);
	CU_ASSERT_EQUAL(BED_NFS(b, FSINFO, &ia, &ir), NFS3_OK);
	CU_ASSERT_EQUAL(i->rtmax, 1 << 20);
	CU_ASSERT_EQUAL(i->rtpref, 1 << 20);
	CU_ASSERT_EQUAL(i->wtmax, 1 << 20);
	CU_ASSERT_EQUAL(i->rtmult, 4096);
	CU_ASSERT_EQUAL(i->dtpref, 65536);
	CU_ASSERT_EQUAL(i->maxfilesize, INT64_MAX);
	CU_ASSERT_EQUAL(i->time_delta.nseconds, 1);
	CU_ASSERT_EQUAL(i->properties, 0x1b);
	CU_ASSERT_TRUE(i->obj_attributes.attributes_follow);
	CU_ASSERT_EQUAL(BED_NFS(b, PATHCONF, &pa, &pr), NFS3_OK);
	CU_ASSERT_EQUAL(p->name_max, 255);
	CU_ASSERT_EQUAL(p->linkmax, (uint32_t)pathconf(b->base, _PC_LINK_MAX));
	CU_ASSERT_TRUE(p->no_trunc);
	CU_ASSERT_TRUE(p->chown_restricted);
	CU_ASSERT_FALSE(p->case_insensitive);
	CU_ASSERT_TRUE(p->case_preserving);
	CU_ASSERT_TRUE(p->obj_attributes.attributes_follow);
	bed_free(b);
}
