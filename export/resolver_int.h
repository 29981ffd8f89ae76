/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RESOLVER_INT_H
#define RESOLVER_INT_H
/*
 * What resolver.c (threads), questions.c (the table of questions, their queue) and answers.c
 * (asking, and what becomes of an answer) share. All of it is under resolver.lock, but for
 * question_ask().
 */
#include "resolver.h"
#include <pthread.h>
#include <sodium.h>

#define QUESTION_BUCKETS 4096

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
	struct question *bucket[QUESTION_BUCKETS];
	struct queue {
		struct question *head, **tail;
	} first, again; /* never asked before; due once more */
	size_t n;
	unsigned threads, idle, queued, waiting;
	unsigned users; /* threads, and the owner: the last frees */
	bool stop;
	unsigned char key[crypto_shorthash_KEYBYTES];
};

struct result {
	int error;
	struct resolver_addrs addrs;
	struct resolver_names *names;
	struct cred_groups *gids;
};

/* CLOCK_MONOTONIC in milliseconds. */
int64_t resolver_ms(void);

/* The question, born and queued now if it never was asked. NULL: it cannot be remembered. */
struct question *question_find(struct resolver *, enum about, const char *name,
			       const struct in6_addr *, uid_t);
/* What is known; of a question that is NULL: ANSWER_LATER. */
enum answer question_answer(const struct resolver *, const struct question *);
/* To the end of the queue of first questions, or of those that are due again. */
void question_queue(struct resolver *, struct question *, bool first);
/* The next one to ask, in phase ASKING from now on; something must be queued. */
struct question *question_next(struct resolver *);
/* Forgets what nobody asks any more and queues what is due; when the next one is (ms). */
int64_t questions_due(struct resolver *);
/* Queues all of them, as if they had never failed. */
void questions_again(struct resolver *);
/* Frees all of them. */
void questions_free(struct resolver *);

/* Asks, which may take long; without the lock. */
void question_ask(struct resolver *, const struct question *, struct result *);
/* Takes a result over, and frees what is not kept of it. True when something that somebody may have
 * gone by is different now. */
bool question_take(struct resolver *, struct question *, struct result *);

#endif
