/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFS3PROC_H
#define NFS3PROC_H
/*
 * The procedures of NFS version 3 behind the table of nfs3.c, and what they share. Each is
 * arguments, one verb of vfs, result; its handles are resolved and permitted before (c->obj,
 * c->cred), and what a failure carries is put there after. Each returns an nfsstat3 or ESLEEP.
 */
#include "call.h"
#include "nfs3.h"
#include "nfs3attr.h"

enum {
	NFS3_READ_MAX = 1 << 20,  /* rtmax: the largest READ that is answered in full */
	NFS3_WRITE_MAX = 1 << 20, /* wtmax */
	NFS3_DIR_PREF = 64 << 10, /* dtpref: the READDIR that is fastest */
	NFS3_DIR_MAX = 256 << 10, /* the largest directory reply, whatever is asked for */
};
/* Attributes of an object into a post-op place; absent when the kernel has none to give. 0 or
 * ESLEEP. */
int nfs3_post_op(const struct call *, struct obj *, post_op_attr *);
/* The same from a stat at hand. */
void nfs3_attr(const struct obj *, const struct stat *, post_op_attr *);

/*
 * RFC 1813 section 3.2: a name that is empty or holds what no name can (a slash, NUL) is ACCES.
 * nfs3_named is nfs3_status of what a verb said about a name, with that one difference.
 */
bool nfs3_bad_name(const filename3 *);
int nfs3_named(int e, const filename3 *);

int nfs3_getattr(struct call *, const GETATTR3args *, GETATTR3res *);
int nfs3_lookup(struct call *, const LOOKUP3args *, LOOKUP3res *);
int nfs3_access(struct call *, const ACCESS3args *, ACCESS3res *);
int nfs3_readlink(struct call *, const READLINK3args *, READLINK3res *);
int nfs3_read(struct call *, const READ3args *, READ3res *);
int nfs3_readdir(struct call *, const READDIR3args *, READDIR3res *);
int nfs3_readdirplus(struct call *, const READDIRPLUS3args *, READDIRPLUS3res *);
int nfs3_fsstat(struct call *, const FSSTAT3args *, FSSTAT3res *);
int nfs3_fsinfo(struct call *, const FSINFO3args *, FSINFO3res *);
int nfs3_pathconf(struct call *, const PATHCONF3args *, PATHCONF3res *);

/* The result of READLINK up to the text's length; the text is the reply's body, for it may be
 * longer than a head. */
bool_t nfs3_xdr_readlink_head(XDR *, READLINK3res *);

#endif
