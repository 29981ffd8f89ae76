/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LOG_H
#define LOG_H
/*
 * One line per event on standard error: "spliced: what, where, why". Safe from any thread; a line
 * is one write(2). Text that came from a peer or a file system goes through log_text() first.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LVL_ERROR, LOG_LVL_WARN, LOG_LVL_INFO, LOG_LVL_DEBUG };

/* The only mutable global of the program besides the per-thread counters. Set once, before threads
 * start. */
void log_set_level(enum log_level);
enum log_level log_level(void);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A place in the code that may say at most `burst` lines in ten seconds; what was held back is said
 * when it speaks again. */
struct log_limit {
	unsigned burst;
	unsigned said, held;
	int64_t since;
};
/* May this place speak now? Thread-safe (relaxed): at worst a line more. */
bool log_may(struct log_limit *);

/*
 * Copies n bytes of foreign text into buf as printable ASCII: everything outside 0x20-0x7e, and
 * '\', becomes \ooo; at most size-1 bytes, always NUL-terminated, cut with "..." when too long.
 * Returns buf.
 */
char *log_text(char *buf, size_t size, const void *text, size_t n);

#endif
