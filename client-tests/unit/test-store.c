/* SPDX-License-Identifier: BSD-2-Clause */
#include "storebox.h"
#include <pthread.h>

/* One identity, one serial; another identity, another serial; and the row says what was said. */
TEST(store, issue_and_find)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r;
	uint64_t a = issue(s, row(10, 0, "a")), b = issue(s, row(11, a, "b"));

	CU_ASSERT(a && b && a != b);
	CU_ASSERT_EQUAL(issue(s, row(10, 0, "a")), a);
	CU_ASSERT_EQUAL(store_find(s, FS, b, &r), 0);
	CU_ASSERT(r.id.ino == 11 && r.id.type == S_IFREG && r.parent == a && r.serial == b);
	CU_ASSERT_STRING_EQUAL(r.name, "b");
	CU_ASSERT_EQUAL(store_find(s, FS + 1, b, &r), ENOENT);
	CU_ASSERT_EQUAL(store_find(s, FS, b + 1, &r), ENOENT);
	store_close(s);
	drop_dir(&d);
}

/* Inode, type, birth time and the file system's own word all tell objects apart. */
TEST(store, identities)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row v[5];

	for (int i = 0; i < 5; i++)
		v[i] = row(10, 0, "a");
	v[1].id.type = S_IFDIR;
	v[2].id.btime_ns = 1;
	v[3].id.extra = 1;
	v[4].id.fs_id++;
	CU_ASSERT_EQUAL(store_issue(s, v, 5), 0);
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < i; j++)
			CU_ASSERT_NOT_EQUAL(v[i].serial, v[j].serial);
	store_close(s);
	drop_dir(&d);
}

/* After a restart every serial is there, and new ones are new. */
TEST(store, restart)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r;
	uint64_t serial[1000];
	char name[16];

	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "f%d", (int)i);
		serial[i] = issue(s, row(i + 1, 0, name));
	}
	store_close(s);
	s = reopen(&d);
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "f%d", (int)i);
		CU_ASSERT(store_find(s, FS, serial[i], &r) == 0 && r.id.ino == i + 1 &&
			  strcmp(r.name, name) == 0);
		CU_ASSERT_EQUAL(issue(s, row(i + 1, 0, name)), serial[i]);
	}
	CU_ASSERT(issue(s, row(5000, 0, "new")) > serial[999]);
	store_close(s);
	drop_dir(&d);
}

/* A lost or replaced store never issues a serial a second time: old handles find nothing rather
 * than something else. */
TEST(store, lost_store)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r;
	char cmd[256];
	uint64_t a = issue(s, row(1, 0, "a")), b, c;

	store_close(s);
	snprintf(cmd, sizeof cmd, "cp %s/store.lmdb %s/copy", d.path, d.path);
	CU_ASSERT_EQUAL(system(cmd), 0);
	s = reopen(&d);
	b = issue(s, row(2, 0, "b"));
	store_close(s);
	snprintf(cmd, sizeof cmd, "mv %s/copy %s/store.lmdb", d.path, d.path);
	CU_ASSERT_EQUAL(system(cmd), 0);
	s = reopen(&d);
	CU_ASSERT_EQUAL(store_find(s, FS, a, &r), 0);
	CU_ASSERT_EQUAL(store_find(s, FS, b, &r), ENOENT);
	c = issue(s, row(3, 0, "c"));
	CU_ASSERT(c != a && c != b);
	store_close(s);
	drop_dir(&d);
}

/* What is known already costs no commit, neither as a serial nor as a note. */
TEST(store, unchanged_is_not_written)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	uint64_t before;

	issue(s, row(10, 0, "a"));
	store_note(s, FS, 77, 2, "n", 1);
	store_flush(s);
	before = counter(ST_STORE_COMMITS);
	for (int i = 0; i < 100; i++) {
		issue(s, row(10, 0, "a"));
		store_note(s, FS, 77, 2, "n", 1);
	}
	store_flush(s);
	CU_ASSERT_EQUAL(counter(ST_STORE_COMMITS), before);
	store_close(s);
	s = reopen(&d); /* also when only the file remembers */
	before = counter(ST_STORE_COMMITS);
	store_note(s, FS, 77, 2, "n", 1);
	store_flush(s);
	CU_ASSERT_EQUAL(counter(ST_STORE_COMMITS), before);
	store_close(s);
	drop_dir(&d);
}

/* The latest name comes first, the former ones stay, at most STORE_LINKS; going back and forth
 * between links writes nothing. */
TEST(store, links)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r[STORE_LINKS];
	size_t n;
	uint64_t a = issue(s, row(10, 0, "a")), before;

	CU_ASSERT_EQUAL(issue(s, row(10, 5, "b")), a);
	CU_ASSERT_EQUAL(store_links(s, FS, a, r, STORE_LINKS, &n), 0);
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT(r[0].parent == 5 && strcmp(r[0].name, "b") == 0 && r[1].parent == 0 &&
		  strcmp(r[1].name, "a") == 0);
	before = counter(ST_STORE_COMMITS);
	issue(s, row(10, 0, "a"));
	issue(s, row(10, 5, "b"));
	CU_ASSERT_EQUAL(counter(ST_STORE_COMMITS), before);
	for (uint64_t i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(issue(s, row(10, 100 + i, "c")), a);
	CU_ASSERT_EQUAL(store_links(s, FS, a, r, STORE_LINKS, &n), 0);
	CU_ASSERT(n == STORE_LINKS && r[0].parent == 105 &&
		  r[STORE_LINKS - 1].parent == 106 - STORE_LINKS);
	store_close(s);
	drop_dir(&d);
}

/* An inode number seen in another mount of a file system that deals them anew is the old object
 * only in a place where that was. */
TEST(store, instances)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r = row(10, 0, "a"), at;
	uint64_t a, other;

	r.inst = 1;
	a = issue(s, r);
	r.inst = 2;
	CU_ASSERT_EQUAL(issue(s, r), a);
	r = row(10, 0, "b");
	r.inst = 2; /* the same mount: renamed */
	CU_ASSERT_EQUAL(issue(s, r), a);
	r = row(10, 0, "z");
	r.inst = 3; /* another mount, another place: who knows */
	other = issue(s, r);
	CU_ASSERT_NOT_EQUAL(other, a);
	CU_ASSERT(store_find(s, FS, a, &at) == 0 && strcmp(at.name, "b") == 0);
	CU_ASSERT_EQUAL(store_known(s, &r.id, 3, &a), 0);
	CU_ASSERT_EQUAL(a, other);
	CU_ASSERT_EQUAL(store_known(s, &r.id, 4, &a), ENOENT);
	store_close(s);
	drop_dir(&d);
}

struct seen {
	uint64_t v[2000];
	size_t n, stop;
};

static int
see(void *arg, const struct store_row *r)
{
	struct seen *seen = arg;

	seen->v[seen->n++] = r->serial;
	return seen->n == seen->stop;
}

static int
see_serial(void *arg, uint64_t serial)
{
	struct seen *seen = arg;

	seen->v[seen->n++] = serial;
	return 0;
}

/* The children of a directory are those whose remembered places lie in it, however many; the
 * parents are the directories that have some. */
TEST(store, children_and_parents)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	static struct seen seen;
	uint64_t dir = issue(s, row(1, 0, "dir"));
	char name[16];

	for (uint64_t i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "f%d", (int)i);
		issue(s, row(i + 10, dir, name));
	}
	issue(s, row(10, 0, "moved")); /* its former place is remembered */
	CU_ASSERT_EQUAL(store_children(s, FS, dir, see, &seen), 0);
	CU_ASSERT_EQUAL(seen.n, 500);
	seen = (struct seen){.stop = 3};
	CU_ASSERT_EQUAL(store_children(s, FS, dir, see, &seen), 0);
	CU_ASSERT_EQUAL(seen.n, 3);
	seen = (struct seen){0};
	CU_ASSERT_EQUAL(store_children(s, FS, 0, see, &seen), 0);
	CU_ASSERT_EQUAL(seen.n, 2);
	seen = (struct seen){0};
	CU_ASSERT_EQUAL(store_parents(s, FS, see_serial, &seen), 0);
	CU_ASSERT(seen.n == 2 && seen.v[0] == 0 && seen.v[1] == dir);
	seen = (struct seen){0};
	CU_ASSERT(store_parents(s, FS + 1, see_serial, &seen) == 0 && seen.n == 0);
	store_close(s);
	drop_dir(&d);
}

/* Names of 255 bytes and directories of any depth are just rows. */
TEST(store, long_names)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r, got;
	char name[256];
	uint64_t parent = 0;

	memset(name, 'x', 255);
	name[255] = '\0';
	for (uint64_t i = 0; i < 40; i++)
		parent = issue(s, row(i + 1, parent, name));
	CU_ASSERT(store_find(s, FS, parent, &got) == 0 && got.namelen == 255 &&
		  strcmp(got.name, name) == 0);
	r = row(1, 0, "");
	r.namelen = 256;
	CU_ASSERT_EQUAL(store_issue(s, &r, 1), ENAMETOOLONG);
	store_close(s);
	drop_dir(&d);
}

struct crowd {
	struct store *s;
	uint64_t base, serial[200];
};

static void *
crowd_issue(void *arg)
{
	struct crowd *c = arg;

	for (uint64_t i = 0; i < 200; i++)
		c->serial[i] = issue(c->s, row(c->base + i, 0, "x"));
	return NULL;
}

/* Many callers at once share commits, and two that name one object get one serial. */
TEST(store, many_callers)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct crowd c[8];
	pthread_t t[8];
	struct store_row r;
	uint64_t before = counter(ST_STORE_COMMITS);

	for (int i = 0; i < 8; i++) {
		c[i] =
		    (struct crowd){.s = s, .base = 1 + 100 * (uint64_t)(i / 2)}; /* overlapping */
		CU_ASSERT_EQUAL(pthread_create(&t[i], NULL, crowd_issue, &c[i]), 0);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 8; i++)
		for (uint64_t k = 0; k < 200; k++)
			CU_ASSERT(store_find(s, FS, c[i].serial[k], &r) == 0 &&
				  r.id.ino == c[i].base + k);
	CU_ASSERT(memcmp(c[0].serial, c[1].serial, sizeof c[0].serial) == 0);
	CU_ASSERT(c[0].serial[150] == c[2].serial[50]);
	CU_ASSERT(counter(ST_STORE_COMMITS) - before <= 500); /* objects: never one twice */
	store_close(s);
	drop_dir(&d);
}

/* A directory listing is one commit. */
TEST(store, group_is_one_commit)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	static struct store_row v[1000];
	uint64_t before = counter(ST_STORE_COMMITS);

	for (uint64_t i = 0; i < 1000; i++)
		v[i] = row(i + 1, 0, "x");
	CU_ASSERT_EQUAL(store_issue(s, v, 1000), 0);
	CU_ASSERT_EQUAL(counter(ST_STORE_COMMITS) - before, 1);
	CU_ASSERT_EQUAL(store_issue(s, v, 0), 0);
	store_close(s);
	drop_dir(&d);
}

static bool
odd_alive(void *arg, const struct store_row *r)
{
	(void)arg;
	return r->id.ino % 2;
}

struct rescue {
	struct store *s;
	uint64_t serial;
};

/* Finds an object dead, which comes to light before the answer is given. */
static bool
alive_again(void *arg, const struct store_row *r)
{
	struct rescue *x = arg;

	if (r->id.ino == 4)
		x->serial = issue(x->s, row(4, 0, "x"));
	return false;
}

/* A sweep removes what is dead, a bounded number at a time, and never what was issued meanwhile. */
TEST(store, sweep)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct rescue x = {.s = s};
	struct store_row r;
	struct store_info info;
	uint64_t serial[11];

	for (uint64_t i = 1; i <= 10; i++)
		serial[i] = issue(s, row(i, 0, "x"));
	CU_ASSERT_EQUAL(store_sweep(s, odd_alive, NULL, 4), 2);
	CU_ASSERT_EQUAL(store_sweep(s, odd_alive, NULL, 4), 2);
	CU_ASSERT_EQUAL(store_sweep(s, odd_alive, NULL, 4), 1);
	store_info(s, &info);
	CU_ASSERT_EQUAL(info.rows, 5);
	CU_ASSERT_EQUAL(store_find(s, FS, serial[2], &r), ENOENT);
	CU_ASSERT_EQUAL(store_find(s, FS, serial[3], &r), 0);
	CU_ASSERT(issue(s, row(2, 0, "x")) != serial[2]); /* a serial means one object for ever */
	x.serial = 0;
	serial[4] = issue(s, row(4, 0, "x"));
	CU_ASSERT_EQUAL(store_sweep(s, alive_again, &x, 100), 6);
	CU_ASSERT_EQUAL(x.serial, serial[4]);
	CU_ASSERT_EQUAL(store_find(s, FS, x.serial, &r), 0);
	store_close(s);
	drop_dir(&d);
}

/* Notes are found once flushed, follow a rename, and survive a restart. */
TEST(store, notes)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_row r;

	store_note(s, FS, 5, 2, "five", 4);
	store_flush(s);
	CU_ASSERT(store_noted(s, FS, 5, &r) == 0 && r.parent == 2 && strcmp(r.name, "five") == 0);
	store_note(s, FS, 5, 3, "FIVE", 4);
	store_close(s);
	s = reopen(&d);
	CU_ASSERT(store_noted(s, FS, 5, &r) == 0 && r.parent == 3 && strcmp(r.name, "FIVE") == 0);
	CU_ASSERT_EQUAL(store_noted(s, FS, 6, &r), ENOENT);
	store_close(s);
	drop_dir(&d);
}

/* Notes never wait: more than fits is dropped and counted, and the rest is written. */
TEST(store, notes_flood)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	struct store_info info;
	char name[200];
	uint64_t before = counter(ST_STORE_DROPPED), dropped;

	memset(name, 'n', sizeof name);
	for (uint64_t i = 0; i < 20000; i++)
		store_note(s, FS, i + 1, 2, name, sizeof name);
	store_flush(s);
	dropped = counter(ST_STORE_DROPPED) - before;
	store_info(s, &info);
	CU_ASSERT_EQUAL(info.notes + dropped, 20000);
	CU_ASSERT(info.notes > 1000);
	store_close(s);
	drop_dir(&d);
}

static int
list_mount(void *arg, const char *host, const char *path)
{
	char *text = arg;

	strcat(strcat(strcat(strcat(text, host), ":"), path), " ");
	return 0;
}

/* The mount list: adding twice is once, removal of one and of all of a host, kept over a restart.
 */
TEST(store, mounts)
{
	struct dir d = make_dir();
	struct store *s = reopen(&d);
	char text[512] = "", longpath[1025];

	store_mount_add(s, "10.0.0.1", "/a");
	store_mount_add(s, "10.0.0.1", "/a");
	store_mount_add(s, "10.0.0.1", "/b");
	store_mount_add(s, "10.0.0.2", "/a");
	store_mount_del(s, "10.0.0.1", "/b");
	store_mount_del(s, "10.0.0.9", "/b");
	CU_ASSERT_EQUAL(store_mounts(s, list_mount, text), 0);
	CU_ASSERT(strlen(text) == 24 && strstr(text, "10.0.0.1:/a ") &&
		  strstr(text, "10.0.0.2:/a "));
	store_close(s);
	s = reopen(&d);
	store_mount_del(s, "10.0.0.1", NULL);
	memset(longpath, 'p', 1024);
	longpath[1024] = '\0';
	text[0] = '\0';
	CU_ASSERT_EQUAL(store_mounts(s, list_mount, text), 0);
	CU_ASSERT_STRING_EQUAL(text, "10.0.0.2:/a ");
	store_mount_add(s, "host", longpath);
	struct store_info info;

	store_flush(s);
	store_info(s, &info);
	CU_ASSERT_EQUAL(info.mounts, 2);
	store_close(s);
	drop_dir(&d);
}
