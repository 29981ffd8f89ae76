/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a thread of its own: making a table opens directories, which may sleep, and clones mounts,
 * which needs CAP_SYS_ADMIN; this thread keeps it while all the others lose it for good.
 *
 * A change: entries (what is written) -> plan (paths made canonical) -> table (exports opened,
 * those that are the same taken over) -> difference -> swap. Up to the swap nothing has happened.
 * After it the next call sees the new table; calls under way hold a reference to the former one,
 * which the thread keeps until it is the last to hold it: tearing down thousands of exports is no
 * work for a loop. Then objects of exports that are gone leave the cache a second time, in case
 * such a call has brought one back.
 *
 * What was written is remembered, so that a table can be made from it again when the file systems
 * have changed: a path that was not there comes, a mount point gets its mount.
 */
#include "reload.h"
#include "call.h"
#include "diff.h"
#include "file.h"
#include "log.h"
#include "resolver.h"
#include "store.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETIRED_MAX 64
#define LOOK_MS 5000 /* between looks for a path that was not there */
#define RETIRE_MS 20 /* between looks whether a former table is free */
#define RUN_TIME "splicectl export"

enum what { ALL, ADD, REMOVE };

struct job {
	struct job *next;
	enum what what;
	const char *name, *options;
	FILE *out;
	int rc;
	bool waited; /* somebody waits, and owns it; else it is freed when done */
	bool done;
};

struct reload {
	pthread_mutex_t lock; /* jobs, stop, ready */
	pthread_cond_t done;
	struct job *head, **tail;
	bool stop, ready;
	pthread_t thread;
	bool running;
	int wake; /* eventfd */
	const struct conf *conf;
	struct export_env env;
	struct engine *engine;
	/* the thread's own from reload_ready() on */
	struct resolver *who;
	struct files *files;
	struct entries now; /* what is served, as written */
	struct export_table *retired[RETIRED_MAX];
	unsigned nretired;
	int mounts; /* /proc/self/mountinfo, readable with priority when it changes; or -1 */
};

bool
reload_read(const struct conf *c, struct entries *e, struct diag *d)
{
	bool good = true;

	for (size_t i = 0; i < c->ndirs; i++) {
		struct export_spec s = {c->dirs[i], c->options, c->clients};

		good &= entries_add(e, &s, NULL, (unsigned)i + 1, d);
	}
	if (c->file)
		good = entries_read(e, c->file, d) && good;
	else if (c->ndirs == 0)
		good = entries_read_all(e, ETC_EXPORTS, ETC_EXPORTS_D, d) && good;
	if (good && e->n == 0) {
		diag_add(d, DIAG_ERROR, c->file, (struct spot){0, 0},
			 c->file
			     ? "exports nothing; a server that serves nothing is stopped, not "
			       "given an empty file"
			     : "nothing to export: no directory is named, and neither " ETC_EXPORTS
			       " nor " ETC_EXPORTS_D "/*.exports exports any");
		good = false;
	}
	return good;
}

/* ---- former tables ---- */

static void
drop_objects(void *arg, const struct export *ex)
{
	struct reload *r = arg;

	if (r->files)
		files_drop(r->files, ex);
}

/* Frees those that nobody holds any more; with all, waits for them. */
static void
sweep(struct reload *r, bool all)
{
	struct export_table *now = engine_table(r->engine);
	unsigned kept = 0;

	for (unsigned i = 0; i < r->nretired; i++) {
		struct export_table *t = r->retired[i];

		while (all && __atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) > 1)
			poll(NULL, 0, 1);
		if (__atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) > 1) {
			r->retired[kept++] = t;
			continue;
		}
		if (now)
			table_gone(t, now, drop_objects, r);
		export_table_put(t);
	}
	r->nretired = kept;
	export_table_put(now);
}

static void
retire(struct reload *r, struct export_table *t)
{
	if (r->nretired == RETIRED_MAX)
		sweep(r, true);
	r->retired[r->nretired++] = t;
}

/* ---- one change ---- */

/* Names are asked for now, so that they are known when a client comes. */
static void
ask_names(const struct export_table *t)
{
	static const struct in6_addr none;

	for (size_t i = 0; t->who && i < t->n; i++)
		for (size_t j = 0; j < t->rules[i]->n; j++)
			if (t->rules[i]->v[j].named)
				resolver_host(t->who, t->rules[i]->v[j].text, &none);
}

struct users {
	const char *path;
	FILE *out;
	size_t n;
};

static int
add_user(void *arg, const char *host, const char *path)
{
	struct users *u = arg;
	size_t len = strlen(u->path);

	if (strncmp(path, u->path, len) == 0 && (path[len] == '/' || !path[len]))
		fprintf(u->out, "%s%s", u->n++ ? ", " : ", mounted by ", host);
	return 0;
}

static void
print_users(void *arg, const char *path, FILE *out)
{
	const struct reload *r = arg;
	struct users u = {path, out, 0};

	if (r->env.store)
		store_mounts(r->env.store, add_user, &u);
}

static void
swap_in(struct reload *r, struct export_table *t)
{
	struct export_table *old;

	t->who = r->who;
	ask_names(t);
	export_table_ref(t); /* t is looked at below, and could be swapped out meanwhile */
	old = engine_exchange_table(r->engine, t);
	if (old) {
		table_gone(old, t, drop_objects, r);
		retire(r, old);
	}
	export_table_put(t);
}

/* Makes a table of these entries and serves it; what changes is printed. always: also when nothing
 * does, for the places of the rules. Takes the entries over. */
static int
serve(struct reload *r, struct entries *e, bool always, struct diag *d, FILE *out,
      struct diff_count *n)
{
	struct export_table *old = engine_table(r->engine), *t = NULL;
	struct plan p = {0};

	if (plan_make(&p, e, r->env.unprivileged, d))
		t = table_make(&r->env, &p, old, d);
	plan_free(&p);
	if (t) {
		diff_print(old, t, out, print_users, r, n);
		always |= n->changed + n->added + n->removed > 0;
	}
	if (t && always) {
		entries_free(&r->now);
		r->now = *e;
		*e = (struct entries){0};
		swap_in(r, t);
	} else {
		export_table_put(t);
	}
	export_table_put(old);
	entries_free(e);
	return t ? 0 : EINVAL;
}

/* ---- the commands ---- */

/* CLIENT:PATH into its parts; the client may have colons. PATH alone: *client is NULL. */
static int
split_name(const char *name, char **client, const char **path)
{
	struct export_client c;
	char err[8];

	*client = NULL;
	*path = name;
	if (*name == '/')
		return 0;
	for (const char *p = strstr(name, ":/"); p; p = strstr(p + 1, ":/")) {
		free(*client);
		*client = p == name ? strdup("*") : strndup(name, (size_t)(p - name));
		*path = p + 1;
		if (!*client)
			return ENOMEM;
		if (export_parse_client(*client, &c, err, sizeof err) == 0) {
			free(c.text);
			return 0;
		}
	}
	free(*client);
	*client = NULL;
	return EINVAL;
}

static int
change(struct reload *r, struct job *j, struct entries *e, struct diag *d)
{
	const char *path;
	struct stat st;
	char *client;
	size_t gone;
	bool good;

	if (split_name(j->name, &client, &path) != 0 || (j->what == ADD && !client)) {
		fprintf(j->out, "%s: not CLIENT:/PATH%s\n", j->name,
			j->what == REMOVE ? ", and not /PATH" : "");
		free(client);
		return EINVAL;
	}
	/* somebody waits for an answer: that a path may come later is not what he wants to hear */
	if (j->what == ADD && stat(path, &st) != 0) {
		fprintf(j->out, "%s: %s\n", path, strerror(errno));
		free(client);
		return ENOENT;
	}
	good = entries_copy(e, &r->now);
	gone = entries_remove(e, path, client);
	if (good && j->what == ADD) {
		struct export_spec s = {path, j->options, client};

		good = entries_add(e, &s, RUN_TIME, 0, d);
	} else if (good && gone == 0) {
		fprintf(j->out, "%s: there is no such export (see splicectl exports)\n", j->name);
		good = false;
	}
	free(client);
	return good ? 0 : EINVAL;
}

static int
run(struct reload *r, struct job *j)
{
	struct entries e = {0};
	struct diag d = {0};
	struct diff_count n;
	int rc;

	if (j->what == ALL)
		rc = reload_read(r->conf, &e, &d) ? 0 : EINVAL;
	else
		rc = change(r, j, &e, &d);
	if (rc == 0 && r->who && j->what == ALL)
		resolver_refresh(r->who);
	if (rc == 0)
		rc = serve(r, &e, true, &d, j->out, &n);
	if (rc || j->what == ALL) /* warnings about what was there before are known */
		diag_print(&d, j->out);
	if (rc)
		fputs("nothing has changed\n", j->out);
	entries_free(&e);
	diag_free(&d);
	return rc;
}

/* File systems have changed: the same entries may give another table. Silent when they do not. */
static void
look_again(struct reload *r)
{
	struct entries e = {0};
	struct diag d = {0};
	struct diff_count n = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (f && entries_copy(&e, &r->now) && serve(r, &e, false, &d, f, &n) == 0 &&
	    n.changed + n.added + n.removed > 0) {
		fflush(f);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			log_info("exports: %s", line);
	}
	if (f)
		fclose(f);
	free(text);
	entries_free(&e);
	diag_free(&d);
}

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
		int rc = run(r, j);

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
		j->rc = run(r, j);
		finish(r, j);
	}
}

/* Is something served, or not served, because of what is mounted? *missing: is a path not there? */
static bool
depends_on_mounts(struct reload *r, bool *missing, bool *came)
{
	struct export_table *t = engine_table(r->engine);
	struct stat st;
	bool yes = t && t->nabsent > 0;

	*missing = *came = false;
	for (size_t i = 0; t && i < t->nabsent; i++)
		if (t->absent[i].missing) {
			*missing = true;
			*came |= stat(t->absent[i].path, &st) == 0;
		}
	for (size_t i = 0; t && !yes && i < t->n; i++)
		for (size_t j = 0; !yes && j < t->rules[i]->n; j++)
			yes = t->rules[i]->v[j].opts.mountpoint;
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
		sweep(r, false);
		if (!depends_on_mounts(r, &missing, &came))
			continue;
		if (mounted || came)
			look_again(r);
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

/* The first table, with every error and warning in the log. */
static struct export_table *
first_table(struct reload *r)
{
	struct export_table *t = NULL;
	struct diag d = {0};
	struct plan p = {0};
	bool good = reload_read(r->conf, &r->now, &d);

	good = plan_make(&p, &r->now, r->env.unprivileged, &d) && good;
	if (good)
		t = table_make(&r->env, &p, NULL, &d);
	diag_log(&d);
	plan_free(&p);
	diag_free(&d);
	return t;
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
	t = first_table(r);
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
	ask_names(t);
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
	sweep(r, true);
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
