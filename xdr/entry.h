/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ENTRY_H
#define ENTRY_H
/* One entry of READDIRPLUS (RFC 1813 3.3.17), as wire_entry3 is one of READDIR. */
#include "nfs3.h"

/*
 * Writes "one follows", fileid, name, cookie, attributes and handle into buf (any alignment); attr
 * or fh NULL: absent. Returns the bytes written, or returns 0 and writes nothing when they do not
 * fit in room. wire_entryplus3_size is what it takes; fh->len must be at most 64.
 */
size_t wire_entryplus3_size(u_int namelen, const fattr3 *attr, const nfs_fh3 *fh);
size_t wire_entryplus3(char *buf, size_t room, uint64_t fileid, const char *name, u_int namelen,
		       uint64_t cookie, const fattr3 *attr, const nfs_fh3 *fh);

#endif
