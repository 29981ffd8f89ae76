/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NFS version 3: the table of its procedures, and the two hooks around each. Every argument begins
 * with a file handle and every result with a status, so begin() resolves and permits for all of
 * them and end() writes the status and what a failure carries.
 */
#include <errno.h>
#include <string.h>

#include "nfs3mod.h"
#include "permit.h"
#include "programs.h"
#include "stat.h"

/* ---- the table ---- */

#define THUNK(fn, T)                                                                               \
	static int fn##_row(struct call *c)                                                        \
	{                                                                                          \
		return nfs3_##fn(c, c->args, c->res);                                              \
	}
THUNK(getattr, GETATTR3)
THUNK(lookup, LOOKUP3)
THUNK(access, ACCESS3)
THUNK(readlink, READLINK3)
THUNK(read, READ3)
THUNK(readdir, READDIR3)
THUNK(readdirplus, READDIRPLUS3)
THUNK(fsstat, FSSTAT3)
THUNK(fsinfo, FSINFO3)
THUNK(pathconf, PATHCONF3)
THUNK(setattr, SETATTR3)
THUNK(write, WRITE3)
THUNK(create, CREATE3)
THUNK(mkdir, MKDIR3)
THUNK(symlink, SYMLINK3)
THUNK(mknod, MKNOD3)
THUNK(remove, REMOVE3)
THUNK(rmdir, RMDIR3)
THUNK(rename, RENAME3)
THUNK(link, LINK3)
THUNK(commit, COMMIT3)

static int
null_row(struct call *c)
{
	(void)c;
	return 0;
}

/* What the generated code of a procedure's types says about its row. */
#define TYPES_OF(T, decoder, encoder)                                                              \
	.args_xdr = (int (*)(void *, void *))(decoder),                                            \
	.res_xdr = (int (*)(void *, void *))(encoder), .args_size = sizeof(T##args),               \
	.res_size = sizeof(T##res), .arm = offsetof(T##res, T##res_u)
#define TYPES(T) TYPES_OF(T, xdr_##T##args, xdr_##T##res)

/* A row's name and counter are its procedure's. */
#define ROW(P) .name = #P, .stat = NFSPROC3_##P

/* Encoded sizes, to be summed up as in RFC 1813. */
enum {
	ST = 4, /* status */
	W = 4,	/* a word */
	D = 8,	/* a double word, a time, a verifier */
	FH = WIRE_FH3,
	PFH = WIRE_POST_FH,
	FA = WIRE_FATTR3,
	PA = WIRE_POST_OP,
	WCC = WIRE_WCC,
};

/* clang-format off */
static const struct row rows[] = {
	[NFSPROC3_NULL] = {.name = "NULL", .stat = NFSPROC3_NULL, .fn = null_row, .anyone = true},
	[NFSPROC3_GETATTR] = {ROW(GETATTR), TYPES(GETATTR3), .head = ST + FA,
		.need = NEED_ANY, .fail = FAIL_NOTHING, .fn = getattr_row},
	[NFSPROC3_SETATTR] = {ROW(SETATTR), TYPES(SETATTR3), .head = ST + WCC,
		.need = NEED_ANY, .fail = FAIL_WCC, .writes = true, .sleeps = true, .keep = true, .fn = setattr_row},
	[NFSPROC3_LOOKUP] = {ROW(LOOKUP), TYPES(LOOKUP3), .head = ST + FH + PA + PA,
		.need = NEED_DIR, .fail = FAIL_POST, .fn = lookup_row},
	[NFSPROC3_ACCESS] = {ROW(ACCESS), TYPES(ACCESS3), .head = ST + PA + W,
		.need = NEED_ANY, .fail = FAIL_POST, .fn = access_row},
	[NFSPROC3_READLINK] = {ROW(READLINK), TYPES_OF(READLINK3, xdr_READLINK3args, nfs3_xdr_readlink_head), .head = ST + PA + W,
		.need = NEED_LINK, .fail = FAIL_POST, .fn = readlink_row},
	[NFSPROC3_READ] = {ROW(READ), TYPES(READ3), .head = ST + PA + 3 * W,
		.need = NEED_FILE, .fail = FAIL_POST, .bulk = offsetof(READ3args, count), .fn = read_row},
	[NFSPROC3_WRITE] = {ROW(WRITE), TYPES_OF(WRITE3, nfs3_xdr_write_args, xdr_WRITE3res), .head = ST + WCC + 2 * W + D,
		.head_xdr = (int (*)(void *, void *))nfs3_xdr_write_head, .data = offsetof(WRITE3args, data),
		.need = NEED_FILE, .fail = FAIL_WCC, .writes = true, .sleeps = true, .fn = write_row},
	[NFSPROC3_CREATE] = {ROW(CREATE), TYPES(CREATE3), .head = ST + PFH + PA + WCC,
		.need = NEED_DIR, .fail = FAIL_WCC, .writes = true, .sleeps = true, .keep = true, .fn = create_row},
	[NFSPROC3_MKDIR] = {ROW(MKDIR), TYPES(MKDIR3), .head = ST + PFH + PA + WCC,
		.need = NEED_DIR, .fail = FAIL_WCC, .writes = true, .sleeps = true, .keep = true, .fn = mkdir_row},
	[NFSPROC3_SYMLINK] = {ROW(SYMLINK), TYPES(SYMLINK3), .head = ST + PFH + PA + WCC,
		.need = NEED_DIR, .fail = FAIL_WCC, .writes = true, .sleeps = true, .keep = true, .fn = symlink_row},
	[NFSPROC3_MKNOD] = {ROW(MKNOD), TYPES(MKNOD3), .head = ST + PFH + PA + WCC,
		.need = NEED_DIR, .fail = FAIL_WCC, .writes = true, .sleeps = true, .keep = true, .fn = mknod_row},
	[NFSPROC3_REMOVE] = {ROW(REMOVE), TYPES(REMOVE3), .head = ST + WCC,
		.need = NEED_DIR, .fail = FAIL_WCC, .writes = true, .sleeps = true, .keep = true, .fn = remove_row},
	[NFSPROC3_RMDIR] = {ROW(RMDIR), TYPES(RMDIR3), .head = ST + WCC,
		.need = NEED_DIR, .fail = FAIL_WCC, .writes = true, .sleeps = true, .keep = true, .fn = rmdir_row},
	[NFSPROC3_RENAME] = {ROW(RENAME), TYPES(RENAME3), .head = ST + WCC + WCC,
		.need = NEED_DIR, .fh2 = offsetof(RENAME3args, to.dir), .fail = FAIL_WCC2,
		.writes = true, .sleeps = true, .keep = true, .fn = rename_row},
	[NFSPROC3_LINK] = {ROW(LINK), TYPES(LINK3), .head = ST + PA + WCC,
		.need = NEED_ANY, .fh2 = offsetof(LINK3args, link.dir), .fail = FAIL_POST_WCC,
		.writes = true, .sleeps = true, .keep = true, .fn = link_row},
	[NFSPROC3_READDIR] = {ROW(READDIR), TYPES(READDIR3), .head = ST + PA + D,
		.need = NEED_DIR, .fail = FAIL_POST, .sleeps = true, .fn = readdir_row},
	[NFSPROC3_READDIRPLUS] = {ROW(READDIRPLUS), TYPES(READDIRPLUS3), .head = ST + PA + D,
		.need = NEED_DIR, .fail = FAIL_POST, .sleeps = true, .fn = readdirplus_row},
	[NFSPROC3_FSSTAT] = {ROW(FSSTAT), TYPES(FSSTAT3), .head = ST + PA + 6 * D + W,
		.need = NEED_ANY, .fail = FAIL_POST, .fn = fsstat_row},
	[NFSPROC3_FSINFO] = {ROW(FSINFO), TYPES(FSINFO3), .head = ST + PA + 8 * W + 2 * D,
		.need = NEED_ANY, .fail = FAIL_POST, .fn = fsinfo_row},
	[NFSPROC3_PATHCONF] = {ROW(PATHCONF), TYPES(PATHCONF3), .head = ST + PA + 6 * W,
		.need = NEED_ANY, .fail = FAIL_POST, .fn = pathconf_row},
	[NFSPROC3_COMMIT] = {ROW(COMMIT), TYPES(COMMIT3), .head = ST + WCC + D,
		.need = NEED_FILE, .fail = FAIL_WCC, .writes = true, .sleeps = true, .fn = commit_row},
};
/* clang-format on */
#define ROWS (sizeof rows / sizeof *rows)

/* ---- before ---- */

/* Marked once per peer: the write would otherwise bounce the peer's cache line for every call. */
static void
mark_known(struct peer *p)
{
	if (!__atomic_load_n(&p->known, __ATOMIC_RELAXED))
		__atomic_store_n(&p->known, 1, __ATOMIC_RELAXED);
}

static int
stale(void)
{
	stat_inc(ST_STALE_HANDLES);
	return NFS3ERR_STALE;
}

/* The i-th handle of a call: genuine, of an export there is, whose rules let this peer and caller
 * pass, of an object there is. */
static int
resolve(struct call *c, unsigned i, const nfs_fh3 *fh)
{
	struct vfs_ctx ctx = call_ctx(c);
	struct obj *seen = ctx.batch ? vfs_batch_find(ctx.batch, fh) : NULL;
	struct handle h;
	struct export *ex;
	struct stat st;
	int e;

	if (!seen && handle_parse(c->engine->key, fh, &h) != 0) {
		stat_inc(ST_BAD_HANDLES);
		return NFS3ERR_BADHANDLE;
	}
	/* the same bytes were judged before in this batch, under the same table */
	ex = seen ? seen->ex : export_by_id(c->table, h.export_id);
	if (!ex)
		return stale();
	/* two exports may squash one caller to two users; no call acts as both (an export may have
	 * two ids, after a new key) */
	if (i > 0 && ex != export_by_id(c->table, c->obj[0]->id.export_id))
		return NFS3ERR_XDEV;
	if (i == 0 && (e = permit(c, ex)) != 0)
		return nfs3_status(e);
	mark_known(c->peer);
	if (seen)
		c->obj[i] = obj_ref(seen);
	e = seen ? 0 : vfs_object(&ctx, ex, fh, &h, &c->obj[i]);
	/* an object kept in the cache may have lost its last name; within a batch the kernel is
	 * asked once, whoever asks again */
	if (e == 0)
		e = vfs_getattr(&ctx, c->obj[i], &st);
	return e == ESTALE ? stale() : nfs3_status(e);
}

static int
check_type(mode_t type, enum row_need need)
{
	if (need == NEED_DIR && type != S_IFDIR)
		return NFS3ERR_NOTDIR;
	if (need == NEED_LINK && type != S_IFLNK)
		return NFS3ERR_INVAL;
	/* 3.3.6 names only INVAL; ISDIR for a directory is what servers answer and programs expect
	 * of read(2) */
	if (need == NEED_FILE && type != S_IFREG)
		return type == S_IFDIR ? NFS3ERR_ISDIR : NFS3ERR_INVAL;
	return NFS3_OK;
}

static int
begin(struct call *c)
{
	const struct row *row = c->row;
	int status;

	if (row->need == NEED_NONE)
		return NFS3_OK;
	status = resolve(c, 0, c->args);
	if (status == NFS3_OK)
		status = check_type(c->obj[0]->type, row->need);
	if (status == NFS3_OK && row->fh2) {
		const nfs_fh3 *fh2 = (const void *)((const char *)c->args + row->fh2);

		status = resolve(c, 1, fh2);
		if (status == NFS3_OK)
			status = check_type(c->obj[1]->type, NEED_DIR);
	}
	if (status == NFS3_OK && row->writes && !c->rule->opts.rw)
		status = NFS3ERR_ROFS;
	return status;
}

/* ---- after ---- */

/* `before` is never said: it cannot be atomic with the change here, and a false one hides a change
 * from the client (2.6). */
static int
wcc(const struct call *c, struct obj *o, wcc_data *w)
{
	return o ? nfs3_post_op(c, o, &w->after) : 0;
}

static int
fail_arm(const struct call *c, void *arm)
{
	LINK3resfail *link = arm; /* the only one of its kind */
	wcc_data *w = arm;
	int e;

	switch (c->row->fail) {
	case FAIL_POST:
		return c->obj[0] ? nfs3_post_op(c, c->obj[0], arm) : 0;
	case FAIL_WCC:
		return wcc(c, c->obj[0], w);
	case FAIL_WCC2:
		e = wcc(c, c->obj[0], &w[0]);
		return e ? e : wcc(c, c->obj[1], &w[1]);
	case FAIL_POST_WCC:
		e = c->obj[0] ? nfs3_post_op(c, c->obj[0], &link->file_attributes) : 0;
		return e ? e : wcc(c, c->obj[1], &link->linkdir_wcc);
	default:
		return 0;
	}
}

static int
end(struct call *c, int status)
{
	char *arm = (char *)c->res + c->row->arm;

	if (!c->row->res_xdr)
		return 0;
	*(nfsstat3 *)c->res = (nfsstat3)status;
	c->again = status == NFS3ERR_JUKEBOX;
	if (status == NFS3_OK)
		return 0;
	memset(arm, 0, c->row->res_size - c->row->arm); /* what the procedure had begun to say */
	return fail_arm(c, arm);
}

static const struct row *
versions(uint32_t version, unsigned *n)
{
	(void)version;
	*n = ROWS;
	return rows;
}

const struct program nfs3_program = {
    .number = NFS_PROGRAM,
    .low = NFS_V3,
    .high = NFS_V3,
    .rows = versions,
    .begin = begin,
    .end = end,
};
