/* SPDX-License-Identifier: BSD-2-Clause */
/* What the store keeps when names are made, moved and taken away, and the verifiers of creation. */
#include "storebox.h"
#include <pthread.h>

static struct store_change
change(enum store_step step, uint64_t serial, struct store_row was, struct store_row now)
{
	return (struct store_change){.step = step, .serial = serial, .was = was, .now = now};
}

static void
follow(struct store *s, struct store_change c)
{
	CU_ASSERT_EQUAL(store_follow(s, &c, 1), 0);
}

/* A moved row has its new place first, its old place no more, and keeps the other names; there and
 * back again too; all of it is on the disk. */
TEST(store_follow, moved)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row links[STORE_LINKS];
	size_t n;
	uint64_t a = issue(s, row(10, 0, "a"));

	CU_ASSERT_EQUAL(issue(s, row(10, 5, "other")), a);
	follow(s, change(STORE_MOVED, a, row(10, 0, "a"), row(10, 7, "b")));
	follow(s, change(STORE_MOVED, a, row(10, 7, "b"), row(10, 0, "a")));
	store_close(s);
	s = reopen(&d);
	CU_ASSERT_EQUAL(store_links(s, FS, a, links, STORE_LINKS, &n), 0);
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT(links[0].parent == 0 && strcmp(links[0].name, "a") == 0);
	CU_ASSERT(links[1].parent == 5 && strcmp(links[1].name, "other") == 0);
	follow(s, change(STORE_UNLINKED, a, row(10, 0, "a"), row(0, 0, "")));
	CU_ASSERT_EQUAL(store_links(s, FS, a, links, STORE_LINKS, &n), 0);
	CU_ASSERT(n == 1 && links[0].parent == 5);
	CU_ASSERT_EQUAL(issue(s, row(10, 6, "late")), a); /* where it goes was known already */
	follow(s, change(STORE_MOVED, a, row(10, 6, "late"), row(10, 5, "other")));
	CU_ASSERT_EQUAL(store_links(s, FS, a, links, STORE_LINKS, &n), 0);
	CU_ASSERT(n == 1 && links[0].parent == 5);
	store_close(s);
	drop_dir(&d);
}

/* Where a place is the identity, a moved row takes the new one, from whoever had it. */
TEST(store_follow, moved_identity)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r, at;
	uint64_t a = issue(s, row(100, 0, "a")), b = issue(s, row(200, 0, "b")), serial;

	follow(s, change(STORE_MOVED, a, row(100, 0, "a"), row(200, 0, "b")));
	CU_ASSERT_EQUAL(store_find(s, FS, a, &r), 0);
	CU_ASSERT(r.id.ino == 200 && strcmp(r.name, "b") == 0);
	CU_ASSERT_EQUAL(store_find(s, FS, b, &r), ENOENT);
	at = row(200, 0, "b");
	CU_ASSERT(store_known(s, &at.id, 0, &serial) == 0 && serial == a);
	at = row(100, 0, "a");
	CU_ASSERT_EQUAL(store_known(s, &at.id, 0, &serial), ENOENT);
	store_close(s);
	drop_dir(&d);
}

/* What is gone is never found again; a serial without a row is no error. */
TEST(store_follow, gone)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r, at = row(10, 0, "a");
	uint64_t a = issue(s, at), serial;

	follow(s, change(STORE_GONE, a, at, at));
	follow(s, change(STORE_GONE, a, at, at));
	follow(s, change(STORE_MOVED, a, at, row(10, 0, "b")));
	CU_ASSERT_EQUAL(store_find(s, FS, a, &r), ENOENT);
	CU_ASSERT_EQUAL(store_known(s, &at.id, 0, &serial), ENOENT);
	CU_ASSERT(issue(s, at) != a);
	store_close(s);
	drop_dir(&d);
}

/* A new object with the inode number of an old one gets a serial of its own, if nothing else tells
 * them apart, and the old one's ends; if something does, it is the same object. */
TEST(store_follow, made)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r, at = row(10, 0, "a");
	uint64_t old = issue(s, at);
	struct store_change c = change(STORE_MADE, 0, at, at);

	CU_ASSERT_EQUAL(store_follow(s, &c, 1), 0);
	CU_ASSERT(c.serial != old && c.serial != 0);
	CU_ASSERT_EQUAL(store_find(s, FS, old, &r), ENOENT);
	CU_ASSERT_EQUAL(store_find(s, FS, c.serial, &r), 0);
	at.id.extra = 77;
	old = issue(s, at);
	c = change(STORE_MADE, 0, at, at);
	CU_ASSERT_EQUAL(store_follow(s, &c, 1), 0);
	CU_ASSERT_EQUAL(c.serial, old);
	store_close(s);
	drop_dir(&d);
}

/* Several steps are one commit. */
TEST(store_follow, one_commit)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	uint64_t a = issue(s, row(1, 0, "a")), b = issue(s, row(2, 0, "b")),
		 before = counter(ST_STORE_COMMITS);
	struct store_change c[] = {change(STORE_GONE, b, row(2, 0, "b"), row(2, 0, "b")),
				   change(STORE_MOVED, a, row(1, 0, "a"), row(1, 0, "b"))};

	CU_ASSERT_EQUAL(store_follow(s, c, 2), 0);
	CU_ASSERT_EQUAL(counter(ST_STORE_COMMITS) - before, 1);
	store_close(s);
	drop_dir(&d);
}

/* A verifier is there when put returns, after a restart too, exactly; dropped it is not. */
TEST(store_follow, verifiers)
{
	static const unsigned char v[8] = {0, 255, 0, 128, 1, 0, 0, 7}, zero[8];
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row a = row(10, 0, "a"), b = row(11, 0, "b");
	unsigned char got[8];

	CU_ASSERT_EQUAL(store_excl_get(s, &a.id, got), ENOENT);
	CU_ASSERT_EQUAL(store_excl_put(s, &a.id, v), 0);
	CU_ASSERT_EQUAL(store_excl_put(s, &b.id, zero), 0);
	store_close(s);
	s = reopen(&d);
	CU_ASSERT(store_excl_get(s, &a.id, got) == 0 && memcmp(got, v, 8) == 0);
	CU_ASSERT(store_excl_get(s, &b.id, got) == 0 && memcmp(got, zero, 8) == 0);
	a.id.extra = 1; /* another object */
	CU_ASSERT_EQUAL(store_excl_get(s, &a.id, got), ENOENT);
	a.id.extra = 0;
	store_excl_drop(s, &a.id);
	store_excl_drop(s, &a.id);
	store_flush(s);
	CU_ASSERT_EQUAL(store_excl_get(s, &a.id, got), ENOENT);
	CU_ASSERT_EQUAL(store_excl_get(s, &b.id, got), 0);
	store_close(s);
	drop_dir(&d);
}

struct putter {
	struct store *s;
	uint64_t from;
};

static void *
put_many(void *arg)
{
	static const unsigned char v[8] = "verifie";
	struct putter *p = arg;

	for (uint64_t i = 0; i < STORE_EXCL_MAX / 64 + 8; i++) {
		struct store_row r = row(p->from + i, 0, "x");

		if (store_excl_put(p->s, &r.id, v))
			return arg;
	}
	return NULL;
}

/* Files that nobody comes back to do not fill the disk; the latest are kept. */
TEST(store_follow, verifiers_are_bounded)
{
	enum { N = 64 };
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct putter p[N];
	pthread_t t[N];
	unsigned char got[8];
	int kept = 0;

	for (uint64_t i = 0; i < N; i++) {
		p[i] = (struct putter){s, 1 + i * 100000};
		CU_ASSERT_EQUAL_FATAL(pthread_create(&t[i], NULL, put_many, &p[i]), 0);
	}
	for (int i = 0; i < N; i++) {
		void *failed;

		pthread_join(t[i], &failed);
		CU_ASSERT_PTR_NULL(failed);
	}
	struct store_row last = row(99999999, 0, "x");
	CU_ASSERT_EQUAL(store_excl_put(s, &last.id, (const unsigned char *)"verifie"), 0);
	CU_ASSERT_EQUAL(store_excl_get(s, &last.id, got), 0);
	for (uint64_t i = 0; i < N; i++)
		for (uint64_t j = 0; j < STORE_EXCL_MAX / 64 + 8; j++) {
			struct store_row r = row(p[i].from + j, 0, "x");

			kept += store_excl_get(s, &r.id, got) == 0;
		}
	CU_ASSERT(kept < STORE_EXCL_MAX);
	store_close(s);
	drop_dir(&d);
}
