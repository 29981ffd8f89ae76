/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is mounted in an export may be served already: the same directory mounted in two places, or
 * a second file system with the identity of a first (a snapshot with its original's UUID). Between
 * two lines of an administrator that is an error, which he can repair; what merely happens to be
 * mounted must not stop anything.
 */
#include "cross.h"
#include "table.h"
#include <stdlib.h>
#include <string.h>

enum { KEPT = 0, GONE = 1 };

struct twin {
	const struct export *ex;
	uint32_t key;
	bool crossed;
	size_t at;
};
struct sorting {
	struct export_table *t;
	struct twin *v;
	char *fate;    /* of each in the table */
	size_t *leads; /* GONE: to which other one the way goes; SIZE_MAX: nowhere */
	size_t *place; /* where each has come to stand */
};

static int
order(const void *a, const void *b)
{
	const struct twin *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->crossed != y->crossed)
		return x->crossed ? 1 : -1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool
same_directory(const struct export *a, const struct export *b)
{
	return a->id == b->id && a->fs.id == b->fs.id && a->fs.root_dev == b->fs.root_dev &&
	       a->fs.root_ino == b->fs.root_ino;
}

/* Among those of one key the first counts; of the others, what has no line goes if it is in the
 * first one's way. */
static void
sort_out(struct sorting *s, uint32_t (*key)(const struct export *), bool devices)
{
	size_t n = s->t->n, first = 0;

	for (size_t i = 0; i < n; i++)
		s->v[i] = (struct twin){s->t->v[i], key(s->t->v[i]), s->t->crossed[i], i};
	qsort(s->v, n, sizeof *s->v, order);
	for (size_t i = 1; i < n; i++) {
		const struct twin *a = &s->v[first], *b = &s->v[i];

		if (s->fate[b->at] == GONE)
			continue;
		if (a->key != b->key || s->fate[a->at] == GONE) {
			first = i;
			continue;
		}
		if (!b->crossed || (devices && a->ex->fs.root_dev == b->ex->fs.root_dev))
			continue;
		s->fate[b->at] = GONE;
		s->leads[b->at] = same_directory(a->ex, b->ex) ? a->at : SIZE_MAX;
	}
}

static uint32_t
export_id(const struct export *ex)
{
	return ex->id;
}

static uint32_t
name_space(const struct export *ex)
{
	return ex->ns;
}

static uint32_t
fs_id(const struct export *ex)
{
	return ex->fs.id;
}

/* One that has no way any more, and why. */
static bool
set_aside(struct export_table *t, size_t i)
{
	const struct absent a = {.crossed = true, .rules = t->rules[i]};

	return table_add_absent(t, &a, t->v[i]->path,
				"another file system with the same identity (UUID) is served; give "
				"it a line of its own with fsid=NUMBER");
}

static bool
close_ranks(struct sorting *s)
{
	struct export_table *t = s->t;
	size_t *place = s->place, kept = 0, n = t->n, ways = 0;
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		place[i] = SIZE_MAX;
		if (s->fate[i] == GONE) {
			if (s->leads[i] == SIZE_MAX)
				good = good && set_aside(t, i);
			export_put(t->v[i]);
			rules_put(t->rules[i]);
			continue;
		}
		t->v[kept] = t->v[i];
		t->rules[kept] = t->rules[i];
		t->crossed[kept] = t->crossed[i];
		place[i] = kept++;
	}
	t->n = kept;
	for (size_t i = 0; i < n; i++)
		if (s->fate[i] == GONE && s->leads[i] != SIZE_MAX)
			place[i] = place[s->leads[i]];
	for (size_t i = 0; i < t->ncross; i++)
		if (place[t->cross[i].to] == SIZE_MAX)
			crossing_put(t->cross[i].c);
		else
			t->cross[ways++] = (struct cross){t->cross[i].c, place[t->cross[i].to]};
	t->ncross = ways;
	return good;
}

bool
table_drop_twins(struct export_table *t)
{
	struct sorting s = {.t = t,
			    .v = calloc(t->n + 1, sizeof *s.v),
			    .fate = calloc(t->n + 1, sizeof *s.fate),
			    .leads = calloc(t->n + 1, sizeof *s.leads),
			    .place = calloc(t->n + 1, sizeof *s.place)};
	bool good = s.v && s.fate && s.leads && s.place;

	if (good) {
		sort_out(&s, export_id, false);
		sort_out(&s, name_space, false);
		sort_out(&s, fs_id, true);
		good = close_ranks(&s);
	}
	free(s.v);
	free(s.fate);
	free(s.leads);
	free(s.place);
	return good;
}
