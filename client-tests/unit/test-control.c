/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "control.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Words of any bytes come back as they were, empty words and spaces included. */
TEST(control, words_come_back)
{
	char every[256], line[CONTROL_REQUEST_MAX + 1], *out[CONTROL_WORDS_MAX + 1];
	char *in[] = {"explain", "", "a b", "\\", every, "-", NULL};
	int n;

	for (int i = 0; i < 255; i++)
		every[i] = (char)(i + 1);
	every[255] = '\0';
	CU_ASSERT_EQUAL_FATAL(control_encode(line, sizeof line, 6, in), 0);
	CU_ASSERT_EQUAL(strchr(line, '\n'), line + strlen(line) - 1);
	line[strlen(line) - 1] = '\0';
	n = control_decode(line, out);
	CU_ASSERT_EQUAL_FATAL(n, 6);
	for (int i = 0; i < 6; i++)
		CU_ASSERT_STRING_EQUAL(out[i], in[i]);
	CU_ASSERT_PTR_NULL(out[6]);
}

/* Malformed escapes, a NUL in a word and too many words are refused. */
TEST(control, bad_lines)
{
	static const char *const bad[] = {"a\\",
					  "\\12",
					  "\\400",
					  "\\000",
					  "\\8aa",
					  "x \\xyz",
					  "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"};
	char line[128], *out[CONTROL_WORDS_MAX + 1];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		strcpy(line, bad[i]);
		CU_ASSERT_EQUAL(control_decode(line, out), -1);
	}
	strcpy(line, "  a   b  ");
	CU_ASSERT_EQUAL(control_decode(line, out), 2);
	line[0] = '\0';
	CU_ASSERT_EQUAL(control_decode(line, out), 0);
}

/* A request that is too long is refused by the writer, whatever the size of its buffer. */
TEST(control, too_long)
{
	char *big = malloc(CONTROL_REQUEST_MAX), line[CONTROL_REQUEST_MAX + 1], small[16];
	char *argv[] = {big, NULL}, *words[CONTROL_WORDS_MAX + 1];

	CU_ASSERT_PTR_NOT_NULL_FATAL(big);
	memset(big, '\n', CONTROL_REQUEST_MAX - 1);
	big[CONTROL_REQUEST_MAX - 1] = '\0';
	CU_ASSERT_EQUAL(control_encode(line, sizeof line, 1, argv), E2BIG);
	big[10] = '\0';
	CU_ASSERT_EQUAL(control_encode(line, sizeof line, 1, argv), 0);
	CU_ASSERT_EQUAL(control_encode(small, sizeof small, 1, argv), E2BIG);
	for (int i = 0; i <= CONTROL_WORDS_MAX; i++)
		words[i] = "x";
	CU_ASSERT_EQUAL(control_encode(line, sizeof line, CONTROL_WORDS_MAX + 1, words), E2BIG);
	free(big);
}

/* A state directory too long for a socket address is reached all the same; one that does not exist
 * says so. */
TEST(control, address)
{
	char dir[300] = "/tmp/", *p;
	struct sockaddr_un a;
	int fd;

	CU_ASSERT_EQUAL(control_address("/run/x", &a, &fd), 0);
	CU_ASSERT_STRING_EQUAL(a.sun_path, "/run/x/control");
	CU_ASSERT_EQUAL(fd, -1);
	for (p = dir + 5; p < dir + 200; p += 2)
		memcpy(p, "./", 2);
	*p = '\0';
	CU_ASSERT_EQUAL_FATAL(control_address(dir, &a, &fd), 0);
	CU_ASSERT(fd >= 0);
	CU_ASSERT(strlen(a.sun_path) < sizeof a.sun_path);
	close(fd);
	strcpy(p, "does-not-exist");
	CU_ASSERT_EQUAL(control_address(dir, &a, &fd), ENOENT);
}
