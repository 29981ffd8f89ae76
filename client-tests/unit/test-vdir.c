/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "served.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static struct served s;

/* ---- a reader of pages ---- */

enum { MOST = 6000 };
struct page {
	size_t room, n; /* entries that fit */
	uint64_t last;
	struct vdir_entry e[64]; /* the first of them */
	char name[64][256];
	int seen[MOST]; /* of names n0, n1, ... */
	int others, dots;
	bool attrs;
	void (*on_entry)(const struct vdir_entry *);
};

static int
take(void *arg, const struct vdir_entry *e)
{
	struct page *p = arg;

	if (p->n == p->room)
		return 1;
	WANT_EQ(e->namelen, strlen(e->name));
	if (p->n < 64) {
		p->e[p->n] = *e;
		memcpy(p->name[p->n], e->name, e->namelen + 1);
	}
	p->n++;
	p->last = e->cookie;
	if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
		p->dots++;
	else if (e->name[0] == 'n' && atoi(e->name + 1) < MOST)
		p->seen[atoi(e->name + 1)]++;
	else
		p->others++;
	if (p->attrs) {
		WANT(e->have_st);
		WANT_EQ(e->fileid, e->st.st_ino);
		WANT(e->id.ilen > 0);
	}
	if (p->on_entry)
		p->on_entry(e);
	return 0;
}

static int
page(struct page *p, struct obj *d, uint64_t cookie, size_t room, bool *eof)
{
	struct vfs_ctx w = as_worker(&s);

	p->n = 0;
	p->room = room;
	return vdir_list(&w, d, cookie, p->attrs, room, take, p, eof);
}

/* Everything, in pages. */
static void
whole(struct page *p, struct obj *d, size_t room)
{
	bool eof = false;
	uint64_t cookie = 0;

	for (int i = 0; !eof; i++) {
		MUST(page(p, d, cookie, room, &eof) == 0);
		MUST(p->n > 0 || eof);
		MUST(i < 100000);
		cookie = p->last;
	}
}

static void
make_names(int n)
{
	char name[32];

	for (int i = 0; i < n; i++) {
		sprintf(name, "n%d", i);
		MUST(mknod(at(&s, name), S_IFREG | 0644, 0) == 0);
	}
}

static int
count_bad(const struct page *p, int n, int each)
{
	int bad = 0;

	for (int i = 0; i < n; i++)
		bad += p->seen[i] != each;
	return bad;
}

static void
once_on(const char *type)
{
	static const size_t rooms[] = {1, 2, 7, 100, 1000, 100000};
	static struct page p;

	serve_type(&s, type);
	make_names(1000);
	for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++)
		for (int attrs = 0; attrs < 2; attrs++) {
			if (attrs && rooms[i] < 7)
				continue;
			memset(&p, 0, sizeof p);
			p.attrs = attrs;
			whole(&p, s.root, rooms[i]);
			WANT_EQ(count_bad(&p, 1000, 1), 0);
			WANT_EQ(p.dots, 2);
			WANT(p.others <= 1); /* lost+found */
		}
	serve_end(&s);
}

static void
once_tmpfs(void)
{
	once_on("tmpfs");
}

static void
once_ext4(void)
{
	once_on("ext4");
}

static void
once_xfs(void)
{
	once_on("xfs");
}

static void
once_btrfs(void)
{
	once_on("btrfs");
}

static void
once_overlay(void)
{
	once_on("overlay");
}

/* In pages of any size every name comes exactly once, with and without attributes, on every kind of
 * file system. */
TEST(vdir, once_tmpfs)
{
	BOXED(once_tmpfs);
}
TEST(vdir, once_ext4)
{
	BOXED(once_ext4);
}
TEST(vdir, once_xfs)
{
	BOXED(once_xfs);
}
TEST(vdir, once_btrfs)
{
	BOXED(once_btrfs);
}
TEST(vdir, once_overlay)
{
	BOXED(once_overlay);
}

static void
remove_it(const struct vdir_entry *e)
{
	if (e->name[0] == 'n')
		MUST(unlink(at(&s, e->name)) == 0);
}

static void
deleting_on(const char *type)
{
	static struct page p;
	uint64_t cookie = 0;
	bool eof = false;
	int turn = 0;
	char name[32];

	serve_type(&s, type);
	make_names(3000);
	memset(&p, 0, sizeof p);
	while (!eof) {
		MUST(page(&p, s.root, cookie, 97, &eof) == 0);
		cookie = p.last;
		/* each page is deleted after it was read, while others come and go */
		for (size_t i = 0; i < p.n && i < 64; i++)
			if (p.name[i][0] == 'n')
				MUST(unlink(at(&s, p.name[i])) == 0);
		sprintf(name, "x%d", turn++);
		box_file(at(&s, name), 0, 0644);
		if (turn > 1) {
			sprintf(name, "x%d", turn - 2);
			MUST(unlink(at(&s, name)) == 0);
		}
	}
	WANT_EQ(count_bad(&p, 3000, 1), 0);
	/* and each entry in the middle of its page */
	memset(&p, 0, sizeof p);
	p.on_entry = remove_it;
	whole(&p, s.root, 50);
	p.on_entry = NULL;
	memset(&p, 0, sizeof p);
	whole(&p, s.root, 50);
	WANT_EQ(count_bad(&p, 3000, 0), 0);
	serve_end(&s);
}

static void
deleting_tmpfs(void)
{
	deleting_on("tmpfs");
}

static void
deleting_ext4(void)
{
	deleting_on("ext4");
}

static void
deleting_xfs(void)
{
	deleting_on("xfs");
}

static void
deleting_btrfs(void)
{
	deleting_on("btrfs");
}

static void
deleting_overlay(void)
{
	deleting_on("overlay");
}

/* Reading 3,000 names and deleting each page of them loses none, and leaves none. */
TEST(vdir, deleting_tmpfs)
{
	BOXED(deleting_tmpfs);
}
TEST(vdir, deleting_ext4)
{
	BOXED(deleting_ext4);
}
TEST(vdir, deleting_xfs)
{
	BOXED(deleting_xfs);
}
TEST(vdir, deleting_btrfs)
{
	BOXED(deleting_btrfs);
}
TEST(vdir, deleting_overlay)
{
	BOXED(deleting_overlay);
}

static void
remove_many(const struct vdir_entry *e)
{
	char name[32];

	if (e->name[0] != 'n')
		return;
	for (int i = 0; i < 500; i++) {
		sprintf(name, "n%d", i);
		if (strcmp(name, e->name) != 0)
			unlink(at(&s, name));
	}
}

static void
vanishing_on(const char *type)
{
	static struct page p;
	bool eof;

	serve_type(&s, type);
	make_names(500);
	memset(&p, 0, sizeof p);
	p.attrs = true; /* every entry is wanted with attributes */
	p.on_entry = remove_many;
	MUST(page(&p, s.root, 0, 1000, &eof) == 0);
	WANT(eof);
	WANT(p.n < 100);
	serve_end(&s);
}

static void
vanishing_ext4(void)
{
	vanishing_on("ext4");
}

static void
vanishing_overlay(void)
{
	vanishing_on("overlay");
}

/* A name that was removed between being read and being examined is left out. */
TEST(vdir, vanishing)
{
	BOXED(vanishing_ext4);
}
TEST(vdir, vanishing_snapshot)
{
	BOXED(vanishing_overlay);
}

static void
empty_on(const char *type)
{
	static struct page p;
	bool eof;

	serve_type(&s, type);
	MUST(mkdir(at(&s, "d"), 0755) == 0);
	struct obj *d = object(&s, "d");
	MUST(page(&p, d, 0, 10, &eof) == 0);
	WANT(eof && p.n == 2);
	MUST(page(&p, d, p.last, 10, &eof) == 0);
	WANT(eof && p.n == 0);
	put(&s, d);
	serve_end(&s);
}

static void
empty_ext4(void)
{
	empty_on("ext4");
}

static void
empty_overlay(void)
{
	empty_on("overlay");
}

/* An empty directory has its two dots, and nothing after them. */
TEST(vdir, empty)
{
	BOXED(empty_ext4);
}
TEST(vdir, empty_snapshot)
{
	BOXED(empty_overlay);
}

static void
fresh_on(const char *type)
{
	static struct page p;
	bool eof;

	serve_type(&s, type);
	make_names(10);
	memset(&p, 0, sizeof p);
	whole(&p, s.root, 100);
	MUST(unlink(at(&s, "n3")) == 0);
	box_file(at(&s, "n10"), 0, 0644);
	memset(&p, 0, sizeof p);
	MUST(page(&p, s.root, 0, 100, &eof) == 0);
	WANT(eof);
	WANT_EQ(p.seen[3], 0);
	WANT_EQ(p.seen[10], 1);
	serve_end(&s);
}

static void
fresh_ext4(void)
{
	fresh_on("ext4");
}

static void
fresh_overlay(void)
{
	fresh_on("overlay");
}

/* A listing that starts sees the directory as it is, at once. */
TEST(vdir, fresh)
{
	BOXED(fresh_ext4);
}
TEST(vdir, fresh_snapshot)
{
	BOXED(fresh_overlay);
}

static int
find(const struct page *p, const char *name)
{
	for (size_t i = 0; i < p->n && i < 64; i++)
		if (strcmp(p->name[i], name) == 0)
			return (int)i;
	box_die(__FILE__, __LINE__, name);
}

static void
same_object(const struct vdir_entry *e, const struct obj *o)
{
	WANT(e->have_st);
	WANT_EQ(e->fileid, o->ino);
	WANT_EQ(e->id.ilen, o->id.ilen);
	WANT(memcmp(e->id.ident, o->id.ident, o->id.ilen) == 0);
}

static void
dots_on(const char *type)
{
	static struct page p;
	bool eof;

	serve_type(&s, type);
	MUST(mkdir(at(&s, "d"), 0755) == 0 && mkdir(at(&s, "d/sub"), 0755) == 0);
	struct obj *d = object(&s, "d"), *sub = object(&s, "d/sub");
	for (int attrs = 0; attrs < 2; attrs++) {
		memset(&p, 0, sizeof p);
		p.attrs = attrs;
		MUST(page(&p, s.root, 0, 60, &eof) == 0);
		WANT_EQ(p.e[find(&p, ".")].fileid, s.root->ino);
		WANT_EQ(p.e[find(&p, "..")].fileid, s.root->ino);
		if (attrs) {
			same_object(&p.e[find(&p, ".")], s.root);
			same_object(&p.e[find(&p, "..")], s.root);
			same_object(&p.e[find(&p, "d")], d);
		}
		MUST(page(&p, sub, 0, 60, &eof) == 0);
		WANT_EQ(p.e[find(&p, ".")].fileid, sub->ino);
		WANT_EQ(p.e[find(&p, "..")].fileid, d->ino);
		if (attrs)
			same_object(&p.e[find(&p, "..")], d);
		MUST(page(&p, d, 0, 60, &eof) == 0);
		WANT_EQ(p.e[find(&p, "..")].fileid, s.root->ino);
		if (attrs)
			same_object(&p.e[find(&p, "..")], s.root);
	}
	put(&s, d);
	put(&s, sub);
	serve_end(&s);
}

static void
dots_ext4(void)
{
	dots_on("ext4");
}

static void
dots_overlay(void)
{
	dots_on("overlay");
}

/* "." is the directory, ".." its parent, and at the export's root the root again. */
TEST(vdir, dots)
{
	BOXED(dots_ext4);
}
TEST(vdir, dots_snapshot)
{
	BOXED(dots_overlay);
}

static void
permission(void)
{
	static struct page p;
	bool eof;

	serve_type(&s, "tmpfs");
	MUST(mkdir(at(&s, "d"), 0700) == 0);
	box_file(at(&s, "d/n1"), 1, 0644);
	struct obj *d = object(&s, "d"), *f = object(&s, "d/n1");
	struct vfs_ctx loop = on_loop(&s);
	WANT_EQ(vdir_list(&loop, d, 0, false, 1, take, &p, &eof), ESLEEP);
	WANT_EQ(page(&p, f, 0, 10, &eof), ENOTDIR);
	s.cred = box_cred(1000, 1000, 0, NULL);
	WANT_EQ(page(&p, d, 0, 10, &eof), EACCES);
	MUST(chmod(at(&s, "d"), 0711) == 0);
	WANT_EQ(page(&p, d, 0, 10, &eof), EACCES);
	MUST(chmod(at(&s, "d"), 0744) == 0);
	WANT_EQ(page(&p, d, 0, 10, &eof), 0);
	WANT_EQ(p.n, 3);
	struct vfs_ctx w = as_worker(&s);
	p.n = 0;
	WANT_EQ(vdir_list(&w, d, 0, true, 10, take, &p, &eof), 0);
	WANT_EQ(p.n, 3);
	WANT(!p.e[find(&p, "n1")].have_st && p.e[find(&p, "n1")].id.ilen == 0);
	WANT_EQ(p.e[find(&p, "n1")].fileid, f->ino);
	put(&s, d);
	put(&s, f);
	serve_end(&s);
}

/* Listing needs read permission; attributes and handles of the entries need search permission too.
 */
TEST(vdir, permission)
{
	BOXED(permission);
}

static void
cookies(void)
{
	static struct page p;
	bool eof;

	serve_type(&s, "ext4");
	make_names(10);
	WANT_EQ(page(&p, s.root, UINT64_MAX, 10, &eof), EINVAL);
	WANT_EQ(page(&p, s.root, 1ull << 63, 10, &eof), EINVAL);
	WANT_EQ(page(&p, s.root, INT64_MAX, 10, &eof), 0);
	WANT(eof && p.n == 0);
	serve_end(&s);
}

/* A cookie that no offset can be is refused; one past the end ends the listing. */
TEST(vdir, cookies)
{
	BOXED(cookies);
}

static void
mount_point(void)
{
	static struct page p;
	bool eof;
	struct stat outer, inner;

	setenv("SPLICED_WITHOUT", "mount_clone", 1);
	box_mount("tmpfs", "e", s.dir);
	MUST(mkdir(at(&s, "m"), 0755) == 0 && stat(at(&s, "m"), &outer) == 0);
	MUST(mount("none", at(&s, "m"), "tmpfs", 0, NULL) == 0 && stat(at(&s, "m"), &inner) == 0);
	serve(&s, s.dir, NULL, 0);
	struct vfs_ctx w = as_worker(&s);
	p.room = 10;
	MUST(vdir_list(&w, s.root, 0, true, 10, take, &p, &eof) == 0);
	WANT(!p.e[find(&p, "m")].have_st);
	WANT_EQ(p.e[find(&p, "m")].fileid, outer.st_ino);
	serve_end(&s);
}

/* What is mounted inside an export is not looked into. */
TEST(vdir, mount_point)
{
	BOXED(mount_point);
}

static void
large(void)
{
	static struct page p;
	const int n = check_full() ? 1000000 : 30000;
	uint64_t cookie = 0, total = 0;
	bool eof = false;

	serve_type(&s, "tmpfs");
	MUST(mkdir(at(&s, "d"), 0755) == 0);
	for (int i = 0; i < n; i++) {
		char name[32];

		sprintf(name, "d/y%d", i);
		MUST(mknod(at(&s, name), S_IFREG | 0644, 0) == 0);
	}
	struct obj *d = object(&s, "d");
	while (!eof) {
		MUST(page(&p, d, cookie, 1000, &eof) == 0);
		cookie = p.last;
		total += p.n;
	}
	WANT_EQ(total, n + 2);
	put(&s, d);
	serve_end(&s);
}

/* A large directory is listed whole. */
TEST(vdir, large)
{
	BOXED(large);
}
