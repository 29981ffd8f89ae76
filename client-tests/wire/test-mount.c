/* SPDX-License-Identifier: BSD-2-Clause */
/* MOUNT: what it hands out is what the caller could have reached, and its lists tell each caller
 * what concerns it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harm.h"
#include "lib/bed.h"
#include "lib/scratch.h"
#include "store.h"
#include "table.h"

static const char *
below(struct bed *b, const char *rest)
{
	static char path[8192];

	snprintf(path, sizeof path, "%s%s", b->base, rest);
	return path;
}

static int
mnt(struct bed *b, const char *rest, nfs_fh3 *fh)
{
	return bed_mnt(b, below(b, rest), fh);
}

static bool
same(const nfs_fh3 *x, const nfs_fh3 *y)
{
	return x->len == y->len && memcmp(x->data, y->data, x->len) == 0;
}

/* The root of an export is its sealed handle, however many slashes and dots the path has. */
TEST(wire_mount, root)
{
	struct bed *b = bed_new(NULL);
	static const char *const forms[] = {"/a", "/a/", "/a///", "//a", "/./a", "/a/.", "/a/./"};
	nfs_fh3 fh;

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		CU_ASSERT_EQUAL(mnt(b, forms[i], &fh), MNT3_OK);
		CU_ASSERT_TRUE(same(&fh, &b->root_a));
	}
	CU_ASSERT_EQUAL(mnt(b, "/b", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &b->root_b));
	CU_ASSERT_EQUAL(bed_getattr(b, &fh, NULL), NFS3_OK);
	bed_free(b);
}

/* Below the root the path is walked as the squashed caller: a directory it cannot search is a wall,
 * also for root. */
TEST(wire_mount, below_the_root)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 fh, want;

	bed_mkdir(b, "a/p", 0755);
	bed_mkdir(b, "a/p/q", 0777);
	bed_mkdir(b, "a/p/q/r", 0755);
	bed_settle(b);
	want = bed_fh(b, &b->root_a, "p/q");
	CU_ASSERT_EQUAL(mnt(b, "/a/p/q", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &want));
	CU_ASSERT_EQUAL(mnt(b, "/a//p/./q//", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &want));
	CU_ASSERT_EQUAL(chmod(bed_path(b, "a/p"), 0700), 0);
	CU_ASSERT_EQUAL(mnt(b, "/a/p/q", &fh), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/a/p/none", &fh), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/a/p", &fh), MNT3_OK);
	b->uid = b->gid = 1000;
	CU_ASSERT_EQUAL(mnt(b, "/a/p/q", &fh), MNT3ERR_ACCES);
	/* AUTH_NONE may mount, as nobody */
	b->flavor = AUTH_NONE;
	CU_ASSERT_EQUAL(mnt(b, "/a", &fh), MNT3_OK);
	CU_ASSERT_EQUAL(mnt(b, "/a/p/q", &fh), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(chown(bed_path(b, "a/p"), 1000, 1000), 0);
	CU_ASSERT_EQUAL(mnt(b, "/a/p/q", &fh), MNT3ERR_ACCES);
	b->flavor = AUTH_SYS;
	CU_ASSERT_EQUAL(mnt(b, "/a/p/q", &fh), MNT3_OK);
	bed_free(b);
}

/* Where root is not squashed it walks as root. */
TEST(wire_mount, no_root_squash)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = "ro,no_root_squash"});

	bed_mkdir(b, "a/p", 0700);
	bed_mkdir(b, "a/p/q", 0777);
	CU_ASSERT_EQUAL(chown(bed_path(b, "a/p"), 1000, 1000), 0);
	CU_ASSERT_EQUAL(mnt(b, "/a/p/q", NULL), MNT3_OK);
	b->uid = 1001;
	CU_ASSERT_EQUAL(mnt(b, "/a/p/q", NULL), MNT3ERR_ACCES);
	bed_free(b);
}

/* Paths that are no directory of an export, each with its status. */
TEST(wire_mount, refused_paths)
{
	struct bed *b = bed_new(NULL);
	char longest[2000];

	bed_write(b, "a/file", "x", 1);
	bed_mkdir(b, "a/dir", 0755);
	bed_mkdir(b, "ab", 0755);
	CU_ASSERT_EQUAL(symlink("/etc", bed_path(b, "a/etc")), 0);
	CU_ASSERT_EQUAL(mnt(b, "/a/none", NULL), MNT3ERR_NOENT);
	CU_ASSERT_EQUAL(mnt(b, "/a/file", NULL), MNT3ERR_NOTDIR);
	CU_ASSERT_EQUAL(mnt(b, "/a/file/x", NULL), MNT3ERR_NOTDIR);
	CU_ASSERT_EQUAL(mnt(b, "/a/etc", NULL), MNT3ERR_NOTDIR);
	CU_ASSERT_EQUAL(mnt(b, "/a/etc/ssl", NULL), MNT3ERR_NOTDIR);
	CU_ASSERT_EQUAL(mnt(b, "/a/../b", NULL), MNT3ERR_INVAL);
	CU_ASSERT_EQUAL(mnt(b, "/a/..", NULL), MNT3ERR_INVAL);
	CU_ASSERT_EQUAL(mnt(b, "/a/dir/..", NULL), MNT3ERR_INVAL);
	CU_ASSERT_EQUAL(mnt(b, "/a/...", NULL), MNT3ERR_NOENT);
	CU_ASSERT_EQUAL(mnt(b, "/ab", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(bed_mnt(b, "/", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(bed_mnt(b, "/etc", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(bed_mnt(b, "", NULL), MNT3ERR_INVAL);
	CU_ASSERT_EQUAL(bed_mnt(b, "tmp", NULL), MNT3ERR_INVAL);
	memset(longest, '/', sizeof longest);
	longest[1025] = 0;
	CU_ASSERT_EQUAL(bed_mnt(b, longest, NULL), MNT3ERR_NAMETOOLONG);
	longest[1024] = 0;
	CU_ASSERT_EQUAL(bed_mnt(b, longest, NULL), MNT3ERR_ACCES);
	snprintf(longest, sizeof longest, "%s/a/%0256d", b->base, 0);
	CU_ASSERT_EQUAL(bed_mnt(b, longest, NULL), MNT3ERR_NAMETOOLONG);
	bed_free(b);
}

/* A NUL inside a path is refused, not read as its end. */
TEST(wire_mount, nul_in_path)
{
	struct bed *b = bed_new(NULL);
	char path[100];
	dirpath p = {0, path};
	int flavors[MNT_FLAVORS];
	mountres3 r = {.mountres3_u.mountinfo.auth_flavors = {0, flavors}};

	p.len = (u_int)snprintf(path, sizeof path, "%s/a%cjunk", b->base, 0);
	bed_record(b, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT, (xdrproc_t)xdr_dirpath, &p);
	bed_run_all(b);
	CU_ASSERT_TRUE(bed_results(b, (xdrproc_t)xdr_mountres3, &r));
	CU_ASSERT_EQUAL(r.fhs_status, MNT3ERR_INVAL);
	bed_free(b);
}

/* Versions 1 and 2 never hand out a handle: it would be one of a protocol that is not served. */
TEST(wire_mount, old_versions)
{
	struct bed *b = bed_new(NULL);
	char path[100];
	dirpath p = {0, path};
	fhstatus r;

	p.len = (u_int)snprintf(path, sizeof path, "%s/a", b->base);
	for (uint32_t v = 1; v <= 2; v++) {
		bed_record(b, MOUNT_PROGRAM, v, MOUNTPROC_MNT, (xdrproc_t)xdr_dirpath, &p);
		bed_run_all(b);
		CU_ASSERT_TRUE(bed_results(b, (xdrproc_t)xdr_fhstatus, &r));
		CU_ASSERT_EQUAL(r.fhs_status, 13);
	}
	bed_free(b);
}

/* Version 2's PATHCONF answers for what may be mounted, and sets its error bit for what may not. */
TEST(wire_mount, pathconf)
{
	struct bed *b = bed_new(NULL);
	char path[100];
	dirpath p = {0, path};
	ppathcnf r;

	p.len = (u_int)snprintf(path, sizeof path, "%s/a", b->base);
	bed_record(b, MOUNT_PROGRAM, 2, MOUNTPROC_PATHCONF, (xdrproc_t)xdr_dirpath, &p);
	bed_run_all(b);
	CU_ASSERT_TRUE(bed_results(b, (xdrproc_t)xdr_ppathcnf, &r));
	CU_ASSERT_EQUAL(r.pc_mask[0], 0);
	CU_ASSERT_EQUAL(r.pc_name_max, 255);
	CU_ASSERT_EQUAL(r.pc_path_max, 4096);
	p.len--;
	bed_record(b, MOUNT_PROGRAM, 2, MOUNTPROC_PATHCONF, (xdrproc_t)xdr_dirpath, &p);
	bed_run_all(b);
	CU_ASSERT_TRUE(bed_results(b, (xdrproc_t)xdr_ppathcnf, &r));
	CU_ASSERT_EQUAL(r.pc_mask[0], 1);
	CU_ASSERT_EQUAL(r.pc_name_max, 0);
	bed_free(b);
}

/* ---- the lists ---- */

struct pair {
	char left[64], right[256];
};

static bool_t
get_text(XDR *x, char *to, size_t size)
{
	wire_str s;

	if (!xdr_wire_str(x, &s))
		return FALSE;
	snprintf(to, size, "%.*s", (int)s.len, s.s);
	return TRUE;
}

/* DUMP: hosts and directories, in any order. */
static unsigned
dump(struct bed *b, struct pair *v)
{
	XDR x;
	bool_t more;
	size_t off;
	unsigned n = 0;

	store_flush(b->store);
	bed_record(b, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_DUMP, NULL, NULL);
	bed_run_all(b);
	CU_ASSERT_EQUAL_FATAL(bed_outcome(b, &off), OUT_ACCEPTED + SUCCESS);
	xdrmem_create(&x, b->reply.buf + off, (u_int)(b->reply.len - off), XDR_DECODE);
	while (xdr_bool(&x, &more) && more) {
		CU_ASSERT_TRUE(get_text(&x, v[n].left, sizeof v[n].left));
		CU_ASSERT_TRUE(get_text(&x, v[n].right, sizeof v[n].right));
		n++;
	}
	CU_ASSERT_EQUAL(xdr_getpos(&x), b->reply.len - off);
	return n;
}

static void
void_call(struct bed *b, uint32_t proc, const char *path)
{
	dirpath p = {path ? (u_int)strlen(path) : 0, path};

	bed_record(b, MOUNT_PROGRAM, MOUNT_V3, proc, path ? (xdrproc_t)xdr_dirpath : NULL, &p);
	bed_run_all(b);
	CU_ASSERT_EQUAL(bed_outcome(b, NULL), OUT_ACCEPTED + SUCCESS);
	CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD);
}

static bool
has(const struct pair *v, unsigned n, const char *host, const char *path)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(v[i].left, host) == 0 && strcmp(v[i].right, path) == 0)
			return true;
	return false;
}

/* Mounts are listed once each; UMNT removes one, UMNTALL those of its own caller and nobody else's.
 */
TEST(wire_mount, mount_list)
{
	struct bed *b = bed_new(NULL);
	struct pair v[16];
	char path_a[100], path_b[100];

	snprintf(path_a, sizeof path_a, "%s/a", b->base);
	snprintf(path_b, sizeof path_b, "%s/b", b->base);
	CU_ASSERT_EQUAL(dump(b, v), 0);
	CU_ASSERT_EQUAL(mnt(b, "/a", NULL), MNT3_OK);
	CU_ASSERT_EQUAL(mnt(b, "/a/", NULL), MNT3_OK);
	CU_ASSERT_EQUAL(mnt(b, "/b", NULL), MNT3_OK);
	CU_ASSERT_EQUAL(mnt(b, "/a/none", NULL), MNT3ERR_NOENT);
	strcpy(b->peer.text, "10.9.8.7");
	CU_ASSERT_EQUAL(mnt(b, "/a", NULL), MNT3_OK);
	CU_ASSERT_EQUAL(dump(b, v), 3);
	CU_ASSERT_TRUE(has(v, 3, "127.0.0.1", path_a));
	CU_ASSERT_TRUE(has(v, 3, "127.0.0.1", path_b));
	CU_ASSERT_TRUE(has(v, 3, "10.9.8.7", path_a));
	void_call(b, MOUNTPROC3_UMNTALL, NULL);
	CU_ASSERT_EQUAL(dump(b, v), 2);
	CU_ASSERT_FALSE(has(v, 2, "10.9.8.7", path_a));
	strcpy(b->peer.text, "127.0.0.1");
	void_call(b, MOUNTPROC3_UMNT, "/nowhere");
	void_call(b, MOUNTPROC3_UMNT, "");
	void_call(b, MOUNTPROC3_UMNT, below(b, "/a//"));
	CU_ASSERT_EQUAL(dump(b, v), 1);
	CU_ASSERT_TRUE(has(v, 1, "127.0.0.1", path_b));
	bed_free(b);
}

/* EXPORT: directories, and the first client of each. */
static unsigned
exports_of(struct bed *b, uint32_t version, uint32_t proc, struct pair *v)
{
	XDR x;
	bool_t more, group;
	size_t off;
	unsigned n = 0;

	bed_record(b, MOUNT_PROGRAM, version, proc, NULL, NULL);
	bed_run_all(b);
	CU_ASSERT_EQUAL_FATAL(bed_outcome(b, &off), OUT_ACCEPTED + SUCCESS);
	xdrmem_create(&x, b->reply.buf + off, (u_int)(b->reply.len - off), XDR_DECODE);
	while (xdr_bool(&x, &more) && more) {
		CU_ASSERT_TRUE(get_text(&x, v[n].right, sizeof v[n].right));
		v[n].left[0] = 0;
		while (xdr_bool(&x, &group) && group) {
			size_t len = strlen(v[n].left);
			char text[32];

			CU_ASSERT_TRUE(get_text(&x, text, sizeof text));
			snprintf(v[n].left + len, sizeof v[n].left - len, "%s ", text);
		}
		n++;
	}
	CU_ASSERT_EQUAL(xdr_getpos(&x), b->reply.len - off);
	return n;
}

/* Each caller sees the exports it may mount, with their clients as written; "*" stands for all. */
TEST(wire_mount, export_list)
{
	struct bed *b = bed_new(
	    &(struct bed_opts){.clients_a = "10.0.0.0/8,127.0.0.1", .clients_b = "10.0.0.0/8,*"});
	struct pair v[8];
	struct sockaddr_in *in = (struct sockaddr_in *)&b->peer.addr;

	for (uint32_t version = 1; version <= 3; version++) {
		CU_ASSERT_EQUAL(exports_of(b, version, MOUNTPROC_EXPORT, v), 2);
		CU_ASSERT_STRING_EQUAL(v[0].right, below(b, "/a"));
		CU_ASSERT_STRING_EQUAL(v[0].left, "10.0.0.0/8 127.0.0.1 ");
		CU_ASSERT_STRING_EQUAL(v[1].right, below(b, "/b"));
		CU_ASSERT_STRING_EQUAL(v[1].left, "* ");
	}
	in->sin_addr.s_addr = htonl(0xc0a80101);
	CU_ASSERT_EQUAL(exports_of(b, 3, MOUNTPROC_EXPORT, v), 1);
	CU_ASSERT_STRING_EQUAL(v[0].right, below(b, "/b"));
	CU_ASSERT_EQUAL(exports_of(b, 1, MOUNTPROC_EXPORTALL, v), 1);
	bed_free(b);
}

static void
make_link(struct bed *b, const char *text, const char *at)
{
	CU_ASSERT_EQUAL(symlink(text, bed_path(b, at)), 0);
}

/* A path with symbolic links in it leads where its own name would lead, to an export and below it,
 * as seen by the caller. */
TEST(wire_mount, links)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 fh, sub;

	bed_mkdir(b, "b/sub", 0755);
	make_link(b, "b", "link");
	make_link(b, below(b, "/link"), "chain");
	make_link(b, "../b", "a/up");
	bed_mkdir(b, "a/dir", 0755);
	make_link(b, "dir", "a/in");
	bed_settle(b);
	sub = bed_fh(b, &b->root_b, "sub");
	CU_ASSERT_EQUAL(mnt(b, "/link", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &b->root_b));
	CU_ASSERT_EQUAL(mnt(b, "/chain/", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &b->root_b));
	CU_ASSERT_EQUAL(mnt(b, "/chain/sub", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &sub));
	CU_ASSERT_EQUAL(mnt(b, "/link/none", NULL), MNT3ERR_NOENT);
	CU_ASSERT_EQUAL(mnt(b, "/a/up/sub", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &sub));
	CU_ASSERT_EQUAL(mnt(b, "/a/in", &fh), MNT3_OK);
	sub = bed_fh(b, &b->root_a, "dir");
	CU_ASSERT_TRUE(same(&fh, &sub));
	bed_free(b);
}

/* Links give nobody what he could not have by its own name, and no answer tells whether there is
 * anything that is not exported. */
TEST(wire_mount, links_give_nothing_away)
{
	struct bed *b = bed_new(&(struct bed_opts){.clients_b = "10.0.0.0/8"});
	struct sockaddr_in *in = (struct sockaddr_in *)&b->peer.addr;

	bed_mkdir(b, "secret", 0755);
	bed_mkdir(b, "a/p", 0755);
	bed_mkdir(b, "a/p/q", 0755);
	make_link(b, "secret", "to-secret");
	make_link(b, "nowhere", "to-nowhere");
	make_link(b, "loop", "loop");
	make_link(b, "a", "link");
	make_link(b, "b", "to-b");
	make_link(b, "../../secret", "a/out");
	make_link(b, "q", "a/p/in");
	CU_ASSERT_EQUAL(chmod(bed_path(b, "a/p"), 0700), 0);
	bed_settle(b);
	/* not exported: there or not, it is all the same */
	CU_ASSERT_EQUAL(mnt(b, "/secret", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/missing", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/to-secret", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/to-secret/x", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/to-nowhere", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/loop/x", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/to-b", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/a/out", NULL), MNT3ERR_NOTDIR);
	CU_ASSERT_EQUAL(mnt(b, "/a/out/x", NULL), MNT3ERR_NOTDIR);
	/* below the export it is still the caller who walks */
	b->uid = b->gid = 1000;
	CU_ASSERT_EQUAL(mnt(b, "/link/p", NULL), MNT3_OK);
	CU_ASSERT_EQUAL(mnt(b, "/link/p/q", NULL), MNT3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "/a/p/in", NULL), MNT3ERR_ACCES);
	in->sin_addr.s_addr = htonl(0xc0a80101);
	memset(b->peer.rules, 0, sizeof b->peer.rules);
	CU_ASSERT_EQUAL(mnt(b, "/link", NULL), MNT3ERR_ACCES);
	bed_free(b);
}

struct asking {
	const char *parent;
	in_addr_t address;
};

/* In a child: opening anything by O_PATH ends it. */
static void
ask_for_nothing(void *arg)
{
	const struct asking *a = arg;
	struct bed *b = bed_new(&(struct bed_opts){.parent = a->parent});

	((struct sockaddr_in *)&b->peer.addr)->sin_addr.s_addr = a->address;
	make_link(b, "a", "link");
	harm_call(&(struct harm){SYS_openat, 2, O_PATH}, 0);
	CU_ASSERT_EQUAL(mnt(b, "/link", NULL), MNT3ERR_ACCES);
}

/* For a peer that may mount nothing no path is looked up: it could be one that hangs. */
TEST(wire_mount, links_for_clients_only)
{
	char dir[64];
	struct asking stranger = {dir, htonl(0xc0a80101)}, client = {dir, htonl(INADDR_LOOPBACK)};

	scratch_make(dir, "links");
	CU_ASSERT_EQUAL(harm_in_child(ask_for_nothing, &stranger), 0);
	CU_ASSERT_EQUAL(harm_in_child(ask_for_nothing, &client), -1);
	scratch_drop(dir);
}

/* Two exports are two callers: a walk that begins again under another export's rules is squashed
 * anew, from the claim. */
TEST(wire_mount, links_between_rules)
{
	struct bed *b = bed_new(
	    &(struct bed_opts){.options_a = "ro,all_squash", .options_b = "ro,no_root_squash"});

	bed_mkdir(b, "b/p", 0755);
	bed_mkdir(b, "b/p/q", 0755);
	CU_ASSERT_EQUAL(chown(bed_path(b, "b/p"), 1000, 1000), 0);
	CU_ASSERT_EQUAL(chmod(bed_path(b, "b/p"), 0700), 0);
	make_link(b, "../b", "a/up");
	CU_ASSERT_EQUAL(mnt(b, "/a/up/p/q", NULL), MNT3_OK);
	b->uid = b->gid = 1000;
	CU_ASSERT_EQUAL(mnt(b, "/a/up/p/q", NULL), MNT3_OK);
	b->uid = b->gid = 1001;
	CU_ASSERT_EQUAL(mnt(b, "/a/up/p/q", NULL), MNT3ERR_ACCES);
	bed_free(b);
}

/* The list shows an export by the paths that its owner wrote, and each can be mounted. */
TEST(wire_mount, listed_as_written)
{
	struct bed *b = bed_new(NULL);
	struct export_env env = {&b->kernel, &b->key, b->store, false};
	char link[100], err[500];
	struct export_spec spec = {link, "ro", "127.0.0.1"};
	struct export_table *t;
	struct pair v[8];
	nfs_fh3 fh;

	make_link(b, "a", "link");
	snprintf(link, sizeof link, "%s//link/", b->base);
	t = export_table_make(&env, &spec, 1, err, sizeof err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	engine_swap_table(&b->engine, t);
	CU_ASSERT_EQUAL(exports_of(b, 3, MOUNTPROC_EXPORT, v), 1);
	CU_ASSERT_STRING_EQUAL(v[0].right, below(b, "/link"));
	CU_ASSERT_EQUAL(mnt(b, "/link", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &b->root_a));
	CU_ASSERT_EQUAL(mnt(b, "/a", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &b->root_a));
	bed_free(b);
}

/* Where all paths are below a directory of this machine, so are links. */
TEST(wire_mount, links_below_a_root)
{
	struct bed *b = bed_new(NULL);
	struct export_env env = {&b->kernel, &b->key, b->store, false};
	struct export_spec spec = {"/a", "ro", "127.0.0.1"};
	struct entries e = {.rootdir = b->base};
	struct diag d = {0};
	struct plan p = {0};
	struct export_table *t;
	nfs_fh3 fh;

	make_link(b, "/a", "link");
	CU_ASSERT_TRUE(entries_add(&e, &spec, NULL, 1, &d) && plan_make(&p, &e, false, &d));
	t = table_make(&env, &p, NULL, &d);
	plan_free(&p);
	entries_free(&e);
	diag_free(&d);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	engine_swap_table(&b->engine, t);
	CU_ASSERT_EQUAL(bed_mnt(b, "/link", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &t->v[0]->root));
	CU_ASSERT_EQUAL(mnt(b, "/a", &fh), MNT3ERR_ACCES);
	bed_free(b);
}
