/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LEX_H
#define LEX_H
/*
 * The words of an exports file (exports(5)): white space apart, with quotes, octal escapes,
 * continued lines and comments resolved. Each byte of a word remembers where it stood, so that what
 * is said about it names line and column.
 */
#include "diag.h"

struct lex {
	/* the text; nobody's but the caller's */
	const char *p, *end;
	struct spot here;
	const char *file; /* its name, for messages */
	struct diag *diag;
	/* the word: valid until the next one */
	char *text;	 /* decoded, NUL-terminated */
	struct spot *at; /* of each byte, and of the end */
	size_t len, cap;
	bool bad;     /* it was complained of already */
	bool comment; /* a comment was stepped over; the caller clears it */
	bool nomem;
};

enum lex_kind { LEX_WORD, LEX_EOL, LEX_EOF };

void lex_begin(struct lex *, const char *file, const char *text, size_t n, struct diag *);
/* The next word, the end of the line, or (again and again) of the text. */
enum lex_kind lex_next(struct lex *);
void lex_end(struct lex *);

#endif
