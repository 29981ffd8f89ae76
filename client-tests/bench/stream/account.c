/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "stream.h"

/* The kernel splits a process's time into user and system by samples; their sum is exact. */
static void
now(uint64_t *wall, uint64_t *user, uint64_t *system)
{
	struct timespec t, cpu;
	struct rusage u;
	clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	getrusage(RUSAGE_SELF, &u);
	*wall = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	uint64_t sum = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	*user = (uint64_t)u.ru_utime.tv_sec * 1000000000u + (uint64_t)u.ru_utime.tv_usec * 1000u;
	*user = *user < sum ? *user : sum;
	*system = sum - *user;
}

void
account_begin(struct account *a)
{
	*a = (struct account){0};
	now(&a->wall_ns, &a->user_ns, &a->system_ns);
}

void
account_print(struct account *a, const struct stream *s)
{
	uint64_t wall, user, system;
	now(&wall, &user, &system);
	printf("{\"side\":\"%s\"", s ? "send" : "receive");
	if (s)
		printf(",\"mode\":\"%s\",\"piece\":%zu,\"buffer\":%zu", mode_name(s->mode),
		       s->piece, s->buffer);
	printf(",\"bytes\":%llu,\"calls\":%llu,\"seconds\":%.9f,\"cpu_ns\":%llu,\"user_ns\":%llu,"
	       "\"system_ns\":%llu}\n",
	       (unsigned long long)a->bytes, (unsigned long long)a->calls,
	       (double)(wall - a->wall_ns) / 1e9,
	       (unsigned long long)(user - a->user_ns + system - a->system_ns),
	       (unsigned long long)(user - a->user_ns),
	       (unsigned long long)(system - a->system_ns));
	fflush(stdout);
}
