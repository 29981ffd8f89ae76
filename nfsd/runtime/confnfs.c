/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What nfs.conf(5) says, where the command line says nothing. [mountd] manage-gids is left alone:
 * distributions switch it on in the file that they ship, and it changes whose groups count; here
 * that is -g, which somebody has to say.
 */
#include "conf_int.h"
#include "nfsconf.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool
set_hosts(struct conf *c, const char *arg, char *why, size_t size)
{
	char list[512], *save = NULL;

	snprintf(list, sizeof list, "%s", arg);
	for (char *a = strtok_r(list, ", \t", &save); a; a = strtok_r(NULL, ", \t", &save))
		if (!conf_set(c, 'a', a, why, size))
			return false;
	return true;
}

static bool
set_port(struct conf *c, const char *arg, char *why, size_t size)
{
	return conf_set(c, 'p', arg, why, size);
}

static bool
set_threads(struct conf *c, const char *arg, char *why, size_t size)
{
	return conf_set(c, 'w', arg, why, size);
}

static bool
set_rootdir(struct conf *c, const char *arg, char *why, size_t size)
{
	char *real = realpath(arg, NULL);
	bool good = real && *arg == '/' && strlen(real) < sizeof c->rootdir;

	if (!good)
		snprintf(why, size, "%s; name the directory that paths of exports lie in",
			 real ? "not an absolute path" : strerror(errno));
	else if (strcmp(real, "/") != 0)
		strcpy(c->rootdir, real);
	free(real);
	return good;
}

int
conf_nfs(struct conf *c, const char *base, FILE *err)
{
	const struct {
		const char *section, *name;
		bool open;
		bool (*set)(struct conf *, const char *, char *, size_t);
	} take[] = {{"nfsd", "port", !c->port_given, set_port},
		    {"nfsd", "host", c->naddrs == 0, set_hosts},
		    {"nfsd", "threads", !c->workers_given, set_threads},
		    {"exports", "rootdir", c->ndirs == 0, set_rootdir}};
	struct nfsconf n;
	char what[PATH_MAX + 64], why[200];
	int status = nfsconf_read(&n, base, err) ? -1 : 2;

	for (size_t i = 0; status < 0 && i < sizeof take / sizeof *take; i++) {
		const struct nfsconf_item *v = nfsconf_get(&n, take[i].section, take[i].name);

		if (!v || !take[i].open || take[i].set(c, v->value, why, sizeof why))
			continue;
		snprintf(what, sizeof what, "%s:%u: [%s] %s =", v->file, v->line, v->section,
			 v->name);
		status = conf_complain(err, what, v->value, why);
	}
	nfsconf_free(&n);
	conf_set_ports(c);
	return status;
}
