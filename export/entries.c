/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of what is written, from files in their order and from the command line.
 */
#include "entries.h"
#include "grammar.h"
#include "parse.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_SIZE_MAX (256u << 20)
#define LOOPBACK "127.0.0.0/8,::1"
#define COMMAND_LINE "command line"
static const struct spot nowhere;

/* ---- the list ---- */

struct sources *
sources_ref(struct sources *s)
{
	__atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void
sources_put(struct sources *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	free(s);
}

int
entries_source(struct entries *e, const char *name)
{
	struct sources *s = e->sources;
	char **v;

	if (!s) {
		s = e->sources = calloc(1, sizeof *s);
		if (!s)
			return -1;
		s->refs = 1;
		if (entries_source(e, COMMAND_LINE) < 0)
			return -1;
	}
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i], name) == 0)
			return (int)i;
	v = reallocarray(s->v, s->n + 1, sizeof *v);
	if (!v)
		return -1;
	s->v = v;
	s->v[s->n] = strdup(name);
	return s->v[s->n] ? (int)s->n++ : -1;
}

void
entry_free(struct entry *e)
{
	free(e->path);
	free(e->client.text);
	free(e->mountpoint);
}

bool
entries_append(struct entries *e, struct entry *one)
{
	size_t cap = e->cap ? 2 * e->cap : 64;
	struct entry *v;

	if (e->n == e->cap) {
		v = reallocarray(e->v, cap, sizeof *v);
		if (!v) {
			entry_free(one);
			return false;
		}
		e->v = v;
		e->cap = cap;
	}
	e->v[e->n++] = *one;
	return true;
}

void
entries_free(struct entries *e)
{
	for (size_t i = 0; i < e->n; i++)
		entry_free(&e->v[i]);
	free(e->v);
	sources_put(e->sources);
	*e = (struct entries){0};
}

bool
entries_copy(struct entries *to, const struct entries *from)
{
	to->rootdir = from->rootdir;
	for (size_t i = 0; i < from->n; i++) {
		const struct entry *o = &from->v[i];
		struct entry n = *o;
		int src = entries_source(to, from->sources->v[o->client.at.src]);

		n.path = strdup(o->path);
		n.client.text = strdup(o->client.text);
		n.mountpoint = o->mountpoint ? strdup(o->mountpoint) : NULL;
		n.at.src = n.client.at.src = (unsigned)src;
		if (src < 0 || !n.path || !n.client.text || (o->mountpoint && !n.mountpoint)) {
			entry_free(&n);
			return false;
		}
		if (!entries_append(to, &n))
			return false;
	}
	return true;
}

size_t
entries_remove(struct entries *e, const char *path, const char *client)
{
	size_t kept = 0, n = e->n;

	for (size_t i = 0; i < n; i++) {
		struct entry *o = &e->v[i];

		if (strcmp(o->path, path) == 0 &&
		    (!client || strcasecmp(o->client.text, client) == 0))
			entry_free(o);
		else
			e->v[kept++] = *o;
	}
	e->n = kept;
	return n - kept;
}

/* ---- files ---- */

static char *
slurp(FILE *f, size_t *n)
{
	size_t cap = 1 << 16;
	char *buf = malloc(cap), *more;

	*n = 0;
	while (buf) {
		*n += fread(buf + *n, 1, cap - *n, f);
		if (*n < cap)
			break;
		more = cap < FILE_SIZE_MAX ? realloc(buf, 2 * cap) : NULL;
		if (!more) {
			errno = cap < FILE_SIZE_MAX ? ENOMEM : EFBIG;
			free(buf);
			return NULL;
		}
		buf = more;
		cap *= 2;
	}
	if (buf && ferror(f)) {
		free(buf);
		return NULL;
	}
	return buf;
}

static bool
cannot_read(const char *file, struct diag *d)
{
	diag_add(d, DIAG_ERROR, file, nowhere, "cannot read it: %s", strerror(errno));
	return false;
}

bool
entries_read(struct entries *e, const char *file, struct diag *d)
{
	FILE *f = fopen(file, "re");
	char *text;
	size_t n;
	bool good;

	if (!f)
		return cannot_read(file, d);
	text = slurp(f, &n);
	good = text ? entries_parse(e, file, text, n, d) : cannot_read(file, d);
	free(text);
	fclose(f);
	return good;
}

/* NAME.exports, not hidden. */
static int
wanted(const struct dirent *e)
{
	static const char ext[] = ".exports";
	size_t n = strlen(e->d_name), m = sizeof ext - 1;

	return e->d_name[0] != '.' && n > m && strcmp(e->d_name + n - m, ext) == 0;
}

static bool
read_dir(struct entries *e, const char *dir, struct diag *d)
{
	struct dirent **v;
	int n = scandir(dir, &v, wanted, versionsort);
	bool good = true;

	if (n < 0)
		return errno == ENOENT || cannot_read(dir, d);
	for (int i = 0; i < n; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", dir, v[i]->d_name) >= 0) {
			good &= entries_read(e, path, d);
			free(path);
		} else {
			good = cannot_read(dir, d);
		}
		free(v[i]);
	}
	free(v);
	return good;
}

bool
entries_read_all(struct entries *e, const char *file, const char *dir, struct diag *d)
{
	FILE *f = fopen(file, "re");
	bool good = f || errno == ENOENT || cannot_read(file, d);

	if (f) {
		fclose(f);
		good = entries_read(e, file, d);
	}
	return read_dir(e, dir, d) && good;
}

/* ---- the command line ---- */

static bool
add_spec_client(struct entries *e, const struct export_spec *sp, struct origin at, const char *who,
		const struct optparse *p, struct diag *d)
{
	struct entry n = {.at = at};

	if (!parse_client(who, &n.client, sp->path, nowhere, d))
		return false;
	n.client.at = n.at;
	optparse_result(p, &n.client.opts);
	if (n.client.opts.no_sys || n.client.opts.tls_only) {
		diag_add(d, DIAG_ERROR, sp->path, nowhere,
			 n.client.opts.no_sys
			     ? "sec=: this server has only sys; add it to the list, or drop sec="
			     : "xprtsec=: this server has no TLS; add none to the list");
		return false;
	}
	n.path = strdup(sp->path);
	n.client.text = strdup(who);
	n.mountpoint = p->mountpoint ? strdup(p->mountpoint) : NULL;
	if (n.path && n.client.text && (n.mountpoint || !p->mountpoint)) {
		if (entries_append(e, &n))
			return true;
	} else {
		entry_free(&n);
	}
	diag_add(d, DIAG_ERROR, sp->path, nowhere, "no memory");
	return false;
}

bool
entries_add(struct entries *e, const struct export_spec *sp, const char *source, unsigned unit,
	    struct diag *d)
{
	int src = entries_source(e, source ? source : COMMAND_LINE);
	struct origin at = {.line = source ? 0 : unit, .src = (unsigned)src};
	char *copy = strdup(sp->clients ? sp->clients : LOOPBACK), *save = NULL;
	const char *options = sp->options ? sp->options : "";
	struct optparse p;
	bool good, any = false;

	optparse_init(&p);
	good = copy && src >= 0;
	good = good && optparse_list(&p, options, strlen(options), sp->path, NULL, d);
	for (char *c = copy ? strtok_r(copy, ", \t", &save) : NULL; c;
	     c = strtok_r(NULL, ", \t", &save)) {
		any = true;
		if (src >= 0) /* wrong clients are said beside wrong options */
			good = add_spec_client(e, sp, at, c, &p, d) && good;
	}
	if (copy && !any) {
		diag_add(d, DIAG_ERROR, sp->path, nowhere,
			 "the list of clients is empty; * means everyone");
		good = false;
	}
	optparse_free(&p);
	free(copy);
	return good;
}
