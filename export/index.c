/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table has thousands of exports and every call looks one up by id: an open hash of twice the
 * size, filled in order, so that the first of equal ids wins. Paths are asked for at MNT only: a
 * sorted list, one search for each component of the path, from the longest.
 */
#include "index.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_MAX 1024 /* MNTPATHLEN: no export's path is longer */

/* Ids are keyed hashes already. */
static void
add_id(struct export_table *t, uint32_t id, size_t at)
{
	uint32_t i = id & t->mask;

	while (t->slots[i])
		i = (i + 1) & t->mask;
	t->slots[i] = (uint32_t)at + 1;
}

static int
key_order(const void *a, const void *b)
{
	return strcmp(((const struct path_key *)a)->path, ((const struct path_key *)b)->path);
}

static bool
add_path(struct export_table *t, const char *path, size_t at)
{
	struct path_key *k = &t->paths[t->npaths];

	k->path = strdup(path);
	k->at = at;
	t->npaths += k->path != NULL;
	return k->path;
}

/* What has a line is found by its path, and by each way in which that was written. */
static bool
add_paths(struct export_table *t, const char *path, const struct rules *r, size_t at)
{
	bool good = add_path(t, path, at);

	for (size_t i = 0; good && i < r->nwritten; i++)
		if (strcmp(r->written[i], path) != 0)
			good = add_path(t, r->written[i], at);
	return good;
}

/* Room for them all. */
static size_t
count_paths(const struct export_table *t)
{
	size_t n = t->n + t->nabsent;

	for (size_t i = 0; i < t->n; i++)
		n += t->rules[i]->nwritten;
	for (size_t i = 0; i < t->nabsent; i++)
		n += t->absent[i].rules->nwritten;
	return n;
}

static bool
index_paths(struct export_table *t)
{
	bool good = true;

	t->paths = calloc(count_paths(t) + 1, sizeof *t->paths);
	if (!t->paths)
		return false;
	for (size_t i = 0; good && i < t->n; i++)
		good = t->crossed[i] || add_paths(t, t->v[i]->path, t->rules[i], i);
	for (size_t i = 0; good && i < t->nabsent; i++)
		good = t->absent[i].crossed ||
		       add_paths(t, t->absent[i].path, t->absent[i].rules, t->n + i);
	qsort(t->paths, t->npaths, sizeof *t->paths, key_order);
	return good;
}

static bool
index_ids(struct export_table *t)
{
	uint32_t size = 16;

	while (size < 4 * t->n) /* each has up to two ids */
		size *= 2;
	t->slots = calloc(size, sizeof *t->slots);
	t->mask = size - 1;
	for (size_t i = 0; t->slots && i < t->n; i++)
		add_id(t, t->v[i]->id, i);
	for (size_t i = 0; t->slots && i < t->n; i++)
		if (t->v[i]->id_old)
			add_id(t, t->v[i]->id_old, i);
	return t->slots;
}

int
index_make(struct export_table *t)
{
	return index_ids(t) && index_paths(t) ? 0 : ENOMEM;
}

void
index_free(struct export_table *t)
{
	for (size_t i = 0; i < t->npaths; i++)
		free(t->paths[i].path);
	free(t->paths);
	free(t->slots);
}

static size_t
place_of(const struct export_table *t, uint32_t id)
{
	if (!t->slots)
		return t->n;
	for (uint32_t i = id & t->mask; t->slots[i]; i = (i + 1) & t->mask) {
		const struct export *ex = t->v[t->slots[i] - 1];

		if (ex->id == id || (ex->id_old && ex->id_old == id))
			return t->slots[i] - 1;
	}
	return t->n;
}

struct export *
export_by_id(const struct export_table *t, uint32_t id)
{
	size_t at = place_of(t, id);

	return at < t->n ? t->v[at] : NULL;
}

size_t
export_index(const struct export_table *t, const struct export *ex)
{
	size_t at = place_of(t, ex->id);

	return at < t->n && t->v[at] == ex ? at : t->n;
}

/* ---- paths ---- */

/* The components of a path, put together again with single slashes; where each ends, here and in
 * the original. */
struct split {
	char text[PREFIX_MAX + 1];
	unsigned n;
	unsigned short end[PREFIX_MAX / 2 + 1];
	const char *rest[PREFIX_MAX / 2 + 1];
};

/* False: not absolute, or with a "..". Components that no export can have are left out. */
static bool
split_path(struct split *s, const char *path)
{
	size_t used = 0;
	bool room = true;

	s->n = 0;
	if (*path != '/')
		return false;
	for (const char *p = path + strspn(path, "/"); *p; p += strspn(p, "/")) {
		size_t len = strcspn(p, "/");

		if (len == 2 && p[0] == '.' && p[1] == '.')
			return false;
		room = room && used + 1 + len <= PREFIX_MAX;
		if (room) {
			s->text[used++] = '/';
			memcpy(s->text + used, p, len);
			used += len;
			s->end[s->n] = (unsigned short)used;
			s->rest[s->n++] = p + len;
		}
		p += len;
	}
	s->text[used] = '\0';
	return true;
}

static const struct path_key *
find_path(const struct export_table *t, const char *path)
{
	const struct path_key key = {.path = (char *)(uintptr_t)path};

	return bsearch(&key, t->paths, t->npaths, sizeof key, key_order);
}

/* The longest key that is a prefix; *rest: what follows it. */
static const struct path_key *
longest(const struct export_table *t, const char *path, const char **rest)
{
	struct split s;

	if (!split_path(&s, path))
		return NULL;
	for (unsigned i = s.n; i > 0; i--) {
		const struct path_key *k;

		s.text[s.end[i - 1]] = '\0';
		k = find_path(t, s.text);
		*rest = s.rest[i - 1] + strspn(s.rest[i - 1], "/");
		if (k)
			return k;
	}
	*rest = path + strspn(path, "/");
	return find_path(t, "/");
}

struct export *
export_by_path(const struct export_table *t, const char *path, const char **rest)
{
	const struct path_key *k = longest(t, path, rest);

	return k && k->at < t->n ? t->v[k->at] : NULL;
}

const struct absent *
export_absent(const struct export_table *t, const char *path)
{
	const char *rest;
	const struct path_key *k = longest(t, path, &rest);

	return k && k->at >= t->n ? &t->absent[k->at - t->n] : NULL;
}
