/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GRAMMAR_H
#define GRAMMAR_H
/* What the reader of a text needs of the list it adds to; entries_parse() itself is in entries.h.
 */
#include "entries.h"

/* The number of a source by that name, new or not. -1: no memory. */
int entries_source(struct entries *, const char *name);
/* Takes over what the entry owns, also on failure; false without memory. */
bool entries_append(struct entries *, struct entry *);
void entry_free(struct entry *);

#endif
