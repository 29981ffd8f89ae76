/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_TALLY_H
#define NFSLOAD_TALLY_H
/* What happened in one measured part: counted by each thread for itself, then added up. */
#include <stdint.h>

#include "hist.h"
#include "ops.h"
#include "rpc.h"

#define TALLY_STATUSES 8

struct tally {
	uint64_t calls;	  /* replies complete, whatever their status */
	uint64_t tasks;	  /* finished: a CREATE and REMOVE pair or a whole listing is one */
	uint64_t bytes;	  /* of READ and WRITE data */
	uint64_t entries; /* of directories listed */
	uint64_t sends;	  /* send() that carried calls */
	uint64_t wakeups; /* that brought at least one byte */
	uint64_t recvs;
	uint64_t short_reads; /* fewer bytes than asked before the end of the file */
	uint64_t short_writes;
	uint64_t bad_data; /* replies whose data was wrong */
	uint64_t bad_eof;
	uint64_t no_attrs; /* READ replies without attributes */
	uint64_t restarts; /* the write verifier changed */
	uint64_t unsent;   /* open loop: due, but the window was full to the end */
	struct {
		uint32_t status;
		uint64_t n;
	} failed[TALLY_STATUSES]; /* by NFS status; the last takes all that found no row */
	char complaint[RPC_ERR];  /* first wrong data */
	struct hist latency[OP_COUNT];
	struct hist lag; /* open loop: how late calls left us */
};

void tally_failed(struct tally *t, uint32_t status, uint64_t n);
void tally_add(struct tally *to, const struct tally *from);
/* Answers that were refused or wrong. */
uint64_t tally_errors(const struct tally *t);
/* Of all operations together. */
void tally_latency(const struct tally *t, struct hist *sum);

#endif
