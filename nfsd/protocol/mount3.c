/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MOUNT versions 1, 2 and 3 (RFC 1813 section 5, RFC 1094 appendix A): the tables and the
 * procedures with a path. The mount list is a courtesy to people: nothing is permitted or forbidden
 * by it.
 */
#include <errno.h>
#include <limits.h>

#include "mount3proc.h"
#include "nfs3attr.h"
#include "programs.h"
#include "stat.h"
#include "store.h"

enum { HEAD_MNT3 = 4 + WIRE_FH3 + 4 + 4, HEAD_MNT1 = 4 + FHSIZE, HEAD_PATHCONF = 4 * 10 };

/* The statuses of MOUNT are some of NFS's, with the same numbers (5.1.5). A port that is refused is
 * ACCES here, as everywhere. */
static int
status_of(int err)
{
	int status = nfs3_status(err);

	switch (status) {
	case ESLEEP:
	case NFS3_OK:
	case NFS3ERR_NOENT:
	case NFS3ERR_IO:
	case NFS3ERR_ACCES:
	case NFS3ERR_NOTDIR:
	case NFS3ERR_INVAL:
	case NFS3ERR_NAMETOOLONG:
		return status;
	case NFS3ERR_PERM:
		return MNT3ERR_ACCES;
	case NFS3ERR_STALE:
		return MNT3ERR_NOENT;
	default:
		return MNT3ERR_SERVERFAULT;
	}
}

static int
null(struct call *c)
{
	(void)c;
	return 0;
}

/* The list of flavors names exactly what NFS accepts afterwards. */
static int
mount(struct call *c, mountres3_ok *ok)
{
	int *flavors = arena_alloc(&c->arena, sizeof *flavors);
	const char *path;
	struct obj *dir;
	int e = flavors ? mount3_path(c, c->args, &path) : ENOMEM;

	if (e == 0)
		e = mount3_walk(c, path, &dir);
	if (e != 0)
		return e;
	ok->fhandle = dir->fh;
	flavors[0] = AUTH_SYS;
	ok->auth_flavors.auth_flavors_len = 1;
	ok->auth_flavors.auth_flavors_val = flavors;
	store_mount_add(c->engine->store, c->peer->text, path);
	return 0;
}

static int
mnt3(struct call *c)
{
	mountres3 *r = c->res;
	int e = mount(c, &r->mountres3_u.mountinfo), status;

	if (e == ENOREPLY)
		return e;
	status = status_of(e);
	r->fhs_status = (mountstat3)status;
	return status;
}

/*
 * A handle of versions 1 and 2 is one of NFS version 2, 32 bytes, and that protocol is not served:
 * a handle would promise what the next call refuses. Clients use these versions for UMNT, DUMP and
 * EXPORT.
 */
static int
mnt1(struct call *c)
{
	((fhstatus *)c->res)->fhs_status = EACCES;
	return EACCES;
}

static int
dump(struct call *c)
{
	return mount3_dump(c, c->res);
}

static int
export_list(struct call *c)
{
	return mount3_export(c, c->res);
}

/* Removes one entry of this peer; what was never mounted, or has no such path, is no error (there
 * is no status to say it with). */
static int
umnt(struct call *c)
{
	const char *path;

	if (mount3_path(c, c->args, &path) == 0)
		store_mount_del(c->engine->store, c->peer->text, path);
	return 0;
}

static int
umntall(struct call *c)
{
	store_mount_del(c->engine->store, c->peer->text, NULL);
	return 0;
}

/* Version 2 only: pathconf(3) of a directory that the caller might mount; bit 0 of the mask says
 * that there is no answer. */
static int
pathconf2(struct call *c)
{
	ppathcnf *p = c->res;
	struct vfs_ctx ctx = call_ctx(c);
	struct vfs_limits l;
	struct obj *dir;
	const char *path;
	int e = mount3_path(c, c->args, &path);

	if (e == 0)
		e = mount3_walk(c, path, &dir);
	if (e == 0)
		e = vfs_limits(&ctx, dir, &l);
	if (e == ESLEEP || e == ENOREPLY)
		return e;
	if (e != 0) {
		p->pc_mask[0] = 1;
		return status_of(e);
	}
	p->pc_link_max = l.link_max < INT_MAX ? (int)l.link_max : INT_MAX;
	p->pc_name_max = (short)(l.name_max < SHRT_MAX ? l.name_max : SHRT_MAX);
	p->pc_path_max = PATH_MAX;
	p->pc_pipe_buf = PIPE_BUF;
	p->pc_max_canon = MAX_CANON;
	p->pc_max_input = MAX_INPUT;
	return 0;
}

#define XDR_FN(f) ((int (*)(void *, void *))(f))
#define PATH .args_xdr = XDR_FN(xdr_dirpath), .args_size = sizeof(dirpath)
#define RESULT(T) .res_xdr = XDR_FN(xdr_##T), .res_size = sizeof(T)
/* Everything here may wait for the store or the disk, and needs no identity but MNT's claim. */
#define SLEEPS .sleeps = true, .anyone = true
#define STAT(proc) .stat = (STAT_MOUNT + (proc))

/* clang-format off */
#define COMMON                                                                                                    \
	[MOUNTPROC_NULL] = {.name = "MOUNT_NULL", STAT(0), .anyone = true, .fn = null},                           \
	[MOUNTPROC_DUMP] = {.name = "MOUNT_DUMP", STAT(2), RESULT(mountlist), SLEEPS, .fn = dump},                \
	[MOUNTPROC_UMNT] = {.name = "MOUNT_UMNT", STAT(3), PATH, SLEEPS, .fn = umnt},                             \
	[MOUNTPROC_UMNTALL] = {.name = "MOUNT_UMNTALL", STAT(4), SLEEPS, .fn = umntall},                          \
	[MOUNTPROC_EXPORT] = {.name = "MOUNT_EXPORT", STAT(5), RESULT(exports), SLEEPS, .fn = export_list}
#define COMMON12                                                                                                  \
	COMMON,                                                                                                   \
	[MOUNTPROC_MNT] = {.name = "MOUNT_MNT", STAT(1), PATH, RESULT(fhstatus), .head = HEAD_MNT1,               \
		.anyone = true, .fn = mnt1},                                                                      \
	[MOUNTPROC_EXPORTALL] = {.name = "MOUNT_EXPORTALL", STAT(6), RESULT(exports), SLEEPS, .fn = export_list}

static const struct row rows1[] = {COMMON12};
static const struct row rows2[] = {
	COMMON12,
	[MOUNTPROC_PATHCONF] = {.name = "MOUNT_PATHCONF", STAT(7), PATH, RESULT(ppathcnf), .head = HEAD_PATHCONF,
		SLEEPS, .fn = pathconf2},
};
static const struct row rows3[] = {
	COMMON,
	[MOUNTPROC3_MNT] = {.name = "MOUNT_MNT", STAT(1), PATH, RESULT(mountres3), .head = HEAD_MNT3, SLEEPS, .fn = mnt3},
};
/* clang-format on */
#define N(rows) (sizeof(rows) / sizeof *(rows))

static const struct row *
versions(uint32_t version, unsigned *n)
{
	*n = version == MOUNT_V1 ? N(rows1) : version == MOUNT_V2 ? N(rows2) : N(rows3);
	return version == MOUNT_V1 ? rows1 : version == MOUNT_V2 ? rows2 : rows3;
}

const struct program mount3_program = {
    .udp = true,
    .number = MOUNT_PROGRAM,
    .low = MOUNT_V1,
    .high = MOUNT_V3,
    .rows = versions,
};
