/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of names that were made while the store could not be written. */
#include "storebox.h"
#include <signal.h>
#include <sys/resource.h>

static struct store_change
change(enum store_step step, uint64_t serial, struct store_row was, struct store_row now)
{
	return (struct store_change){.step = step, .serial = serial, .was = was, .now = now};
}

/* No file of this process may be written, as on a full disk; or they may again. */
static void
disk_is_full(bool full)
{
	struct rlimit r;

	signal(SIGXFSZ, SIG_IGN);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &r), 0);
	r.rlim_cur = full ? 0 : r.rlim_max;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &r), 0);
}

struct rows {
	uint64_t moved, gone, linked, unlinked;
};

static struct rows
issue_all(struct store *s)
{
	struct rows r = {issue(s, row(1, 0, "moved")), issue(s, row(2, 0, "gone")),
			 issue(s, row(3, 0, "linked")), issue(s, row(4, 0, "unlinked"))};

	CU_ASSERT_EQUAL(issue(s, row(4, 9, "stays")), r.unlinked);
	return r;
}

static bool
is_at(struct store *s, uint64_t serial, uint64_t parent, const char *name)
{
	struct store_row r;

	return store_find(s, FS, serial, &r) == 0 && r.parent == parent &&
	       strcmp(r.name, name) == 0;
}

/* While the disk is full; each says that it has not reached it. */
static void
change_all(struct store *s, const struct rows *r)
{
	struct store_change c[] = {
	    change(STORE_MOVED, r->moved, row(1, 0, "moved"), row(1, 5, "via")),
	    change(STORE_GONE, r->gone, row(2, 0, "gone"), row(0, 0, "")),
	    change(STORE_LINKED, r->linked, row(0, 0, ""), row(3, 6, "too")),
	    change(STORE_UNLINKED, r->unlinked, row(4, 0, "unlinked"), row(0, 0, "")),
	    change(STORE_MOVED, r->moved, row(1, 5, "via"), row(1, 7, "there")),
	    change(STORE_MADE, 0, row(0, 0, ""), row(8, 0, "new")),
	};

	for (size_t i = 0; i < sizeof c / sizeof *c; i++)
		CU_ASSERT_NOT_EQUAL(store_follow(s, &c[i], 1), 0);
}

static void
is_changed(struct store *s, const struct rows *r)
{
	struct store_row links[STORE_LINKS], at = row(2, 0, "gone");
	uint64_t serial;
	size_t n;

	CU_ASSERT_TRUE(is_at(s, r->moved, 7, "there"));
	CU_ASSERT_EQUAL(store_find(s, FS, r->gone, links), ENOENT);
	CU_ASSERT_EQUAL(store_known(s, &at.id, 0, &serial), ENOENT);
	at = row(1, 7, "there");
	CU_ASSERT(store_known(s, &at.id, 0, &serial) == 0 && serial == r->moved);
	at = row(8, 0, "new"); /* its maker was told that it could not be made */
	CU_ASSERT_EQUAL(store_known(s, &at.id, 0, &serial), ENOENT);
	CU_ASSERT_EQUAL(store_links(s, FS, r->linked, links, STORE_LINKS, &n), 0);
	CU_ASSERT(n >= 1);
}

/* And on the disk. */
static void
is_written(struct store *s, const struct rows *r)
{
	struct store_row links[STORE_LINKS];
	size_t n;

	is_changed(s, r);
	CU_ASSERT_EQUAL(store_links(s, FS, r->moved, links, STORE_LINKS, &n), 0);
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_TRUE(is_at(s, r->linked, 6, "too"));
	CU_ASSERT_EQUAL(store_links(s, FS, r->linked, links, STORE_LINKS, &n), 0);
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_TRUE(is_at(s, r->unlinked, 9, "stays"));
	CU_ASSERT_EQUAL(store_links(s, FS, r->unlinked, links, STORE_LINKS, &n), 0);
	CU_ASSERT_EQUAL(n, 1);
}

/* What was done while the disk was full is what the store says at once, and is written before
 * whatever is written next. */
TEST(store_owed, written_later)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct rows r = issue_all(s);

	disk_is_full(true);
	change_all(s, &r);
	is_changed(s, &r);
	disk_is_full(false);
	struct store_change back =
	    change(STORE_MOVED, r.moved, row(1, 7, "there"), row(1, 0, "moved"));
	CU_ASSERT_EQUAL(store_follow(s, &back, 1), 0);
	CU_ASSERT_TRUE(is_at(s, r.moved, 0, "moved"));
	back = change(STORE_MOVED, r.moved, row(1, 0, "moved"), row(1, 7, "there"));
	CU_ASSERT_EQUAL(store_follow(s, &back, 1), 0);
	is_written(s, &r);
	store_close(s);
	s = reopen(&d);
	is_written(s, &r);
	store_close(s);
	drop_dir(&d);
}

/* With nothing else to write it is written all the same, at the latest when the store closes. */
TEST(store_owed, written_at_the_end)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct rows r = issue_all(s);

	disk_is_full(true);
	change_all(s, &r);
	disk_is_full(false);
	store_close(s);
	s = reopen(&d);
	is_written(s, &r);
	store_close(s);
	drop_dir(&d);
}

/* Nor does the store wait for somebody who wants to write: it tries again by itself. */
TEST(store_owed, written_by_itself)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct rows r = issue_all(s);

	disk_is_full(true);
	change_all(s, &r);
	uint64_t before = counter(ST_STORE_COMMITS);
	disk_is_full(false);
	while (counter(ST_STORE_COMMITS) == before)
		usleep(1000); /* for ever, if it does not */
	is_changed(s, &r);
	store_close(s);
	drop_dir(&d);
}

/* A store that never recovers forgets, says so, and is what it was. */
TEST(store_owed, never_written)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct rows r = issue_all(s);

	disk_is_full(true);
	change_all(s, &r);
	store_close(s);
	disk_is_full(false);
	s = reopen(&d);
	CU_ASSERT_TRUE(is_at(s, r.moved, 0, "moved") && is_at(s, r.gone, 0, "gone"));
	store_close(s);
	drop_dir(&d);
}
