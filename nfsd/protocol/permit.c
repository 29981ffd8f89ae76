/* SPDX-License-Identifier: BSD-2-Clause */
#include "permit.h"

#include <errno.h>
#include <string.h>

#include "file.h" /* ESLEEP */
#include "log.h"
#include "plan.h"
#include "resolver.h"
#include "rpc.h"

enum {
	PORT_RESERVED = 1024, /* ports below are for root of the client: RFC 2623 section 2.1 */
	NAME_WAIT_MS = 10,
	NAME_TRIES = 10, /* that long, at most */
};

static int
refuse(const struct call *c, const struct export *ex, const struct export_client *rule, int err,
       const char *why)
{
	static struct log_limit limit = {.burst = 10};
	char path[128], place[4096];

	if (!log_may(&limit))
		return err;
	log_text(path, sizeof path, ex->path, strlen(ex->path));
	if (rule)
		log_warn("refused %s (port %u, uid %u) on %s by the rule of %s (%s): %s",
			 c->peer->text, c->peer->port, c->claimed_uid, path, rule->text,
			 place_text(c->table->sources, rule->at, place, sizeof place), why);
	else
		log_warn("refused %s (port %u, uid %u) on %s: %s", c->peer->text, c->peer->port,
			 c->claimed_uid, path, why);
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
	cred_groups_put(b->more);
	b->more = c->more ? cred_groups_ref(c->more) : NULL;
	b->ex = ex;
	b->rule = c->rule;
	b->claimed = *claimed;
	b->cred = c->cred;
}

/* ---- which rule ---- */

/* A decision as a word: 28 bits of generation, 18 of export, 18 of rule. */
static uint64_t
word_of(uint32_t gen, size_t at, size_t rule)
{
	return (uint64_t)gen << 36 | (uint64_t)at << 18 | rule;
}

/* Waits a little for a name, where waiting is allowed, so that a client need not come again for
 * what takes a millisecond. */
static int
find_rule(struct call *c, const struct rules *r, const struct export_client **rule)
{
	const struct sockaddr *peer = (const struct sockaddr *)&c->peer->addr;
	int e = rules_match(r, c->table->who, peer, rule);

	if (e != EAGAIN)
		return e;
	if (!c->may_sleep)
		return ESLEEP;
	for (int i = 0; e == EAGAIN && i < NAME_TRIES; i++) {
		resolver_wait(c->table->who, NAME_WAIT_MS);
		e = rules_match(r, c->table->who, peer, rule);
	}
	return e;
}

/* The rule of the export at this place of the table, from what the connection remembers, or found.
 */
static int
peer_rule(struct call *c, size_t at, const struct export_client **rule)
{
	const struct rules *r = c->table->rules[at];
	uint32_t gen = __atomic_load_n(&c->table->gen, __ATOMIC_RELAXED);
	uint64_t *mine = &c->peer->rules[at % PEER_RULES],
		 word = __atomic_load_n(mine, __ATOMIC_RELAXED);
	size_t n = word & (RULES_MAX - 1);
	int e;

	if (gen && word >> 18 == word_of(gen, at, 0) >> 18 && n < r->n) {
		*rule = &r->v[n];
		return 0;
	}
	e = find_rule(c, r, rule);
	if (e == 0 && gen)
		__atomic_store_n(mine, word_of(gen, at, (size_t)(*rule - r->v)), __ATOMIC_RELAXED);
	return e;
}

/* ---- groups ---- */

/* The list without the group that root_squash takes away: rare, so it may cost a copy. */
static int
squash_list(struct call *c, const struct export_opts *o)
{
	struct cred_groups *g;

	if (o->squash != SQUASH_ROOT || c->more->n == 0 || c->more->v[0] != 0)
		return 0; /* it is sorted */
	g = cred_groups_new(c->more->n);
	if (!g)
		return ENOMEM;
	for (uint32_t i = 0; i < g->n; i++)
		g->v[i] = c->more->v[i] ? c->more->v[i] : o->anongid;
	cred_groups_seal(g);
	cred_groups_put(c->more);
	c->more = g;
	return 0;
}

/* The caller's groups as this machine knows them, instead of those it brought, of which there can
 * be only 16. A user who is not known here keeps them. */
static int
look_up_groups(struct call *c, const struct export_opts *o)
{
	struct resolver *who = c->table->who;
	enum answer yes;

	if (!c->engine->manage_gids || !who || c->flavor != AUTH_SYS || o->squash == SQUASH_ALL ||
	    (o->squash == SQUASH_ROOT && c->claimed_uid == 0))
		return 0;
	yes = resolver_user(who, c->claimed_uid, &c->more);
	if (yes > ANSWER_YES && !c->may_sleep)
		return ESLEEP;
	for (int i = 0; yes > ANSWER_YES && i < NAME_TRIES; i++) {
		resolver_wait(who, NAME_WAIT_MS);
		yes = resolver_user(who, c->claimed_uid, &c->more);
	}
	if (yes > ANSWER_YES)
		return EAGAIN;
	return yes == ANSWER_YES ? squash_list(c, o) : 0;
}

/* ---- the gate ---- */

/* 0, or why the rule does not help, with a reason. crossed: see struct export_table. */
static int
judge(const struct call *c, const struct export_client *rule, bool crossed, const char **why)
{
	*why = NULL;
	if (crossed && !rule->opts.crossmnt)
		*why = "it is mounted in an export whose rule does not say crossmnt";
	else if (rule->opts.no_sys)
		*why = "its sec= names no flavor that this server has; add sys to it";
	else if (rule->opts.tls_only)
		*why = "its xprtsec= asks for TLS, which this server does not have; add none "
		       "to it";
	if (*why)
		return EACCES;
	if (rule->opts.secure && c->peer->port >= PORT_RESERVED) {
		*why = "it is `secure` and the source port is not below 1024; mount as root "
		       "(resvport), or add `insecure` to it";
		return EPERM;
	}
	if (!ident_may_act(c->engine->vfs->ident, c->claimed_uid,
			   rule->opts.squash == SQUASH_ALL)) {
		*why = "this server acts as one user only and the caller is another; run it as "
		       "root, or export with `all_squash`";
		return EACCES;
	}
	return 0;
}

int
permit_peer(struct call *c, const struct export *ex, const struct export_client **rule)
{
	size_t at = export_index(c->table, ex);
	const char *why;
	int e = at < c->table->n ? peer_rule(c, at, rule) : EACCES;

	if (e == 0 && judge(c, *rule, c->table->crossed[at], &why) != 0)
		e = EACCES;
	return e;
}

int
permit(struct call *c, const struct export *ex)
{
	const struct export_client *rule = NULL;
	struct cred claimed;
	const char *why;
	size_t at;
	int e;

	if (recall(c, ex))
		return 0;
	at = export_index(c->table, ex);
	e = at < c->table->n ? peer_rule(c, at, &rule) : ESTALE;
	if (e == EACCES)
		return refuse(
		    c, ex, NULL, EACCES,
		    "no client of the export matches this address; add it to the clients");
	if (e)
		return e;
	e = judge(c, rule, c->table->crossed[at], &why);
	if (e)
		return refuse(c, ex, rule, e, why);
	e = look_up_groups(c, &rule->opts);
	if (e)
		return e;
	claimed = c->cred;
	c->rule = rule;
	c->cred.more = c->more;
	if (c->more)
		c->cred.ngroups = 0;
	export_squash(&rule->opts, &c->cred);
	remember(c, ex, &claimed);
	return 0;
}
