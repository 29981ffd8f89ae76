/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory budget of the process (declared in buf.h): one count, one limit, both relaxed atomics;
 * a reader may be a moment late. The limit at start follows the tightest memory limit that holds
 * for us: the machine's, or that of any control group above us (v2 and v1).
 */
#include "buf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1024 * 1024)
#define BUDGET_MIN (32 * MIB)
#define BUDGET_MAX (1024 * MIB)

static size_t used, limit = BUDGET_MIN; /* atomic, relaxed */

void
budget_add(size_t bytes)
{
	__atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
}

void
budget_sub(size_t bytes)
{
	__atomic_fetch_sub(&used, bytes, __ATOMIC_RELAXED);
}

size_t
budget_used(void)
{
	return __atomic_load_n(&used, __ATOMIC_RELAXED);
}

size_t
budget_limit(void)
{
	return __atomic_load_n(&limit, __ATOMIC_RELAXED);
}

void
budget_set_limit(size_t bytes)
{
	__atomic_store_n(&limit, bytes, __ATOMIC_RELAXED);
}

/* The number in a file; SIZE_MAX when there is none ("max", no such file). */
static size_t
number_in(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long n;
	size_t answer = SIZE_MAX;

	if (!f)
		return answer;
	if (fscanf(f, "%llu", &n) == 1 && n < SIZE_MAX)
		answer = (size_t)n;
	fclose(f);
	return answer;
}

/* The least limit of a group and all groups above it. group is cut in place. */
static size_t
least_upwards(const char *mount, char *group, const char *file)
{
	size_t least = SIZE_MAX;
	char path[4400];

	for (;;) {
		char *slash = strrchr(group, '/');
		size_t n;

		snprintf(path, sizeof path, "%s%s/%s", mount, group, file);
		n = number_in(path);
		least = n < least ? n : least;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* One line of /proc/self/cgroup, "ID:CONTROLLERS:/PATH" (cgroups(7)). */
static size_t
limit_of_line(char *line)
{
	char *controllers = strchr(line, ':'), *group;

	if (!controllers || !(group = strchr(controllers + 1, ':')))
		return SIZE_MAX;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (controllers[1] == '\0')
		return least_upwards("/sys/fs/cgroup", group, "memory.max");
	if (strstr(controllers + 1, "memory"))
		return least_upwards("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
	return SIZE_MAX;
}

size_t
budget_default(void)
{
	size_t least = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[4200];

	while (f && fgets(line, sizeof line, f)) {
		size_t n = limit_of_line(line);

		least = n < least ? n : least;
	}
	if (f)
		fclose(f);
	least /= 4;
	return least < BUDGET_MIN ? BUDGET_MIN : least > BUDGET_MAX ? BUDGET_MAX : least;
}
