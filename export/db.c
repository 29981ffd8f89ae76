/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The LMDB environment: opening it in whatever state it is found, and keeping it usable.
 *
 * Opening. The map is reserved once, huge: address space costs nothing, the file grows only with
 * what is written. Where address space is limited it is halved until it fits. LMDB trusts its file;
 * the two kinds of damage that a crash of others can leave are found here: a head that is none
 * (MDB_INVALID), and a file shorter than its head says. The latter is no proof (free pages at the
 * end may never have been written), so then a child process reads everything: if it dies, the file
 * is damaged. A damaged file is moved aside and a new one begun: its serials will answer STALE,
 * which is right, since new serials are never equal to old ones (store.c).
 *
 * Running. No WRITEMAP: a full disk is an error of write(2), not SIGBUS. No NOSYNC: what was
 * committed survives. A full map is cleared of dead readers, then enlarged; both need that nobody
 * is inside a transaction, which is what the gate is for. After a failed write of its head LMDB
 * refuses everything (MDB_PANIC): the environment is opened anew.
 *
 * Limits. Bits that rot inside the file are not noticed: LMDB has no checksums.
 */
#include "db_int.h"
#include "log.h"
#include "say.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(x) 0 /* clang's word; gcc has macros */
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MAP_USUAL ((size_t)1 << 30) /* they use up address space themselves */
#else
#define MAP_USUAL ((size_t)64 << 30)
#endif
#define READERS 512
#define MAP_LEAST ((size_t)1 << 20)
#define ENV_FLAGS (MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD)

const char *const db_table_name[T_N] = {
    [T_ROWS] = "rows",	   [T_IDENTS] = "idents",  [T_CHILDREN] = "children", [T_NOTES] = "notes",
    [T_MOUNTS] = "mounts", [T_EXCL] = "exclusive", [T_META] = "meta",
};

int
db_errno(int rc)
{
	switch (rc) {
	case MDB_NOTFOUND:
		return ENOENT;
	case MDB_MAP_FULL:
		return ENOSPC;
	case MDB_READERS_FULL:
		return EAGAIN;
	default:
		return rc < 0 ? EIO : rc;
	}
}

static MDB_env *
env_open(const char *path, size_t map, unsigned flags, int *rc)
{
	MDB_env *env;
	int fd;

	*rc = mdb_env_create(&env);
	if (*rc)
		return NULL;
	mdb_env_set_maxdbs(env, T_N);
	mdb_env_set_maxreaders(env, READERS);
	if (map)
		mdb_env_set_mapsize(env, map);
	*rc = mdb_env_open(env, path, ENV_FLAGS | flags, 0600);
	if (*rc == 0 && mdb_env_get_fd(env, &fd) == 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC); /* LMDB does so for its other descriptors */
	if (*rc == 0)
		return env;
	mdb_env_close(env);
	return NULL;
}

/* Reads every page that is in use. Meant to die of SIGBUS. */
static int
read_all(const char *path)
{
	MDB_val k, v;
	MDB_txn *txn;
	MDB_cursor *cur;
	MDB_dbi dbi;
	unsigned sum = 0;
	int rc;
	MDB_env *env = env_open(path, 0, MDB_RDONLY | MDB_NOLOCK, &rc);

	if (!env || mdb_txn_begin(env, NULL, MDB_RDONLY, &txn))
		return 1;
	for (int i = 0; i < T_N; i++) {
		rc = mdb_dbi_open(txn, db_table_name[i], 0, &dbi);
		if (rc == MDB_NOTFOUND)
			continue;
		if (rc || mdb_cursor_open(txn, dbi, &cur))
			return 1;
		while ((rc = mdb_cursor_get(cur, &k, &v, MDB_NEXT)) == 0)
			for (size_t n = 0; n < v.mv_size; n += 1024)
				sum += ((const volatile unsigned char *)v.mv_data)[n];
		if (rc != MDB_NOTFOUND)
			return 1;
	}
	return (int)(sum & 0); /* the loads must happen, their sum is of no interest */
}

/* Does every page exist that is in use? Nothing is open in this process. */
static bool
readable(const char *path)
{
	const struct rlimit none = {0, 0};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGBUS, SIG_DFL);
		signal(SIGSEGV, SIG_DFL);
		setrlimit(RLIMIT_CORE, &none);
		_exit(read_all(path));
	}
	if (pid < 0)
		return true; /* it cannot be said; do not throw away what may be good */
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return true;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The file ends before the last page that its head speaks of. */
static bool
too_short(MDB_env *env, const char *path)
{
	MDB_envinfo info;
	MDB_stat s;
	struct stat st;

	if (mdb_env_info(env, &info) || mdb_env_stat(env, &s) || stat(path, &st) < 0)
		return false;
	return (uint64_t)st.st_size < ((uint64_t)info.me_last_pgno + 1) * s.ms_psize;
}

static size_t
map_usual(void)
{
	struct rlimit as;
	const size_t most = MAP_USUAL;

	if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur != RLIM_INFINITY &&
	    as.rlim_cur / 8 < most)
		return (size_t)as.rlim_cur / 8;
	return most;
}

/* Opens with the largest map that fits, from lim.map downwards. */
static int
open_fitting(struct db *db)
{
	int rc = 0;

	for (size_t map = db->lim.map; map >= MAP_LEAST || map == db->lim.map; map /= 2) {
		db->env = env_open(db->path, map, 0, &rc);
		if (db->env ||
		    (rc != ENOMEM && rc != EINVAL)) /* EINVAL: what valgrind says to a huge map */
			break;
	}
	return rc;
}

/* The tables, and the version record that says how to read them. */
static int
open_tables(struct db *db, char *err, size_t errlen)
{
	struct db_txn t = {db, NULL, true};
	MDB_val k = {7, (void *)(uintptr_t) "version"}, v;
	uint32_t version = DB_VERSION;
	MDB_txn *txn;
	int rc = mdb_txn_begin(db->env, NULL, 0, &txn);

	if (rc)
		return say(err, errlen, db_errno(rc), "%s: %s", db->path, mdb_strerror(rc));
	t.txn = txn;
	for (int i = 0; rc == 0 && i < T_N; i++)
		rc = mdb_dbi_open(txn, db_table_name[i], MDB_CREATE, &db->t[i]);
	if (rc == 0)
		rc = mdb_get(txn, db->t[T_META], &k, &v);
	if (rc == 0 && v.mv_size == sizeof version)
		memcpy(&version, v.mv_data, sizeof version);
	if (rc == 0 && (v.mv_size != sizeof version || version != DB_VERSION)) {
		db_abort(&t);
		return say(err, errlen, ENOTSUP,
			   "%s: has format %u, and this server knows format %u; run the version "
			   "that wrote it, "
			   "or remove the file (clients of file systems without kernel handles "
			   "must mount again)",
			   db->path, version, DB_VERSION);
	}
	if (rc == MDB_NOTFOUND) {
		v = (MDB_val){sizeof version, &version};
		rc = mdb_put(txn, db->t[T_META], &k, &v, 0);
	}
	if (rc) {
		db_abort(&t);
		return say(err, errlen, db_errno(rc), "%s: %s", db->path, mdb_strerror(rc));
	}
	rc = db_commit(&t);
	return rc ? say(err, errlen, rc, "%s: %s", db->path, strerror(rc)) : 0;
}

static bool
is_damage(int rc)
{
	return rc == MDB_INVALID || rc == MDB_CORRUPTED || rc == MDB_PAGE_NOTFOUND;
}

static int
move_aside(struct db *db, int dirfd, char *err, size_t errlen)
{
	char aside[64];

	snprintf(aside, sizeof aside, DB_FILE ".damaged-%lld", (long long)time(NULL));
	if (renameat(dirfd, DB_FILE, dirfd, aside) < 0)
		return say(err, errlen, errno, "%s: is damaged and cannot be moved aside: %s",
			   db->path, strerror(errno));
	unlinkat(dirfd, DB_FILE "-lock", 0);
	log_error(
	    "%s: the store is damaged; moved aside as %s and begun anew. Clients of file systems "
	    "without kernel handles must mount again",
	    db->path, aside);
	return 0;
}

static int
open_env(struct db *db, int dirfd, char *err, size_t errlen)
{
	int rc = open_fitting(db);
	bool damaged = is_damage(rc);

	if (rc == 0 && too_short(db->env, db->path)) {
		mdb_env_close(db->env);
		db->env = NULL;
		damaged = !readable(db->path);
		rc = damaged ? MDB_CORRUPTED : open_fitting(db);
	}
	if (damaged && dirfd >= 0) {
		rc = move_aside(db, dirfd, err, errlen);
		if (rc)
			return rc;
		rc = open_fitting(db);
	}
	if (rc)
		return say(err, errlen, db_errno(rc), "%s: cannot open the store: %s", db->path,
			   rc == ENOMEM ? "no address space (ulimit -v?)" : mdb_strerror(rc));
	mdb_reader_check(db->env, NULL);
	rc = open_tables(db, err, errlen);
	if (rc) {
		mdb_env_close(db->env);
		db->env = NULL;
	}
	return rc;
}

static void
gate_init(pthread_rwlock_t *gate)
{
	pthread_rwlockattr_t a;

	/* the writing thread waits for the gate only to mend things: readers must let it through */
	pthread_rwlockattr_init(&a);
	pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(gate, &a);
	pthread_rwlockattr_destroy(&a);
}

struct db *
db_open(const char *dir, int dirfd, const struct store_limits *lim, char *err, size_t errlen)
{
	struct db *db = calloc(1, sizeof *db);

	if (!db || asprintf(&db->path, "%s/" DB_FILE, dir) < 0) {
		free(db);
		say(err, errlen, ENOMEM, "no memory for the store");
		return NULL;
	}
	db->lim = *lim;
	if (!db->lim.map)
		db->lim.map = map_usual();
	if (!db->lim.map_max)
		db->lim.map_max = db->lim.map * 4;
	gate_init(&db->gate);
	if (open_env(db, dirfd, err, errlen)) {
		db_close(db);
		return NULL;
	}
	return db;
}

void
db_close(struct db *db)
{
	if (!db)
		return;
	if (db->env)
		mdb_env_close(db->env);
	pthread_rwlock_destroy(&db->gate);
	free(db->path);
	free(db);
}

int
db_read(struct db *db, struct db_txn *t)
{
	MDB_txn *txn;
	int rc;

	pthread_rwlock_rdlock(&db->gate);
	rc = db->env ? mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn) : EIO;
	if (rc) {
		pthread_rwlock_unlock(&db->gate);
		return db_errno(rc);
	}
	*t = (struct db_txn){db, txn, false};
	return 0;
}

int
db_write(struct db *db, struct db_txn *t)
{
	MDB_txn *txn;
	int rc = db->env ? mdb_txn_begin(db->env, NULL, 0, &txn) : EIO;

	if (rc)
		return db_errno(rc);
	*t = (struct db_txn){db, txn, true};
	return 0;
}

int
db_commit(struct db_txn *t)
{
	return db_errno(mdb_txn_commit(t->txn));
}

void
db_abort(struct db_txn *t)
{
	mdb_txn_abort(t->txn);
	if (!t->write)
		pthread_rwlock_unlock(&t->db->gate);
}

/* Under the gate. */
static bool
grow(struct db *db)
{
	MDB_envinfo info;
	size_t want;

	if (mdb_env_info(db->env, &info) || info.me_mapsize >= db->lim.map_max)
		return false;
	want = info.me_mapsize * 2;
	if (want > db->lim.map_max)
		want = db->lim.map_max;
	return mdb_env_set_mapsize(db->env, want) == 0;
}

/* Under the gate. */
static bool
reopen(struct db *db)
{
	char err[256];

	if (db->env)
		mdb_env_close(db->env);
	db->env = NULL;
	if (open_env(db, -1, err, sizeof err) == 0)
		return true;
	log_error("%s", err);
	return false;
}

bool
db_mend(struct db *db, int error)
{
	int dead = 0;
	bool mended = false;

	if (error != ENOSPC && error != EIO)
		return false;
	pthread_rwlock_wrlock(&db->gate);
	if (error == EIO) {
		mended = reopen(db);
	} else if (db->env) {
		mdb_reader_check(db->env, &dead);
		mended = dead > 0 || grow(db);
	}
	pthread_rwlock_unlock(&db->gate);
	return mended;
}

void
db_info(struct db *db, struct store_info *out)
{
	struct db_txn t;
	MDB_envinfo info;
	MDB_stat s;

	memset(out, 0, sizeof *out);
	if (db_read(db, &t))
		return;
	if (mdb_stat(t.txn, db->t[T_ROWS], &s) == 0)
		out->rows = s.ms_entries;
	if (mdb_stat(t.txn, db->t[T_NOTES], &s) == 0)
		out->notes = s.ms_entries;
	if (mdb_stat(t.txn, db->t[T_MOUNTS], &s) == 0)
		out->mounts = s.ms_entries;
	if (mdb_env_info(db->env, &info) == 0) {
		out->map_bytes = info.me_mapsize;
		out->used_bytes = ((uint64_t)info.me_last_pgno + 1) * s.ms_psize;
	}
	db_abort(&t);
}
