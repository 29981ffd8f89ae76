/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log lines. A line is put together in a buffer on the stack and leaves by one write(2), so lines
 * of several threads never mix and a log call takes no lock. A standard error that cannot take the
 * line (full non-blocking pipe, closed) loses it: serving goes on. Under systemd the priority
 * stands in front as "<N>", which the journal takes off again.
 */
#include "log.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024
#define LIMIT_SECONDS 10

/* Written by log_set_level() only, before there are threads. */
static struct {
	enum log_level level;
	bool journal; /* standard error is the journal's socket */
} self = {.level = LOG_LVL_INFO};

/* systemd says device:inode of the stream it gave us; a redirected stderr is then told apart
 * (systemd.exec(5), JOURNAL_STREAM). */
static bool
stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void
log_set_level(enum log_level level)
{
	self.level = level;
	self.journal = stderr_is_journal();
}

enum log_level
log_level(void)
{
	return self.level;
}

/* A message is one line whatever was put into it: control characters become '?'. */
static void
flatten(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = '?';
}

static void __attribute__((format(printf, 2, 0)))
say(enum log_level level, const char *fmt, va_list ap)
{
	static const char *const word[] = {"error: ", "warning: ", "", ""};
	static const int priority[] = {3, 4, 6, 7}; /* syslog(3) */
	char line[LINE_MAX_BYTES];
	size_t room = sizeof line - 1, n = 0; /* 1: the newline */
	int saved = errno, add;

	if (level > self.level)
		return;
	if (self.journal)
		n = (size_t)snprintf(line, room, "<%d>", priority[level]);
	n += (size_t)snprintf(line + n, room - n, "spliced: %s", word[level]);
	errno = saved; /* %m */
	add = vsnprintf(line + n, room - n, fmt, ap);
	if (add < 0)
		add = 0;
	if ((size_t)add >= room - n) {
		memcpy(line + room - 4, "...", 4);
		add = (int)(room - n - 1);
	}
	flatten(line + n, (size_t)add);
	n += (size_t)add;
	line[n++] = '\n';
	while (write(STDERR_FILENO, line, n) < 0 && errno == EINTR)
		;
	errno = saved;
}

#define LOG_FUNCTION(name, level)                                                                  \
	void name(const char *fmt, ...)                                                            \
	{                                                                                          \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, fmt);                                                                 \
		say(level, fmt, ap);                                                               \
		va_end(ap);                                                                        \
	}

LOG_FUNCTION(log_error, LOG_LVL_ERROR)
LOG_FUNCTION(log_warn, LOG_LVL_WARN)
LOG_FUNCTION(log_info, LOG_LVL_INFO)
LOG_FUNCTION(log_debug, LOG_LVL_DEBUG)

static int64_t
seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec + 1; /* never 0: that is "has not spoken yet" */
}

bool
log_may(struct log_limit *l)
{
	int64_t now = seconds_now(), since = __atomic_load_n(&l->since, __ATOMIC_RELAXED);

	/* one thread wins the new window; the others count into it */
	if ((since == 0 || now - since >= LIMIT_SECONDS) &&
	    __atomic_compare_exchange_n(&l->since, &since, now, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED)) {
		unsigned held = __atomic_exchange_n(&l->held, 0, __ATOMIC_RELAXED);

		__atomic_store_n(&l->said, 0, __ATOMIC_RELAXED);
		if (held)
			log_warn("%u lines like the next one were held back", held);
	}
	if (__atomic_fetch_add(&l->said, 1, __ATOMIC_RELAXED) < l->burst)
		return true;
	__atomic_fetch_sub(&l->said, 1, __ATOMIC_RELAXED); /* so that it cannot wrap */
	__atomic_fetch_add(&l->held, 1, __ATOMIC_RELAXED);
	return false;
}

/* One byte as text; its length, 1 or 4. */
static size_t
escape(unsigned char c, char out[5])
{
	if (c >= 0x20 && c <= 0x7e && c != '\\') {
		out[0] = (char)c;
		return 1;
	}
	snprintf(out, 5, "\\%03o", c);
	return 4;
}

char *
log_text(char *buf, size_t size, const void *text, size_t n)
{
	const unsigned char *in = text;
	size_t used = 0, cut = 0; /* cut: where "..." still fits */
	char one[5];

	if (size == 0)
		return buf;
	for (size_t i = 0; i < n; i++) {
		size_t len = escape(in[i], one);

		if (used + len >= size) {
			size_t dots = size - 1 - cut < 3 ? size - 1 - cut : 3;

			memcpy(buf + cut, "...", dots);
			used = cut + dots;
			break;
		}
		memcpy(buf + used, one, len);
		used += len;
		if (used + 3 < size)
			cut = used;
	}
	buf[used] = '\0';
	return buf;
}
