/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* snprintf()'s answer as 0 or ENAMETOOLONG. */
static int
fitted(int n, size_t size)
{
	return n < 0 || (size_t)n >= size ? ENAMETOOLONG : 0;
}

int
control_statedir(char *buf, size_t size)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (geteuid() == 0)
		return fitted(snprintf(buf, size, "/var/lib/spliced"), size);
	if (xdg && xdg[0] == '/')
		return fitted(snprintf(buf, size, "%s/spliced", xdg), size);
	if (home && home[0] == '/')
		return fitted(snprintf(buf, size, "%s/.local/state/spliced", home), size);
	return ENOENT;
}

int
control_address(const char *statedir, struct sockaddr_un *a, int *dirfd)
{
	memset(a, 0, sizeof *a);
	a->sun_family = AF_UNIX;
	*dirfd = -1;
	if (!fitted(snprintf(a->sun_path, sizeof a->sun_path, "%s/" CONTROL_SOCKET, statedir),
		    sizeof a->sun_path))
		return 0;
	*dirfd = open(statedir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*dirfd < 0)
		return errno;
	snprintf(a->sun_path, sizeof a->sun_path, "/proc/self/fd/%d/" CONTROL_SOCKET, *dirfd);
	return 0;
}

/* One byte of a word; the bytes written (1 or 4). out has room for 5. */
static size_t
encode_byte(char *out, unsigned char c)
{
	if (c > 0x20 && c < 0x7f && c != '\\') {
		out[0] = (char)c;
		return 1;
	}
	return (size_t)snprintf(out, 5, "\\%03o", c);
}

int
control_encode(char *line, size_t size, int argc, char *const *argv)
{
	size_t n = 0;

	if (argc > CONTROL_WORDS_MAX || size < 8)
		return E2BIG;
	for (int i = 0; i < argc; i++) {
		if (i > 0)
			line[n++] = ' ';
		if (!argv[i][0])
			line[n++] = '\\';
		for (const char *p = argv[i]; *p; p++) {
			if (n + 8 >
			    size) /* room for this byte, a space, '\', the newline and NUL */
				return E2BIG;
			n += encode_byte(line + n, (unsigned char)*p);
		}
		if (n + 8 > size)
			return E2BIG;
	}
	line[n++] = '\n';
	line[n] = '\0';
	return n > CONTROL_REQUEST_MAX ? E2BIG : 0;
}

/* Decodes \ooo in place; false when malformed or NUL. A lone backslash is the empty word. */
static int
decode_word(char *word)
{
	char *out = word;

	if (!strcmp(word, "\\")) {
		word[0] = '\0';
		return 1;
	}
	for (const char *in = word; *in; in++) {
		unsigned c = (unsigned char)*in;

		if (c == '\\') {
			if (strspn(in + 1, "01234567") < 3)
				return 0;
			c = (unsigned)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
			in += 3;
		}
		if (c == 0 || c > 255)
			return 0;
		*out++ = (char)c;
	}
	*out = '\0';
	return 1;
}

int
control_decode(char *line, char **argv)
{
	int n = 0;
	char *save = NULL;

	for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		if (n == CONTROL_WORDS_MAX || !decode_word(w))
			return -1;
		argv[n++] = w;
	}
	argv[n] = NULL;
	return n;
}
