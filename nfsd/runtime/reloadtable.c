/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a table comes into effect. A change: entries (what is written) -> plan (paths made canonical)
 * -> table (exports opened, those that are the same taken over) -> difference -> swap. Up to the
 * swap nothing has happened. After it the next call sees the new table; calls under way hold a
 * reference to the former one, which the thread keeps until it is the last to hold it: tearing down
 * thousands of exports is no work for a loop. Then objects of exports that are gone leave the cache
 * a second time, in case such a call has brought one back.
 *
 * What was written is remembered, so that a table can be made from it again when the file systems
 * have changed: a path that was not there comes, a mount point gets its mount.
 */
#include "call.h"
#include "cross.h"
#include "diff.h"
#include "file.h"
#include "log.h"
#include "paths.h"
#include "reload_int.h"
#include "resolver.h"
#include "store.h"
#include "table.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* ---- former tables ---- */

static void
drop_objects(struct reload *r, struct export_table *now)
{
	if (r->files && now)
		files_drop(r->files, table_lacks, now);
}

void
reload_sweep(struct reload *r, bool all)
{
	struct export_table *now = engine_table(r->engine);
	unsigned kept = 0;

	for (unsigned i = 0; i < r->nretired; i++) {
		struct export_table *t = r->retired[i];

		while (all && __atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) > 1)
			poll(NULL, 0, 1);
		if (__atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) > 1) {
			r->retired[kept++] = t;
			continue;
		}
		drop_objects(r, now);
		export_table_put(t);
	}
	r->nretired = kept;
	export_table_put(now);
}

static void
retire(struct reload *r, struct export_table *t)
{
	if (r->nretired == RETIRED_MAX)
		reload_sweep(r, true);
	r->retired[r->nretired++] = t;
}

/* ---- one change ---- */

void
reload_ask_names(const struct export_table *t)
{
	static const struct in6_addr none;

	for (size_t i = 0; t->who && i < t->n; i++)
		for (size_t j = 0; j < t->rules[i]->n; j++)
			if (t->rules[i]->v[j].named)
				resolver_host(t->who, t->rules[i]->v[j].text, &none);
}

struct users {
	const char *path;
	FILE *out;
	size_t n;
};

static int
add_user(void *arg, const char *host, const char *path)
{
	struct users *u = arg;

	if (path_is_below(path, u->path))
		fprintf(u->out, "%s%s", u->n++ ? ", " : ", mounted by ", host);
	return 0;
}

static void
print_users(void *arg, const char *path, FILE *out)
{
	const struct reload *r = arg;
	struct users u = {path, out, 0};

	if (r->env.store)
		store_mounts(r->env.store, add_user, &u);
}

static void
swap_in(struct reload *r, struct export_table *t)
{
	struct export_table *old;

	t->who = r->who;
	reload_ask_names(t);
	export_table_ref(t); /* t is looked at below, and could be swapped out meanwhile */
	old = engine_exchange_table(r->engine, t);
	if (old) {
		drop_objects(r, t);
		retire(r, old);
	}
	export_table_put(t);
}

/* Makes a table of these entries and serves it; what changes is printed. always: also when nothing
 * does, for the places of the rules. Takes the entries over. */
static int
reload_serve(struct reload *r, struct entries *e, bool always, struct diag *d, FILE *out,
	     struct diff_count *n)
{
	struct export_table *old = engine_table(r->engine), *t = NULL;
	struct plan p = {0};

	if (plan_make(&p, e, r->env.unprivileged, d))
		t = table_make(&r->env, &p, old, d);
	plan_free(&p);
	if (t) {
		diff_print(old, t, out, print_users, r, n);
		always |= n->changed + n->added + n->removed > 0 || (old && !cross_same(old, t));
	}
	if (t && always) {
		entries_free(&r->now);
		r->now = *e;
		*e = (struct entries){0};
		swap_in(r, t);
	} else {
		export_table_put(t);
	}
	export_table_put(old);
	entries_free(e);
	return t ? 0 : EINVAL;
}

int
reload_run(struct reload *r, struct job *j)
{
	struct entries e = {0};
	struct diag d = {0};
	struct diff_count n;
	int rc;

	if (j->what == ALL)
		rc = reload_read(r->conf, &e, &d) ? 0 : EINVAL;
	else
		rc = reload_change(r, j, &e, &d);
	if (rc == 0 && r->who && j->what == ALL)
		resolver_refresh(r->who);
	if (rc == 0)
		rc = reload_serve(r, &e, true, &d, j->out, &n);
	if (rc || j->what == ALL) /* warnings about what was there before are known */
		diag_print(&d, j->out);
	if (rc)
		fputs("nothing has changed\n", j->out);
	entries_free(&e);
	diag_free(&d);
	return rc;
}

void
reload_look(struct reload *r)
{
	struct entries e = {0};
	struct diag d = {0};
	struct diff_count n = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (f && entries_copy(&e, &r->now) && reload_serve(r, &e, false, &d, f, &n) == 0 &&
	    n.changed + n.added + n.removed > 0) {
		fflush(f);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			log_info("exports: %s", line);
	}
	if (f)
		fclose(f);
	free(text);
	entries_free(&e);
	diag_free(&d);
}

struct export_table *
reload_first(struct reload *r)
{
	struct export_table *t = NULL;
	struct diag d = {0};
	struct plan p = {0};
	bool good = reload_read(r->conf, &r->now, &d);

	good = plan_make(&p, &r->now, r->env.unprivileged, &d) && good;
	if (good)
		t = table_make(&r->env, &p, NULL, &d);
	diag_log(&d);
	plan_free(&p);
	diag_free(&d);
	return t;
}
