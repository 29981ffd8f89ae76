/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening the store, asking it, sweeping it. Writing is in writer.c, tables in dbrow.c.
 *
 * A sweep removes rows of objects that are gone. Finding that out takes time, and meanwhile the
 * object may come to light again and its serial be given to a client, whose handle must then work.
 * So the candidates are doomed first; issuing a doomed serial saves it, and once removal has begun
 * an issue goes the slow way, through the writing thread, behind the removal.
 */
#include "store.h"
#include "say.h"
#include "stat.h"
#include "statedir.h"
#include "store_int.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define CHUNK 128 /* rows per read transaction */

/* Locks DIR/lock for the life of the process; the lock file says whose it is. */
static int
take_lock(struct store *s, char *err, size_t errlen)
{
	char text[32] = "";
	ssize_t n;

	s->lockfd = openat(s->dirfd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->lockfd < 0)
		return say(err, errlen, errno, "%s/lock: %s", s->dir, strerror(errno));
	if (flock(s->lockfd, LOCK_EX | LOCK_NB) < 0) {
		int code = errno;

		n = pread(s->lockfd, text, sizeof text - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		text[strcspn(text, "\n")] = '\0';
		return say(err, errlen, code == EWOULDBLOCK ? EBUSY : code,
			   code == EWOULDBLOCK
			       ? "%s: another server (process %s) uses this state directory; stop "
				 "it, or choose another directory with -s"
			       : "%s: cannot lock the state directory: %s",
			   s->dir, code == EWOULDBLOCK ? text : strerror(code));
	}
	n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	if (ftruncate(s->lockfd, 0) < 0 || pwrite(s->lockfd, text, (size_t)n, 0) != n)
		return say(err, errlen, errno, "%s/lock: %s", s->dir, strerror(errno));
	return 0;
}

static void
release(struct store *s)
{
	db_close(s->db);
	if (s->lockfd >= 0)
		close(s->lockfd);
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s->dir);
	free(s);
}

struct store *
store_open_limits(const char *statedir, const struct store_limits *lim, char *err, size_t errlen)
{
	struct store *s = calloc(1, sizeof *s);
	int rc;

	if (!s) {
		say(err, errlen, ENOMEM, "no memory for the store");
		return NULL;
	}
	s->lockfd = -1;
	s->pid = getpid();
	s->dirfd = statedir_open(statedir, err, errlen);
	s->dir = realpath(statedir, NULL);
	if (s->dirfd < 0 || !s->dir || take_lock(s, err, errlen)) {
		release(s);
		return NULL;
	}
	s->db = db_open(s->dir, s->dirfd, lim, err, errlen);
	if (!s->db) {
		release(s);
		return NULL;
	}
	rc = writer_start(s);
	if (rc) {
		say(err, errlen, rc, "%s: the store cannot start: %s", s->dir, strerror(rc));
		release(s);
		return NULL;
	}
	return s;
}

struct store *
store_open(const char *statedir, char *err, size_t errlen)
{
	const struct store_limits usual = {0, 0};

	return store_open_limits(statedir, &usual, err, errlen);
}

void
store_close(struct store *s)
{
	if (!s)
		return;
	writer_stop(s);
	release(s);
}

const char *
store_dir(const struct store *s)
{
	return s->dir;
}

static void
to_store_row(const struct db_row *r, unsigned link, struct store_row *out)
{
	out->id = r->id;
	out->inst = r->inst;
	out->serial = r->serial;
	out->parent = r->link[link].parent;
	out->namelen = r->link[link].namelen;
	memcpy(out->name, r->link[link].name, out->namelen);
	out->name[out->namelen] = '\0';
}

/* Not on the other side of a fork. */
int
store_begin(struct store *s, struct db_txn *t)
{
	return getpid() == s->pid ? db_read(s->db, t) : EIO;
}

/* What is owed to a row (owed.c). ENOENT: it is gone. */
static int
bring_up(struct store *s, struct db_row *row)
{
	struct store_change c;

	if (!owed_look(s, row->serial, &c))
		return 0;
	if (c.step == STORE_GONE)
		return ENOENT;
	row->id = c.now.id;
	row->inst = c.now.inst;
	row_add_link(row, &c.now);
	return 0;
}

/* Are all of these known just so? Then their serials, without writing. */
static bool
all_known(struct store *s, struct store_row *rows, size_t n)
{
	struct store_change c;
	struct db_row r;
	struct db_txn t;
	bool known = true;

	if (store_begin(s, &t))
		return false;
	for (size_t i = 0; known && i < n; i++) {
		known = db_ident_get(&t, &rows[i].id, &rows[i].serial) == 0 &&
			db_row_get(&t, rows[i].serial, &r) == 0 && r.inst == rows[i].inst &&
			row_has_link(&r, &rows[i]) && !owed_look(s, rows[i].serial, &c);
	}
	db_abort(&t);
	return known;
}

bool
sweep_save(struct store *s, uint64_t serial, bool by_writer)
{
	bool saved = true;
	size_t lo = 0, hi;

	pthread_mutex_lock(&s->lock);
	hi = s->ndoomed;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->doomed[mid].serial < serial)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < s->ndoomed && s->doomed[lo].serial == serial) {
		saved = !s->removing || s->doomed[lo].saved || by_writer;
		if (saved && !s->doomed[lo].saved)
			s->doomed[lo].saved = true;
	}
	pthread_mutex_unlock(&s->lock);
	return saved;
}

int
store_issue(struct store *s, struct store_row *rows, size_t n)
{
	struct req r = {.kind = REQ_ISSUE, .rows = rows, .n = n};
	uint64_t sweeps = atomic_load(&s->sweeps);
	bool known;

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (rows[i].namelen > STORE_NAME_MAX)
			return ENAMETOOLONG;
	known = all_known(s, rows, n);
	for (size_t i = 0; known && i < n; i++)
		known = sweep_save(s, rows[i].serial, false);
	if (known && atomic_load(&s->sweeps) == sweeps)
		return 0;
	return writer_wait(s, &r);
}

int
store_known(struct store *s, const struct store_ident *id, uint64_t inst, uint64_t *serial)
{
	struct db_txn t;
	struct db_row row;
	struct store_change c;
	uint64_t sweeps = atomic_load(&s->sweeps);
	int rc = store_begin(s, &t);

	if (rc)
		return rc;
	rc = db_ident_get(&t, id, serial);
	if (rc == 0)
		rc = db_row_get(&t, *serial, &row);
	db_abort(&t);
	if (rc == 0 && owed_look(s, *serial, &c) &&
	    (c.step == STORE_GONE || memcmp(&c.now.id, id, sizeof *id) != 0))
		rc = ENOENT;
	if (rc == 0 && (row.inst != inst || !sweep_save(s, *serial, false) ||
			atomic_load(&s->sweeps) != sweeps))
		rc = ENOENT;
	return rc;
}

static int
find(struct store *s, uint32_t fs_id, uint64_t serial, struct db_row *row)
{
	struct db_txn t;
	int rc = store_begin(s, &t);

	if (rc)
		return rc;
	rc = db_row_get(&t, serial, row);
	db_abort(&t);
	if (rc == 0 && row->id.fs_id != fs_id)
		rc = ENOENT;
	if (rc == 0)
		rc = bring_up(s, row);
	stat_inc(rc == 0 ? ST_STORE_HIT : ST_STORE_MISS);
	return rc;
}

int
store_find(struct store *s, uint32_t fs_id, uint64_t serial, struct store_row *out)
{
	struct db_row row;
	int rc = find(s, fs_id, serial, &row);

	if (rc == 0)
		to_store_row(&row, 0, out);
	return rc;
}

int
store_links(struct store *s, uint32_t fs_id, uint64_t serial, struct store_row *out, size_t max,
	    size_t *n)
{
	struct db_row row;
	int rc = find(s, fs_id, serial, &row);

	*n = 0;
	for (unsigned i = 0; rc == 0 && i < row.nlinks && i < max; i++)
		to_store_row(&row, i, &out[(*n)++]);
	return rc;
}

int
store_children(struct store *s, uint32_t fs_id, uint64_t parent,
	       int (*fn)(void *, const struct store_row *), void *arg)
{
	uint64_t v[CHUNK], after = 0;
	struct db_txn t;
	struct store_row row;
	size_t n;
	int rc;

	do {
		rc = store_begin(s, &t);
		if (rc)
			return rc;
		rc = db_children(&t, fs_id, parent, after, v, CHUNK, &n);
		db_abort(&t);
		for (size_t i = 0; rc == 0 && i < n; i++) {
			after = v[i];
			if (store_find(s, fs_id, v[i], &row) == 0 && fn(arg, &row))
				return 0;
		}
	} while (rc == 0 && n == CHUNK);
	return rc;
}

int
store_parents(struct store *s, uint32_t fs_id, int (*fn)(void *, uint64_t), void *arg)
{
	uint64_t v[CHUNK], after = 0;
	struct db_txn t;
	bool first = true;
	size_t n;
	int rc;

	do {
		rc = store_begin(s, &t);
		if (rc)
			return rc;
		rc = db_parents(&t, fs_id, first, after, v, CHUNK, &n);
		db_abort(&t);
		first = false;
		for (size_t i = 0; rc == 0 && i < n; i++) {
			after = v[i];
			if (fn(arg, v[i]))
				return 0;
		}
	} while (rc == 0 && n == CHUNK);
	return rc;
}

int
store_noted(struct store *s, uint32_t fs_id, uint64_t ino, struct store_row *out)
{
	struct db_link l;
	struct db_txn t;
	int rc = store_begin(s, &t);

	if (rc)
		return rc;
	rc = db_note_get(&t, fs_id, ino, &l);
	db_abort(&t);
	if (rc)
		return rc;
	memset(out, 0, sizeof *out);
	out->id.fs_id = fs_id;
	out->id.ino = ino;
	out->parent = l.parent;
	out->namelen = l.namelen;
	memcpy(out->name, l.name, (size_t)l.namelen + 1);
	return 0;
}

/* The next rows to look at; from the beginning again after the end. */
static size_t
next_rows(struct store *s, struct db_row *rows, size_t max)
{
	struct db_txn t;
	size_t n = 0;
	int rc = store_begin(s, &t);

	if (rc)
		return 0;
	if (db_rows_after(&t, s->sweep_at, rows, max, &n))
		n = 0;
	db_abort(&t);
	s->sweep_at = n == max ? rows[n - 1].serial : 0;
	return n;
}

static void
doom(struct store *s, struct doomed *d, size_t n)
{
	pthread_mutex_lock(&s->lock);
	s->doomed = d;
	s->ndoomed = n;
	s->removing = false;
	pthread_mutex_unlock(&s->lock);
}

/* Removes those of rows (in order of serial) for which alive says no. */
static size_t
sweep_rows(struct store *s, bool (*alive)(void *, const struct store_row *), void *arg,
	   struct db_row *rows, struct doomed *d, size_t n)
{
	struct req r = {.kind = REQ_DELETE, .dead = rows};
	struct store_row row;

	for (size_t i = 0; i < n; i++)
		d[i] = (struct doomed){rows[i].serial, false};
	doom(s, d, n);
	for (size_t i = 0; i < n; i++) {
		to_store_row(&rows[i], 0, &row);
		if (!alive(arg, &row))
			rows[r.n++] = rows[i];
	}
	if (r.n)
		writer_wait(s, &r);
	atomic_fetch_add(&s->sweeps, 1);
	doom(s, NULL, 0);
	return r.err ? 0 : r.gone;
}

size_t
store_sweep(struct store *s, bool (*alive)(void *, const struct store_row *), void *arg, size_t max)
{
	struct db_row *rows = malloc(max * sizeof *rows);
	struct doomed *d = malloc(max * sizeof *d);
	size_t gone = 0, n;

	pthread_mutex_lock(&s->sweep_lock);
	n = rows && d && max ? next_rows(s, rows, max) : 0;
	if (n)
		gone = sweep_rows(s, alive, arg, rows, d, n);
	pthread_mutex_unlock(&s->sweep_lock);
	free(rows);
	free(d);
	return gone;
}

int
store_mounts(struct store *s, int (*fn)(void *, const char *, const char *), void *arg)
{
	struct db_txn t;
	int rc;

	store_flush(s); /* what was answered before is in the list */
	rc = store_begin(s, &t);
	if (rc)
		return rc;
	rc = db_mounts(&t, fn, arg);
	db_abort(&t);
	return rc;
}

void
store_info(struct store *s, struct store_info *out)
{
	db_info(s->db, out);
}
