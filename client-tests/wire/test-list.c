/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * READDIR and READDIRPLUS: limits hold to the byte, every name comes once whatever the page size,
 * and cookies keep their meaning while the directory changes. RFC 1813 sections 3.3.16 and 3.3.17.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bed.h"

enum { LEAST = 8 + 88 + 8 }; /* a result without entries: attributes, verifier, end */

/* n files f0000... of 1 to 8 bytes in a/ */
static struct bed *
make(const struct bed_opts *o, unsigned n)
{
	struct bed *b = bed_new(o);
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof name, "a/f%0*u", (int)(4 + i % 60 % 7), i);
		bed_write(b, name, "12345678", 1 + i % 8);
	}
	bed_settle(b);
	return b;
}

/* What all pages of a listing together said. */
struct tally {
	unsigned *seen; /* by number in the name */
	unsigned names, dots, pages;
	bool ok;
};

static void
count_page(struct tally *t, const struct bed_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *s = l->v[i].name;

		CU_ASSERT_NOT_EQUAL(l->v[i].fileid, 0);
		if (s[0] == '.')
			t->dots++;
		else if (s[0] == 'f')
			t->seen[atoi(s + 1)]++;
		t->names++;
	}
	t->pages++;
}

/* Reads the whole directory with one limit; calls between (if any) after each page. */
static struct tally
walk(struct bed *b, uint32_t count, bool plus, uint32_t dircount, unsigned n,
     void (*between)(struct bed *, const struct bed_list *))
{
	struct tally t = {.seen = calloc(n + 10000, sizeof *t.seen), .ok = true};
	struct bed_list l = {.eof = false};
	uint64_t cookie = 0;

	do {
		bed_list(b, &b->root_a, cookie, count, plus, dircount, &l);
		t.ok = l.status == NFS3_OK && l.resok <= count && (l.n > 0 || l.eof);
		if (t.ok) {
			count_page(&t, &l);
			cookie = l.n > 0 ? l.v[l.n - 1].cookie : cookie;
			if (between)
				between(b, &l);
		}
		free(l.v);
	} while (t.ok && !l.eof);
	CU_ASSERT_TRUE(t.ok);
	return t;
}

static void
expect_once(struct tally t, unsigned n)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < n; i++)
		wrong += t.seen[i] != 1;
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(t.dots, 2);
	CU_ASSERT_EQUAL(t.names, n + 2);
	free(t.seen);
}

/* Every name exactly once, with every page size, plain and plus. */
static void
paging(const char *parent, const char *without)
{
	unsigned n = check_full() ? 5000 : 700;
	struct bed *b = make(&(struct bed_opts){.parent = parent, .without = without}, n);
	uint32_t step = check_full() ? 512 : 2560;

	for (uint32_t count = 512; count <= 8192; count += step) {
		expect_once(walk(b, count, false, 0, n, NULL), n);
		expect_once(walk(b, count, true, count, n, NULL), n);
	}
	expect_once(walk(b, 1 << 20, false, 0, n, NULL), n);
	expect_once(walk(b, 1 << 20, true, 1 << 20, n, NULL), n);
	bed_free(b);
}

TEST(wire_list, paging_ext4)
{
	paging("/tmp", NULL);
}

TEST(wire_list, paging_tmpfs)
{
	paging("/dev/shm", NULL);
}

/* And where handles are the store's serials. */
TEST(wire_list, paging_serials)
{
	paging("/tmp", "all");
}

/* The reply never exceeds its limit, for every limit around the first entries; what does not fit
 * even one is TOOSMALL. */
static void
exact_limits(struct bed *b, bool plus)
{
	struct bed_list l, all;
	bool ever = false;

	bed_list(b, &b->root_a, 0, 65536, plus, 65536, &all);
	for (uint32_t count = 0; count < 1024; count++) {
		bed_list(b, &b->root_a, 0, count, plus, 65536, &l);
		CU_ASSERT_TRUE(l.has_attr);
		if (l.status == NFS3_OK) {
			CU_ASSERT(l.n > 0 && l.resok <= count);
			ever = true;
		} else {
			CU_ASSERT_EQUAL(l.status, NFS3ERR_TOOSMALL);
			CU_ASSERT_FALSE(ever); /* more room never means less */
		}
		free(l.v);
	}
	CU_ASSERT_TRUE(ever);
	free(all.v);
}

TEST(wire_list, limits)
{
	struct bed *b = make(NULL, 20);

	exact_limits(b, false);
	exact_limits(b, true);
	bed_free(b);
}

/* Bytes of a list of one entry with a name of n bytes. */
static uint32_t
one_entry(size_t n, bool plus, u_int fhlen)
{
	uint32_t plain = LEAST + 4 + 8 + 4 + (uint32_t)((n + 3) & ~3u) + 8;

	return plus ? plain + 88 + 8 + fhlen : plain;
}

/* The last entry of 255 bytes is taken when the limit is what it needs, and not when it is 1 to 4
 * bytes less. */
TEST(wire_list, longest_name)
{
	struct bed *b = bed_new(NULL);
	char name[258] = "a/";
	struct bed_list l;
	uint64_t before = 0;

	memset(name + 2, 'n', 255);
	bed_write(b, name, "x", 1);
	bed_settle(b);
	bed_list(b, &b->root_a, 0, 65536, false, 0, &l);
	for (size_t i = 0; i + 1 < l.n; i++)
		if (strlen(l.v[i + 1].name) == 255)
			before = l.v[i].cookie;
	free(l.v);
	for (int plus = 0; plus < 2; plus++)
		for (uint32_t less = 0; less <= 4; less++) {
			uint32_t count = one_entry(255, plus, b->root_a.len) - less;

			bed_list(b, &b->root_a, before, count, plus, 65536, &l);
			CU_ASSERT_EQUAL(l.status, less ? NFS3ERR_TOOSMALL : NFS3_OK);
			CU_ASSERT_EQUAL(l.n, less ? 0 : 1);
			free(l.v);
		}
	bed_free(b);
}

/* Limits that are absurd in either direction: too small is said, too large is clamped. */
TEST(wire_list, absurd_limits)
{
	struct bed *b = make(NULL, 50);
	static const uint32_t small[] = {0, 1, 4, 88, LEAST - 1, LEAST, 127, 128};
	struct bed_list l;

	for (size_t i = 0; i < sizeof small / sizeof *small; i++)
		for (int plus = 0; plus < 2; plus++) {
			bed_list(b, &b->root_a, 0, small[i], plus, 65536, &l);
			CU_ASSERT_EQUAL(l.status,
					plus || small[i] < 128 + 4 ? NFS3ERR_TOOSMALL : NFS3_OK);
			free(l.v);
		}
	for (int plus = 0; plus < 2; plus++) {
		bed_list(b, &b->root_a, 0, UINT32_MAX, plus, UINT32_MAX, &l);
		CU_ASSERT_EQUAL(l.status, NFS3_OK);
		CU_ASSERT_EQUAL(l.n, 52);
		CU_ASSERT_TRUE(l.eof);
		free(l.v);
	}
	bed_free(b);
}

/* dircount is a hint for names: it makes pages smaller, but a page has at least one entry, and all
 * names still come once. */
TEST(wire_list, dircount)
{
	struct bed *b = make(NULL, 40);
	static const uint32_t hints[] = {0, 1, 88, 128, 500, UINT32_MAX};
	unsigned pages = UINT32_MAX;

	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
		struct tally t = walk(b, 32768, true, hints[i], 40, NULL);

		CU_ASSERT(t.pages <= pages);
		pages = t.pages;
		if (hints[i] <= 1)
			CU_ASSERT(t.pages >= 42);
		expect_once(t, 40);
	}
	CU_ASSERT_EQUAL(pages, 1);
	bed_free(b);
}

/* An empty directory has its two dots and eof; asked again after the last entry it says eof and
 * nothing else. */
TEST(wire_list, empty)
{
	struct bed *b = bed_new(NULL);
	struct bed_list l;

	bed_settle(b);
	for (int plus = 0; plus < 2; plus++) {
		uint64_t last;

		bed_list(b, &b->root_a, 0, 4096, plus, 4096, &l);
		CU_ASSERT_EQUAL(l.n, 2);
		CU_ASSERT_TRUE(l.eof);
		last = l.v[1].cookie;
		free(l.v);
		bed_list(b, &b->root_a, last, 4096, plus, 4096, &l);
		CU_ASSERT_EQUAL(l.status, NFS3_OK);
		CU_ASSERT_EQUAL(l.n, 0);
		CU_ASSERT_TRUE(l.eof);
		free(l.v);
	}
	bed_free(b);
}

static unsigned made;

/* Creates one file and removes one listed so far, after each page. */
static void
churn(struct bed *b, const struct bed_list *l)
{
	char name[300];

	snprintf(name, sizeof name, "a/f%u", 5000 + made++);
	bed_write(b, name, "new", 3);
	snprintf(name, sizeof name, "a/%s", l->v[l->n / 2].name);
	if (strstr(name, "/f"))
		unlink(bed_path(b, name));
	bed_settle(b);
}

/* Files that come and go between the pages disturb nobody: every file that was there all the time
 * comes exactly once. */
static void
changing(const char *parent)
{
	unsigned n = check_full() ? 3000 : 400, twice = 0;
	struct bed *b = make(&(struct bed_opts){.parent = parent}, n);
	struct tally t;

	made = 0;
	t = walk(b, 1024, false, 0, n, churn);
	/* each was listed before it was removed, so all of the first n were seen once */
	for (unsigned i = 0; i < n; i++)
		twice += t.seen[i] != 1;
	CU_ASSERT_EQUAL(twice, 0);
	free(t.seen);
	bed_free(b);
}

TEST(wire_list, changing_ext4)
{
	changing("/tmp");
}

TEST(wire_list, changing_tmpfs)
{
	changing("/dev/shm");
}

/* Removes every entry as it is returned, as rm -r does. */
static void
remove_all(struct bed *b, const struct bed_list *l)
{
	char name[300];

	for (size_t i = 0; i < l->n; i++) {
		snprintf(name, sizeof name, "a/%s", l->v[i].name);
		if (strstr(name, "/f"))
			unlink(bed_path(b, name));
	}
	bed_settle(b);
}

/* A directory emptied while it is listed is listed whole: continuing after an entry that is gone
 * works. */
TEST(wire_list, emptied)
{
	unsigned n = 300;
	struct bed *b = make(NULL, n);

	expect_once(walk(b, 600, false, 0, n, remove_all), n);
	bed_free(b);
	b = make(&(struct bed_opts){.parent = "/dev/shm"}, n);
	expect_once(walk(b, 600, false, 0, n, remove_all), n);
	bed_free(b);
}

/* Any verifier is accepted: ours means nothing, and a client that kept one from before must go on.
 */
TEST(wire_list, verifier)
{
	struct bed *b = make(NULL, 5);
	READDIR3args a = {b->root_a, 0, {1, 2, 3, 4, 5, 6, 7, 8}, 4096};

	bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_READDIR, (xdrproc_t)xdr_READDIR3args, &a);
	bed_run_all(b);
	CU_ASSERT_EQUAL(bed_status(b), NFS3_OK);
	bed_free(b);
}

/* Any 64-bit cookie is answered: entries, eof, or BAD_COOKIE, and the server goes on. */
TEST(wire_list, odd_cookies)
{
	static const char *const parents[] = {"/tmp", "/dev/shm"};
	static const uint64_t cookies[] = {
	    1,	       2,	   3,	      INT32_MAX, UINT32_MAX, 1ull << 32, INT64_MAX - 1,
	    INT64_MAX, 1ull << 63, UINT64_MAX};

	for (int p = 0; p < 2; p++) {
		struct bed *b = make(&(struct bed_opts){.parent = parents[p]}, 5);

		for (size_t i = 0; i < sizeof cookies / sizeof *cookies; i++) {
			struct bed_list l;

			bed_list(b, &b->root_a, cookies[i], 4096, false, 0, &l);
			CU_ASSERT(l.status == NFS3_OK || l.status == NFS3ERR_BAD_COOKIE);
			free(l.v);
		}
		bed_free(b);
	}
}

static const struct bed_entry *
find(const struct bed_list *l, const char *name)
{
	for (size_t i = 0; l->v && i < l->n; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return &l->v[i];
	return NULL;
}

/* As the wire says them: the structs have holes. */
static bool
same_attr(const fattr3 *x, const fattr3 *y)
{
	char buf[2][WIRE_FATTR3];
	fattr3 copy[2] = {*x, *y};
	XDR xdrs;

	for (int i = 0; i < 2; i++) {
		xdrmem_create(&xdrs, buf[i], WIRE_FATTR3, XDR_ENCODE);
		CU_ASSERT_TRUE(xdr_fattr3(&xdrs, &copy[i]));
		CU_ASSERT_EQUAL(xdr_getpos(&xdrs), WIRE_FATTR3);
	}
	return memcmp(buf[0], buf[1], WIRE_FATTR3) == 0;
}

static void
same_object(struct bed *b, const struct bed_entry *e, const nfs_fh3 *fh)
{
	fattr3 attr;

	CU_ASSERT_PTR_NOT_NULL(e);
	if (!e)
		return;
	CU_ASSERT_TRUE(e->has_attr);
	CU_ASSERT_TRUE(e->has_fh);
	CU_ASSERT_EQUAL(e->fh.len, fh->len);
	CU_ASSERT_EQUAL(memcmp(e->fh.data, fh->data, fh->len), 0);
	CU_ASSERT_EQUAL(bed_getattr(b, fh, &attr), NFS3_OK);
	CU_ASSERT_EQUAL(attr.fileid, e->fileid);
	CU_ASSERT_TRUE(same_attr(&attr, &e->attr));
}

static void
plus_agrees(const char *without)
{
	struct bed *b = make(&(struct bed_opts){.without = without}, 3);
	struct bed_list l, sub;
	nfs_fh3 dir, fh;

	bed_mkdir(b, "a/dir", 0755);
	bed_write(b, "a/dir/x", "x", 1);
	CU_ASSERT_EQUAL(symlink("t", bed_path(b, "a/link")), 0);
	bed_settle(b);
	bed_list(b, &b->root_a, 0, 65536, true, 65536, &l);
	for (size_t i = 0; i < l.n; i++) {
		CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, l.v[i].name, &fh), NFS3_OK);
		same_object(b, &l.v[i], &fh);
	}
	same_object(b, find(&l, ".."), &b->root_a);
	dir = bed_fh(b, &b->root_a, "dir");
	bed_list(b, &dir, 0, 65536, true, 65536, &sub);
	same_object(b, find(&sub, ".."), &b->root_a);
	same_object(b, find(&sub, "."), &dir);
	free(l.v);
	bed_list(b, &b->root_a, 0, 65536, false, 0, &l);
	CU_ASSERT_EQUAL(find(&l, "..")->fileid, find(&l, ".")->fileid);
	free(l.v);
	free(sub.v);
	bed_free(b);
}

/* READDIRPLUS says of each entry what LOOKUP and GETATTR say; ".." of the root is the root, by
 * number and by handle. */
TEST(wire_list, plus_agrees)
{
	plus_agrees(NULL);
	plus_agrees("all");
}

/* nordirplus: READDIRPLUS is NOTSUPP with the directory's attributes; READDIR works. */
TEST(wire_list, nordirplus)
{
	struct bed *b = make(&(struct bed_opts){.options_a = "ro,nordirplus"}, 3);
	struct bed_list l;

	bed_list(b, &b->root_a, 0, 65536, true, 65536, &l);
	CU_ASSERT_EQUAL(l.status, NFS3ERR_NOTSUPP);
	CU_ASSERT_TRUE(l.has_attr);
	free(l.v);
	bed_list(b, &b->root_a, 0, 65536, false, 65536, &l);
	CU_ASSERT_EQUAL(l.n, 5);
	free(l.v);
	bed_free(b);
}
