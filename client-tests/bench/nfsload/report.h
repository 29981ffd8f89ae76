/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_REPORT_H
#define NFSLOAD_REPORT_H
#include <stdio.h>

#include "measure.h"

/* Prints the run as a table to standard output. */
void report_table(const struct run *r);
/* Prints it to f as one JSON object: the figures, and every round as it was measured. */
void report_json(FILE *f, const struct run *r);

#endif
