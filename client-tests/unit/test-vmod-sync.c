/* SPDX-License-Identifier: BSD-2-Clause */
/* What is synced before a verb returns, by sync calls that count, wait and fail. */
#include "modbox.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the calls were made on, since the last reset. */
static struct {
	atomic_int file, data, fs, dirs;
	atomic_int fail; /* calls from now on that fail, with: */
	int error;
} seen;

static void
reset(void)
{
	memset(&seen, 0, sizeof seen);
	seen.error = EIO;
}

static int
outcome(int r)
{
	if (atomic_load(&seen.fail) > 0 && atomic_fetch_sub(&seen.fail, 1) > 0) {
		errno = seen.error;
		return -1;
	}
	return r;
}

static int
count_file(int fd)
{
	struct stat st;

	MUST(fstat(fd, &st) == 0);
	atomic_fetch_add(S_ISDIR(st.st_mode) ? &seen.dirs : &seen.file, 1);
	return outcome(fsync(fd));
}

static int
count_data(int fd)
{
	atomic_fetch_add(&seen.data, 1);
	return outcome(fdatasync(fd));
}

static int
count_fs(int fd)
{
	atomic_fetch_add(&seen.fs, 1);
	return outcome(syncfs(fd));
}

static const struct sync_ops counting = {count_file, count_data, count_fs};

static struct vfs_ctx
begin(const char *type)
{
	mod_begin(type);
	sync_use(files_sync(mod.files), &counting);
	reset();
	return mod_as(0);
}

/* Since the last look: fsyncs of files and of directories, fdatasyncs, syncfs. */
#define SYNCED(f, d, dat, all)                                                                     \
	do {                                                                                       \
		WANT_EQ(seen.file, f);                                                             \
		WANT_EQ(seen.dirs, d);                                                             \
		WANT_EQ(seen.data, dat);                                                           \
		WANT_EQ(seen.fs, all);                                                             \
		reset();                                                                           \
	} while (0)

static void
table(const char *type)
{
	struct vfs_ctx r = begin(type);
	/* where a directory's fsync does not take along what it cannot open */
	int extra = strcmp(type, "overlay") == 0 || strcmp(type, "ext2") == 0;
	struct obj *d, *e, *f, *l;

	WANT_EQ(mod_mkdir(&r, mod.root, "d", 0755, &d), 0);
	SYNCED(0, 2, 0, 0);
	WANT_EQ(mod_mkdir(&r, mod.root, "e", 0755, &e), 0);
	SYNCED(0, 2, 0, 0);
	WANT_EQ(mod_create(&r, d, "f", 0644, &f), 0);
	SYNCED(1, 1, 0, 0);
	WANT_EQ(mod_exclusive(&r, d, "x", "12345678", NULL), 0);
	SYNCED(1, 1, 0, 0);
	WANT_EQ(mod_exclusive(&r, d, "x", "12345678", NULL), 0); /* the repeat, too */
	SYNCED(1, 1, 0, 0);
	WANT_EQ(mod_symlink(&r, d, "l", "x"), 0);
	SYNCED(0, 1, 0, extra);
	WANT_EQ(mod_mknod(&r, d, "p", S_IFIFO), 0);
	SYNCED(0, 1, 0, extra);
	WANT_EQ(mod_chmod(&r, f, 0600), 0);
	SYNCED(1, 0, 0, 0);
	WANT_EQ(mod_chmod(&r, d, 0700), 0);
	SYNCED(0, 1, 0, 0);
	WANT_EQ(mod_size(&r, f, 100), 0);
	SYNCED(1, 0, 0, 0);
	l = object(&mod, "d/l");
	const struct vmod_attrs own = {.set_uid = true, .uid = 3};
	struct vmod_wcc w;
	WANT_EQ(vmod_setattr(&r, l, &own, NULL, &w), 0);
	SYNCED(0, 0, 0, 1);
	put(&mod, l);
	WANT_EQ(mod_write(&r, f, 0, "x", VMOD_UNSTABLE), 0);
	SYNCED(0, 0, 0, 0);
	WANT_EQ(mod_write(&r, f, 0, "x", VMOD_DATA_SYNC), 0);
	SYNCED(0, 0, 1, 0);
	WANT_EQ(mod_write(&r, f, 0, "x", VMOD_FILE_SYNC), 0);
	SYNCED(1, 0, 0, 0);
	WANT_EQ(mod_commit(&r, f), 0);
	SYNCED(1, 0, 0, 0);
	WANT_EQ(mod_link(&r, f, e, "f2"), 0);
	SYNCED(1, 1, 0, 0);
	WANT_EQ(mod_rename(&r, d, "f", d, "g"), 0);
	SYNCED(0, 1, 0, 0);
	WANT_EQ(mod_rename(&r, d, "g", e, "g"), 0);
	SYNCED(0, 2, 0, 0);
	WANT_EQ(mod_rename(&r, mod.root, "e", d, "e"), 0); /* its ".." too */
	SYNCED(0, 3, 0, 0);
	WANT_EQ(mod_remove(&r, e, "g"), 0);
	SYNCED(0, 1, 0, 0);
	WANT_EQ(mod_remove(&r, e, "f2"), 0);
	SYNCED(0, 1, 0, 0);
	WANT_EQ(mod_rmdir(&r, d, "e"), 0);
	SYNCED(0, 1, 0, 0);
	WANT_EQ(mod_remove(&r, d, "none"), ENOENT);
	SYNCED(0, 0, 0, 0);
	put(&mod, f);
	put(&mod, e);
	put(&mod, d);
	mod_end();
}
/* Between change and return lie exactly the syncs of the table: object and directories; only an
 * UNSTABLE WRITE has none. */
MOD_TYPES(vmod_sync, table, table)
MOD_ON(vmod_sync, table, table, ext2)

static void
without_waiting(void)
{
	struct vfs_ctx r = begin("ext4");
	struct obj *f;

	r.async = true;
	WANT_EQ(mod_create(&r, mod.root, "f", 0644, &f), 0);
	WANT_EQ(mod_write(&r, f, 0, "x", VMOD_FILE_SYNC), 0);
	WANT_EQ(mod_commit(&r, f), 0);
	WANT_EQ(mod_rename(&r, mod.root, "f", mod.root, "g"), 0);
	SYNCED(0, 0, 0, 0);
	WANT(sync_is_pinned(f)); /* but a loss will be noticed */
	put(&mod, f);
	mod_end();
}
/* An async export waits for nothing. */
TEST(vmod_sync, async)
{
	BOXED(without_waiting);
}

static void
failures(void)
{
	struct vfs_ctx r = begin("ext4");
	uint64_t v = vfs_verifier(&mod.vfs);
	struct obj *f, *g;

	WANT(v != 0);
	WANT_EQ(mod_create(&r, mod.root, "f", 0644, &f), 0);
	WANT_EQ(mod_create(&r, mod.root, "g", 0644, &g), 0);
	WANT_EQ(mod_write(&r, g, 0, "other's", VMOD_UNSTABLE), 0);
	WANT(vfs_verifier(&mod.vfs) == v);
#define FAILS(call, e)                                                                             \
	do {                                                                                       \
		reset();                                                                           \
		seen.error = e;                                                                    \
		seen.fail = 1;                                                                     \
		WANT_EQ(call, e);                                                                  \
		WANT(vfs_verifier(&mod.vfs) != v && vfs_verifier(&mod.vfs) != 0);                  \
		v = vfs_verifier(&mod.vfs);                                                        \
	} while (0)
	FAILS(mod_write(&r, f, 0, "x", VMOD_FILE_SYNC), EIO);
	FAILS(mod_write(&r, f, 0, "x", VMOD_DATA_SYNC), ENOSPC);
	FAILS(mod_commit(&r, f), EDQUOT);
	FAILS(mod_chmod(&r, f, 0640), EIO);
	FAILS(mod_create(&r, mod.root, "h", 0644, NULL), EIO);
	FAILS(mod_mkdir(&r, mod.root, "d", 0755, NULL), EIO);
	FAILS(mod_symlink(&r, mod.root, "l", "x"), EIO);
	FAILS(mod_rename(&r, mod.root, "f", mod.root, "f2"), EIO);
	FAILS(mod_link(&r, f, mod.root, "f3"), EIO);
	FAILS(mod_remove(&r, mod.root, "f3"), EIO);
	FAILS(mod_rmdir(&r, mod.root, "d"), EIO);
	/* the next one is well again, and says so */
	WANT_EQ(mod_commit(&r, f), 0);
	WANT_EQ(mod_commit(&r, f), 0);
	WANT(vfs_verifier(&mod.vfs) == v);
	/* whose object has gone, or who shall come again, loses nothing */
	reset();
	seen.error = EAGAIN;
	seen.fail = 1;
	WANT_EQ(mod_commit(&r, f), EAGAIN);
	WANT(vfs_verifier(&mod.vfs) == v);
	/* found where nobody waits: when it is put away, and when its turn comes */
	reset();
	seen.fail = 1;
	files_settle(mod.files, 0);
	WANT(vfs_verifier(&mod.vfs) != v && !sync_is_pinned(g));
	v = vfs_verifier(&mod.vfs);
	WANT_EQ(mod_write(&r, g, 0, "again", VMOD_UNSTABLE), 0);
	put(&mod, g);
	reset();
	seen.fail = 1;
	files_drop(mod.files, NULL, NULL);
	put(&mod, f);
	files_relieve(mod.files);
	while (vfs_verifier(&mod.vfs) == v) /* the cache's thread may be the one that closes it */
		sched_yield();
	mod_end();
}
/* A sync that fails fails the verb, and changes the verifier, which is never zero: in COMMIT, in
 * stable WRITEs, in every change of names, in the cache's own syncs. */
TEST(vmod_sync, failures)
{
	BOXED(failures);
}

static void
instances(void)
{
	uint64_t v[4];

	mod_begin("tmpfs");
	for (int i = 0; i < 4; i++) {
		v[i] = vfs_verifier(&mod.vfs);
		WANT(v[i] != 0);
		for (int j = 0; j < i; j++)
			WANT(v[i] != v[j]);
		mod_end();
		mod_again();
	}
	mod_end();
}
/* Each instance has a verifier of its own. */
TEST(vmod_sync, instances)
{
	BOXED(instances);
}

/* ---- sharing ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static int entered, let, failing; /* by gate: syncs begun; that may end; that fail */

static int
held(int fd)
{
	(void)fd;
	pthread_mutex_lock(&gate);
	int mine = ++entered;
	pthread_cond_broadcast(&moved);
	while (let < mine)
		pthread_cond_wait(&moved, &gate);
	int fail = failing == mine;
	pthread_mutex_unlock(&gate);
	errno = EIO;
	return fail ? -1 : 0;
}
static const struct sync_ops holding = {held, held, held};

static void
wait_entered(int n)
{
	pthread_mutex_lock(&gate);
	while (entered < n)
		pthread_cond_wait(&moved, &gate);
	pthread_mutex_unlock(&gate);
}

static void
let_go(int n)
{
	pthread_mutex_lock(&gate);
	let = n;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&gate);
}

struct syncer {
	pthread_t thread;
	struct obj *o;
	int fd, error;
	uint64_t verifier;
};

static void *
syncer(void *arg)
{
	struct syncer *s = arg;

	s->error = sync_flush(files_sync(mod.files), s->o, s->fd, true);
	s->verifier = vfs_verifier(&mod.vfs);
	return NULL;
}

static void
start(struct syncer *s, struct obj *o, int fd)
{
	*s = (struct syncer){.o = o, .fd = fd};
	MUST(pthread_create(&s->thread, NULL, syncer, s) == 0);
}

static void
start_waiting(struct syncer *s, int n, struct obj *o, int fd)
{
	for (int i = 0; i < n; i++)
		start(&s[i], o, fd);
	while (__atomic_load_n(&o->flush.waiting, __ATOMIC_RELAXED) < n)
		sched_yield();
}

static void
sharing(void)
{
	enum { N = 8 };
	struct vfs_ctx r = begin("tmpfs");
	struct syncer first, late[N];
	struct obj *f;
	int fd;

	WANT_EQ(mod_create(&r, mod.root, "f", 0644, &f), 0);
	MUST(obj_writer(mod.files, f, &fd) == 0);
	sync_use(files_sync(mod.files), &holding);
	start(&first, f, fd);
	wait_entered(1);
	start_waiting(late, N, f, fd);
	WANT_EQ(entered, 1); /* one at a time */
	uint64_t v = vfs_verifier(&mod.vfs);
	failing = 2;
	let_go(1);
	pthread_join(first.thread, NULL);
	WANT_EQ(first.error, 0); /* its own went well */
	wait_entered(2);	 /* those who came later did not take the first one for theirs */
	let_go(1000);
	for (int i = 0; i < N; i++) {
		pthread_join(late[i].thread, NULL);
		WANT_EQ(late[i].error, EIO);
		WANT(late[i].verifier != v);
	}
	WANT_EQ(entered, 2); /* however many waited: one sync for all of them */
	put(&mod, f);
	mod_end();
}
/* A sync is shared by those who came before it began, its failure too, and with nobody else; who
 * learns of the failure sees the new verifier. */
TEST(vmod_sync, sharing)
{
	BOXED(sharing);
}

/* ---- pins ---- */

static void
pins(void)
{
	struct vfs_ctx r;
	struct obj *f;
	char name[16];

	box_mount("ext4", "m", mod.dir);
	serve(&mod, mod.dir, NULL, 16);
	sync_use(files_sync(mod.files), &counting);
	r = mod_as(0);
	WANT_EQ(mod_create(&r, mod.root, "f", 0644, &f), 0);
	WANT_EQ(mod_write(&r, f, 0, "x", VMOD_UNSTABLE), 0);
	WANT(sync_is_pinned(f));
	int wfd = f->wfd;
	nfs_fh3 fh = f->fh;
	struct handle id = f->id;
	put(&mod, f);
	for (int i = 0; i < 200; i++) { /* through a cache of 16 */
		sprintf(name, "n%d", i);
		WANT_EQ(mod_create(&r, mod.root, name, 0644, NULL), 0);
	}
	f = obj_cached(mod.files, mod.ex, &id);
	WANT(f && f->wfd == wfd && memcmp(f->fh.data, fh.data, fh.len) == 0);
	MUST(f);
	WANT_EQ(mod_commit(&r, f), 0);
	WANT(!sync_is_pinned(f));
	/* written while a sync runs: not settled by it */
	sync_note(f);
	uint64_t wrote = f->flush.wrote;
	WANT(sync_is_pinned(f));
	WANT_EQ(sync_flush(files_sync(mod.files), f, wfd, true), 0);
	WANT(f->flush.settled == wrote && !sync_is_pinned(f));
	put(&mod, f);
	files_relieve(mod.files);
	f = obj_cached(mod.files, mod.ex, &id);
	WANT(!f);
	if (f)
		put(&mod, f);
	serve_end(&mod);
}
/* The descriptor that will hear of a failed write-back stays open until a sync, whatever else the
 * cache needs; then it goes like any other. */
TEST(vmod_sync, pins)
{
	BOXED(pins);
}

static int
note_meanwhile(int fd)
{
	struct obj *f = object(&mod, "f");

	sync_note(f);
	put(&mod, f);
	return fsync(fd);
}

static void
meanwhile(void)
{
	static const struct sync_ops ops = {note_meanwhile, note_meanwhile, note_meanwhile};
	struct vfs_ctx r = begin("tmpfs");
	struct obj *f;

	WANT_EQ(mod_create(&r, mod.root, "f", 0644, &f), 0);
	WANT_EQ(mod_write(&r, f, 0, "x", VMOD_UNSTABLE), 0);
	sync_use(files_sync(mod.files), &ops);
	WANT_EQ(mod_commit(&r, f), 0);
	WANT(sync_is_pinned(f));
	sync_use(files_sync(mod.files), &counting);
	WANT_EQ(mod_commit(&r, f), 0);
	WANT(!sync_is_pinned(f));
	put(&mod, f);
	mod_end();
}
/* What is written while a sync runs is not taken for synced. */
TEST(vmod_sync, meanwhile)
{
	BOXED(meanwhile);
}
