/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DIFF_H
#define DIFF_H
/* What a new table changes, for people. */
#include "export.h"
#include <stdio.h>

struct diff_count {
	size_t kept, changed, added, removed;
};

/*
 * Prints what is added, changed (client by client) and removed, a line each, and a line with the
 * sums. used, which may be NULL, prints " (used by ...)" or nothing for a path that is removed.
 */
void diff_print(const struct export_table *old, const struct export_table *, FILE *out,
		void (*used)(void *arg, const char *path, FILE *out), void *arg,
		struct diff_count *);

#endif
