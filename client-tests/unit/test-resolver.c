/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "export.h"
#include "resolver.h"
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A name service of our own: what it says is set by the test, it may be shut (a question waits
 * until it is opened), and it counts what it is asked.
 */
struct service {
	pthread_mutex_t lock;
	pthread_cond_t open;
	bool shut, dead;
	unsigned asked, waiting, running_most, running, changes;
	char host[64]; /* the one name there is, or "" */
	char addr[64]; /* its address */
	unsigned gids;
};

static int
enter(struct service *s)
{
	int dead;

	pthread_mutex_lock(&s->lock);
	s->asked++;
	if (++s->running > s->running_most)
		s->running_most = s->running;
	s->waiting++;
	pthread_cond_broadcast(&s->open);
	while (s->shut)
		pthread_cond_wait(&s->open, &s->lock);
	s->waiting--;
	s->running--;
	dead = s->dead ? ETIMEDOUT : 0;
	return dead;
}

static int
leave(struct service *s, int rc)
{
	pthread_cond_broadcast(&s->open);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static struct in6_addr
address(const char *text)
{
	struct in6_addr a = {0};

	if (inet_pton(AF_INET, text, &a.s6_addr[12]) == 1)
		a.s6_addr[10] = a.s6_addr[11] = 0xff;
	else
		inet_pton(AF_INET6, text, &a);
	return a;
}

static int
forward(void *arg, const char *name, struct resolver_addrs *out)
{
	struct service *s = arg;
	int rc = enter(s);

	if (!rc && strcmp(name, s->host) != 0)
		rc = ENOENT;
	out->n = 1;
	out->v[0] = address(s->addr);
	return leave(s, rc);
}

static int
reverse(void *arg, const struct in6_addr *a, struct resolver_names *out)
{
	struct service *s = arg;
	int rc = enter(s);
	struct in6_addr mine = address(s->addr);

	if (!rc && memcmp(a, &mine, sizeof mine) != 0)
		rc = ENOENT;
	out->n = 1;
	strcpy(out->v[0], s->host);
	return leave(s, rc);
}

static int
netgroup(void *arg, const char *group, const char *host)
{
	struct service *s = arg;
	int rc = enter(s);

	if (!rc)
		rc = strcmp(group, "trusted") == 0 && strcmp(host, s->host) == 0 ? 0 : ENOENT;
	return leave(s, rc);
}

static int
groups(void *arg, uid_t uid, gid_t *v, unsigned *n)
{
	struct service *s = arg;
	int rc = enter(s);

	if (!rc && uid != 1000)
		rc = ENOENT;
	for (unsigned i = 0; i < s->gids && i < *n; i++)
		v[i] = (gid_t)(5000 - i);
	*n = s->gids < *n ? s->gids : *n;
	return leave(s, rc);
}

static void
changed(void *arg)
{
	struct service *s = arg;

	pthread_mutex_lock(&s->lock);
	s->changes++;
	pthread_cond_broadcast(&s->open);
	pthread_mutex_unlock(&s->lock);
}

static struct resolver *
start(struct service *s, const char *host, const char *addr, const struct resolver_times *t)
{
	static const struct resolver_times patient = {
	    .soon = 3600000, .again = 1, .again_most = 4, .fresh = 3600000, .threads = 3};
	struct resolver_ops ops = {forward, reverse, netgroup, groups, changed, s};
	struct resolver *r;

	memset(s, 0, sizeof *s);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->open, NULL);
	strcpy(s->host, host);
	strcpy(s->addr, addr);
	r = resolver_new(&ops, t ? t : &patient);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	return r;
}

/* Sets a field of the service. */
#define SET(s, field, value)                                                                       \
	do {                                                                                       \
		pthread_mutex_lock(&(s)->lock);                                                    \
		(s)->field = value;                                                                \
		pthread_cond_broadcast(&(s)->open);                                                \
		pthread_mutex_unlock(&(s)->lock);                                                  \
	} while (0)
/* Waits until it is so. */
#define UNTIL(s, condition)                                                                        \
	do {                                                                                       \
		pthread_mutex_lock(&(s)->lock);                                                    \
		while (!(condition))                                                               \
			pthread_cond_wait(&(s)->open, &(s)->lock);                                 \
		pthread_mutex_unlock(&(s)->lock);                                                  \
	} while (0)

static enum answer
host(struct resolver *r, const char *name, const char *addr)
{
	struct in6_addr a = address(addr);

	return resolver_host(r, name, &a);
}

static enum answer
until_known(struct resolver *r, const char *name, const char *addr)
{
	enum answer yes;

	while ((yes = host(r, name, addr)) >= ANSWER_SOON)
		resolver_wait(r, 1000);
	return yes;
}

/* A first question is "soon" at once, however long the service takes, and answered later. */
TEST(resolver, never_waits)
{
	static struct service s;
	struct resolver *r = start(&s, "one", "10.0.0.1", NULL);

	SET(&s, shut, true);
	CU_ASSERT_EQUAL(host(r, "one", "10.0.0.1"), ANSWER_SOON);
	UNTIL(&s, s.waiting == 1);
	for (int i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(host(r, "one", "10.0.0.1"), ANSWER_SOON);
	SET(&s, shut, false);
	CU_ASSERT_EQUAL(until_known(r, "one", "10.0.0.1"), ANSWER_YES);
	CU_ASSERT_EQUAL(host(r, "one", "10.0.0.2"), ANSWER_NO);
	CU_ASSERT_EQUAL(s.asked, 1); /* one look-up for a thousand questions */
	CU_ASSERT_EQUAL(until_known(r, "two", "10.0.0.1"), ANSWER_NO);
	CU_ASSERT_EQUAL(s.changes, 0);
	resolver_free(r);
}

/* Questions that hang hold up no others, as long as there is a thread left, and never more threads
 * run than allowed. */
TEST(resolver, neighbours)
{
	static struct service s;
	struct resolver *r = start(&s, "one", "10.0.0.1", NULL);
	char name[16];

	SET(&s, shut, true);
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "h%d", i);
		CU_ASSERT_EQUAL(host(r, name, "10.0.0.1"), ANSWER_SOON);
	}
	UNTIL(&s, s.waiting == 3);
	SET(&s, shut, false);
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "h%d", i);
		CU_ASSERT_EQUAL(until_known(r, name, "10.0.0.1"), ANSWER_NO);
	}
	CU_ASSERT_EQUAL(s.running_most, 3);
	resolver_free(r);
}

/* Without an answer it is asked again and again; what comes then changes what may have been
 * decided.
 */
TEST(resolver, dead_service_comes_back)
{
	static struct service s;
	struct resolver *r = start(&s, "one", "10.0.0.1", NULL);

	SET(&s, dead, true);
	host(r, "one", "10.0.0.1");
	UNTIL(&s, s.asked >= 5); /* the pauses end at 4 ms here */
	CU_ASSERT_EQUAL(host(r, "one", "10.0.0.1"), ANSWER_LATER);
	SET(&s, dead, false);
	CU_ASSERT_EQUAL(until_known(r, "one", "10.0.0.1"), ANSWER_YES);
	UNTIL(&s, s.changes == 1);
	resolver_free(r);
}

/* An answer that was good stands while the service is dead, and is replaced when it says another.
 */
TEST(resolver, old_answers_stand)
{
	static const struct resolver_times quick = {
	    .soon = 3600000, .again = 1, .again_most = 2, .fresh = 1, .threads = 1};
	static struct service s;
	struct resolver *r = start(&s, "one", "10.0.0.1", &quick);
	unsigned before;

	CU_ASSERT_EQUAL(until_known(r, "one", "10.0.0.1"), ANSWER_YES);
	SET(&s, dead, true);
	pthread_mutex_lock(&s.lock);
	before = s.asked;
	pthread_mutex_unlock(&s.lock);
	UNTIL(&s, s.asked >= before + 4);
	CU_ASSERT_EQUAL(host(r, "one", "10.0.0.1"), ANSWER_YES);
	pthread_mutex_lock(&s.lock);
	strcpy(s.addr, "10.0.0.9");
	s.dead = false;
	CU_ASSERT_EQUAL(s.changes, 0);
	pthread_mutex_unlock(&s.lock);
	UNTIL(&s, s.changes >= 1);
	CU_ASSERT_EQUAL(host(r, "one", "10.0.0.9"), ANSWER_YES);
	CU_ASSERT_EQUAL(host(r, "one", "10.0.0.1"), ANSWER_NO);
	resolver_free(r);
}

/* The owner may go while questions hang: they end later, for nobody. */
TEST(resolver, freed_while_asking)
{
	static struct service s;
	struct resolver *r = start(&s, "one", "10.0.0.1", NULL);

	SET(&s, shut, true);
	host(r, "one", "10.0.0.1");
	UNTIL(&s, s.waiting == 1);
	resolver_free(r);
	SET(&s, shut, false);
	UNTIL(&s, s.running == 0);
	CU_ASSERT_EQUAL(s.changes, 0);
}

/* The groups of a user come sorted and shared; an unknown user is known to be unknown. */
TEST(resolver, groups)
{
	static struct service s;
	struct resolver *r = start(&s, "one", "10.0.0.1", NULL);
	struct cred_groups *g = NULL, *h = NULL;
	enum answer yes;

	SET(&s, gids, 300);
	while ((yes = resolver_user(r, 1000, &g)) >= ANSWER_SOON)
		resolver_wait(r, 1000);
	CU_ASSERT_EQUAL_FATAL(yes, ANSWER_YES);
	CU_ASSERT(g->n == 300 && g->v[0] == 4701 && g->v[299] == 5000);
	CU_ASSERT_EQUAL(resolver_user(r, 1000, &h), ANSWER_YES);
	CU_ASSERT_PTR_EQUAL(g, h);
	while ((yes = resolver_user(r, 1001, &h)) >= ANSWER_SOON)
		resolver_wait(r, 1000);
	CU_ASSERT_EQUAL(yes, ANSWER_NO);
	resolver_free(r);
	CU_ASSERT_EQUAL(g->v[10], 4711); /* holds beyond the resolver */
	cred_groups_put(g);
	cred_groups_put(g);
}

/* ---- rules that go by names ---- */

#define RULES 8

struct match {
	struct export_client c[RULES];
	struct rules r;
};

static void
rules(struct match *m, const char *list)
{
	char copy[256], *save = NULL, err[200];

	memset(m, 0, sizeof *m);
	m->r.v = m->c;
	snprintf(copy, sizeof copy, "%s", list);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		CU_ASSERT_EQUAL(export_parse_client(w, &m->c[m->r.n], err, sizeof err), 0);
		m->r.kinds |= 1u << m->c[m->r.n++].kind;
	}
}

static void
done(struct match *m)
{
	for (size_t i = 0; i < m->r.n; i++)
		free(m->c[i].text);
}

/* The text of the rule, or why there is none. */
static const char *
rule_now(struct match *m, struct resolver *r, const char *peer)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	const struct export_client *c;
	int rc;

	inet_pton(AF_INET, peer, &v4.sin_addr);
	rc = rules_match(&m->r, r, (struct sockaddr *)&v4, &c);
	return rc == 0 ? c->text : rc == EAGAIN ? "?" : "none";
}

static const char *
rule(struct match *m, struct resolver *r, const char *peer)
{
	const char *text;

	while (strcmp(text = rule_now(m, r, peer), "?") == 0)
		resolver_wait(r, 1000);
	return text;
}

/* host before subnet before wildcard before netgroup before everyone, whatever the order; patterns
 * know no case and match dots. */
TEST(resolver, precedence)
{
	static struct service s;
	struct resolver *r = start(&s, "one.a.example", "10.0.0.1", NULL);
	struct match m;

	rules(&m, "* @trusted *.EXAMPLE 10.0.0.0/8 one.a.example");
	CU_ASSERT_STRING_EQUAL(rule(&m, r, "10.0.0.1"), "one.a.example");
	CU_ASSERT_STRING_EQUAL(rule(&m, r, "10.0.0.2"), "10.0.0.0/8");
	CU_ASSERT_STRING_EQUAL(rule(&m, r, "11.0.0.2"), "*");
	done(&m);
	rules(&m, "* @trusted *.EXAMPLE");
	CU_ASSERT_STRING_EQUAL(rule(&m, r, "10.0.0.1"), "*.EXAMPLE");
	done(&m);
	rules(&m, "* @trusted ?.example o*[!x].b.example");
	CU_ASSERT_STRING_EQUAL(rule(&m, r, "10.0.0.1"), "@trusted");
	CU_ASSERT_STRING_EQUAL(rule(&m, r, "10.0.0.9"), "*");
	done(&m);
	rules(&m, "gss/krb5 @others nobody");
	CU_ASSERT_STRING_EQUAL(rule(&m, r, "10.0.0.1"), "none");
	done(&m);
	resolver_free(r);
}

/* With the name service hanging: whoever's address is a rule comes in at once, the others wait
 * while the question is young; nobody is judged by a weaker rule. */
TEST(resolver, young_questions)
{
	static struct service s;
	struct resolver *r = start(&s, "one.example", "10.0.0.1", NULL);
	struct match m;

	SET(&s, shut, true);
	rules(&m, "10.0.0.1 one.example 11.0.0.0/8 *");
	CU_ASSERT_STRING_EQUAL(rule_now(&m, r, "10.0.0.1"), "10.0.0.1");
	CU_ASSERT_STRING_EQUAL(rule_now(&m, r, "11.0.0.1"), "?");
	CU_ASSERT_STRING_EQUAL(rule_now(&m, r, "12.0.0.1"), "?");
	done(&m);
	rules(&m, "11.0.0.0/8 *.example *");
	CU_ASSERT_STRING_EQUAL(rule_now(&m, r, "11.0.0.1"), "11.0.0.0/8");
	CU_ASSERT_STRING_EQUAL(rule_now(&m, r, "12.0.0.1"), "?");
	done(&m);
	SET(&s, shut, false);
	resolver_free(r);
}

/* With the name service dead: rules that need no name are as ever, and only those who could come in
 * by nothing else are told to come again. */
TEST(resolver, dead_service_bars_no_neighbour)
{
	static struct service s;
	struct resolver *r = start(&s, "one.example", "10.0.0.1", NULL);
	struct match m;

	SET(&s, dead, true);
	rules(&m, "one.example 11.0.0.0/8 *.example");
	rule_now(&m, r, "12.0.0.1");
	UNTIL(&s, s.asked >= 8);
	while (host(r, "one.example", "10.0.0.1") != ANSWER_LATER)
		resolver_wait(r, 1000);
	CU_ASSERT_STRING_EQUAL(rule(&m, r, "11.0.0.1"), "11.0.0.0/8");
	CU_ASSERT_STRING_EQUAL(rule_now(&m, r, "12.0.0.1"), "?");
	done(&m);
	rules(&m, "one.example *");
	CU_ASSERT_STRING_EQUAL(rule(&m, r, "12.0.0.1"), "*");
	done(&m);
	resolver_free(r);
}
