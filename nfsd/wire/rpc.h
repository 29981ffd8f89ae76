/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPC_H
#define RPC_H
/*
 * RPC call and reply headers (RFC 5531), as pure functions from bytes to values and back. Nothing
 * is copied or allocated.
 *
 * A call that is complete but wrong is answered whenever an answer can be addressed: the
 * transaction id and the word CALL are enough. Constants of the replies (enum accept_stat, enum
 * auth_stat) are those of the RPC library.
 */
#include <rpc/auth.h>
#include <rpc/clnt.h>
#include <rpc/rpc_msg.h>
#include <rpc/types.h>
#include <rpc/xdr.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RPC_AUTH_MAX = 400,    /* bytes of a credential or verifier, RFC 5531 8.2 */
	RPC_MACHINE_MAX = 255, /* machine name of AUTH_SYS, RFC 5531 appendix A */
	RPC_GIDS_MAX = 16,
	RPC_HEAD = 28,	   /* bytes of an accepted reply's head, record mark included */
	RPC_HEAD_MAX = 36, /* bytes of the longest head written here */
};

/* What AUTH_SYS claims. machine points into the record and is not NUL-terminated. */
struct rpc_authsys {
	uint32_t uid, gid;
	uint32_t ngids;
	uint32_t gids[RPC_GIDS_MAX];
	const char *machine;
	uint32_t machine_len;
};

struct rpc_call {
	uint32_t xid, prog, vers, proc;
	uint32_t flavor;	/* AUTH_NONE or AUTH_SYS when the verdict is RPC_OK */
	struct rpc_authsys sys; /* zeroes for AUTH_NONE */
	enum auth_stat why;	/* why the credential was refused (RPC_BADAUTH) */
	size_t args_off; /* where the arguments begin in the record: a multiple of 4, at most the
			    record's length */
};

enum rpc_verdict {
	RPC_OK,	     /* every field of the call is valid */
	RPC_DROP,    /* not a call, or too short to be one: there is nothing to answer */
	RPC_BADVERS, /* not RPC version 2; xid is valid: answer with rpc_refuse */
	RPC_BADAUTH, /* credential or verifier refused; xid, prog, vers, proc, why are valid: answer
			with rpc_refuse */
};

/*
 * Decodes the call header of a complete record of n bytes (no record mark; any alignment). Whether
 * the program exists is not judged. Accepted: AUTH_NONE with an empty body, AUTH_SYS of the exact
 * length of its parts, each with an empty AUTH_NONE verifier (RFC 5531 appendix A). Other flavors
 * are AUTH_REJECTEDCRED, broken ones AUTH_BADCRED or AUTH_BADVERF.
 */
enum rpc_verdict rpc_decode(const char *rec, size_t n, struct rpc_call *c);

/*
 * Reply encoders. Each writes a record of one fragment, mark included, at buf (RPC_HEAD_MAX bytes,
 * any alignment), complete as it stands, and returns its bytes. When results follow the head of
 * rpc_accepted, set the mark again with rpc_set_mark.
 *
 * rpc_accepted: MSG_ACCEPTED, null verifier, stat: SUCCESS, PROG_UNAVAIL, PROC_UNAVAIL,
 * GARBAGE_ARGS or SYSTEM_ERR. rpc_prog_mismatch: accepted, but the program is served in versions
 * low..high only. rpc_auth_error: MSG_DENIED, AUTH_ERROR, why. rpc_refuse: the answer to
 * RPC_BADVERS (versions 2..2) or RPC_BADAUTH; 0 for any other verdict.
 */
size_t rpc_accepted(char *buf, uint32_t xid, enum accept_stat stat);
size_t rpc_prog_mismatch(char *buf, uint32_t xid, uint32_t low, uint32_t high);
size_t rpc_auth_error(char *buf, uint32_t xid, enum auth_stat why);
size_t rpc_refuse(char *buf, const struct rpc_call *c, enum rpc_verdict v);

/* Writes the 4-byte mark of a record that is one last fragment: total is all of it, the mark's own
 * 4 bytes included. */
void rpc_set_mark(char *buf, size_t total);

#endif
