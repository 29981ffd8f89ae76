/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROOT_H
#define ROOT_H
/*
 * Opening the root of an export: the descriptor that confines it, what its file system can do, and
 * the ids that go into handles.
 */
#include "export.h"

/*
 * Fills ex->fs, ids and root handle of an export whose path (canonical) and clients are set. o: its
 * options; rw: some client may write. 0, or an errno with a message naming path and remedy; then
 * nothing stays open.
 */
int root_open(const struct export_env *, struct export *ex, const struct export_opts *o, bool rw,
	      char *err, size_t errlen);
void root_close(struct export *ex);

#endif
