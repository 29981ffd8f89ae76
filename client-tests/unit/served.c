/* SPDX-License-Identifier: BSD-2-Clause */
#include "served.h"
#include "log.h"
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void
served_check(int error, const char *err)
{
	if (error)
		box_die(__FILE__, __LINE__, err);
}

void
serve(struct served *s, const char *dir, const char *options, size_t max_objs)
{
	char state[128];

	snprintf(state, sizeof state, "%s/state.XXXXXX", BOX);
	MUST(mkdtemp(state));
	serve_from(s, state, dir, options, max_objs);
}

void
serve_from(struct served *s, const char *state, const char *dir, const char *options,
	   size_t max_objs)
{
	char err[1024] = "", all[256];

	memset(&s->kernel, 0, sizeof *s - offsetof(struct served, kernel));
	if (dir != s->dir)
		snprintf(s->dir, sizeof s->dir, "%s", dir);
	snprintf(all, sizeof all, "rw,no_root_squash%s%s", options ? "," : "",
		 options ? options : "");
	kernel_probe(&s->kernel, dir); /* RWF_NOWAIT depends on the file system */
	log_set_level(LOG_LVL_ERROR);
	served_check(ident_init(&s->ident, state, err, sizeof err), err);
	served_check(handle_key_load(&s->key, state, err, sizeof err), err);
	s->store = store_open(state, err, sizeof err);
	served_check(!s->store, err);
	struct export_env env = {&s->kernel, &s->key, s->store, !s->ident.can_switch};
	struct export_spec spec = {dir, all, NULL};
	s->table = export_table_make(&env, &spec, 1, err, sizeof err);
	served_check(!s->table, err);
	s->ex = s->table->v[0];
	s->resolve = (struct resolve){&s->key, s->store};
	s->files = files_new(&s->resolve, &s->ident, max_objs);
	MUST(s->files);
	s->vfs = (struct vfs){
	    .files = s->files, .ident = &s->ident, .kernel = &s->kernel, .resolve = &s->resolve};
	s->cred = box_cred(s->ident.self_uid, s->ident.self_gid, 0, NULL);
	vfs_batch_begin(&s->batch);
	struct handle h;
	MUST(handle_parse(&s->key, &s->ex->root, &h) == 0);
	MUST(obj_get(s->files, s->ex, &s->ex->root, &h, true, &s->root) == 0);
}

void
serve_type(struct served *s, const char *type)
{
	box_mount(type, "e", s->dir);
	serve(s, s->dir, NULL, 0);
}

const char *
at(const struct served *s, const char *name)
{
	static char path[4][600];
	static int turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof path[0], "%s/%s", s->dir, name);
	return p;
}

void
serve_end(struct served *s)
{
	vfs_batch_end(&s->batch, s->files);
	put(s, s->root);
	files_free(s->files);
	export_table_put(s->table);
	store_close(s->store);
	vdir_free_cache();
}

struct vfs_ctx
on_loop(struct served *s)
{
	return (struct vfs_ctx){.vfs = &s->vfs, .cred = &s->cred, .batch = &s->batch};
}

struct vfs_ctx
as_worker(struct served *s)
{
	return (struct vfs_ctx){.vfs = &s->vfs, .cred = &s->cred, .may_sleep = true};
}

void
wake_up(struct served *s)
{
	vfs_batch_end(&s->batch, s->files);
	vfs_batch_begin(&s->batch);
}

struct obj *
object(struct served *s, const char *path)
{
	struct cred self = box_cred(s->ident.self_uid, s->ident.self_gid, 0, NULL);
	struct vfs_ctx ctx = {.vfs = &s->vfs, .cred = &self, .may_sleep = true};
	struct obj *o = obj_ref(s->root), *next;
	struct stat st;

	while (*path) {
		size_t n = strcspn(path, "/");
		int error = vfs_lookup(&ctx, o, path, n, &next, &st);

		if (error) {
			errno = error;
			box_die(__FILE__, __LINE__, path);
		}
		put(s, o);
		o = next;
		path += n + (path[n] == '/');
	}
	return o;
}

void
put(struct served *s, struct obj *o)
{
	obj_put(s->files, o);
}

int
again(struct served *s, const struct obj *o, bool may_sleep, struct obj **out)
{
	return obj_get(s->files, s->ex, &o->fh, &o->id, may_sleep, out);
}

void
until_calm(struct served *s, struct obj *o)
{
	struct timespec now;
	struct stat st;
	int64_t ns;

	(void)s;
	do {
		sched_yield();
		MUST(fstat(o->fd, &st) == 0);
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		ns = (now.tv_sec - st.st_ctim.tv_sec) * 1000000000 + now.tv_nsec -
		     st.st_ctim.tv_nsec;
	} while (ns < 30000000);
}
