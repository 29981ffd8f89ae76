/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was done to names and could not be written: the disk of the store is full, or fails.
 *
 * The file system has been changed and the client is told so; a store that cannot say it on disk
 * must not make a done removal look refused. So the change is remembered here, the store is read
 * as if it were written (owed_look), and the writing thread writes it as soon as it can: before the
 * next batch, every second, and at the end.
 *
 * Limits: a server that is killed before that has the rows as they were. They are verified when
 * they are opened, as for whatever is done behind the server's back. So it is when more than
 * OWED_MAX changes wait: of those the oldest is forgotten.
 */
#include "log.h"
#include "stat.h"
#include "store_int.h"
#include <errno.h>
#include <stdlib.h>

#define OWED_MAX 4096

struct owed {
	struct req r; /* the queue's order is that of the changes */
	struct store_change c;
};

static struct owed *
owed_of(struct req *r)
{
	return (struct owed *)r;
}

/* Takes the first n from the queue: of the writing thread. */
static void
forget(struct store *s, size_t n)
{
	while (n--) {
		pthread_mutex_lock(&s->lock);
		struct req *r = s->owed;
		s->owed = r->next;
		if (!s->owed)
			s->owed_end = &s->owed;
		pthread_mutex_unlock(&s->lock);
		atomic_fetch_sub(&s->nowed, 1);
		free(owed_of(r));
	}
}

static void
add(struct store *s, const struct store_change *c)
{
	struct owed *o = calloc(1, sizeof *o);

	if (!o || atomic_load(&s->nowed) == OWED_MAX)
		stat_inc(ST_STORE_DROPPED);
	if (!o)
		return;
	if (atomic_load(&s->nowed) == OWED_MAX)
		forget(s, 1);
	o->c = *c;
	o->r = (struct req){.kind = REQ_FOLLOW, .changes = &o->c, .n = 1, .owed = true};
	pthread_mutex_lock(&s->lock);
	*s->owed_end = &o->r;
	s->owed_end = &o->r.next;
	pthread_mutex_unlock(&s->lock);
	atomic_fetch_add(&s->nowed, 1);
}

void
owed_add(struct store *s, const struct req *r)
{
	if (r->kind != REQ_FOLLOW)
		return;
	for (size_t i = 0; i < r->n; i++)
		if (r->changes[i].step != STORE_MADE)
			add(s, &r->changes[i]);
}

void
owed_pay(struct store *s)
{
	size_t n = atomic_load(&s->nowed);
	int rc = n ? writer_batch(s, s->owed, NULL) : 0;

	/* in order, as far as it goes */
	for (size_t i = 0; rc && rc != ENOSPC && i < n; i++) {
		rc = writer_batch(s, s->owed, s->owed->next);
		if (rc == 0)
			forget(s, 1);
	}
	s->owed_error = rc;
	if (rc == 0)
		forget(s, atomic_load(&s->nowed));
	if (n && rc == 0)
		log_info("the store has caught up with %zu changes that could not be written", n);
}

void
owed_drop(struct store *s)
{
	size_t n = atomic_load(&s->nowed);

	if (n)
		log_error("%zu changes of names could not be written to the store; handles of what "
			  "was renamed or removed may be stale, or found again by searching",
			  n);
	forget(s, n);
}

bool
owed_look(struct store *s, uint64_t serial, struct store_change *c)
{
	bool found = false;

	if (atomic_load_explicit(&s->nowed, memory_order_relaxed) == 0)
		return false;
	pthread_mutex_lock(&s->lock);
	for (struct req *r = s->owed; r; r = r->next)
		if (r->changes->serial == serial &&
		    (r->changes->step == STORE_GONE || r->changes->step == STORE_MOVED)) {
			*c = *r->changes;
			found = true;
		}
	pthread_mutex_unlock(&s->lock);
	return found;
}
