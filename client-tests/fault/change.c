/* SPDX-License-Identifier: BSD-2-Clause */
#include "change.h"

#include <arpa/inet.h>
#include <string.h>

static const sattr3 plain = {.mode = {TRUE, {0644}}};

static filename3
name3(const char *s)
{
	return (filename3){(u_int)strlen(s), s};
}

static bool
ask(struct cl *c, uint32_t proc, xdrproc_t enc, void *args, xdrproc_t dec, void *res, size_t size)
{
	cl_call(c, NFS_PROGRAM, NFS_V3, proc, enc, args);
	return cl_recv(c) && cl_results(c, dec, res, size);
}
#define ASK(c, P, a, r)                                                                            \
	ask(c, NFSPROC3_##P, (xdrproc_t)xdr_##P##3args, a, (xdrproc_t)xdr_##P##3res, r, sizeof *(r))

bool
ch_send_write(struct cl *c, uint32_t xid, const nfs_fh3 *fh, uint64_t off, const void *data,
	      uint32_t n, stable_how how)
{
	WRITE3args a = {*fh, off, n, how, {n, -1, -1, NULL}};
	uint32_t pad = (4 - n % 4) % 4;
	char head[CL_CALL_MAX];
	size_t len =
	    cl_build(head, xid, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, (xdrproc_t)xdr_WRITE3args, &a);
	uint32_t mark = htonl(0x80000000u | (uint32_t)(len - 4 + n + pad));

	memcpy(head, &mark, sizeof mark);
	return cl_send(c, head, len) && cl_send(c, data, n) && cl_send(c, "\0\0\0", pad);
}

int
ch_write(struct cl *c, const nfs_fh3 *fh, uint64_t off, const void *data, uint32_t n,
	 stable_how how, writeverf3 verf)
{
	WRITE3res r;

	if (!ch_send_write(c, ++c->xid, fh, off, data, n, how) || !cl_recv(c) ||
	    !cl_results(c, (xdrproc_t)xdr_WRITE3res, &r, sizeof r))
		return -1;
	if (r.status != NFS3_OK)
		return (int)r.status;
	CU_ASSERT_EQUAL(r.WRITE3res_u.resok.count, n);
	if (verf)
		memcpy(verf, r.WRITE3res_u.resok.verf, NFS3_WRITEVERFSIZE);
	return NFS3_OK;
}

int
ch_commit(struct cl *c, const nfs_fh3 *fh, writeverf3 verf)
{
	COMMIT3args a = {.file = *fh};
	COMMIT3res r;

	if (!ASK(c, COMMIT, &a, &r))
		return -1;
	if (r.status == NFS3_OK && verf)
		memcpy(verf, r.COMMIT3res_u.resok.verf, NFS3_WRITEVERFSIZE);
	return (int)r.status;
}

static void
take(const post_op_fh3 *from, nfs_fh3 *fh)
{
	CU_ASSERT_TRUE(from->handle_follows);
	if (fh)
		*fh = from->post_op_fh3_u.handle;
}

int
ch_create(struct cl *c, const nfs_fh3 *dir, const char *name, nfs_fh3 *fh)
{
	CREATE3args a = {.where = {*dir, name3(name)}, .how = {.mode = GUARDED}};
	CREATE3res r;

	a.how.createhow3_u.obj_attributes = plain;
	if (!ASK(c, CREATE, &a, &r))
		return -1;
	if (r.status == NFS3_OK)
		take(&r.CREATE3res_u.resok.obj, fh);
	return (int)r.status;
}

int
ch_mkdir(struct cl *c, const nfs_fh3 *dir, const char *name, nfs_fh3 *fh)
{
	MKDIR3args a = {{*dir, name3(name)}, {.mode = {TRUE, {0755}}}};
	MKDIR3res r;

	if (!ASK(c, MKDIR, &a, &r))
		return -1;
	if (r.status == NFS3_OK)
		take(&r.MKDIR3res_u.resok.obj, fh);
	return (int)r.status;
}

int
ch_remove(struct cl *c, const nfs_fh3 *dir, const char *name)
{
	REMOVE3args a = {{*dir, name3(name)}};
	REMOVE3res r;

	return ASK(c, REMOVE, &a, &r) ? (int)r.status : -1;
}

int
ch_rename(struct cl *c, const nfs_fh3 *dir, const char *from, const char *to)
{
	RENAME3args a = {{*dir, name3(from)}, {*dir, name3(to)}};
	RENAME3res r;

	return ASK(c, RENAME, &a, &r) ? (int)r.status : -1;
}

int
ch_pattern(struct cl *c, const nfs_fh3 *fh, uint32_t tag, uint64_t off, size_t n, stable_how how,
	   writeverf3 verf)
{
	char block[CH_BLOCK];
	int st = NFS3_OK;

	for (size_t done = 0; st == NFS3_OK && done < n; done += sizeof block) {
		size_t k = n - done < sizeof block ? n - done : sizeof block;

		pattern_fill(tag, off + done, block, k);
		st = ch_write(c, fh, off + done, block, (uint32_t)k, how, verf);
	}
	return st;
}
