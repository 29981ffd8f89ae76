/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HARM_H
#define HARM_H
/*
 * Children in which things go wrong: system calls that fail or kill, full file systems. A bed that
 * lives on over a child is stopped before and started after it (bed_stop, bed_start): its server
 * must not cross a fork.
 */
#include <stdbool.h>

/*
 * Runs fn in a child. Assertions that fail there are said here; comes back how many, or -1 when the
 * child was killed. What the server says there is heard with BED_LOG only.
 */
int harm_in_child(void (*fn)(void *), void *arg);

/* A system call of this thread. */
struct harm {
	long nr;
	int arg;       /* only when this argument (0-5)... */
	unsigned mask; /* ...has any of these bits; 0: in any case */
};
/* From now on it fails with this errno value, or (0) ends the process at once. For the rest of the
 * thread's life. */
void harm_call(const struct harm *, int error);

/* In a child: a new tmpfs at this path, unseen elsewhere. */
void harm_tmpfs(const char *path, const char *options);

#endif
