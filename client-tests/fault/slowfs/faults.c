/* SPDX-License-Identifier: BSD-2-Clause */
#include "faults.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct kind {
	unsigned delay_ms;
	bool held;
	int err;
	unsigned long calls;
	unsigned waiting;
};

struct faults {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool cut;
	struct kind kind[OP_COUNT];
};

static const char *const op_names[OP_COUNT] = {
    [OP_LOOKUP] = "lookup", [OP_GETATTR] = "getattr", [OP_OPEN] = "open",   [OP_READ] = "read",
    [OP_WRITE] = "write",   [OP_READDIR] = "readdir", [OP_FSYNC] = "fsync", [OP_CHANGE] = "change",
};

struct faults *
faults_new(void)
{
	struct faults *f = calloc(1, sizeof *f);
	pthread_condattr_t attr;

	if (!f)
		return NULL;
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->changed, &attr);
	pthread_condattr_destroy(&attr);
	return f;
}

void
faults_free(struct faults *f)
{
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static struct timespec
after_ms(unsigned ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

int
faults_pass(struct faults *f, enum op op)
{
	struct kind *k = &f->kind[op];

	pthread_mutex_lock(&f->lock);
	k->calls++;
	k->waiting++;
	while (k->held && !f->cut)
		pthread_cond_wait(&f->changed, &f->lock);
	if (k->delay_ms) {
		struct timespec end = after_ms(k->delay_ms);
		while (!f->cut && pthread_cond_timedwait(&f->changed, &f->lock, &end) != ETIMEDOUT)
			;
	}
	k->waiting--;
	int err = f->cut ? EIO : k->err;
	pthread_mutex_unlock(&f->lock);
	return err;
}

const char *
faults_op_name(enum op op)
{
	return op_names[op];
}

int
faults_op_find(const char *name)
{
	for (int op = 0; op < OP_COUNT; op++)
		if (strcmp(name, op_names[op]) == 0)
			return op;
	return -1;
}

void
faults_delay(struct faults *f, enum op op, unsigned ms)
{
	pthread_mutex_lock(&f->lock);
	f->kind[op].delay_ms = ms;
	pthread_mutex_unlock(&f->lock);
}

void
faults_hold(struct faults *f, enum op op, bool hold)
{
	pthread_mutex_lock(&f->lock);
	f->kind[op].held = hold;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

void
faults_fail(struct faults *f, enum op op, int err)
{
	pthread_mutex_lock(&f->lock);
	f->kind[op].err = err;
	pthread_mutex_unlock(&f->lock);
}

void
faults_cut(struct faults *f, bool cut)
{
	pthread_mutex_lock(&f->lock);
	f->cut = cut;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

void
faults_print(struct faults *f, FILE *out)
{
	pthread_mutex_lock(&f->lock);
	for (int op = 0; op < OP_COUNT; op++)
		fprintf(out, "%s calls %lu waiting %u\n", op_names[op], f->kind[op].calls,
			f->kind[op].waiting);
	pthread_mutex_unlock(&f->lock);
}
