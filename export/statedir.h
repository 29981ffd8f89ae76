/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STATEDIR_H
#define STATEDIR_H
/*
 * The state directory: where the key and the store live. Whoever can write there can forge handles,
 * so it must be ours.
 */
#include <stddef.h>

/*
 * Opens dir, making its last component (mode 0700) when it is missing. Refuses a network or FUSE
 * file system (locks and mappings cannot be trusted there), a directory of another user, and one
 * that others may write to. A descriptor, or -1 with errno and err.
 */
int statedir_open(const char *dir, char *err, size_t errlen);

#endif
