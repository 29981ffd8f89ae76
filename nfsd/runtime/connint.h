/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONNINT_H
#define CONNINT_H
/* What the files of a connection (conn.c, conncall.c, connfill.c, connout.c) share; nobody else
 * needs it.
 */
#include "conn.h"

/* Runs what has been received, in batches, each flushed, until nothing is left, the turn is over or
 * the peer must drain first. */
void conn_run(struct conn *);
/* Makes a task a call of this connection, but for its record. */
void conn_prepare(struct conn *, struct task *);
/* The record must outlive this turn: moves a short one into the task, a long one into a buffer.
 * False without memory. */
bool conn_keep_record(struct task *, struct rec_msg *);

/* connfill.c. Learns from a whole record how long the heads of this peer's WRITEs are. */
void conn_fill_learn(struct conn *, const char *rec, size_t len);
/* The head of a long record: true when its data will go into a pipe. */
bool conn_fill_begin(struct conn *, struct rec_msg *head);
/* The socket is readable. */
void conn_fill(struct conn *);
/* The connection ends. */
void conn_fill_drop(struct conn *);

/* What came of a call. False: the connection was closed. */
bool conn_conclude(struct conn *, struct task *, enum call_verdict);

/* Gives a call to the pool; conn_result() takes it back. */
void conn_submit(struct conn *, struct task *);
/* Any thread: a parked call is ours again. */
void conn_wake(struct call *, enum call_verdict);
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
