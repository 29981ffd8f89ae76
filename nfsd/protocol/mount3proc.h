/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MOUNT3PROC_H
#define MOUNT3PROC_H
/*
 * The two halves of MOUNT behind the tables of mount3.c: from a path to a directory, and the lists.
 */
#include "call.h"
#include "mount3.h"

/*
 * The path of a dirpath as one key: absolute, no double or trailing slashes, no "." components;
 * NUL-terminated, in the call's arena. 0; ENAMETOOLONG over MNTPATHLEN; EINVAL: not absolute, NUL
 * inside, or a ".." (which only a path walk could judge); ENOMEM.
 */
int mount3_path(struct call *c, const dirpath *dir, const char **path);
/*
 * The same path without symbolic links: what this server itself finds there, or at the longest part
 * of it that exists, with the rest behind it. In the call's arena. NULL: it is the same, or the
 * peer may use no export and learns nothing about paths. Sleeps.
 */
const char *mount3_real(struct call *c, const char *path);
/*
 * The directory at a path as seen by the caller: export by longest prefix, its gate, then one
 * LOOKUP per component as the squashed caller; where that meets a link, or no export, once more
 * with the path that mount3_real() finds. *dir is c->obj[0], the
 * call's. 0; EACCES, EPERM, ENOENT, ENOTDIR, or what the file system says.
 */
int mount3_walk(struct call *c, const char *path, struct obj **dir);

/* The lists, into the call's body: 0 or ESYSTEM. */
int mount3_dump(struct call *c, mountlist *out);
int mount3_export(struct call *c, exports *out);

#endif
