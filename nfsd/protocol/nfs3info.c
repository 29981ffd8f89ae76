/* SPDX-License-Identifier: BSD-2-Clause */
/* The procedures about a file system: FSSTAT, FSINFO, PATHCONF. RFC 1813 sections 3.3.18 to 3.3.20.
 */
#include "nfs3proc.h"

enum { RTMULT = 4096 };

/* Blocks as bytes. Clients compute with signed 64 bits, so more than 2^63-1 is never said. */
static size3
bytes(uint64_t blocks, uint64_t size)
{
	uint64_t n;

	return __builtin_mul_overflow(blocks, size, &n) || n > INT64_MAX ? INT64_MAX : n;
}

/* 3.3.18 */
int
nfs3_fsstat(struct call *c, const FSSTAT3args *a, FSSTAT3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	FSSTAT3resok *ok = &r->FSSTAT3res_u.resok;
	struct statvfs s;
	int e = vfs_statfs(&ctx, c->obj[0], &s);

	(void)a;
	if (e != 0)
		return nfs3_status(e);
	ok->tbytes = bytes(s.f_blocks, s.f_frsize);
	ok->fbytes = bytes(s.f_bfree, s.f_frsize);
	ok->abytes = bytes(s.f_bavail, s.f_frsize);
	ok->tfiles = s.f_files;
	ok->ffiles = s.f_ffree;
	ok->afiles = s.f_favail;
	ok->invarsec = 0; /* may change at any moment */
	return nfs3_post_op(c, c->obj[0], &ok->obj_attributes);
}

/* 3.3.19 */
int
nfs3_fsinfo(struct call *c, const FSINFO3args *a, FSINFO3res *r)
{
	FSINFO3resok *ok = &r->FSINFO3res_u.resok;

	(void)a;
	ok->rtmax = ok->rtpref = NFS3_READ_MAX;
	ok->wtmax = ok->wtpref = NFS3_WRITE_MAX;
	ok->rtmult = ok->wtmult = RTMULT;
	ok->dtpref = NFS3_DIR_PREF;
	ok->maxfilesize = INT64_MAX;
	ok->time_delta = (nfstime3){0, 1};
	ok->properties = FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME;
	return nfs3_post_op(c, c->obj[0], &ok->obj_attributes);
}

/* 3.3.20 */
int
nfs3_pathconf(struct call *c, const PATHCONF3args *a, PATHCONF3res *r)
{
	struct vfs_ctx ctx = call_ctx(c);
	PATHCONF3resok *ok = &r->PATHCONF3res_u.resok;
	struct vfs_limits l;
	int e = vfs_limits(&ctx, c->obj[0], &l);

	(void)a;
	if (e != 0)
		return nfs3_status(e);
	ok->linkmax = l.link_max;
	ok->name_max = l.name_max;
	ok->no_trunc = l.no_trunc;
	ok->chown_restricted = l.chown_restricted;
	ok->case_insensitive = l.case_insensitive;
	ok->case_preserving = l.case_preserving;
	return nfs3_post_op(c, c->obj[0], &ok->obj_attributes);
}
