/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STREAM_H
#define STREAM_H
/*
 * stream moves bytes over one TCP connection with nothing around them: what a way of sending costs
 * when no protocol is involved. The sender cycles over a buffer or a file in pieces of a given
 * size; the receiver takes all and looks at nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mode {
	MODE_WRITE,    /* write() from a buffer that is never touched */
	MODE_COPY,     /* pread() into a buffer, write() from it: a server that copies */
	MODE_SENDFILE, /* sendfile() */
	MODE_SPLICE,   /* file -> pipe -> socket */
};

struct stream {
	bool sender;
	const char *address, *port;
	const char *path; /* the file; NULL for MODE_WRITE */
	enum mode mode;
	size_t piece;  /* bytes per call */
	size_t buffer; /* bytes that MODE_WRITE and MODE_COPY cycle over */
	double seconds;
	uint64_t limit;	      /* bytes; 0: by time */
	int cpu;	      /* -1: not pinned */
	unsigned connections; /* receiver: ends after so many; 0: never */
};

/* What one side did. */
struct account {
	uint64_t bytes, calls;
	uint64_t wall_ns, user_ns, system_ns;
};

const char *mode_name(enum mode m);
/* Both return 0, or -1 after a message. */
int stream_send(const struct stream *s);
int stream_receive(const struct stream *s);

/* account.c */
void account_begin(struct account *a);
/* Adds the time since begin; prints one line of JSON. s NULL: the receiving side. */
void account_print(struct account *a, const struct stream *s);

#endif
