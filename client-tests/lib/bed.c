/* SPDX-License-Identifier: BSD-2-Clause */
#include "bed.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "log.h"
#include "store.h"
#include "vdir.h"

enum { DAY = 86400, REPLY_ROOM = (1 << 20) + 4096 };

/* A test that cannot even be set up is no test: say why and stop the run. */
static void
fatal(const char *what, const char *why)
{
	fprintf(stderr, "bed: %s: %s\n", what, why);
	exit(1);
}

static void
must(int rc, const char *what)
{
	if (rc < 0)
		fatal(what, strerror(errno));
}

static int
open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	if (!d)
		fatal("/proc/self/fd", strerror(errno));
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

const char *
bed_path(struct bed *b, const char *path)
{
	static _Thread_local char full[PATH_MAX];

	snprintf(full, sizeof full, "%s/%s", b->base, path);
	return full;
}

static void
make_exports(struct bed *b, const struct bed_opts *o)
{
	char a[80], bb[80], err[1024];
	struct export_spec spec[2] = {
	    {a, o->options_a ? o->options_a : "ro", o->clients_a ? o->clients_a : "127.0.0.1"},
	    {bb, o->options_b ? o->options_b : "ro", o->clients_b ? o->clients_b : "127.0.0.1"},
	};
	struct export_env env = {&b->kernel, &b->key, b->store, false};
	struct export_table *t;
	const char *rest;

	snprintf(a, sizeof a, "%s/a", b->base);
	snprintf(bb, sizeof bb, "%s/b", b->base);
	t = export_table_make(&env, spec, 2, err, sizeof err);
	if (!t)
		fatal("exports", err);
	b->root_a = export_by_path(t, a, &rest)->root;
	b->root_b = export_by_path(t, bb, &rest)->root;
	engine_swap_table(&b->engine, t);
}

static void
make_peer(struct bed *b)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&b->peer.addr;

	in->sin_family = AF_INET;
	in->sin_port = htons(700);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	strcpy(b->peer.text, "127.0.0.1");
	b->peer.port = 700;
	b->peer.local = true;
}

/* What the environment takes away is taken away in any case. */
static void
probe(struct bed *b, const char *without, const char *dir)
{
	const char *outer = getenv("SPLICED_WITHOUT");
	char *was = outer ? strdup(outer) : NULL;

	if (without)
		setenv("SPLICED_WITHOUT", without, 1);
	kernel_probe(&b->kernel, dir);
	if (was)
		setenv("SPLICED_WITHOUT", was, 1);
	else
		unsetenv("SPLICED_WITHOUT");
	free(was);
}

/* The server's parts, in main's order. The identity is set by hand: a test process keeps its
 * capabilities to build trees. */
static void
make_server(struct bed *b, const struct bed_opts *o)
{
	char err[1024], state[80];

	snprintf(state, sizeof state, "%s/state", b->base);
	probe(b, o->without, state);
	if (handle_key_load(&b->key, state, err, sizeof err) != 0)
		fatal("key", err);
	b->store = store_open(state, err, sizeof err);
	if (!b->store)
		fatal("store", err);
	b->ident = (struct ident){.can_switch = true};
	b->resolve = (struct resolve){&b->key, b->store};
	b->files = files_new(&b->resolve, &b->ident, 0);
	if (!b->files)
		fatal("files", "no memory");
	b->vfs = (struct vfs){
	    .files = b->files, .ident = &b->ident, .kernel = &b->kernel, .resolve = &b->resolve};
	engine_init(&b->engine);
	b->engine.vfs = &b->vfs;
	b->engine.key = &b->key;
	b->engine.store = b->store;
	if (engine_check(&b->engine, err, sizeof err) != 0)
		fatal("engine", err);
	make_exports(b, o);
}

/* Replies are kept for repeats, in the state directory. */
static void
open_drc(struct bed *b)
{
	char state[80], msg[400];

	snprintf(state, sizeof state, "%s/state", b->base);
	b->engine.drc = drc_open(state, NULL, msg, sizeof msg);
	if (!b->engine.drc || *msg)
		fatal("drc", msg);
}

void
bed_start(struct bed *b)
{
	make_server(b, &b->opts);
	if (b->opts.drc)
		open_drc(b);
	memset(b->peer.rules, 0, sizeof b->peer.rules);
	call_init(b->call, &b->engine);
}

void
bed_stop(struct bed *b)
{
	call_reset(b->call);
	/* ours is the only reference left to the table */
	CU_ASSERT_EQUAL(b->engine.table->refs, 1);
	engine_fini(&b->engine);
	vdir_free_cache();
	files_free(b->files);
	store_close(b->store);
	if (b->opts.drc)
		drc_close(b->engine.drc);
}

struct bed *
bed_new(const struct bed_opts *opts)
{
	static const struct bed_opts plain;
	const struct bed_opts *o = opts ? opts : &plain;
	struct bed *b = calloc(1, sizeof *b);
	int fds = open_fds();
	size_t budget = budget_used();

	if (!b)
		fatal("bed", "no memory");
	if (getuid() != 0)
		fatal("bed", "these tests switch users and must run as root");
	/* refusals are what these tests are about: say them only when asked to */
	log_set_level(getenv("BED_LOG") ? LOG_LVL_DEBUG : LOG_LVL_ERROR);
	b->fds = fds;
	b->budget = budget;
	snprintf(b->base, sizeof b->base, "%s/spliced-bed-XXXXXX", o->parent ? o->parent : "/tmp");
	must(mkdtemp(b->base) ? 0 : -1, b->base);
	must(chmod(b->base, 0755), "chmod");
	bed_mkdir(b, "a", 0755);
	bed_mkdir(b, "b", 0755);
	bed_mkdir(b, "state", 0700);
	b->opts = *o;
	b->umask = umask(0); /* as ident_init() has it */
	make_peer(b);
	b->flavor = AUTH_SYS;
	b->call = malloc(sizeof *b->call);
	b->reply.cap = REPLY_ROOM;
	b->reply.buf = malloc(b->reply.cap);
	if (!b->call || !b->reply.buf)
		fatal("call", "no memory");
	bed_start(b);
	must(pipe2(b->pipe, O_NONBLOCK | O_CLOEXEC), "pipe");
	(void)fcntl(b->pipe[0], F_SETPIPE_SZ, 1 << 20);
	return b;
}

static int
unlink_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

void
bed_free(struct bed *b)
{
	bed_stop(b);
	umask(b->umask);
	close(b->pipe[0]);
	close(b->pipe[1]);
	nftw(b->base, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
	CU_ASSERT_EQUAL(open_fds(), b->fds);
	CU_ASSERT_EQUAL(budget_used(), b->budget);
	free(b->call);
	free(b->rec);
	free(b->reply.buf);
	free(b);
}

void
bed_mkdir(struct bed *b, const char *path, mode_t mode)
{
	must(mkdir(bed_path(b, path), 0700), path);
	must(chmod(bed_path(b, path), mode), path);
}

void
bed_write(struct bed *b, const char *path, const void *data, size_t n)
{
	int fd = open(bed_path(b, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	must(fd, path);
	for (size_t done = 0; done < n;) {
		ssize_t k = write(fd, (const char *)data + done, n - done);

		must((int)(k > 0 ? 0 : -1), path);
		done += (size_t)k;
	}
	fchmod(fd, 0644);
	close(fd);
}

void
bed_fill_pattern(void *buf, uint64_t off, size_t n)
{
	unsigned char *p = buf;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = off + i;
		uint64_t word = (at / 8 + 1) * 0x9E3779B97F4A7C15u;

		p[i] = (unsigned char)(word >> (at % 8 * 8));
	}
}

void
bed_pattern(struct bed *b, const char *path, size_t n)
{
	char *data = malloc(n + 1);

	if (!data)
		fatal(path, "no memory");
	bed_fill_pattern(data, 0, n);
	bed_write(b, path, data, n);
	free(data);
}

static int
settle_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	struct timespec t[2] = {{time(NULL) + DAY, 0}, {0, UTIME_OMIT}};

	(void)st;
	(void)type;
	(void)f;
	return utimensat(AT_FDCWD, path, t, AT_SYMLINK_NOFOLLOW);
}

void
bed_settle(struct bed *b)
{
	must(nftw(bed_path(b, "a"), settle_one, 16, FTW_PHYS), "settle");
	must(nftw(bed_path(b, "b"), settle_one, 16, FTW_PHYS), "settle");
}
