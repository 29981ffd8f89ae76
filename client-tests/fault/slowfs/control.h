/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOWFS_CONTROL_H
#define SLOWFS_CONTROL_H

#include "faults.h"

struct disk;

/*
 * The control language, one command per connection to a UNIX stream socket, answered by "ok", by
 * lines and "ok", or by "error: why": delay OP MS      OP takes MS milliseconds longer hold OP OP
 * waits until "release OP" fail OP NAME     OP fails with EIO, ENOSPC, EACCES, ESTALE, EDQUOT,
 * EROFS; "fail OP 0" ends it cut              power fails: what was not flushed is lost (disk
 * only), everything fails with EIO power            power is back forget           drop what was
 * not flushed, without failing anything (disk only) stat             one line per OP: calls so far,
 * waiting now OP is lookup, getattr, open, read, write, readdir, fsync, change (every other change)
 * or all.
 */
struct control {
	struct faults *faults;
	struct disk *disk; /* NULL when a directory is mirrored */
};

/* Listens on path (an old socket there is replaced) and answers from a thread of its own until the
 * process ends. `control` must live that long. Returns 0 or an errno value. */
int control_listen(const char *path, struct control *control);

/* Sends the words as one command, prints the answer. Returns an exit code: 0 ok, 1 refused, 2
 * nobody there. */
int control_tell(const char *path, int argc, char **words);

#endif
