/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IDMAP_H
#define IDMAP_H
/* Which ids exist in the user namespace that the server runs in: user_namespaces(7). */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* From the text of /proc/self/uid_map or gid_map: true when every id that a client may name (0 to
 * 4294967294) exists here. Else text says which ones do ("0-1999, 65534"), cut off when size bytes
 * are not enough. A map that cannot be read counts as one of all ids. */
bool idmap_is_whole(FILE *map, char *text, size_t size);

/* Warns of ids that do not exist here: their owners cannot be acted for. */
void idmap_warn(void);

#endif
