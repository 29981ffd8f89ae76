/* SPDX-License-Identifier: BSD-2-Clause */
#include "modbox.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB (1u << 20)

static struct vfs_ctx
begin(const char *type)
{
	mod_begin(type);
	MUST(chmod(mod.dir, 0777) == 0);
	return mod_as(0);
}

static char *
pattern(size_t n)
{
	char *p = malloc(n);

	MUST(p);
	for (size_t i = 0; i < n; i++)
		p[i] = (char)box_pattern(i);
	return p;
}

/* Does the file hold n patterned bytes at off, and nothing after? */
static bool
holds_pattern(const char *name, off_t off, size_t n)
{
	unsigned char *p = malloc(n + 1);
	int fd = open(mod_at(name), O_RDONLY);
	bool same = true;

	MUST(p && fd >= 0);
	same = pread(fd, p, n + 1, off) == (ssize_t)n;
	for (size_t i = 0; same && i < n; i++)
		same = p[i] == box_pattern(i);
	close(fd);
	free(p);
	return same;
}

static void
levels(const char *type)
{
	static const enum vmod_stable all[] = {VMOD_UNSTABLE, VMOD_DATA_SYNC, VMOD_FILE_SYNC};
	struct vfs_ctx r = begin(type);
	enum vmod_stable level;
	char *p = pattern(MIB);
	struct vmod_wcc w;
	struct obj *o;
	uint32_t done;

	for (int i = 0; i < 3; i++) {
		WANT_EQ(mod_create(&r, mod.root, "f", 0644, &o), 0);
		WANT_EQ(vmod_write(&r, o, 5, p, MIB, all[i], &done, &level, &w), 0);
		WANT(done == MIB && level >= all[i]);
		WANT_EQ(w.after.st_size, MIB + 5);
		WANT(holds_pattern("f", 5, MIB));
		WANT_EQ(mod_write(&r, o, 1ull << 32, "far", all[i]), 0); /* a hole */
		WANT_EQ(mod_stat("f").st_size, (1ll << 32) + 3);
		WANT_EQ(mod_commit(&r, o), 0);
		WANT_EQ(mod_commit(&r, o), 0);
		WANT(!sync_is_pinned(o));
		put(&mod, o);
		WANT_EQ(mod_remove(&r, mod.root, "f"), 0);
	}
	WANT_EQ(mod_create(&r, mod.root, "e", 0644, &o), 0);
	WANT_EQ(mod_commit(&r, o), 0); /* never written */
	WANT_EQ(vmod_write(&r, o, 77, p, 0, VMOD_UNSTABLE, &done, &level, &w), 0);
	WANT(done == 0 && w.have_after && w.after.st_size == 0);
	WANT_EQ(mod_write(&r, o, INT64_MAX - 1, "xxxx", VMOD_UNSTABLE), EFBIG);
	WANT_EQ(mod_write(&r, o, UINT64_MAX, "xxxx", VMOD_UNSTABLE), EFBIG);
	if (strcmp(type, "ext4") == 0) /* whose files end at 16 TiB */
		WANT_EQ(mod_write(&r, o, 1ull << 60, "x", VMOD_UNSTABLE), EFBIG);
	put(&mod, o);
	WANT_EQ(mod_write(&r, mod.root, 0, "x", VMOD_UNSTABLE), EISDIR);
	WANT_EQ(mod_mknod(&r, mod.root, "p", S_IFIFO), 0);
	o = object(&mod, "p");
	WANT_EQ(mod_write(&r, o, 0, "x", VMOD_UNSTABLE), EINVAL);
	put(&mod, o);
	free(p);
	mod_end();
}
/* Whatever the level, the bytes are where they belong, 1 MiB of them too; nothing at all, too far,
 * and what is no file. */
MOD_TYPES(vmod_write, levels, levels)

static void
pipes(const char *type)
{
	struct vfs_ctx r = begin(type);
	enum vmod_stable level;
	char *p = pattern(60000);
	struct vmod_wcc w;
	struct obj *o;
	uint32_t done;
	int fd[2];

	MUST(pipe2(fd, O_NONBLOCK) == 0 && write(fd[1], p, 60000) == 60000);
	WANT_EQ(mod_create(&r, mod.root, "f", 0644, &o), 0);
	WANT_EQ(vmod_write_pipe(&r, o, 3, fd[0], 60000, VMOD_DATA_SYNC, &done, &level, &w), 0);
	WANT_EQ(done, 60000);
	WANT(holds_pattern("f", 3, 60000));
	MUST(write(fd[1], p, 100) == 100);
	struct vfs_ctx u = mod_as(1001);
	WANT_EQ(vmod_write_pipe(&u, o, 0, fd[0], 100, VMOD_UNSTABLE, &done, &level, &w), EACCES);
	WANT_EQ(done, 0);
	WANT_EQ(read(fd[0], p, 1000), 100); /* still there */
	put(&mod, o);
	free(p);
	mod_end();
}
/* Bytes out of a pipe arrive whole; those that may not be written stay in it. */
MOD_TYPES(vmod_write, pipes, pipes)

static void
special_bits(const char *type)
{
	struct obj *o, *g;

	begin(type);
	box_file(mod_at("f"), 10, 0644);
	box_file(mod_at("g"), 10, 0644);
	MUST(chown(mod_at("f"), 1000, 1000) == 0 && chmod(mod_at("f"), 06777) == 0);
	MUST(chown(mod_at("g"), 1000, 1000) == 0 && chmod(mod_at("g"), 02666) == 0);
	o = object(&mod, "f");
	g = object(&mod, "g");
	struct vfs_ctx r = mod_as(0);
	WANT_EQ(mod_write(&r, o, 0, "x", VMOD_UNSTABLE), 0);
	WANT_EQ(mod_stat("f").st_mode & 07777, 06777); /* root may */
	struct vfs_ctx u = mod_as(1001);
	WANT_EQ(mod_write(&u, g, 0, "x", VMOD_UNSTABLE), 0);
	WANT_EQ(mod_write(&u, o, 0, "x", VMOD_UNSTABLE), 0);
	WANT_EQ(mod_stat("f").st_mode & 07777, 0777);
	/* what happens to the setgid bit of a file that nobody may execute is the kernel's: as it
	 * does to a process of that user */
	box_file(mod_at("h"), 10, 0644);
	MUST(chown(mod_at("h"), 1000, 1000) == 0 && chmod(mod_at("h"), 02666) == 0);
	box_command("setpriv --reuid 1001 --regid 1001 --clear-groups sh -c 'printf x | dd of=%s "
		    "conv=notrunc 2>/dev/null'",
		    mod_at("h"));
	WANT_EQ(mod_stat("g").st_mode, mod_stat("h").st_mode);
	put(&mod, o);
	put(&mod, g);
	mod_end();
}
/* setuid and setgid bits go when somebody writes for whom they would go locally. */
MOD_TYPES(vmod_write, special_bits, special_bits)

static void
owner(const char *type)
{
	struct obj *o;

	begin(type);
	struct vfs_ctx u = mod_as(1000);
	WANT_EQ(mod_create(&u, mod.root, "f", 0444, &o), 0);
	WANT_EQ(mod_write(&u, o, 0, "mine", VMOD_FILE_SYNC), 0);
	WANT_EQ(mod_chmod(&u, o, 0), 0);
	put(&mod, o);
	files_drop(mod.files, NULL, NULL);
	o = object(&mod, "f");
	u = mod_as(1000);
	WANT_EQ(mod_write(&u, o, 4, "still", VMOD_FILE_SYNC), 0);
	WANT(mod_holds("f", "minestill"));
	struct vfs_ctx v = mod_as_groups(1001, 1000, 0, NULL);
	WANT_EQ(mod_write(&v, o, 0, "not", VMOD_UNSTABLE), EACCES);
	MUST(chmod(mod_at("f"), 0060) == 0);
	WANT_EQ(mod_write(&v, o, 0, "M", VMOD_UNSTABLE), 0);
	put(&mod, o);
	mod_end();
}
/* The owner writes what he made read-only; group and others by the mode. */
MOD_TYPES(vmod_write, owner, owner)

static void
ordinary_server(const char *type)
{
	char buf[16];
	struct obj *o;
	int fd;

	box_mount(type, "m", mod.dir);
	MUST(chmod(mod.dir, 0777) == 0 && chmod(BOX, 0777) == 0);
	MUST(setresgid(1000, 1000, 1000) == 0 && setresuid(1000, 1000, 1000) == 0);
	serve(&mod, mod.dir, NULL, 0);
	WANT(!mod.ident.can_switch);
	struct vfs_ctx u = mod_as(1000);
	WANT_EQ(mod_create(&u, mod.root, "f", 0, &o), 0);
	WANT_EQ(mod_write(&u, o, 0, "own", VMOD_FILE_SYNC), 0);
	WANT(obj_reader(mod.files, o, true, &fd) == 0 && pread(fd, buf, 3, 0) == 3);
	WANT_EQ(mod_resolves(o), 0);
	put(&mod, o);
	files_drop(mod.files, NULL, NULL);
	o = object(&mod, "f"); /* opened anew: neither descriptor is there */
	WANT_EQ(mod_write(&u, o, 3, "er", VMOD_FILE_SYNC), 0);
	WANT(obj_reader(mod.files, o, true, &fd) == 0 && pread(fd, buf, 5, 0) == 5);
	WANT(memcmp(buf, "owner", 5) == 0);
	WANT_EQ(mod_stat("f").st_mode & 07777, 0);
	WANT_EQ(mod_size(&u, o, 1), 0);
	WANT_EQ(mod_exclusive(&u, mod.root, "x", "12345678", NULL), 0);
	WANT_EQ(mod_exclusive(&u, mod.root, "x", "12345678", NULL), 0);
	WANT_EQ(mod_exclusive(&u, mod.root, "x", "12345679", NULL), EEXIST);
	WANT_EQ(mod_rename(&u, mod.root, "f", mod.root, "g"), 0);
	WANT_EQ(mod_resolves(o), 0);
	struct vmod_wcc w;
	const struct vmod_attrs give = {.set_uid = true, .uid = 0};
	WANT_EQ(vmod_setattr(&u, o, &give, NULL, &w), EPERM);
	struct vfs_ctx v = mod_as(1001);
	WANT_EQ(mod_create(&v, mod.root, "h", 0666, NULL), EACCES);
	WANT_EQ(mod_remove(&v, mod.root, "g"), EACCES);
	put(&mod, o);
	serve_end(&mod);
}
/* A server that is an ordinary user keeps reading and writing its own file of mode 0000, after it
 * was forgotten too, and leaves the mode alone; it acts for nobody else. */
MOD_TYPES(vmod_write, ordinary_server, ordinary_server)

/* ---- running out ---- */

static void
full_disk(const char *type)
{
	enum vmod_stable level;
	char *p = pattern(MIB);
	struct vmod_wcc w;
	struct obj *o;
	uint32_t done = 0;
	uint64_t at = 0;
	int error = 0;

	if (strcmp(type, "tmpfs") == 0) {
		sprintf(mod.dir, "%s/m", BOX);
		MUST(mkdir(mod.dir, 0755) == 0);
		MUST(mount("none", mod.dir, "tmpfs", 0, "size=3500k,nr_inodes=20") == 0);
	} else {
		sprintf(mod.dir, "%s/m", BOX);
		box_command(
		    "mkdir %s && truncate -s 6M %s.img && mkfs.ext4 -q -F -b 1024 -N 32 %s.img "
		    "&& mount -o loop %s.img %s",
		    mod.dir, mod.dir, mod.dir, mod.dir, mod.dir);
	}
	MUST(chmod(mod.dir, 0777) == 0);
	serve(&mod, mod.dir, NULL, 0);
	struct vfs_ctx u = mod_as(1000);
	uint64_t verifier = vfs_verifier(&mod.vfs);
	WANT_EQ(mod_create(&u, mod.root, "f", 0644, &o), 0);
	for (int i = 0; !error && i < 20; i++) {
		error = vmod_write(&u, o, at, p, MIB, VMOD_FILE_SYNC, &done, &level, &w);
		WANT(w.have_after && (error || w.after.st_size == (off_t)(at + done)));
		if (!error)
			WANT(done > 0); /* in the middle: a short count, which is no error */
		at += error ? 0 : done;
	}
	WANT_EQ(error, ENOSPC);
	WANT(at > 2 * MIB);
	if (strcmp(type, "tmpfs") == 0)
		WANT(at == 3500 << 10); /* to the last page */
	WANT_EQ(mod_stat("f").st_size, at);
	WANT(vfs_verifier(&mod.vfs) == verifier); /* nothing was lost */
	for (int i = 0; i < 64; i++) {
		char name[16];

		snprintf(name, sizeof name, "n%d", i);
		if ((error = mod_create(&u, mod.root, name, 0644, NULL)) != 0) {
			WANT(!mod_there(name));
			break;
		}
	}
	WANT_EQ(error, ENOSPC);
	WANT_EQ(mod_mkdir(&u, mod.root, "nd", 0755, NULL), ENOSPC);
	WANT_EQ(mod_exclusive(&u, mod.root, "nx", "12345678", NULL), ENOSPC);
	WANT_EQ(mod_size(&u, o, 0), 0);
	WANT_EQ(mod_write(&u, o, 0, "room again", VMOD_FILE_SYNC), 0);
	put(&mod, o);
	free(p);
	serve_end(&mod);
}
static void
full_tmpfs(void)
{
	full_disk("tmpfs");
}
static void
full_ext4(void)
{
	full_disk("ext4");
}
/* A full disk is a short count first, then NOSPC, for inodes too; and goes on when there is room.
 */
TEST(vmod_write, full_tmpfs)
{
	BOXED(full_tmpfs);
}
TEST(vmod_write, full_ext4)
{
	BOXED(full_ext4);
}

static void
limited(void)
{
	const struct rlimit limit = {100000, 100000};
	struct vfs_ctx r = begin("ext4");
	char *p = pattern(MIB);
	enum vmod_stable level;
	struct vmod_wcc w;
	struct obj *o;
	uint32_t done;

	signal(SIGXFSZ, SIG_IGN); /* as the daemon does */
	WANT_EQ(mod_create(&r, mod.root, "f", 0644, &o), 0);
	store_flush(mod.store);
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	WANT_EQ(vmod_write(&r, o, 0, p, MIB, VMOD_UNSTABLE, &done, &level, &w), 0);
	WANT_EQ(done, 100000);
	WANT_EQ(mod_write(&r, o, 100000, "x", VMOD_UNSTABLE), EFBIG);
	WANT_EQ(mod_size(&r, o, 100001), EFBIG);
	put(&mod, o);
	free(p);
	mod_end();
}
/* The limit on file sizes is FBIG, and not the end of the server. */
TEST(vmod_write, limited)
{
	BOXED(limited);
}

static void
read_only(void)
{
	struct vfs_ctx r = begin("ext4");
	struct obj *o;

	box_file(mod_at("f"), 10, 0666);
	box_file(mod_at("i"), 10, 0666);
	box_command("chattr +i %s", mod_at("i"));
	o = object(&mod, "i");
	WANT_EQ(mod_write(&r, o, 0, "x", VMOD_UNSTABLE), EPERM);
	WANT_EQ(mod_chmod(&r, o, 0600), EPERM);
	WANT_EQ(mod_remove(&r, mod.root, "i"), EPERM);
	put(&mod, o);
	box_command("chattr -i %s", mod_at("i"));
	box_command("mount -o remount,ro %s", mod.dir);
	o = object(&mod, "f");
	WANT_EQ(mod_write(&r, o, 0, "x", VMOD_UNSTABLE), EROFS);
	struct vfs_ctx u = mod_as(1000);
	WANT_EQ(mod_write(&u, o, 0, "x", VMOD_UNSTABLE), EROFS);
	r = mod_as(0);
	WANT_EQ(mod_create(&r, mod.root, "n", 0644, NULL), EROFS);
	WANT_EQ(mod_exclusive(&r, mod.root, "n", "12345678", NULL), EROFS);
	WANT_EQ(mod_remove(&r, mod.root, "f"), EROFS);
	WANT_EQ(mod_rename(&r, mod.root, "f", mod.root, "g"), EROFS);
	WANT_EQ(mod_link(&r, o, mod.root, "g"), EROFS);
	WANT_EQ(mod_chmod(&r, o, 0600), EROFS);
	put(&mod, o);
	mod_end();
}
/* Read-only and immutable have their own errors. */
TEST(vmod_write, read_only)
{
	BOXED(read_only);
}

static void
executed(void)
{
	struct vfs_ctx r = begin("tmpfs");
	struct obj *o;

	WANT_EQ(mod_create(&r, mod.root, "sh", 0755, &o), 0);
	put(&mod, o);
	box_command("cat /bin/true > %s", mod_at("sh"));
	files_settle(mod.files, 0);
	box_command("%s", mod_at("sh")); /* ETXTBSY if the cache still had it open for writing */
	o = object(&mod, "sh");
	WANT_EQ(mod_write(&r, o, 0, "\177", VMOD_UNSTABLE), 0);
	put(&mod, o);
	files_settle(mod.files, 0); /* synced, and closed the next time */
	files_settle(mod.files, 0);
	box_command("%s", mod_at("sh"));
	mod_end();
}
/* A file that was written can be executed on the server soon after. */
TEST(vmod_write, executed)
{
	BOXED(executed);
}
