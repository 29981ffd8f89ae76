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
/* Has the table (a struct export_table) no export that is this very one? Then its descriptors are
 * to be dropped: as files_drop() asks. */
bool table_lacks(void *table, const struct export *);

/*
 * One directory is one export. What was opened because it is mounted somewhere, but is served
 * already, goes: the way there leads to the other export. What cannot be told from another file
 * system goes, too, and is absent. False without memory.
 */
bool table_drop_twins(struct export_table *);
/* One more that is absent, like `what` but for path and why, which are copied; the rules get a
 * reference more. There is room: one for each in the plan. False without memory. */
bool table_add_absent(struct export_table *, const struct absent *what, const char *path,
		      const char *why);
/* For export_table_put(). */
void table_forget_pending(struct export_table *);

#endif
