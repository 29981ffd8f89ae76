/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The grammar of exports(5), a line at a time:
 *
 *	PATH { -OPTIONS | [HOST][(OPTIONS)] }
 *
 * Everything wrong in a text is reported, and what follows is read all the same. The meaning of
 * every form is that of nfs-utils; what usually is a mistake is warned of: a path without clients,
 *an option list that a blank has cut off from its client. Two forms whose meaning there nobody
 *could want are errors: an option list behind another (taken for a host name), and one at the end
 *of a line that has clients (everyone comes in).
 */
#include "grammar.h"
#include "lex.h"
#include "parse.h"
#include <stdlib.h>
#include <string.h>

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
	return entries_append(l->e, &e) || no_memory(l);
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
			 "no client stands before (: this is for EVERYONE; write * in front of it "
			 "if that "
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
		good = optparse_list(&opts, paren + 1, x->len - open - 2, x->file, x->at + open + 1,
				     x->diag);
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
		return wrong(
		    l, l->lex->here,
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
	int src = entries_source(e, name);
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
