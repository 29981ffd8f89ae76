/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gate and what it has to ask others: names of clients, groups of callers. The name service is
 * one of ours, that answers when it is told to.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bed.h"
#include "resolver.h"

enum { USER = 1000, STRANGER = 1001, FIRST = 3000, GROUPS = 200 };

struct service {
	pthread_mutex_t lock;
	pthread_cond_t open;
	bool shut;
	int error; /* what it says when open */
};

static int
enter(struct service *s)
{
	int error;

	pthread_mutex_lock(&s->lock);
	while (s->shut)
		pthread_cond_wait(&s->open, &s->lock);
	error = s->error;
	pthread_mutex_unlock(&s->lock);
	return error;
}

static void
set(struct service *s, bool shut, int error)
{
	pthread_mutex_lock(&s->lock);
	s->shut = shut;
	s->error = error;
	pthread_cond_broadcast(&s->open);
	pthread_mutex_unlock(&s->lock);
}

static int
forward(void *arg, const char *name, struct resolver_addrs *out)
{
	int error = enter(arg);

	*out = (struct resolver_addrs){.n = 1};
	out->v[0].s6_addr[10] = out->v[0].s6_addr[11] = 0xff;
	memcpy(&out->v[0].s6_addr[12], (uint8_t[]){127, 0, 0, 1}, 4);
	return error || strcmp(name, "client.example") == 0 ? error : ENOENT;
}

static int
reverse(void *arg, const struct in6_addr *a, struct resolver_names *out)
{
	(void)a;
	out->n = 1;
	strcpy(out->v[0], "client.example");
	return enter(arg);
}

static int
netgroup(void *arg, const char *group, const char *host)
{
	(void)group;
	(void)host;
	return enter(arg) ? EAGAIN : ENOENT;
}

/* 200 groups, and root's among them. */
static int
groups(void *arg, uid_t uid, gid_t *v, unsigned *n)
{
	int error = enter(arg);

	if (!error && uid != USER)
		return ENOENT;
	*n = GROUPS + 1;
	v[0] = 0;
	for (unsigned i = 0; i < GROUPS; i++)
		v[i + 1] = FIRST + i;
	return error;
}

static struct resolver *
start(struct service *s, struct bed *b)
{
	static const struct resolver_times times = {
	    .soon = 3600000, .again = 1, .again_most = 10, .fresh = 3600000, .threads = 4};
	struct resolver_ops ops = {forward, reverse, netgroup, groups, NULL, s};
	struct resolver *r;

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->open, NULL);
	s->shut = false;
	s->error = 0;
	r = resolver_new(&ops, &times);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	b->engine.table->who = r;
	return r;
}

/* Until the name service answers, a client that only a name can let in is told to come again by
 * NFS, and gets no reply from MNT; then both let it in. */
TEST(wire_gate, names)
{
	static const char *const clients[] = {"client.example", "*.example"};

	for (int i = 0; i < 2; i++) {
		static struct service s;
		struct bed *b = bed_new(&(struct bed_opts){.clients_a = clients[i]});
		struct resolver *r = start(&s, b);
		char path[100];
		dirpath dir;

		snprintf(path, sizeof path, "%s/a", b->base);
		set(&s, true, 0);
		CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3ERR_JUKEBOX);
		CU_ASSERT_EQUAL(bed_getattr(b, &b->root_b, NULL), NFS3_OK);
		dir = (dirpath){.len = (u_int)strlen(path), .s = path};
		bed_record(b, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT, (xdrproc_t)xdr_dirpath,
			   &dir);
		bed_run(b, BED_WORKER);
		CU_ASSERT_EQUAL(b->reply.verdict, CALL_DROP);
		set(&s, false, 0);
		while (bed_getattr(b, &b->root_a, NULL) == NFS3ERR_JUKEBOX)
			resolver_wait(r, 1000);
		CU_ASSERT_EQUAL(bed_getattr(b, &b->root_a, NULL), NFS3_OK);
		CU_ASSERT_EQUAL(bed_mnt(b, path, NULL), MNT3_OK);
		b->engine.table->who = NULL;
		resolver_free(r);
		bed_free(b);
	}
}

static int
read_as(struct bed *b, uint32_t uid, const nfs_fh3 *fh)
{
	READ3res r;

	b->uid = uid;
	b->gid = uid;
	return bed_read(b, fh, 0, 1, &r);
}

static nfs_fh3
file_of(struct bed *b, const char *name, mode_t mode, gid_t gid)
{
	char path[40];

	snprintf(path, sizeof path, "a/%s", name);
	bed_write(b, path, "x", 1);
	CU_ASSERT_EQUAL(chown(bed_path(b, path), 0, gid), 0);
	CU_ASSERT_EQUAL(chmod(bed_path(b, path), mode), 0);
	return bed_fh(b, &b->root_a, name);
}

/* With manage_gids a user has the groups that this machine knows, all of them, instead of those
 * that the call brings; group 0 is squashed among them; who is not known here keeps his own. */
TEST(wire_gate, manage_gids)
{
	static struct service s;
	struct bed *b = bed_new(NULL);
	struct resolver *r = start(&s, b);
	nfs_fh3 last, other, root;

	last = file_of(b, "last", 0040, FIRST + GROUPS - 1);
	other = file_of(b, "other", 0040, FIRST + GROUPS);
	root = file_of(b, "root", 0040, 0);
	bed_settle(b);
	CU_ASSERT_EQUAL(read_as(b, USER, &last), NFS3ERR_ACCES);
	b->engine.manage_gids = true;
	while (read_as(b, USER, &last) == NFS3ERR_JUKEBOX)
		resolver_wait(r, 1000);
	CU_ASSERT_EQUAL(read_as(b, USER, &last), NFS3_OK);
	CU_ASSERT_EQUAL(read_as(b, USER, &root), NFS3ERR_ACCES);
	b->gids[b->ngids++] = FIRST + GROUPS;
	CU_ASSERT_EQUAL(read_as(b, USER, &other), NFS3ERR_ACCES);
	while (read_as(b, STRANGER, &other) == NFS3ERR_JUKEBOX)
		resolver_wait(r, 1000);
	CU_ASSERT_EQUAL(read_as(b, STRANGER, &other), NFS3_OK);
	CU_ASSERT_EQUAL(read_as(b, STRANGER, &last), NFS3ERR_ACCES);
	b->engine.table->who = NULL;
	resolver_free(r);
	bed_free(b);
}

/* A user whose groups cannot be asked for comes again; others go on. */
TEST(wire_gate, groups_not_known_yet)
{
	static struct service s;
	struct bed *b = bed_new(NULL);
	struct resolver *r = start(&s, b);
	nfs_fh3 fh = file_of(b, "f", 0444, 0);

	bed_settle(b);
	b->engine.manage_gids = true;
	set(&s, false, ETIMEDOUT);
	CU_ASSERT_EQUAL(read_as(b, USER, &fh), NFS3ERR_JUKEBOX);
	CU_ASSERT_EQUAL(read_as(b, 0, &fh), NFS3_OK); /* squashed anyway */
	set(&s, false, 0);
	while (read_as(b, USER, &fh) == NFS3ERR_JUKEBOX)
		resolver_wait(r, 1000);
	CU_ASSERT_EQUAL(read_as(b, USER, &fh), NFS3_OK);
	b->engine.table->who = NULL;
	resolver_free(r);
	bed_free(b);
}
