/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "names.h"
#include <stdio.h>
#include <string.h>

static nfs_fh3
handle_number(uint64_t n)
{
	nfs_fh3 fh = {.len = sizeof n};

	memcpy(fh.data, &n, sizeof n);
	return fh;
}

static uint64_t
number(const nfs_fh3 *fh)
{
	uint64_t n;

	memcpy(&n, fh->data, sizeof n);
	return n;
}

static struct stat
times(int64_t c, int64_t m)
{
	return (struct stat){.st_ctim = {c, 5}, .st_mtim = {m, 7}};
}

/* What was put is found under the same directory, name and times, and under nothing else. */
TEST(names, found_only_as_put)
{
	struct names *n = names_new(64);
	struct stat st = times(1, 2), later = times(1, 2);
	nfs_fh3 fh = handle_number(42), got;

	names_put(n, 9, &st, "abc", 3, &fh);
	CU_ASSERT(names_find(n, 9, &st, "abc", 3, &got));
	CU_ASSERT_EQUAL(number(&got), 42);
	CU_ASSERT(!names_find(n, 8, &st, "abc", 3, &got));
	CU_ASSERT(!names_find(n, 9, &st, "ab", 2, &got));
	CU_ASSERT(!names_find(n, 9, &st, "abd", 3, &got));
	later.st_ctim.tv_nsec++;
	CU_ASSERT(!names_find(n, 9, &later, "abc", 3, &got));
	names_put(n, 9, &st, "abc", 3, &fh);
	later = st;
	later.st_mtim.tv_nsec++;
	CU_ASSERT(!names_find(n, 9, &later, "abc", 3, &got));
	CU_ASSERT(!names_find(n, 9, &st, "abc", 3, &got)); /* a miss by time ends the entry */
	names_free(n);
}

/* The same name put twice is one entry, the later. */
TEST(names, replaced)
{
	struct names *n = names_new(64);
	struct stat st = times(1, 1);
	nfs_fh3 got, a = handle_number(1), b = handle_number(2);

	names_put(n, 1, &st, "x", 1, &a);
	names_put(n, 1, &st, "x", 1, &b);
	CU_ASSERT(names_find(n, 1, &st, "x", 1, &got));
	CU_ASSERT_EQUAL(number(&got), 2);
	names_free(n);
}

/* A directory of 100,000 names neither grows the table nor is it ever wrong; the names used last
 * are mostly still there, and a name used all along never leaves. */
TEST(names, bounded_and_never_wrong)
{
	struct names *n = names_new(4096);
	struct stat st = times(1, 1);
	char name[32];
	nfs_fh3 fh, got;
	int recent = 0, wrong = 0, hot = 0;

	fh = handle_number(UINT64_MAX);
	names_put(n, 1, &st, "hot", 3, &fh);
	for (int i = 0; i < 100000; i++) {
		int len = sprintf(name, "n%d", i);

		fh = handle_number((uint64_t)i);
		names_put(n, 1, &st, name, (size_t)len, &fh);
		if (i % 100 == 0)
			hot += names_find(n, 1, &st, "hot", 3, &got);
	}
	for (int i = 0; i < 100000; i++) {
		int len = sprintf(name, "n%d", i);

		if (!names_find(n, 1, &st, name, (size_t)len, &got))
			continue;
		wrong += number(&got) != (uint64_t)i;
		recent += i >= 98000;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(recent > 1400);
	CU_ASSERT_EQUAL(hot, 1000);
	names_free(n);
}

/* Names of the greatest length differ in their last byte. */
TEST(names, long_names)
{
	struct names *n = names_new(64);
	struct stat st = times(3, 3);
	nfs_fh3 fh = handle_number(7), got;
	char name[255];

	memset(name, 'a', sizeof name);
	names_put(n, 1, &st, name, sizeof name, &fh);
	CU_ASSERT(names_find(n, 1, &st, name, sizeof name, &got));
	name[254] = 'b';
	CU_ASSERT(!names_find(n, 1, &st, name, sizeof name, &got));
	names_free(n);
}
