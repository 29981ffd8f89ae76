/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FLOOR_H
#define FLOOR_H
/*
 * floor answers NFSv3 calls with no NFS work behind them: every reply is prepared, only xid, count
 * and eof are patched. What it costs is the price of the wire alone, the limit that a server with
 * the same batching can come near to but not pass.
 *
 * A wake-up reads up to 256 KiB of calls, answers all complete ones and flushes once; --batch
 * bounds the reply bytes of a flush.
 *
 * With --write, WRITE puts its data into the file and COMMIT syncs it: receive and pwrite, without
 * a word to anyone. A record longer than RECORD_LARGE is received into its place to its end and
 * RECORD_PEEK bytes on, so that of the next one only a header has to move. With --pipe, too, such
 * data goes from the socket through the pipe to the file, once a first call has shown how long the
 * header before it is. With --hand-off a thread does each WRITE while the loop waits for it: what
 * a server pays that lets nothing slow happen in its loop.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define READ_MAX (1u << 20) /* rtmax, wtmax */
#define INPUT_MAX (256u << 10)
#define RECORD_MAX (READ_MAX + 1024) /* a WRITE's header is shorter than that */
#define RECORD_LARGE (16u << 10)
#define RECORD_PEEK 512u
#define BATCH_CALLS 320 /* three iovecs each stay below IOV_MAX */
#define HEAD_MAX 320	/* longest reply without data */

enum mode { MODE_HOT, MODE_SENDFILE, MODE_PIPE };

/* The file that every READ reads, and how. */
struct served {
	enum mode mode;
	int fd;
	uint64_t size;
	uint8_t
	    *hot; /* MODE_HOT: READ_MAX bytes, the beginning of the file whatever offset is asked */
	int pipe[2];	      /* MODE_PIPE */
	bool write;	      /* WRITE and COMMIT change the file */
	struct handoff *hand; /* a thread that does the WRITEs from memory; NULL: the loop does */
};

/* One reply: head in the batch's memory, then `data` bytes of file from `offset`, then pad. */
struct answer {
	const uint8_t *head;
	uint32_t head_len;
	uint32_t data;
	uint64_t offset;
};

/* Replies that will leave together. */
struct batch {
	struct answer answer[BATCH_CALLS];
	unsigned n;
	size_t bytes; /* on the wire */
	uint8_t memory[BATCH_CALLS * HEAD_MAX];
	size_t used;
};

static inline uint32_t
pad_of(uint32_t n)
{
	return (4 - (n & 3)) & 3;
}

/* answer.c */

struct prepared {
	uint8_t head[HEAD_MAX];
	uint32_t len; /* 0: no such procedure */
};

#define NFS_PROCS 22
/* Replies ready but for the xid; built once from the file's attributes. */
struct replies {
	struct prepared nfs[NFS_PROCS];
	struct prepared getattr_root;
	struct prepared mnt, empty, unavailable, no_program;
	struct prepared io; /* a failed WRITE or COMMIT: NFS3ERR_IO, no attributes */
};

void replies_prepare(struct replies *r, const struct served *s);
/* Answers one call: record of len bytes without its mark. False when the bytes are no call that we
 * understand. */
bool answer_call(struct batch *b, const struct replies *r, const struct served *s,
		 const uint8_t *call, size_t len);

/* The arguments of a WRITE up to its data. */
struct writing {
	size_t head; /* bytes before the data, mark apart */
	uint64_t offset;
	uint32_t n, stable;
};
/* Is this the beginning of a WRITE, of have bytes, whose data needs no pad? */
bool is_write(const uint8_t *call, size_t have, struct writing *w);
/* Answers a WRITE whose data is in the file. */
void answer_write(struct batch *b, const struct replies *r, const struct served *s,
		  const uint8_t *call, const struct writing *w);

/* handoff.c */

/* NULL with errno. */
struct handoff *handoff_new(void);
/* Has the thread do it, and waits. */
void handoff_run(struct handoff *h, void (*deed)(void *), void *arg);

/* input.c */

/* A connection and what it has sent: the beginning of `in` is always that of a record. */
struct peer {
	struct peer *next;
	int fd;
	bool large;    /* its last record was longer than RECORD_LARGE */
	size_t head;   /* bytes before the data of its WRITEs, mark included; 0: not known */
	uint32_t pass; /* of the record in `in` so many bytes still go through the pipe, */
	uint64_t to;   /* to here */
	size_t have, cap;
	uint8_t in[];
};

/* cap bytes of input; longer records are refused. NULL without memory. */
struct peer *peer_new(int fd, size_t cap);
/* One recv. What recv said. */
ssize_t peer_receive(struct peer *p);
/* The same for what goes through the pipe. Bytes that a file does not take are lost: -1. */
ssize_t peer_pass(struct peer *p, const struct served *s);
/* Length of the record at `at` with its mark; 0 when it is not complete, SIZE_MAX when we cannot
 * take it. */
size_t peer_record(struct peer *p, size_t at);
/* The first n bytes are done with. */
void peer_consume(struct peer *p, size_t n);

/* flush.c */

/* A fresh, empty pipe of 1 MiB for MODE_PIPE. False with errno. */
bool pipe_renew(struct served *s);
/* Sends the batch and empties it, waiting while the socket is full. False when the peer is gone or
 * stalled for 30 s. */
bool flush_batch(struct batch *b, struct served *s, int sock);

#endif
