/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a served directory stands on. Three questions are answered once, by trying:
 *
 * Confinement. A server with CAP_SYS_ADMIN works inside a mount of its own: a detached clone of the
 * mount, cut at the export's root, without the mounts beneath it, read-only unless somebody may
 * write, without setuid and devices. Then it is the kernel that says EROFS and that knows no way
 * out. Others open the root and rely on openat2 alone.
 *
 * Identity. Kernel handles where they last (an allow-list; overlayfs where it was mounted with
 * nfs_export, which is when a handle can be opened) and where we may open them. Elsewhere serials
 * of the store, verified by what lasts: the kernel's handle as mere bytes, or the birth time, or
 * nothing (then `inst` keeps apart what different mounts called by one inode number).
 *
 * Names. File-system id from the UUID (fsid.c) or fsid=; export id from the same and the root
 * itself. All are keyed hashes, computed at each start, never stored.
 */
#include "root.h"
#include "fsid.h"
#include "khandle.h"
#include "log.h"
#include "say.h"
#include "store.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sodium.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U
#endif
#define XFS_MAGIC 0x58465342L
#define EXFAT_MAGIC 0x2011bab0L

static const struct kind {
	long type;
	const char *name;
	bool local, cookies, paths;
	int cookies_since; /* kernel release */
} kinds[] = {
    {EXT4_SUPER_MAGIC, "ext4", true, true, false, 0},
    {XFS_MAGIC, "xfs", true, true, false, 0},
    {BTRFS_SUPER_MAGIC, "btrfs", true, true, false, 0},
    {TMPFS_MAGIC, "tmpfs", true, true, false, 6006},
    {F2FS_SUPER_MAGIC, "f2fs", true, false, false, 0},
    {OVERLAYFS_SUPER_MAGIC, "overlayfs", false, false, false, 0},
    {FUSE_SUPER_MAGIC, "FUSE", false, false, false, 0},
    {SQUASHFS_MAGIC, "squashfs", false, false, false, 0},
    {NFS_SUPER_MAGIC, "NFS", false, false, false, 0},
    {MSDOS_SUPER_MAGIC, "vfat", false, false, true, 0},
    {EXFAT_MAGIC, "exfat", false, false, true, 0},
};

static const struct kind *
kind_of(long type)
{
	static const struct kind other = {0, "other file system", false, false, false, 0};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return &other;
}

/* What was opened: the path as it is, before any clone. */
struct site {
	int path, dir; /* O_PATH, and readable */
	struct stat st;
	uint64_t mnt_id, mnt_unique;
	bool mount_root;
	long type;
};

static int
cannot_read(const char *path, long type, int code, char *err, size_t errlen)
{
	if (code == EACCES && type == FUSE_SUPER_MAGIC)
		return say(err, errlen, code,
			   "%s: a FUSE file system that only the user who mounted it may look "
			   "into, not even "
			   "root; mount it with -o allow_other, or run this server as that user",
			   path);
	if (code == EACCES || code == EPERM)
		return say(err, errlen, code,
			   "%s: this server (user %u) may not read it; give it permission, or run "
			   "the server as "
			   "its owner or as root",
			   path, geteuid());
	return say(err, errlen, code, "%s: cannot open it: %s", path, strerror(code));
}

static void
site_mount(struct site *s)
{
	struct statx x;

	if (statx(s->path, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) == 0) {
		s->mnt_id = x.stx_mnt_id;
		s->mount_root = x.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	}
	if (statx(s->path, "", AT_EMPTY_PATH, STATX_MNT_ID_UNIQUE, &x) == 0 &&
	    x.stx_mask & STATX_MNT_ID_UNIQUE)
		s->mnt_unique = x.stx_mnt_id;
}

static int
site_open(struct site *s, const char *path, char *err, size_t errlen)
{
	struct statfs f;
	int code;

	s->dir = -1;
	s->path = open(path, O_PATH | O_CLOEXEC);
	if (s->path < 0)
		return say(err, errlen, errno, "%s: cannot open it: %s", path, strerror(errno));
	s->type = fstatfs(s->path, &f) == 0 ? (long)f.f_type : 0;
	if (fstat(s->path, &s->st) < 0)
		return cannot_read(path, s->type, errno, err, errlen);
	if (!S_ISDIR(s->st.st_mode))
		return say(err, errlen, ENOTDIR,
			   "%s: is not a directory; only directories are exported", path);
	s->dir = openat(s->path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = s->dir < 0 ? errno : 0;
	if (code)
		return cannot_read(path, s->type, code, err, errlen);
	site_mount(s);
	return 0;
}

static void
site_close(struct site *s)
{
	if (s->path >= 0)
		close(s->path);
	if (s->dir >= 0)
		close(s->dir);
}

/* A mount of our own. Without: root stays the path itself. */
static void
confine(const struct export_env *env, const char *path, const struct site *s, bool rw,
	struct fs *fs)
{
	/* private: what is mounted later in the mount that was cloned must not appear in the clone
	 */
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				  .propagation = MS_PRIVATE};
	int fd;

	if (!env->kernel->mount_clone || env->unprivileged)
		return;
	if (!rw)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	fd = open_tree(s->path, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd >= 0 && mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof attr) == 0) {
		fs->root = fd;
		fs->confined = true;
		return;
	}
	log_info("%s: no mount of its own (%s); openat2 confines it", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Can the root be found again by its kernel handle, by us? */
static bool
opens_by_handle(const struct fs *fs, int dir, const struct handle *h)
{
	struct stat st;
	bool same;
	int fd;

	if (khandle_open(dir, h, &fd))
		return false;
	same = fstat(fd, &st) == 0 && st.st_dev == fs->root_dev && st.st_ino == fs->root_ino;
	close(fd);
	return same;
}

/* How objects are told apart: khandle, lasting, btime, inst. *h: the root's kernel handle, kind 0
 * if it has none. */
static int
find_identity(const struct export_env *env, const struct site *s, struct fs *fs, struct handle *h)
{
	struct statx x;
	bool has, opens = false;
	int dir = openat(fs->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return errno;
	memset(h, 0, sizeof *h);
	has = khandle_get(fs->root, h) == 0;
	if (has && (fs->local || s->type == OVERLAYFS_SUPER_MAGIC) && env->kernel->khandle)
		opens = opens_by_handle(fs, dir, h);
	fs->khandle = opens;
	fs->lasting = has && (fs->local || opens);
	fs->btime = s->type != OVERLAYFS_SUPER_MAGIC && /* there it changes at copy-up */
		    statx(fs->root, "", AT_EMPTY_PATH, STATX_BTIME, &x) == 0 &&
		    x.stx_mask & STATX_BTIME;
	if (!has)
		memset(h, 0, sizeof *h);
	if (opens)
		fs->handles = dir;
	else
		close(dir);
	return 0;
}

static uint64_t
instance(const struct site *s)
{
	static const unsigned char key[crypto_shorthash_siphash24_KEYBYTES] = "mount instance";
	unsigned char buf[8 + 64] = {0};
	uint64_t v = 0;
	int fd;

	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	memcpy(buf, &s->mnt_unique, 8);
	if (s->mnt_unique && fd >= 0 && read(fd, buf + 8, 64) > 0)
		crypto_shorthash_siphash24((unsigned char *)&v, buf, sizeof buf, key);
	else
		randombytes_buf(&v, sizeof v); /* it cannot be told: then each start is a new one */
	if (fd >= 0)
		close(fd);
	return v ? v : 1;
}

static uint32_t
hash_old(const struct handle_key *k, const void *data, size_t n)
{
	struct handle_key old;

	if (!k->has_old)
		return 0;
	memset(&old, 0, sizeof old);
	memcpy(old.now, k->old, sizeof old.now);
	return handle_hash32(&old, data, n);
}

static uint32_t
hash_plain(const void *data, size_t n)
{
	static const struct handle_key none;

	return handle_hash32(&none, data, n);
}

/* The export's name: fsid=, or file system and root. Where the root has no lasting handle it is
 * known by its path. */
static void
make_export_ids(const struct export_env *env, struct export *ex, const struct export_opts *o,
		const struct fsid *id, const struct handle *h)
{
	uint8_t buf[1 + sizeof id->data + 32] = {0};
	size_t n = 1;

	buf[0] = o->fsid_kind ? 'F' : 'E';
	memcpy(buf + n, id->data, id->len);
	n += id->len;
	if (!o->fsid_kind && ex->fs.lasting) {
		uint64_t v = khandle_hash(h);

		memcpy(buf + n, &v, sizeof v);
		n += sizeof v;
	} else if (!o->fsid_kind) {
		crypto_generichash(buf + n, 32, (const unsigned char *)ex->path, strlen(ex->path),
				   NULL, 0);
		n += 32;
	}
	ex->id = handle_hash32(env->key, buf, n);
	ex->id_old = hash_old(env->key, buf, n);
	ex->ns = hash_plain(buf, n);
}

static int
make_ids(const struct export_env *env, const struct site *s, struct export *ex,
	 const struct export_opts *o, const struct handle *h, char *err, size_t errlen)
{
	struct fsid id = {.len = 18};
	int code;

	if (o->fsid_kind) {
		id.data[0] = 'f';
		id.data[1] = (uint8_t)o->fsid_kind;
		memcpy(id.data + 2, o->fsid, 16);
	} else {
		code = fsid_find(s->dir, ex->path, s->type, s->mnt_id, &id, err, errlen);
		if (code)
			return code;
		if (ex->fs.btrfs)
			fsid_add_subvolume(&id, khandle_subvolume(h));
	}
	if (id.weak)
		log_info("%s: its file system has no UUID: clients' handles hold as long as it is "
			 "mounted from the same "
			 "source at the same place; fsid=NUMBER makes them hold anywhere",
			 ex->path);
	ex->fs.id = handle_hash32(env->key, id.data, id.len);
	ex->fs.id_old = hash_old(env->key, id.data, id.len);
	ex->fs.fsid3 = handle_hash64(env->key, id.data, id.len);
	make_export_ids(env, ex, o, &id, h);
	return 0;
}

static void
seal_root(const struct export_env *env, struct export *ex, const struct handle *kernel)
{
	struct handle h = *kernel;
	uint64_t subvolume = khandle_subvolume(kernel);

	if (!ex->fs.khandle) { /* serial 0 is the root: it needs no store */
		memset(&h, 0, sizeof h);
		h.kind = HANDLE_SERIAL;
		h.ilen = ex->fs.btrfs ? 16 : 8;
		for (int i = 0; ex->fs.btrfs && i < 8; i++)
			h.ident[8 + i] = (uint8_t)(subvolume >> (56 - 8 * i));
	}
	h.export_id = ex->id;
	h.fs_id = ex->fs.id;
	handle_seal(env->key, &h, &ex->root);
}

static void
fill_fs(const struct export_env *env, const struct site *s, struct fs *fs)
{
	const struct kind *k = kind_of(s->type);

	fs->root_dev = s->st.st_dev;
	fs->root_ino = s->st.st_ino;
	fs->mnt_id = s->mnt_id;
	fs->type = s->type;
	fs->local = k->local;
	fs->paths = k->paths;
	fs->btrfs = s->type == BTRFS_SUPER_MAGIC;
	fs->own_cookies = k->cookies && env->kernel->release >= k->cookies_since;
}

static int
open_at_site(const struct export_env *env, const struct site *s, struct export *ex,
	     const struct export_opts *o, bool rw, char *err, size_t errlen)
{
	struct fs *fs = &ex->fs;
	struct handle h;
	int code;

	if (o->mountpoint && !s->mount_root)
		return say(err, errlen, ENOENT,
			   "%s: nothing is mounted there, and option mountpoint asks for it",
			   ex->path);
	fill_fs(env, s, fs);
	confine(env, ex->path, s, rw, fs);
	if (fs->root < 0)
		fs->root = fcntl(s->path, F_DUPFD_CLOEXEC, 0);
	code = fs->root < 0 ? errno : find_identity(env, s, fs, &h);
	if (code)
		return cannot_read(ex->path, s->type, code, err, errlen);
	if (!fs->khandle && !env->store)
		return say(err, errlen, ENOTSUP,
			   "%s: its file system has no handles that last, or this server may not "
			   "open them; "
			   "it can only be served with a state directory (-s)",
			   ex->path);
	if (!fs->lasting && !fs->btime && !fs->paths)
		fs->inst = instance(s);
	code = make_ids(env, s, ex, o, &h, err, errlen);
	if (code == 0)
		seal_root(env, ex, &h);
	return code;
}

int
root_open(const struct export_env *env, struct export *ex, const struct export_opts *o, bool rw,
	  char *err, size_t errlen)
{
	struct site s = {.path = -1, .dir = -1};
	int code;

	ex->fs.root = ex->fs.handles = -1;
	code = site_open(&s, ex->where, err, errlen);
	if (code == 0)
		code = open_at_site(env, &s, ex, o, rw, err, errlen);
	site_close(&s);
	if (code) {
		root_close(ex);
		return code;
	}
	log_info("%s: %s, %s%s", ex->path, kind_of(s.type)->name,
		 ex->fs.khandle ? "kernel handles" : "handles kept in the store",
		 ex->fs.confined ? ", in a mount of its own" : "");
	return 0;
}

void
root_close(struct export *ex)
{
	if (ex->fs.handles >= 0)
		close(ex->fs.handles);
	if (ex->fs.root >= 0)
		close(ex->fs.root);
	ex->fs.handles = ex->fs.root = -1;
}
