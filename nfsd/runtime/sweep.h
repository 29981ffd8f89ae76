/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SWEEP_H
#define SWEEP_H
/*
 * The store's housekeeping: every minute a worker looks at some rows and removes those whose
 * objects are gone. Bounded work each time, so a store of many millions is cleaned over hours
 * without being felt.
 */
#include "call.h"
#include "pool.h"
#include "resolve.h"
#include <ev.h>

struct sweep;

struct sweep *sweep_new(struct ev_loop *, struct pool *, struct engine *, const struct resolve *);
/* Starts no more work; call before the pool ends, and sweep_free after it. NULL is ignored. */
void sweep_stop(struct sweep *);
void sweep_free(struct sweep *);

#endif
