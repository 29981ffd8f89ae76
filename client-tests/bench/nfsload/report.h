/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_REPORT_H
#define NFSLOAD_REPORT_H
#include "measure.h"

/* Prints the run to standard output, as a table or as one JSON object. */
void report_table(const struct run *r);
void report_json(const struct run *r);

#endif
