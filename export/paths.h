/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PATHS_H
#define PATHS_H
/* Canonical paths, as texts. */
#include <stdbool.h>
#include <string.h>

/* Is path below dir, or dir itself? */
static inline bool
path_is_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir); /* all is below "/" */

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

#endif
