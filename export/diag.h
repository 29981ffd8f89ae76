/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DIAG_H
#define DIAG_H
/*
 * What is wrong with what somebody wrote, and where: a list of messages, each one line that names
 * file, line and column, the reason and the remedy. A reader of exports reports everything it finds
 * and goes on; whoever asked decides what to do with the list.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A place in a text: counted from 1 as an editor counts, columns in bytes; line 0: nowhere. */
struct spot {
	unsigned line, col;
};

enum diag_level { DIAG_ERROR, DIAG_WARN };

struct diag_line {
	enum diag_level level;
	char *text;   /* "FILE:LINE:COL: message" */
	size_t where; /* bytes of it in front of the message */
};

struct diag {
	struct diag_line *v;
	size_t n, cap;
	unsigned errors, warnings; /* all of them, also those beyond DIAG_MAX */
};

#define DIAG_MAX 1000 /* messages kept; a file that is no exports file at all has millions */

/* Adds "FILE:LINE:COL: message". file NULL: the message alone; line 0: "FILE: message". */
void diag_add(struct diag *, enum diag_level, const char *file, struct spot, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The messages as compilers print them, "FILE:LINE:COL: error: message", a line each. */
void diag_print(const struct diag *, FILE *);
/* The messages of one level, a line each without marks, as far as there is room; always ended. */
void diag_text(const struct diag *, enum diag_level, char *buf, size_t size);
/* To the log, warnings as warnings. */
void diag_log(const struct diag *);
void diag_free(struct diag *);

#endif
