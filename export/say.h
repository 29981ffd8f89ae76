/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SAY_H
#define SAY_H
/*
 * Messages that go back to whoever asked: what, where, why, what to do.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Writes the message to err (size errlen, cut when too long; err may be NULL) and returns code. */
static inline int __attribute__((format(printf, 4, 5)))
say(char *err, size_t errlen, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err || errlen == 0)
		return code;
	va_start(ap, fmt);
	vsnprintf(err, errlen, fmt, ap);
	va_end(ap);
	return code;
}

#endif
