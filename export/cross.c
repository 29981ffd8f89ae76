/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding crossings. A mount point is known by the directory that holds it (device, inode), the
 * mount through which that directory is seen, and the name: the covered directory itself can only
 * be looked at where the server has mounts of its own. None of this can change under a mount: the
 * kernel refuses to rename or remove what is mounted on (EBUSY); a directory above it may be
 * renamed, which changes nothing here, as the directory is held open.
 */
#include "cross.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct crossing *
crossing_ref(struct crossing *c)
{
	__atomic_fetch_add(&c->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void
crossing_put(struct crossing *c)
{
	if (!c || __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (c->dir >= 0)
		close(c->dir);
	export_put(c->from);
	free(c->path);
	free(c);
}

struct where {
	uint64_t ino, dev;
	const char *name;
	size_t len;
};

static int
compare(const struct where *w, const struct crossing *c)
{
	if (w->ino != c->ino)
		return w->ino < c->ino ? -1 : 1;
	if (w->dev != c->dev)
		return w->dev < c->dev ? -1 : 1;
	if (w->len != c->namelen)
		return w->len < c->namelen ? -1 : 1;
	return memcmp(w->name, c->name, w->len);
}

static int
order(const void *a, const void *b)
{
	const struct crossing *x = ((const struct cross *)a)->c, *y = ((const struct cross *)b)->c;

	int d = compare(&(struct where){x->ino, x->dev, x->name, x->namelen}, y);

	return d ? d : strcmp(x->path, y->path);
}

void
cross_sort(struct export_table *t)
{
	if (t->ncross)
		qsort(t->cross, t->ncross, sizeof *t->cross, order);
}

bool
cross_same(const struct export_table *a, const struct export_table *b)
{
	if (a->ncross != b->ncross)
		return false;
	for (size_t i = 0; i < a->ncross; i++)
		if (a->cross[i].c != b->cross[i].c || a->v[a->cross[i].to] != b->v[b->cross[i].to])
			return false;
	return true;
}

/* The first that is not before w. */
static size_t
lower(const struct export_table *t, const struct where *w)
{
	size_t lo = 0, hi = t->ncross;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare(w, t->cross[mid].c) > 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool
cross_any(const struct export_table *t, const struct export *ex, uint64_t ino)
{
	size_t at = t->ncross ? lower(t, &(struct where){ino, 0, "", 0}) : 0;

	for (; at < t->ncross && t->cross[at].c->ino == ino; at++)
		if (t->cross[at].c->from->fs.mnt_id == ex->fs.mnt_id)
			return true;
	return false;
}

const struct cross *
cross_at(const struct export_table *t, const struct export *ex, uint64_t dev, uint64_t ino,
	 const char *name, size_t len)
{
	const struct where w = {ino, dev, name, len};

	for (size_t at = lower(t, &w); at < t->ncross && compare(&w, t->cross[at].c) == 0; at++)
		if (t->cross[at].c->from->fs.mnt_id == ex->fs.mnt_id)
			return &t->cross[at];
	return NULL;
}

const struct cross *
cross_above(const struct export_table *t, const struct export *ex)
{
	const struct cross *found = NULL;

	for (size_t i = 0; i < t->ncross; i++)
		if (t->v[t->cross[i].to] == ex &&
		    (!found || strcmp(t->cross[i].c->path, ex->path) == 0))
			found = &t->cross[i];
	return found;
}
