/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INDEX_H
#define INDEX_H
/* Finding in a table: by id, by path. */
#include "export.h"

struct path_key {
	char *path;
	size_t at; /* place in v; from n on, in absent */
};

/* Builds both indexes of a table whose v, rules and absent are complete. 0 or ENOMEM. */
int index_make(struct export_table *);
void index_free(struct export_table *);

#endif
