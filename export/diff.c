/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff.h"
#include "plan.h"
#include <stdlib.h>
#include <string.h>

/* One export of a table, there or absent. */
struct side {
	const char *path;
	const struct export *ex; /* NULL: absent */
	const struct rules *rules;
	const char *why;
	bool crossed; /* no rules of its own */
};

static int
side_order(const void *a, const void *b)
{
	return strcmp(((const struct side *)a)->path, ((const struct side *)b)->path);
}

/* All of a table, by path; n of them. NULL: no memory. */
static struct side *
sides(const struct export_table *t, size_t *n)
{
	struct side *v;

	*n = t ? t->n + t->nabsent : 0;
	v = calloc(*n + 1, sizeof *v);
	for (size_t i = 0; v && t && i < t->n; i++)
		v[i] = (struct side){t->v[i]->path, t->v[i], t->rules[i], NULL, t->crossed[i]};
	for (size_t i = 0; v && t && i < t->nabsent; i++)
		v[t->n + i] = (struct side){t->absent[i].path, NULL, t->absent[i].rules,
					    t->absent[i].why, t->absent[i].crossed};
	if (v)
		qsort(v, *n, sizeof *v, side_order);
	return v;
}

/* ---- rules ---- */

/* Prints the words of a comma list that another does not have; true when there were any. */
static bool
print_others(const char *list, const char *other, FILE *out)
{
	bool any = false;

	while (*list) {
		size_t n = strcspn(list, ",");
		const char *p = other;

		while (*p) {
			size_t m = strcspn(p, ",");

			if (m == n && memcmp(p, list, n) == 0)
				break;
			p += m + (p[m] == ',');
		}
		if (!*p) {
			fprintf(out, "%s%.*s", any ? "," : "", (int)n, list);
			any = true;
		}
		list += n + (list[n] == ',');
	}
	return any;
}

/* True when the options of a client differ; then a line says how. */
static bool
print_options(const struct export_client *a, const struct export_client *b, FILE *out)
{
	char old[OPTS_TEXT], now[OPTS_TEXT];

	opts_text(&a->opts, old, sizeof old);
	opts_text(&b->opts, now, sizeof now);
	if (strcmp(old, now) == 0)
		return false;
	fprintf(out, "    %s: ", b->text);
	if (!print_others(old, now, out))
		fputs("(nothing)", out);
	fputs(" -> ", out);
	if (!print_others(now, old, out))
		fputs("(nothing)", out);
	fputc('\n', out);
	return true;
}

static int
client_order(const void *a, const void *b)
{
	return strcasecmp((*(struct export_client *const *)a)->text,
			  (*(struct export_client *const *)b)->text);
}

static const struct export_client **
by_name(const struct rules *r)
{
	const struct export_client **v = calloc(r->n + 1, sizeof *v);

	for (size_t i = 0; v && i < r->n; i++)
		v[i] = &r->v[i];
	if (v)
		qsort(v, r->n, sizeof *v, client_order);
	return v;
}

static void
print_client(char mark, const struct export_client *c, FILE *out)
{
	char text[OPTS_TEXT];

	fprintf(out, "    %c %s(%s)\n", mark, c->text, opts_text(&c->opts, text, sizeof text));
}

/* True when the rules differ; then a line for each client says how. */
static bool
print_rules(const struct rules *a, const struct rules *b, FILE *out)
{
	const struct export_client **x = by_name(a), **y = by_name(b);
	bool differ = false;
	size_t i = 0, j = 0;

	while (x && y && (i < a->n || j < b->n)) {
		int c = i == a->n ? 1 : j == b->n ? -1 : client_order(&x[i], &y[j]);

		if (c < 0)
			print_client('-', x[i++], out);
		else if (c > 0)
			print_client('+', y[j++], out);
		else
			differ |= print_options(x[i++], y[j++], out);
		differ |= c != 0;
	}
	free(x);
	free(y);
	return differ;
}

/* ---- exports ---- */

static void
print_added(const struct side *b, FILE *out)
{
	fprintf(out, "added %s%s%s%s\n", b->path, b->crossed ? " (mounted, by crossmnt)" : "",
		b->why ? ", not served: " : "", b->why ? b->why : "");
	for (size_t i = 0; !b->crossed && i < b->rules->n; i++)
		print_client('+', &b->rules->v[i], out);
}

/* A path of both tables; true when something is different. */
static bool
print_changed(const struct side *a, const struct side *b, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	bool differ = a->ex != b->ex;

	if (!f)
		return differ;
	if (!b->crossed)
		differ |= print_rules(a->rules, b->rules, f);
	fclose(f);
	if (differ)
		fprintf(out, "changed %s%s%s\n%s", b->path,
			!b->ex && a->ex	  ? ", not served any more: "
			: b->ex && !a->ex ? ", is there now"
			: a->ex == b->ex  ? ""
					  : ", opened anew",
			!b->ex && a->ex ? b->why : "", text);
	free(text);
	return differ;
}

void
diff_print(const struct export_table *old, const struct export_table *t, FILE *out,
	   void (*used)(void *arg, const char *path, FILE *out), void *arg, struct diff_count *n)
{
	size_t na, nb, i = 0, j = 0;
	struct side *a = sides(old, &na), *b = sides(t, &nb);

	*n = (struct diff_count){0};
	while (a && b && (i < na || j < nb)) {
		int c = i == na ? 1 : j == nb ? -1 : strcmp(a[i].path, b[j].path);

		if (c < 0) {
			fprintf(out, "removed %s", a[i].path);
			if (used)
				used(arg, a[i].path, out);
			fputc('\n', out);
			n->removed++;
		} else if (c > 0) {
			print_added(&b[j], out);
			n->added++;
		} else if (print_changed(&a[i], &b[j], out)) {
			n->changed++;
		} else {
			n->kept++;
		}
		i += c <= 0;
		j += c >= 0;
	}
	free(a);
	free(b);
	fprintf(out, "%zu kept, %zu changed, %zu added, %zu removed\n", n->kept, n->changed,
		n->added, n->removed);
}
