/* SPDX-License-Identifier: BSD-2-Clause */
#include "box.h"
#include "check.h"
#include "vsnap.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct handle_key key = {.now = "sixteen bytes..."};

/* Names of one hash take neighbouring cookies in the order of their names, whatever order they were
 * read in; a third whose own hash is thereby taken moves on. */
TEST(vsnap, collisions)
{
	const char text[] = "b\0a\0c\0d";
	struct snap_name v[] = {{100, 1, 0, 1}, {100, 2, 2, 1}, {101, 3, 4, 1}, {500, 4, 6, 1}};

	snap_order(v, 4, text);
	CU_ASSERT_EQUAL(v[0].ino, 2);
	CU_ASSERT_EQUAL(v[0].cookie, 100);
	CU_ASSERT_EQUAL(v[1].ino, 1);
	CU_ASSERT_EQUAL(v[1].cookie, 101);
	CU_ASSERT_EQUAL(v[2].ino, 3);
	CU_ASSERT_EQUAL(v[2].cookie, 102);
	CU_ASSERT_EQUAL(v[3].cookie, 500);
}

/* The search finds the first name beyond a cookie that need not exist (any more). */
TEST(vsnap, after)
{
	struct snap_name v[] = {{10, 0, 0, 0}, {20, 0, 0, 0}, {30, 0, 0, 0}};
	struct snap s = {.v = v, .n = 3};

	CU_ASSERT_EQUAL(snap_after(&s, 0), 0);
	CU_ASSERT_EQUAL(snap_after(&s, 10), 1);
	CU_ASSERT_EQUAL(snap_after(&s, 15), 1);
	CU_ASSERT_EQUAL(snap_after(&s, 29), 2);
	CU_ASSERT_EQUAL(snap_after(&s, 30), 3);
}

static void
make_names(int n)
{
	char path[256];

	MUST(mkdir(BOX "/d", 0755) == 0);
	for (int i = 0; i < n; i++) {
		sprintf(path, BOX "/d/file-%d", i);
		MUST(mknod(path, S_IFREG | 0644, 0) == 0);
	}
}

static void
windows(void)
{
	enum { N = 3000 };
	static char seen[N];
	uint64_t cookie = 0, last = 0;
	int passes = 0, twice = 0, missing = 0;
	struct snap *s;

	make_names(N);
	int fd = open(BOX "/d", O_RDONLY | O_DIRECTORY);
	do {
		MUST(snap_read(&key, fd, cookie, 100, &s) == 0);
		WANT(s->n < 200);
		for (size_t i = snap_after(s, cookie); i < s->n; i++) {
			int number = atoi(s->text + s->v[i].text + 5);

			WANT(s->v[i].cookie > last && s->v[i].cookie > SNAP_DOTDOT);
			WANT(s->v[i].cookie <= INT64_MAX);
			last = s->v[i].cookie;
			twice += seen[number];
			seen[number] = 1;
		}
		cookie = s->hi - 1;
		passes++;
		WANT(s->hi > last);
		if (s->hi == UINT64_MAX)
			passes += 1000;
		snap_put(s);
	} while (passes < 1000);
	for (int i = 0; i < N; i++)
		missing += !seen[i];
	WANT_EQ(missing, 0);
	WANT_EQ(twice, 0);
	WANT(passes > 1000 + N / 200 && passes < 1000 + N / 50);
}

/* A directory larger than the bound is served in windows that hold at most twice the bound, in
 * cookie order, every name once. */
TEST(vsnap, windows)
{
	BOXED(windows);
}

static void
stable(void)
{
	struct snap *a, *b;
	size_t j = 0;

	make_names(500);
	int fd = open(BOX "/d", O_RDONLY | O_DIRECTORY);
	MUST(snap_read(&key, fd, 0, SNAP_NAMES, &a) == 0);
	for (int i = 0; i < 500; i += 2)
		box_command("rm %s/d/file-%d", BOX, i);
	box_command("touch %s/d/new", BOX);
	MUST(snap_read(&key, fd, 0, SNAP_NAMES, &b) == 0);
	WANT_EQ(b->n, 251);
	for (size_t i = 0; i < a->n; i++) {
		const char *name = a->text + a->v[i].text;

		if (atoi(name + 5) % 2 == 0)
			continue;
		while (j < b->n && strcmp(b->text + b->v[j].text, name) != 0)
			j++;
		MUST(j < b->n);
		WANT_EQ(a->v[i].cookie, b->v[j].cookie);
	}
	snap_put(a);
	snap_put(b);
}

/* A name keeps its cookie when others come and go. */
TEST(vsnap, stable)
{
	BOXED(stable);
}
