/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain.h"
#include "paths.h"
#include "plan.h"
#include "resolver.h"
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 40 /* times 100 ms */

static const char *
address(const struct explain *x, char *buf, size_t size)
{
	const struct sockaddr_in6 *v6 = (const void *)&x->peer;
	const struct sockaddr_in *v4 = (const void *)&x->peer;

	if (x->peer.ss_family == AF_INET6)
		return inet_ntop(AF_INET6, &v6->sin6_addr, buf, (socklen_t)size);
	return inet_ntop(AF_INET, &v4->sin_addr, buf, (socklen_t)size);
}

static const char *
kind_name(const struct export_client *c)
{
	switch (c->kind) {
	case CLIENT_HOST:
		return c->named ? "a host by name" : "a host";
	case CLIENT_SUBNET:
		return "a subnet";
	case CLIENT_WILDCARD:
		return "a pattern of names";
	case CLIENT_NETGROUP:
		return "a netgroup";
	case CLIENT_EVERYONE:
		return "everyone";
	case CLIENT_GSS:
		break;
	}
	return "nobody";
}

static void
print_rule(const struct explain *x, const char *lead, const struct export_client *c, FILE *out)
{
	char opts[OPTS_TEXT], place[PATH_MAX + 32];

	fprintf(out, "%s%s(%s)\n          %s, in %s\n", lead, c->text,
		opts_text(&c->opts, opts, sizeof opts), kind_name(c),
		place_text(x->table->sources, c->at, place, sizeof place));
}

/* The rule that decides, waited for. */
static int
find_rule(const struct explain *x, const struct rules *r, const struct export_client **rule)
{
	const struct sockaddr *peer = (const struct sockaddr *)&x->peer;
	int e = rules_match(r, x->table->who, peer, rule);

	for (int i = 0; e == EAGAIN && i < PATIENCE; i++) {
		resolver_wait(x->table->who, 100);
		e = rules_match(r, x->table->who, peer, rule);
	}
	return e;
}

/* What the names of the peer are, where some rule asks for them. */
static void
print_names(const struct explain *x, const struct rules *r, FILE *out)
{
	const struct sockaddr_in6 *v6 = (const void *)&x->peer;
	const struct sockaddr_in *v4 = (const void *)&x->peer;
	struct in6_addr a = v6->sin6_addr;
	struct resolver_names names;

	if (!x->table->who || !(r->kinds & (1u << CLIENT_WILDCARD | 1u << CLIENT_NETGROUP)))
		return;
	if (x->peer.ss_family == AF_INET) {
		memset(&a, 0, sizeof a);
		a.s6_addr[10] = a.s6_addr[11] = 0xff;
		memcpy(&a.s6_addr[12], &v4->sin_addr, 4);
	}
	switch (resolver_peer(x->table->who, &a, &names)) {
	case ANSWER_YES:
		fputs("names     ", out);
		for (unsigned i = 0; i < names.n; i++)
			fprintf(out, "%s%s", i ? ", " : "", names.v[i]);
		fputs(" (each leads back to the address)\n", out);
		break;
	case ANSWER_NO:
		fputs("names     none that leads back to the address: patterns cannot match\n",
		      out);
		break;
	default:
		fputs("names     the name service has not answered\n", out);
	}
}

static void
print_others(const struct explain *x, const struct rules *r, const struct export_client *rule,
	     FILE *out)
{
	const struct sockaddr *peer = (const struct sockaddr *)&x->peer;

	for (size_t i = 0; i < r->n; i++) {
		const struct export_client *c = &r->v[i];
		int yes = rule_meets(c, x->table->who, peer);

		if (c == rule || yes == ANSWER_NO)
			continue;
		print_rule(x, yes == ANSWER_YES ? "weaker    " : "unknown   ", c, out);
	}
}

/* ---- identity ---- */

static const char *
why_squashed(const struct export_opts *o, uid_t uid)
{
	if (o->squash == SQUASH_ALL)
		return "all_squash: everybody is the anonymous user";
	if (uid == 0 && o->squash == SQUASH_ROOT)
		return "root_squash: root is the anonymous user";
	if (uid == 0)
		return "no_root_squash: root stays root";
	return "nobody but root is squashed";
}

static void
print_identity(const struct explain *x, const struct export_client *rule, uid_t uid, FILE *out)
{
	const struct export_opts *o = &rule->opts;
	struct cred c = {.uid = uid, .gid = (gid_t)uid};

	if (x->unprivileged && uid != 0 && uid != geteuid() && o->squash != SQUASH_ALL) {
		fprintf(out,
			"uid %-6u refused: this server is not root and acts as user %u only; "
			"add all_squash\n",
			uid, geteuid());
		return;
	}
	export_squash(o, &c);
	fprintf(out, "uid %-6u acts as user %u", uid, c.uid);
	if (c.uid != uid)
		fprintf(out, ", group %u", c.gid);
	fprintf(out, " (%s)\n", why_squashed(o, uid));
}

static void
print_verdict(const struct explain *x, const struct export_client *rule, FILE *out)
{
	const struct export_opts *o = &rule->opts;

	if (o->no_sys || o->tls_only) {
		fprintf(out, "verdict   refused: the rule asks for %s, which this server lacks\n",
			o->no_sys ? "other flavors than sys" : "TLS");
		return;
	}
	fprintf(out, "port      %s\n",
		o->secure ? "must be below 1024 (secure)" : "any (insecure)");
	if (x->has_uid) {
		print_identity(x, rule, x->uid, out);
	} else {
		print_identity(x, rule, 0, out);
		print_identity(x, rule, 1000, out);
	}
	fprintf(out, "verdict   may mount, %s\n", o->rw ? "read and write" : "read only");
}

static void
print_export(const struct explain *x, const struct rules *r, FILE *out)
{
	const struct export_client *rule = NULL;
	int e = find_rule(x, r, &rule);

	if (rule)
		print_rule(x, "rule      ", rule, out);
	print_names(x, r, out);
	print_others(x, r, rule, out);
	if (rule)
		print_verdict(x, rule, out);
	else if (e == EAGAIN)
		fputs("verdict   must wait: no rule is sure to match, and the name service has not "
		      "answered\n",
		      out);
	else
		fputs("verdict   refused: no client of the export matches this address; add one to "
		      "its line, then splicectl reload\n",
		      out);
}

/* The innermost mount without a line on the way to the path, or NULL; *why: it is not served. */
static const char *
mount_on_the_way(const struct export_table *t, const char *path, const char **why)
{
	const char *found = NULL;
	size_t longest = 0;

	*why = NULL;
	for (size_t i = 0; i < t->n + t->nabsent; i++) {
		const struct absent *a = i < t->n ? NULL : &t->absent[i - t->n];
		const char *p = a ? a->path : t->v[i]->path;
		size_t n = strlen(p);

		if (!(a ? a->crossed : t->crossed[i]) || n < longest || !path_is_below(path, p))
			continue;
		found = p;
		longest = n;
		*why = a ? a->why : NULL;
	}
	return found;
}

static void
print_mount(const struct explain *x, const struct rules *r, FILE *out)
{
	const struct export_client *rule = NULL;
	const char *why, *path = mount_on_the_way(x->table, x->path, &why);

	if (!path)
		return;
	find_rule(x, r, &rule);
	if (why)
		fprintf(out, "mount     %s: not entered: %s\n", path, why);
	else if (rule && rule->opts.crossmnt)
		fprintf(out, "mount     %s: entered, by crossmnt of the rule\n", path);
	else
		fprintf(out,
			"mount     %s: not entered (the rule has no crossmnt): what lies beneath "
			"it is shown\n",
			path);
}

void
explain(const struct explain *x, FILE *out)
{
	const struct export_table *t = x->table;
	char addr[INET6_ADDRSTRLEN] = "?", place[PATH_MAX + 32];
	const char *rest = "";
	const struct export *ex = export_by_path(t, x->path, &rest);
	const struct absent *gone = ex ? NULL : export_absent(t, x->path);
	const struct rules *r = ex ? t->rules[export_index(t, ex)] : gone ? gone->rules : NULL;

	fprintf(out, "client    %s\n", address(x, addr, sizeof addr));
	if (!r) {
		fprintf(out, "verdict   refused: nothing is exported at or above %s%s\n", x->path,
			strstr(x->path, "/..") ? ", which must be written without .." : "");
		return;
	}
	fprintf(out, "export    %s\n          in %s\n", ex ? ex->path : gone->path,
		place_text(t->sources, r->at, place, sizeof place));
	if (ex && *rest)
		fprintf(out,
			"beneath   %s: walked as the caller, who needs search permission on the "
			"way\n",
			rest);
	if (ex && *rest)
		print_mount(x, r, out);
	if (ex)
		print_export(x, r, out);
	else
		fprintf(out, "verdict   refused: %s\n", gone->why);
}
