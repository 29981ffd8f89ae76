/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a thread of its own: making a table opens directories, which may sleep, and clones mounts,
 * which needs CAP_SYS_ADMIN; this thread keeps it while all the others lose it for good.
 */
#include "call.h"
#include "log.h"
#include "reload_int.h"
#include "rootdir.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 5000 /* between looks for a path that was not there */
#define RETIRE_MS 20 /* between looks whether a former table is free */

/* ---- the thread ---- */

static void
finish(struct reload *r, struct job *j)
{
	pthread_mutex_lock(&r->lock);
	if (j->waited) {
		j->done = true;
		pthread_cond_broadcast(&r->done);
	}
	pthread_mutex_unlock(&r->lock);
}

/* A request that nobody waits for: the outcome goes to the log. */
static void
run_logged(struct reload *r, struct job *j)
{
	char *text = NULL, *save = NULL;
	size_t size = 0;

	j->out = open_memstream(&text, &size);
	if (j->out) {
		int rc = reload_run(r, j);

		fclose(j->out);
		for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
			if (rc)
				log_error("reload: %s", l);
			else
				log_info("reload: %s", l);
	}
	free(text);
	free(j);
}

static void
run_jobs(struct reload *r)
{
	for (;;) {
		struct job *j;

		pthread_mutex_lock(&r->lock);
		j = r->stop ? NULL : r->head;
		if (j && !(r->head = j->next))
			r->tail = &r->head;
		pthread_mutex_unlock(&r->lock);
		if (!j)
			return;
		if (!j->waited) {
			run_logged(r, j);
			continue;
		}
		j->rc = reload_run(r, j);
		finish(r, j);
	}
}

static bool
has_come(const struct export_table *t, const struct absent *a)
{
	char *where = rootdir_where(t->rootdir, a->path);
	struct stat st;
	bool yes = where && stat(where, &st) == 0;

	free(where);
	return yes;
}

/* Is something served, or not served, because of what is mounted? *missing: is a path not there? */
static bool
depends_on_mounts(struct reload *r, bool *missing, bool *came)
{
	struct export_table *t = engine_table(r->engine);
	bool yes = t && t->nabsent > 0;

	*missing = *came = false;
	for (size_t i = 0; t && i < t->nabsent; i++)
		if (t->absent[i].missing) {
			*missing = true;
			*came |= has_come(t, &t->absent[i]);
		}
	if (t && t->npending > 0) /* what does not answer now may answer then */
		*missing = *came = true;
	for (size_t i = 0; t && !yes && i < t->n; i++)
		for (size_t j = 0; !yes && j < t->rules[i]->n; j++) {
			const struct export_opts *o = &t->rules[i]->v[j].opts;

			yes = o->mountpoint || o->crossmnt || o->nohide;
		}
	export_table_put(t);
	return yes;
}

/* Waits for a job, a mount, or the time to look. True: look whether paths have come. */
static bool
wait_for_work(struct reload *r, bool missing)
{
	struct pollfd p[] = {{.fd = r->wake, .events = POLLIN},
			     {.fd = r->mounts, .events = POLLPRI}};
	int ms = r->nretired ? RETIRE_MS : missing ? LOOK_MS : -1;
	uint64_t count;

	if (poll(p, 2, ms) > 0 && p[0].revents & POLLIN && read(r->wake, &count, sizeof count) < 0)
		log_debug("reload: %m");
	return p[1].revents & (POLLPRI | POLLERR);
}

static void *
work(void *arg)
{
	struct reload *r = arg;
	bool stop = false, ready = false, missing = false, came = false, mounted;

	while (!stop) {
		mounted = wait_for_work(r, missing);
		pthread_mutex_lock(&r->lock);
		stop = r->stop;
		ready = r->ready;
		pthread_mutex_unlock(&r->lock);
		if (stop || !ready)
			continue;
		run_jobs(r);
		reload_sweep(r, false);
		if (!depends_on_mounts(r, &missing, &came))
			continue;
		if (mounted || came)
			reload_look(r);
	}
	return NULL;
}

/* ---- start and end ---- */

static int
start(struct reload *r)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
	error = pthread_create(&r->thread, NULL, work, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	r->running = error == 0;
	return error;
}

struct reload *
reload_new(const struct conf *conf, const struct export_env *env, struct engine *e)
{
	struct reload *r = calloc(1, sizeof *r);
	struct export_table *t;

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->done, NULL);
	r->tail = &r->head;
	r->conf = conf;
	r->env = *env;
	r->engine = e;
	r->wake = eventfd(0, EFD_CLOEXEC);
	r->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	t = reload_first(r);
	if (t)
		engine_swap_table(e, t);
	if (t && r->wake >= 0 && start(r) == 0)
		return r;
	if (t)
		log_error("cannot start the thread of the exports: %s", strerror(errno));
	reload_free(r);
	return NULL;
}

static void
wake_up(struct reload *r)
{
	if (eventfd_write(r->wake, 1) != 0)
		log_debug("reload: %m");
}

void
reload_ready(struct reload *r, struct resolver *who, struct files *f)
{
	struct export_table *t = engine_table(r->engine);

	pthread_mutex_lock(&r->lock);
	r->who = t->who = who;
	r->files = f;
	r->ready = true;
	pthread_mutex_unlock(&r->lock);
	reload_ask_names(t);
	export_table_put(t);
	wake_up(r);
}

void
reload_free(struct reload *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_mutex_unlock(&r->lock);
	if (r->running) {
		wake_up(r);
		pthread_join(r->thread, NULL);
	}
	while (r->head) { /* requests that nobody waits for: those who wait have gone before */
		struct job *j = r->head;

		r->head = j->next;
		free(j);
	}
	reload_sweep(r, true);
	entries_free(&r->now);
	if (r->wake >= 0)
		close(r->wake);
	if (r->mounts >= 0)
		close(r->mounts);
	pthread_cond_destroy(&r->done);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* ---- requests ---- */

static void
submit(struct reload *r, struct job *j)
{
	j->next = NULL;
	*r->tail = j;
	r->tail = &j->next;
	wake_up(r);
}

void
reload_request(struct reload *r)
{
	struct job *j = calloc(1, sizeof *j);

	if (!j)
		return;
	j->what = ALL;
	pthread_mutex_lock(&r->lock);
	submit(r, j);
	pthread_mutex_unlock(&r->lock);
}

static int
request(struct reload *r, struct job *j)
{
	pthread_mutex_lock(&r->lock);
	j->waited = true;
	submit(r, j);
	while (!j->done)
		pthread_cond_wait(&r->done, &r->lock);
	pthread_mutex_unlock(&r->lock);
	return j->rc;
}

int
reload_all(struct reload *r, FILE *out)
{
	struct job j = {.what = ALL, .out = out};

	return request(r, &j);
}

int
reload_add(struct reload *r, const char *what, const char *options, FILE *out)
{
	struct job j = {.what = ADD, .name = what, .options = options, .out = out};

	return request(r, &j);
}

int
reload_remove(struct reload *r, const char *what, FILE *out)
{
	struct job j = {.what = REMOVE, .name = what, .out = out};

	return request(r, &j);
}
