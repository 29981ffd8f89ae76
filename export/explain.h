/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXPLAIN_H
#define EXPLAIN_H
/* What a client may do with a path, and which line of which file says so. */
#include "export.h"
#include <stdio.h>

struct explain {
	const struct export_table *table;
	struct sockaddr_storage peer;
	const char *path;
	bool has_uid; /* else root and an ordinary user are shown */
	uid_t uid;
	bool unprivileged; /* as export_env */
};

/* Prints the answer. May wait a few seconds for name services: not for a loop. */
void explain(const struct explain *, FILE *out);

#endif
