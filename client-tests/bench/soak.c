/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak measures processor load by subtraction, as cyclesoak did in 2001: on each processor given, a
 * thread at idle priority (SCHED_IDLE) burns the cycles that nobody else wants and counts how much
 * work it got done. What it got done less than on an idle machine is the load, and everything is
 * in it: interrupts, kernel threads, and what cache and memory traffic cost others.
 *
 * It answers each line on standard input with one line of JSON: the monotonic clock, and per
 * processor the work done so far and the processor time that the kernel says it has had. The
 * difference of two answers is a measurement; the kernel's figure beside ours shows how far the two
 * ways of counting agree. It ends with its input.
 *
 * With -t, each thread also writes N cache lines per second, spread over 8 MiB, so that memory
 * traffic of others slows it down.
 */
#include <argp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define CPUS_MAX 256
#define LINE 64
#define TOUCHED (8u << 20)
#define UNIT 256 /* steps of the generator; one unit of work, well below a microsecond */

struct soaker {
	_Alignas(LINE) atomic_uint_fast64_t work;
	unsigned cpu;
	double touch;		 /* lines per second */
	uint64_t units_per_line; /* 0: none */
	clockid_t clock;
	pthread_t thread;
};

struct soak {
	struct soaker soaker[CPUS_MAX];
	unsigned n;
	double touch;
};

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t
unit(uint64_t x)
{
	for (int i = 0; i < UNIT; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* How many units go by between two cache lines; measured where and how we run. */
static uint64_t
pace(double touch, uint64_t *x)
{
	uint64_t n = 0, begin = now_ns(CLOCK_THREAD_CPUTIME_ID), end = begin + 10000000;
	if (touch <= 0)
		return 0;
	for (; now_ns(CLOCK_THREAD_CPUTIME_ID) < end; n++)
		*x = unit(*x);
	uint64_t every = (uint64_t)((double)n * 100 / touch);
	return every ? every : 1;
}

/* Idle class for others' sake; nice 19 so that the kernel's own books show us as "nice". */
static void
be_idle(const struct soaker *s)
{
	cpu_set_t set;
	struct sched_param none = {0};
	CPU_ZERO(&set);
	CPU_SET(s->cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, SCHED_IDLE, &none)) {
		fprintf(stderr, "soak: processor %u: cannot run there at idle priority\n", s->cpu);
		exit(1);
	}
	setpriority(PRIO_PROCESS, 0, 19);
}

static void *
burn(void *arg)
{
	struct soaker *s = arg;
	volatile uint8_t *memory = s->touch > 0 ? aligned_alloc(LINE, TOUCHED) : NULL;
	uint64_t x = 88172645463325252u + s->cpu, until = 0, work = 0;
	be_idle(s);
	s->units_per_line = pace(s->touch, &x);
	for (;;) {
		x = unit(x);
		atomic_store_explicit(&s->work, ++work, memory_order_relaxed);
		if (!memory || work < until)
			continue;
		memory[x % (TOUCHED / LINE) * LINE] = (uint8_t)x;
		until = work + s->units_per_line;
	}
	return NULL;
}

static error_t
parse(int key, char *arg, struct argp_state *st)
{
	struct soak *all = st->input;
	char *end = NULL;
	switch (key) {
	case 'c':
		if (all->n == CPUS_MAX)
			argp_error(st, "more than %d processors", CPUS_MAX);
		all->soaker[all->n++].cpu = (unsigned)strtoul(arg, &end, 10);
		break;
	case 't':
		all->touch = strtod(arg, &end);
		break;
	case ARGP_KEY_END:
		if (!all->n)
			argp_error(st, "no processor given");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (end == arg || *end)
		argp_error(st, "'%s' is no number", arg);
	return 0;
}

static void
answer(struct soak *all)
{
	printf("{\"ns\":%llu,\"cpus\":[", (unsigned long long)now_ns(CLOCK_MONOTONIC));
	for (unsigned i = 0; i < all->n; i++)
		printf("%s{\"cpu\":%u,\"work\":%llu,\"cpu_ns\":%llu}", i ? "," : "",
		       all->soaker[i].cpu, (unsigned long long)atomic_load(&all->soaker[i].work),
		       (unsigned long long)now_ns(all->soaker[i].clock));
	printf("]}\n");
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static const struct argp_option rows[] = {
	    {"cpu", 'c', "N", 0, "burn the idle cycles of this processor (repeatable)", 0},
	    {"touch", 't', "N", 0, "write N cache lines per second too (default 0)", 0},
	    {0},
	};
	static const struct argp argp = {
	    .options = rows, .parser = parse, .doc = "Measures processor load by subtraction."};
	static struct soak all; /* its counters are shared by the threads */
	char line[256];
	argp_parse(&argp, argc, argv, 0, NULL, &all);
	for (unsigned i = 0; i < all.n; i++) {
		struct soaker *s = &all.soaker[i];
		s->touch = all.touch;
		if (pthread_create(&s->thread, NULL, burn, s) ||
		    pthread_getcpuclockid(s->thread, &s->clock)) {
			fprintf(stderr, "soak: cannot start a thread\n");
			return 1;
		}
	}
	while (fgets(line, sizeof line, stdin))
		answer(&all);
	return 0;
}
