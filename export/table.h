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

/*
 * One directory is one export. What was opened because it is mounted somewhere, but is served
 * already, goes: the way there leads to the other export. What cannot be told from another file
 * system goes, too, and is absent. place[i]: where the i-th of v has come to stand. False without
 * memory.
 */
bool table_drop_twins(struct export_table *, size_t *place);
/* For export_table_put(). */
void table_forget_pending(struct export_table *);

#endif
