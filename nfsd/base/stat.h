/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STAT_H
#define STAT_H
/*
 * Counters: each thread has its own block and is its only writer; a reader sums the blocks, so
 * counting costs an add and reading may be a moment late. Names (for splicectl stat, JSON and
 * metrics) stand in one table, STAT_LIST.
 */
#include <stddef.h>
#include <stdint.h>

#define STAT_LIST(X)                                                                               \
	X(CONN_OPENED, "connections_opened")                                                       \
	X(CONN_CLOSED, "connections_closed")                                                       \
	X(CONN_REFUSED, "connections_refused")                                                     \
	X(BYTES_IN, "bytes_received")                                                              \
	X(BYTES_OUT, "bytes_sent")                                                                 \
	X(WAKEUPS, "loop_wakeups")                                                                 \
	X(BATCHES, "batches")                                                                      \
	X(BATCH_CALLS, "batch_calls")                                                              \
	X(FLUSHES, "flushes")                                                                      \
	X(POOL_CALLS, "calls_given_to_pool")                                                       \
	X(READ_SPLICED, "read_bytes_spliced")                                                      \
	X(READ_COPIED, "read_bytes_copied")                                                        \
	X(WRITE_SPLICED, "write_bytes_spliced")                                                    \
	X(WRITE_COPIED, "write_bytes_copied")                                                      \
	X(WRITE_OVERFLOW, "copied_pipe_overflowed")                                                \
	X(COPY_SMALL, "copied_below_threshold")                                                    \
	X(COPY_NEVER, "copied_by_option")                                                          \
	X(COPY_REFUSED, "copied_splice_refused")                                                   \
	X(COPY_SHORT, "copied_file_shrank")                                                        \
	X(COPY_NOPIPE, "copied_no_pipe")                                                           \
	X(COPY_STALLED, "copied_stalled_peer")                                                     \
	X(PIPES_SMALLER, "pipes_smaller")                                                          \
	X(PIPES_REFUSED, "pipes_refused")                                                          \
	X(READ_COLD, "reads_not_resident")                                                         \
	X(PROMISE_BROKEN, "connections_closed_mid_reply")                                          \
	X(UDP_DROPPED, "datagrams_dropped")                                                        \
	X(RPC_REFUSED, "rpc_calls_refused")                                                        \
	X(BAD_RECORDS, "bad_records")                                                              \
	X(BAD_HANDLES, "bad_handles")                                                              \
	X(STALE_HANDLES, "stale_handles")                                                          \
	X(OBJ_HIT, "object_cache_hits")                                                            \
	X(OBJ_MISS, "object_cache_misses")                                                         \
	X(STORE_HIT, "store_hits")                                                                 \
	X(STORE_MISS, "store_misses")                                                              \
	X(STORE_COMMITS, "store_commits")                                                          \
	X(STORE_DROPPED, "store_notes_dropped")                                                    \
	X(ID_SWITCHES, "identity_switches")                                                        \
	X(DRC_STORED, "replies_kept")                                                              \
	X(DRC_REPLAYED, "replies_replayed")                                                        \
	X(DRC_PARKED, "repeats_waited")                                                            \
	X(DRC_DROPPED, "repeats_dropped")                                                          \
	X(DRC_EVICTED, "kept_replies_evicted")                                                     \
	X(DRC_RECOVERED, "kept_replies_recovered")                                                 \
	X(BACKPRESSURE, "reading_paused")                                                          \
	X(STALL_RUN, "loop_stalls_in_calls")                                                       \
	X(STALL_SEND, "loop_stalls_in_sending")                                                    \
	X(STALL_OTHER, "loop_stalls_elsewhere")

enum stat_id {
#define X(id, name) ST_##id,
	STAT_LIST(X)
#undef X
	    ST_N
};

#define STAT_ROWS 32 /* procedures: NFS 0..21, then MOUNT from STAT_MOUNT */
#define STAT_MOUNT 22
#define STAT_BUCKETS                                                                               \
	40 /* latency: bucket b counts calls of [2^(b/2) ...) * 1 us steps; see stat_bucket_us */

struct stat_row {
	uint64_t calls, errors, bytes; /* bytes: payload of READ and WRITE */
	uint64_t latency_ns;	       /* sum */
	uint64_t bucket[STAT_BUCKETS];
};

struct stat_block {
	uint64_t count[ST_N];
	struct stat_row row[STAT_ROWS];
	struct stat_block *next;
};

/* This thread's block; made at first use and kept for the life of the process. Never NULL. */
struct stat_block *stat_self(void);
void stat_add(enum stat_id, uint64_t n);
static inline void
stat_inc(enum stat_id id)
{
	stat_add(id, 1);
}
/* One call ended: its row, whether the reply was an error, payload bytes, nanoseconds from complete
 * record to reply. */
void stat_call(unsigned row, int error, uint64_t bytes, uint64_t ns);
/* Upper edge of a latency bucket in microseconds. */
double stat_bucket_us(unsigned bucket);
/*
 * The latency in microseconds below which `share` (0..1) of the counted calls stayed: an estimate
 * within its bucket, so good to the bucket's width (a factor of 1.4). 0 when nothing was counted.
 */
double stat_percentile_us(const uint64_t bucket[STAT_BUCKETS], double share);
/* Sums all blocks. */
void stat_sum(struct stat_block *out);
const char *stat_name(enum stat_id);

#endif
