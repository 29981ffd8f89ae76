/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAULT_CLIENT_H
#define FAULT_CLIENT_H
/*
 * A raw RPC client over TCP for tests that misbehave on purpose: calls are bytes that a test sends
 * when and how it likes; replies are whole records. AUTH_SYS, uid 0, no groups.
 *
 * What a test expects and does not get is a failed check (fatal where nothing could go on).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check.h"
#include "mount3.h"
#include "nfs3.h"

enum { CL_CALL_MAX = 2048, CL_READ_MAX = 1 << 20, CL_SECONDS = 30 };

struct cl {
	int fd;
	uint32_t xid; /* of the last call */
	char *buf;    /* the reply received last, without its record mark */
	size_t len, cap;
	uint32_t mark; /* its record mark */
};

/* A connection to 127.0.0.1. rcvbuf 0: the system's usual receive buffer; else of so many bytes. */
struct cl *cl_new(int port, int rcvbuf);
/* NULL instead of a failed check. */
struct cl *cl_try(int port, int rcvbuf);
void cl_free(struct cl *);
/* Ends with RST instead of FIN. */
void cl_reset(struct cl *);

/* A call into buf (CL_CALL_MAX bytes), record mark included; its bytes. enc NULL: no arguments. */
size_t cl_build(char *buf, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc, xdrproc_t enc,
		void *args);
size_t cl_build_read(char *buf, uint32_t xid, const nfs_fh3 *, uint64_t off, uint32_t count);
size_t cl_build_getattr(char *buf, uint32_t xid, const nfs_fh3 *);
/* Sends all of it. False: the connection ended. */
bool cl_send(struct cl *, const void *, size_t);
/* Sends one call with the next xid. */
void cl_call(struct cl *, uint32_t prog, uint32_t vers, uint32_t proc, xdrproc_t enc, void *args);
void cl_call_read(struct cl *, const nfs_fh3 *, uint64_t off, uint32_t count);
void cl_call_getattr(struct cl *, const nfs_fh3 *);

/* Exactly n bytes. False: the connection ended first, or nothing came for CL_SECONDS. */
bool cl_bytes(struct cl *, void *, size_t n);
/* Receives one reply of one fragment into c->buf. False as above. A second fragment is a failed
 * check. */
bool cl_recv(struct cl *);
/* The xid of the reply. */
uint32_t cl_xid(const struct cl *);
/* What a reply's header says: accept_stat, or 100 + auth_stat when denied for that, 200 for
 * RPC_MISMATCH. *off: where results begin. */
int cl_verdict(const struct cl *, size_t *off);
/* Decodes the results of an accepted reply, all of them, into *res (zeroed first). False: not
 * accepted, or they do not decode to the last byte. READ data and names point into c->buf. */
bool cl_results(const struct cl *, xdrproc_t dec, void *res, size_t size);
/* The reply is a READ's: checks that count, opaque length, pad and record agree. The status, or -1.
 */
int cl_read_results(const struct cl *, READ3res *);

/* ---- whole calls; the status, or -1 when the connection ended ---- */
int cl_mnt(struct cl *, const char *path, nfs_fh3 *);
int cl_lookup(struct cl *, const nfs_fh3 *dir, const char *name, nfs_fh3 *);
int cl_getattr(struct cl *, const nfs_fh3 *, fattr3 *); /* attributes may be NULL */
int cl_read(struct cl *, const nfs_fh3 *, uint64_t off, uint32_t count, READ3res *);
/* The handle of a file below an export ("file" or "dir/file"), fatally checked. */
nfs_fh3 cl_handle(struct cl *, const char *export, const char *path);

/* ---- file contents that say what they are ---- */
/* Byte off of file `tag`; unlike any other byte nearby, and any other file's. */
void pattern_fill(uint32_t tag, uint64_t off, void *, size_t n);
bool pattern_is(uint32_t tag, uint64_t off, const void *, size_t n);
/* Makes or overwrites a file with n bytes of it. */
void pattern_file(const char *path, uint32_t tag, size_t n);

#endif
