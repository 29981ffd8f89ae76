/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that change something, and what their replies must say. */
#include "lib/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- the trees ---- */

void
bed_as(struct bed *b, uint32_t uid, uint32_t gid)
{
	b->uid = uid;
	b->gid = gid;
	b->ngids = 0;
}

void
bed_give(struct bed *b, const char *path, mode_t mode, uid_t uid, gid_t gid)
{
	CU_ASSERT_EQUAL(lchown(bed_path(b, path), uid, gid), 0);
	CU_ASSERT_EQUAL(chmod(bed_path(b, path), mode), 0);
}

struct stat
bed_stat(struct bed *b, const char *path)
{
	struct stat st = {0};

	if (lstat(bed_path(b, path), &st) != 0)
		CU_FAIL("it should be there");
	return st;
}

bool
bed_there(struct bed *b, const char *path)
{
	struct stat st;

	return lstat(bed_path(b, path), &st) == 0;
}

bool
bed_holds(struct bed *b, const char *path, const void *data, size_t n)
{
	int fd = open(bed_path(b, path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char *mem = malloc(n + 1);
	bool same = fd >= 0 && read(fd, mem, n + 1) == (ssize_t)n && memcmp(mem, data, n) == 0;

	free(mem);
	if (fd >= 0)
		close(fd);
	return same;
}

/* ---- calls ---- */

int
bed_redo(struct bed *b, xdrproc_t dec, void *res)
{
	bed_run(b, BED_LOOP);
	if (bed_outcome(b, NULL) != OUT_ACCEPTED + SUCCESS || !bed_results(b, dec, res))
		return -1;
	return *(int *)res;
}

int
bed_do(struct bed *b, uint32_t proc, xdrproc_t enc, void *args, xdrproc_t dec, void *res)
{
	bed_record(b, NFS_PROGRAM, NFS_V3, proc, enc, args);
	return bed_redo(b, dec, res);
}

/* ---- what is said ---- */

nfstime3
time3(const struct timespec *t)
{
	return (nfstime3){(uint32_t)t->tv_sec, (uint32_t)t->tv_nsec};
}

static bool
same_time(const nfstime3 *a, const struct timespec *t)
{
	return a->seconds == t->tv_sec && a->nseconds == t->tv_nsec;
}

bool
is_attr(struct bed *b, const fattr3 *a, const char *path)
{
	static const ftype3 types[16] = {[S_IFREG >> 12] = NF3REG,  [S_IFDIR >> 12] = NF3DIR,
					 [S_IFLNK >> 12] = NF3LNK,  [S_IFCHR >> 12] = NF3CHR,
					 [S_IFBLK >> 12] = NF3BLK,  [S_IFIFO >> 12] = NF3FIFO,
					 [S_IFSOCK >> 12] = NF3SOCK};
	struct stat st;

	return lstat(bed_path(b, path), &st) == 0 && a->type == types[st.st_mode >> 12] &&
	       a->mode == (st.st_mode & 07777) && a->nlink == st.st_nlink && a->uid == st.st_uid &&
	       a->gid == st.st_gid && a->size == (uint64_t)st.st_size && a->fileid == st.st_ino &&
	       a->rdev.specdata1 == major(st.st_rdev) && a->rdev.specdata2 == minor(st.st_rdev) &&
	       same_time(&a->atime, &st.st_atim) && same_time(&a->mtime, &st.st_mtim) &&
	       same_time(&a->ctime, &st.st_ctim);
}

bool
is_post_op(struct bed *b, const post_op_attr *a, const char *path)
{
	return a->attributes_follow && is_attr(b, &a->post_op_attr_u.attributes, path);
}

bool
is_wcc(struct bed *b, const wcc_data *w, const char *path)
{
	return !w->before.attributes_follow && is_post_op(b, &w->after, path);
}

/* ---- arguments ---- */

filename3
name3(const char *s)
{
	return (filename3){(u_int)strlen(s), s};
}

sattr3
set_nothing(void)
{
	return (sattr3){.mode = {.set_it = FALSE}};
}

sattr3
set_mode(mode_t mode)
{
	return (sattr3){.mode = {TRUE, {mode}}};
}

sattr3
set_size(uint64_t size)
{
	return (sattr3){.size = {TRUE, {size}}};
}

/* ---- of one object ---- */

int
do_setattr(struct bed *b, const char *path, const nfs_fh3 *fh, const sattr3 *s,
	   const nfstime3 *guard)
{
	SETATTR3args a = {*fh, *s, {FALSE, {{0, 0}}}};
	SETATTR3res r;

	if (guard)
		a.guard = (sattrguard3){TRUE, {*guard}};
	int st = BED_DO(b, SETATTR, &a, &r);
	if (st == NFS3_OK)
		CU_ASSERT_TRUE(is_wcc(b, &r.SETATTR3res_u.resok.obj_wcc, path));
	if (st > 0)
		CU_ASSERT_TRUE(is_wcc(b, &r.SETATTR3res_u.resfail.obj_wcc, path));
	return st;
}

int
do_write(struct bed *b, const char *path, const nfs_fh3 *fh, uint64_t off, const void *data,
	 size_t n, stable_how how, WRITE3resok *ok)
{
	WRITE3args a = {*fh, off, (uint32_t)n, how, {(u_int)n, -1, -1, NULL}};
	WRITE3res r;

	bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, (xdrproc_t)xdr_WRITE3args, &a);
	bed_append(b, data, n);
	bed_append(b, "\0\0\0", wire_pad(n));
	int st = bed_redo(b, (xdrproc_t)xdr_WRITE3res, &r);
	if (st == NFS3_OK) {
		CU_ASSERT_TRUE(is_wcc(b, &r.WRITE3res_u.resok.file_wcc, path));
		if (ok)
			*ok = r.WRITE3res_u.resok;
	}
	if (st > 0)
		CU_ASSERT_TRUE(is_wcc(b, &r.WRITE3res_u.resfail.file_wcc, path));
	return st;
}

int
do_commit(struct bed *b, const char *path, const nfs_fh3 *fh, uint64_t off, uint32_t count,
	  COMMIT3resok *ok)
{
	COMMIT3args a = {*fh, off, count};
	COMMIT3res r;
	int st = BED_DO(b, COMMIT, &a, &r);

	if (st == NFS3_OK) {
		CU_ASSERT_TRUE(is_wcc(b, &r.COMMIT3res_u.resok.file_wcc, path));
		if (ok)
			*ok = r.COMMIT3res_u.resok;
	}
	if (st > 0)
		CU_ASSERT_TRUE(is_wcc(b, &r.COMMIT3res_u.resfail.file_wcc, path));
	return st;
}

/* ---- makers ---- */

/* The results of the four are of one shape. */
_Static_assert(sizeof(CREATE3res) == sizeof(MKDIR3res) &&
		   sizeof(CREATE3res) == sizeof(SYMLINK3res) &&
		   sizeof(CREATE3res) == sizeof(MKNOD3res),
	       "results of another shape");

static int
made(struct bed *b, struct at at, const char *name, int st, const CREATE3res *r, nfs_fh3 *fh)
{
	const CREATE3resok *ok = &r->CREATE3res_u.resok;
	char path[600];

	if (st > 0)
		CU_ASSERT_TRUE(is_wcc(b, &r->CREATE3res_u.resfail.dir_wcc, at.path));
	if (st != NFS3_OK)
		return st;
	snprintf(path, sizeof path, "%s/%s", at.path, name);
	CU_ASSERT_TRUE(is_wcc(b, &ok->dir_wcc, at.path));
	CU_ASSERT_TRUE(is_post_op(b, &ok->obj_attributes, path));
	CU_ASSERT_TRUE(ok->obj.handle_follows);
	if (fh)
		*fh = ok->obj.post_op_fh3_u.handle;
	return st;
}

int
do_create(struct bed *b, struct at at, const char *name, createmode3 mode, const sattr3 *s,
	  nfs_fh3 *fh)
{
	CREATE3args a = {{*at.fh, name3(name)}, {mode, {*s}}};
	CREATE3res r;

	return made(b, at, name, BED_DO(b, CREATE, &a, &r), &r, fh);
}

int
do_exclusive(struct bed *b, struct at at, const char *name, const void *verf, nfs_fh3 *fh)
{
	CREATE3args a = {{*at.fh, name3(name)}, {.mode = EXCLUSIVE}};
	CREATE3res r;

	memcpy(a.how.createhow3_u.verf, verf, NFS3_CREATEVERFSIZE);
	return made(b, at, name, BED_DO(b, CREATE, &a, &r), &r, fh);
}

int
do_mkdir(struct bed *b, struct at at, const char *name, const sattr3 *s, nfs_fh3 *fh)
{
	MKDIR3args a = {{*at.fh, name3(name)}, *s};
	CREATE3res r;

	return made(b, at, name, BED_DO(b, MKDIR, &a, &r), &r, fh);
}

int
do_symlink(struct bed *b, struct at at, const char *name, const char *text, const sattr3 *s,
	   nfs_fh3 *fh)
{
	SYMLINK3args a = {{*at.fh, name3(name)}, {*s, {(u_int)strlen(text), text}}};
	CREATE3res r;

	return made(b, at, name, BED_DO(b, SYMLINK, &a, &r), &r, fh);
}

int
do_mknod(struct bed *b, struct at at, const char *name, ftype3 type, const sattr3 *s, specdata3 dev,
	 nfs_fh3 *fh)
{
	MKNOD3args a = {{*at.fh, name3(name)}, {.type = type}};
	CREATE3res r;

	if (type == NF3CHR || type == NF3BLK)
		a.what.mknoddata3_u.device = (devicedata3){*s, dev};
	else
		a.what.mknoddata3_u.pipe_attributes = *s;
	return made(b, at, name, BED_DO(b, MKNOD, &a, &r), &r, fh);
}

/* ---- names that go ---- */

int
do_remove(struct bed *b, struct at at, const char *name)
{
	REMOVE3args a = {{*at.fh, name3(name)}};
	REMOVE3res r;
	int st = BED_DO(b, REMOVE, &a, &r);

	/* both arms are one wcc_data */
	if (st >= 0)
		CU_ASSERT_TRUE(is_wcc(b, &r.REMOVE3res_u.resok.dir_wcc, at.path));
	return st;
}

int
do_rmdir(struct bed *b, struct at at, const char *name)
{
	RMDIR3args a = {{*at.fh, name3(name)}};
	RMDIR3res r;
	int st = BED_DO(b, RMDIR, &a, &r);

	if (st >= 0)
		CU_ASSERT_TRUE(is_wcc(b, &r.RMDIR3res_u.resok.dir_wcc, at.path));
	return st;
}

int
do_rename(struct bed *b, struct at from, const char *old, struct at to, const char *new)
{
	RENAME3args a = {{*from.fh, name3(old)}, {*to.fh, name3(new)}};
	RENAME3res r;
	int st = BED_DO(b, RENAME, &a, &r);
	const RENAME3resok *ok = &r.RENAME3res_u.resok;

	if (st >= 0)
		CU_ASSERT_TRUE(is_wcc(b, &ok->fromdir_wcc, from.path));
	if (st >= 0 && st != NFS3ERR_XDEV) /* the second handle was not looked at */
		CU_ASSERT_TRUE(is_wcc(b, &ok->todir_wcc, to.path));
	return st;
}

int
do_link(struct bed *b, const nfs_fh3 *fh, struct at at, const char *name)
{
	LINK3args a = {*fh, {*at.fh, name3(name)}};
	LINK3res r;
	const LINK3resok *ok = &r.LINK3res_u.resok;
	int st = BED_DO(b, LINK, &a, &r);
	char path[600];

	if (st >= 0 && st != NFS3ERR_XDEV)
		CU_ASSERT_TRUE(is_wcc(b, &ok->linkdir_wcc, at.path));
	if (st >= 0)
		CU_ASSERT_TRUE(ok->file_attributes.attributes_follow);
	snprintf(path, sizeof path, "%s/%s", at.path, name);
	if (st == NFS3_OK)
		CU_ASSERT_TRUE(is_post_op(b, &ok->file_attributes, path));
	return st;
}
