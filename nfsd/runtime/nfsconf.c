/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The language of nfs.conf(5): [section], name = value, blanks around all of them ignored, a value
 * perhaps in quotes; # and ; begin a comment line. [section "argument"] is another section.
 * include=FILE reads a file in place; with "-" before its name it need not be there. What is no
 * such line is left alone: the files belong to others, who read more in them than we.
 */
#include "nfsconf.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8 /* of files that include files */

struct reading {
	struct nfsconf *to;
	const char *file;
	unsigned line, depth;
	char section[256];
	FILE *err;
};

static bool read_file(struct nfsconf *to, const char *file, unsigned depth, bool must, FILE *err);

static char *
trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	for (end = s + strlen(s); end > s && isspace((unsigned char)end[-1]);)
		*--end = '\0';
	return s;
}

static char *
unquote(char *s)
{
	size_t n = strlen(s);

	if (n >= 2 && (*s == '"' || *s == '\'') && s[n - 1] == *s) {
		s[n - 1] = '\0';
		s++;
	}
	return s;
}

static bool
add(struct reading *r, const char *name, const char *value)
{
	struct nfsconf *c = r->to;
	struct nfsconf_item *v = reallocarray(c->v, c->n + 1, sizeof *v), *i;

	if (!v)
		return false;
	c->v = v;
	i = &v[c->n++];
	*i = (struct nfsconf_item){strdup(r->section), strdup(name), strdup(value), strdup(r->file),
				   r->line};
	return i->section && i->name && i->value && i->file;
}

/* A relative name is beside the file that includes it. */
static bool
include(struct reading *r, const char *name)
{
	const char *slash = strrchr(r->file, '/');
	bool must = *name != '-', good;
	char *path;

	name += !must;
	if (r->depth >= DEPTH_MAX) {
		fprintf(r->err,
			"spliced: %s:%u: include=%s: files include files %d deep; break "
			"the circle\n",
			r->file, r->line, name, DEPTH_MAX);
		return false;
	}
	if (asprintf(&path, "%.*s%s", *name == '/' || !slash ? 0 : (int)(slash + 1 - r->file),
		     r->file, name) < 0)
		return false;
	good = read_file(r->to, path, r->depth + 1, must, r->err);
	free(path);
	return good;
}

static void
begin_section(struct reading *r, char *s)
{
	char *end = strrchr(s, ']');

	if (end)
		*end = '\0';
	snprintf(r->section, sizeof r->section, "%s", trim(s + 1));
}

static bool
read_line(struct reading *r, char *s)
{
	char *eq;

	s = trim(s);
	if (*s == '[')
		begin_section(r, s);
	eq = strchr(s, '=');
	if (!*s || *s == '[' || *s == '#' || *s == ';' || !eq)
		return true;
	*eq = '\0';
	s = trim(s);
	eq = unquote(trim(eq + 1));
	return strcasecmp(s, "include") == 0 ? include(r, eq) : add(r, s, eq);
}

static bool
read_file(struct nfsconf *to, const char *file, unsigned depth, bool must, FILE *err)
{
	struct reading r = {.to = to, .file = file, .depth = depth, .err = err};
	FILE *f = fopen(file, "re");
	char *line = NULL;
	size_t size = 0;
	bool good = true;

	if (!f && errno == ENOENT && !must)
		return true;
	while (f && good && getline(&line, &size, f) >= 0) {
		r.line++;
		good = read_line(&r, line);
	}
	free(line);
	if (!f || ferror(f)) {
		fprintf(err, "spliced: %s: cannot read it: %s; make it readable, or remove it\n",
			file, strerror(errno));
		good = false;
	}
	if (f)
		fclose(f);
	return good;
}

/* NAME.conf, not hidden. */
static int
wanted(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > 5 && strcmp(e->d_name + n - 5, ".conf") == 0;
}

static bool
read_dir(struct nfsconf *to, const char *dir, FILE *err)
{
	struct dirent **v;
	int n = scandir(dir, &v, wanted, versionsort);
	bool good = true;

	for (int i = 0; i < n; i++) {
		char *path = NULL;

		if (asprintf(&path, "%s/%s", dir, v[i]->d_name) < 0)
			good = false;
		else if (good)
			good = read_file(to, path, 0, true, err);
		free(path);
		free(v[i]);
	}
	if (n >= 0)
		free(v);
	return good;
}

bool
nfsconf_read(struct nfsconf *c, const char *base, FILE *err)
{
	static const char *const places[] = {"/usr/etc/nfs.conf", "/etc/nfs.conf"};
	bool good = true;

	*c = (struct nfsconf){0};
	for (size_t i = 0; good && i < sizeof places / sizeof *places; i++) {
		char *file = NULL, *dir = NULL;

		good = asprintf(&file, "%s%s", base, places[i]) >= 0 &&
		       asprintf(&dir, "%s%s.d", base, places[i]) >= 0;
		good = good && read_file(c, file, 0, false, err) && read_dir(c, dir, err);
		free(file);
		free(dir);
	}
	return good;
}

static struct nfsconf_item *
find(const struct nfsconf *c, const char *section, const char *name)
{
	for (size_t i = c->n; i > 0; i--)
		if (strcasecmp(c->v[i - 1].section, section) == 0 &&
		    strcasecmp(c->v[i - 1].name, name) == 0)
			return &c->v[i - 1];
	return NULL;
}

const struct nfsconf_item *
nfsconf_get(const struct nfsconf *c, const char *section, const char *name)
{
	struct nfsconf_item *i = find(c, section, name);
	const struct nfsconf_item *e;
	const char *value;
	char *copy;

	if (!i)
		return NULL;
	if (*i->value == '$') { /* replaced where it stands */
		e = find(c, "environment", i->value + 1);
		value = e ? e->value : getenv(i->value + 1);
		copy = strdup(value ? value : "");
		if (!copy)
			return NULL;
		free(i->value);
		i->value = copy;
	}
	return *i->value ? i : NULL;
}

void
nfsconf_free(struct nfsconf *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].section);
		free(c->v[i].name);
		free(c->v[i].value);
		free(c->v[i].file);
	}
	free(c->v);
	*c = (struct nfsconf){0};
}
