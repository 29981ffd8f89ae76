/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CALL_H
#define CALL_H
/*
 * The contract between runtime, engine and protocol: one RPC call from complete record to encoded
 * reply. The runtime makes a call, gives it a record and a peer, and asks call_run() for a verdict;
 * it knows no program numbers. A protocol offers a const table of rows; it knows no socket.
 *
 *	record --call_run--> CALL_REPLY:  head, body, pad are the reply; send them, then
 *					  call_reset()
 *			     CALL_SLEEPS: nothing has happened; give the call to a worker,
 *					  which runs it again with may_sleep
 *			     CALL_PARKED: it repeats a call that runs; the engine has it now and
 *					  gives it back with c->wake(), maybe already has
 *			     CALL_DROP:   no reply is owed
 *			     CALL_CLOSE:  not RPC; close the connection
 *
 * What a call points to lives exactly as long as the call: record, arena, references, reply.
 */
#include "arena.h"
#include "cred.h"
#include "drc.h"
#include "export.h"
#include "vfs.h"
#include "wire.h"
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CALL_RECORD_INLINE 1024 /* records up to here are copied into the call */
#define CALL_ARENA 6144
#define CALL_ARENA_ROW                                                                             \
	1024 /* of which a row's arguments and result may take; the rest is for what its procedure \
		allocates */
#define CALL_HEAD                                                                                  \
	1024 /* encoded reply up to the bulk data: a bound for every row, checked at start */
#define CALL_OBJS 2

struct engine;

/*
 * What a loop remembers between the calls of one wake-up of one connection: what files/ does
 * (struct vfs_batch), one reference to the export table, and the last credential that passed the
 * gate, so that a caller who asks many things is judged once.
 */
struct call_batch {
	struct vfs_batch vfs;
	struct export_table *table; /* referenced; NULL until first used */
	const struct export *ex;    /* what follows holds for this export; NULL: nothing */
	const struct export_client *rule;
	struct cred claimed, cred; /* as the call said it; as the rule made it */
	struct cred_groups *more;  /* what cred borrows; referenced */
};
void call_batch_begin(struct call_batch *);
void call_batch_end(struct call_batch *, struct engine *);

#define PEER_RULES 8

enum call_verdict { CALL_REPLY, CALL_SLEEPS, CALL_PARKED, CALL_DROP, CALL_CLOSE };

/* Who is at the other end of a connection (or sent a datagram). Constant while calls run, but for
 * what is atomic. */
struct peer {
	struct sockaddr_storage addr;
	char text[64]; /* address without port, for logs and the mount list */
	uint16_t port; /* host order */
	bool local;    /* loopback or a Unix socket */
	int known;     /* has shown a valid handle; atomic */
	/*
	 * Which rule let it in, of the exports it asked for last: generation of the table, place of
	 * the export, place of the rule, in one word each; atomic. See peer_rule().
	 */
	uint64_t rules[PEER_RULES];
};

/* What every call may use; built once by main: engine_init(), then its fields, then
 * engine_swap_table() for the first table. */
struct engine {
	pthread_mutex_t lock;	    /* table, generation */
	struct export_table *table; /* the current one: taken with engine_table() */
	uint32_t generation;	    /* given out last */
	const struct vfs *vfs;
	const struct handle_key *key;
	struct store *store;
	const struct program *const *programs; /* NULL-terminated: call_programs, but for tests */
	struct drc *drc; /* replies kept for repeated calls; NULL: none are. Not engine_fini's */
	bool unprivileged;
	bool manage_gids;  /* groups of callers are looked up here */
	uint64_t since_ns; /* when this server began, nanoseconds since 1970: whatever an earlier
			      one did in the same state directory was over by then */
};
/* programs = call_programs, no table, since_ns is now, everything else zero. The state directory is
 * locked already. engine_fini() drops the table. */
void engine_init(struct engine *);
void engine_fini(struct engine *);
struct export_table *engine_table(struct engine *); /* a reference, NULL while there is no table */
void engine_swap_table(struct engine *, struct export_table *); /* takes over the reference given */
/* The same, but the former table is handed out instead of dropped, with its reference; NULL: none.
 */
struct export_table *engine_exchange_table(struct engine *, struct export_table *);
/* What was decided under the current table is to be decided again. */
void engine_renew_table(struct engine *);
/*
 * At start: do the rows of all programs fit (arguments and result into the arena, encoded result
 * into the head)? 0, or EINVAL with "program version procedure: what" in err.
 */
int engine_check(const struct engine *, char *err, size_t errlen);

struct call {
	/* set by the runtime before call_run */
	struct engine *engine;
	struct peer *peer;
	struct call_batch *batch; /* NULL in a worker */
	bool may_sleep;
	bool copy;     /* READ must not splice (rebuild) */
	bool datagram; /* came over UDP */
	/*
	 * Worker: a drained pipe READ may fill, [0] = -1 none. It stays the runtime's. It was
	 * filled (with body.len - tail bytes) if body.off == -1 and body.fd == pipe[0]; after any
	 * other outcome look (FIONREAD) before it is used again.
	 */
	int pipe[2];
	const char *rec; /* the complete record, without marks */
	size_t reclen;
	int data_pipe; /* >= 0: rec is the call up to its bulk data, which waits in this pipe (see
			  call_data_at). The pipe stays the runtime's, who looks what is left in it
			*/
	uint64_t born_ns; /* when the record was complete (CLOCK_MONOTONIC) */
	/*
	 * After CALL_PARKED, once, from the thread that ran the other call: the call is the
	 * runtime's again, with CALL_REPLY (the other's reply) or CALL_SLEEPS (that one came to
	 * nothing). NULL: it cannot be parked, and is dropped instead.
	 */
	void (*wake)(struct call *, enum call_verdict);

	/* the engine's, while it runs */
	uint32_t xid;
	const struct row *row; /* after call_run too; NULL: refused before a procedure was known */
	struct export_table *table;
	const struct export_client *rule; /* of the first handle's export */
	struct cred
	    cred; /* as claimed (uid and gid -1 for AUTH_NONE), then squashed by that rule */
	uint32_t claimed_uid, claimed_gid, flavor;
	struct cred_groups *more;   /* what cred borrows, unless a batch keeps it; referenced */
	struct obj *obj[CALL_OBJS]; /* resolved handles, referenced; like table and rule gone when
				       call_run returns */
	void *args, *res;	    /* in the arena */
	struct arena arena;
	struct drc_waiter waiter;
	/*
	 * For fn and end of a row with `keep`: this very call had begun before the server died, and
	 * how far it came is not known. So what it is to do may be done already: the victim gone,
	 * the new name there and its object born at intent_ns or later. That is success, where a
	 * new call would fail with NOENT or EXIST. intent_ns: when it began first, nanoseconds
	 * since 1970 of the clock with which the kernel stamps files (CLOCK_REALTIME_COARSE); a
	 * file system may round its stamps down further.
	 */
	bool after_crash;
	uint64_t intent_ns; /* valid in every call of such a row */
	/* Set by fn: nothing has happened and the caller is told to come again (JUKEBOX), perhaps
	 * with the same transaction id. The reply is not kept. */
	bool again;

	/* the reply */
	payload body; /* bulk data after the head: memory, (fd, off), or a full pipe; len 0: none */
	void *body_mem; /* buf_take()n memory behind body, returned by call_reset; NULL: it lies in
			   the arena */
	size_t body_cap;
	uint32_t tail;	      /* of a body in a full pipe, the last bytes, which lie in body_mem */
	struct obj *body_obj; /* what body.fd belongs to, referenced */
	size_t headlen;	      /* bytes of head: record mark, RPC header, encoded result */
	unsigned pad;	      /* 0-3 zero bytes after the body */
	bool failed;	      /* RPC or NFS status was not success (counters) */
	uint32_t bulk;	      /* bytes of file data asked for, also after CALL_SLEEPS; 0: none */
	char head[CALL_HEAD] __attribute__((aligned(8)));
	char arena_mem[CALL_ARENA] __attribute__((aligned(16)));
	char rec_mem[CALL_RECORD_INLINE] __attribute__((aligned(8)));
};

/* A call is one big recycled block: call_init() once per block, call_reset() after each use (drops
 * every reference and buffer). */
void call_init(struct call *, struct engine *);
void call_reset(struct call *);
/*
 * See the picture above. Runs again from scratch each time it is called for the same record; what
 * an earlier run of it acquired is released first, and CALL_SLEEPS, CALL_DROP and CALL_CLOSE leave
 * nothing acquired. A record that is no RPC call is CALL_CLOSE (a datagram: drop it). Bytes after
 * the arguments are ignored: they lie within the record, nothing looks at them, and some clients
 * pad.
 */
enum call_verdict call_run(struct call *);
/*
 * Does rec, the first have bytes of a record, begin a call that brings bulk data, and is all before
 * the data there? Then the bytes before it, and *data is the length of the data, which needs no
 * pad: exactly that the rest of the record must be. Else 0. Such a call may be run with the data in
 * a pipe.
 */
size_t call_data_at(const struct engine *, const char *rec, size_t have, size_t *data);
/* Bytes of the whole reply. */
static inline size_t
call_reply_len(const struct call *c)
{
	return c->headlen + c->body.len + c->pad;
}

/* ---- for protocols ---- */

/* The call as the verbs see it. */
static inline struct vfs_ctx
call_ctx(const struct call *c)
{
	return (struct vfs_ctx){.vfs = c->engine->vfs,
				.cred = &c->cred,
				.batch = c->batch ? &c->batch->vfs : NULL,
				.may_sleep = c->may_sleep,
				.async = c->rule && c->rule->opts.async};
}

enum row_need { NEED_NONE, NEED_ANY, NEED_FILE, NEED_DIR, NEED_LINK };
enum row_fail { FAIL_NOTHING, FAIL_POST, FAIL_WCC, FAIL_WCC2, FAIL_POST_WCC };

#define ESYSTEM                                                                                    \
	4001 /* no memory for a result that has no status to say so with: the reply is SYSTEM_ERR  \
		(see ESLEEP) */

#define ENOREPLY 4003 /* no reply: the caller shall ask again later */

/* One procedure. */
struct row {
	const char *name;			 /* metrics, traces */
	int (*args_xdr)(void *xdrs, void *args); /* NULL: void */
	int (*res_xdr)(void *xdrs, void *res);
	/* The arguments up to the bulk data, for a call that has it in a pipe; data: offset in args
	 * of the payload. NULL: it brings none. Not for a row with `keep` */
	int (*head_xdr)(void *xdrs, void *args);
	size_t data;
	size_t args_size, res_size, arm; /* arm: offset of the result union */
	size_t
	    head; /* the most bytes the encoded result takes, bulk data apart; checked at start */
	enum row_need need; /* type of the first handle; ANY: any type */
	size_t fh2;	    /* offset of a second handle in args, 0: none */
	size_t bulk;	    /* offset in args of the count of bytes a READ asks for, 0: none */
	bool writes;	    /* needs a writable export */
	bool keep;	    /* not idempotent: the reply is kept for repeated calls. It is all in
			       the head, without a body; fn runs in a worker only */
	bool sleeps;	    /* never on a loop */
	bool anyone;	    /* needs no AUTH_SYS credential (NULL, MOUNT's queries) */
	enum row_fail fail; /* what a failed result carries */
	unsigned stat;	    /* index into the counters */
	int (*fn)(struct call *); /* 0 = success, else the protocol's status, or ESLEEP, ESYSTEM;
				     args and res are set */
};

struct program {
	uint32_t number, low, high;
	bool udp; /* answered over UDP too */
	/* rows of a version, or NULL when low <= version <= high has none */
	const struct row *(*rows)(uint32_t version, unsigned *n);
	/* Before fn: resolve handles, permit. 0, a status, or ESLEEP. May be NULL. */
	int (*begin)(struct call *);
	/* After fn: put the status into res and, on failure, what the row's fail arm carries. 0 or
	 * ESLEEP. */
	int (*end)(struct call *, int status);
};

/* What this server speaks, NULL-terminated; defined by the protocols. */
extern const struct program *const call_programs[];

#endif
