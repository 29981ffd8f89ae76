/* SPDX-License-Identifier: BSD-2-Clause */
#include "keycmd.h"
#include "handle.h"
#include <errno.h>
#include <sodium.h>
#include <string.h>

#define KEY_TEXT_MAX 512

static int
do_export(const char *statedir, FILE *out)
{
	char text[KEY_TEXT_MAX], err[300] = "";
	int error = handle_key_export(statedir, text, sizeof text, err, sizeof err);

	fprintf(out, "%s%s", error ? "key: " : "", error ? err : text);
	if (error || !strchr(text, '\n'))
		fputc('\n', out);
	sodium_memzero(text, sizeof text);
	return error;
}

static int
do_import(const char *statedir, const char *text, FILE *out)
{
	char err[300] = "";
	int error = handle_key_import(statedir, text, err, sizeof err);

	if (error)
		fprintf(out, "key: %s\n", err);
	else
		fprintf(out, "key imported; handles are made with it from the next start on\n");
	return error;
}

int
key_command(const char *statedir, int argc, char **argv, FILE *out)
{
	if (argc == 2 && !strcmp(argv[1], "export"))
		return do_export(statedir, out);
	if (argc == 3 && !strcmp(argv[1], "import"))
		return do_import(statedir, argv[2], out);
	fprintf(out, "key: say `key export` or `key import TEXT`\n");
	return EINVAL;
}
