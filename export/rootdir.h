/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROOTDIR_H
#define ROOTDIR_H
/*
 * [exports] rootdir= of nfs.conf(5): a directory that is the root of all paths in exports files. An
 * export is /data for the file and for clients, and ROOTDIR/data on this machine.
 */

/* Where a path of an exports file is on this machine, canonical: realpath(3) with rootdir as the
 * root, also of absolute symbolic links. rootdir: canonical, or NULL for none. To be freed; NULL
 * with errno. */
char *rootdir_real(const char *rootdir, const char *path);
/* The same place as clients and exports files name it; points into where. */
const char *rootdir_shown(const char *rootdir, const char *where);
/* And back. To be freed; NULL without memory. */
char *rootdir_where(const char *rootdir, const char *shown);

#endif
