/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening one export, and one that is mounted in another, without being held up by it.
 *
 * The thread that makes tables must come back, whatever is mounted: so what may hang is opened by a
 * thread of its own, which lives as long as its system call, and is asked again later. What it uses
 * of the server it has copied, since the server may end before it does.
 */
#include "cross.h"
#include "plan.h"
#include "root.h"
#include "say.h"
#include "walk.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct opening {
	unsigned refs; /* atomic */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done, taken;
	struct opened result;
	/* what to open */
	struct kernel kernel;
	struct handle_key key;
	struct export_env env;
	struct export *from;
	struct export_opts opts;
	char *path, *where;
	uint64_t mount;
	int mnt_id;
	bool rw, crossed;
};

struct export *
export_open(const struct export_env *env, const char *path, const char *where,
	    const struct export_opts *opts, bool rw, uint64_t mount, int *code, char *err,
	    size_t errlen)
{
	struct export *ex = calloc(1, sizeof *ex);

	*code = say(err, errlen, ENOMEM, "%s: no memory", path);
	if (!ex)
		return NULL;
	ex->fs.root = ex->fs.handles = -1;
	ex->refs = 1;
	ex->opts = *opts;
	ex->rw = rw;
	ex->mount = mount;
	ex->path = strdup(path);
	ex->where = strdup(where);
	ex->walk = walk_new();
	if (ex->path && ex->where && ex->walk)
		*code = root_open(env, ex, opts, rw, err, errlen);
	if (*code == 0)
		return ex;
	export_put(ex);
	return NULL;
}

/* ---- a crossing ---- */

/* The directory of a mount point, from the root of the export that holds it. */
static int
open_dir(const struct export *from, const char *path, const char *name)
{
	const char *rest = path + (from->path[1] ? strlen(from->path) : 0);
	char *dir;
	int fd;

	rest += strspn(rest, "/");
	if (rest >= name)
		return openat(from->fs.root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	dir = strndup(rest, (size_t)(name - rest) - 1);
	fd = dir ? walk_beneath(from->fs.root, dir) : -1;
	free(dir);
	return fd;
}

static struct crossing *
crossing_new(const struct opening *o)
{
	struct crossing *c = calloc(1, sizeof *c);
	struct stat st;

	if (!c)
		return NULL;
	*c = (struct crossing){.refs = 1, .mount = o->mount, .dir = -1};
	c->path = strdup(o->path);
	c->from = export_ref(o->from);
	if (c->path) {
		c->name = strrchr(c->path, '/') + 1;
		c->namelen = strlen(c->name);
		c->dir = open_dir(o->from, c->path, c->name);
	}
	if (c->dir >= 0 && fstat(c->dir, &st) == 0) {
		c->dev = st.st_dev;
		c->ino = st.st_ino;
		return c;
	}
	crossing_put(c);
	return NULL;
}

static void
open_it(struct opening *o)
{
	struct opened *r = &o->result;

	r->c = crossing_new(o);
	if (!r->c)
		r->code = say(r->err, sizeof r->err, errno ? errno : ENOENT,
			      "the directory above it cannot be found in export %s", o->from->path);
	else if (o->crossed)
		r->ex = export_open(&o->env, o->path, o->where, &o->opts, o->rw, o->mount, &r->code,
				    r->err, sizeof r->err);
	if (r->ex && r->ex->fs.mnt_id != (uint64_t)o->mnt_id) {
		export_put(r->ex);
		r->ex = NULL;
		r->code = say(r->err, sizeof r->err, EAGAIN, "it has changed meanwhile");
	}
	if (r->code) {
		crossing_put(r->c);
		r->c = NULL;
	}
}

/* ---- the thread ---- */

static void
finish(struct opening *o)
{
	pthread_mutex_lock(&o->lock);
	o->done = true;
	pthread_cond_broadcast(&o->cond);
	pthread_mutex_unlock(&o->lock);
}

static void *
work(void *arg)
{
	struct opening *o = arg;

	open_it(o);
	finish(o);
	opening_put(o);
	return NULL;
}

static bool
start_thread(struct opening *o)
{
	sigset_t all, before;
	pthread_attr_t a;
	pthread_t t;
	int error;

	sigfillset(&all);
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
	__atomic_store_n(&o->refs, 2, __ATOMIC_RELAXED);
	error = pthread_create(&t, &a, work, o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&a);
	if (error)
		__atomic_store_n(&o->refs, 1, __ATOMIC_RELAXED);
	return error == 0;
}

static void
init(struct opening *o)
{
	pthread_condattr_t a;

	o->refs = 1;
	pthread_mutex_init(&o->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&o->cond, &a);
	pthread_condattr_destroy(&a);
}

struct opening *
opening_start(const struct export_env *env, const struct plan_export *x, struct export *from,
	      bool local)
{
	struct opening *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	init(o);
	o->kernel = *env->kernel;
	o->key = *env->key;
	o->env = (struct export_env){.kernel = &o->kernel,
				     .key = &o->key,
				     .store = env->store, /* that there is one; it is not used */
				     .unprivileged = env->unprivileged};
	o->from = export_ref(from);
	o->opts = x->opts;
	o->path = strdup(x->path);
	o->where = strdup(x->where);
	o->mount = x->mount;
	o->mnt_id = x->mnt_id;
	o->rw = x->rw;
	o->crossed = x->crossed;
	if (!o->path || !o->where) {
		opening_put(o);
		return NULL;
	}
	if (local) {
		open_it(o);
		finish(o);
	} else if (!start_thread(o)) {
		opening_put(o);
		return NULL;
	}
	return o;
}

bool
opening_wait(struct opening *op, int ms, struct opened *o)
{
	struct timespec until;
	bool done;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&op->lock);
	while (!op->done && pthread_cond_timedwait(&op->cond, &op->lock, &until) == 0)
		;
	done = op->done;
	if (done && !op->taken) {
		*o = op->result;
		op->taken = true;
	} else if (done) {
		*o = (struct opened){.code = EAGAIN};
	}
	pthread_mutex_unlock(&op->lock);
	return done;
}

struct opening *
opening_ref(struct opening *o)
{
	__atomic_fetch_add(&o->refs, 1, __ATOMIC_RELAXED);
	return o;
}

void
opening_put(struct opening *o)
{
	if (!o || __atomic_sub_fetch(&o->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (!o->taken) {
		export_put(o->result.ex);
		crossing_put(o->result.c);
	}
	export_put(o->from);
	pthread_cond_destroy(&o->cond);
	pthread_mutex_destroy(&o->lock);
	free(o->path);
	free(o->where);
	free(o);
}
