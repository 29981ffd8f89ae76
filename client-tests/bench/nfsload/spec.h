/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_SPEC_H
#define NFSLOAD_SPEC_H
#include "opts.h"

/* Parses NAME=HOST:PORT[:MOUNTPORT]/PATH[@PID] into *s. NULL, or what is wrong with it. */
const char *spec_parse(struct server_spec *s, const char *arg);
void spec_free(struct server_spec *s);

#endif
