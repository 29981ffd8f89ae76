/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TABLE_H
#define TABLE_H
/* From a plan to a table that can be served. */
#include "plan.h"

/*
 * Opens what the plan names. An export of old (may be NULL) whose directory, file system, fsid= and
 * writability are the same is taken over as it is, with its descriptors. A directory of a file that
 * cannot be opened stands aside (absent), one of the command line is an error. NULL on any error;
 * all of them are in the diag. The caller owns one reference; who and gen are 0.
 */
struct export_table *table_make(const struct export_env *, const struct plan *,
				const struct export_table *old, struct diag *);
/* Is there an export in old, but none in the table that is the very same one? (Its descriptors are
 * to be dropped.) Calls fn for each. */
void table_gone(const struct export_table *old, const struct export_table *,
		void (*fn)(void *, const struct export *), void *arg);

#endif
