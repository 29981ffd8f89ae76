/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BUF_H
#define BUF_H
/*
 * Recycled buffers by size class (4 KiB ... 1 MiB + 4 KiB), last in first out so that a reused one
 * is warm. Any thread may take and give back. What is out is counted against one budget for the
 * whole process (records, copied replies, pinned pipes); the runtime stops reading from peers when
 * it is exceeded, so taking never fails for budget reasons, only for lack of memory.
 */
#include <stddef.h>
#include <stdint.h>

/* A buffer of at least size bytes (size <= 1 MiB + 4 KiB), or NULL when memory is gone. Counted in
 * the budget (the size of its class) until it is given back; the caller does not count it again.
 * Contents are undefined. */
void *buf_take(size_t size);
/* Gives back what buf_take(size) gave, with the same size. NULL is ignored. */
void buf_give(void *buf, size_t size);

/* The budget: budget_add() and budget_sub() are for what is not a buffer (pinned pipes). Bytes
 * accounted now, and the limit (a share of the memory limit, cgroup-aware, set at start). */
void budget_add(size_t bytes);
void budget_sub(size_t bytes);
size_t budget_used(void);
size_t budget_limit(void);
void budget_set_limit(size_t bytes);
/* The default limit: a quarter of the cgroup's or machine's memory, at least 32 MiB, at most 1 GiB.
 */
size_t budget_default(void);
/* Frees every idle buffer (tests, memory pressure). */
void buf_trim(void);

#endif
