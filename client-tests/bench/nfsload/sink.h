/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_SINK_H
#define NFSLOAD_SINK_H
/*
 * A null server in a process of its own: every call is answered at once with a reply made
 * beforehand, of the right shape and size, batched as the calls came. What the client spends
 * against it is the client's own cost, and its rate is the most that this client can show.
 */
#include "target.h"

struct sink {
	pid_t pid;
	char port[8];
	struct server_spec spec;
};

/* 0, or -1 with err (512 bytes). */
int sink_start(struct sink *s, const struct opts *o, char *err);
void sink_stop(struct sink *s);
/* The target that target_open would find, without asking. */
void sink_target(struct target *t, const struct sink *s);

#endif
