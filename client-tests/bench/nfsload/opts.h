/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_OPTS_H
#define NFSLOAD_OPTS_H
/* What the command line asked for. Filled once by opts_parse, read by everything else. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ops.h"
#include "rpc.h"

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
	unsigned weight[OP_COUNT]; /* of the mix */
	unsigned weights;	   /* their sum */
	enum op only;		   /* no mix: this one, else OP_COUNT */
	uint32_t size;		   /* READ and WRITE count, bytes */
	bool random;		   /* else cyclic over the file */
	uint64_t align;		   /* random offsets are multiples of this; 0: of size */
	uint64_t shift;		   /* added to every offset */
	uint32_t stable;	   /* stable_how of WRITE: 0 UNSTABLE, 1 DATA_SYNC, 2 FILE_SYNC */
	uint64_t commit;	   /* COMMIT after so many bytes UNSTABLE; 0: never */
	bool overwrite;		   /* WRITE may change the file */
	uint32_t listing;	   /* dircount and maxcount of READDIRPLUS */
	unsigned conns;		   /* per server */
	unsigned depth;		   /* calls in flight per connection */
	double rate;		   /* tasks per second and server; 0: closed loop */
	bool poisson;		   /* random appointments */
	unsigned threads;
	unsigned refill; /* send again when so many slots are free */
	unsigned rounds;
	double seconds;	    /* per round and server; ignored when calls is given */
	uint64_t calls;	    /* tasks per round and server; 0: by time */
	double warmup;	    /* seconds before each measured part */
	bool spread;	    /* READs go to the names too */
	unsigned names;	    /* files f0..fN-1 beside the file; 0: the file itself */
	const char *verify; /* local copy */
	bool pattern;	    /* the file holds the self-describing pattern */
	size_t discard_from;
	int rcvbuf;	  /* 0: the kernel's own tuning */
	int privport;	  /* 1 yes, 0 no, -1 when we may */
	int cpu;	  /* -1: not pinned */
	bool json;	  /* JSON instead of the table */
	bool sink;	  /* measure our own null server too */
	int sink_cpu;	  /* -1: not pinned */
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

/* Whether calls of this kind will be made. */
static inline bool
opts_has(const struct opts *o, enum op op)
{
	if (op == OP_COMMIT)
		return o->weight[OP_WRITE] && o->commit && !o->stable;
	return o->weight[op == OP_REMOVE ? OP_CREATE : op] > 0;
}

/* Whether bytes of file data travel. */
static inline bool
opts_has_data(const struct opts *o)
{
	return opts_has(o, OP_READ) || opts_has(o, OP_WRITE);
}

/* values.c: each returns NULL, or what was expected instead. */

const char *value_mix(struct opts *o, const char *arg);
const char *value_op(struct opts *o, const char *arg);
const char *value_stable(struct opts *o, const char *arg);
const char *value_groups(struct opts *o, const char *arg);
/* "64K", "1M", "8192" -> bytes; -1 when it is no size. */
int64_t parse_size(const char *s);

#endif
