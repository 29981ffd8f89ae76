/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recycled buffers and the memory budget.
 *
 * Classes are 4 KiB and 8 KiB, then 4 KiB + a power of two up to 4 KiB + 1 MiB: a READ or WRITE of
 * 8 KiB, 64 KiB or 1 MiB has room for its RPC header in the class of its data and no class is half
 * empty. Each class has a stack of idle buffers under a lock of its own, held for a push or a pop.
 * Idle memory is bounded as a whole: what would exceed the bound goes back to malloc. Under
 * AddressSanitizer an idle buffer is poisoned, so that a use after buf_give() is found.
 */
#include "buf.h"
#include <pthread.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define POISONING 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONING 1
#endif
#endif
#ifdef POISONING
#include <sanitizer/asan_interface.h>
#define POISON(p, n) __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n) ((void)0)
#define UNPOISON(p, n) ((void)0)
#endif

#define KIB ((size_t)1024)
#define IDLE_MAX (64 * KIB * KIB)

struct idle {
	struct idle *next;
};

struct class
{
	size_t size;
	pthread_mutex_t lock;
	struct idle *top;
};

#define CLASS(kib)                                                                                 \
	{                                                                                          \
		.size = (kib)*KIB, .lock = PTHREAD_MUTEX_INITIALIZER                               \
	}
static struct class classes[] = {CLASS(4),  CLASS(8),	CLASS(12),  CLASS(20),	CLASS(36),
				 CLASS(68), CLASS(132), CLASS(260), CLASS(516), CLASS(1028)};
#define NCLASSES (sizeof classes / sizeof classes[0])

static size_t idle_bytes; /* of all classes; atomic, relaxed */

static struct class *
class_of(size_t size)
{
	for (size_t i = 0; i < NCLASSES; i++)
		if (size <= classes[i].size)
			return &classes[i];
	return NULL;
}

static struct idle *
pop(struct class *c)
{
	struct idle *b;

	pthread_mutex_lock(&c->lock);
	b = c->top;
	if (b) {
		UNPOISON(b, c->size);
		c->top = b->next;
	}
	pthread_mutex_unlock(&c->lock);
	if (b)
		__atomic_fetch_sub(&idle_bytes, c->size, __ATOMIC_RELAXED);
	return b;
}

static void
push(struct class *c, void *buf)
{
	struct idle *b = buf;

	pthread_mutex_lock(&c->lock);
	b->next = c->top;
	c->top = b;
	POISON(b, c->size);
	pthread_mutex_unlock(&c->lock);
}

void *
buf_take(size_t size)
{
	struct class *c = class_of(size);
	void *b;

	if (!c)
		return NULL;
	b = pop(c);
	if (!b)
		b = malloc(c->size);
	if (b)
		budget_add(c->size);
	return b;
}

void
buf_give(void *buf, size_t size)
{
	struct class *c = class_of(size);
	size_t bound = budget_limit() / 4;

	if (!buf || !c)
		return;
	budget_sub(c->size);
	if (bound > IDLE_MAX)
		bound = IDLE_MAX;
	if (__atomic_add_fetch(&idle_bytes, c->size, __ATOMIC_RELAXED) <= bound) {
		push(c, buf);
		return;
	}
	__atomic_fetch_sub(&idle_bytes, c->size, __ATOMIC_RELAXED);
	free(buf);
}

void
buf_trim(void)
{
	for (size_t i = 0; i < NCLASSES; i++)
		for (struct idle *b = pop(&classes[i]); b; b = pop(&classes[i]))
			free(b);
}
