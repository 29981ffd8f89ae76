/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network between client and server that loses replies, cuts connections and brings calls twice.
 * The client does what clients do: it sends the same call again, from another port. Each change is
 * made once, and its maker is told so.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "proxy.h"
#include "server.h"

struct net {
	struct srv *s;
	struct proxy *p;
	struct cl *c;
	uint32_t xid;
	unsigned harms; /* done so far: which comes next */
	nfs_fh3 root;
};

static filename3
name3(const char *s)
{
	return (filename3){(u_int)strlen(s), s};
}

/* A call that meets the next harm, repeated until it is answered; its status. */
static int
through(struct net *n, uint32_t proc, xdrproc_t enc, void *args, xdrproc_t dec, void *res,
	size_t size)
{
	char buf[CL_CALL_MAX];
	size_t len = cl_build(buf, ++n->xid, NFS_PROGRAM, NFS_V3, proc, enc, args);

	proxy_harm(n->p, (enum harm_to_call)(n->harms++ % HARMS));
	for (int tries = 0; tries < 3; tries++) {
		if (cl_send(n->c, buf, len) && cl_recv(n->c)) {
			CU_ASSERT_EQUAL(cl_xid(n->c), n->xid);
			return cl_results(n->c, dec, res, size) ? (int)*(nfsstat3 *)res : -1;
		}
		cl_free(n->c);
		n->c = cl_new(proxy_port(n->p), 0);
	}
	return -1;
}
#define THROUGH(n, P, a, r)                                                                        \
	through(n, NFSPROC3_##P, (xdrproc_t)xdr_##P##3args, a, (xdrproc_t)xdr_##P##3res, r,        \
		sizeof *(r))

static const sattr3 plain = {.mode = {TRUE, {0755}}};

static nfs_fh3
make_dir(struct net *n, const char *name)
{
	MKDIR3args a = {{n->root, name3(name)}, plain};
	MKDIR3res r;

	CU_ASSERT_EQUAL(THROUGH(n, MKDIR, &a, &r), NFS3_OK);
	return r.MKDIR3res_u.resok.obj.post_op_fh3_u.handle;
}

static nfs_fh3
make_file(struct net *n, const nfs_fh3 *dir, const char *name, bool exclusive)
{
	CREATE3args a = {.where = {*dir, name3(name)}};
	CREATE3res r;

	a.how.mode = exclusive ? EXCLUSIVE : GUARDED;
	if (exclusive)
		memcpy(a.how.createhow3_u.verf, &n->xid, sizeof n->xid);
	else
		a.how.createhow3_u.obj_attributes = plain;
	CU_ASSERT_EQUAL(THROUGH(n, CREATE, &a, &r), NFS3_OK);
	return r.CREATE3res_u.resok.obj.post_op_fh3_u.handle;
}

static void
make_others(struct net *n, const nfs_fh3 *dir, const nfs_fh3 *file)
{
	SYMLINK3args s = {{*dir, name3("symlink")}, {plain, {4, "text"}}};
	MKNOD3args k = {.where = {*dir, name3("fifo")}, .what = {.type = NF3FIFO}};
	LINK3args l = {*file, {*dir, name3("link")}};
	SYMLINK3res sr;
	MKNOD3res kr;
	LINK3res lr;

	k.what.mknoddata3_u.pipe_attributes = plain;
	CU_ASSERT_EQUAL(THROUGH(n, SYMLINK, &s, &sr), NFS3_OK);
	CU_ASSERT_EQUAL(THROUGH(n, MKNOD, &k, &kr), NFS3_OK);
	CU_ASSERT_EQUAL(THROUGH(n, LINK, &l, &lr), NFS3_OK);
}

static void
set_guarded(struct net *n, const nfs_fh3 *file)
{
	GETATTR3args g = {*file};
	GETATTR3res gr;
	SETATTR3args a = {.object = *file, .guard = {.check = TRUE}};
	SETATTR3res r;

	CU_ASSERT_EQUAL(THROUGH(n, GETATTR, &g, &gr), NFS3_OK);
	CU_ASSERT_EQUAL(gr.GETATTR3res_u.resok.obj_attributes.nlink, 2);
	a.new_attributes.mode = (set_mode3){TRUE, {0600}};
	a.guard.sattrguard3_u.obj_ctime = gr.GETATTR3res_u.resok.obj_attributes.ctime;
	CU_ASSERT_EQUAL(THROUGH(n, SETATTR, &a, &r), NFS3_OK);
}

static void
move(struct net *n, const nfs_fh3 *dir, const char *from, const char *to)
{
	RENAME3args a = {{*dir, name3(from)}, {*dir, name3(to)}};
	RENAME3res r;

	CU_ASSERT_EQUAL(THROUGH(n, RENAME, &a, &r), NFS3_OK);
}

static void
take_all(struct net *n, const nfs_fh3 *dir, const char *name)
{
	static const char *const names[] = {"file", "exclusive", "symlink", "fifo", "moved"};
	REMOVE3args a;
	REMOVE3res r;
	RMDIR3args d = {{n->root, name3(name)}};
	RMDIR3res dr;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		a = (REMOVE3args){{*dir, name3(names[i])}};
		CU_ASSERT_EQUAL(THROUGH(n, REMOVE, &a, &r), NFS3_OK);
	}
	CU_ASSERT_EQUAL(THROUGH(n, RMDIR, &d, &dr), NFS3_OK);
}

static void
one_life(struct net *n, unsigned round)
{
	char name[32];

	snprintf(name, sizeof name, "dir%u", round);
	n->harms = round; /* each call meets each harm in turn */
	nfs_fh3 dir = make_dir(n, name), file = make_file(n, &dir, "file", false);
	make_file(n, &dir, "exclusive", true);
	make_others(n, &dir, &file);
	set_guarded(n, &file);
	move(n, &dir, "link", "moved");
	take_all(n, &dir, name);
}

/* Whatever happens to a call or to its reply on the way: what is not idempotent is answered as if
 * nothing had happened, since it is carried out once. */
TEST(network, once_and_only_once)
{
	struct net n = {.s = srv_new(), .xid = 1000};
	unsigned rounds = check_full() ? 2000 : 4 * HARMS;

	srv_mkdir(n.s, "a");
	n.s->options = "rw,no_root_squash,insecure";
	srv_start(n.s, NULL, "a", NULL);
	struct cl *direct = srv_client(n.s);
	CU_ASSERT_EQUAL_FATAL(cl_mnt(direct, srv_path(n.s, "a"), &n.root), MNT3_OK);
	cl_free(direct);
	n.p = proxy_new(n.s->port);
	n.c = cl_new(proxy_port(n.p), 0);
	for (unsigned i = 0; i < rounds; i++)
		one_life(&n, i);
	cl_free(n.c);
	proxy_free(n.p);
	srv_free(n.s);
}
