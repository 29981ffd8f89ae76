/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONNINT_H
#define CONNINT_H
/* What the three files of a connection (conn.c, conncall.c, connout.c) share; nobody else needs it.
 */
#include "conn.h"

/* Runs what has been received, in batches, each flushed, until nothing is left, the turn is over or
 * the peer must drain first. */
void conn_run(struct conn *);
/* What came of a call. False: the connection was closed. */
bool conn_conclude(struct conn *, struct task *, enum call_verdict);

/* Gives a call to the pool; conn_result() takes it back. */
void conn_submit(struct conn *, struct task *);
/* Any thread: a parked call is ours again. */
void conn_wake(struct call *, enum call_verdict);
/* The pipe a worker did not hand back full: closes it to reuse if bytes are in it. NULL is ignored.
 */
void conn_distrust(struct pipe *);
/* Sends what it can. False: the connection was closed. */
bool conn_flush(struct conn *);
/* Bytes that the peer makes us hold; too much; decide anew whether we read from it. */
size_t conn_holding(const struct conn *);
bool conn_overloaded(const struct conn *);
void conn_regulate(struct conn *);
/* Everything is answered and the peer sends no more. */
bool conn_finished(const struct conn *);
/* What every event on a connection ends with. */
void conn_settle(struct conn *);

#endif
