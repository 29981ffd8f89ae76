/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFS3ATTR_H
#define NFS3ATTR_H
/*
 * Between the kernel's terms and the wire's: attributes, times, types, and errors. RFC 1813
 * section 2.5 and 2.6.
 */
#include <sys/stat.h>

#include "export.h"
#include "nfs3.h"

/* id: the object's handle, or its directory's when it has none (it tells btrfs subvolumes apart).
 */
void nfs3_fattr(const struct export *, const struct handle *id, const struct stat *, fattr3 *);
/* Never 0, which macOS does not survive; everything that says a file's number says it through here.
 */
uint64_t nfs3_fileid(uint64_t ino);
ftype3 nfs3_ftype(mode_t);
/* The wire counts seconds from 1970 in 32 unsigned bits: what lies outside is the nearest time it
 * can say. */
nfstime3 nfs3_time(const struct timespec *);

/*
 * The one place where an errno becomes an NFS status. 0 is NFS3_OK and ESLEEP stays ESLEEP, so that
 * a procedure may end with `return nfs3_status(e)`. What is temporary (memory, descriptors) is
 * JUKEBOX: the client tries again. An unknown errno is IO, and said in the log.
 */
int nfs3_status(int err);

#endif
