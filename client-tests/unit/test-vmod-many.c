/* SPDX-License-Identifier: BSD-2-Clause */
/* Many workers at once, the cache's own thread beside them, and descriptors running out. */
#include "modbox.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORKERS = 6, ROUNDS = 60 };

struct worker {
	pthread_t thread;
	int n;
	int odd; /* outcomes that cannot be */
};

static struct vfs_ctx
ctx_of(const struct cred *c)
{
	return (struct vfs_ctx){.vfs = &mod.vfs, .cred = c, .may_sleep = true, .async = true};
}

static bool
one_of(int error, int a, int b)
{
	return error == 0 || error == a || error == b;
}

/* Everybody does everything to the same few names. */
static void *
quarrel(void *arg)
{
	struct worker *w = arg;
	struct cred c = box_cred(1000 + (uid_t)w->n, 1000, 0, NULL);
	struct vfs_ctx ctx = ctx_of(&c);
	const struct vmod_attrs a = {.set_mode = true, .mode = 0666, .set_size = true, .size = 3};
	struct vmod_wcc w1, w2;
	enum vmod_stable level;
	uint32_t done;

	for (int i = 0; i < ROUNDS; i++) {
		struct vmod_made made;
		char from[8], to[8];

		snprintf(from, sizeof from, "q%d", i % 3);
		snprintf(to, sizeof to, "q%d", (i + w->n) % 3);
		int error =
		    vmod_create(&ctx, mod.root, from, 2, VMOD_UNCHECKED, &a, NULL, &made, &w1);
		w->odd += !one_of(error, ESTALE, EACCES);
		if (error == 0) {
			error = vmod_write(&ctx, made.obj, 0, "abc", 3, VMOD_DATA_SYNC, &done,
					   &level, &w1);
			w->odd += !one_of(error, ESTALE, EACCES);
			error = vmod_commit(&ctx, made.obj, 0, 0, &w1);
			w->odd += !one_of(error, ESTALE, 0);
			error = vmod_link(&ctx, made.obj, mod.root, "ql", 2, &w1, &w2);
			w->odd += !one_of(error, EEXIST, ESTALE) && error != EPERM;
			put(&mod, made.obj);
		}
		error = vmod_rename(&ctx, mod.root, from, 2, mod.root, to, 2, &w1, &w2);
		w->odd += !one_of(error, ENOENT, 0);
		error = vmod_remove(&ctx, mod.root, i % 2 ? from : "ql", 2, &w1);
		w->odd += !one_of(error, ENOENT, 0);
	}
	return NULL;
}

/* All at once, each with its number; gone when this returns. */
static void
set_to_work(struct worker w[WORKERS], void *(*fn)(void *))
{
	for (int i = 0; i < WORKERS; i++) {
		w[i] = (struct worker){.n = i};
		MUST(pthread_create(&w[i].thread, NULL, fn, &w[i]) == 0);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(w[i].thread, NULL);
}

static void
crowd(const char *type)
{
	struct worker w[WORKERS];

	mod_begin(type);
	MUST(chmod(mod.dir, 0777) == 0);
	set_to_work(w, quarrel);
	for (int i = 0; i < WORKERS; i++)
		WANT_EQ(w[i].odd, 0);
	mod_end();
}
/* Workers that quarrel about the same names get the errors that local processes would get. */
MOD_TYPES(vmod_many, crowd, crowd)

static void
crowd_serials(void)
{
	setenv("SPLICED_WITHOUT", "khandle", 1);
	crowd("tmpfs");
}
/* With handles of the store, too. */
TEST(vmod_many, crowd_serials)
{
	BOXED(crowd_serials);
}

static void *
same_call(void *arg)
{
	struct worker *w = arg;
	struct cred c = box_cred(1000, 1000, 0, NULL);
	struct vfs_ctx ctx = ctx_of(&c);
	struct vmod_made made;
	struct vmod_wcc wcc;

	for (int i = 0; i < ROUNDS; i++) {
		char name[16];
		int n = snprintf(name, sizeof name, "x%d", i);

		/* two clients, three repeats of each */
		int error = vmod_create(&ctx, mod.root, name, (size_t)n, VMOD_EXCLUSIVE, NULL,
					(const unsigned char *)(w->n % 2 ? "verifier" : "VERIFIER"),
					&made, &wcc);
		w->odd += error != 0;
		if (error == 0)
			put(&mod, made.obj);
		else
			WANT_EQ(error, EEXIST);
	}
	return NULL;
}

static void
one_winner(void)
{
	struct worker w[WORKERS];

	mod_begin("ext4");
	MUST(chmod(mod.dir, 0777) == 0);
	set_to_work(w, same_call);
	for (int i = 2; i < WORKERS; i++) /* all repeats of a client fared alike */
		WANT_EQ(w[i].odd, w[i % 2].odd);
	WANT_EQ(w[0].odd + w[1].odd, ROUNDS);
	mod_end();
}
/* Of two clients who create a file exclusively one wins, and each repeat of his call wins with him.
 */
TEST(vmod_many, one_winner)
{
	BOXED(one_winner);
}

static struct timespec guard;
static int winners;
static pthread_barrier_t line;

static void *
guarded(void *arg)
{
	struct worker *w = arg;
	struct cred c = box_cred(0, 0, 0, NULL);
	struct vfs_ctx ctx = ctx_of(&c);
	const struct vmod_attrs a = {.set_mode = true, .mode = 0600 + (mode_t)w->n};
	struct obj *o = object(&mod, "f");
	struct vmod_wcc wcc;
	struct stat st;

	for (int i = 0; i < 10 * ROUNDS; i++) {
		if (pthread_barrier_wait(&line) == PTHREAD_BARRIER_SERIAL_THREAD) {
			MUST(fstat(o->fd, &st) == 0);
			guard = st.st_ctim;
			WANT(i == 0 || winners == 1);
			winners = 0;
		}
		pthread_barrier_wait(&line);
		int error = vmod_setattr(&ctx, o, &a, &guard, &wcc);
		if (error == 0)
			__atomic_add_fetch(&winners, 1, __ATOMIC_SEQ_CST);
		else
			w->odd += error != ENOTSYNC;
	}
	put(&mod, o);
	return NULL;
}

static void
guards(void)
{
	struct worker w[WORKERS];

	mod_begin("ext4");
	if (mod.kernel.release < 6013) { /* two changes in one tick have one ctime there */
		mod_end();
		return;
	}
	box_file(mod_at("f"), 1, 0600);
	MUST(pthread_barrier_init(&line, NULL, WORKERS) == 0);
	set_to_work(w, guarded);
	for (int i = 0; i < WORKERS; i++)
		WANT_EQ(w[i].odd, 0);
	pthread_barrier_destroy(&line);
	mod_end();
}
/* Of those who saw the same ctime one changes the object. */
TEST(vmod_many, guards)
{
	BOXED(guards);
}

/* ---- out of descriptors ---- */

static bool settle_on; /* atomic */

static void *
settle(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&settle_on, __ATOMIC_ACQUIRE))
		files_settle(mod.files, 0);
	return NULL;
}

/* Each writes, unsynced, through a descriptor that may have been closed since the last time. */
static void *
scribble(void *arg)
{
	struct worker *w = arg;
	struct cred c = box_cred(0, 0, 0, NULL);
	struct vfs_ctx ctx = ctx_of(&c);
	struct vmod_wcc wcc;
	enum vmod_stable level;
	uint32_t done;
	char name[8];

	snprintf(name, sizeof name, "s%d", w->n % 2); /* three share one */
	for (int i = 0; i < ROUNDS * 5; i++) {
		struct obj *o;
		struct stat st;
		int error = vfs_lookup(&ctx, mod.root, name, 2, &o, &st);

		w->odd += error != 0;
		if (error)
			break;
		w->odd += vmod_write(&ctx, o, (uint64_t)(w->n * 4), "abcd", 4, VMOD_UNSTABLE, &done,
				     &level, &wcc) != 0 ||
			  done != 4;
		put(&mod, o);
	}
	return NULL;
}

static void
settled_beside(void)
{
	struct vfs_ctx r = mod_as(0);
	struct worker w[WORKERS];
	pthread_t settler;

	mod_begin("tmpfs");
	MUST(mod_create(&r, mod.root, "s0", 0644, NULL) == 0);
	MUST(mod_create(&r, mod.root, "s1", 0644, NULL) == 0);
	__atomic_store_n(&settle_on, true, __ATOMIC_RELEASE);
	MUST(pthread_create(&settler, NULL, settle, NULL) == 0);
	set_to_work(w, scribble);
	for (int i = 0; i < WORKERS; i++)
		WANT_EQ(w[i].odd, 0);
	__atomic_store_n(&settle_on, false, __ATOMIC_RELEASE);
	pthread_join(settler, NULL);
	WANT(mod_stat("s0").st_size == 20 && mod_stat("s1").st_size == 24);
	mod_end();
}

/* The thread that syncs what nobody committed and closes what nobody uses does so beside workers
 * that open and write; no write fails for it. */
TEST(vmod_many, settled_beside)
{
	BOXED(settled_beside);
}

static void
descriptors(void)
{
	struct rlimit few = {0, 0};
	struct vfs_ctx r;
	struct obj *f[24], *o;
	char name[16];

	mod_begin("tmpfs");
	r = mod_as(0);
	for (int i = 0; i < 24; i++) {
		snprintf(name, sizeof name, "f%d", i);
		WANT_EQ(mod_create(&r, mod.root, name, 0644, &f[i]), 0);
		WANT_EQ(mod_write(&r, f[i], 0, "x", VMOD_UNSTABLE), 0);
		put(&mod, f[i]); /* pinned: room is made by syncing them */
	}
	int next = dup(0);
	close(next);
	few.rlim_cur = few.rlim_max = (rlim_t)next + 2;
	MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
	WANT_EQ(mod_create(&r, mod.root, "more", 0644, &o), 0);
	WANT_EQ(mod_write(&r, o, 0, "x", VMOD_FILE_SYNC), 0);
	put(&mod, o);
	/* nothing to make room with */
	int taken[256], n = 0;
	files_relieve(mod.files);
	files_relieve(mod.files);
	files_drop(mod.files, NULL, NULL);
	files_relieve(mod.files);
	while (n < 256 && (taken[n] = dup(0)) >= 0)
		n++;
	WANT_EQ(mod_create(&r, mod.root, "never", 0644, NULL), EMFILE);
	WANT(!mod_there("never"));
	WANT_EQ(mod_mkdir(&r, mod.root, "never", 0755, NULL), EMFILE);
	while (n)
		close(taken[--n]);
	WANT(!mod_there("never"));
	WANT_EQ(mod_create(&r, mod.root, "never", 0644, NULL), 0);
	mod_end();
}
/* Descriptors that the cache can spare are enough to go on; when there are none, nothing is left
 * half done. */
TEST(vmod_many, descriptors)
{
	BOXED(descriptors);
}
