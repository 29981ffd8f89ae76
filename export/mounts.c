/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel lists mounts in no useful order, with those that are covered by others among them. A
 * path walk meets a mount if nothing is mounted on its root, and nothing is mounted in its parent
 * on the same directory or on one above, and so on up.
 */
#include "mounts.h"
#include <libmount.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static const char *
text(const char *s)
{
	return s ? s : "";
}

static uint64_t
key_of(struct libmnt_fs *fs)
{
	static const unsigned char key[crypto_shorthash_siphash24_KEYBYTES] = "which mount";
	char buf[PATH_MAX + 512];
	uint64_t v;
	const char *o = text(mnt_fs_get_vfs_options(fs));
	int n = snprintf(buf, sizeof buf, "%d %llu %d %s %s", mnt_fs_get_id(fs),
			 (unsigned long long)mnt_fs_get_devno(fs),
			 strncmp(o, "ro", 2) == 0 && (!o[2] || o[2] == ','),
			 text(mnt_fs_get_fstype(fs)), text(mnt_fs_get_root(fs)));
	size_t len = n < (int)sizeof buf ? (size_t)n : sizeof buf - 1;

	crypto_shorthash_siphash24((unsigned char *)&v, (unsigned char *)buf, len, key);
	return v ? v : 1;
}

static int
by_path(const void *a, const void *b)
{
	const struct mount *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	return c ? c : x->id < y->id ? -1 : x->id > y->id;
}

static bool
add(struct mounts *ms, struct libmnt_fs *fs)
{
	struct mount *m = &ms->v[ms->n];

	*m = (struct mount){.id = mnt_fs_get_id(fs),
			    .parent = mnt_fs_get_parent_id(fs),
			    .path = strdup(text(mnt_fs_get_target(fs))),
			    .type = strdup(text(mnt_fs_get_fstype(fs))),
			    .key = key_of(fs)};
	ms->n++;
	return m->path && m->type;
}

static void
free_mount(struct mount *m)
{
	free(m->path);
	free(m->type);
}

/* Only what is beneath the root, its mount among it, by paths from there; their order stays. */
static void
narrow(struct mounts *ms, const char *rootdir)
{
	const struct mount *base = mounts_of(ms, rootdir);
	int base_id = base ? base->id : -1;
	size_t kept = 0, len = strlen(rootdir);

	for (size_t i = 0; i < ms->n; i++) {
		struct mount m = ms->v[i];
		bool below = strncmp(m.path, rootdir, len) == 0 && m.path[len] == '/';

		if (below)
			memmove(m.path, m.path + len, strlen(m.path + len) + 1);
		else if (m.id == base_id)
			strcpy(m.path, "/");
		if (below || m.id == base_id)
			ms->v[kept++] = m;
		else
			free_mount(&m);
	}
	ms->n = kept;
}

bool
mounts_read(struct mounts *ms, const char *rootdir)
{
	struct libmnt_table *tb = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_iter *it = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs = NULL;
	bool good = tb && it;

	*ms = (struct mounts){0};
	if (good)
		ms->v = calloc((size_t)mnt_table_get_nents(tb) + 1, sizeof *ms->v);
	good = good && ms->v;
	while (good && mnt_table_next_fs(tb, it, &fs) == 0)
		good = add(ms, fs);
	mnt_free_iter(it);
	mnt_unref_table(tb);
	if (!good) {
		mounts_free(ms);
		return false;
	}
	qsort(ms->v, ms->n, sizeof *ms->v, by_path);
	if (rootdir)
		narrow(ms, rootdir);
	return true;
}

void
mounts_free(struct mounts *ms)
{
	for (size_t i = 0; ms->v && i < ms->n; i++)
		free_mount(&ms->v[i]);
	free(ms->v);
	*ms = (struct mounts){0};
}

/* The first mount at the path of these many bytes; *end: behind the last. NULL: none. */
static const struct mount *
at_path(const struct mounts *ms, const char *path, size_t len, const struct mount **end)
{
	size_t lo = 0, hi = ms->n;
	const struct mount *first;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strncmp(ms->v[mid].path, path, len);

		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* from here on paths begin with it; those that are it come first */
	first = &ms->v[lo];
	for (; lo < ms->n && strncmp(ms->v[lo].path, path, len) == 0 && !ms->v[lo].path[len]; lo++)
		;
	*end = &ms->v[lo];
	return first < *end ? first : NULL;
}

size_t
mounts_shorter(const char *path, size_t len)
{
	if (len <= 1)
		return 0;
	while (len > 1 && path[len - 1] != '/')
		len--;
	return len > 1 ? len - 1 : 1;
}

static const struct mount *
parent_of(const struct mounts *ms, const struct mount *m)
{
	for (size_t len = strlen(m->path); len; len = mounts_shorter(m->path, len)) {
		const struct mount *end, *p = at_path(ms, m->path, len, &end);

		for (; p && p < end; p++)
			if (p->id == m->parent && p != m)
				return p;
	}
	return NULL;
}

/* Is something else mounted in the same parent, on this path or above? */
static bool
is_covered(const struct mounts *ms, const struct mount *m, const struct mount *parent)
{
	size_t stop = parent ? strlen(parent->path) : 1;

	for (size_t len = strlen(m->path); len >= stop && len; len = mounts_shorter(m->path, len)) {
		const struct mount *end, *p = at_path(ms, m->path, len, &end);

		for (; p && p < end; p++)
			if (p != m && p->parent == m->parent && p->id != m->parent)
				return true;
	}
	return false;
}

bool
mounts_shown(const struct mounts *ms, const struct mount *m)
{
	const struct mount *end, *p = at_path(ms, m->path, strlen(m->path), &end);
	size_t steps = 0;

	for (; p && p < end; p++)
		if (p->parent == m->id && p != m)
			return false;
	while (m && steps++ <= ms->n) {
		const struct mount *up = parent_of(ms, m);

		if (is_covered(ms, m, up))
			return false;
		m = up;
	}
	return true;
}

const struct mount *
mounts_beneath(const struct mounts *ms, const struct mount *m)
{
	const struct mount *up = parent_of(ms, m);

	for (size_t steps = 0; up && strcmp(up->path, m->path) == 0 && steps < ms->n; steps++)
		up = parent_of(ms, up);
	return up;
}

const struct mount *
mounts_of(const struct mounts *ms, const char *path)
{
	for (size_t len = strlen(path); len; len = mounts_shorter(path, len)) {
		const struct mount *end, *p = at_path(ms, path, len, &end);

		for (; p && p < end; p++)
			if (mounts_shown(ms, p))
				return p;
	}
	return NULL;
}

static bool
is_one_of(const char *type, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(type, list[i]) == 0)
			return true;
	return false;
}

bool
mounts_is_files(const struct mount *m)
{
	static const char *const not [] = {
	    "autofs",  "binfmt_misc", "bpf",	    "cgroup",	  "cgroup2",	"configfs",
	    "debugfs", "devpts",      "devtmpfs",   "efivarfs",	  "fuse.lxcfs", "fuse.portal",
	    "fusectl", "hugetlbfs",   "mqueue",	    "nfsd",	  "nsfs",	"proc",
	    "pstore",  "resctrl",     "rpc_pipefs", "securityfs", "selinuxfs",	"sysfs",
	    "tracefs", "xenfs",
	};

	return !is_one_of(m->type, not, sizeof not / sizeof *not );
}

bool
mounts_is_local(const struct mount *m)
{
	static const char *const local[] = {"btrfs", "ext2",  "ext3", "ext4",
					    "f2fs",  "tmpfs", "xfs"};

	return is_one_of(m->type, local, sizeof local / sizeof *local);
}
