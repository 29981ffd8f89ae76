/* SPDX-License-Identifier: BSD-2-Clause */
#include "permit.h"

#include <errno.h>
#include <string.h>

#include "log.h"

enum { PORT_RESERVED = 1024 }; /* ports below are for root of the client: RFC 2623 section 2.1 */

static int
refuse(const struct call *c, const struct export *ex, int err, const char *why)
{
	static struct log_limit limit = {.burst = 10};
	char path[128];

	if (log_may(&limit))
		log_warn("refused %s (port %u, uid %u) on %s: %s", c->peer->text, c->peer->port,
			 c->claimed_uid, log_text(path, sizeof path, ex->path, strlen(ex->path)),
			 why);
	return err;
}

static bool
same_claim(const struct cred *a, const struct cred *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->ngroups == b->ngroups &&
	       memcmp(a->groups, b->groups, a->ngroups * sizeof *a->groups) == 0;
}

/* The same caller passed the gate of this export a moment ago. */
static bool
recall(struct call *c, const struct export *ex)
{
	const struct call_batch *b = c->batch;

	if (!b || b->ex != ex || !same_claim(&b->claimed, &c->cred))
		return false;
	c->rule = b->rule;
	c->cred = b->cred;
	return true;
}

static void
remember(struct call *c, const struct export *ex, const struct cred *claimed)
{
	struct call_batch *b = c->batch;

	if (!b)
		return;
	b->ex = ex;
	b->rule = c->rule;
	b->claimed = *claimed;
	b->cred = c->cred;
}

int
permit(struct call *c, const struct export *ex)
{
	if (recall(c, ex))
		return 0;

	const struct export_client *rule =
	    export_match(ex, (const struct sockaddr *)&c->peer->addr);

	if (!rule)
		return refuse(
		    c, ex, EACCES,
		    "no client of the export matches this address; add it to the clients");
	if (rule->opts.secure && c->peer->port >= PORT_RESERVED)
		return refuse(
		    c, ex, EPERM,
		    "the export is `secure` and the source port is not below 1024; mount as "
		    "root (resvport), or export with `insecure`");
	if (!ident_may_act(c->engine->vfs->ident, c->claimed_uid, rule->opts.squash == SQUASH_ALL))
		return refuse(
		    c, ex, EACCES,
		    "this server acts as one user only and the caller is another; run it as "
		    "root, or export with `all_squash`");
	const struct cred claimed = c->cred;
	c->rule = rule;
	export_squash(&rule->opts, &c->cred);
	remember(c, ex, &claimed);
	return 0;
}
