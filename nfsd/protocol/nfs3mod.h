/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFS3MOD_H
#define NFS3MOD_H
/*
 * What the modifying procedures share: sattr3 to the verbs' terms, wcc_data back, and the judgement
 * of a call that had begun before the server died.
 */
#include "nfs3proc.h"
#include "vmod.h"

/* 0, or NFS3ERR_INVAL for a time_how there is not. */
int nfs3_sattr(const sattr3 *, struct vmod_attrs *);
/* `before` only when the verb had it atomically; `after` asked again when the verb could not say.
 */
int nfs3_wcc(const struct call *, struct obj *, const struct vmod_wcc *, wcc_data *);

/*
 * A repeat of a call that had begun before a crash finds its own work done (nfs3again.c). e is what
 * its verb said; that comes back, or 0 when it is seen to be done, on the disk, too, or why it
 * cannot be completed. In any other call e comes back.
 */
int nfs3_again_set(struct call *, int e, const struct vmod_attrs *);
/* 0: what was made is in m, referenced. */
int nfs3_again_made(struct call *, int e, const filename3 *, mode_t type, const struct vmod_attrs *,
		    struct vmod_made *m);
int nfs3_again_removed(struct call *, int e);
int nfs3_again_renamed(struct call *, int e, const filename3 *to);
int nfs3_again_linked(struct call *, int e, const filename3 *);
/* A name of the first handle's directory leads to what was made after the call had begun: it is not
 * what the call is about. */
bool nfs3_again_anew(struct call *, const filename3 *);

bool_t nfs3_xdr_write_args(XDR *, WRITE3args *);
bool_t nfs3_xdr_write_head(XDR *, WRITE3args *);

int nfs3_setattr(struct call *, const SETATTR3args *, SETATTR3res *);
int nfs3_write(struct call *, const WRITE3args *, WRITE3res *);
int nfs3_commit(struct call *, const COMMIT3args *, COMMIT3res *);
int nfs3_create(struct call *, const CREATE3args *, CREATE3res *);
int nfs3_mkdir(struct call *, const MKDIR3args *, MKDIR3res *);
int nfs3_symlink(struct call *, const SYMLINK3args *, SYMLINK3res *);
int nfs3_mknod(struct call *, const MKNOD3args *, MKNOD3res *);
int nfs3_remove(struct call *, const REMOVE3args *, REMOVE3res *);
int nfs3_rmdir(struct call *, const RMDIR3args *, RMDIR3res *);
int nfs3_rename(struct call *, const RENAME3args *, RENAME3res *);
int nfs3_link(struct call *, const LINK3args *, LINK3res *);

#endif
