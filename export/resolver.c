/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One table of questions under one lock. A question is born when it is first asked and goes to the
 * end of a queue; threads take from its head, ask without the lock, and write the answer back. So
 * there is at most one look-up of a kind under way, however many callers wait for it.
 *
 * A question that got no answer keeps the former one and is due again after a pause that doubles. A
 * question that was answered is due when the answer is no longer fresh. Whoever has nothing to do
 * wakes up when the next one is due. First questions go before due ones: a client at the door is
 * more urgent than one that was let in.
 *
 * Limits: QUESTIONS_MAX questions; beyond, those of peers and users nobody asked for lately are
 * forgotten, and if there are none a new question is not remembered (ANSWER_LATER). That is a
 * flood, not a network.
 */
#include "resolver.h"
#include "log.h"
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUCKETS 4096
#define QUESTIONS_MAX 65536
#define WAITING_MAX 4			    /* more workers than these would be missed elsewhere */
#define IDLE_MS ((int64_t)24 * 3600 * 1000) /* a question that nobody asks is forgotten */

const struct resolver_times resolver_times_default = {
    .soon = 2000, .again = 2000, .again_most = 300000, .fresh = 1800000, .threads = 8};

enum about { HOST, PEER, NETGROUP, USER };
enum phase { IDLE, QUEUED, ASKING };

struct question {
	struct question *hnext, *qnext; /* bucket, queue */
	enum about about;
	enum phase phase;
	bool answered;		  /* what follows holds */
	bool exists;		  /* there is such a name, host, user; a netgroup has the host */
	bool failed;		  /* the last try got no answer */
	bool complained;	  /* it was said that it failed */
	unsigned tries;		  /* without an answer, in a row */
	int64_t born, due, asked; /* ms */
	struct in6_addr addr;	  /* PEER, NETGROUP */
	uid_t uid;
	union {
		struct resolver_addrs addrs;
		struct resolver_names *names;
		struct cred_groups *gids;
	} u;
	char name[]; /* HOST, NETGROUP */
};

struct resolver {
	pthread_mutex_t lock;
	pthread_cond_t work;	 /* something is queued */
	pthread_cond_t answered; /* something was answered */
	struct resolver_ops ops;
	struct resolver_times times;
	struct question *bucket[BUCKETS];
	struct queue {
		struct question *head, **tail;
	} first, again; /* never asked before; due once more */
	size_t n;
	unsigned threads, idle, queued, waiting;
	unsigned users; /* threads, and the owner: the last frees */
	bool stop;
	unsigned char key[crypto_shorthash_KEYBYTES];
};

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct timespec
to_timespec(int64_t ms)
{
	return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

/* ---- the table; under the lock ---- */

static struct question **
bucket_of(struct resolver *r, enum about about, const char *name, const struct in6_addr *a,
	  uid_t uid)
{
	unsigned char buf[4 + 16 + 4 + 512] = {0};
	uint64_t h;
	size_t n = strnlen(name, 512);

	buf[0] = (unsigned char)about;
	memcpy(buf + 4, a, 16);
	memcpy(buf + 20, &uid, 4);
	memcpy(buf + 24, name, n);
	crypto_shorthash((unsigned char *)&h, buf, 24 + n, r->key);
	return &r->bucket[h % BUCKETS];
}

static void
question_free(struct question *q)
{
	if (q->about == PEER)
		free(q->u.names);
	if (q->about == USER)
		cred_groups_put(q->u.gids);
	free(q);
}

static void
enqueue(struct resolver *r, struct question *q, bool first)
{
	struct queue *to = first ? &r->first : &r->again;

	q->phase = QUEUED;
	r->queued++;
	q->qnext = NULL;
	*to->tail = q;
	to->tail = &q->qnext;
	pthread_cond_signal(&r->work);
}

static struct question *
dequeue(struct resolver *r)
{
	struct queue *from = r->first.head ? &r->first : &r->again;
	struct question *q = from->head;

	from->head = q->qnext;
	if (!from->head)
		from->tail = &from->head;
	r->queued--;
	q->phase = ASKING;
	return q;
}

/* Forgets what nobody asked for in so long; never what is queued or being asked. */
static void
forget(struct resolver *r, int64_t before)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct question **p = &r->bucket[i]; *p;) {
			struct question *q = *p;

			if (q->phase != IDLE || q->asked >= before) {
				p = &q->hnext;
				continue;
			}
			*p = q->hnext;
			r->n--;
			question_free(q);
		}
}

static struct question *
make_question(struct resolver *r, enum about about, const char *name, const struct in6_addr *a,
	      uid_t uid)
{
	struct question *q;

	if (r->n >= QUESTIONS_MAX)
		forget(r, now_ms() - 60000);
	if (r->n >= QUESTIONS_MAX || r->stop || !(q = calloc(1, sizeof *q + strlen(name) + 1)))
		return NULL;
	q->about = about;
	q->addr = *a;
	q->uid = uid;
	strcpy(q->name, name);
	q->born = q->asked = now_ms();
	r->n++;
	enqueue(r, q, true);
	return q;
}

/* The question, asked now if it never was. */
static struct question *
find(struct resolver *r, enum about about, const char *name, const struct in6_addr *a, uid_t uid)
{
	struct question **b = bucket_of(r, about, name, a, uid), *q;

	for (q = *b; q; q = q->hnext)
		if (q->about == about && q->uid == uid && memcmp(&q->addr, a, sizeof *a) == 0 &&
		    strcmp(q->name, name) == 0)
			break;
	if (q) {
		q->asked = now_ms();
		return q;
	}
	q = make_question(r, about, name, a, uid);
	if (q) {
		q->hnext = *b;
		*b = q;
	}
	return q;
}

static enum answer
answer_of(const struct resolver *r, const struct question *q)
{
	if (!q)
		return ANSWER_LATER;
	if (q->answered)
		return q->exists ? ANSWER_YES : ANSWER_NO;
	return now_ms() - q->born < (int64_t)r->times.soon && !q->failed ? ANSWER_SOON
									 : ANSWER_LATER;
}

/* ---- asking; without the lock ---- */

struct result {
	int error;
	struct resolver_addrs addrs;
	struct resolver_names *names;
	struct cred_groups *gids;
};

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

static void
ask(struct resolver *r, const struct question *q, struct result *out)
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
	bool late = q->failed || now_ms() - q->born >= (int64_t)r->times.soon;
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

/* True when something that somebody may have gone by is different now. */
static bool
take(struct resolver *r, struct question *q, struct result *res)
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
	q->due = now_ms() +
		 (res->error ? pause_after(r, known ? 6 : q->tries) : (int64_t)r->times.fresh);
	free(res->names);
	cred_groups_put(res->gids);
	pthread_cond_broadcast(&r->answered);
	return differs;
}

/* Queues what is due; when the next one is. */
static int64_t
queue_due(struct resolver *r)
{
	int64_t now = now_ms(), next = now + 60000;

	forget(r, now - IDLE_MS);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct question *q = r->bucket[i]; q; q = q->hnext) {
			if (q->phase != IDLE)
				continue;
			if (q->due <= now)
				enqueue(r, q, false);
			else if (q->due < next)
				next = q->due;
		}
	return next;
}

static void
drop(struct resolver *r)
{
	bool last = --r->users == 0;

	pthread_mutex_unlock(&r->lock);
	if (!last)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (r->bucket[i]) {
			struct question *q = r->bucket[i];

			r->bucket[i] = q->hnext;
			question_free(q);
		}
	pthread_cond_destroy(&r->work);
	pthread_cond_destroy(&r->answered);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void *helper(void *arg);

static int
start(struct resolver *r)
{
	pthread_attr_t attr;
	pthread_t t;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r->threads++;
	r->users++;
	error = pthread_create(&t, &attr, helper, r);
	if (error) {
		r->threads--;
		r->users--;
	}
	pthread_attr_destroy(&attr);
	return error;
}

static void
answer_one(struct resolver *r)
{
	struct question *q = dequeue(r);
	struct result res;
	bool differs;

	/* while this thread is away somebody must be there for what comes next; not for the asker
	 * to start, who may have capabilities that nobody here needs */
	if (!r->idle && r->threads < r->times.threads)
		start(r);
	pthread_mutex_unlock(&r->lock);
	ask(r, q, &res);
	pthread_mutex_lock(&r->lock);
	differs = take(r, q, &res);
	/* under the lock, so that it is over when resolver_free() has returned */
	if (differs && !r->stop && r->ops.changed)
		r->ops.changed(r->ops.arg);
}

static void *
helper(void *arg)
{
	struct resolver *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->stop) {
		if (!r->queued) {
			struct timespec until = to_timespec(queue_due(r));

			if (r->queued)
				continue;
			r->idle++;
			pthread_cond_timedwait(&r->work, &r->lock, &until);
			r->idle--;
			continue;
		}
		answer_one(r);
	}
	r->threads--;
	drop(r);
	return NULL;
}

struct resolver *
resolver_new(const struct resolver_ops *ops, const struct resolver_times *times)
{
	struct resolver *r = calloc(1, sizeof *r);
	pthread_condattr_t mono;
	int error;

	if (!r)
		return NULL;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, &mono);
	pthread_cond_init(&r->answered, &mono);
	pthread_condattr_destroy(&mono);
	crypto_shorthash_keygen(r->key);
	r->ops = *ops;
	r->times = *times;
	r->first.tail = &r->first.head;
	r->again.tail = &r->again.head;
	r->users = 1;
	pthread_mutex_lock(&r->lock);
	error = start(r);
	if (!error) {
		pthread_mutex_unlock(&r->lock);
		return r;
	}
	drop(r);
	errno = error;
	return NULL;
}

void
resolver_free(struct resolver *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_broadcast(&r->work);
	pthread_cond_broadcast(&r->answered);
	drop(r);
}

/* ---- questions ---- */

static const struct in6_addr no_addr;

enum answer
resolver_host(struct resolver *r, const char *name, const struct in6_addr *a)
{
	struct question *q;
	enum answer yes;

	pthread_mutex_lock(&r->lock);
	q = find(r, HOST, name, &no_addr, 0);
	yes = answer_of(r, q);
	if (yes == ANSWER_YES) {
		yes = ANSWER_NO;
		for (unsigned i = 0; i < q->u.addrs.n; i++)
			if (memcmp(&q->u.addrs.v[i], a, sizeof *a) == 0)
				yes = ANSWER_YES;
	}
	pthread_mutex_unlock(&r->lock);
	return yes;
}

bool
resolver_addresses(struct resolver *r, const char *name, struct resolver_addrs *out)
{
	struct question *q;
	bool known;

	pthread_mutex_lock(&r->lock);
	q = find(r, HOST, name, &no_addr, 0);
	known = answer_of(r, q) == ANSWER_YES;
	if (known)
		*out = q->u.addrs;
	pthread_mutex_unlock(&r->lock);
	return known;
}

enum answer
resolver_peer(struct resolver *r, const struct in6_addr *a, struct resolver_names *names)
{
	struct question *q;
	enum answer yes;

	pthread_mutex_lock(&r->lock);
	q = find(r, PEER, "", a, 0);
	yes = answer_of(r, q);
	if (yes == ANSWER_YES)
		*names = *q->u.names;
	pthread_mutex_unlock(&r->lock);
	return yes;
}

enum answer
resolver_netgroup(struct resolver *r, const char *group, const struct in6_addr *a)
{
	enum answer yes;

	pthread_mutex_lock(&r->lock);
	yes = answer_of(r, find(r, NETGROUP, group, a, 0));
	pthread_mutex_unlock(&r->lock);
	return yes;
}

enum answer
resolver_user(struct resolver *r, uid_t uid, struct cred_groups **gids)
{
	struct question *q;
	enum answer yes;

	pthread_mutex_lock(&r->lock);
	q = find(r, USER, "", &no_addr, uid);
	yes = answer_of(r, q);
	if (yes == ANSWER_YES)
		*gids = cred_groups_ref(q->u.gids);
	pthread_mutex_unlock(&r->lock);
	return yes;
}

void
resolver_wait(struct resolver *r, unsigned milliseconds)
{
	struct timespec until = to_timespec(now_ms() + milliseconds);

	pthread_mutex_lock(&r->lock);
	if (!r->stop && r->waiting < WAITING_MAX) {
		r->waiting++;
		pthread_cond_timedwait(&r->answered, &r->lock, &until);
		r->waiting--;
	}
	pthread_mutex_unlock(&r->lock);
}

void
resolver_refresh(struct resolver *r)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct question *q = r->bucket[i]; q; q = q->hnext) {
			q->tries = 0;
			if (q->phase == IDLE)
				enqueue(r, q, false);
		}
	pthread_mutex_unlock(&r->lock);
}
