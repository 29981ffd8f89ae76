/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MOUNTBOX_H
#define MOUNTBOX_H
/*
 * Tests that need file systems of their own: a child process with private mounts and a scratch
 * directory, both gone with it. Inside the child CUnit cannot be used: OK() takes its place.
 */
#include "export.h"
#include "resolve.h"
#include "store.h"
#include <stdbool.h>

/* Runs fn in a child; asserts that it failed nothing. Says so and does nothing when this is not
 * root. */
void mountbox_run(void (*fn)(const char *dir));

/* In the child: a fact that must hold. */
#define OK(fact) mountbox_ok((fact), #fact, __FILE__, __LINE__)
void mountbox_ok(bool fact, const char *text, const char *file, int line);
/* A shell command, printf style, that must succeed. */
void mountbox_sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Makes DIR/NAME.img with a file system of that type (ext4, xfs, btrfs) and mounts it on DIR/NAME;
 * "tmpfs" needs no image. */
void mountbox_mkfs(const char *dir, const char *type, const char *name);

/* A server's part that matters here: key, store, table. */
struct side {
	struct kernel kernel;
	struct handle_key key;
	struct export_env env;
	struct resolve r;
	struct export_table *t;
	char state[128], err[2048];
};
enum side_mode { KERNEL_CLONED, KERNEL_PLAIN, SERIALS, N_SIDE_MODES };
void side_open(struct side *, const char *dir, enum side_mode);
/* Exports these paths (NULL ends the list); NULL in s->t with s->err when that is refused. */
struct export_table *side_export(struct side *, const char *options, ...);
/* As after a restart: store closed and opened, the same exports made anew. */
void side_restart(struct side *);
void side_close(struct side *);

/* The handle of a path beneath an export's root, found component by component as a client would. */
struct handle side_walk(struct side *, const struct export *, const char *path);
/* Does it open, as this inode of this path (seen from outside)? */
bool side_opens(struct side *, const struct export *, const struct handle *, const char *path);
bool side_stale(struct side *, const struct export *, const struct handle *);

#endif
