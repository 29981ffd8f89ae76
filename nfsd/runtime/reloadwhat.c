/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is to be exported: what the command line and the files say, and what becomes of it at run
 * time.
 */
#include "reload_int.h"
#include "rootdir.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RUN_TIME "splicectl export"

bool
reload_read(const struct conf *c, struct entries *e, struct diag *d)
{
	bool good = true;

	e->rootdir = c->rootdir[0] ? c->rootdir : NULL;
	for (size_t i = 0; i < c->ndirs; i++) {
		struct export_spec s = {c->dirs[i], c->options, c->clients};

		good &= entries_add(e, &s, NULL, (unsigned)i + 1, d);
	}
	if (c->file)
		good = entries_read(e, c->file, d) && good;
	else if (c->ndirs == 0)
		good = entries_read_all(e, ETC_EXPORTS, ETC_EXPORTS_D, d) && good;
	if (good && e->n == 0) {
		diag_add(d, DIAG_ERROR, c->file, (struct spot){0, 0},
			 c->file
			     ? "exports nothing; a server that serves nothing is stopped, not "
			       "given an empty file"
			     : "nothing to export: no directory is named, and neither " ETC_EXPORTS
			       " nor " ETC_EXPORTS_D "/*.exports exports any");
		good = false;
	}
	return good;
}

/* CLIENT:PATH into its parts; the client may have colons. PATH alone: *client is NULL. */
static int
split_name(const char *name, char **client, const char **path)
{
	struct export_client c = {0};
	char err[8];

	*client = NULL;
	*path = name;
	if (*name == '/')
		return 0;
	for (const char *p = strstr(name, ":/"); p; p = strstr(p + 1, ":/")) {
		free(*client);
		*client = p == name ? strdup("*") : strndup(name, (size_t)(p - name));
		*path = p + 1;
		if (!*client)
			return ENOMEM;
		if (export_parse_client(*client, &c, err, sizeof err) == 0) {
			free(c.text);
			return 0;
		}
	}
	free(*client);
	*client = NULL;
	return EINVAL;
}

/* Why a name cannot be split: what is wrong with its client, if it has one. */
static void
say_form(const struct job *j)
{
	const char *colon = strstr(j->name, ":/");
	char *text = colon ? strndup(j->name, (size_t)(colon - j->name)) : NULL, err[256] = "";
	struct export_client c = {0};

	if (text && *text && export_parse_client(text, &c, err, sizeof err) == 0)
		free(c.text);
	if (*err)
		fprintf(j->out, "%s: %s\n", j->name, err);
	else
		fprintf(j->out, "%s: not CLIENT:/PATH%s, as in 10.0.0.0/8:/srv\n", j->name,
			j->what == REMOVE ? ", and not /PATH" : "");
	free(text);
}

/* False with errno. */
static bool
is_directory(const struct reload *r, const char *path)
{
	char *where = rootdir_real(r->now.rootdir, path);
	struct stat st;
	bool yes = where && stat(where, &st) == 0 && S_ISDIR(st.st_mode);

	if (where && !yes)
		errno = ENOTDIR;
	free(where);
	return yes;
}

int
reload_change(struct reload *r, struct job *j, struct entries *e, struct diag *d)
{
	const char *path;
	char *client;
	size_t gone;
	bool good;

	if (split_name(j->name, &client, &path) != 0 || (j->what == ADD && !client)) {
		say_form(j);
		free(client);
		return EINVAL;
	}
	/* somebody waits for an answer: that a path may come later is not what he wants to hear */
	if (j->what == ADD && !is_directory(r, path)) {
		fprintf(j->out, "%s: %s\n", path, strerror(errno));
		free(client);
		return ENOENT;
	}
	good = entries_copy(e, &r->now);
	gone = entries_remove(e, path, client);
	if (good && j->what == ADD) {
		struct export_spec s = {path, j->options, client};

		good = entries_add(e, &s, RUN_TIME, 0, d);
	} else if (good && gone == 0) {
		fprintf(j->out, "%s: there is no such export (see splicectl exports)\n", j->name);
		good = false;
	}
	free(client);
	return good ? 0 : EINVAL;
}
