/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "served.h"
#include "stat.h"
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct served s;

static uint64_t
switches(void)
{
	return stat_self()->count[ST_ID_SWITCHES];
}

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

		box_file(at(&s, m->name), 10, 0600);
		MUST(chown(at(&s, m->name), m->uid, m->gid) == 0 &&
		     chmod(at(&s, m->name), m->mode) == 0);
		if (acls && m->acl)
			box_command("setfacl -m %s %s", m->acl, at(&s, m->name));
	}
}

static void
compare(const struct sample *m)
{
	struct obj *o = object(&s, m->name);
	struct vfs_ctx w = as_worker(&s);
	int expected = truth(&s.cred, at(&s, m->name)), granted = -1, single;
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
	serve_type(&s, type);
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

	box_mount("tmpfs", "e", s.dir);
	box_file(at(&s, "f"), 1, 0666);
	MUST(mount(NULL, s.dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	serve(&s, s.dir, NULL, 0);
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

	serve_type(&s, "ext4");
	box_file(at(&s, "f"), 1, 0644);
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
	MUST(chmod(at(&s, "f"), 0600) == 0);
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

	serve_type(&s, "tmpfs");
	box_file(at(&s, "f"), 1, 0640);
	MUST(chown(at(&s, "f"), 0, 77) == 0);
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

	serve_type(&s, type);
	box_file(at(&s, "f"), 1, 0);
	struct obj *o = object(&s, "f");
	s.cred = box_cred(1000, 1000, 0, NULL);
	struct vfs_ctx w = as_worker(&s);
	for (int i = 0; i < 3000; i++) {
		MUST(chmod(at(&s, "f"), i % 2 ? 0444 : 0) == 0);
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

	box_mount("tmpfs", "e", s.dir);
	box_file(at(&s, "mine"), 1, 0600);
	box_file(at(&s, "roots"), 1, 0600);
	MUST(chown(at(&s, "mine"), 1000, 1000) == 0 && chmod(BOX, 01777) == 0);
	MUST(setgroups(0, NULL) == 0 && setresgid(1000, 1000, 1000) == 0 &&
	     setresuid(1000, 1000, 1000) == 0);
	serve(&s, s.dir, NULL, 0);
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
