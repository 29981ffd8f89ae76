/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stable storage.
 *
 * What is synced after which verb is one table (verbs[]), how an object is synced another
 * (flush_obj): a file by fsync of the descriptor through which it is written, a directory by fsync
 * of one opened to read it. What cannot be opened without a side effect (symbolic links, FIFOs,
 * sockets, devices) becomes stable together with its directory on the file systems that make an
 * object and its name in one transaction; elsewhere, and when it changes by itself, by syncfs. So
 * is what this server may change but not open.
 *
 * Sharing. Syncs of an object are numbered. A caller's change is finished when he comes here, so
 * the first sync that *starts* later covers it: started + 1. Whoever finds none running leads that
 * one, for all who came meanwhile; a hundred creators in one directory wait for two syncs, not for
 * a hundred. There is never more than one running per object.
 *
 * Failure. A write-back error is told once to each open descriptor (fsync(2)): to the one caller
 * who asks first. Others, whose data was lost too, learn of it by the verifier, so it must have
 * changed before anybody can ask again: the leader changes it while its sync still counts as
 * running. To be told at all the descriptor must have been open when the write-back failed: an
 * object whose data nobody waited for is pinned in the cache until a sync (sync_note, counted
 * before and after, so that what is written during a sync is not taken for synced).
 *
 * Limit: an object that the cache drops while it is pinned (its export went away) is synced as it
 * ends; if it is opened anew and committed at that very moment, the error may be told after that.
 */
#include "sync.h"
#include "log.h"
#include "vfsint.h"
#include "vmod.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SLOTS 64

static const struct sync_ops kernel_ops = {fsync, fdatasync, syncfs};

struct slot {
	pthread_mutex_t lock;
	pthread_cond_t done;
} __attribute__((aligned(64)));

struct sync {
	struct slot slot[SLOTS]; /* objects share them by address */
	const struct sync_ops *ops;
	uint64_t verifier; /* atomic */
};

/* ---- the verifier ---- */

static uint64_t
random_verifier(void)
{
	uint64_t v;

	do
		randombytes_buf(&v, sizeof v);
	while (v == 0);
	return v;
}

uint64_t
sync_verifier(const struct sync *s)
{
	return __atomic_load_n(&s->verifier, __ATOMIC_SEQ_CST);
}

void
sync_lost(struct sync *s, const char *why, int error)
{
	static struct log_limit limit = {.burst = 5};

	__atomic_store_n(&s->verifier, random_verifier(), __ATOMIC_SEQ_CST);
	if (log_may(&limit))
		log_error("%s: %s; what clients have not committed they must write again", why,
			  strerror(error));
}

uint64_t
vfs_verifier(const struct vfs *v)
{
	return sync_verifier(files_sync(v->files));
}

void
vfs_lost(const struct vfs *v, const char *why)
{
	sync_lost(files_sync(v->files), why, EIO);
}

/* ---- begin and end ---- */

struct sync *
sync_new(void)
{
	struct sync *s = sodium_init() < 0 ? NULL : aligned_alloc(64, sizeof *s);

	if (!s)
		return NULL;
	for (size_t i = 0; i < SLOTS; i++) {
		pthread_mutex_init(&s->slot[i].lock, NULL);
		pthread_cond_init(&s->slot[i].done, NULL);
	}
	s->ops = &kernel_ops;
	s->verifier = random_verifier();
	return s;
}

void
sync_free(struct sync *s)
{
	for (size_t i = 0; s && i < SLOTS; i++) {
		pthread_mutex_destroy(&s->slot[i].lock);
		pthread_cond_destroy(&s->slot[i].done);
	}
	free(s);
}

void
sync_use(struct sync *s, const struct sync_ops *ops)
{
	s->ops = ops;
}

/* ---- one descriptor ---- */

static int
call(int (*op)(int), int fd)
{
	int r;

	do
		r = op(fd);
	while (r != 0 && errno == EINTR);
	return r == 0 ? 0 : errno;
}

/* EINVAL: the file system knows no sync of this kind of object, but perhaps of itself. */
static int
flush_fd(const struct sync *s, int fd, bool full)
{
	int error = call(full ? s->ops->file : s->ops->data, fd);

	if (error == EINVAL || error == EOPNOTSUPP || error == ENOSYS)
		error = call(s->ops->fs, fd);
	return error;
}

/* Nothing was lost: it may be asked again. Whose object has gone cannot lose anything either. */
static bool
is_harmless(int error)
{
	return error == EAGAIN || error == ESTALE;
}

static int
judge(struct sync *s, int error, const char *why)
{
	if (error && !is_harmless(error))
		sync_lost(s, why, error);
	return error;
}

/* ---- one object ---- */

static struct slot *
slot_of(struct sync *s, const struct obj *o)
{
	return &s->slot[((uintptr_t)o / sizeof *o) % SLOTS];
}

/*
 * What could not be written is in the page cache as if it had been, and ext4 (6.18 at least) takes
 * its blocks for good ones: written again, the data reaches the disk and is zeros after the next
 * mount. So these pages go; what the client sends again finds the blocks as they are, and a READ
 * meanwhile what the disk has.
 */
void
sync_distrust(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Runs the next sync. The slot's lock is held, but not while the disk works. */
static void
lead(struct sync *s, struct slot *l, struct obj *o, int fd)
{
	struct flush *f = &o->flush;
	uint64_t wrote = __atomic_load_n(&f->wrote, __ATOMIC_ACQUIRE);
	bool full = f->full;

	f->running = true;
	f->full = false;
	__atomic_store_n(&f->waiting, 0, __ATOMIC_RELAXED);
	f->started++;
	pthread_mutex_unlock(&l->lock);
	int error = judge(s, flush_fd(s, fd, full), "a sync failed");
	if (error && S_ISREG(o->type))
		sync_distrust(fd);
	pthread_mutex_lock(&l->lock);
	if (!is_harmless(error))
		__atomic_store_n(&f->settled, wrote, __ATOMIC_RELEASE);
	if (error) {
		f->failed = f->started;
		f->error = error;
	}
	f->done = f->started;
	f->running = false;
	pthread_cond_broadcast(&l->done);
}

int
sync_flush(struct sync *s, struct obj *o, int fd, bool full)
{
	struct slot *l = slot_of(s, o);
	struct flush *f = &o->flush;

	pthread_mutex_lock(&l->lock);
	uint64_t mine = f->started + 1;
	f->full |= full;
	__atomic_add_fetch(&f->waiting, 1, __ATOMIC_RELAXED);
	while (f->done < mine)
		if (f->running)
			pthread_cond_wait(&l->done, &l->lock);
		else
			lead(s, l, o, fd);
	int error = f->failed >= mine ? f->error : 0;
	pthread_mutex_unlock(&l->lock);
	return error;
}

int64_t
sync_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

void
sync_note(struct obj *o)
{
	__atomic_store_n(&o->flush.since, sync_clock(), __ATOMIC_RELAXED);
	__atomic_add_fetch(&o->flush.wrote, 1, __ATOMIC_ACQ_REL);
}

bool
sync_is_pinned(const struct obj *o)
{
	return __atomic_load_n(&o->flush.wrote, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&o->flush.settled, __ATOMIC_ACQUIRE);
}

int64_t
sync_since(const struct obj *o)
{
	return __atomic_load_n(&o->flush.since, __ATOMIC_RELAXED);
}

void
sync_close(struct sync *s, int fd)
{
	if (close(fd) != 0 && errno != EINTR)
		judge(s, errno, "an error when a file was closed");
}

void
sync_last(struct sync *s, struct obj *o, int fd)
{
	struct stat st;

	if (sync_is_pinned(o) && fstat(fd, &st) == 0 && st.st_nlink > 0)
		judge(s, flush_fd(s, fd, true), "the sync of a file that is put away failed");
	sync_close(s, fd);
}

/* ---- verbs ---- */

enum { NO, DATA, FULL };

/* What must be on stable storage before the reply: RFC 1813 3.3.7, 4.8. */
static const struct {
	uint8_t self, dir, dir2;
} verbs[] = {
    [SYNC_SETATTR] = {.self = FULL},
    [SYNC_WRITE_DATA] = {.self = DATA},
    [SYNC_WRITE] = {.self = FULL},
    [SYNC_COMMIT] = {.self = FULL},
    [SYNC_CREATE] = {.self = FULL, .dir = FULL},
    [SYNC_MKDIR] = {.self = FULL, .dir = FULL},
    [SYNC_SYMLINK] = {.self = FULL, .dir = FULL},
    [SYNC_MKNOD] = {.self = FULL, .dir = FULL},
    [SYNC_REMOVE] = {.dir = FULL},
    [SYNC_RMDIR] = {.dir = FULL},
    [SYNC_RENAME] = {.dir = FULL, .dir2 = FULL},
    [SYNC_RENAME_DIR] = {.self = FULL, .dir = FULL, .dir2 = FULL},
    [SYNC_LINK] = {.self = FULL, .dir = FULL},
};

/* ext2 and ext4 without a journal look the same to statfs(2). */
static bool
ext_has_journal(uint64_t dev)
{
	char link[64], target[512], path[640];

	snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(dev), minor(dev));
	ssize_t n = readlink(link, target, sizeof target - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	const char *name = strrchr(target, '/');
	snprintf(path, sizeof path, "/sys/fs/ext4/%s/journal_task", name ? name + 1 : target);
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* the journal's thread, or "<none>" */
	n = fd < 0 ? 0 : read(fd, target, 1);
	if (fd >= 0)
		close(fd);
	return n == 1 && target[0] != '<';
}

/* Does fsync of a directory take along what was made in it, or linked, in the same transaction? */
static bool
comes_with_directory(const struct fs *fs)
{
	switch (fs->type) {
	case EXT4_SUPER_MAGIC:
		return ext_has_journal(fs->root_dev);
	case 0x58465342: /* xfs */
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
		return true;
	}
	return false;
}

static int
flush_fs(struct sync *s, const struct obj *o)
{
	int fd = openat(o->ex->fs.root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	int error = judge(s, call(s->ops->fs, fd), "a sync of a file system failed");
	close(fd);
	return error;
}

/* The descriptor that hears of this object's errors, which is open if anything is to be heard; else
 * any, opened for once (*mine). A directory's stays open. -1 with errno. */
static int
find_fd(struct files *f, struct obj *o, bool *mine)
{
	int fd = __atomic_load_n(&o->wfd, __ATOMIC_ACQUIRE), error;

	*mine = false;
	if (fd < 0 && S_ISDIR(o->type)) {
		error = obj_writer(f, o, &fd);
		errno = error;
		return error ? -1 : fd;
	}
	if (fd < 0)
		fd = __atomic_load_n(&o->rfd, __ATOMIC_ACQUIRE);
	if (fd >= 0)
		return fd;
	*mine = true;
	fd = files_reopen(f, o->fd, O_RDONLY);
	return fd < 0 && errno == EACCES ? files_reopen(f, o->fd, O_WRONLY) : fd;
}

static int
flush_obj(const struct vfs *v, struct obj *o, int how, bool with_directory)
{
	struct sync *s = files_sync(v->files);
	bool mine;

	if (!S_ISREG(o->type) && !S_ISDIR(o->type))
		return with_directory && comes_with_directory(&o->ex->fs) ? 0 : flush_fs(s, o);
	int fd = find_fd(v->files, o, &mine);
	if (fd < 0)
		return flush_fs(s, o);
	int error = sync_flush(s, o, fd, how == FULL);
	if (mine)
		close(fd);
	return error;
}

int
sync_made(int error)
{
	switch (error) {
	case EAGAIN:
	case EBUSY:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ETIMEDOUT:
		return EIO;
	}
	return error;
}

int
sync_verb(const struct vfs_ctx *ctx, enum sync_verb verb, struct obj *self, struct obj *dir,
	  struct obj *dir2)
{
	const struct vfs *v = ctx->vfs;
	int error = 0, e;

	if (ctx->async)
		return 0;
	if (self && verbs[verb].self)
		error = flush_obj(v, self, verbs[verb].self, verbs[verb].dir);
	if (dir && verbs[verb].dir && (e = flush_obj(v, dir, FULL, false)) != 0 && !error)
		error = e;
	if (dir2 && verbs[verb].dir2 && (e = flush_obj(v, dir2, FULL, false)) != 0 && !error)
		error = e;
	/* what may be written twice is for another time */
	bool twice = verb == SYNC_WRITE || verb == SYNC_WRITE_DATA || verb == SYNC_COMMIT;
	return twice ? error : sync_made(error);
}
