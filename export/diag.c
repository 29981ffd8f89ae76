/* SPDX-License-Identifier: BSD-2-Clause */
#include "diag.h"
#include "log.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A place for one more line; NULL: no memory, or enough said. */
static struct diag_line *
add_line(struct diag *d)
{
	struct diag_line *v;

	if (d->n == DIAG_MAX)
		return NULL;
	if (d->n == d->cap) {
		v = reallocarray(d->v, d->cap ? 2 * d->cap : 8, sizeof *v);
		if (!v)
			return NULL;
		d->v = v;
		d->cap = d->cap ? 2 * d->cap : 8;
	}
	return &d->v[d->n];
}

static const char *
mark(enum diag_level level)
{
	return level == DIAG_ERROR ? "error: " : "warning: ";
}

void
diag_add(struct diag *d, enum diag_level level, const char *file, struct spot at, const char *fmt,
	 ...)
{
	struct diag_line *l = add_line(d);
	char *text = NULL;
	size_t size = 0;
	FILE *f;
	size_t where;
	va_list ap;

	*(level == DIAG_ERROR ? &d->errors : &d->warnings) += 1;
	if (!l || !(f = open_memstream(&text, &size)))
		return;
	if (file && at.line)
		fprintf(f, "%s:%u:%u: ", file, at.line, at.col);
	else if (file)
		fprintf(f, "%s: ", file);
	fflush(f);
	where = size;
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	if (fclose(f) != 0) {
		free(text);
		return;
	}
	*l = (struct diag_line){level, text, where};
	d->n++;
}

void
diag_print(const struct diag *d, FILE *out)
{
	unsigned left = d->errors + d->warnings - (unsigned)d->n;

	for (size_t i = 0; i < d->n; i++) {
		const struct diag_line *l = &d->v[i];

		fprintf(out, "%.*s%s%s\n", (int)l->where, l->text, mark(l->level),
			l->text + l->where);
	}
	if (left)
		fprintf(out, "and %u more\n", left);
}

void
diag_text(const struct diag *d, enum diag_level level, char *buf, size_t size)
{
	size_t used = 0;

	if (size)
		*buf = '\0';
	for (size_t i = 0; i < d->n && used < size; i++) {
		int n;

		if (d->v[i].level != level)
			continue;
		n = snprintf(buf + used, size - used, "%s%s", used ? "\n" : "", d->v[i].text);
		used += (size_t)n;
	}
}

void
diag_log(const struct diag *d)
{
	unsigned left = d->errors + d->warnings - (unsigned)d->n;

	for (size_t i = 0; i < d->n; i++)
		if (d->v[i].level == DIAG_ERROR)
			log_error("%s", d->v[i].text);
		else
			log_warn("%s", d->v[i].text);
	if (left)
		log_warn("and %u more messages about the exports", left);
}

void
diag_free(struct diag *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].text);
	free(d->v);
	*d = (struct diag){0};
}
