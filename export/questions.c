/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of questions: a hash of what is asked, and two queues of those that wait to be asked.
 * First questions go before due ones: a client at the door is more urgent than one that was let in.
 *
 * Limits: QUESTIONS_MAX questions; beyond, those of peers and users nobody asked for lately are
 * forgotten, and if there are none a new question is not remembered (ANSWER_LATER). That is a
 * flood, not a network.
 */
#include "resolver_int.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUESTIONS_MAX 65536
#define IDLE_MS ((int64_t)24 * 3600 * 1000) /* a question that nobody asks is forgotten */

int64_t
resolver_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

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
	return &r->bucket[h % QUESTION_BUCKETS];
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

void
question_queue(struct resolver *r, struct question *q, bool first)
{
	struct queue *to = first ? &r->first : &r->again;

	q->phase = QUEUED;
	r->queued++;
	q->qnext = NULL;
	*to->tail = q;
	to->tail = &q->qnext;
	pthread_cond_signal(&r->work);
}

struct question *
question_next(struct resolver *r)
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
	for (size_t i = 0; i < QUESTION_BUCKETS; i++)
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
		forget(r, resolver_ms() - 60000);
	if (r->n >= QUESTIONS_MAX || r->stop || !(q = calloc(1, sizeof *q + strlen(name) + 1)))
		return NULL;
	q->about = about;
	q->addr = *a;
	q->uid = uid;
	strcpy(q->name, name);
	q->born = q->asked = resolver_ms();
	r->n++;
	question_queue(r, q, true);
	return q;
}

struct question *
question_find(struct resolver *r, enum about about, const char *name, const struct in6_addr *a,
	      uid_t uid)
{
	struct question **b = bucket_of(r, about, name, a, uid), *q;

	for (q = *b; q; q = q->hnext)
		if (q->about == about && q->uid == uid && memcmp(&q->addr, a, sizeof *a) == 0 &&
		    strcmp(q->name, name) == 0)
			break;
	if (q) {
		q->asked = resolver_ms();
		return q;
	}
	q = make_question(r, about, name, a, uid);
	if (q) {
		q->hnext = *b;
		*b = q;
	}
	return q;
}

enum answer
question_answer(const struct resolver *r, const struct question *q)
{
	if (!q)
		return ANSWER_LATER;
	if (q->answered)
		return q->exists ? ANSWER_YES : ANSWER_NO;
	return resolver_ms() - q->born < (int64_t)r->times.soon && !q->failed ? ANSWER_SOON
									      : ANSWER_LATER;
}

int64_t
questions_due(struct resolver *r)
{
	int64_t now = resolver_ms(), next = now + 60000;

	forget(r, now - IDLE_MS);
	for (size_t i = 0; i < QUESTION_BUCKETS; i++)
		for (struct question *q = r->bucket[i]; q; q = q->hnext) {
			if (q->phase != IDLE)
				continue;
			if (q->due <= now)
				question_queue(r, q, false);
			else if (q->due < next)
				next = q->due;
		}
	return next;
}

void
questions_again(struct resolver *r)
{
	for (size_t i = 0; i < QUESTION_BUCKETS; i++)
		for (struct question *q = r->bucket[i]; q; q = q->hnext) {
			q->tries = 0;
			if (q->phase == IDLE)
				question_queue(r, q, false);
		}
}

void
questions_free(struct resolver *r)
{
	for (size_t i = 0; i < QUESTION_BUCKETS; i++)
		while (r->bucket[i]) {
			struct question *q = r->bucket[i];

			r->bucket[i] = q->hnext;
			question_free(q);
		}
}
