/* SPDX-License-Identifier: BSD-2-Clause */
/* Serials: groups, sweeping, deep trees, descriptions, and what may not sleep. */
#include "check.h"
#include "mountbox.h"
#include "stat.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root_path[256];

/* A tmpfs exported with serials. */
static struct export *
serve(struct side *s, const char *dir)
{
	mountbox_mkfs(dir, "tmpfs", "disk");
	snprintf(root_path, sizeof root_path, "%s/disk", dir);
	side_open(s, dir, SERIALS);
	OK(side_export(s, NULL, root_path, NULL) != NULL);
	OK(!s->t->v[0]->fs.khandle);
	return s->t->v[0];
}

static void
group(const char *dir)
{
	enum { N = 300 };
	static int fds[N];
	static struct stat st[N];
	static char text[N][16];
	static const char *names[N];
	static struct handle out[N];
	struct stat_block before, after;
	struct handle root;
	struct side s;
	struct export *ex = serve(&s, dir);

	OK(handle_parse(&s.key, &ex->root, &root) == 0);
	for (int i = 0; i < N; i++) {
		snprintf(text[i], sizeof text[i], "f%d", i);
		names[i] = text[i];
		mountbox_sh("%s", "true");
		fds[i] = openat(ex->fs.root, text[i], O_CREAT | O_RDWR, 0644);
		OK(fds[i] >= 0 && fstat(fds[i], &st[i]) == 0);
	}
	close(fds[7]);
	fds[7] = -1;
	snprintf(text[8], sizeof text[8], ".");
	close(fds[8]);
	fds[8] = openat(ex->fs.root, ".", O_PATH);
	OK(fstat(fds[8], &st[8]) == 0);
	stat_sum(&before);
	OK(resolve_names(&s.r, ex, &root, ex->fs.root_ino, N, fds, st, names, out) == 0);
	stat_sum(&after);
	OK(after.count[ST_STORE_COMMITS] - before.count[ST_STORE_COMMITS] == 1);
	for (int i = 0; i < N; i++) {
		if (i == 7)
			OK(out[i].ilen == 0);
		else if (i == 8)
			OK(memcmp(&out[i], &root, sizeof root) == 0);
		else
			OK(side_opens(&s, ex, &out[i], text[i]));
	}
	side_close(&s);
}

/* A page of READDIRPLUS costs one commit, and what could not be opened has no handle. */
TEST(serials, group_of_names)
{
	mountbox_run(group);
}

static void
may_not_sleep(const char *dir)
{
	struct side s;
	struct export *ex = serve(&s, dir);
	struct handle root, h;
	struct stat st;
	int fd;

	OK(handle_parse(&s.key, &ex->root, &root) == 0);
	fd = openat(ex->fs.root, "f", O_CREAT | O_RDWR, 0644);
	OK(fstat(fd, &st) == 0);
	OK(resolve_name(&s.r, ex, fd, &st, &root, 0, "f", 1, false, &h) == EAGAIN);
	OK(resolve_name(&s.r, ex, fd, &st, &root, 0, "f", 1, true, &h) == 0);
	OK(resolve_name(&s.r, ex, fd, &st, &root, 0, "a/b", 3, true, &h) == EINVAL);
	OK(fstat(ex->fs.root, &st) == 0);
	OK(resolve_name(&s.r, ex, ex->fs.root, &st, NULL, 0, NULL, 0, false, &h) == 0);
	OK(memcmp(&h, &root, sizeof h) == 0);
	close(fd);
	side_close(&s);
}

/* A loop never waits for the store; the root needs no store at all. */
TEST(serials, may_not_sleep)
{
	mountbox_run(may_not_sleep);
}

static void
deep(const char *dir)
{
	enum { DEPTH = 300 };
	struct side s;
	struct export *ex = serve(&s, dir);
	static char path[DEPTH * 202 + 1];
	char name[202];
	struct handle h, up;
	struct stat st;
	int fd = openat(ex->fs.root, ".", O_PATH), next;

	memset(name, 'd', 200);
	name[200] = '\0';
	OK(handle_parse(&s.key, &ex->root, &h) == 0);
	for (int i = 0; i < DEPTH; i++) { /* 60,000 bytes of path: no single openat2 takes it */
		OK(mkdirat(fd, name, 0755) == 0);
		next = openat(fd, name, O_PATH);
		OK(fstat(next, &st) == 0);
		up = h;
		OK(resolve_name(&s.r, ex, next, &st, &up, 0, name, 200, true, &h) == 0);
		close(fd);
		fd = next;
	}
	next = -1;
	OK(resolve_open(&s.r, ex, &h, &next) == 0);
	struct stat got = {0};

	OK(next >= 0 && fstat(next, &got) == 0 && got.st_ino == st.st_ino);
	close(next);
	close(fd);
	(void)path;
	side_close(&s);
}

/* A handle works at any depth, beyond the longest path of a system call. */
TEST(serials, deep_tree)
{
	mountbox_run(deep);
}

static void
sweep(const char *dir)
{
	struct side s;
	struct export *ex = serve(&s, dir);
	struct handle kept, moved, gone, d;
	struct store_info info;

	mountbox_sh("cd %s; mkdir d e; touch d/kept d/moved d/gone", root_path);
	d = side_walk(&s, ex, "d");
	kept = side_walk(&s, ex, "d/kept");
	moved = side_walk(&s, ex, "d/moved");
	gone = side_walk(&s, ex, "d/gone");
	store_info(s.env.store, &info);
	OK(info.rows == 4);
	OK(resolve_sweep(&s.r, s.t, 100) == 0);
	mountbox_sh("cd %s; rm d/gone; mv d/moved e/elsewhere", root_path);
	OK(resolve_sweep(&s.r, s.t, 100) == 1);
	OK(side_opens(&s, ex, &d, "d") && side_opens(&s, ex, &kept, "d/kept"));
	OK(side_opens(&s, ex, &moved, "e/elsewhere") && side_stale(&s, ex, &gone));
	store_info(s.env.store, &info);
	OK(info.rows == 4); /* e came, gone went */
	side_close(&s);
}

/* Sweeping removes what is gone and nothing else, however far it was moved. */
TEST(serials, sweep)
{
	mountbox_run(sweep);
}

static void
cheap_stale(const char *dir)
{
	struct side s;
	struct export *ex = serve(&s, dir);
	struct handle gone;
	struct stat_block before, after;

	mountbox_sh("cd %s; mkdir d; touch d/gone", root_path);
	gone = side_walk(&s, ex, "d/gone");
	mountbox_sh("rm %s/d/gone", root_path);
	OK(side_stale(&s, ex, &gone));
	stat_sum(&before);
	for (int i = 0; i < 100; i++)
		OK(side_stale(&s, ex, &gone));
	stat_sum(&after);
	/* the path of two rows, and no search */
	OK(after.count[ST_STORE_HIT] - before.count[ST_STORE_HIT] == 200);
	/* it comes back, by a rename from outside of the memory */
	side_close(&s);
}

/* A client that insists on a dead handle does not cost a search each time. */
TEST(serials, dead_handle_is_cheap)
{
	mountbox_run(cheap_stale);
}

static void
two_views(const char *dir)
{
	struct side s;
	char sub[300];
	struct handle f, g;

	mountbox_mkfs(dir, "tmpfs", "disk");
	snprintf(root_path, sizeof root_path, "%s/disk", dir);
	snprintf(sub, sizeof sub, "%s/a/b", root_path);
	mountbox_sh("mkdir -p %s/c; touch %s/c/f", sub, sub);
	side_open(&s, dir, SERIALS);
	OK(side_export(&s, NULL, root_path, sub, NULL) != NULL);
	f = side_walk(&s, s.t->v[0], "a/b/c/f");
	g = side_walk(&s, s.t->v[1], "c/f");
	OK(side_opens(&s, s.t->v[0], &f, "a/b/c/f") && side_opens(&s, s.t->v[1], &g, "c/f"));
	OK(f.export_id != g.export_id);
	mountbox_sh("mv %s/c %s/c", sub, root_path); /* out of one, still in the other */
	OK(side_opens(&s, s.t->v[0], &f, "c/f") && side_stale(&s, s.t->v[1], &g));
	side_close(&s);
}

/* Nested exports: what leaves the inner one is stale there and alive in the outer one. */
TEST(serials, nested_exports)
{
	mountbox_run(two_views);
}

static void
new_key(const char *dir)
{
	struct side s;
	struct export *ex = serve(&s, dir);
	struct handle h, back;
	nfs_fh3 fh;
	char text[128];
	const char *other = "spliced-key-1 00112233445566778899aabbccddeeff";

	mountbox_sh("mkdir %s/d; touch %s/d/f", root_path, root_path);
	h = side_walk(&s, ex, "d/f");
	handle_seal(&s.key, &h, &fh);
	OK(handle_key_export(s.state, text, sizeof text, s.err, sizeof s.err) == 0);
	OK(handle_key_import(s.state, other, s.err, sizeof s.err) == 0);
	OK(handle_key_load(&s.key, s.state, s.err, sizeof s.err) == 0);
	side_restart(&s);
	OK(handle_parse(&s.key, &fh, &back) == 0);
	ex = export_by_id(s.t, back.export_id);
	OK(ex == s.t->v[0]);
	OK(ex && side_opens(&s, ex, &back, "d/f"));
	h = side_walk(&s, s.t->v[0], "d/f");
	OK(h.export_id != back.export_id && side_opens(&s, s.t->v[0], &h, "d/f"));
	side_close(&s);
}

/* After a new key, handles of the old one still find export, file system and object. */
TEST(serials, key_change)
{
	mountbox_run(new_key);
}

static void
describe(const char *dir)
{
	struct side s;
	struct export *ex = serve(&s, dir);
	struct handle h;
	nfs_fh3 fh;
	char text[1024];

	mountbox_sh("mkdir %s/d; touch \"%s/d/$(printf 'a\\nb')\"", root_path, root_path);
	h = side_walk(&s, ex, "d/a\nb");
	handle_seal(&s.key, &h, &fh);
	OK(resolve_describe(&s.r, s.t, &fh, text, sizeof text) == 0);
	OK(strstr(text, root_path) && strstr(text, "serial") && strstr(text, "file") &&
	   strstr(text, "a\\012b"));
	OK(resolve_describe(&s.r, s.t, &ex->root, text, sizeof text) == 0 && strstr(text, "root"));
	fh.data[9] ^= 1;
	OK(resolve_describe(&s.r, s.t, &fh, text, sizeof text) == EBADF &&
	   strstr(text, "not a handle"));
	side_close(&s);
	side_open(&s, dir, KERNEL_CLONED);
	OK(side_export(&s, NULL, root_path, NULL) != NULL);
	h = side_walk(&s, s.t->v[0], "d");
	store_flush(s.env.store);
	handle_seal(&s.key, &h, &fh);
	OK(resolve_describe(&s.r, s.t, &fh, text, sizeof text) == 0);
	OK(strstr(text, "kernel handle") && strstr(text, "directory") && strstr(text, "\"d\""));
	side_close(&s);
}

/* A handle can be explained to a person: export, object, where it was seen; foreign names cannot
 * garble the text. */
TEST(serials, describe)
{
	mountbox_run(describe);
}
