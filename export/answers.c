/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a question is asked, and what becomes of its answer. A question that got no answer keeps the
 * former one and is due again after a pause that doubles. A question that was answered is due when
 * the answer is no longer fresh.
 */
#include "log.h"
#include "resolver_int.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- asking; without the lock ---- */

static int
ask_netgroup(struct resolver *r, const struct question *q)
{
	struct resolver_names *names = calloc(1, sizeof *names);
	char text[INET6_ADDRSTRLEN], *dot;
	int error = names ? r->ops.reverse(r->ops.arg, &q->addr, names) : ENOMEM;
	bool unsure = error && error != ENOENT;
	unsigned n = error ? 0 : names->n;

	for (unsigned i = 0; i <= n; i++) {
		if (i == n && IN6_IS_ADDR_V4MAPPED(&q->addr))
			inet_ntop(AF_INET, &q->addr.s6_addr[12], text, sizeof text);
		else if (i == n)
			inet_ntop(AF_INET6, &q->addr, text, sizeof text);
		error = r->ops.netgroup(r->ops.arg, q->name, i < n ? names->v[i] : text);
		if (error != ENOENT)
			break;
	}
	if (error == ENOENT && n && (dot = strchr(names->v[0], '.'))) { /* without its domain */
		*dot = '\0';
		error = r->ops.netgroup(r->ops.arg, q->name, names->v[0]);
	}
	free(names);
	return error == ENOENT && unsure ? EAGAIN : error;
}

static int
ask_user(struct resolver *r, const struct question *q, struct result *out)
{
	struct cred_groups *g = cred_groups_new(CRED_MORE_MAX), *fit;
	int error = g ? r->ops.groups(r->ops.arg, q->uid, g->v, &g->n) : ENOMEM;

	if (error) {
		cred_groups_put(g);
		return error;
	}
	cred_groups_seal(g);
	fit = realloc(g, sizeof *g + g->n * sizeof *g->v);
	if (fit)
		g = fit;
	out->gids = g;
	return 0;
}

void
question_ask(struct resolver *r, const struct question *q, struct result *out)
{
	*out = (struct result){0};
	switch (q->about) {
	case HOST:
		out->error = r->ops.forward(r->ops.arg, q->name, &out->addrs);
		break;
	case PEER:
		out->names = calloc(1, sizeof *out->names);
		out->error = out->names ? r->ops.reverse(r->ops.arg, &q->addr, out->names) : ENOMEM;
		break;
	case NETGROUP:
		out->error = ask_netgroup(r, q);
		break;
	case USER:
		out->error = ask_user(r, q, out);
		break;
	}
}

/* ---- answers; under the lock ---- */

static void
say_failure(struct question *q, const struct result *res)
{
	static struct log_limit limit = {.burst = 10};

	if (q->about != HOST || q->complained || !log_may(&limit))
		return;
	q->complained = true;
	if (res->error == ENOENT)
		log_warn("client %s of the exports: there is no such host; it matches nobody until "
			 "there is",
			 q->name);
	else
		log_warn("client %s of the exports: the name service does not answer (%s); asking "
			 "again in the background%s",
			 q->name, strerror(res->error),
			 q->answered ? ", its former addresses hold" : "");
}

static bool
same_names(const struct resolver_names *a, const struct resolver_names *b)
{
	if (!a || !b || a->n != b->n)
		return a == b;
	for (unsigned i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

/* Takes over an answer; true when it differs from the former one, or when somebody may have been
 * judged without it. */
static bool
store_answer(const struct resolver *r, struct question *q, struct result *res)
{
	bool late = q->failed || resolver_ms() - q->born >= (int64_t)r->times.soon;
	bool exists = res->error == 0, differs = q->answered ? q->exists != exists : late;

	if (q->about == HOST && exists) {
		differs |= q->answered && (q->u.addrs.n != res->addrs.n ||
					   memcmp(q->u.addrs.v, res->addrs.v,
						  res->addrs.n * sizeof res->addrs.v[0]) != 0);
		q->u.addrs = res->addrs;
	} else if (q->about == PEER && exists) {
		differs |= q->answered && !same_names(q->u.names, res->names);
		free(q->u.names);
		q->u.names = res->names;
		res->names = NULL;
	} else if (q->about == USER && exists) {
		cred_groups_put(q->u.gids);
		q->u.gids = res->gids;
		res->gids = NULL;
	}
	q->answered = true;
	q->exists = exists;
	return differs && q->about != USER; /* a user's groups are asked for each time */
}

static int64_t
pause_after(const struct resolver *r, unsigned tries)
{
	int64_t ms = r->times.again;

	while (--tries && ms < (int64_t)r->times.again_most)
		ms *= 2;
	return ms < (int64_t)r->times.again_most ? ms : (int64_t)r->times.again_most;
}

bool
question_take(struct resolver *r, struct question *q, struct result *res)
{
	bool known = res->error == 0 || res->error == ENOENT, differs = false;

	q->phase = IDLE;
	if (res->error)
		say_failure(q, res);
	q->tries = known ? 0 : q->tries + 1;
	if (known)
		differs = store_answer(r, q, res);
	q->failed = !known;
	if (res->error == 0)
		q->complained = false;
	/* a name that does not exist may be made soon */
	q->due = resolver_ms() +
		 (res->error ? pause_after(r, known ? 6 : q->tries) : (int64_t)r->times.fresh);
	free(res->names);
	cred_groups_put(res->gids);
	pthread_cond_broadcast(&r->answered);
	return differs;
}
