/* SPDX-License-Identifier: BSD-2-Clause */
/* Many callers at once: what a call makes is its caller's, whatever other threads do in the same
 * moment, and a thread is the server again when its call ends. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "lib/change.h"

enum { UIDS = 64, FIRST_UID = 5000, FIRST_GID = 7000, KINDS = 6 };

struct worker {
	struct bed *b;
	pthread_t thread;
	unsigned n, rounds;
	nfs_fh3 secret[UIDS]; /* one file of each, 0600 */
	unsigned wrong;
};

/* Runs the record of the worker's own bed, as a worker of the server would. */
static int
run(struct bed *mine, struct bed *b)
{
	struct call *c = mine->call;
	int st = -1;

	c->peer = &b->peer;
	c->rec = mine->rec;
	c->reclen = mine->reclen;
	c->may_sleep = true;
	if (call_run(c) == CALL_REPLY)
		st = (int)bed_get32(c->head + RPC_HEAD);
	call_reset(c);
	return st;
}

static void
record(struct bed *m, unsigned kind, const char *name)
{
	const diropargs3 where = {m->root_a, name3(name)};
	CREATE3args create = {where, {kind == 1 ? GUARDED : UNCHECKED, {set_mode(0600)}}};
	MKDIR3args mkdir = {where, set_mode(0700)};
	SYMLINK3args link = {where, {set_nothing(), {1, "x"}}};
	MKNOD3args node = {where, {NF3FIFO, {.pipe_attributes = set_mode(0600)}}};

	if (kind == 2)
		create.how = (createhow3){EXCLUSIVE, {.verf = "1234567"}};
	if (kind < 3)
		bed_record(m, NFS_PROGRAM, NFS_V3, NFSPROC3_CREATE, (xdrproc_t)xdr_CREATE3args,
			   &create);
	else if (kind == 3)
		bed_record(m, NFS_PROGRAM, NFS_V3, NFSPROC3_MKDIR, (xdrproc_t)xdr_MKDIR3args,
			   &mkdir);
	else if (kind == 4)
		bed_record(m, NFS_PROGRAM, NFS_V3, NFSPROC3_SYMLINK, (xdrproc_t)xdr_SYMLINK3args,
			   &link);
	else
		bed_record(m, NFS_PROGRAM, NFS_V3, NFSPROC3_MKNOD, (xdrproc_t)xdr_MKNOD3args,
			   &node);
}

/* Another caller each time: makes a thing of his own, may write his file, and not his neighbour's.
 */
static void *
work(void *arg)
{
	struct worker *w = arg;
	struct bed m = *w->b; /* a record and a call of its own; the server is shared */

	m.rec = NULL;
	m.call = malloc(sizeof *m.call);
	call_init(m.call, &w->b->engine);
	for (unsigned i = 0; i < w->rounds; i++) {
		unsigned who = (w->n * 7 + i * 11) % UIDS;
		char name[40];

		snprintf(name, sizeof name, "%u-%u-%u", who, w->n, i);
		bed_as(&m, FIRST_UID + who, FIRST_GID + who);
		record(&m, i % KINDS, name);
		w->wrong += run(&m, w->b) != NFS3_OK;
		for (unsigned k = 0; k < 2; k++) {
			WRITE3args a = {
			    w->secret[(who + k) % UIDS], 0, 4, UNSTABLE, {4, -1, -1, NULL}};

			bed_record(&m, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE,
				   (xdrproc_t)xdr_WRITE3args, &a);
			bed_append(&m, "text", 4);
			w->wrong += run(&m, w->b) != (k ? NFS3ERR_ACCES : NFS3_OK);
		}
		w->wrong += setfsuid((uid_t)-1) != 0 || setfsgid((gid_t)-1) != 0;
	}
	free(m.call);
	free(m.rec);
	return NULL;
}

/* How many there are; those that are not their name's owner's count as wrong. */
static unsigned
look(struct bed *b, unsigned *wrong)
{
	DIR *d = opendir(bed_path(b, "a"));
	unsigned n = 0;

	for (struct dirent *e; (e = readdir(d));) {
		unsigned who, thread, round;
		struct stat st;

		if (sscanf(e->d_name, "%u-%u-%u", &who, &thread, &round) != 3)
			continue;
		n++;
		*wrong += fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
			  st.st_uid != FIRST_UID + who || st.st_gid != FIRST_GID + who;
	}
	closedir(d);
	return n;
}

/* Threads that are another of 64 users with each call: every object is that of the user whose call
 * made it, and nobody writes where another may only. */
TEST(wire_owners, many_at_once)
{
	enum { THREADS = 16 };
	static struct worker w[THREADS];
	struct bed *b = bed_new(&(struct bed_opts){.parent = "/dev/shm", .options_a = RW});
	const struct at a = {"a", &b->root_a};
	const sattr3 secret = set_mode(0600);
	unsigned wrong = 0;

	bed_give(b, "a", 01777, 0, 0);
	for (unsigned i = 0; i < UIDS; i++) {
		char name[20];

		snprintf(name, sizeof name, "secret%u", i);
		bed_as(b, FIRST_UID + i, FIRST_GID + i);
		CU_ASSERT_EQUAL(do_create(b, a, name, GUARDED, &secret, &w[0].secret[i]), NFS3_OK);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		memcpy(w[i].secret, w[0].secret, sizeof w[i].secret);
		w[i].b = b;
		w[i].n = i;
		w[i].rounds = check_full() ? 20000 : 200;
		w[i].wrong = 0;
		CU_ASSERT_EQUAL_FATAL(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		wrong += w[i].wrong;
	}
	CU_ASSERT_EQUAL(look(b, &wrong), THREADS * w[0].rounds);
	CU_ASSERT_EQUAL(wrong, 0);
	bed_free(b);
}
