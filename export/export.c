/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lifetimes of exports and tables, and the table of a command line.
 */
#include "export.h"
#include "cross.h"
#include "index.h"
#include "root.h"
#include "table.h"
#include "walk.h"
#include <stdlib.h>

static void
export_free(struct export *ex)
{
	root_close(ex);
	walk_free(ex->walk);
	free(ex->path);
	free(ex->where);
	free(ex);
}

struct export *
export_ref(struct export *ex)
{
	__atomic_fetch_add(&ex->refs, 1, __ATOMIC_RELAXED);
	return ex;
}

void
export_put(struct export *ex)
{
	if (ex && __atomic_sub_fetch(&ex->refs, 1, __ATOMIC_ACQ_REL) == 0)
		export_free(ex);
}

struct export_table *
export_table_ref(struct export_table *t)
{
	__atomic_fetch_add(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void
export_table_put(struct export_table *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (size_t i = 0; i < t->n; i++) {
		export_put(t->v[i]);
		rules_put(t->rules[i]);
	}
	for (size_t i = 0; i < t->nabsent; i++) {
		free(t->absent[i].path);
		free(t->absent[i].why);
		rules_put(t->absent[i].rules);
	}
	for (size_t i = 0; i < t->ncross; i++)
		crossing_put(t->cross[i].c);
	table_forget_pending(t);
	index_free(t);
	sources_put(t->sources);
	free(t->v);
	free(t->rules);
	free(t->crossed);
	free(t->rootdir);
	free(t->cross);
	free(t->absent);
	free(t);
}

struct export_table *
export_table_make(const struct export_env *env, const struct export_spec *specs, size_t n,
		  char *err, size_t errlen)
{
	struct export_table *t = NULL;
	struct entries e = {0};
	struct diag d = {0};
	struct plan p = {0};
	bool good = true;

	for (size_t i = 0; i < n; i++)
		good &= entries_add(&e, &specs[i], NULL, (unsigned)i + 1, &d);
	good &= plan_make(&p, &e, env->unprivileged, &d);
	if (good || p.n)
		t = table_make(env, &p, NULL, &d);
	if (!good) {
		export_table_put(t);
		t = NULL;
	}
	diag_text(&d, DIAG_ERROR, err, errlen);
	plan_free(&p);
	entries_free(&e);
	diag_free(&d);
	return t;
}
