/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of rows when names are made, moved and taken away through this server, and the
 * verifiers of exclusive creation.
 *
 * A row's names are hints and its identity is verified whenever it is opened, so nothing here can
 * lead to a wrong object, with one exception: where the file system says nothing that lasts (FUSE),
 * an inode number is dealt again, and only whoever saw the object being made knows that it is
 * another. Hence MADE takes the identity away from whoever had it, and GONE deletes at once instead
 * of leaving that to a sweep.
 */
#include "store_int.h"
#include <errno.h>
#include <string.h>

/* Can an identity of this kind never be another object's? */
static bool
lasts(const struct store_ident *id)
{
	return id->extra || id->btime_ns;
}

static bool
same_ident(const struct store_ident *a, const struct store_ident *b)
{
	return a->fs_id == b->fs_id && a->type == b->type && a->ino == b->ino &&
	       a->extra == b->extra && a->btime_ns == b->btime_ns;
}

static void
drop_link(struct db_row *r, const struct store_row *at)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->nlinks; i++) {
		const struct db_link *l = &r->link[i];

		if (l->parent == at->parent && l->namelen == at->namelen &&
		    memcmp(l->name, at->name, at->namelen) == 0)
			continue;
		if (n != i)
			r->link[n] = *l;
		n++;
	}
	r->nlinks = n;
}

/* Deletes the row that has this identity, unless it is this serial's. */
static int
evict_ident(struct db_txn *t, const struct store_ident *id, uint64_t serial)
{
	struct db_row row;
	uint64_t owner;
	int rc = db_ident_get(t, id, &owner);

	if (rc || owner == serial)
		return rc == ENOENT ? 0 : rc;
	rc = db_row_get(t, owner, &row);
	if (rc == 0)
		rc = db_row_del(t, &row);
	return rc == ENOENT ? 0 : rc;
}

static int
made(struct store *s, struct db_txn *t, struct store_change *c, bool *dirty)
{
	int rc = lasts(&c->now.id) ? 0 : evict_ident(t, &c->now.id, 0);

	if (rc == 0)
		rc = writer_issue(s, t, &c->now, dirty);
	c->serial = c->now.serial;
	return rc;
}

static int
moved(struct store *s, struct db_txn *t, const struct store_change *c, const struct db_row *old)
{
	struct db_row new = *old;
	int rc;

	sweep_save(s, c->serial, true);
	drop_link(&new, &c->was);
	drop_link(&new, &c->now);
	row_add_link(&new, &c->now);
	new.id = c->now.id;
	new.inst = c->now.inst;
	if (same_ident(&new.id, &old->id))
		return db_row_put(t, &new, old);
	rc = evict_ident(t, &new.id, c->serial);
	if (rc == 0)
		rc = db_row_del(t, old);
	return rc ? rc : db_row_put(t, &new, NULL);
}

static int
linked(struct store *s, struct db_txn *t, const struct store_change *c, const struct db_row *old)
{
	struct db_row new = *old;

	sweep_save(s, c->serial, true);
	drop_link(&new, &c->now);
	row_add_link(&new, &c->now);
	return db_row_put(t, &new, old);
}

static int
unlinked(struct db_txn *t, const struct store_change *c, const struct db_row *old)
{
	struct db_row new = *old;

	drop_link(&new, &c->was);
	return new.nlinks ? db_row_put(t, &new, old) : 0; /* its last known place is a hint still */
}

int
change_apply(struct store *s, struct db_txn *t, struct store_change *c, bool *dirty)
{
	struct db_row old;
	int rc;

	if (c->step == STORE_MADE)
		return made(s, t, c, dirty);
	rc = db_row_get(t, c->serial, &old);
	if (rc)
		return rc == ENOENT ? 0 : rc;
	*dirty = true;
	switch (c->step) {
	case STORE_MOVED:
		return moved(s, t, c, &old);
	case STORE_LINKED:
		return linked(s, t, c, &old);
	case STORE_UNLINKED:
		return unlinked(t, c, &old);
	case STORE_GONE:
		return db_row_del(t, &old);
	default:
		return EINVAL;
	}
}

int
store_follow(struct store *s, struct store_change *changes, size_t n)
{
	struct req r = {.kind = REQ_FOLLOW, .changes = changes, .n = n};

	return n ? writer_wait(s, &r) : 0;
}

int
store_excl_put(struct store *s, const struct store_ident *id, const unsigned char v[8])
{
	struct req r = {.kind = REQ_EXCL, .id = id, .verifier = v};

	return writer_wait(s, &r);
}

int
store_excl_get(struct store *s, const struct store_ident *id, unsigned char v[8])
{
	struct db_txn t;
	int rc = store_begin(s, &t);

	if (rc)
		return rc;
	rc = db_excl_get(&t, id, v);
	db_abort(&t);
	return rc;
}

void
store_excl_drop(struct store *s, const struct store_ident *id)
{
	unsigned char v[8];
	struct item *i;

	if (store_excl_get(s, id, v) == ENOENT)
		return;
	i = writer_item(ITEM_EXCL_DROP, sizeof *id);
	if (i)
		memcpy(i->text, id, sizeof *id);
	writer_push(s, i);
}
