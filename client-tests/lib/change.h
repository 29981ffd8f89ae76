/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHANGE_H
#define CHANGE_H
/*
 * Calls that change something, for tests upon a bed (bed.h). Each runs once, as a loop hands it to
 * a worker; a status comes back, or -1 when the call was not accepted, or do_outcome() says how.
 * With every reply its wcc_data and attributes are compared with the local file system: what is
 * said is what is there.
 */
#include "lib/bed.h"
#include <sys/stat.h>

/* An export that can be written, by root too. */
#define RW "rw,no_root_squash"

/* Who asks from now on; no groups. */
void bed_as(struct bed *, uint32_t uid, uint32_t gid);
/* chmod, chown of something in the trees. */
void bed_give(struct bed *, const char *path, mode_t, uid_t, gid_t);
/* lstat of it; a failed check when it is not there. */
struct stat bed_stat(struct bed *, const char *path);
bool bed_there(struct bed *, const char *path);
/* Does a file hold exactly these bytes? */
bool bed_holds(struct bed *, const char *path, const void *data, size_t n);

/* Record, run once, decode. */
int bed_do(struct bed *, uint32_t proc, xdrproc_t enc, void *args, xdrproc_t dec, void *res);
#define BED_DO(b, T, a, r)                                                                         \
	bed_do(b, NFSPROC3_##T, (xdrproc_t)xdr_##T##3args, a, (xdrproc_t)xdr_##T##3res, r)
/* The record that is there already, once more. */
int bed_redo(struct bed *, xdrproc_t dec, void *res);

/* Are these the attributes of what is at a path of the base? */
bool is_attr(struct bed *, const fattr3 *, const char *path);
bool is_post_op(struct bed *, const post_op_attr *, const char *path);
/* after: those; before: absent. */
bool is_wcc(struct bed *, const wcc_data *, const char *path);

filename3 name3(const char *);
nfstime3 time3(const struct timespec *);
/* Nothing set; the mode only; the size only. */
sattr3 set_nothing(void);
sattr3 set_mode(mode_t);
sattr3 set_size(uint64_t);

/* With the directory's path, so that its wcc_data can be checked; of what is made too. res NULL: of
 * no interest. */
int do_setattr(struct bed *, const char *path, const nfs_fh3 *, const sattr3 *,
	       const nfstime3 *guard);
int do_write(struct bed *, const char *path, const nfs_fh3 *, uint64_t off, const void *, size_t n,
	     stable_how, WRITE3resok *);
int do_commit(struct bed *, const char *path, const nfs_fh3 *, uint64_t off, uint32_t count,
	      COMMIT3resok *);
struct at { /* a directory, by both names */
	const char *path;
	const nfs_fh3 *fh;
};
/* Of all makers; what is made is compared with DIR/NAME. */
int do_create(struct bed *, struct at, const char *name, createmode3, const sattr3 *, nfs_fh3 *);
int do_exclusive(struct bed *, struct at, const char *name, const void *verf, nfs_fh3 *);
int do_mkdir(struct bed *, struct at, const char *name, const sattr3 *, nfs_fh3 *);
int do_symlink(struct bed *, struct at, const char *name, const char *text, const sattr3 *,
	       nfs_fh3 *);
int do_mknod(struct bed *, struct at, const char *name, ftype3, const sattr3 *, specdata3,
	     nfs_fh3 *);
int do_remove(struct bed *, struct at, const char *name);
int do_rmdir(struct bed *, struct at, const char *name);
int do_rename(struct bed *, struct at from, const char *old, struct at to, const char *new);
int do_link(struct bed *, const nfs_fh3 *, struct at, const char *name);

#endif
