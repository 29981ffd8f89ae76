/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_OPTS_H
#define NFSLOAD_OPTS_H
/* What the command line asked for. Filled once by opts_parse, read by everything else. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpc.h"

enum op { OP_NULL, OP_GETATTR, OP_LOOKUP, OP_READ };

const char *op_name(enum op op);

#define SERVERS_MAX 16
#define DEPTH_MAX 4096 /* a call's slot number lives in 12 bits of its xid */

/* One --server NAME=HOST:PORT[:MOUNTPORT]/PATH[@PID]; strings live as long as the options. */
struct server_spec {
	char *name;
	char *host;
	char *port;
	char *mountport;
	char *path; /* absolute, of the file on the server; "EXPORT//FILE" says what to mount */
	pid_t pid;  /* 0: not given, then no CPU of the server is shown */
};

struct opts {
	enum op op;
	uint32_t size;	/* READ count, bytes */
	bool random;	/* else cyclic over the file */
	uint64_t align; /* random offsets are multiples of this; 0: of size */
	uint64_t shift; /* added to every offset */
	unsigned conns; /* per server */
	unsigned depth; /* calls in flight per connection */
	unsigned threads;
	unsigned refill; /* send again when so many slots are free */
	unsigned rounds;
	double seconds;	    /* per round and server; ignored when calls is given */
	uint64_t calls;	    /* per round and server; 0: by time */
	double warmup;	    /* seconds before each measured part */
	unsigned names;	    /* files f0..fN-1 beside the file; 0: the file itself */
	const char *verify; /* local copy */
	bool pattern;	    /* the file holds the self-describing pattern */
	size_t discard_from;
	int rcvbuf;	  /* 0: the kernel's own tuning */
	int privport;	  /* 1 yes, 0 no, -1 when we may */
	int cpu;	  /* -1: not pinned */
	bool json;	  /* JSON instead of the table */
	const char *save; /* file that gets the JSON as well; NULL: none */
	const char *base; /* name of the server that ratios refer to; NULL: first */
	struct cred cred;
	struct server_spec server[SERVERS_MAX];
	unsigned nservers;
	const char *make_pattern; /* FILE,SIZE: write a pattern file and exit */
};

/* Exits with a message on bad usage, as argp does. */
void opts_parse(struct opts *o, int argc, char **argv);
void opts_free(struct opts *o);

/* "64K", "1M", "8192" -> bytes; -1 when it is no size. */
int64_t parse_size(const char *s);

#endif
