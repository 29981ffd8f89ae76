/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TIMES_H
#define TIMES_H
/* Times of files. */
#include <stdbool.h>
#include <time.h>

static inline bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

#endif
