/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_TASK_H
#define NFSLOAD_TASK_H
/*
 * A task is what a slot of the window works at: one call, or a row of calls of which each waits for
 * the one before (CREATE then REMOVE of the same name; a directory listed to its end). The chooser
 * says what comes next on a connection: which operation of the mix, and where.
 */
#include "calls.h"

struct task {
	enum op op;	/* of the call that is next or in flight */
	unsigned index; /* which object */
	uint32_t want;	/* READ: bytes that the file has for us there, at most the size asked */
	uint64_t offset;
	uint64_t cookie; /* READDIRPLUS */
	uint64_t verf;
};

struct chooser {
	const struct opts *o;
	const struct target *t;
	const struct calls *calls;
	uint64_t next_offset;
	unsigned next_object;
	uint64_t random;
	uint64_t uncommitted; /* bytes of UNSTABLE WRITEs since the last COMMIT */
};

/* Connections begin at different places, so that they do not walk in step over the same pages. */
void chooser_init(struct chooser *ch, const struct opts *o, const struct target *t,
		  const struct calls *calls, unsigned conn_index);
/* A fresh task. */
void choose(struct chooser *ch, struct task *task);
/* A number from (0, 1]. */
double chooser_uniform(struct chooser *ch);

#endif
