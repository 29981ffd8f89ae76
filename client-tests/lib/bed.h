/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BED_H
#define BED_H
/*
 * A server without sockets: a test makes trees, a call record, and gets the whole reply as bytes.
 *
 *	struct bed *b = bed_new(NULL);          two exports, base/a and base/b, of a directory that
 *goes away with the bed bed_write(b, "a/file", "text", 4); bed_lookup(b, &b->root_a, "file", &fh);
 *every call runs in every mode, and each must give the same bytes bed_free(b); fails the test if
 *anything is still held
 *
 * A call may run as a loop runs it (may not sleep, with a batch; when it answers "sleeps", nothing
 *may be held, and a worker runs it again), as a worker runs it with a pipe to fill, without one,
 *and copying.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"
#include "check.h"
#include "kernel.h"
#include "mount3.h"
#include "nfs3.h"
#include "rpc.h"

enum bed_mode { BED_LOOP, BED_WORKER, BED_NOPIPE, BED_COPY, BED_MODES };

struct bed_opts {
	const char *parent;		   /* where the trees are made; NULL: /tmp */
	const char *options_a, *options_b; /* export options; NULL: "ro" */
	const char *clients_a, *clients_b; /* NULL: "127.0.0.1" */
	const char *without; /* kernel features to do without, as SPLICED_WITHOUT; NULL: none */
	bool drc;	     /* replies are kept for repeated calls */
};

struct bed_reply {
	enum call_verdict verdict;
	bool slept;  /* the loop handed it to a worker */
	bool failed; /* as the counters see it */
	char *buf;   /* head, body, pad as they would be sent */
	size_t len, cap;
	enum { BODY_NONE, BODY_MEM, BODY_FILE, BODY_PIPE } kind;
};

struct bed {
	char base[64]; /* holds a/, b/, state/ */
	struct bed_opts opts;
	struct kernel kernel;
	struct handle_key key;
	struct store *store;
	struct ident ident;
	struct resolve resolve;
	struct files *files;
	struct vfs vfs;
	struct engine engine;
	struct peer peer; /* 127.0.0.1, port 700 */
	nfs_fh3 root_a, root_b;

	/* who asks: root, AUTH_SYS, no groups at first */
	uint32_t flavor, uid, gid, ngids, gids[RPC_GIDS_MAX];

	/* the record about to run, and what came of it */
	uint32_t xid;
	char *rec;
	size_t reclen, reccap, args_off;
	struct bed_reply reply;
	struct call *call;
	struct call_batch batch;
	int pipe[2];
	int fds; /* open before the bed was made */
	mode_t umask;
	size_t budget;
};

struct bed *bed_new(const struct bed_opts *);
void bed_free(struct bed *);
/* The server ends, and begins again on the same trees and state; both are its whole life, so that a
 * child may live one between. Handles stay good. */
void bed_stop(struct bed *);
void bed_start(struct bed *);

/* ---- the trees; paths are relative to the base ("a/dir/file") ---- */
void bed_mkdir(struct bed *, const char *path, mode_t);
void bed_write(struct bed *, const char *path, const void *data, size_t n);
/* A file of n bytes of a pattern in which every 8 bytes say where they stand. */
void bed_pattern(struct bed *, const char *path, size_t n);
void bed_fill_pattern(void *buf, uint64_t off, size_t n);
const char *bed_path(struct bed *, const char *path); /* good until the next call */
/* Access times a day ahead, so that reading changes no attributes. */
void bed_settle(struct bed *);

/* ---- records ---- */
/* Builds a call into b->rec; enc NULL: no arguments. */
void bed_record(struct bed *, uint32_t prog, uint32_t vers, uint32_t proc, xdrproc_t enc,
		void *args);
void bed_append(struct bed *, const void *data, size_t n); /* raw bytes after it */
void bed_put32(struct bed *, size_t off, uint32_t v);
uint32_t bed_get32(const char *p);
/* Runs b->rec; checks the record mark, the lengths, the xid and that nothing is held after
 * "sleeps". */
void bed_run(struct bed *, enum bed_mode);
/* In every mode; the replies must be equal byte for byte. */
void bed_run_all(struct bed *);

/* ---- replies ---- */
enum bed_outcome {
	OUT_NONE = 1000, /* no reply */
	OUT_BADVERS,
	OUT_AUTH,	     /* plus the auth_stat */
	OUT_ACCEPTED = 2000, /* plus the accept_stat: OUT_ACCEPTED + SUCCESS ... */
};
/* What the reply's header says; *off: where results begin. */
int bed_outcome(const struct bed *, size_t *off);
/* The results, decoded (pointers into the reply). False and a failed check when the header is no
 * success or bytes are left over. */
bool bed_results(const struct bed *, xdrproc_t dec, void *res);

/* ---- whole calls, in every mode ---- */
/* Record, run, decode. The status (first word of the results), or -1 when the call was not
 * accepted. */
int bed_nfs(struct bed *, uint32_t proc, xdrproc_t enc, void *args, xdrproc_t dec, void *res);
#define BED_NFS(b, T, a, r)                                                                        \
	bed_nfs(b, NFSPROC3_##T, (xdrproc_t)xdr_##T##3args, a, (xdrproc_t)xdr_##T##3res, r)
int bed_lookup(struct bed *, const nfs_fh3 *dir, const char *name, nfs_fh3 *fh);
/* The handle at a path below an export ("dir/file"); a failed check when there is none. */
nfs_fh3 bed_fh(struct bed *, const nfs_fh3 *root, const char *path);
int bed_getattr(struct bed *, const nfs_fh3 *, fattr3 *);
int bed_read(struct bed *, const nfs_fh3 *, uint64_t off, uint32_t count, READ3res *);
/* In one mode only: a full pipe makes a READ shorter than a copy. */
int bed_read_in(struct bed *, enum bed_mode, const nfs_fh3 *, uint64_t off, uint32_t count,
		READ3res *);
int bed_mnt(struct bed *, const char *path, nfs_fh3 *fh);

enum { BED_NFS_PROCS = 22 };
/* A well-formed record of any procedure of NFS (1..21) about fh, with fh2 where it takes two; names
 * are "file", READ and WRITE 8 bytes. */
void bed_any(struct bed *, uint32_t proc, const nfs_fh3 *fh, const nfs_fh3 *fh2);
/* The kind of object a procedure is about (first handle): S_IFREG, S_IFDIR, S_IFLNK, or 0 for any.
 */
mode_t bed_kind(uint32_t proc);
/* The status of a reply of NFS already run: -1 when it was not accepted. */
int bed_status(const struct bed *);

/* ---- listings ---- */
struct bed_entry {
	uint64_t fileid, cookie;
	char name[256];
	bool has_attr, has_fh;
	fattr3 attr;
	nfs_fh3 fh;
};
struct bed_list {
	int status;
	bool has_attr, eof;
	size_t resok; /* bytes of the resok structure, which count and maxcount bound */
	size_t n;
	struct bed_entry *v; /* free() */
};
/* plus: READDIRPLUS with count as maxcount. */
void bed_list(struct bed *, const nfs_fh3 *dir, uint64_t cookie, uint32_t count, bool plus,
	      uint32_t dircount, struct bed_list *);

#endif
