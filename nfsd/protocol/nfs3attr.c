/* SPDX-License-Identifier: BSD-2-Clause */
#include "nfs3attr.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include "file.h" /* ESLEEP */
#include "log.h"

uint64_t
nfs3_fileid(uint64_t ino)
{
	return ino ? ino : UINT64_MAX;
}

ftype3
nfs3_ftype(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return NF3DIR;
	case S_IFBLK:
		return NF3BLK;
	case S_IFCHR:
		return NF3CHR;
	case S_IFLNK:
		return NF3LNK;
	case S_IFSOCK:
		return NF3SOCK;
	case S_IFIFO:
		return NF3FIFO;
	default:
		return NF3REG;
	}
}

nfstime3
nfs3_time(const struct timespec *t)
{
	if (t->tv_sec < 0)
		return (nfstime3){0, 0};
	if (t->tv_sec > UINT32_MAX)
		return (nfstime3){UINT32_MAX, 0};
	return (nfstime3){(uint32_t)t->tv_sec, (uint32_t)t->tv_nsec};
}

void
nfs3_fattr(const struct export *ex, const struct handle *id, const struct stat *st, fattr3 *a)
{
	*a = (fattr3){
	    .type = nfs3_ftype(st->st_mode),
	    .mode = st->st_mode & 07777,
	    .nlink = st->st_nlink < UINT32_MAX ? (uint32_t)st->st_nlink : UINT32_MAX,
	    .uid = st->st_uid,
	    .gid = st->st_gid,
	    .size = st->st_size > 0 ? (size3)st->st_size : 0,
	    .used = st->st_blocks > 0 ? (size3)st->st_blocks * 512 : 0,
	    .rdev = {major(st->st_rdev), minor(st->st_rdev)},
	    .fsid = fs_fsid3(&ex->fs, id),
	    .fileid = nfs3_fileid(st->st_ino),
	    .atime = nfs3_time(&st->st_atim),
	    .mtime = nfs3_time(&st->st_mtim),
	    .ctime = nfs3_time(&st->st_ctim),
	};
}

static const struct {
	int err;
	nfsstat3 status;
} table[] = {
    {ENOENT, NFS3ERR_NOENT},
    {EACCES, NFS3ERR_ACCES},
    {ESTALE, NFS3ERR_STALE},
    {EPERM, NFS3ERR_PERM},
    {EIO, NFS3ERR_IO},
    {ENXIO, NFS3ERR_NXIO},
    {EEXIST, NFS3ERR_EXIST},
    {EXDEV, NFS3ERR_XDEV},
    {ENODEV, NFS3ERR_NODEV},
    {ENOTDIR, NFS3ERR_NOTDIR},
    {EISDIR, NFS3ERR_ISDIR},
    {EINVAL, NFS3ERR_INVAL},
    {ELOOP, NFS3ERR_INVAL}, /* a link where none may be */
    {EFBIG, NFS3ERR_FBIG},
    {EOVERFLOW, NFS3ERR_FBIG},
    {ENOSPC, NFS3ERR_NOSPC},
    {EROFS, NFS3ERR_ROFS},
    {EMLINK, NFS3ERR_MLINK},
    {ENAMETOOLONG, NFS3ERR_NAMETOOLONG},
    {ENOTEMPTY, NFS3ERR_NOTEMPTY},
    {EDQUOT, NFS3ERR_DQUOT},
    {EREMOTE, NFS3ERR_REMOTE},
    {EOPNOTSUPP, NFS3ERR_NOTSUPP},
    {ENOSYS, NFS3ERR_NOTSUPP},
    {EAGAIN, NFS3ERR_JUKEBOX},
    {EINTR, NFS3ERR_JUKEBOX},
    {ENOMEM, NFS3ERR_JUKEBOX},
    {EMFILE, NFS3ERR_JUKEBOX},
    {ENFILE, NFS3ERR_JUKEBOX},
    {EBUSY, NFS3ERR_JUKEBOX},
    {ETXTBSY, NFS3ERR_JUKEBOX},
    {ETIMEDOUT, NFS3ERR_JUKEBOX},
    /* the disk or the file system behind is broken or gone */
    {EUCLEAN, NFS3ERR_IO},
    {EBADMSG, NFS3ERR_IO},
    {ENOTCONN, NFS3ERR_IO},
    {EREMOTEIO, NFS3ERR_IO},
};

int
nfs3_status(int err)
{
	static struct log_limit limit = {.burst = 5};

	if (err == 0 || err == ESLEEP)
		return err;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].err == err)
			return (int)table[i].status;
	if (log_may(&limit))
		log_warn("errno %d has no NFS status of its own; the client is told IO", err);
	return NFS3ERR_IO;
}
