/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What nfs-utils does, byte by byte, with four differences: an octal escape is decoded once, never
 * looked at again; a quote ends on its line (there, a forgotten one swallows the rest of the file);
 * a NUL byte and an escape above \377 are errors; lines are counted as an editor counts them.
 *
 * A backslash at the end of a line joins the next one, as one blank. So a list in parentheses
 * cannot be continued, and neither can a quoted word.
 */
#include "lex.h"
#include <stdlib.h>
#include <string.h>

void
lex_begin(struct lex *l, const char *file, const char *text, size_t n, struct diag *d)
{
	*l = (struct lex){.p = text, .end = text + n, .here = {1, 1}, .file = file, .diag = d};
}

void
lex_end(struct lex *l)
{
	free(l->text);
	free(l->at);
	l->text = NULL;
	l->at = NULL;
}

static void
step(struct lex *l)
{
	if (*l->p == '\n') {
		l->here.line++;
		l->here.col = 1;
	} else {
		l->here.col++;
	}
	l->p++;
}

/* isspace(3) of the C locale. */
static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The bytes of a backslash with its end of line, or 0. */
static size_t
joins(const struct lex *l)
{
	size_t left = (size_t)(l->end - l->p);

	if (left >= 2 && l->p[0] == '\\' && l->p[1] == '\n')
		return 2;
	return left >= 3 && memcmp(l->p, "\\\r\n", 3) == 0 ? 3 : 0;
}

/* Is the backslash here followed by three octal digits? */
static bool
is_octal(const struct lex *l)
{
	if (l->end - l->p < 4 || *l->p != '\\')
		return false;
	for (int i = 1; i <= 3; i++)
		if (l->p[i] < '0' || l->p[i] > '7')
			return false;
	return true;
}

static void
put(struct lex *l, char c, struct spot at)
{
	if (l->len == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 256;
		char *text = realloc(l->text, cap);
		struct spot *v;

		if (text)
			l->text = text;
		v = reallocarray(l->at, cap, sizeof *v);
		if (v)
			l->at = v;
		if (!text || !v) {
			l->nomem = l->bad = true;
			return;
		}
		l->cap = cap;
	}
	l->text[l->len] = c;
	l->at[l->len++] = at;
}

static void
complain(struct lex *l, struct spot at, const char *why)
{
	if (!l->bad)
		diag_add(l->diag, DIAG_ERROR, l->file, at, "%s", why);
	l->bad = true;
}

static void
escape(struct lex *l)
{
	struct spot at = l->here;
	int c = (l->p[1] - '0') * 64 + (l->p[2] - '0') * 8 + (l->p[3] - '0');

	for (int i = 0; i < 4; i++)
		step(l);
	if (c == 0 || c > 255)
		complain(l, at,
			 c ? "an octal escape above \\377 is no byte"
			   : "\\000 cannot be part of a name");
	else
		put(l, (char)c, at);
}

static void
word(struct lex *l)
{
	struct spot open = {0, 0}, begin = l->here;

	while (l->p < l->end && *l->p != '\n' && (open.line || !is_blank(*l->p)) && !joins(l)) {
		if (*l->p == '"') {
			open = open.line ? (struct spot){0, 0} : l->here;
			step(l);
		} else if (is_octal(l)) {
			escape(l);
		} else {
			if (*l->p == '\0')
				complain(l, l->here, "a NUL byte; is this a text file?");
			else
				put(l, *l->p, l->here);
			step(l);
		}
	}
	if (open.line)
		complain(l, open, "this quotation mark is not closed on its line");
	put(l, '\0', l->len ? l->here : begin);
	l->len -= l->len > 0;
}

/* A comment ends with its line. A backslash at its end joins the next line to it, which nobody
 * expects of a comment. */
static void
comment(struct lex *l)
{
	l->comment = true;
	while (l->p < l->end && *l->p != '\n') {
		size_t n = joins(l);

		if (n)
			diag_add(
			    l->diag, DIAG_WARN, l->file, l->here,
			    "the backslash at the end of this comment makes the next line part "
			    "of it; remove the backslash if that line should count");
		for (n = n ? n : 1; n; n--)
			step(l);
	}
}

enum lex_kind
lex_next(struct lex *l)
{
	size_t n;

	for (;;) {
		if (l->p == l->end)
			return LEX_EOF;
		if (*l->p == '\n') {
			step(l);
			return LEX_EOL;
		}
		n = joins(l);
		if (n || is_blank(*l->p)) {
			for (n = n ? n : 1; n; n--)
				step(l);
		} else if (*l->p == '#') {
			comment(l);
		} else {
			break;
		}
	}
	l->len = 0;
	l->bad = l->nomem;
	word(l);
	return l->nomem ? LEX_EOF : LEX_WORD;
}
