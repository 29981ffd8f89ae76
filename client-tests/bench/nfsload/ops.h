/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_OPS_H
#define NFSLOAD_OPS_H
/* The procedures (RFC 1813 section 3.3) that this program calls, one row each. */
#include <stdint.h>

enum op {
	OP_NULL,
	OP_GETATTR,
	OP_LOOKUP,
	OP_READ,
	OP_WRITE,
	OP_COMMIT,
	OP_CREATE,
	OP_REMOVE,
	OP_READDIRPLUS,
	OP_COUNT
};

/* What a reply with an error status carries. */
enum failure { FAIL_NOTHING, FAIL_ATTR, FAIL_WCC };

struct op_row {
	const char *name;
	uint32_t proc;
	enum failure failure;
	const char *word; /* how --op and --mix call it; NULL: it comes along with another */
};

extern const struct op_row op_table[OP_COUNT];

#endif
