/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_VERIFY_H
#define NFSLOAD_VERIFY_H
/*
 * Is this what the file holds? Against a local copy, or against the pattern: every 8-byte word at a
 * multiple of 8 is its own offset, big-endian, so that wrong data tells where it comes from.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc.h"

struct verifier {
	bool pattern;
	const uint8_t *copy; /* NULL: pattern, or nothing to verify */
	uint64_t size;
};

/* Maps the local copy. 0, or -1 with err. */
int verifier_open(struct verifier *v, const char *path, char err[RPC_ERR]);
void verifier_close(struct verifier *v);
/* True when the n bytes at p are those of the file at offset; else err says where they first
 * differ. */
bool verifier_same(const struct verifier *v, const uint8_t *p, size_t n, uint64_t offset,
		   char err[RPC_ERR]);
/* Writes a pattern file; arg is "FILE,BYTES". 0, or -1 with err. */
int pattern_write(const char *arg, char err[RPC_ERR]);

#endif
