/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_H
#define CONF_H
/*
 * The command line as one value. Options are rows of one table (letter, name, help, setter): the
 * parser and the usage text both come from it. A bad value is one line saying what, why and what to
 * do, and exit status 2.
 */
#include "log.h"
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#define CONF_ADDRS_MAX 16
#define CONF_LOOPS_MAX 64
#define CONF_WORKERS_MAX 512
#define CONF_WORKERS 16
#define CONF_PORT 2049
/* -z auto: READs of this many bytes and more are spliced. Below it one more copy is cheaper than
 * the pipe's work. */
#define CONF_SPLICE_AUTO 8192
#define CONF_SPLICE_DEEP 3072 /* with it, for a peer that keeps many calls in flight */
#define CONF_SPLICE_ALWAYS 0
/* -Z: the data of WRITEs of this many bytes and more is received by splice. */
#define CONF_RECEIVE_AUTO 131072
#define CONF_RECEIVE_ALWAYS 16384    /* below it a pipe costs more than it could ever save */
#define CONF_SPLICE_NEVER UINT32_MAX /* the meaning of vfs.splice_from */

struct conf_addr {
	struct sockaddr_storage addr; /* AF_INET or AF_INET6, port set */
	socklen_t len;
};

struct conf {
	char **dirs; /* as written; points into argv */
	size_t ndirs;
	const char *options;	/* -o, for every DIR; NULL: defaults */
	const char *clients;	/* -c; NULL: loopback */
	const char *file;	/* -e; NULL without DIRs: /etc/exports and /etc/exports.d */
	char rootdir[PATH_MAX]; /* of the paths in exports files (nfs.conf), canonical; "": none */
	bool check;		/* -n: check and exit */
	uint16_t port;		/* 0: any free one */
	bool port_given, workers_given;		/* on the command line */
	struct conf_addr addrs[CONF_ADDRS_MAX]; /* none: every address of the machine */
	size_t naddrs;
	char statedir[PATH_MAX];
	unsigned loops, workers;
	uint32_t splice_from;
	uint32_t receive_from; /* CONF_SPLICE_NEVER: received by copying */
	bool manage_gids;      /* -g */
	bool no_rpcbind;       /* -R */
	bool detach;	       /* -D */
	enum log_level level;  /* -q: warnings; -v: debug; else info */
};

/*
 * Parses argv. -1: run with *c. Otherwise the exit status: 0 after --help or --version (written to
 * out), 2 after a bad command line (one line written to err). argv must outlive *c; getopt(3) moves
 * the DIRs to its end. Not for use by two threads at once (getopt).
 */
int conf_parse(struct conf *c, int argc, char **argv, FILE *out, FILE *err);
/*
 * What the command line leaves open, from nfs.conf(5) beneath base ("" but for tests): [nfsd] port,
 * host and threads; [exports] rootdir, for exports files but not for DIRs. -1, or the exit status 2
 * after a line on err that names file and line.
 */
int conf_nfs(struct conf *c, const char *base, FILE *err);

#endif
