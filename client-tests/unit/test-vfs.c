/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "served.h"
#include "stat.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct served s;
static char dir[64];

static void
begin(const char *type)
{
	box_mount(type, "e", dir);
	serve(&s, dir, NULL, 0);
}

static const char *
at(const char *name)
{
	static char path[4][512];
	static int turn;
	char *p = path[turn++ % 4];

	sprintf(p, "%s/%s", dir, name);
	return p;
}

static uint64_t
switches(void)
{
	return stat_self()->count[ST_ID_SWITCHES];
}

/* ---- permission ---- */

/* What the kernel says to a real process of that user, by path. */
static int
truth(const struct cred *c, const char *path)
{
	int status;
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		int granted = 0;

		if (setgroups(c->ngroups, c->groups) != 0 ||
		    setresgid(c->gid, c->gid, c->gid) != 0 ||
		    setresuid(c->uid, c->uid, c->uid) != 0)
			_exit(99);
		for (int bit = X_OK; bit <= R_OK; bit <<= 1)
			granted |= access(path, bit) == 0 ? bit : 0;
		_exit(granted);
	}
	MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 99);
	return WEXITSTATUS(status);
}

static const struct sample {
	const char *name;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	const char *acl;
} samples[] = {
    {"f000", 0000, 1000, 1000, NULL},
    {"f400", 0400, 1000, 1000, NULL},
    {"f060", 0060, 0, 2015, NULL},
    {"f604", 0604, 0, 1000, NULL},
    {"f711", 0711, 0, 0, NULL},
    {"f777", 0777, 0, 0, NULL},
    {"f111", 0111, 0, 0, NULL},
    {"acl-user", 0600, 0, 0, "u:1001:rw"},
    {"acl-group", 0640, 0, 0, "g:2003:rx"},
    {"acl-mask", 0660, 0, 0, "u:1001:rwx,m::r"},
    {"acl-deny", 0666, 0, 1000, "u:1001:---"},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

static void
make_samples(bool acls)
{
	for (int i = 0; i < SAMPLES; i++) {
		const struct sample *m = &samples[i];

		box_file(at(m->name), 10, 0600);
		MUST(chown(at(m->name), m->uid, m->gid) == 0 && chmod(at(m->name), m->mode) == 0);
		if (acls && m->acl)
			box_command("setfacl -m %s %s", m->acl, at(m->name));
	}
}

static void
compare(const struct sample *m)
{
	struct obj *o = object(&s, m->name);
	struct vfs_ctx w = as_worker(&s);
	int expected = truth(&s.cred, at(m->name)), granted = -1, single;
	struct stat st;

	WANT_EQ(vfs_getattr(&w, o, &st), 0);
	WANT_EQ(vfs_access(&w, o, &st, R_OK | W_OK | X_OK, &granted), 0);
	if (granted != expected)
		fprintf(stderr, "\n    %s for uid %u:", m->name, s.cred.uid);
	WANT_EQ(granted, expected);
	for (int bit = X_OK; bit <= R_OK; bit <<= 1) {
		WANT_EQ(vfs_access(&w, o, &st, bit, &single), 0);
		WANT_EQ(single, expected & bit);
	}
	put(&s, o);
}

static void
access_on(const char *type, bool acls)
{
	gid_t many[CRED_GROUPS_MAX], g2003 = 2003;

	for (int i = 0; i < CRED_GROUPS_MAX; i++)
		many[i] = (gid_t)(2000 + i);
	struct cred callers[] = {box_cred(0, 0, 0, NULL),
				 box_cred(1000, 1000, 0, NULL),
				 box_cred(1001, 1001, 0, NULL),
				 box_cred(1001, 1000, 1, &g2003),
				 box_cred(1002, 1002, CRED_GROUPS_MAX, many),
				 box_cred(65534, 65534, 0, NULL)};
	begin(type);
	make_samples(acls);
	for (size_t c = 0; c < sizeof callers / sizeof callers[0]; c++)
		for (int i = 0; i < SAMPLES; i++) {
			s.cred = callers[c];
			compare(&samples[i]);
		}
	serve_end(&s);
}

static void
access_tmpfs(void)
{
	access_on("tmpfs", true);
}

static void
access_ext4(void)
{
	access_on("ext4", true);
}

static void
access_xfs(void)
{
	access_on("xfs", true);
}

static void
access_btrfs(void)
{
	access_on("btrfs", true);
}

static void
access_overlay(void)
{
	access_on("overlay", true);
}

/* For six callers and files of many modes, with and without ACLs, the answer is what the kernel
 * tells a process of that user; on every kind of file system. */
TEST(vfs, access_tmpfs)
{
	BOXED(access_tmpfs);
}
TEST(vfs, access_ext4)
{
	BOXED(access_ext4);
}
TEST(vfs, access_xfs)
{
	BOXED(access_xfs);
}
TEST(vfs, access_btrfs)
{
	BOXED(access_btrfs);
}
TEST(vfs, access_overlay)
{
	BOXED(access_overlay);
}

static void
read_only(void)
{
	int granted;
	struct stat st;

	box_mount("tmpfs", "e", dir);
	box_file(at("f"), 1, 0666);
	MUST(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	serve(&s, dir, NULL, 0);
	struct obj *o = object(&s, "f");
	struct vfs_ctx w = as_worker(&s);
	WANT_EQ(vfs_getattr(&w, o, &st), 0);
	WANT_EQ(vfs_access(&w, o, &st, R_OK | W_OK | X_OK, &granted), 0);
	WANT_EQ(granted, R_OK);
	put(&s, o);
	serve_end(&s);
}

/* Where writing is impossible W is not granted, and that is no error. */
TEST(vfs, access_read_only)
{
	BOXED(read_only);
}

static void
memory(void)
{
	struct vfs_ctx loop, w;
	struct stat st;
	int granted;

	begin("ext4");
	box_file(at("f"), 1, 0644);
	struct obj *o = object(&s, "f");
	until_calm(&s, o);
	s.cred = box_cred(1000, 1000, 0, NULL);
	loop = on_loop(&s), w = as_worker(&s);
	WANT_EQ(vfs_getattr(&loop, o, &st), 0);
	WANT_EQ(vfs_access(&loop, o, &st, R_OK, &granted), ESLEEP); /* an ACL may lie on disk */
	WANT_EQ(vfs_access(&w, o, &st, R_OK, &granted), 0);
	uint64_t before = switches();
	granted = 0;
	WANT_EQ(vfs_access(&loop, o, &st, R_OK, &granted), 0);
	WANT_EQ(granted, R_OK);
	WANT_EQ(switches(), before);
	WANT_EQ(vfs_access(&loop, o, &st, W_OK, &granted), 0); /* warm now: no worker needed */
	WANT_EQ(granted, 0);
	WANT_EQ(switches(), before + 1);
	WANT_EQ(vfs_access(&loop, o, &st, R_OK | W_OK, &granted), 0);
	WANT_EQ(granted, R_OK);
	WANT_EQ(switches(), before + 1);
	MUST(chmod(at("f"), 0600) == 0);
	wake_up(&s);
	WANT_EQ(vfs_getattr(&loop, o, &st), 0);
	WANT_EQ(vfs_access(&loop, o, &st, R_OK, &granted), 0);
	WANT_EQ(granted, 0);
	s.cred = box_cred(1001, 1001, 0, NULL);
	WANT_EQ(vfs_access(&loop, o, &st, R_OK, &granted), 0);
	WANT_EQ(granted, 0);
	put(&s, o);
	serve_end(&s);
}

/* An answer is remembered per caller and bit, without a switch of identity, until the mode changes.
 */
TEST(vfs, access_memory)
{
	BOXED(memory);
}

static void
many_callers(void)
{
	struct stat st;
	int granted;

	begin("tmpfs");
	box_file(at("f"), 1, 0640);
	MUST(chown(at("f"), 0, 77) == 0);
	struct obj *o = object(&s, "f");
	until_calm(&s, o);
	struct vfs_ctx w = as_worker(&s);
	MUST(vfs_getattr(&w, o, &st) == 0);
	for (uid_t i = 0; i < 200; i++) {
		uid_t uid = 1000 + i % 23;

		s.cred = box_cred(uid, uid % 2 ? 77 : 78, 0, NULL);
		WANT_EQ(vfs_access(&w, o, &st, R_OK, &granted), 0);
		WANT_EQ(granted, uid % 2 ? R_OK : 0);
	}
	put(&s, o);
	serve_end(&s);
}

/* More callers than an object remembers never get each other's answers. */
TEST(vfs, access_many_callers)
{
	BOXED(many_callers);
}

static void
young_on(const char *type)
{
	struct stat st;
	int granted;

	begin(type);
	box_file(at("f"), 1, 0);
	struct obj *o = object(&s, "f");
	s.cred = box_cred(1000, 1000, 0, NULL);
	struct vfs_ctx w = as_worker(&s);
	for (int i = 0; i < 3000; i++) {
		MUST(chmod(at("f"), i % 2 ? 0444 : 0) == 0);
		MUST(vfs_getattr(&w, o, &st) == 0);
		WANT_EQ(vfs_access(&w, o, &st, R_OK, &granted), 0);
		WANT_EQ(granted, i % 2 ? R_OK : 0);
		if (box_failed)
			break;
	}
	put(&s, o);
	serve_end(&s);
}

static void
young_tmpfs(void)
{
	young_on("tmpfs");
}

static void
young_ticks(void)
{
	young_on("ext2");
}

static void
young_seconds(void)
{
	young_on("ext4-seconds");
}

/* Changes faster than the clock that stamps them are never hidden by a remembered answer: with fine
 * times, with times of clock ticks, with times of seconds. */
TEST(vfs, access_young)
{
	BOXED(young_tmpfs);
}
TEST(vfs, access_young_ticks)
{
	BOXED(young_ticks);
}
TEST(vfs, access_young_seconds)
{
	BOXED(young_seconds);
}

static void
unprivileged(void)
{
	struct stat st;
	struct obj *child;
	int granted;

	box_mount("tmpfs", "e", dir);
	box_file(at("mine"), 1, 0600);
	box_file(at("roots"), 1, 0600);
	MUST(chown(at("mine"), 1000, 1000) == 0 && chmod(BOX, 01777) == 0);
	MUST(setgroups(0, NULL) == 0 && setresgid(1000, 1000, 1000) == 0 &&
	     setresuid(1000, 1000, 1000) == 0);
	serve(&s, dir, NULL, 0);
	struct vfs_ctx w = as_worker(&s);
	WANT_EQ(vfs_lookup(&w, s.root, "mine", 4, &child, &st), 0);
	WANT_EQ(vfs_access(&w, child, &st, R_OK | W_OK | X_OK, &granted), 0);
	WANT_EQ(granted, R_OK | W_OK);
	s.cred = box_cred(1001, 1001, 0, NULL);
	WANT_EQ(vfs_access(&w, child, &st, R_OK, &granted), EACCES);
	put(&s, child);
	WANT_EQ(vfs_lookup(&w, s.root, "mine", 4, &child, &st), EACCES);
	s.cred = box_cred(1000, 1000, 0, NULL);
	WANT_EQ(vfs_lookup(&w, s.root, "roots", 5, &child, &st), 0);
	WANT_EQ(vfs_access(&w, child, &st, R_OK, &granted), 0);
	WANT_EQ(granted, 0);
	put(&s, child);
	serve_end(&s);
}

/* A server that is an ordinary user answers as that user, and refuses to act as another. */
TEST(vfs, unprivileged)
{
	BOXED(unprivileged);
}

/* ---- lookup ---- */

static int
look(const struct vfs_ctx *ctx, struct obj *d, const char *name, uint64_t *ino)
{
	struct obj *child;
	struct stat st;
	int error = vfs_lookup(ctx, d, name, strlen(name), &child, &st);

	if (error)
		return error;
	WANT_EQ(child->ino, st.st_ino);
	*ino = st.st_ino;
	put(&s, child);
	return 0;
}

static uint64_t
ino_of(const char *path)
{
	struct stat st;

	MUST(lstat(path, &st) == 0);
	return st.st_ino;
}

static void
names_on(const char *type)
{
	char longest[256 + 1];
	struct obj *child;
	struct stat st;
	uint64_t ino = 0;

	begin(type);
	MUST(mkdir(at("d"), 0755) == 0 && mkdir(at("d/e"), 0755) == 0);
	box_file(at("f"), 3, 0644);
	MUST(symlink("/etc", at("link")) == 0);
	memset(longest, 'x', 255);
	longest[255] = '\0';
	box_file(at(longest), 1, 0644);
	struct vfs_ctx w = as_worker(&s);
	WANT_EQ(look(&w, s.root, "f", &ino), 0);
	WANT_EQ(ino, ino_of(at("f")));
	WANT_EQ(look(&w, s.root, "link", &ino), 0);
	WANT_EQ(ino, ino_of(at("link")));
	WANT_EQ(look(&w, s.root, longest, &ino), 0);
	longest[255] = 'x', longest[256] = '\0';
	WANT_EQ(look(&w, s.root, longest, &ino), ENAMETOOLONG);
	WANT_EQ(look(&w, s.root, "none", &ino), ENOENT);
	WANT_EQ(look(&w, s.root, "", &ino), EINVAL);
	WANT_EQ(look(&w, s.root, "d/e", &ino), EINVAL);
	WANT_EQ(look(&w, s.root, "/", &ino), EINVAL);
	WANT_EQ(vfs_lookup(&w, s.root, "f\0x", 3, &child, &st), EINVAL);
	struct obj *d = object(&s, "d"), *e = object(&s, "d/e"), *f = object(&s, "f");
	struct obj *link = object(&s, "link");
	WANT_EQ(look(&w, f, "x", &ino), ENOTDIR);
	WANT_EQ(look(&w, link, "passwd", &ino), ENOTDIR);
	WANT_EQ(vfs_lookup(&w, s.root, "..", 2, &child, &st), 0);
	WANT(child == s.root);
	put(&s, child);
	WANT_EQ(vfs_lookup(&w, s.root, ".", 1, &child, &st), 0);
	WANT(child == s.root);
	put(&s, child);
	WANT_EQ(vfs_lookup(&w, d, "..", 2, &child, &st), 0);
	WANT(child == s.root);
	put(&s, child);
	WANT_EQ(vfs_lookup(&w, e, "..", 2, &child, &st), 0);
	WANT(child == d);
	put(&s, child);
	WANT_EQ(vfs_lookup(&w, e, ".", 1, &child, &st), 0);
	WANT(child == e);
	put(&s, child);
	put(&s, d);
	put(&s, e);
	put(&s, f);
	put(&s, link);
	serve_end(&s);
}

static void
names_tmpfs(void)
{
	names_on("tmpfs");
}

static void
names_ext4(void)
{
	names_on("ext4");
}

static void
names_btrfs(void)
{
	names_on("btrfs");
}

static void
names_overlay(void)
{
	names_on("overlay");
}

/* One component is looked up and nothing followed; "." and ".." work and the root is its own
 * parent; what is no component is refused. */
TEST(vfs, names_tmpfs)
{
	BOXED(names_tmpfs);
}
TEST(vfs, names_ext4)
{
	BOXED(names_ext4);
}
TEST(vfs, names_btrfs)
{
	BOXED(names_btrfs);
}
TEST(vfs, names_overlay)
{
	BOXED(names_overlay);
}

static void
search(void)
{
	uint64_t ino = 0;

	begin("tmpfs");
	MUST(mkdir(at("d"), 0744) == 0 && mkdir(at("d/sub"), 0777) == 0);
	struct obj *d = object(&s, "d");
	s.cred = box_cred(1000, 1000, 0, NULL);
	struct vfs_ctx w = as_worker(&s);
	WANT_EQ(look(&w, d, "sub", &ino), EACCES);
	WANT_EQ(look(&w, d, "..", &ino), EACCES);
	WANT_EQ(look(&w, d, "none", &ino), EACCES);
	MUST(chmod(at("d"), 0711) == 0);
	WANT_EQ(look(&w, d, "sub", &ino), 0);
	put(&s, d);
	serve_end(&s);
}

/* Looking up needs search permission on the directory, for every name alike. */
TEST(vfs, search_permission)
{
	BOXED(search);
}

static void
on_loops(void)
{
	struct obj *child;
	struct stat st;
	uint64_t ino = 0;

	begin("ext4");
	box_file(at("f"), 1, 0644);
	struct vfs_ctx loop = on_loop(&s), w = as_worker(&s);
	until_calm(&s, s.root);
	int first = vfs_lookup(&loop, s.root, "f", 1, &child, &st);
	WANT(first == 0 || first == ESLEEP);
	if (first == 0)
		put(&s, child);
	wake_up(&s);
	WANT_EQ(look(&w, s.root, "f", &ino), 0);
	WANT_EQ(vfs_lookup(&loop, s.root, "f", 1, &child, &st), 0);
	WANT_EQ(st.st_ino, ino);
	/* an object that was evicted is opened by its remembered handle, by a worker */
	obj_forget(s.files, child);
	put(&s, child);
	wake_up(&s);
	WANT_EQ(vfs_lookup(&loop, s.root, "f", 1, &child, &st), ESLEEP);
	WANT_EQ(look(&w, s.root, "f", &ino), 0);
	/* unknown to the kernel's memory: */
	WANT_EQ(vfs_lookup(&loop, s.root, "never-asked", 11, &child, &st), ESLEEP);
	WANT_EQ(vfs_lookup(&w, s.root, "never-asked", 11, &child, &st), ENOENT);
	serve_end(&s);
}

/* A loop looks up what is in memory and nothing else. */
TEST(vfs, lookup_on_loops)
{
	BOXED(on_loops);
}

static void
replaced_on(const char *type)
{
	uint64_t ino = 0;

	begin(type);
	box_file(at("a"), 1, 0644);
	struct vfs_ctx w = as_worker(&s);
	until_calm(&s, s.root);
	WANT_EQ(look(&w, s.root, "a", &ino), 0);
	box_file(at("b"), 1, 0644);
	uint64_t number[2] = {ino_of(at("a")), ino_of(at("b"))};
	for (int i = 1; i < 2000 && !box_failed; i++) {
		MUST(renameat2(AT_FDCWD, at("a"), AT_FDCWD, at("b"), RENAME_EXCHANGE) == 0);
		WANT_EQ(look(&w, s.root, "a", &ino), 0);
		WANT_EQ(ino, number[i % 2]);
		WANT_EQ(look(&w, s.root, "b", &ino), 0);
		WANT_EQ(ino, number[1 - i % 2]);
		if (i % 500 == 0)
			until_calm(&s, s.root);
		WANT_EQ(look(&w, s.root, "a", &ino), 0);
		WANT_EQ(ino, number[i % 2]);
	}
	box_file(at("c"), 1, 0644);
	number[0] = ino_of(at("c"));
	MUST(rename(at("c"), at("a")) == 0);
	WANT_EQ(look(&w, s.root, "a", &ino), 0);
	WANT_EQ(ino, number[0]);
	WANT_EQ(look(&w, s.root, "c", &ino), ENOENT);
	serve_end(&s);
}

static void
replaced_tmpfs(void)
{
	replaced_on("tmpfs");
}

static void
replaced_ticks(void)
{
	replaced_on("ext2");
}

static void
replaced_seconds(void)
{
	replaced_on("ext4-seconds");
}

/* A remembered name never outlives a change of its directory, however fast. */
TEST(vfs, replaced)
{
	BOXED(replaced_tmpfs);
}
TEST(vfs, replaced_ticks)
{
	BOXED(replaced_ticks);
}
TEST(vfs, replaced_seconds)
{
	BOXED(replaced_seconds);
}

static void
stale(void)
{
	struct obj *o, *d, *x;
	struct stat st;
	uint64_t ino = 0;

	begin("ext4");
	box_file(at("f"), 1, 0644);
	box_file(at("g"), 1, 0644);
	MUST(mkdir(at("d"), 0755) == 0);
	o = object(&s, "f"), d = object(&s, "d");
	struct vfs_ctx w = as_worker(&s);
	MUST(rename(at("g"), at("f")) == 0 && rmdir(at("d")) == 0);
	box_file(at("h"), 1, 0644);
	WANT_EQ(vfs_getattr(&w, o, &st), ESTALE);
	WANT_EQ(vfs_getattr(&w, d, &st), ESTALE);
	WANT_EQ(look(&w, d, "x", &ino), ESTALE);
	WANT_EQ(again(&s, o, true, &x), ESTALE);
	put(&s, o);
	put(&s, d);
	serve_end(&s);
}

/* What was removed or replaced is stale, never the object that took its name or number. */
TEST(vfs, stale)
{
	BOXED(stale);
}

static void
mount_point(void)
{
	struct stat st;
	struct obj *child;
	uint64_t outer, top;

	box_mount("tmpfs", "e", dir);
	MUST(mkdir(at("m"), 0755) == 0);
	outer = ino_of(at("m"));
	MUST(mount("none", at("m"), "tmpfs", 0, NULL) == 0);
	box_file(at("m/inside"), 1, 0644);
	serve(&s, dir, NULL, 0);
	struct vfs_ctx w = as_worker(&s);
	int error = vfs_lookup(&w, s.root, "m", 1, &child, &st);
	if (s.ex->fs.confined) {
		WANT_EQ(error, 0);
		WANT_EQ(st.st_ino, outer);
		WANT_EQ(look(&w, child, "inside", &top), ENOENT);
		put(&s, child);
	} else {
		WANT_EQ(error, EACCES);
	}
	serve_end(&s);
}

static void
mount_point_unconfined(void)
{
	setenv("SPLICED_WITHOUT", "mount_clone", 1);
	mount_point();
}

/* What is mounted inside an export is not entered: the covered directory shows where the export is
 * a mount clone, else there is no access. */
TEST(vfs, mount_point)
{
	BOXED(mount_point);
}
TEST(vfs, mount_point_unconfined)
{
	BOXED(mount_point_unconfined);
}

static void
old_kernel(void)
{
	setenv("SPLICED_WITHOUT", "all", 1);
	names_on("tmpfs");
}

/* Lookups work without any of the newer kernel calls. */
TEST(vfs, names_old_kernel)
{
	BOXED(old_kernel);
}

/* ---- the rest ---- */

static void
links(void)
{
	char text[4096], target[4096];
	size_t len = 0;

	begin("ext4");
	memset(target, 't', 4095);
	target[4095] = '\0';
	MUST(symlink("short", at("s")) == 0 && symlink(target, at("l")) == 0);
	box_file(at("f"), 1, 0644);
	struct obj *sh = object(&s, "s"), *lo = object(&s, "l"), *f = object(&s, "f");
	struct vfs_ctx loop = on_loop(&s), w = as_worker(&s);
	WANT_EQ(vfs_readlink(&loop, sh, text, sizeof text, &len), 0);
	WANT(len == 5 && memcmp(text, "short", 5) == 0);
	WANT_EQ(vfs_readlink(&loop, lo, text, sizeof text, &len), ESLEEP);
	WANT_EQ(vfs_readlink(&w, lo, text, sizeof text, &len), 0);
	WANT(len == 4095 && memcmp(text, target, len) == 0);
	WANT_EQ(vfs_readlink(&w, f, text, sizeof text, &len), EINVAL);
	WANT_EQ(vfs_readlink(&w, s.root, text, sizeof text, &len), EINVAL);
	put(&s, sh);
	put(&s, lo);
	put(&s, f);
	serve_end(&s);
}

/* A link's text is read as it is; a long one, which lies on disk, by a worker. */
TEST(vfs, readlink)
{
	BOXED(links);
}

static void
numbers(void)
{
	struct vfs_limits l;
	struct statvfs sv, expected;

	begin("ext4");
	struct vfs_ctx loop = on_loop(&s), w = as_worker(&s);
	WANT_EQ(vfs_limits(&loop, s.root, &l), 0);
	WANT_EQ(l.link_max, 65000);
	WANT_EQ(l.name_max, 255);
	WANT(l.no_trunc && l.chown_restricted && !l.case_insensitive && l.case_preserving);
	WANT_EQ(vfs_statfs(&loop, s.root, &sv), ESLEEP);
	WANT_EQ(vfs_statfs(&w, s.root, &sv), 0);
	MUST(statvfs(dir, &expected) == 0);
	WANT_EQ(sv.f_blocks, expected.f_blocks);
	WANT_EQ(sv.f_files, expected.f_files);
	serve_end(&s);
}

/* The file system's numbers are the kernel's. */
TEST(vfs, numbers)
{
	BOXED(numbers);
}

static void
batches(void)
{
	struct obj *o, *b;
	struct stat st;
	nfs_fh3 fh;

	begin("tmpfs");
	box_file(at("f"), 10, 0644);
	o = object(&s, "f");
	fh = o->fh;
	struct vfs_ctx loop = on_loop(&s);
	WANT_EQ(vfs_object(&loop, s.ex, &fh, &o->id, &b), 0);
	WANT(o == b);
	put(&s, b);
	WANT_EQ(vfs_getattr(&loop, o, &st), 0);
	WANT_EQ(st.st_size, 10);
	MUST(truncate(at("f"), 20) == 0);
	WANT_EQ(vfs_getattr(&loop, o, &st), 0);
	WANT_EQ(st.st_size, 10);
	obj_forget(s.files, o);
	WANT_EQ(vfs_object(&loop, s.ex, &fh, &o->id, &b), 0); /* the batch still holds it */
	put(&s, b);
	wake_up(&s);
	WANT_EQ(vfs_getattr(&loop, o, &st), 0);
	WANT_EQ(st.st_size, 20);
	put(&s, o);
	for (int i = 0; i < 3 * VFS_BATCH; i++) {
		char name[16];

		sprintf(name, "n%d", i);
		box_file(at(name), (size_t)i, 0644);
		o = object(&s, name);
		WANT_EQ(vfs_object(&loop, s.ex, &o->fh, &o->id, &b), 0);
		WANT_EQ(vfs_getattr(&loop, b, &st), 0);
		WANT_EQ(st.st_size, i);
		put(&s, o);
		put(&s, b);
	}
	serve_end(&s);
}

/* Within a batch an object is asked once and held; the next batch sees its changes; a batch of more
 * objects than it remembers is answered all the same. */
TEST(vfs, batches)
{
	BOXED(batches);
}

static void
slow_kinds(void)
{
	struct stat st;
	struct obj *child;
	int granted;

	begin("overlay");
	box_file(at("f"), 1, 0644);
	struct obj *o = object(&s, "f");
	struct vfs_ctx loop = on_loop(&s), w = as_worker(&s);
	WANT_EQ(vfs_getattr(&loop, o, &st), ESLEEP);
	WANT_EQ(vfs_lookup(&loop, s.root, "f", 1, &child, &st), ESLEEP);
	WANT_EQ(vfs_getattr(&w, o, &st), 0);
	WANT_EQ(vfs_access(&loop, o, &st, R_OK, &granted), ESLEEP);
	put(&s, o);
	serve_end(&s);
}

/* On a file system that is not on the list of local ones a loop touches nothing. */
TEST(vfs, never_on_loops)
{
	BOXED(slow_kinds);
}
