/* SPDX-License-Identifier: BSD-2-Clause */
#include "ops.h"

#include <stddef.h>

const struct op_row op_table[OP_COUNT] = {
    [OP_NULL] = {"NULL", 0, FAIL_NOTHING, "null"},
    [OP_GETATTR] = {"GETATTR", 1, FAIL_NOTHING, "getattr"},
    [OP_LOOKUP] = {"LOOKUP", 3, FAIL_ATTR, "lookup"},
    [OP_READ] = {"READ", 6, FAIL_ATTR, "read"},
    [OP_WRITE] = {"WRITE", 7, FAIL_WCC, "write"},
    [OP_COMMIT] = {"COMMIT", 21, FAIL_WCC, NULL}, /* follows unstable WRITEs */
    [OP_CREATE] = {"CREATE", 8, FAIL_WCC, "create"},
    [OP_REMOVE] = {"REMOVE", 12, FAIL_WCC, NULL}, /* the other half of create */
    [OP_READDIRPLUS] = {"READDIRPLUS", 17, FAIL_ATTR, "readdirplus"},
};
