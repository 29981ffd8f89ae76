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
/* Is this repeat of a call that began before a crash to find its own work done? True when the name
 * leads to an object born since the call began; it is then in m, referenced. */
bool nfs3_made_before_crash(struct call *, const diropargs3 *, struct vmod_made *m);

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
