/* SPDX-License-Identifier: BSD-2-Clause */
#include "modbox.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

static struct vfs_ctx
begin(const char *type)
{
	mod_begin(type);
	return mod_as(0);
}

static int
attrs(struct obj *o, struct stat *st)
{
	struct vfs_ctx w = as_worker(&mod);

	return vfs_getattr(&w, o, st);
}

/* ---- refusals ---- */

static void
refusals(const char *type)
{
	struct vfs_ctx r = begin(type);
	char longer[257];
	struct obj *d, *f;

	memset(longer, 'n', 256);
	longer[256] = '\0';
	WANT_EQ(mod_mkdir(&r, mod.root, "d", 0755, &d), 0);
	WANT_EQ(mod_create(&r, mod.root, "f", 0644, &f), 0);
	WANT_EQ(mod_create(&r, d, "in", 0644, NULL), 0);
	for (const char *const *n = (const char *const[]){".", "..", NULL}; *n; n++) {
		WANT_EQ(mod_create(&r, d, *n, 0644, NULL), EEXIST);
		WANT_EQ(mod_mkdir(&r, d, *n, 0755, NULL), EEXIST);
		WANT_EQ(mod_symlink(&r, d, *n, "x"), EEXIST);
		WANT_EQ(mod_link(&r, f, d, *n), EEXIST);
		WANT_EQ(mod_remove(&r, d, *n), EISDIR);
		WANT_EQ(mod_rename(&r, d, *n, d, "x"), EINVAL);
		WANT_EQ(mod_rename(&r, d, "in", d, *n), EINVAL);
	}
	WANT_EQ(mod_rmdir(&r, d, "."), EINVAL);
	WANT_EQ(mod_rmdir(&r, d, ".."), ENOTEMPTY);
	WANT_EQ(mod_create(&r, d, "", 0644, NULL), EINVAL);
	WANT_EQ(mod_create(&r, d, "a/b", 0644, NULL), EINVAL);
	WANT_EQ(mod_create(&r, d, longer, 0644, NULL), ENAMETOOLONG);
	WANT_EQ(mod_exclusive(&r, d, longer, "12345678", NULL), ENAMETOOLONG);
	WANT_EQ(mod_remove(&r, d, longer), ENAMETOOLONG);
	WANT_EQ(mod_rename(&r, d, "in", d, longer), ENAMETOOLONG);
	WANT_EQ(mod_remove(&r, mod.root, "d"), EISDIR);
	WANT_EQ(mod_rmdir(&r, mod.root, "f"), ENOTDIR);
	WANT_EQ(mod_rmdir(&r, mod.root, "d"), ENOTEMPTY);
	WANT_EQ(mod_remove(&r, mod.root, "none"), ENOENT);
	WANT_EQ(mod_rename(&r, mod.root, "none", mod.root, "x"), ENOENT);
	WANT_EQ(mod_rename(&r, mod.root, "f", mod.root, "d"), EISDIR);
	WANT_EQ(mod_rename(&r, mod.root, "d", mod.root, "f"), ENOTDIR);
	WANT_EQ(mod_rename(&r, mod.root, "d", d, "self"), EINVAL);
	WANT_EQ(mod_link(&r, d, mod.root, "hard"), EINVAL);
	WANT_EQ(mod_link(&r, f, mod.root, "d"), EEXIST);
	WANT_EQ(mod_create(&r, f, "x", 0644, NULL), ENOTDIR);
	WANT_EQ(mod_symlink(&r, d, "l", ""), EINVAL);
	WANT(mod_there("d/in") && mod_there("f") && !mod_there("hard"));
	put(&mod, f);
	/* a directory that is gone */
	WANT_EQ(mod_remove(&r, d, "in"), 0);
	MUST(rmdir(mod_at("d")) == 0);
	if (strcmp(type, "overlay") != 0) { /* link counts of overlayfs directories say nothing */
		WANT_EQ(mod_create(&r, d, "late", 0644, NULL), ESTALE);
		WANT_EQ(mod_exclusive(&r, d, "late", "12345678", NULL), ESTALE);
		WANT_EQ(mod_mkdir(&r, d, "late", 0755, NULL), ESTALE);
	}
	put(&mod, d);
	mod_end();
}
/* What cannot be is refused with its own error, and nothing is done. */
MOD_TYPES(vmod_names, refusals, refusals)

static void
text_lengths(void)
{
	struct vfs_ctx r = begin("tmpfs");
	const struct vmod_attrs a = {0};
	char *text = malloc(5000);
	struct vmod_made made;
	struct vmod_wcc w;

	MUST(text);
	memset(text, 't', 5000);
	WANT_EQ(vmod_symlink(&r, mod.root, "l", 1, text, 4095, &a, &made, &w), 0);
	put(&mod, made.obj);
	WANT_EQ(mod_stat("l").st_size, 4095);
	WANT_EQ(vmod_symlink(&r, mod.root, "m", 1, text, 4096, &a, &made, &w), ENAMETOOLONG);
	WANT(w.have_after && !made.obj);
	WANT_EQ(vmod_symlink(&r, mod.root, "m", 1, "a\0b", 3, &a, &made, &w), EINVAL);
	WANT(!mod_there("m"));
	free(text);
	mod_end();
}
/* A link's text may have any length that the system takes, and no NUL. */
TEST(vmod_names, link_text)
{
	BOXED(text_lengths);
}

static void
mount_points(void)
{
	struct vfs_ctx r = begin("tmpfs");

	MUST(mkdir(mod_at("m"), 0755) == 0 && mkdir(mod_at("o"), 0755) == 0);
	MUST(mount("none", mod_at("m"), "tmpfs", 0, NULL) == 0);
	WANT_EQ(mod_rmdir(&r, mod.root, "m"), EACCES);
	WANT_EQ(mod_rename(&r, mod.root, "m", mod.root, "x"), EACCES);
	WANT_EQ(mod_rename(&r, mod.root, "o", mod.root, "m"), EACCES);
	WANT_EQ(mod_create(&r, mod.root, "m", 0644, NULL), EEXIST);
	WANT_EQ(mod_exclusive(&r, mod.root, "m", "12345678", NULL), EEXIST);
	MUST(umount(mod_at("m")) == 0);
	mod_end();
}
/* A mount point in the way is no reason to come back later. */
TEST(vmod_names, mount_points)
{
	BOXED(mount_points);
}

/* ---- handles follow ---- */

static bool
is_cached(const struct obj *o)
{
	struct obj *found = obj_cached(mod.files, mod.ex, &o->id);

	if (found)
		put(&mod, found);
	return found != NULL;
}

/* Brings it into the cache. */
static bool
again_cached(const struct obj *o)
{
	struct obj *found;
	int error = again(&mod, o, true, &found);

	if (!error)
		put(&mod, found);
	return !error && is_cached(o);
}

static void
follow(const char *type)
{
	struct vfs_ctx r = begin(type);
	struct obj *a, *b, *d, *e, *f;
	struct stat st;

	WANT_EQ(mod_mkdir(&r, mod.root, "d", 0755, &d), 0);
	WANT_EQ(mod_mkdir(&r, mod.root, "e", 0755, &e), 0);
	WANT_EQ(mod_create(&r, d, "a", 0644, &a), 0);
	WANT_EQ(mod_create(&r, d, "b", 0644, &b), 0);
	WANT_EQ(mod_write(&r, a, 0, "A", VMOD_FILE_SYNC), 0);
	WANT_EQ(mod_write(&r, b, 0, "B", VMOD_FILE_SYNC), 0);
	/* renamed, there and back, across directories: the same handle */
	WANT_EQ(mod_rename(&r, d, "a", d, "a2"), 0);
	WANT_EQ(mod_resolves(a), 0);
	WANT_EQ(mod_rename(&r, d, "a2", d, "a"), 0);
	WANT_EQ(mod_resolves(a), 0);
	WANT_EQ(mod_rename(&r, d, "a", e, "a3"), 0);
	WANT_EQ(mod_resolves(a), 0);
	f = object(&mod, "e/a3");
	WANT(f->fh.len == a->fh.len && memcmp(f->fh.data, a->fh.data, a->fh.len) == 0);
	put(&mod, f);
	/* below a directory that moves, into another */
	WANT_EQ(mod_rename(&r, mod.root, "d", e, "dd"), 0);
	WANT_EQ(mod_resolves(b), 0);
	WANT_EQ(mod_resolves(d), 0);
	/* a second name, and the first taken away */
	WANT_EQ(mod_link(&r, b, e, "b2"), 0);
	WANT_EQ(mod_remove(&r, d, "b"), 0);
	WANT_EQ(mod_resolves(b), 0);
	WANT_EQ(attrs(b, &st), 0);
	WANT_EQ(st.st_nlink, 1);
	/* two names of one file: nothing happens */
	WANT_EQ(mod_link(&r, b, e, "b3"), 0);
	WANT_EQ(mod_rename(&r, e, "b2", e, "b3"), 0);
	WANT(mod_there("e/b2") && mod_there("e/b3"));
	WANT_EQ(mod_remove(&r, e, "b3"), 0);
	WANT_EQ(mod_resolves(b), 0);
	/* replaced: the old one is STALE, the new one keeps its handle */
	WANT(again_cached(a) && again_cached(b));
	WANT_EQ(mod_rename(&r, e, "a3", e, "b2"), 0);
	WANT(!is_cached(b)); /* let go at once */
	WANT(mod_resolves(a) == 0 && mod_holds("e/b2", "A"));
	WANT_EQ(mod_resolves(b), ESTALE);
	WANT_EQ(attrs(b, &st), strcmp(type, "overlay") == 0 ? 0 : ESTALE);
	/* removed, and its inode perhaps used again */
	WANT(again_cached(a));
	WANT_EQ(mod_remove(&r, e, "b2"), 0);
	WANT(!is_cached(a));
	WANT_EQ(mod_create(&r, e, "b2", 0644, &f), 0);
	WANT_EQ(mod_resolves(a), ESTALE);
	WANT_EQ(mod_resolves(f), 0);
	put(&mod, f);
	WANT_EQ(mod_mkdir(&r, e, "sub", 0755, &f), 0);
	WANT_EQ(mod_rmdir(&r, e, "sub"), 0);
	WANT_EQ(mod_resolves(f), ESTALE);
	put(&mod, f);
	put(&mod, a);
	put(&mod, b);
	put(&mod, d);
	put(&mod, e);
	mod_end();
}
/* Through renames, links and removals a handle leads to its object or is STALE, and never to
 * another. */
MOD_TYPES(vmod_names, follow, follow)

static void
follow_serials(const char *type)
{
	setenv("SPLICED_WITHOUT", "khandle", 1);
	follow(type);
}
/* The same where handles are serials of the store. */
MOD_TYPES(vmod_names, follow_serials, follow_serials)

static void
one_walk(void)
{
	setenv("SPLICED_WITHOUT", "khandle", 1);
	struct vfs_ctx r = begin("ext4");
	struct store_row row;
	struct obj *o;
	uint64_t serial = 0;

	WANT_EQ(mod_create(&r, mod.root, "one", 0644, &o), 0);
	for (int i = 0; i < 8; i++)
		serial = serial << 8 | o->id.ident[i];
	WANT_EQ(mod_rename(&r, mod.root, "one", mod.root, "two"), 0);
	WANT_EQ(mod_rename(&r, mod.root, "two", mod.root, "one"), 0);
	WANT_EQ(mod_rename(&r, mod.root, "one", mod.root, "two"), 0);
	WANT_EQ(store_find(mod.store, mod.ex->ns, serial, &row), 0);
	WANT(strcmp(row.name, "two") == 0); /* the latest, though it was known before */
	WANT_EQ(mod_remove(&r, mod.root, "two"), 0);
	WANT_EQ(store_find(mod.store, mod.ex->ns, serial, &row), ENOENT);
	put(&mod, o);
	mod_end();
}
/* The store's row says where the object is now, when the verb returns, and goes with its last
 * name. */
TEST(vmod_names, rows)
{
	BOXED(one_walk);
}

static void
space(void)
{
	struct vfs_ctx r = begin("ext4");
	struct statfs full, now;
	struct obj *o;

	box_file(mod_at("big"), 8 << 20, 0644);
	o = object(&mod, "big");
	int fd;
	WANT_EQ(obj_reader(mod.files, o, true, &fd), 0);
	put(&mod, o);
	sync();
	MUST(statfs(mod.dir, &full) == 0);
	WANT_EQ(mod_remove(&r, mod.root, "big"), 0);
	do { /* the cache's thread closes it, no timer needed; a test that hangs has failed */
		sync();
		MUST(statfs(mod.dir, &now) == 0);
	} while (now.f_bfree < full.f_bfree + (7 << 20) / (uint64_t)full.f_bsize);
	mod_end();
}
/* What the cache holds open of a removed file is let go at once. */
TEST(vmod_names, space)
{
	BOXED(space);
}

static void
too_many_links(void)
{
	struct vfs_ctx r = begin("ext4");
	struct obj *d;
	char name[16];
	int error = 0;

	r.async = true;
	WANT_EQ(mod_create(&r, mod.root, "f", 0644, &d), 0);
	for (int i = 0; !error && i < 66000; i++) {
		snprintf(name, sizeof name, "l%d", i);
		if (i < 64990)
			MUST(link(mod_at("f"), mod_at(name)) == 0);
		else
			error = mod_link(&r, d, mod.root, name);
	}
	WANT_EQ(error, EMLINK);
	put(&mod, d);
	mod_end();
}
/* A file with all the links there can be says so. */
TEST(vmod_names, too_many_links)
{
	BOXED(too_many_links);
}
