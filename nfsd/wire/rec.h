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
#include <stdbool.h>
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
	REC_EXPECT_MAX = REC_PEEK - 4,
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
	uint32_t previous;    /* bytes of the last record */
	uint8_t status;	      /* the error that ended the stream, else 0 */
	size_t direct;	      /* how much of the next feed goes straight into buf */
	uint32_t expect;      /* rec_expect: bytes of a head, 0: none asked for... */
	uint32_t expect_from; /* ...of records this long */
	bool asked;	      /* this record's head was handed out */
	bool away;	      /* and its rest goes elsewhere */
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
	REC_HEAD,      /* *m is the head of a record that rec_expect asked for: see rec_divert */
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

/*
 * The next long records may begin with n bytes (at most REC_EXPECT_MAX) that their receiver wants
 * to see before he decides where the rest shall go: such a head is then received by itself. When it
 * is there, and it announces a record of one fragment, of at least `from` bytes, rec_next says
 * REC_HEAD once, with the head in scratch. Then either rec_divert, or rec_next again: the record
 * comes as ever. n == 0: no more of that.
 */
void rec_expect(struct rec *r, size_t n, size_t from);
/* After REC_HEAD: the rest of the record, rec_away bytes, is read from the socket by the caller,
 * who counts it with rec_passed; nothing else may be called meanwhile but rec_fini. */
void rec_divert(struct rec *r);
/* Bytes still to be passed by; 0: nothing is diverted. */
static inline size_t
rec_away(const struct rec *r)
{
	return r->away ? r->left : 0;
}
void rec_passed(struct rec *r, size_t n);
/* The caller changes his mind: the record so far, head included, is in buf, of cap bytes from r's
 * memory; the rest comes as ever. cap holds the whole record. */
void rec_return(struct rec *r, char *buf, size_t cap, size_t have);

/* Bytes of memory that the half-received record holds now, for the global budget. */
static inline size_t
rec_held(const struct rec *r)
{
	return r->cap;
}

/* A sentence for the log. */
const char *rec_strerror(enum rec_status st);

#endif
