/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "diff.h"
#include "explain.h"
#include "lib/scratch.h"
#include "rootdir.h"
#include "store.h"
#include "table.h"
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory with a, b and c in it, and what tables are made with. */
struct box {
	char dir[64], state[80];
	struct kernel kernel;
	struct handle_key key;
	struct export_env env;
	struct diag d;
};

static void
begin(struct box *b)
{
	char err[512], path[80];

	memset(b, 0, sizeof *b);
	scratch_make(b->dir, "table");
	for (const char *d = "abc"; *d; d++) {
		snprintf(path, sizeof path, "%s/%c", b->dir, *d);
		mkdir(path, 0755);
	}
	snprintf(b->state, sizeof b->state, "%s/state", b->dir);
	kernel_probe(&b->kernel, b->dir);
	CU_ASSERT_EQUAL_FATAL(handle_key_load(&b->key, b->state, err, sizeof err), 0);
	b->env = (struct export_env){.kernel = &b->kernel,
				     .key = &b->key,
				     .store = store_open(b->state, err, sizeof err),
				     .unprivileged = geteuid() != 0};
}

static void
end(struct box *b)
{
	diag_free(&b->d);
	store_close(b->env.store);
	scratch_drop(b->dir);
}

/* The table of a text, in which ~ stands for the directory. */
static struct export_table *
table(struct box *b, const struct export_table *old, const char *text)
{
	struct export_table *t = NULL;
	struct entries e = {0};
	struct plan p = {0};
	char full[4000] = "";

	diag_free(&b->d);
	for (const char *c = text; *c; c++)
		snprintf(full + strlen(full), sizeof full - strlen(full), *c == '~' ? "%s" : "%.1s",
			 *c == '~' ? b->dir : c);
	if (entries_parse(&e, "file", full, strlen(full), &b->d) &&
	    plan_make(&p, &e, b->env.unprivileged, &b->d))
		t = table_make(&b->env, &p, old, &b->d);
	plan_free(&p);
	entries_free(&e);
	return t;
}

/* What has not changed is the same object in the next table, whatever became of its rules; another
 * fsid=, another mount (read-only or not) or another directory under the path is another. */
TEST(exports_table, taken_over)
{
	struct box b;
	struct export_table *t, *u;
	char path[80], moved[80];
	int gone = 0;

	begin(&b);
	t = table(&b, NULL, "~/a *\n~/b *\n~/c *");
	u = table(&b, t, "~/c h(rw)\n# one\n~/a * 10.0.0.0/8\n~/b *(fsid=9)\n");
	CU_ASSERT_FATAL(t && u && u->n == 3);
	CU_ASSERT_PTR_EQUAL(u->v[0], t->v[0]);
	CU_ASSERT_PTR_NOT_EQUAL(u->v[1], t->v[1]);
	CU_ASSERT_PTR_NOT_EQUAL(u->v[2], t->v[2]);
	CU_ASSERT_EQUAL(u->v[2]->id, t->v[2]->id); /* handles stay valid */
	CU_ASSERT(u->rules[0]->n == 2 && t->rules[0]->n == 1);
	for (size_t i = 0; i < t->n; i++)
		gone += table_lacks(u, t->v[i]);
	CU_ASSERT_EQUAL(gone, 2);
	export_table_put(t);
	snprintf(path, sizeof path, "%s/a", b.dir);
	snprintf(moved, sizeof moved, "%s/moved", b.dir);
	CU_ASSERT(rename(path, moved) == 0 && mkdir(path, 0755) == 0);
	t = table(&b, u, "~/a *");
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT(t->v[0] != u->v[0] && t->v[0]->id != u->v[0]->id);
	export_table_put(t);
	export_table_put(u);
	end(&b);
}

/* An export is found by every name it was given; what is absent hides what lies above it. */
TEST(exports_table, paths)
{
	struct box b;
	struct export_table *t;
	const char *rest = NULL;
	char path[80], to[80];

	begin(&b);
	snprintf(to, sizeof to, "%s/a", b.dir);
	snprintf(path, sizeof path, "%s/link", b.dir);
	CU_ASSERT_EQUAL(symlink(to, path), 0);
	t = table(&b, NULL, "~/link *\n~/a/none *");
	CU_ASSERT_FATAL(t && t->n == 1 && t->nabsent == 1);
	CU_ASSERT_PTR_EQUAL(export_by_path(t, path, &rest), t->v[0]);
	snprintf(path, sizeof path, "%s/link/x/y", b.dir);
	CU_ASSERT_PTR_EQUAL(export_by_path(t, path, &rest), t->v[0]);
	CU_ASSERT_STRING_EQUAL(rest, "x/y");
	snprintf(path, sizeof path, "%s/a/none/z", b.dir);
	CU_ASSERT_PTR_NULL(export_by_path(t, path, &rest));
	CU_ASSERT_PTR_EQUAL(export_absent(t, path), &t->absent[0]);
	snprintf(path, sizeof path, "%s/a/nonesuch", b.dir);
	CU_ASSERT_PTR_EQUAL(export_by_path(t, path, &rest), t->v[0]);
	CU_ASSERT_PTR_NULL(export_absent(t, path));
	CU_ASSERT_PTR_NULL(export_absent(t, "/"));
	CU_ASSERT_EQUAL(export_index(t, t->v[0]), 0);
	export_table_put(t);
	end(&b);
}

/* With a rootdir, an export is opened beneath it and found by the path without it; another root is
 * another directory. */
TEST(exports_table, rootdir)
{
	struct box b;
	struct export_table *t;
	struct entries e = {0};
	struct plan p = {0};
	struct stat st;
	const char *rest;
	char path[80];

	begin(&b);
	e.rootdir = b.dir;
	CU_ASSERT(entries_parse(&e, "file", "/a *\n/none *\n", 13, &b.d));
	CU_ASSERT(plan_make(&p, &e, b.env.unprivileged, &b.d));
	t = table_make(&b.env, &p, NULL, &b.d);
	CU_ASSERT_FATAL(t && t->n == 1 && t->nabsent == 1);
	snprintf(path, sizeof path, "%s/a", b.dir);
	CU_ASSERT_PTR_EQUAL(export_by_path(t, "/a/x", &rest), t->v[0]);
	CU_ASSERT_PTR_NULL(export_by_path(t, path, &rest));
	CU_ASSERT(stat(path, &st) == 0 && st.st_ino == t->v[0]->fs.root_ino);
	snprintf(path, sizeof path, "%s/none", b.dir);
	char *where = rootdir_where(t->rootdir, t->absent[0].path);
	CU_ASSERT_PTR_NOT_NULL_FATAL(where);
	CU_ASSERT_STRING_EQUAL(where, path);
	free(where);
	export_table_put(t);
	plan_free(&p);
	entries_free(&e);
	end(&b);
}

/* Of many exports each is found by its id and its path, and no other. */
TEST(exports_table, many)
{
	enum { N = 300 };
	struct box b;
	struct export_table *t;
	char path[120];
	const char *rest;

	begin(&b);
	for (int i = 0; i < N; i++) {
		snprintf(path, sizeof path, "%s/e%d", b.dir, i);
		mkdir(path, 0755);
	}
	char *full = malloc(N * 64);
	struct entries e = {0};
	struct plan p = {0};
	size_t used = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(full);
	for (int i = 0; i < N; i++)
		used += (size_t)snprintf(full + used, N * 64 - used, "%s/e%d *\n", b.dir, i);
	CU_ASSERT(entries_parse(&e, "file", full, used, &b.d));
	CU_ASSERT(plan_make(&p, &e, false, &b.d));
	t = table_make(&b.env, &p, NULL, &b.d);
	CU_ASSERT_FATAL(t && t->n == N);
	for (size_t i = 0; i < N; i++) {
		snprintf(path, sizeof path, "%s/e%zu//deep", b.dir, i);
		struct export *ex = export_by_path(t, path, &rest);

		CU_ASSERT_FATAL(ex && strcmp(rest, "deep") == 0);
		CU_ASSERT_PTR_EQUAL(export_by_id(t, ex->id), ex);
		CU_ASSERT_PTR_EQUAL(t->v[export_index(t, ex)], ex);
	}
	export_table_put(t);
	plan_free(&p);
	entries_free(&e);
	free(full);
	end(&b);
}

static char *
difference(const struct export_table *t, const struct export_table *u, struct diff_count *n)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	diff_print(t, u, f, NULL, NULL, n);
	fclose(f);
	return text;
}

/* The difference of two tables names every export and every client whose options are others. */
TEST(exports_table, difference)
{
	struct box b;
	struct export_table *t, *u;
	struct diff_count n;
	char *text, line[200];

	begin(&b);
	t = table(&b, NULL, "~/a *(insecure) h\n~/b *\n~/none k");
	u = table(&b, t, "~/a H(async,anonuid=7) 10.0.0.0/8 *(insecure)\n~/c *\n~/none k");
	CU_ASSERT_FATAL(t && u);
	text = difference(t, u, &n);
	CU_ASSERT(n.kept == 1 && n.changed == 1 && n.added == 1 && n.removed == 1);
	snprintf(line, sizeof line, "changed %s/a\n", b.dir);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, line));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "    H: sync,anonuid=65534 -> async,anonuid=7\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "    + 10.0.0.0/8(ro,"));
	CU_ASSERT_PTR_NULL(strstr(text, "*: "));
	snprintf(line, sizeof line, "removed %s/b\n", b.dir);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, line));
	free(text);
	text = difference(u, u, &n);
	CU_ASSERT_STRING_EQUAL(text, "3 kept, 0 changed, 0 added, 0 removed\n");
	free(text);
	export_table_put(t);
	export_table_put(u);
	end(&b);
}

/* The explanation names line, rule, identity and verdict. */
TEST(exports_table, explained)
{
	static const struct {
		const char *peer, *path;
		int uid;
		const char *says[3];
	} asked[] = {
	    {"10.1.1.1", "/a/x", 0, {"in file:1:", "10.0.0.0/8(rw", "read and write"}},
	    {"10.1.1.1", "/a", 0, {"weaker    *(ro", "acts as user 65534", "root_squash"}},
	    {"11.1.1.1", "/a", 1000, {"rule      *(ro", "uid 1000", "read only"}},
	    {"11.1.1.1", "/b", 0, {"in file:2:", "refused: no client", ""}},
	    {"11.1.1.1", "/c", 0, {"refused: nothing is exported", "", ""}},
	    {"12.1.1.1", "/b", 5, {"any (insecure)", "acts as user 7", "all_squash"}},
	    {"11.1.1.1", "/none", 0, {"does not exist", "in file:3:1", ""}},
	};
	struct box b;
	struct export_table *t;

	begin(&b);
	b.env.unprivileged = false;
	t = table(&b, NULL,
		  "~/a 10.0.0.0/8(rw) *\n~/b 12.0.0.0/8(all_squash,anonuid=7,insecure)\n~/none *");
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		struct explain x = {.table = t, .has_uid = true, .uid = (uid_t)asked[i].uid};
		struct sockaddr_in *in = (struct sockaddr_in *)&x.peer;
		char path[100], *text = NULL;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		in->sin_family = AF_INET;
		inet_pton(AF_INET, asked[i].peer, &in->sin_addr);
		snprintf(path, sizeof path, "%s%s", b.dir, asked[i].path);
		x.path = path;
		explain(&x, f);
		fclose(f);
		for (int j = 0; j < 3; j++)
			if (!strstr(text, asked[i].says[j])) {
				printf("\n%s\ndoes not say %s\n", text, asked[i].says[j]);
				CU_FAIL("not said");
			}
		free(text);
	}
	export_table_put(t);
	end(&b);
}
