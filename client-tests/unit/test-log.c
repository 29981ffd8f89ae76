/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Standard error goes to a pipe between capture() and captured(); the text is small enough for the
 * pipe. */
struct capture {
	int saved, read_end;
	char text[8192];
};

static void
capture(struct capture *c)
{
	int fd[2] = {-1, -1};

	CU_ASSERT_EQUAL_FATAL(pipe(fd), 0);
	c->saved = dup(STDERR_FILENO);
	dup2(fd[1], STDERR_FILENO);
	close(fd[1]);
	c->read_end = fd[0];
}

static const char *
captured(struct capture *c)
{
	size_t n = 0;
	ssize_t got;

	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	while ((got = read(c->read_end, c->text + n, sizeof c->text - 1 - n)) > 0)
		n += (size_t)got;
	close(c->read_end);
	c->text[n] = '\0';
	return c->text;
}

/* Foreign text comes out as printable ASCII, the backslash and every other byte as three octal
 * digits. */
TEST(log, text_escapes)
{
	char buf[64];

	CU_ASSERT_STRING_EQUAL(log_text(buf, sizeof buf, "a b~", 4), "a b~");
	CU_ASSERT_STRING_EQUAL(log_text(buf, sizeof buf, "\n\\\x7f\xff", 4),
			       "\\012\\134\\177\\377");
	CU_ASSERT_STRING_EQUAL(log_text(buf, sizeof buf, "\0x", 2), "\\000x");
	CU_ASSERT_STRING_EQUAL(log_text(buf, sizeof buf, "", 0), "");
}

/* Text that does not fit ends in "...", is never longer than its buffer, and no escape is cut in
 * the middle. */
TEST(log, text_cuts)
{
	char buf[16];

	CU_ASSERT_STRING_EQUAL(log_text(buf, 8, "1234567", 7), "1234567");
	CU_ASSERT_STRING_EQUAL(log_text(buf, 8, "12345678", 8), "1234...");
	CU_ASSERT_STRING_EQUAL(log_text(buf, 8, "1\n\n\n", 4), "1...");
	for (size_t size = 1; size < sizeof buf; size++) {
		memset(buf, 'Z', sizeof buf);
		log_text(buf, size, "\n\n\n\n\n\n\n\n", 8);
		CU_ASSERT(strlen(buf) < size);
		CU_ASSERT_EQUAL(buf[size], 'Z');
	}
}

/* A message is exactly one line, whatever was formatted into it, and keeps errno. */
TEST(log, one_line)
{
	enum log_level before = log_level();
	struct capture c;

	log_set_level(LOG_LVL_INFO);
	capture(&c);
	errno = ENOSPC;
	log_error("cannot write %s: %m", "a\nb\rc");
	CU_ASSERT_EQUAL(errno, ENOSPC);
	log_debug("not at this level");
	CU_ASSERT_STRING_EQUAL(captured(&c),
			       "spliced: error: cannot write a?b?c: No space left on device\n");
	log_set_level(before);
}

/* A message longer than a line is cut with "..." and still ends its line. */
TEST(log, long_line)
{
	enum log_level before = log_level();
	struct capture c;
	char big[4000];
	const char *text;
	size_t n;

	memset(big, 'x', sizeof big);
	big[sizeof big - 1] = '\0';
	log_set_level(LOG_LVL_INFO);
	capture(&c);
	log_info("%s", big);
	text = captured(&c);
	n = strlen(text);
	CU_ASSERT(n > 500 && n < sizeof big);
	CU_ASSERT_STRING_EQUAL(text + n - 5, "x...\n");
	log_set_level(before);
}

/* A place speaks burst times in its window, then is counted, and says how much was held back when
 * the window is over. */
TEST(log, limit)
{
	enum log_level before = log_level();
	struct log_limit l = {.burst = 2};
	struct capture c;

	log_set_level(LOG_LVL_INFO);
	CU_ASSERT(log_may(&l));
	CU_ASSERT(log_may(&l));
	CU_ASSERT_FALSE(log_may(&l));
	CU_ASSERT_FALSE(log_may(&l));
	CU_ASSERT_FALSE(log_may(&l));
	capture(&c);
	l.since -= 10; /* the window is ten seconds old */
	CU_ASSERT(log_may(&l));
	CU_ASSERT_STRING_EQUAL(captured(&c),
			       "spliced: warning: 3 lines like the next one were held back\n");
	CU_ASSERT(log_may(&l));
	CU_ASSERT_FALSE(log_may(&l));
	log_set_level(before);
}

/* Under the journal, and only when standard error is the journal's own stream, a line begins with
 * its priority. */
TEST(log, journal_prefix)
{
	enum log_level before = log_level();
	struct capture c;

	setenv("JOURNAL_STREAM", "1:1", 1);
	log_set_level(LOG_LVL_INFO);
	capture(&c);
	log_info("elsewhere");
	CU_ASSERT_STRING_EQUAL(captured(&c), "spliced: elsewhere\n");
	unsetenv("JOURNAL_STREAM");
	log_set_level(before);
}
