/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole calls: arguments in, results out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bed.h"

int
bed_nfs(struct bed *b, uint32_t proc, xdrproc_t enc, void *args, xdrproc_t dec, void *res)
{
	bed_record(b, NFS_PROGRAM, NFS_V3, proc, enc, args);
	bed_run_all(b);
	if (!bed_results(b, dec, res))
		return -1;
	return *(int *)res; /* every result begins with its status */
}

int
bed_lookup(struct bed *b, const nfs_fh3 *dir, const char *name, nfs_fh3 *fh)
{
	LOOKUP3args a = {{*dir, {(u_int)strlen(name), name}}};
	LOOKUP3res r;
	int st = BED_NFS(b, LOOKUP, &a, &r);

	if (st == NFS3_OK)
		*fh = r.LOOKUP3res_u.resok.object;
	return st;
}

nfs_fh3
bed_fh(struct bed *b, const nfs_fh3 *root, const char *path)
{
	nfs_fh3 fh = *root;
	char copy[PATH_MAX], *save, *name;

	strncpy(copy, path, sizeof copy - 1);
	copy[sizeof copy - 1] = 0;
	for (name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save))
		CU_ASSERT_EQUAL(bed_lookup(b, &fh, name, &fh), NFS3_OK);
	return fh;
}

int
bed_getattr(struct bed *b, const nfs_fh3 *fh, fattr3 *attr)
{
	GETATTR3args a = {*fh};
	GETATTR3res r;
	int st = BED_NFS(b, GETATTR, &a, &r);

	if (st == NFS3_OK && attr)
		*attr = r.GETATTR3res_u.resok.obj_attributes;
	return st;
}

int
bed_read(struct bed *b, const nfs_fh3 *fh, uint64_t off, uint32_t count, READ3res *r)
{
	READ3args a = {*fh, off, count};

	return BED_NFS(b, READ, &a, r);
}

int
bed_read_in(struct bed *b, enum bed_mode mode, const nfs_fh3 *fh, uint64_t off, uint32_t count,
	    READ3res *r)
{
	READ3args a = {*fh, off, count};

	bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_READ, (xdrproc_t)xdr_READ3args, &a);
	bed_run(b, mode);
	return bed_results(b, (xdrproc_t)xdr_READ3res, r) ? (int)r->status : -1;
}

int
bed_mnt(struct bed *b, const char *path, nfs_fh3 *fh)
{
	dirpath p = {(u_int)strlen(path), path};
	int flavors[MNT_FLAVORS];
	mountres3 r = {0};

	r.mountres3_u.mountinfo.auth_flavors.auth_flavors_val = flavors;
	bed_record(b, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT, (xdrproc_t)xdr_dirpath, &p);
	bed_run_all(b);
	if (!bed_results(b, (xdrproc_t)xdr_mountres3, &r))
		return -1;
	if (r.fhs_status == MNT3_OK) {
		CU_ASSERT_EQUAL(r.mountres3_u.mountinfo.auth_flavors.auth_flavors_len, 1);
		CU_ASSERT_EQUAL(flavors[0], AUTH_SYS);
		if (fh)
			*fh = r.mountres3_u.mountinfo.fhandle;
	}
	return (int)r.fhs_status;
}

/* One entry, and what READDIRPLUS adds to it. */
static bool_t
xdr_entry(XDR *x, struct bed_entry *e, bool plus)
{
	wire_str name;
	post_op_attr attr;
	post_op_fh3 fh;

	if (!xdr_uint64_t(x, &e->fileid) || !xdr_wire_str(x, &name) || !xdr_uint64_t(x, &e->cookie))
		return FALSE;
	CU_ASSERT(name.len > 0 && name.len < sizeof e->name);
	snprintf(e->name, sizeof e->name, "%.*s", (int)name.len, name.s);
	if (!plus)
		return TRUE;
	if (!xdr_post_op_attr(x, &attr) || !xdr_post_op_fh3(x, &fh))
		return FALSE;
	e->has_attr = attr.attributes_follow;
	e->attr = attr.post_op_attr_u.attributes;
	e->has_fh = fh.handle_follows;
	e->fh = fh.post_op_fh3_u.handle;
	return TRUE;
}

static bool_t
xdr_entries(XDR *x, struct bed_list *l, bool plus)
{
	bool_t more, eof;
	size_t cap = 0;

	for (;;) {
		if (!xdr_bool(x, &more))
			return FALSE;
		if (!more)
			break;
		if (l->n == cap) {
			cap = cap ? 2 * cap : 64;
			l->v = realloc(l->v, cap * sizeof *l->v);
		}
		memset(&l->v[l->n], 0, sizeof *l->v);
		if (!xdr_entry(x, &l->v[l->n], plus))
			return FALSE;
		l->n++;
	}
	if (!xdr_bool(x, &eof))
		return FALSE;
	l->eof = eof;
	return TRUE;
}

/* Results of either listing: status, attributes, verifier, entries. The generated code leaves the
 * list to the server. */
static bool_t
xdr_list(XDR *x, struct bed_list *l, bool plus)
{
	nfsstat3 st;
	post_op_attr attr;
	cookieverf3 verf;
	static const cookieverf3 zero;

	if (!xdr_nfsstat3(x, &st) || !xdr_post_op_attr(x, &attr))
		return FALSE;
	l->status = (int)st;
	l->has_attr = attr.attributes_follow;
	if (st != NFS3_OK)
		return TRUE;
	if (!xdr_cookieverf3(x, verf))
		return FALSE;
	CU_ASSERT_EQUAL(memcmp(verf, zero, sizeof zero), 0);
	return xdr_entries(x, l, plus);
}

static bool_t
xdr_plain(XDR *x, void *l)
{
	return xdr_list(x, l, false);
}

static bool_t
xdr_plus(XDR *x, void *l)
{
	return xdr_list(x, l, true);
}

void
bed_list(struct bed *b, const nfs_fh3 *dir, uint64_t cookie, uint32_t count, bool plus,
	 uint32_t dircount, struct bed_list *l)
{
	READDIR3args a = {*dir, cookie, {0}, count};
	READDIRPLUS3args p = {*dir, cookie, {0}, dircount, count};

	memset(l, 0, sizeof *l);
	l->status = -1;
	if (plus)
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_READDIRPLUS,
			   (xdrproc_t)xdr_READDIRPLUS3args, &p);
	else
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_READDIR, (xdrproc_t)xdr_READDIR3args,
			   &a);
	bed_run_all(b);
	if (!bed_results(b, plus ? (xdrproc_t)xdr_plus : (xdrproc_t)xdr_plain, l))
		return;
	l->resok = b->reply.len - RPC_HEAD - 4;
	/* a client that gets neither asks the same for ever */
	if (l->status == NFS3_OK)
		CU_ASSERT(l->n > 0 || l->eof);
}
