/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writing thread of the store. Everything that wants to be written is queued; the thread takes
 * all that has gathered and commits it in one transaction, so that a hundred callers pay for one
 * fsync. Those who need to know wait (serials: the handle must not leave before its row is on the
 * disk); the rest (names, the mount list) is gathered for a while so that it costs few commits, and
 * is dropped when too much of it is waiting.
 *
 * A batch that fails is tried again after mending (db_mend). If it still fails, each waiting
 * request is tried alone, so that one bad row does not fail its neighbours; names of that batch are
 * lost, which only makes descriptions poorer. What was done to names is not lost (owed.c).
 *
 * Serials are never used twice, not even when the file was lost or replaced by an older copy: each
 * run begins with the time in the upper half, a random number in the lower, and above everything
 * that the file has seen.
 */
#include "log.h"
#include "stat.h"
#include "store_int.h"
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ITEM_BYTES_MAX ((size_t)1 << 20)
#define GATHER_NS 200000000
#define SECOND_NS 1000000000

static int64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * SECOND_NS + ts.tv_nsec;
}

bool
row_has_link(const struct db_row *r, const struct store_row *want)
{
	for (unsigned i = 0; i < r->nlinks; i++)
		if (r->link[i].parent == want->parent && r->link[i].namelen == want->namelen &&
		    memcmp(r->link[i].name, want->name, want->namelen) == 0)
			return true;
	return false;
}

void
row_add_link(struct db_row *r, const struct store_row *row)
{
	if (r->nlinks == DB_LINKS)
		r->nlinks--;
	memmove(&r->link[1], &r->link[0], r->nlinks * sizeof r->link[0]);
	r->nlinks++;
	r->link[0].parent = row->parent;
	r->link[0].namelen = row->namelen;
	memcpy(r->link[0].name, row->name, row->namelen);
	r->link[0].name[row->namelen] = '\0';
}

/* Is the object that row describes the one of this former row? Not if its inode number may have
 * been dealt to another meanwhile. */
static bool
same_object(const struct db_row *old, const struct store_row *row)
{
	return old->inst == row->inst || row_has_link(old, row);
}

int
writer_issue(struct store *s, struct db_txn *t, struct store_row *row, bool *dirty)
{
	struct db_row new, old;
	uint64_t serial;
	int rc = db_ident_get(t, &row->id, &serial);

	if (rc == 0)
		rc = db_row_get(t, serial, &old);
	if (rc && rc != ENOENT)
		return rc;
	if (rc == 0 && same_object(&old, row)) {
		sweep_save(s, serial, true);
		row->serial = serial;
		if (old.inst == row->inst && row_has_link(&old, row))
			return 0;
		new = old;
		new.inst = row->inst;
		if (!row_has_link(&old, row))
			row_add_link(&new, row);
		*dirty = true;
		return db_row_put(t, &new, &old);
	}
	memset(&new, 0, sizeof new);
	new.id = row->id;
	new.inst = row->inst;
	new.serial = row->serial = s->next_serial++;
	row_add_link(&new, row);
	*dirty = true;
	rc = db_row_put(t, &new, NULL);
	return rc ? rc : db_serial_put(t, new.serial);
}

/* From here on nobody can save a doomed row. */
static void
close_doors(struct store *s)
{
	pthread_mutex_lock(&s->lock);
	s->removing = true;
	pthread_mutex_unlock(&s->lock);
}

static bool
is_saved(const struct store *s, uint64_t serial)
{
	for (size_t i = 0; i < s->ndoomed; i++)
		if (s->doomed[i].serial == serial)
			return s->doomed[i].saved;
	return false;
}

static int
delete_rows(struct store *s, struct db_txn *t, struct req *r, bool *dirty)
{
	struct db_row now;
	int rc;

	close_doors(s);
	r->gone = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (is_saved(s, r->dead[i].serial))
			continue;
		rc = db_row_get(t, r->dead[i].serial, &now);
		if (rc == 0)
			rc = db_row_del(t, &now);
		if (rc && rc != ENOENT)
			return rc;
		r->gone += rc == 0;
		*dirty = true;
	}
	return 0;
}

static int
apply_req(struct store *s, struct db_txn *t, struct req *r, bool *dirty)
{
	int rc = 0;

	switch (r->kind) {
	case REQ_ISSUE:
		for (size_t i = 0; rc == 0 && i < r->n; i++)
			rc = writer_issue(s, t, &r->rows[i], dirty);
		return rc;
	case REQ_DELETE:
		return delete_rows(s, t, r, dirty);
	case REQ_FLUSH:
		return 0;
	case REQ_FOLLOW:
		/* not before those that were done earlier */
		if (!r->owed && atomic_load(&s->nowed) && r->changes->step != STORE_MADE)
			return s->owed_error;
		for (size_t i = 0; rc == 0 && i < r->n; i++)
			rc = change_apply(s, t, &r->changes[i], dirty);
		return rc;
	case REQ_EXCL:
		*dirty = true;
		return db_excl_put(t, r->id, r->verifier, (uint64_t)time(NULL));
	}
	return EINVAL;
}

static int
apply_note(struct db_txn *t, const struct item *i, bool *dirty)
{
	struct db_link was, now = {.parent = i->parent, .namelen = (uint16_t)i->len};

	memcpy(now.name, i->text, i->len);
	if (db_note_get(t, i->fs_id, i->ino, &was) == 0 && was.parent == now.parent &&
	    was.namelen == now.namelen && memcmp(was.name, now.name, now.namelen) == 0)
		return 0;
	*dirty = true;
	return db_note_put(t, i->fs_id, i->ino, &now);
}

static int
apply_item(struct db_txn *t, const struct item *i, bool *dirty)
{
	const char *path = i->text + strnlen(i->text, i->len) + 1;
	struct store_ident id;
	int rc;

	switch (i->kind) {
	case ITEM_NOTE:
		return apply_note(t, i, dirty);
	case ITEM_MOUNT:
		rc = db_mount_put(t, i->text, path);
		break;
	case ITEM_UNMOUNT:
		rc = db_mount_del(t, i->text, i->has_path ? path : NULL);
		break;
	case ITEM_EXCL_DROP:
		memcpy(&id, i->text, sizeof id);
		rc = db_excl_del(t, &id);
		break;
	default:
		return EINVAL;
	}
	if (rc == EEXIST || rc == ENOENT || rc == ENAMETOOLONG)
		return 0;
	*dirty = true;
	return rc;
}

/* One transaction. Nothing new: nothing is written. */
static int
try_batch(struct store *s, struct req *reqs, struct req *stop, const struct item *items)
{
	struct db_txn t;
	bool dirty = false;
	int rc = db_write(s->db, &t);

	if (rc)
		return rc;
	for (const struct item *i = items; rc == 0 && i; i = i->next)
		rc = apply_item(&t, i, &dirty);
	for (struct req *r = reqs; rc == 0 && r != stop; r = r->next)
		rc = apply_req(s, &t, r, &dirty);
	if (rc || !dirty) {
		db_abort(&t);
		return rc;
	}
	stat_inc(ST_STORE_COMMITS);
	return db_commit(&t);
}

/* As often as mending helps; each mending enlarges the map, so this ends. */
static int
run_batch(struct store *s, struct req *reqs, struct req *stop, const struct item *items)
{
	int rc = 0;

	for (int tries = 0; tries < 8; tries++) {
		rc = try_batch(s, reqs, stop, items);
		if (rc == 0 || !db_mend(s->db, rc))
			break;
	}
	return rc;
}

int
writer_batch(struct store *s, struct req *first, struct req *stop)
{
	return run_batch(s, first, stop, NULL);
}

static void
say_failed(int rc)
{
	static struct log_limit limit = {.burst = 3};

	if (log_may(&limit))
		log_error("the store cannot be written: %s%s", strerror(rc),
			  rc == ENOSPC ? "; make room on the disk of the state directory" : "");
}

static void
run(struct store *s, struct req *reqs, const struct item *items)
{
	owed_pay(s);
	int rc = run_batch(s, reqs, NULL, items);
	if (rc) {
		say_failed(rc);
		for (size_t i = 0; items && i < RECENT; i++)
			atomic_store_explicit(&s->recent[i], 0, memory_order_relaxed);
		for (const struct item *i = items; i; i = i->next)
			stat_inc(ST_STORE_DROPPED);
	}
	for (struct req *r = reqs; r; r = r->next) {
		r->err = rc ? run_batch(s, r, r->next, NULL) : 0;
		if (r->err)
			owed_add(s, r);
	}
}

static void
free_items(struct item *i)
{
	while (i) {
		struct item *next = i->next;

		free(i);
		i = next;
	}
}

static void
wait_until(struct store *s, int64_t at)
{
	const struct timespec until = {at / SECOND_NS, at % SECOND_NS};

	pthread_cond_timedwait(&s->work, &s->lock, &until);
}

/* Under the lock: until there is something to do now. */
static void
wait_for_work(struct store *s)
{
	int64_t pay = now_ns() + SECOND_NS;

	while (!s->stop && !s->reqs) {
		int64_t gathered = s->items_since + GATHER_NS;

		if (s->items && (s->item_bytes > ITEM_BYTES_MAX / 2 || now_ns() >= gathered))
			return;
		if (s->owed && now_ns() >= pay)
			return;
		if (s->items)
			wait_until(s, gathered);
		else if (s->owed)
			wait_until(s, pay);
		else
			pthread_cond_wait(&s->work, &s->lock);
	}
}

static void *
writer(void *arg)
{
	struct store *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		wait_for_work(s);
		if (s->stop && !s->reqs && !s->items)
			break;
		struct req *reqs = s->reqs;
		struct item *items = s->items;

		s->reqs = NULL;
		s->reqs_end = &s->reqs;
		s->items = NULL;
		s->items_end = &s->items;
		s->item_bytes = 0;
		pthread_mutex_unlock(&s->lock);
		run(s, reqs, items);
		free_items(items);
		pthread_mutex_lock(&s->lock);
		for (struct req *next; reqs; reqs = next) {
			next = reqs->next; /* a finished request is its waiter's again */
			reqs->done = true;
		}
		pthread_cond_broadcast(&s->done);
	}
	pthread_mutex_unlock(&s->lock);
	owed_pay(s);
	owed_drop(s);
	return NULL;
}

int
writer_wait(struct store *s, struct req *r)
{
	if (getpid() != s->pid)
		return EIO; /* the other side of a fork has no writing thread */
	r->next = NULL;
	r->done = false;
	pthread_mutex_lock(&s->lock);
	*s->reqs_end = r;
	s->reqs_end = &r->next;
	pthread_cond_signal(&s->work);
	while (!r->done)
		pthread_cond_wait(&s->done, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return r->err;
}

/* False: too much is waiting, and the item is the caller's again. */
static bool
push_item(struct store *s, struct item *i)
{
	bool wake;

	pthread_mutex_lock(&s->lock);
	if (s->item_bytes > ITEM_BYTES_MAX) {
		pthread_mutex_unlock(&s->lock);
		return false;
	}
	wake = !s->items;
	if (wake)
		s->items_since = now_ns();
	i->next = NULL;
	*s->items_end = i;
	s->items_end = &i->next;
	s->item_bytes += sizeof *i + i->len;
	wake = wake || s->item_bytes > ITEM_BYTES_MAX / 2;
	if (wake)
		pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	return true;
}

struct item *
writer_item(enum item_kind kind, size_t len)
{
	struct item *i = calloc(1, sizeof *i + len + 2);

	if (i) {
		i->kind = kind;
		i->len = len;
	}
	return i;
}

void
writer_push(struct store *s, struct item *i)
{
	if (i && push_item(s, i))
		return;
	free(i);
	stat_inc(ST_STORE_DROPPED);
}

static uint64_t
note_hash(uint32_t fs_id, uint64_t ino, uint64_t parent, const char *name, size_t namelen)
{
	static const unsigned char key[crypto_shorthash_siphash24_KEYBYTES];
	unsigned char buf[24 + STORE_NAME_MAX] = {0};
	uint64_t h;

	memcpy(buf, &fs_id, 4);
	memcpy(buf + 8, &ino, 8);
	memcpy(buf + 16, &parent, 8);
	memcpy(buf + 24, name, namelen);
	crypto_shorthash_siphash24((unsigned char *)&h, buf, 24 + namelen, key);
	return h ? h : 1;
}

void
store_note(struct store *s, uint32_t fs_id, uint64_t ino, uint64_t parent_ino, const char *name,
	   size_t namelen)
{
	_Atomic uint64_t *seen;
	struct item *i;
	uint64_t h;

	if (namelen > STORE_NAME_MAX)
		return;
	h = note_hash(fs_id, ino, parent_ino, name, namelen);
	seen = &s->recent[h % RECENT];
	if (atomic_load_explicit(seen, memory_order_relaxed) == h)
		return;
	i = writer_item(ITEM_NOTE, namelen);
	if (i) {
		i->fs_id = fs_id;
		i->ino = ino;
		i->parent = parent_ino;
		memcpy(i->text, name, namelen);
		atomic_store_explicit(seen, h, memory_order_relaxed);
		if (push_item(s, i))
			return;
		atomic_store_explicit(seen, 0, memory_order_relaxed);
		free(i);
	}
	stat_inc(ST_STORE_DROPPED);
}

static void
push_mount(struct store *s, enum item_kind kind, const char *host, const char *path)
{
	size_t h = strlen(host) + 1;
	size_t p = path ? strlen(path) + 1 : 0;
	struct item *i = writer_item(kind, h + p);

	if (i) {
		memcpy(i->text, host, h);
		if (path)
			memcpy(i->text + h, path, p);
		i->has_path = path != NULL;
	}
	writer_push(s, i);
}

void
store_mount_add(struct store *s, const char *host, const char *path)
{
	push_mount(s, ITEM_MOUNT, host, path);
}

void
store_mount_del(struct store *s, const char *host, const char *path)
{
	push_mount(s, ITEM_UNMOUNT, host, path);
}

void
store_flush(struct store *s)
{
	struct req r = {.kind = REQ_FLUSH};

	writer_wait(s, &r);
}

/* Each run has an upper half of its own: the time, or the next after the last that the file has
 * seen. */
static int
first_serial(struct store *s)
{
	struct db_txn t;
	uint64_t last, era = (uint64_t)time(NULL) & UINT32_MAX;
	int rc = db_read(s->db, &t);

	if (rc)
		return rc;
	rc = db_serial_get(&t, &last);
	db_abort(&t);
	if (era <= last >> 32)
		era = (last >> 32) + 1;
	s->next_serial = era << 32 | randombytes_random();
	return rc;
}

int
writer_start(struct store *s)
{
	pthread_condattr_t a;
	int rc = first_serial(s);

	if (rc)
		return rc;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->sweep_lock, NULL);
	pthread_cond_init(&s->work, &a);
	pthread_cond_init(&s->done, &a);
	pthread_condattr_destroy(&a);
	s->reqs_end = &s->reqs;
	s->items_end = &s->items;
	s->owed_end = &s->owed;
	return pthread_create(&s->thread, NULL, writer, s);
}

void
writer_stop(struct store *s)
{
	if (getpid() == s->pid) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_cond_signal(&s->work);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
	}
	pthread_cond_destroy(&s->done);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->sweep_lock);
	pthread_mutex_destroy(&s->lock);
}
