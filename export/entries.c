/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The grammar of exports(5), a line at a time:
 *
 *	PATH { -OPTIONS | [HOST][(OPTIONS)] }
 *
 * Everything wrong in a text is reported, and what follows is read all the same. The meaning of
 * every form is that of nfs-utils; what usually is a mistake is warned of: a path without clients, an
 * option list that a blank has cut off from its client. Two forms whose meaning there nobody could
 * want are errors: an option list behind another (taken for a host name), and one at the end of a
 * line that has clients (everyone comes in).
 */
#include "entries.h"
#include "lex.h"
#include "parse.h"
#include "say.h"
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

/* The number of a source by that name, new or not. -1: no memory. */
static int
add_source(struct entries *e, const char *name)
{
	struct sources *s = e->sources;
	char **v;

	if (!s) {
		s = e->sources = calloc(1, sizeof *s);
		if (!s)
			return -1;
		s->refs = 1;
		if (add_source(e, COMMAND_LINE) < 0)
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

static void
entry_free(struct entry *e)
{
	free(e->path);
	free(e->client.text);
	free(e->mountpoint);
}

/* Takes over what the entry owns, also on failure. */
static bool
append(struct entries *e, struct entry *one)
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
	for (size_t i = 0; i < from->n; i++) {
		const struct entry *o = &from->v[i];
		struct entry n = *o;
		int src = add_source(to, from->sources->v[o->client.at.src]);

		n.path = strdup(o->path);
		n.client.text = strdup(o->client.text);
		n.mountpoint = o->mountpoint ? strdup(o->mountpoint) : NULL;
		n.at.src = n.client.at.src = (unsigned)src;
		if (src < 0 || !n.path || !n.client.text || (o->mountpoint && !n.mountpoint)) {
			entry_free(&n);
			return false;
		}
		if (!append(to, &n))
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

/* ---- a line ---- */

struct line {
	struct entries *e;
	struct lex *lex;
	unsigned src;
	char *path;
	struct spot at;
	struct optparse dash; /* what "-" lists have said so far */
	bool after_dash;      /* the word before was such a list */
	bool bad_dash;	      /* one of them was wrong: its clients' options are not known */
	unsigned clients;
	bool bare; /* the last client had no parentheses */
};

static bool
wrong(struct line *l, struct spot at, const char *why)
{
	diag_add(l->lex->diag, DIAG_ERROR, l->lex->file, at, "%s", why);
	return false;
}

static bool
no_memory(struct line *l)
{
	return wrong(l, l->lex->here, "no memory");
}

/* Adds a client of the line. text NULL: everyone. */
static bool
add_client(struct line *l, const char *text, struct spot at, const struct optparse *opts)
{
	struct entry e = {.at = {l->at.line, l->at.col, l->src}};

	e.client.at = (struct origin){at.line, at.col, l->src};
	if (!parse_client(text ? text : "*", &e.client, l->lex->file, at, l->lex->diag))
		return false;
	optparse_result(opts, &e.client.opts);
	if (e.client.opts.no_sys || e.client.opts.tls_only)
		diag_add(l->lex->diag, DIAG_WARN, l->lex->file, at,
			 "%s: %s; nobody can use this rule", text ? text : "everyone",
			 e.client.opts.no_sys ? "this server has only sec=sys"
					      : "this server has no TLS (xprtsec= without none)");
	e.path = strdup(l->path);
	e.client.text = strdup(text ? text : "*");
	e.mountpoint = opts->mountpoint ? strdup(opts->mountpoint) : NULL;
	if (!e.path || !e.client.text || (opts->mountpoint && !e.mountpoint)) {
		entry_free(&e);
		return no_memory(l);
	}
	l->clients++;
	return append(l->e, &e) || no_memory(l);
}

/* A list in parentheses that white space has cut: the rest of it is no client. */
static void
skip_list(struct lex *x)
{
	const char *stop = x->p;

	while (stop < x->end && *stop != '\n' && *stop != ')')
		stop++;
	if (stop < x->end && *stop == ')')
		while (x->p <= stop && lex_next(x) == LEX_WORD)
			;
}

/* The parentheses of a client: from open to the end of the word. */
static bool
check_list(struct line *l, size_t open)
{
	const struct lex *x = l->lex;
	const char *close = strchr(x->text + open, ')');
	struct spot at = x->at[open];

	if (!close) {
		wrong(l, at,
		      "this list is not closed; write client(option,option) without white space "
		      "inside the parentheses (or quote it)");
		skip_list(l->lex);
		return false;
	}
	if (close[1] || strchr(x->text + open + 1, '('))
		return wrong(l, x->at[(size_t)(close - x->text)],
			     "something follows the closing parenthesis without a blank");
	return true;
}

/* (rw) alone: everyone. */
static void
warn_everyone(struct line *l, struct spot at)
{
	if (l->bare)
		diag_add(l->lex->diag, DIAG_WARN, l->lex->file, at,
			 "the blank before ( makes two clients of this: the one before it, with "
			 "default options, and EVERYONE, with these; remove the blank, or write * "
			 "in front of ( for everyone");
	else
		diag_add(l->lex->diag, DIAG_WARN, l->lex->file, at,
			 "no client stands before (: this is for EVERYONE; write * in front of it if that "
			 "is meant");
}

static bool
client(struct line *l)
{
	struct lex *x = l->lex;
	char *paren = strchr(x->text, '('), *text;
	size_t open = paren ? (size_t)(paren - x->text) : 0;
	struct spot at = x->at[0];
	struct optparse opts;
	bool good = true;

	l->after_dash = false;
	if (paren && !check_list(l, open)) {
		l->bare = false;
		return false;
	}
	if (!paren && !x->len)
		return wrong(l, at, "an empty client; * means everyone");
	if (paren == x->text)
		warn_everyone(l, at);
	l->bare = !paren;
	text = paren == x->text ? NULL : strndup(x->text, paren ? open : x->len);
	if ((!text && paren != x->text) || !optparse_copy(&opts, &l->dash)) {
		free(text);
		return no_memory(l);
	}
	if (paren)
		good = optparse_list(&opts, paren + 1, x->len - open - 2, x->file,
				     x->at + open + 1, x->diag);
	if (good && !l->bad_dash)
		good = add_client(l, text, at, &opts);
	else
		l->clients++; /* there was one, though not a good one */
	optparse_free(&opts);
	free(text);
	return good;
}

static bool
dash_list(struct line *l)
{
	struct lex *x = l->lex;

	if (l->after_dash)
		return wrong(l, x->at[0],
			     "an option list behind another; join them with a comma (exports(5) "
			     "would take this one for a host name)");
	l->after_dash = true;
	if (optparse_list(&l->dash, x->text + 1, x->len - 1, x->file, x->at + 1, x->diag))
		return true;
	l->bad_dash = true;
	return false;
}

static bool
check_path(struct line *l)
{
	struct lex *x = l->lex;

	l->at = x->at[0];
	if (x->text[0] != '/')
		return wrong(l, l->at,
			     "the path is not absolute; a line begins with the directory, as in "
			     "/srv/data 10.0.0.0/8(ro)");
	l->path = strdup(x->text);
	return l->path || no_memory(l);
}

/* A line without clients is for everyone. */
static bool
end_line(struct line *l, bool comment)
{
	if (l->clients && l->after_dash)
		return wrong(l, l->lex->here,
			     "no client follows the last option list (exports(5) would let EVERYONE "
			     "in); put the list before its clients");
	if (l->clients || l->bad_dash)
		return true;
	diag_add(l->lex->diag, DIAG_WARN, l->lex->file, l->at,
		 "%s: no client is named: this is for EVERYONE%s; name the clients, or write * "
		 "if that is meant",
		 l->path, comment ? " (what follows # is a comment)" : "");
	return add_client(l, NULL, l->at, &l->dash);
}

/* One line, its first word read already. */
static bool
line(struct entries *e, struct lex *x, unsigned src)
{
	struct line l = {.e = e, .lex = x, .src = src};
	bool good, path;

	optparse_init(&l.dash);
	x->comment = false;
	good = path = !x->bad && check_path(&l);
	while (lex_next(x) == LEX_WORD) {
		if (x->bad || !path)
			good = false;
		else
			good &= x->text[0] == '-' ? dash_list(&l) : client(&l);
	}
	if (good)
		good = end_line(&l, x->comment);
	optparse_free(&l.dash);
	free(l.path);
	return good;
}

bool
entries_parse(struct entries *e, const char *name, const char *text, size_t n, struct diag *d)
{
	int src = add_source(e, name);
	enum lex_kind k;
	struct lex x;
	bool good = src >= 0;

	lex_begin(&x, name, text, n, d);
	while (src >= 0 && (k = lex_next(&x)) != LEX_EOF)
		if (k == LEX_WORD)
			good = line(e, &x, (unsigned)src) && good;
	good &= !x.nomem;
	lex_end(&x);
	return good;
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
	if (n.path && n.client.text && append(e, &n))
		return true;
	diag_add(d, DIAG_ERROR, sp->path, nowhere, "no memory");
	return false;
}

bool
entries_add(struct entries *e, const struct export_spec *sp, const char *source, unsigned unit,
	    struct diag *d)
{
	int src = add_source(e, source ? source : COMMAND_LINE);
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
