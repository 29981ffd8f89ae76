/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LOOKUP_H
#define LOOKUP_H
/*
 * Names that lead from one export into another that is mounted in it (export/cross.h), for LOOKUP,
 * READDIRPLUS and MNT alike. Where the way is not open to this peer, what lies beneath the mount is
 * shown, as the verbs of vfs.h see it.
 */
#include "call.h"
#include "cross.h"

/* vfs_lookup() in c->obj[0], over mounts; the child may be of another export. Or EAGAIN: it depends
 * on a name of the peer's that is being looked up. */
int lookup(struct call *c, const char *name, size_t len, struct obj **child, struct stat *st);

/* For a listing of c->obj[0]: the export that a name of it leads into; NULL: none, or not yet
 * known. May sleep. */
struct export *lookup_entry(struct call *c, const struct stat *dir, const char *name, size_t len);
/* Is c->obj[0] the root of an export, with a ".." that leads out of it? */
bool lookup_leads_out(struct call *c);

#endif
