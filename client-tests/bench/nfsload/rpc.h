/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_RPC_H
#define NFSLOAD_RPC_H
/* ONC RPC (RFC 5531) over TCP: encoding a call, and the one-at-a-time call that setting up needs.
 */
#include <stddef.h>
#include <stdint.h>

#include "xdr.h"

#define PROG_NFS 100003u
#define PROG_MOUNT 100005u
#define RPC_ERR 256

#define CRED_GROUPS 16
struct cred {
	uint32_t uid, gid;
	uint32_t gids[CRED_GROUPS];
	unsigned ngids;
};

/* The credential of this process; no further groups. */
void cred_own(struct cred *c);

/* Begins a call at the start of e: room for the record mark, then header and AUTH_SYS credential.
 */
void rpc_begin(struct enc *e, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc,
	       const struct cred *c);
/* Ends it: writes the mark of a record of one fragment (RFC 5531 section 11). */
void rpc_end(struct enc *e);
#define RPC_XID_AT 4 /* where the xid stands in such a record */

/*
 * Reads the header of a reply up to where the results begin. 1 accepted and successful, 0 more
 * bytes are needed, -1 the server refused the call or this is no reply: *err says which (a string
 * of at most RPC_ERR bytes).
 */
int rpc_reply(struct dec *d, uint32_t *xid, char err[RPC_ERR]);

/*
 * Connects a TCP socket (blocking, TCP_NODELAY). privport as in struct opts: 1 from a port below
 * 1024, 0 any, -1 try the first and settle for the second. rcvbuf 0 leaves the buffer alone. The
 * socket, or -1 with err.
 */
int rpc_connect(const char *host, const char *port, int privport, int rcvbuf, char err[RPC_ERR]);

/*
 * Sends the call in e on the blocking socket fd and waits for its reply (10 s). buf, of cap bytes,
 * receives the record; *res is left at the results. 0, or -1 with err.
 */
int rpc_call(int fd, const struct enc *e, uint8_t *buf, size_t cap, struct dec *res,
	     char err[RPC_ERR]);

/* "ACCES" for 13 and so on: the names of nfsstat3 and mountstat3 without their prefix. */
const char *status_name(uint32_t status);

#endif
