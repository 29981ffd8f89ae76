/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVED_H
#define SERVED_H
/* In a box: one directory exported, with everything that the verbs need, and short names for them.
 */
#include "box.h"
#include "store.h"
#include "vdir.h"

struct served {
	char dir[128];
	struct kernel kernel;
	struct handle_key key;
	struct store *store;
	struct resolve resolve;
	struct ident ident;
	struct export_table *table;
	struct export *ex;
	struct files *files;
	struct vfs vfs;
	struct vfs_batch batch;
	struct cred cred;
	struct obj *root;
};

/* Exports dir with rw,no_root_squash and these options more (NULL: none); max_objs as files_new.
 * The caller is root until cred is set. */
void serve(struct served *, const char *dir, const char *options, size_t max_objs);
void serve_end(struct served *);
/* The same with a state directory of the caller's, for those who serve a second time. */
void serve_from(struct served *, const char *state, const char *dir, const char *options,
		size_t max_objs);

/* serve() of a fresh file system of this type (box_mount). */
void serve_type(struct served *, const char *type);
/* A path beneath the served directory, or beneath what was mounted at dir to be served; good for
 * four calls. */
const char *at(const struct served *, const char *name);

/* The view of a loop (with the batch) and of a worker. */
struct vfs_ctx on_loop(struct served *);
struct vfs_ctx as_worker(struct served *);
/* A new wake-up: the batch forgets. */
void wake_up(struct served *);

/* By path beneath the root, as root, in a worker; referenced. Ends the box when it is not there. */
struct obj *object(struct served *, const char *path);
void put(struct served *, struct obj *);
/* The object of its handle again, through the cache. */
int again(struct served *, const struct obj *, bool may_sleep, struct obj **);

/* Waits until the clock has passed the object's times by more than their grain. */
void until_calm(struct served *, struct obj *);

#endif
