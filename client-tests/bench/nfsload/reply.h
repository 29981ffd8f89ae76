/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_REPLY_H
#define NFSLOAD_REPLY_H
/* What the replies to our calls hold (RFC 1813 section 3.3), as far as a measuring client looks. */
#include "ops.h"
#include "rpc.h"

/* What a reply says before its data. */
struct head {
	enum op op;
	uint32_t xid;
	uint32_t status; /* nfsstat3; 0 for NULL */
	uint32_t count;	 /* READ: bytes of data that follow; WRITE: bytes taken */
	bool eof;
	bool attrs;    /* READ: attributes were given */
	bool body;     /* READDIRPLUS: the list follows, to the end of the record */
	uint64_t verf; /* WRITE and COMMIT: of the server's life; READDIRPLUS: of the cookies */
	size_t len;    /* bytes of record that the head took */
};

/* Results of a call to h->op from their status on. 0, or -1 after writing the complaint; d->over
 * says that more bytes are needed. */
int reply_results(struct dec *d, struct head *h, char err[RPC_ERR]);

/* The list of a READDIRPLUS reply. */
struct listing {
	unsigned entries;
	uint64_t cookie; /* of the last entry */
	bool eof;
};
/* 0, or -1 with err: the bytes are no list. */
int reply_listing(const uint8_t *p, size_t n, struct listing *l, char err[RPC_ERR]);

#endif
