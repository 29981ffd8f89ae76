/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef COMMANDS_H
#define COMMANDS_H
/* What splicectl can ask a running server: the table of control commands, over a struct server. */
#include "admin.h"
#include "server.h"

extern const struct admin_ops server_commands; /* arg: the struct server */

#endif
