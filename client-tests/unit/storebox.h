/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STOREBOX_H
#define STOREBOX_H
/* What the tests of the store share: a state directory, rows, issuing. */
#include "check.h"
#include "lib/scratch.h"
#include "stat.h"
#include "store.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FS 0x1234

struct dir {
	char path[64];
};

static inline struct dir
make_dir(void)
{
	struct dir d;

	scratch_make(d.path, "store");
	return d;
}

static inline void
drop_dir(const struct dir *d)
{
	scratch_drop(d->path);
}

static inline struct store *
reopen(const struct dir *d)
{
	char err[512] = "";
	struct store *s = store_open(d->path, err, sizeof err);

	if (!s)
		printf("%s\n", err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	return s;
}

static inline struct store_row
row(uint64_t ino, uint64_t parent, const char *name)
{
	struct store_row r;

	memset(&r, 0, sizeof r);
	r.id.fs_id = FS;
	r.id.type = S_IFREG;
	r.id.ino = ino;
	r.parent = parent;
	r.namelen = (uint16_t)strlen(name);
	memcpy(r.name, name, r.namelen);
	return r;
}

static inline uint64_t
issue(struct store *s, struct store_row r)
{
	CU_ASSERT_EQUAL(store_issue(s, &r, 1), 0);
	return r.serial;
}

/* A counter of this process; what a test did is the difference. */
static inline uint64_t
counter(enum stat_id id)
{
	struct stat_block b;

	stat_sum(&b);
	return b.count[id];
}

#endif
