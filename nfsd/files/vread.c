/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * READ: which bytes, and how they should travel.
 *
 * Attributes first, data after, so that the data may be newer than the attributes but never older.
 * The size just seen bounds the read, and eof says that its end was reached.
 *
 * A loop must not wait for a disk. It answers (file, offset) for the sender to splice only when
 * every page of the range is resident; it copies with RWF_NOWAIT, which cannot wait. Everything
 * else goes to a worker, which may sleep: it splices the file into a pipe that it was given, and
 * the full pipe travels; so what comes from a disk is not copied either.
 *
 * Is a page resident? cachestat(2) says so for a whole range at once, but counts pages whose read
 * is still in flight. Three things make up for that: while a worker reads an object, loops do not
 * trust residency of it (obj->cold); a one-byte RWF_NOWAIT read every SAMPLE bytes and at the end
 * of a range tells finished pages from begun ones; and the answer is kept for one batch only. On
 * tmpfs a hole has no page and needs none, but what was swapped out counts as evicted: there
 * nothing evicted means resident.
 *
 * Readahead is decided here and in workers only (descriptors of local files are POSIX_FADV_RANDOM).
 * One sequential reader per object is remembered, tolerant of READs that overtake each other; while
 * it is served by loops, the READ that passes the middle of what was read ahead goes to a worker
 * (ahead.mark), which reads on.
 *
 * Limits: pages may be evicted between probe and splice (the loop then waits; seen in its stall
 * counter). Files whose st_size lies (procfs, sysfs, some FUSE) are never on a local file system;
 * there a worker believes the bytes that it gets.
 */
#include "buf.h"
#include "stat.h"
#include "vfsint.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE ((uint64_t)4096)
#define PROBE_MIN                                                                                  \
	((uint64_t)128 << 10) /* probed ahead in one question, for the rest of a batch             \
			       */
#define PROBE_MAX ((uint64_t)2 << 20)
#define PROBE_READS 16
#define SAMPLE ((uint64_t)256 << 10)
#define BLIND_MAX (64 << 10) /* without cachestat a loop copies up to here */
#define AHEAD_MIN ((uint64_t)128 << 10)
#define AHEAD_MAX ((uint64_t)8 << 20)
#define AHEAD_STEP ((uint64_t)128 << 10) /* the kernel cuts a longer request off silently */
#define AHEAD_READS 8			 /* READs may overtake each other by so many */

/* One READ under way. */
struct reading {
	const struct vfs_ctx *ctx;
	struct obj *o;
	int rfd;
	uint64_t off, size; /* size: by fstat */
	uint32_t want;
	bool splice; /* wanted, not yet refused */
	bool ended;  /* the file itself said that there is no more */
	struct vfs_data *d;
};

static uint64_t
min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t
get(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static void
set(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

/* RFC 1813 4.4: no open in NFS, so the owner may always read (he could have opened before chmod),
 * and who may execute may read. */
static int
may_read(const struct vfs_ctx *ctx, struct obj *o, const struct stat *st)
{
	const struct ident *id = ctx->vfs->ident;
	int error;

	if (ctx->cred->uid == st->st_uid && (id->can_switch || ctx->cred->uid == id->self_uid))
		return 0;
	error = vfs_need(ctx, o, st, R_OK);
	return error == EACCES ? vfs_need(ctx, o, st, X_OK) : error;
}

/* ---- residency (loops) ---- */

static ssize_t
read_nowait(const struct reading *r, void *buf, size_t n, uint64_t off)
{
	struct iovec v = {buf, n};

	if (r->ctx->vfs->kernel->nowait)
		return preadv2(r->rfd, &v, 1, (off_t)off, RWF_NOWAIT);
	errno = EOPNOTSUPP;
	return -1;
}

/* Are the pages at every SAMPLE bytes of [from, to), and the last, finished? */
static bool
sampled(const struct reading *r, uint64_t from, uint64_t to)
{
	char byte = 0;

	for (uint64_t p = from + SAMPLE - 1;; p += SAMPLE) {
		p = min64(p, to - 1);
		ssize_t n = read_nowait(r, &byte, 1, p);
		if (n != 1)
			return n < 0 && errno == EOPNOTSUPP;
		if (p == to - 1)
			return true;
	}
}

enum warmth { COLD, WARM, UNKNOWN };

static enum warmth
probe(const struct reading *r, uint64_t from, uint64_t to)
{
	struct k_cachestat cs;

	from &= ~(PAGE - 1);
	if (k_cachestat(r->rfd, from, to - from, &cs) != 0)
		return UNKNOWN; /* EPERM: another's file, for an unprivileged server */
	if (r->o->ex->fs.type == TMPFS_MAGIC)
		return cs.evicted == 0 ? WARM : COLD;
	if (cs.cached < (to - from + PAGE - 1) / PAGE)
		return COLD;
	return sampled(r, from, to) ? WARM : COLD;
}

/* Up to where it is worth asking: more than this READ, for those behind it in the batch. When this
 * one does not go on where the last one did, they will not either. */
static uint64_t
worth_asking(const struct reading *r, const struct vfs_seen *s)
{
	uint64_t ahead = max64(PROBE_READS * (uint64_t)r->want, PROBE_MIN);

	if (!s || (s->warm_to && (r->off < s->warm_from || r->off > s->warm_to)))
		return r->off + r->want;
	return min64(r->off + min64(ahead, max64(PROBE_MAX, r->want)), r->size);
}

/* When not all of what is asked for is there, the READ alone is asked for again. */
static enum warmth
resident(const struct reading *r)
{
	struct vfs_seen *s = vfs_seen(r->ctx, r->o);
	uint64_t end = r->off + r->want, to;
	enum warmth w;

	if (!r->ctx->vfs->kernel->cachestat)
		return UNKNOWN;
	if (s && s->warm_from <= r->off && end <= s->warm_to)
		return WARM;
	to = worth_asking(r, s);
	w = probe(r, r->off, to);
	if (w == COLD && to > end) {
		to = end;
		w = probe(r, r->off, to);
	}
	if (w == WARM && s) {
		s->warm_from = r->off;
		s->warm_to = to;
	}
	return w;
}

/* ---- readahead (workers; loops look at the mark) ---- */

/* Submits reads; what is resident is skipped by the kernel. */
static void
read_ahead(int fd, uint64_t from, uint64_t to)
{
	for (uint64_t p = from; p < to; p += AHEAD_STEP)
		if (posix_fadvise(fd, (off_t)p, (off_t)min64(AHEAD_STEP, to - p),
				  POSIX_FADV_WILLNEED) != 0)
			return;
}

static bool
is_sequential(const struct reading *r)
{
	uint64_t slack = AHEAD_READS * (uint64_t)r->want, next = get(&r->o->ra.next);

	return r->off + slack >= next && r->off <= max64(next, get(&r->o->ra.upto)) + slack;
}

/* Where the reader is by now, taking those that overtook this READ into account. */
static uint64_t
position(const struct reading *r)
{
	return max64(r->off + r->want, get(&r->o->ra.next));
}

static void
forget_ahead(struct ahead *a, uint64_t next)
{
	set(&a->next, next);
	set(&a->upto, next);
	set(&a->window, 0);
	set(&a->mark, UINT64_MAX);
}

/* A window further, twice the last one, as soon as less than half of that is left; none while
 * all of it is resident anyway. */
static void
plan_window(const struct reading *r)
{
	struct ahead *a = &r->o->ra;
	uint64_t end = position(r), upto = get(&a->upto), window = get(&a->window);

	set(&a->next, end);
	if (window && end + window / 2 <= upto)
		return;
	window = max64(2 * window, max64(4 * (uint64_t)r->want, AHEAD_MIN));
	window = min64(window, AHEAD_MAX);
	uint64_t from = max64(end, upto), to = min64(end + window, r->size);
	if (r->ctx->vfs->kernel->cachestat && probe(r, r->off, to) == WARM) {
		forget_ahead(a, end);
		return;
	}
	set(&a->window, window);
	set(&a->upto, max64(to, from));
	read_ahead(r->rfd, from, to);
	set(&a->mark, to < r->size ? to - window / 2 : UINT64_MAX);
}

static void
plan_ahead(const struct reading *r)
{
	uint64_t end = r->off + r->want;

	if (r->want > AHEAD_STEP) /* else the read itself asks for all of it at once */
		read_ahead(r->rfd, r->off, end);
	if (is_sequential(r))
		plan_window(r);
	else
		forget_ahead(&r->o->ra, end);
}

/* One READ of many takes the mark away, and goes to a worker. */
static bool
passes_mark(const struct reading *r)
{
	uint64_t mark = get(&r->o->ra.mark);

	return r->off + r->want > mark &&
	       __atomic_compare_exchange_n(&r->o->ra.mark, &mark, UINT64_MAX, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* ---- moving bytes ---- */

static void *
take(struct reading *r)
{
	r->d->cap = r->want;
	r->d->mem = buf_take(r->want);
	return r->d->mem;
}

static void
give_back(struct reading *r)
{
	buf_give(r->d->mem, r->d->cap);
	r->d->mem = NULL;
	r->d->cap = 0;
	r->d->len = 0;
}

static int
read_sleeping(struct reading *r)
{
	char *mem = take(r);

	if (!mem)
		return ENOMEM;
	while (r->d->len < r->want) {
		ssize_t n = pread(r->rfd, mem + r->d->len, r->want - r->d->len,
				  (off_t)(r->off + r->d->len));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && r->d->len == 0) {
			int error = errno;

			give_back(r);
			return error;
		}
		if (n <= 0) {
			r->ended = n == 0;
			break;
		}
		r->d->len += (uint32_t)n;
	}
	return 0;
}

/* 0, ESLEEP, or ENOMEM. */
static int
read_on_loop(struct reading *r, enum warmth w)
{
	char *mem = take(r);
	ssize_t n;

	if (!mem)
		return ENOMEM;
	n = read_nowait(r, mem, r->want, r->off);
	if (n < 0 && errno == EOPNOTSUPP && w == WARM)
		n = pread(r->rfd, mem, r->want, (off_t)r->off);
	if (n == (ssize_t)r->want) {
		r->d->len = r->want;
		return 0;
	}
	give_back(r); /* not there, or the file has shrunk: a worker finds out */
	return ESLEEP;
}

/* Splice does not know this file (some of procfs, DAX, O_DIRECT): remember. */
static bool
refused(int error)
{
	return error == EINVAL || error == EOPNOTSUPP || error == EAGAIN;
}

/*
 * A READ of as many bytes as a pipe has pages, but not at a page's start, touches one page more:
 * its last bytes are copied and travel beside the pipe. Else the caller would have to ask again for
 * them. Failing that, the reply is short.
 */
static void
read_tail(struct reading *r)
{
	uint32_t rest = r->want - r->d->len;
	char *mem = rest <= PAGE ? buf_take(rest) : NULL;
	ssize_t n;

	if (!mem)
		return;
	do
		n = pread(r->rfd, mem, rest, (off_t)(r->off + r->d->len));
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		r->ended = n == 0;
		buf_give(mem, rest);
		return;
	}
	r->d->mem = mem;
	r->d->cap = rest;
	r->d->tail = (uint32_t)n;
	r->d->len += (uint32_t)n;
}

/* Fills the pipe; a short count is what there is. 0, or errno when nothing
 * moved. */
static int
fill_pipe(struct reading *r, const int pipe[2])
{
	off_t off = (off_t)r->off;

	while (r->d->len < r->want) {
		ssize_t n =
		    splice(r->rfd, &off, pipe[1], NULL, r->want - r->d->len, SPLICE_F_NONBLOCK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && r->d->len == 0)
			return errno;
		if (n <= 0) {
			r->ended = n == 0;
			if (n < 0 && errno == EAGAIN)
				read_tail(r);
			break;
		}
		r->d->len += (uint32_t)n;
	}
	if (r->d->len) {
		r->d->pipe[0] = pipe[0];
		r->d->pipe[1] = pipe[1];
	}
	return 0;
}

/* ---- the two roads ---- */

/* From how many bytes up a READ is spliced. */
static uint32_t
threshold(const struct vfs_ctx *ctx)
{
	return ctx->batch && ctx->batch->deep ? ctx->vfs->splice_deep : ctx->vfs->splice_from;
}

static void
count_copy(const struct reading *r, bool asked)
{
	uint32_t from = threshold(r->ctx);

	if (asked)
		return; /* who asked knows why, and counts */
	if (from == UINT32_MAX)
		stat_inc(ST_COPY_NEVER);
	else if (r->want < from)
		stat_inc(ST_COPY_SMALL);
	else if (__atomic_load_n(&r->o->nosplice, __ATOMIC_RELAXED))
		stat_inc(ST_COPY_REFUSED);
	else
		stat_inc(ST_COPY_NOPIPE);
}

static int
cold(void)
{
	stat_inc(ST_READ_COLD);
	return ESLEEP;
}

static int
on_loop(struct reading *r, bool copy)
{
	enum warmth w;

	if (__atomic_load_n(&r->o->cold, __ATOMIC_ACQUIRE) > 0 || passes_mark(r))
		return ESLEEP;
	w = resident(r);
	if (w == COLD)
		return cold();
	if (r->splice && w == WARM) {
		r->d->fd = r->rfd;
		r->d->off = (off_t)r->off;
		r->d->len = r->want;
		return 0;
	}
	if (w == UNKNOWN && (r->want >= BLIND_MAX || !r->ctx->vfs->kernel->nowait))
		return ESLEEP;
	int error = read_on_loop(r, w);
	if (error)
		return error == ESLEEP ? cold() : error;
	if (!r->splice)
		count_copy(r, copy);
	return 0;
}

static int
in_worker(struct reading *r, bool copy, const int *pipe)
{
	int error = 0;
	bool done = false;

	__atomic_add_fetch(&r->o->cold, 1, __ATOMIC_ACQ_REL);
	if (r->o->ex->fs.local)
		plan_ahead(r);
	if (r->splice && pipe && pipe[0] >= 0) {
		error = fill_pipe(r, pipe);
		done = !refused(error);
		if (error == EINVAL || error == EOPNOTSUPP)
			obj_refuse_splice(r->o);
	}
	if (!done) {
		error = read_sleeping(r);
		if (!error)
			count_copy(r, copy);
	}
	__atomic_sub_fetch(&r->o->cold, 1, __ATOMIC_ACQ_REL);
	return error;
}

/*
 * eof is a fact about the size (RFC 1813 3.3.6), not about having got less than asked. When the
 * file itself said that there is no more, it is asked for its size again, unless sizes of its kind
 * lie.
 */
static int
conclude(struct reading *r)
{
	struct vfs_data *d = r->d;
	struct stat st;

	if (d->len == 0 && d->mem)
		give_back(r);
	if (!r->ended) {
		d->eof = r->off < r->size && r->off + d->len >= r->size;
		return 0;
	}
	if (!r->o->ex->fs.local) {
		d->eof = true;
		return 0;
	}
	if (fstat(r->rfd, &st) != 0)
		return errno;
	d->eof = r->off + d->len >= (uint64_t)st.st_size;
	return d->len || d->eof ? 0 : EAGAIN; /* cut off and grown again: nothing to say now */
}

/* How much to ask for: what the size allows; on a file system whose sizes may lie, a READ beyond
 * the end is worth a try. */
static uint32_t
wanted(const struct reading *r, uint32_t count)
{
	uint64_t n = min64(count, VFS_READ_MAX);

	if (r->off < r->size)
		return (uint32_t)min64(n, r->size - r->off);
	if (r->o->ex->fs.local || r->off > (uint64_t)INT64_MAX - n)
		return 0;
	return (uint32_t)n;
}

int
vfs_read(const struct vfs_ctx *ctx, struct obj *o, uint64_t offset, uint32_t count, bool copy,
	 const int pipe[2], struct stat *st, struct vfs_data *d)
{
	struct reading r = {.ctx = ctx, .o = o, .off = offset, .d = d};
	uint32_t from = threshold(ctx);
	int error;

	*d = (struct vfs_data){.fd = -1, .pipe = {-1, -1}};
	if (!S_ISREG(o->type))
		return S_ISDIR(o->type) ? EISDIR : EINVAL;
	error = vfs_getattr(ctx, o, st);
	if (!error)
		error = may_read(ctx, o, st);
	if (error)
		return error;
	r.size = (uint64_t)st->st_size;
	r.want = wanted(&r, count);
	if (r.want == 0) {
		d->eof = offset >= r.size;
		return 0;
	}
	error = obj_reader(ctx->vfs->files, o, ctx->may_sleep, &r.rfd);
	if (error)
		return error;
	r.splice = !copy && from != UINT32_MAX && r.want >= from && r.off < r.size &&
		   !__atomic_load_n(&o->nosplice, __ATOMIC_RELAXED);
	error = ctx->may_sleep ? in_worker(&r, copy, pipe) : on_loop(&r, copy);
	return error ? error : conclude(&r);
}
