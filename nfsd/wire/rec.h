/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REC_H
#define REC_H
/*
 * Record marking (RFC 5531 section 11): a byte stream in, complete records out. No I/O. One turn of
 *a connection:
 *
 *	char *scratch;                          // one per thread, 8-aligned, REC_SCRATCH bytes
 *	n = readv(fd, iov, rec_iov(r, scratch, REC_SCRATCH, iov));
 *	rec_feed(r, n);
 *	while ((st = rec_next(r, &m)) == REC_RECORD)
 *		...use m.base, m.len...; rec_put(r->mem, &m);
 *	if (st != REC_MORE)
 *		close the connection, saying rec_strerror(st)
 *
 * Call rec_next until it no longer says REC_RECORD before scratch is used for anything else: only
 *then has an incomplete tail moved out of it.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
	REC_SCRATCH =
	    256 * 1024,	    /* what one turn reads at most, beside the rest of a record begun */
	REC_MIN = 8,	    /* a record must hold transaction id and message type */
	REC_FRAGS_MAX = 64, /* fragments per record */
	REC_EMPTY_MAX = 16, /* empty fragments in a row */
	REC_AHEAD = 64,	    /* a buffer is at most this many times what the peer really sent... */
	REC_BUF_MIN = 4096, /* ...or this, or the length of its last record */
	REC_LARGE = 16384,  /* who has just sent a record this long will send another: */
	REC_PEEK = 512,	    /* only its header is received into scratch, the rest in its place */
};

/*
 * Where buffers come from. get returns n bytes, 8-aligned, or NULL; put gives back what get(n)
 * gave, with the same n. NULL in place of a struct rec_mem means buf_take and buf_give of buf.h
 * (then max must be within their largest class).
 */
struct rec_mem {
	void *(*get)(void *arg, size_t n);
	void (*put)(void *arg, void *p, size_t n);
	void *arg;
};

/* A connection's receiving side: about 100 bytes, and nothing more while no record is
 * half-received. */
struct rec {
	const struct rec_mem *mem;
	size_t max; /* largest record, bytes */
	char *in;   /* received, not yet looked at: in the scratch buffer */
	size_t in_len;
	char *buf;	  /* the record being assembled, or NULL */
	size_t cap, have; /* bytes allocated, bytes of the record there */
	uint32_t left;	  /* bytes of this fragment still to come */
	unsigned char mark[4];
	uint8_t nmark; /* bytes of the mark seen; 4: inside a fragment */
	uint8_t last;  /* this fragment ends the record */
	uint8_t nfrags, nempty;
	uint32_t previous; /* bytes of the last record */
	uint8_t status;	   /* the error that ended the stream, else 0 */
	size_t direct;	   /* how much of the next feed goes straight into buf */
};

/*
 * A complete record: len bytes at base, 4-aligned, writable. cap 0: it lies in the scratch buffer
 * and is good until the next read into it. Else it is a buffer of cap bytes that now belongs to the
 * taker, who ends it with rec_put.
 */
struct rec_msg {
	char *base;
	size_t len;
	size_t cap;
};

enum rec_status {
	REC_MORE,      /* everything complete was handed out: read more */
	REC_RECORD,    /* *m is a record */
	REC_TOOBIG,    /* a mark promises a record over max */
	REC_TOOSMALL,  /* a record of less than REC_MIN bytes */
	REC_FRAGMENTS, /* over REC_FRAGS_MAX fragments, or over REC_EMPTY_MAX empty ones in a row */
	REC_NOMEM,     /* get said NULL */
};

/* max: the largest record to accept, in bytes. mem is borrowed and may be NULL. rec_init cannot
 * fail. */
void rec_init(struct rec *r, size_t max, const struct rec_mem *mem);
/* Gives back a half-received record. Records handed out stay with their takers. */
void rec_fini(struct rec *r);

/*
 * Says where the next bytes of the stream should go: fills iov and returns 1 or 2. While a record
 * is half-received, iov[0] is the rest of its fragment in its own final buffer; then comes scratch
 * (a few bytes into it, so that what follows is aligned). size is at least 8.
 */
int rec_iov(struct rec *r, char *scratch, size_t size, struct iovec iov[2]);
/* n bytes were received into what rec_iov said last. Every record of the last feed must have been
 * taken. */
void rec_feed(struct rec *r, size_t n);
/*
 * Takes the next complete record. Any answer over REC_RECORD is final for the connection and
 * repeats. Nothing is allocated before a mark was checked against max, nor more than REC_AHEAD
 * times the bytes received (at least REC_BUF_MIN).
 */
enum rec_status rec_next(struct rec *r, struct rec_msg *m);

/* Ends a record: gives its buffer back if it has one of its own (cap is then 0). */
void rec_put(const struct rec_mem *mem, struct rec_msg *m);

/* Bytes of memory that the half-received record holds now, for the global budget. */
static inline size_t
rec_held(const struct rec *r)
{
	return r->cap;
}

/* A sentence for the log. */
const char *rec_strerror(enum rec_status st);

#endif
