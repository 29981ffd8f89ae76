/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WALK_INT_H
#define WALK_INT_H
/* What walk.c (the straight way) and search.c (the long one) share. */
#include "walk.h"
#include <pthread.h>

#define WALK_GONE 512

struct gone {
	uint64_t serial;
	int64_t until; /* monotonic seconds */
};
struct walk {
	pthread_mutex_t search; /* one at a time; held over system calls that sleep */
	pthread_mutex_t lock;	/* gone */
	struct gone gone[WALK_GONE];
};

bool walk_is_gone(struct walk *, uint64_t serial);
void walk_set_gone(struct walk *, uint64_t serial);
/* Is the object behind fd the one of this row? */
bool walk_is(const struct export *, int fd, const struct store_row *row);
/* Does this errno say nothing about whether the object exists? */
bool walk_is_hard(int code);

/* Everything but the straight way. ESTALE: not found; *complete: and the whole export was looked
 * through. Under w->search. */
int search_open(const struct resolve *, const struct export *, uint64_t serial, int *fd,
		bool *complete);
/* The name (STORE_NAME_MAX + 1 bytes) under which the directory st lies in dir. ESTALE: it does
 * not. */
int search_name(const struct export *, int dir, const struct stat *st, char *name);

#endif
