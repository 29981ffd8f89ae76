/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOWFS_FAULTS_H
#define SLOWFS_FAULTS_H

#include <stdbool.h>
#include <stdio.h>

/* The kinds of operation that can be delayed, held and failed. */
enum op {
	OP_LOOKUP,
	OP_GETATTR,
	OP_OPEN,
	OP_READ,
	OP_WRITE,
	OP_READDIR,
	OP_FSYNC,
	OP_CHANGE,
	OP_COUNT
};

struct faults;

/* A table with no faults. Never fails but for memory (NULL). Free with faults_free after every user
 * is gone. */
struct faults *faults_new(void);
void faults_free(struct faults *f);

/*
 * Called by every operation before it does anything: counts it, waits while its kind is held,
 * sleeps its delay. Returns 0 (go on) or the errno value that the operation must fail with. Any
 * thread, any number at once.
 */
int faults_pass(struct faults *f, enum op op);

/* The name of an operation as the control language knows it; -1 for an unknown name. */
const char *faults_op_name(enum op op);
int faults_op_find(const char *name);

void faults_delay(struct faults *f, enum op op, unsigned ms);
/* Hold: operations of this kind wait until released. A test holds, starts a call, sees it waiting,
 * goes on. */
void faults_hold(struct faults *f, enum op op, bool hold);
/* Fail operations of this kind with this errno value; 0 ends it. */
void faults_fail(struct faults *f, enum op op, int err);
/* Every operation fails with EIO, the waiting ones at once: a disk without power, or the end of the
 * program. */
void faults_cut(struct faults *f, bool cut);
/* One line per kind: name, calls so far, waiting now (held or asleep). */
void faults_print(struct faults *f, FILE *out);

#endif
