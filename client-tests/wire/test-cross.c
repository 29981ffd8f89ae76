/* SPDX-License-Identifier: BSD-2-Clause */
/* Mounts inside exports: covered unless crossmnt or nohide lead into them. Each test runs in a
 * child with mounts of its own. */
#include <arpa/inet.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "harm.h"
#include "lib/change.h"
#include "table.h"

/* Ways to serve: in mount clones; by openat2 alone, as without CAP_SYS_ADMIN; with serials, as
 * without any capability. */
static const char *const ways[] = {NULL, "mount_clone", "mount_clone,khandle"};
enum { WAYS = sizeof ways / sizeof *ways };

struct trial {
	void (*fn)(struct bed *);
	struct bed_opts opts;
};

static void
in_child(void *arg)
{
	const struct trial *t = arg;
	struct bed *b;

	CU_ASSERT_FATAL(unshare(CLONE_NEWNS) == 0);
	CU_ASSERT_FATAL(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	/* listings are compared to the byte, and must not leave their time in what they list */
	CU_ASSERT_FATAL(mount("/tmp", "/tmp", NULL, MS_BIND, NULL) == 0);
	CU_ASSERT_FATAL(mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND | MS_NOATIME, NULL) == 0);
	b = bed_new(&t->opts);
	t->fn(b);
	bed_stop(b);
	while (umount2(bed_path(b, "a/m/n"), MNT_DETACH) == 0 ||
	       umount2(bed_path(b, "a/m"), MNT_DETACH) == 0 ||
	       umount2(bed_path(b, "a/p"), MNT_DETACH) == 0 ||
	       umount2(bed_path(b, "a/twice"), MNT_DETACH) == 0)
		;
	bed_start(b);
	bed_free(b);
}

static void
run(void (*fn)(struct bed *), const char *options)
{
	for (int i = 0; i < WAYS; i++) {
		struct trial t = {fn, {.options_a = options, .without = ways[i]}};

		CU_ASSERT_EQUAL(harm_in_child(in_child, &t), 0);
	}
}

static bool
clones(const struct bed *b)
{
	return b->kernel.mount_clone;
}

static bool
same(const nfs_fh3 *x, const nfs_fh3 *y)
{
	return x->len == y->len && memcmp(x->data, y->data, x->len) == 0;
}

static int
find(struct bed *b, const nfs_fh3 *dir, const char *name)
{
	nfs_fh3 fh;

	return bed_lookup(b, dir, name, &fh);
}

static void
put_tmpfs(struct bed *b, const char *path)
{
	CU_ASSERT_FATAL(mount("none", bed_path(b, path), "tmpfs", MS_NOATIME, "mode=755") == 0);
}

/* a/file, a/m with "beneath", and a tmpfs mounted on a/m with "inside" and "n". */
static void
trees(struct bed *b)
{
	bed_write(b, "a/file", "x", 1);
	bed_mkdir(b, "a/m", 0755);
	bed_write(b, "a/m/beneath", "b", 1);
	put_tmpfs(b, "a/m");
	bed_write(b, "a/m/inside", "in", 2);
	bed_mkdir(b, "a/m/n", 0755);
}

/* The table is made anew from these (path, options, clients), as after something was mounted or
 * read: what is the same is taken over, the objects of the rest are dropped. */
static void
serve(struct bed *b, ...)
{
	struct export_env env = {&b->kernel, &b->key, b->store, false};
	struct export_table *old = engine_table(&b->engine), *t = NULL;
	struct entries e = {0};
	struct diag d = {0};
	struct plan p = {0};
	unsigned n = 0;
	va_list ap;

	va_start(ap, b);
	for (const char *path; (path = va_arg(ap, const char *));) {
		char full[PATH_MAX];
		struct export_spec s = {full, va_arg(ap, const char *), va_arg(ap, const char *)};

		snprintf(full, sizeof full, "%s", bed_path(b, path));
		CU_ASSERT(entries_add(&e, &s, "test", ++n, &d));
	}
	va_end(ap);
	if (plan_make(&p, &e, false, &d))
		t = table_make(&env, &p, old, &d);
	diag_print(&d, stdout);
	CU_ASSERT_FATAL(t != NULL);
	engine_swap_table(&b->engine, export_table_ref(t));
	files_drop(b->files, table_lacks, t);
	memset(b->peer.rules, 0, sizeof b->peer.rules);
	export_table_put(t);
	export_table_put(old);
	plan_free(&p);
	entries_free(&e);
	diag_free(&d);
}

static struct bed_entry
entry(struct bed *b, const nfs_fh3 *dir, const char *name, bool plus)
{
	struct bed_entry found = {0};
	struct bed_list l;

	bed_list(b, dir, 0, 8192, plus, 8192, &l);
	CU_ASSERT_EQUAL(l.status, NFS3_OK);
	for (size_t i = 0; i < l.n; i++)
		if (strcmp(l.v[i].name, name) == 0)
			found = l.v[i];
	CU_ASSERT_STRING_EQUAL(found.name, name);
	free(l.v);
	return found;
}

/* The inode number of what a/m covers, by the kernel's own word. */
static uint64_t
covered_ino(struct bed *b)
{
	char clone[] = "/tmp/cross-look-XXXXXX", path[64];
	struct stat st;

	CU_ASSERT_FATAL(mkdtemp(clone) != NULL);
	CU_ASSERT_FATAL(mount(bed_path(b, "a"), clone, NULL, MS_BIND, NULL) == 0);
	snprintf(path, sizeof path, "%s/m", clone);
	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(umount(clone), 0);
	CU_ASSERT_EQUAL(rmdir(clone), 0);
	return st.st_ino;
}

static uint64_t
fsid_of(struct bed *b, const nfs_fh3 *fh)
{
	fattr3 a = {0};

	CU_ASSERT_EQUAL(bed_getattr(b, fh, &a), NFS3_OK);
	return a.fsid;
}

static int
mnt(struct bed *b, const char *path, nfs_fh3 *fh)
{
	char full[PATH_MAX];

	snprintf(full, sizeof full, "%s", bed_path(b, path));
	return bed_mnt(b, full, fh);
}

/* ---- covered ---- */

/* What is shown of a/m is what lies beneath the mount, or nothing where that cannot be reached. */
static void
is_covered(struct bed *b)
{
	struct bed_entry plain = entry(b, &b->root_a, "m", false),
			 plus = entry(b, &b->root_a, "m", true);
	uint64_t ino = covered_ino(b);
	nfs_fh3 fh, up;

	CU_ASSERT_EQUAL(plain.fileid, ino);
	CU_ASSERT_EQUAL(plus.fileid, ino);
	CU_ASSERT_EQUAL(plus.has_attr, clones(b));
	CU_ASSERT_EQUAL(plus.has_fh, clones(b));
	if (!clones(b)) {
		CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3ERR_ACCES);
		CU_ASSERT_EQUAL(mnt(b, "a/m", &fh), MNT3ERR_ACCES);
		CU_ASSERT_EQUAL(mnt(b, "a/m/inside", &fh), MNT3ERR_ACCES);
		CU_ASSERT_EQUAL(mnt(b, "a/m/n", &fh), MNT3ERR_ACCES);
		return;
	}
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &plus.fh));
	CU_ASSERT_EQUAL(plus.attr.fileid, ino);
	CU_ASSERT_EQUAL(plus.attr.fsid, fsid_of(b, &b->root_a));
	CU_ASSERT_EQUAL(fsid_of(b, &fh), fsid_of(b, &b->root_a));
	CU_ASSERT_EQUAL(find(b, &fh, "beneath"), NFS3_OK);
	CU_ASSERT_EQUAL(find(b, &fh, "inside"), NFS3ERR_NOENT);
	entry(b, &fh, "beneath", true);
	CU_ASSERT_EQUAL(bed_lookup(b, &fh, "..", &up), NFS3_OK);
	CU_ASSERT_TRUE(same(&up, &b->root_a));
	CU_ASSERT_EQUAL(mnt(b, "a/m", &up), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, &up));
	CU_ASSERT_EQUAL(mnt(b, "a/m/n", &up), MNT3ERR_NOENT);
}

static void
covered(struct bed *b)
{
	trees(b);
	is_covered(b);
	serve(b, "a", "rw,no_root_squash", "127.0.0.1", "b", "ro", "127.0.0.1", NULL);
	is_covered(b); /* known when the table was made, too */
	serve(b, "a", "rw,no_root_squash,nohide", "127.0.0.1", NULL);
	is_covered(b); /* which is a word for the child's line */
}

/* Without crossmnt a mount inside an export is never shown: not by name, number or attributes, and
 * not by MNT. */
TEST(wire_cross, covered)
{
	run(covered, RW);
}

/* ---- crossed ---- */

static void
is_crossed(struct bed *b, nfs_fh3 *m, nfs_fh3 *n)
{
	struct stat st = bed_stat(b, "a/m");
	struct bed_entry plain, plus;
	fattr3 a = {0};
	nfs_fh3 fh;

	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", m), NFS3_OK);
	CU_ASSERT_EQUAL(bed_getattr(b, m, &a), NFS3_OK);
	CU_ASSERT_EQUAL(a.fileid, st.st_ino);
	CU_ASSERT_NOT_EQUAL(a.fsid, fsid_of(b, &b->root_a));
	plain = entry(b, &b->root_a, "m", false);
	plus = entry(b, &b->root_a, "m", true);
	CU_ASSERT_EQUAL(plain.fileid, covered_ino(b));
	CU_ASSERT_EQUAL(plus.fileid, covered_ino(b));
	CU_ASSERT_TRUE(plus.has_attr && plus.has_fh && same(&plus.fh, m));
	CU_ASSERT_EQUAL(plus.attr.fsid, a.fsid);
	CU_ASSERT_EQUAL(plus.attr.fileid, a.fileid);
	CU_ASSERT_EQUAL(find(b, m, "inside"), NFS3_OK);
	CU_ASSERT_EQUAL(find(b, m, "beneath"), NFS3ERR_NOENT);
	CU_ASSERT_EQUAL(bed_lookup(b, m, "..", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &b->root_a));
	CU_ASSERT_FALSE(entry(b, m, "..", true).has_attr);
	CU_ASSERT_EQUAL(bed_lookup(b, m, "n", n), NFS3_OK);
	CU_ASSERT_NOT_EQUAL(fsid_of(b, n), a.fsid);
	CU_ASSERT_EQUAL(find(b, n, "deep"), NFS3_OK);
	CU_ASSERT_EQUAL(bed_lookup(b, n, "..", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, m));
	CU_ASSERT_EQUAL(mnt(b, "a/m", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, m));
	CU_ASSERT_EQUAL(mnt(b, "a/m/n", &fh), MNT3_OK);
	CU_ASSERT_TRUE(same(&fh, n));
	CU_ASSERT_EQUAL(mnt(b, "a/m/none", &fh), MNT3ERR_NOENT);
}

/* Names cannot be moved or linked across, nor the mount point away. */
static void
stays_put(struct bed *b, const nfs_fh3 *m)
{
	struct at a = {"a", &b->root_a}, in = {"a/m", m};
	nfs_fh3 file = bed_fh(b, &b->root_a, "file"), fh;

	CU_ASSERT_EQUAL(do_rename(b, a, "file", in, "file"), NFS3ERR_XDEV);
	CU_ASSERT_EQUAL(do_link(b, &file, in, "file"), NFS3ERR_XDEV);
	CU_ASSERT_EQUAL(do_rmdir(b, a, "m"), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_rename(b, a, "m", a, "other"), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_mkdir(b, in, "made", &(sattr3){0}, &fh), NFS3_OK);
	CU_ASSERT_EQUAL(do_rmdir(b, in, "made"), NFS3_OK);
}

static void
crossed(struct bed *b)
{
	nfs_fh3 m, n, m2, n2, old;

	trees(b);
	put_tmpfs(b, "a/m/n");
	bed_write(b, "a/m/n/deep", "d", 1);
	if (clones(b))
		CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &old), NFS3_OK);
	serve(b, "a", RW ",crossmnt", "127.0.0.1", NULL);
	is_crossed(b, &m, &n);
	stays_put(b, &m);
	/* who had the covered directory keeps it */
	if (clones(b))
		CU_ASSERT_EQUAL(find(b, &old, "beneath"), NFS3_OK);
	/* nothing has changed: the same exports, not opened again */
	serve(b, "a", RW ",crossmnt", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_getattr(b, &n, NULL), NFS3_OK);
	/* a new server */
	b->opts.options_a = RW ",crossmnt";
	bed_stop(b);
	bed_start(b);
	CU_ASSERT_EQUAL(bed_getattr(b, &n, NULL), NFS3_OK);
	is_crossed(b, &m2, &n2);
	CU_ASSERT_TRUE(same(&m, &m2) && same(&n, &n2));
}

/* With crossmnt what is mounted below, at any depth, is part of the tree, each file system as its
 * own: fsid, handles that survive a restart, ".." back to where it is mounted. */
TEST(wire_cross, crossed)
{
	run(crossed, RW);
}

/* ---- coming and going ---- */

static void
comes_and_goes(struct bed *b)
{
	nfs_fh3 m, file, fh;

	bed_mkdir(b, "a/m", 0755);
	bed_write(b, "a/m/beneath", "b", 1);
	serve(b, "a", RW ",crossmnt", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &m), NFS3_OK);
	CU_ASSERT_EQUAL(find(b, &m, "beneath"), NFS3_OK);
	put_tmpfs(b, "a/m");
	bed_write(b, "a/m/inside", "in", 2);
	serve(b, "a", RW ",crossmnt", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3_OK);
	CU_ASSERT_FALSE(same(&fh, &m));
	CU_ASSERT_EQUAL(bed_lookup(b, &fh, "inside", &file), NFS3_OK);
	/* whoever serves in a clone holds nothing of what people see; others let go when told */
	CU_ASSERT_EQUAL(umount2(bed_path(b, "a/m"), clones(b) ? 0 : MNT_DETACH), 0);
	serve(b, "a", RW ",crossmnt", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_getattr(b, &file, NULL), NFS3ERR_STALE);
	CU_ASSERT_EQUAL(bed_getattr(b, &fh, NULL), NFS3ERR_STALE);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &m));
	/* another one in the same place is another one */
	put_tmpfs(b, "a/m");
	serve(b, "a", RW ",crossmnt", "127.0.0.1", NULL);
	CU_ASSERT_NOT_EQUAL(bed_getattr(b, &file, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3_OK);
	CU_ASSERT_EQUAL(find(b, &fh, "inside"), NFS3ERR_NOENT);
	/* also when there was no time to see the place empty */
	CU_ASSERT_EQUAL(umount2(bed_path(b, "a/m"), MNT_DETACH), 0);
	put_tmpfs(b, "a/m");
	bed_write(b, "a/m/third", "", 0);
	serve(b, "a", RW ",crossmnt", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_getattr(b, &fh, NULL), NFS3ERR_STALE);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3_OK);
	CU_ASSERT_EQUAL(find(b, &fh, "third"), NFS3_OK);
}

/* A file system that is mounted later is led into from the next table on, and one that is gone is
 * stale, with the directory beneath back in its place. */
TEST(wire_cross, comes_and_goes)
{
	run(comes_and_goes, RW);
}

/* ---- who ---- */

static void
peer_is(struct bed *b, const char *address)
{
	inet_pton(AF_INET, address, &((struct sockaddr_in *)&b->peer.addr)->sin_addr);
	memset(b->peer.rules, 0, sizeof b->peer.rules);
}

static void
nohide(struct bed *b)
{
	nfs_fh3 m, fh;

	trees(b);
	/* a line of its own, but no way to it */
	serve(b, "a", RW, "127.0.0.1", "a/m", "ro", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), clones(b) ? NFS3_OK : NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "a/m", &m), MNT3_OK);
	CU_ASSERT_FALSE(clones(b) && same(&fh, &m));
	CU_ASSERT_EQUAL(bed_lookup(b, &m, "..", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &m));
	/* a way, by the child's word */
	serve(b, "a", RW, "127.0.0.1", "a/m", "ro,no_root_squash,nohide", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &m), NFS3_OK);
	CU_ASSERT_EQUAL(find(b, &m, "inside"), NFS3_OK);
	CU_ASSERT_EQUAL(bed_lookup(b, &m, "..", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &b->root_a));
	/* its line counts: ro */
	CU_ASSERT_EQUAL(do_mkdir(b, (struct at){"a/m", &m}, "d", &(sattr3){0}, &fh), NFS3ERR_ROFS);
	/* by the parent's word, but for somebody else: who is not let in sees what is beneath */
	serve(b, "a", RW ",crossmnt", "127.0.0.0/8", "a/m", "ro,no_root_squash", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &m));
	peer_is(b, "127.0.0.2");
	CU_ASSERT_EQUAL(bed_getattr(b, &m, NULL), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), clones(b) ? NFS3_OK : NFS3ERR_ACCES);
	CU_ASSERT_FALSE(clones(b) && same(&fh, &m));
	CU_ASSERT_EQUAL(entry(b, &b->root_a, "m", true).has_attr, clones(b));
	/* nohide is a word for the clients it is written for, too */
	serve(b, "a", RW, "127.0.0.0/8", "a/m", "ro,no_root_squash,nohide", "127.0.0.1", "a/m",
	      "ro,no_root_squash", "127.0.0.2", NULL);
	CU_ASSERT_EQUAL(bed_getattr(b, &m, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), clones(b) ? NFS3_OK : NFS3ERR_ACCES);
	CU_ASSERT_FALSE(clones(b) && same(&fh, &m));
	CU_ASSERT_EQUAL(bed_lookup(b, &m, "..", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &m));
	peer_is(b, "127.0.0.1");
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3_OK);
	CU_ASSERT_TRUE(same(&fh, &m));
}

/* A mount with a line of its own is led into by its nohide or its parent's crossmnt, under its own
 * rules; to whom they do not apply it is not there. */
TEST(wire_cross, own_line)
{
	run(nohide, RW);
}

static void
by_client(struct bed *b)
{
	nfs_fh3 m, fh;
	struct bed_list l;

	trees(b);
	serve(b, "a", RW ",crossmnt", "127.0.0.1", "a", RW, "127.0.0.2", NULL);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &m), NFS3_OK);
	CU_ASSERT_EQUAL(find(b, &m, "inside"), NFS3_OK);
	peer_is(b, "127.0.0.2");
	is_covered(b);
	CU_ASSERT_EQUAL(bed_getattr(b, &m, NULL), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(find(b, &m, "inside"), NFS3ERR_ACCES);
	bed_list(b, &m, 0, 4096, true, 4096, &l);
	CU_ASSERT_EQUAL(l.status, NFS3ERR_ACCES);
	free(l.v);
	peer_is(b, "127.0.0.1");
	/* search permission in the directory comes first */
	CU_ASSERT_EQUAL(chmod(bed_path(b, "a"), 0700), 0);
	bed_as(b, 1000, 1000);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(mnt(b, "a/m", &fh), MNT3ERR_ACCES);
	bed_as(b, 0, 0);
	CU_ASSERT_EQUAL(chmod(bed_path(b, "a"), 0755), 0);
}

/* crossmnt is a word for the clients it is written for: for others the mount is covered, and its
 * handles are no use. */
TEST(wire_cross, by_client)
{
	run(by_client, RW);
}

static void
other_mounts(struct bed *b)
{
	nfs_fh3 m, n, fh, p;
	struct bed_entry e;

	trees(b);
	bed_mkdir(b, "a/p", 0755);
	bed_mkdir(b, "a/twice", 0755);
	bed_write(b, "a/m/f", "", 0);
	CU_ASSERT_FATAL(mount("proc", bed_path(b, "a/p"), "proc", 0, NULL) == 0);
	CU_ASSERT_FATAL(mount("/proc/version", bed_path(b, "a/file"), NULL, MS_BIND, NULL) == 0);
	/* a directory that is served already, and one that is mounted twice */
	char from[PATH_MAX];
	snprintf(from, sizeof from, "%s", bed_path(b, "a/m"));
	CU_ASSERT_FATAL(mount(from, bed_path(b, "a/twice"), NULL, MS_BIND, NULL) == 0);
	serve(b, "a", RW ",crossmnt", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &m), NFS3_OK);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "twice", &n), NFS3_OK);
	CU_ASSERT_TRUE(same(&m, &n));
	/* proc is not led into, nor is a file */
	e = entry(b, &b->root_a, "p", true);
	CU_ASSERT_EQUAL(e.has_attr, clones(b));
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "p", &p), clones(b) ? NFS3_OK : NFS3ERR_ACCES);
	if (clones(b))
		CU_ASSERT_EQUAL(find(b, &p, "self"), NFS3ERR_NOENT);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "file", &fh),
			clones(b) ? NFS3_OK : NFS3ERR_ACCES);
	if (clones(b))
		CU_ASSERT_EQUAL(fsid_of(b, &fh), fsid_of(b, &b->root_a));
	/* what is covered by a later mount is not found */
	CU_ASSERT_EQUAL(bed_lookup(b, &m, "n", &n), NFS3_OK);
	put_tmpfs(b, "a/m/n");
	put_tmpfs(b, "a/m");
	bed_mkdir(b, "a/m/n", 0755);
	bed_write(b, "a/m/n/upper", "", 0);
	serve(b, "a", RW ",crossmnt", "127.0.0.1", NULL);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "m", &fh), NFS3_OK);
	CU_ASSERT_FALSE(same(&m, &fh));
	CU_ASSERT_EQUAL(bed_lookup(b, &fh, "n", &n), NFS3_OK);
	CU_ASSERT_EQUAL(find(b, &n, "upper"), NFS3_OK);
	CU_ASSERT_EQUAL(umount(bed_path(b, "a/file")), 0);
}

/* Only directories of file systems for files are led into, each once, and only what is uppermost.
 */
TEST(wire_cross, other_mounts)
{
	run(other_mounts, RW);
}
