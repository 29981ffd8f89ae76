/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * splicectl key export|import FILE. The key is a secret, so its file is made for the owner alone
 * and never written over. When no server runs, the state directory is worked on directly, by the
 * same code that the server would run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* the one thing that needs no server; the rest of the server is out of this program's reach */
#include "../runtime/keycmd.h"
#include "ctl.h"

#define KEY_TEXT_MAX 4096

/* The command's reply, from the server or by ourselves; 0 or an errno. */
static int
key_reply(const struct ctl *ctl, int argc, char **argv, struct ctl_reply *r)
{
	int error = ctl_ask(ctl, argc, argv, r);
	FILE *out;

	if (error != ENOENT && error != ECONNREFUSED)
		return error;
	if (access(ctl->statedir, F_OK) != 0)
		return errno;
	out = open_memstream(&r->text, &r->len);
	if (!out)
		return errno;
	r->ok = key_command(ctl->statedir, argc, argv, out) == 0;
	return fclose(out) == 0 ? 0 : errno;
}

static int
complain(const char *file, const char *why)
{
	fprintf(stderr, "splicectl: key: %s: %s\n", file, why);
	return CTL_FAILED;
}

static int
write_key(const char *file, const struct ctl_reply *r)
{
	bool to_stdout = !strcmp(file, "-");
	int fd = to_stdout ? dup(STDOUT_FILENO)
			   : open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good;

	if (fd < 0)
		return complain(file,
				errno == EEXIST ? "exists; name a new file" : strerror(errno));
	good = write(fd, r->text, r->len) == (ssize_t)r->len;
	good = (to_stdout || fsync(fd) == 0) && good;
	if (close(fd) == 0 && good)
		return CTL_OK;
	if (!to_stdout)
		unlink(file);
	return complain(file, "cannot write the key; is the disk full?");
}

/* The text in a file without its newline; 0 or an exit status. */
static int
read_key(const char *file, char text[KEY_TEXT_MAX])
{
	FILE *in = !strcmp(file, "-") ? stdin : fopen(file, "re");
	size_t n;

	if (!in)
		return complain(file, strerror(errno));
	n = fread(text, 1, KEY_TEXT_MAX - 1, in);
	if (in != stdin)
		fclose(in);
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	return text[0] ? CTL_OK
		       : complain(file, "is empty; it should hold what `key export` wrote");
}

static int
print_refusal(const struct ctl_reply *r)
{
	fprintf(stderr, "splicectl: %s", r->text && r->len ? r->text : "refused\n");
	return CTL_FAILED;
}

static int
export_key(const struct ctl *ctl, const char *file)
{
	char *argv[] = {"key", "export", NULL};
	struct ctl_reply r;
	int error = key_reply(ctl, 2, argv, &r), status;

	if (error)
		return ctl_explain(ctl, error);
	status = r.ok ? write_key(file, &r) : print_refusal(&r);
	free(r.text);
	return status;
}

static int
import_key(const struct ctl *ctl, const char *file)
{
	char text[KEY_TEXT_MAX], *argv[] = {"key", "import", text, NULL};
	struct ctl_reply r;
	int error, status = read_key(file, text);

	if (status != CTL_OK)
		return status;
	error = key_reply(ctl, 3, argv, &r);
	if (error)
		return ctl_explain(ctl, error);
	if (r.ok)
		fputs(r.text, stdout);
	else
		status = print_refusal(&r);
	free(r.text);
	return status;
}

int
ctl_key(const struct ctl *ctl, int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "export"))
		return export_key(ctl, argv[2]);
	if (argc == 3 && !strcmp(argv[1], "import"))
		return import_key(ctl, argv[2]);
	fprintf(
	    stderr,
	    "splicectl: key: say `key export FILE` or `key import FILE`; - is standard output or "
	    "input\n");
	return CTL_USAGE;
}
