/* SPDX-License-Identifier: BSD-2-Clause */
#include "modbox.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vfs_ctx root; /* as root */

static void
begin(const char *type)
{
	mod_begin(type);
	MUST(chmod(mod.dir, 0777) == 0);
	root = mod_as(0);
}

/* ---- making ---- */

static void
all_kinds(const char *type)
{
	struct obj *o;

	begin(type);
	struct vfs_ctx u = mod_as(1000);
	WANT_EQ(mod_create(&u, mod.root, "file", 04711, &o), 0);
	WANT(S_ISREG(o->type) && mod_resolves(o) == 0);
	put(&mod, o);
	struct stat st = mod_stat("file");
	WANT_EQ(st.st_mode & 07777, 04711);
	WANT(st.st_uid == 1000 && st.st_gid == 1000 && st.st_size == 0);
	WANT_EQ(mod_create(&u, mod.root, "file", 0644, NULL), EEXIST);
	WANT_EQ(mod_create(&u, mod.root, "wide", 0777, NULL), 0);
	WANT_EQ(mod_stat("wide").st_mode & 07777, 0777);
	WANT_EQ(mod_mkdir(&u, mod.root, "dir", 02753, &o), 0);
	WANT(S_ISDIR(o->type) && mod_resolves(o) == 0);
	WANT_EQ(mod_create(&u, o, "inner", 0, NULL), 0);
	put(&mod, o);
	WANT_EQ(mod_stat("dir").st_mode & 07777, 02753);
	WANT_EQ(mod_stat("dir/inner").st_mode & 07777, 0);
	WANT_EQ(mod_symlink(&u, mod.root, "link", "nowhere/at all"), 0);
	char text[64] = "";
	WANT_EQ(readlink(mod_at("link"), text, sizeof text), 14);
	WANT(strcmp(text, "nowhere/at all") == 0 && mod_stat("link").st_uid == 1000);
	WANT_EQ(mod_mknod(&u, mod.root, "fifo", S_IFIFO), 0);
	WANT_EQ(mod_mknod(&u, mod.root, "sock", S_IFSOCK), 0);
	WANT(S_ISFIFO(mod_stat("fifo").st_mode) && S_ISSOCK(mod_stat("sock").st_mode));
	WANT_EQ(mod_stat("sock").st_mode & 07777, 0640);
	WANT_EQ(mod_mknod(&u, mod.root, "null", S_IFCHR), EPERM);
	WANT_EQ(mod_mknod(&u, mod.root, "reg", S_IFREG), EINVAL);
	struct vfs_ctx r = mod_as(0);
	WANT_EQ(mod_mknod(&r, mod.root, "null", S_IFCHR), 0);
	WANT_EQ(mod_stat("null").st_rdev, 0x103);
	mod_end();
}
/* Every kind of object is made with exactly the mode asked for, owned by the caller, and its handle
 * leads to it; devices by root only. */
MOD_TYPES(vmod, kinds, all_kinds)

static int
unchecked(const struct vfs_ctx *c, const char *name, const struct vmod_attrs *a, struct obj **o)
{
	struct vmod_made made;
	struct vmod_wcc w;
	int error =
	    vmod_create(c, mod.root, name, strlen(name), VMOD_UNCHECKED, a, NULL, &made, &w);

	WANT(w.have_after);
	*o = made.obj;
	return error;
}

static void
on_existing(const char *type)
{
	struct obj *o, *f;

	begin(type);
	struct vfs_ctx u = mod_as(1000);
	box_file(mod_at("f"), 10, 0640);
	MUST(chown(mod_at("f"), 1000, 1000) == 0);
	MUST(symlink("/nonexistent", mod_at("l")) == 0 && mkfifo(mod_at("p"), 0666) == 0 &&
	     mkdir(mod_at("d"), 0777) == 0);
	struct vmod_attrs a = {.set_mode = true, .mode = 0777, .set_uid = true, .uid = 5};
	f = object(&mod, "f");
	WANT_EQ(unchecked(&u, "f", &a, &o), 0); /* neither mode nor owner */
	WANT(o == f && mod_stat("f").st_size == 10 && (mod_stat("f").st_mode & 07777) == 0640);
	put(&mod, o);
	a.set_size = true;
	a.size = 3;
	WANT_EQ(unchecked(&u, "f", &a, &o), 0);
	WANT(o == f && mod_stat("f").st_size == 3 && mod_stat("f").st_uid == 1000);
	put(&mod, o);
	put(&mod, f);
	for (const char *const *n = (const char *const[]){"l", "p", "d", NULL}; *n; n++) {
		WANT_EQ(unchecked(&u, *n, &a, &o), EEXIST);
		WANT_EQ(mod_create(&u, mod.root, *n, 0644, NULL), EEXIST);
		WANT_EQ(mod_exclusive(&u, mod.root, *n, "12345678", NULL), EEXIST);
	}
	WANT_EQ(mod_exclusive(&u, mod.root, "f", "12345678", NULL), EEXIST);
	WANT(!mod_there("/nonexistent"));
	struct vfs_ctx v = mod_as(1001);
	a.size = 0;
	WANT_EQ(unchecked(&v, "f", &a, &o), EACCES); /* may not write it */
	a.set_size = false;
	WANT_EQ(unchecked(&v, "f", &a, &o), 0);
	put(&mod, o);
	WANT_EQ(mod_stat("f").st_size, 3);
	mod_end();
}
/* UNCHECKED on a regular file applies the size and nothing else, by the caller's right to write; on
 * anything else it is EEXIST, never through a link. GUARDED and EXCLUSIVE are EEXIST. */
MOD_TYPES(vmod, existing, on_existing)

static void
new_attributes(const char *type)
{
	struct vmod_attrs a = {.set_mode = true,
			       .mode = 04755,
			       .set_uid = true,
			       .uid = 7,
			       .set_gid = true,
			       .gid = 8,
			       .set_size = true,
			       .size = 12345,
			       .set_atime = TIME_CLIENT,
			       .atime = {1000000000, 111},
			       .set_mtime = TIME_CLIENT,
			       .mtime = {1000000001, 222}};
	struct obj *o;

	begin(type);
	struct vfs_ctx r = mod_as(0);
	WANT_EQ(unchecked(&r, "root", &a, &o), 0);
	put(&mod, o);
	struct stat st = mod_stat("root");
	WANT(st.st_uid == 7 && st.st_gid == 8 && st.st_size == 12345);
	WANT_EQ(st.st_mode & 07777, 04755);
	WANT(st.st_atim.tv_sec == 1000000000 && st.st_mtim.tv_sec == 1000000001);
	struct vfs_ctx u = mod_as(1000);
	WANT_EQ(unchecked(&u, "user", &a, &o), 0); /* may not give away: the rest is done */
	put(&mod, o);
	st = mod_stat("user");
	WANT(st.st_uid == 1000 && st.st_gid == 1000 && st.st_size == 12345);
	WANT_EQ(st.st_mode & 07777, 04755);
	a.uid = (uid_t)-1;
	WANT_EQ(unchecked(&r, "bad", &a, &o), EINVAL);
	a.uid = 7;
	a.mtime.tv_nsec = 1000000000;
	WANT_EQ(unchecked(&r, "bad", &a, &o), EINVAL);
	a.mtime.tv_nsec = 0;
	a.size = UINT64_MAX;
	WANT_EQ(unchecked(&r, "bad", &a, &o), EFBIG);
	WANT(!mod_there("bad"));
	mod_end();
}
/* A creation's other attributes are set with it; root's owner counts, others' is ignored; what
 * cannot be makes nothing. */
MOD_TYPES(vmod, new_attributes, new_attributes)

static void
inheritance(void)
{
	struct obj *d;

	begin("ext4");
	MUST(mkdir(mod_at("d"), 0) == 0 && chown(mod_at("d"), 1000, 2000) == 0 &&
	     chmod(mod_at("d"), 02777) == 0);
	box_command("setfacl -d -m u::rwx,g::r-x,o::---,u:5:rwx %s", mod_at("d"));
	d = object(&mod, "d");
	struct vfs_ctx u = mod_as(1000);
	WANT_EQ(mod_create(&u, d, "f", 0666, NULL), 0);
	WANT_EQ(mod_exclusive(&u, d, "x", "12345678", NULL), 0);
	WANT_EQ(mod_mkdir(&u, d, "s", 0777, NULL), 0);
	struct stat st = mod_stat("d/f");
	WANT_EQ(st.st_gid, 2000);
	WANT_EQ(st.st_mode & 07777, 0660); /* group bits are the mask */
	WANT_EQ(mod_stat("d/x").st_gid, 2000);
	st = mod_stat("d/s");
	WANT_EQ(st.st_gid, 2000);
	WANT_EQ(st.st_mode & 07777, 02770);
	put(&mod, d);
	mod_end();
}
/* Setgid directories hand on their group, default ACLs act, in nameless files too. */
TEST(vmod, inheritance)
{
	BOXED(inheritance);
}

/* ---- exclusive creation ---- */

static void
exclusive(const char *type)
{
	static const char verifier[][9] = {"\0\0\0\0\0\0\0\0", "\377\377\377\377\377\377\377\377",
					   "\200\0\0\0\0\0\0\1", "\0\0\0\0\200\0\0\0", "abcdefgh"};
	struct obj *o, *again;
	char name[16];

	begin(type);
	struct vfs_ctx u = mod_as(1000);
	for (int i = 0; i < 5; i++) {
		struct timespec before, after;

		snprintf(name, sizeof name, "x%d", i);
		clock_gettime(CLOCK_REALTIME_COARSE, &before);
		WANT_EQ(mod_exclusive(&u, mod.root, name, verifier[i], &o), 0);
		clock_gettime(CLOCK_REALTIME, &after);
		struct stat st = mod_stat(name);
		WANT(st.st_uid == 1000 && st.st_nlink == 1 && st.st_size == 0);
		WANT_EQ(st.st_mode & 07777, 0600);
		WANT(st.st_mtim.tv_sec >= before.tv_sec && st.st_mtim.tv_sec <= after.tv_sec);
		WANT(st.st_atim.tv_sec >= before.tv_sec && st.st_atim.tv_sec <= after.tv_sec);
		WANT_EQ(mod_exclusive(&u, mod.root, name, verifier[i], &again), 0);
		WANT(again == o);
		put(&mod, again);
		put(&mod, o);
		for (int j = 0; j < 5; j++)
			if (j != i)
				WANT_EQ(mod_exclusive(&u, mod.root, name, verifier[j], NULL),
					EEXIST);
	}
	o = object(&mod, "x4");
	nfs_fh3 fh = o->fh;
	put(&mod, o);
	mod_end();
	mod_again();
	u = mod_as(1000);
	WANT_EQ(mod_exclusive(&u, mod.root, "x4", verifier[4], &o), 0);
	WANT(o->fh.len == fh.len && memcmp(o->fh.data, fh.data, fh.len) == 0);
	WANT_EQ(mod_exclusive(&u, mod.root, "x4", verifier[0], NULL), EEXIST);
	WANT_EQ(mod_chmod(&u, o, 0644), 0);
	store_flush(mod.store);
	WANT_EQ(mod_exclusive(&u, mod.root, "x4", verifier[4], NULL), EEXIST);
	WANT_EQ(mod_write(&u, o, 0, "data", VMOD_FILE_SYNC), 0);
	put(&mod, o);
	WANT_EQ(mod_remove(&u, mod.root, "x3"), 0);
	WANT_EQ(mod_create(&u, mod.root, "x3", 0600, NULL),
		0); /* perhaps with the inode of the old */
	WANT_EQ(mod_exclusive(&u, mod.root, "x3", verifier[3], NULL), EEXIST);
	mod_end();
}
/* All 8 bytes of the verifier tell a repeat from another, over a restart too; SETATTR ends that;
 * the file's times are its own; a file of the same name is never taken for it. */
MOD_TYPES(vmod, exclusive, exclusive)

static int
die(int fd)
{
	(void)fd;
	return kill(getpid(), SIGKILL);
}

/* A server that is killed while the creation waits for the disk, n-th sync. */
static void
killed_at(const char *name, int sync)
{
	static const struct sync_ops file = {die, die, die}, directory = {fsync, die, die};
	int status;
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		mod_again();
		struct vfs_ctx u = mod_as(1000);
		sync_use(files_sync(mod.files), sync ? &directory : &file);
		mod_exclusive(&u, mod.root, name, "12345678", NULL);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	if (sync == 0)
		WANT(WIFSIGNALED(status));
}

static void
exclusive_killed(const char *type)
{
	struct obj *o;

	begin(type);
	mod_end();
	killed_at("one", 0);
	killed_at("two", 1);
	mod_again();
	struct vfs_ctx u = mod_as(1000);
	WANT_EQ(mod_exclusive(&u, mod.root, "one", "87654321", NULL), EEXIST);
	WANT_EQ(mod_exclusive(&u, mod.root, "one", "12345678", &o), 0);
	WANT(mod_resolves(o) == 0 && mod_stat("one").st_nlink == 1);
	put(&mod, o);
	WANT_EQ(mod_exclusive(&u, mod.root, "two", "12345678", NULL), 0);
	mod_end();
}
/* A client whose server was killed before the reply finds its own file when it asks again. */
MOD_TYPES(vmod, exclusive_killed, exclusive_killed)

/* ---- attributes ---- */

static void
guards(const char *type)
{
	struct vmod_attrs a = {.set_mode = true, .mode = 0640};
	struct vmod_wcc w;
	struct stat st;
	struct obj *o;

	begin(type);
	struct vfs_ctx r = mod_as(0);
	WANT_EQ(mod_create(&r, mod.root, "f", 0600, &o), 0);
	st = mod_stat("f");
	struct timespec g = st.st_ctim;
	g.tv_nsec = g.tv_nsec ? g.tv_nsec - 1 : 1;
	WANT_EQ(vmod_setattr(&r, o, &a, &g, &w), ENOTSYNC);
	WANT(w.have_after && (w.after.st_mode & 07777) == 0600);
	WANT(mod_stat("f").st_ctim.tv_nsec == st.st_ctim.tv_nsec);
	g = st.st_ctim;
	g.tv_sec--;
	WANT_EQ(vmod_setattr(&r, o, &a, &g, &w), ENOTSYNC);
	WANT_EQ(vmod_setattr(&r, o, &a, &st.st_ctim, &w), 0);
	WANT_EQ(w.after.st_mode & 07777, 0640);
	put(&mod, o);
	mod_end();
}
/* A guard holds to the nanosecond, and what fails it changes nothing. */
MOD_TYPES(vmod, guard, guards)

static void
attributes(const char *type)
{
	struct vmod_attrs a = {.set_atime = TIME_CLIENT,
			       .atime = {1234567890, 987654321},
			       .set_mtime = TIME_CLIENT,
			       .mtime = {1111111111, 5}};
	struct vmod_wcc w;
	struct obj *o;

	begin(type);
	box_file(mod_at("f"), 1000, 06755);
	MUST(chown(mod_at("f"), 1000, 1000) == 0 && chmod(mod_at("f"), 06755) == 0);
	o = object(&mod, "f");
	struct vfs_ctx u = mod_as(1000), v = {0};
	WANT_EQ(vmod_setattr(&u, o, &a, NULL, &w), 0);
	WANT(w.after.st_atim.tv_sec == 1234567890 && w.after.st_mtim.tv_nsec == 5 &&
	     w.after.st_mtim.tv_sec == 1111111111);
	WANT_EQ(mod_stat("f").st_atim.tv_nsec, 987654321);
	a.atime.tv_nsec = UTIME_OMIT;
	WANT_EQ(vmod_setattr(&u, o, &a, NULL, &w), EINVAL);
	a = (struct vmod_attrs){.set_mtime = TIME_SERVER};
	WANT_EQ(vmod_setattr(&u, o, &a, NULL, &w), 0);
	WANT(w.after.st_mtim.tv_sec > 1500000000 && w.after.st_atim.tv_sec == 1234567890);
	WANT_EQ(mod_stat("f").st_mode & 07777, 06755);
	WANT_EQ(mod_size(&u, o, 10), 0); /* content changes: the bits go */
	WANT(mod_stat("f").st_size == 10 && (mod_stat("f").st_mode & 07777) == 0755);
	/* who may write but owns nothing: only now */
	MUST(chmod(mod_at("f"), 0666) == 0);
	v = mod_as(1001);
	WANT_EQ(vmod_setattr(&v, o, &a, NULL, &w), 0);
	a.set_mtime = TIME_CLIENT;
	WANT_EQ(vmod_setattr(&v, o, &a, NULL, &w), EPERM);
	WANT_EQ(mod_chmod(&v, o, 0777), EPERM);
	a = (struct vmod_attrs){.set_uid = true, .uid = 1001};
	WANT_EQ(vmod_setattr(&v, o, &a, NULL, &w), EPERM);
	/* the owner sets the size whatever the mode, others not */
	struct vfs_ctx owner = mod_as(1000);
	MUST(chmod(mod_at("f"), 0) == 0);
	WANT_EQ(mod_size(&owner, o, 4), 0);
	v = mod_as(1001);
	WANT_EQ(mod_size(&v, o, 2), EACCES);
	WANT_EQ(mod_stat("f").st_size, 4);
	struct vfs_ctx r = mod_as(0);
	a = (struct vmod_attrs){
	    .set_uid = true, .uid = 5, .set_gid = true, .gid = 6, .set_mode = true, .mode = 06711};
	WANT_EQ(vmod_setattr(&r, o, &a, NULL, &w), 0); /* mode comes after owner */
	WANT(w.after.st_uid == 5 && w.after.st_gid == 6);
	WANT_EQ(w.after.st_mode & 07777, 06711);
	WANT_EQ(mod_size(&r, o, (uint64_t)INT64_MAX + 1), EFBIG);
	put(&mod, o);
	WANT_EQ(mod_size(&r, mod.root, 0), EISDIR);
	mod_end();
}
/* Times to the nanosecond by the client, now by the server; bits that go, ids, sizes, and who may.
 */
MOD_TYPES(vmod, attributes, attributes)

static void
odd_objects(const char *type)
{
	const struct vmod_attrs a = {.set_uid = true,
				     .uid = 9,
				     .set_mode = true,
				     .mode = 0611,
				     .set_mtime = TIME_CLIENT,
				     .mtime = {1300000000, 7}};
	static const char *const name[] = {"l", "p", "s", "d", "c"};
	struct vmod_wcc w;

	begin(type);
	struct vfs_ctx r = mod_as(0);
	WANT_EQ(mod_symlink(&r, mod.root, "l", "/dev/null"), 0);
	WANT_EQ(mod_mknod(&r, mod.root, "p", S_IFIFO), 0);
	WANT_EQ(mod_mknod(&r, mod.root, "s", S_IFSOCK), 0);
	WANT_EQ(mod_mknod(&r, mod.root, "c", S_IFCHR), 0);
	WANT_EQ(mod_mkdir(&r, mod.root, "d", 0755, NULL), 0);
	for (size_t i = 0; i < 5; i++) {
		struct obj *o = object(&mod, name[i]);

		WANT_EQ(vmod_setattr(&r, o, &a, NULL, &w), 0);
		struct stat st = mod_stat(name[i]);
		WANT(st.st_uid == 9 && st.st_mtim.tv_sec == 1300000000 && st.st_mtim.tv_nsec == 7);
		WANT_EQ(st.st_mode & 07777, i == 0 ? 0777 : 0611);
		if (i != 3)
			WANT_EQ(mod_size(&r, o, 0), EINVAL);
		put(&mod, o);
	}
	struct stat null;
	MUST(stat("/dev/null", &null) == 0);
	WANT(null.st_uid == 0);
	mod_end();
}
/* Links, FIFOs, sockets, devices and directories have attributes too; nothing is followed or
 * opened. */
MOD_TYPES(vmod, odd_objects, odd_objects)

static void
old_kernel(void)
{
	setenv("SPLICED_WITHOUT", "fchmodat2,openat2,faccess_empty", 1);
	attributes("ext4");
}
/* The same on a kernel without fchmodat2. */
TEST(vmod, attributes_old_kernel)
{
	BOXED(old_kernel);
}

static void
wcc_is_told(void)
{
	struct vmod_attrs a = {.set_mode = true, .mode = 0600};
	struct vmod_wcc w, w2;
	struct vmod_made made;
	struct obj *o;

	begin("xfs");
	struct vfs_ctx r = mod_as(0);
	r.exact_wcc = true;
	struct stat before = mod_stat(".");
	WANT_EQ(vmod_create(&r, mod.root, "f", 1, VMOD_GUARDED, &a, NULL, &made, &w), 0);
	o = made.obj;
	WANT(w.have_before && w.before.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
	WANT(w.have_after && w.after.st_ctim.tv_nsec == mod_stat(".").st_ctim.tv_nsec);
	before = mod_stat("f");
	WANT_EQ(vmod_setattr(&r, o, &a, NULL, &w), 0);
	WANT(w.have_before && w.before.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
	WANT_EQ(vmod_rename(&r, mod.root, "f", 1, mod.root, "g", 1, &w, &w2), 0);
	WANT(w.have_before && w2.have_before && w.have_after && w2.have_after);
	WANT_EQ(vmod_link(&r, o, mod.root, "h", 1, &w, &w2), 0);
	WANT(w.have_before && w.before.st_nlink == 1 && w.after.st_nlink == 2 && w2.have_before);
	WANT_EQ(vmod_remove(&r, mod.root, "h", 1, &w), 0);
	WANT(w.have_before && w.have_after);
	WANT_EQ(vmod_remove(&r, mod.root, "h", 1, &w), ENOENT);
	WANT(w.have_after);
	r.exact_wcc = false;
	WANT_EQ(vmod_setattr(&r, o, &a, NULL, &w), 0);
	WANT(!w.have_before && w.have_after);
	put(&mod, o);
	mod_end();
}
/* `before` is given only when the export's promise makes it true; `after` always. */
TEST(vmod, wcc)
{
	BOXED(wcc_is_told);
}

static void
never_on_loops(void)
{
	begin("tmpfs");
	mod_as(0);
	struct vfs_ctx c = on_loop(&mod);
	struct vmod_wcc w, w2;
	WANT_EQ(vmod_remove(&c, mod.root, "x", 1, &w), ESLEEP);
	WANT_EQ(vmod_rename(&c, mod.root, "x", 1, mod.root, "y", 1, &w, &w2), ESLEEP);
	const struct vmod_attrs a = {0};
	WANT_EQ(vmod_setattr(&c, mod.root, &a, NULL, &w), ESLEEP);
	WANT_EQ(vmod_commit(&c, mod.root, 0, 0, &w), ESLEEP);
	mod_end();
}
/* On a loop nothing is begun. */
TEST(vmod, never_on_loops)
{
	BOXED(never_on_loops);
}
