/* SPDX-License-Identifier: BSD-2-Clause */
/* SETATTR: RFC 1813 section 3.3.2. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/change.h"

enum { OWNER = 1111, GROUP = 2222, OTHER = 3333 };

static struct bed *
make(nfs_fh3 *file)
{
	struct bed *b = bed_new(&(struct bed_opts){.options_a = RW});

	bed_write(b, "a/file", "0123456789", 10);
	bed_give(b, "a/file", 0644, OWNER, GROUP);
	*file = bed_fh(b, &b->root_a, "file");
	return b;
}

static nfstime3
ctime_of(struct bed *b, const char *path)
{
	struct stat st = bed_stat(b, path);

	return time3(&st.st_ctim);
}

/* Each attribute alone is set, and nothing else is but what the kernel changes with it. */
TEST(wire_setattr, one_at_a_time)
{
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	sattr3 s = set_mode(0600);
	struct stat st;

	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
	st = bed_stat(b, "a/file");
	CU_ASSERT(st.st_mode == (S_IFREG | 0600) && st.st_uid == OWNER && st.st_size == 10);
	s = set_nothing();
	s.uid = (set_uid3){TRUE, {OTHER}};
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
	st = bed_stat(b, "a/file");
	CU_ASSERT(st.st_uid == OTHER && st.st_gid == GROUP && st.st_mode == (S_IFREG | 0600));
	s = set_nothing();
	s.gid = (set_gid3){TRUE, {OTHER}};
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
	st = bed_stat(b, "a/file");
	CU_ASSERT(st.st_uid == OTHER && st.st_gid == OTHER);
	s = set_size(3);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "012", 3));
	s = set_size(5);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
	CU_ASSERT_TRUE(bed_holds(b, "a/file", "012\0\0", 5));
	s = set_nothing();
	st = bed_stat(b, "a/file");
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
	nfstime3 same = time3(&st.st_ctim), now = ctime_of(b, "a/file");
	CU_ASSERT_EQUAL(memcmp(&same, &now, sizeof now), 0);
	bed_free(b);
}

/* All at once stand as they were asked for: size and owner take away no bits of the mode that is
 * set with them, nor move the times. */
TEST(wire_setattr, all_at_once)
{
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	const sattr3 s = {.mode = {TRUE, {06751}},
			  .uid = {TRUE, {OTHER}},
			  .gid = {TRUE, {OTHER}},
			  .size = {TRUE, {7}},
			  .atime = {SET_TO_CLIENT_TIME, {{11, 12}}},
			  .mtime = {SET_TO_CLIENT_TIME, {{13, 14}}}};

	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
	struct stat st = bed_stat(b, "a/file");
	CU_ASSERT(st.st_mode == (S_IFREG | 06751) && st.st_uid == OTHER && st.st_gid == OTHER);
	CU_ASSERT_EQUAL(st.st_size, 7);
	CU_ASSERT(st.st_atim.tv_sec == 11 && st.st_atim.tv_nsec == 12);
	CU_ASSERT(st.st_mtim.tv_sec == 13 && st.st_mtim.tv_nsec == 14);
	bed_free(b);
}

/* The guard is compared to the nanosecond: what is a nanosecond or a second off, or was true before
 * the last change, is NOT_SYNC and changes nothing, not even the size; one reply comes back. A true
 * one, from any reply, lets the change pass. */
TEST(wire_setattr, guard)
{
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	const sattr3 cut = {.mode = {TRUE, {0600}}, .size = {TRUE, {1}}};
	nfstime3 now = ctime_of(b, "a/file"), stale = now;
	const nfstime3 off[] = {{now.seconds, now.nseconds + 1},
				{now.seconds, now.nseconds - 1},
				{now.seconds + 1, now.nseconds},
				{now.seconds - 1, now.nseconds},
				{now.seconds, 0},
				{now.nseconds, now.seconds},
				{0, 0},
				{UINT32_MAX, UINT32_MAX}};

	for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
		CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &cut, &off[i]), NFS3ERR_NOT_SYNC);
		CU_ASSERT_EQUAL(b->reply.len, RPC_HEAD + 4 + 4 + WIRE_POST_OP);
		struct stat st = bed_stat(b, "a/file");
		CU_ASSERT(st.st_size == 10 && st.st_mode == (S_IFREG | 0644));
	}
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &cut, &now), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_size, 1);
	for (;;) { /* until the clock has moved on */
		const sattr3 mode = set_mode(0640);

		CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &mode, NULL), NFS3_OK);
		now = ctime_of(b, "a/file");
		if (memcmp(&now, &stale, sizeof now) != 0)
			break;
	}
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &cut, &stale), NFS3ERR_NOT_SYNC);
	struct bed_list l;
	bed_settle(b);
	bed_list(b, &b->root_a, 0, 8192, true, 8192, &l);
	for (size_t i = 0; i < l.n; i++)
		if (strcmp(l.v[i].name, "file") == 0)
			CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &cut, &l.v[i].attr.ctime),
					NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, S_IFREG | 0600);
	free(l.v);
	bed_free(b);
}

static struct timespec
coarse(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return t;
}

static bool
before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Times by the client are exact, from 1970 to 2106; by the server they are now; each of the two
 * alone leaves the other. */
TEST(wire_setattr, times)
{
	static const nfstime3 v[] = {
	    {0, 0}, {1, 999999999}, {INT32_MAX, 1}, {1u << 31, 500}, {UINT32_MAX, 999999999}};
	nfs_fh3 fh;
	struct bed *b = make(&fh);

	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		sattr3 s = set_nothing();

		s.mtime = (set_mtime){SET_TO_CLIENT_TIME, {v[i]}};
		CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
		struct stat st = bed_stat(b, "a/file");
		nfstime3 is = time3(&st.st_mtim);
		CU_ASSERT_EQUAL(memcmp(&is, &v[i], sizeof is), 0);
		s = set_nothing();
		s.atime = (set_atime){SET_TO_CLIENT_TIME, {v[i]}};
		CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
		st = bed_stat(b, "a/file");
		nfstime3 a = time3(&st.st_atim), m = time3(&st.st_mtim);
		CU_ASSERT_EQUAL(memcmp(&a, &v[i], sizeof a), 0);
		CU_ASSERT_EQUAL(memcmp(&m, &v[i], sizeof m), 0);
	}
	sattr3 s = {.mtime = {.set_it = SET_TO_SERVER_TIME}};
	struct timespec from = coarse();
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
	struct stat st = bed_stat(b, "a/file");
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	CU_ASSERT(!before(&st.st_mtim, &from) && !before(&now, &st.st_mtim));
	CU_ASSERT_EQUAL((uint32_t)st.st_atim.tv_sec, UINT32_MAX);
	s = (sattr3){.atime = {.set_it = SET_TO_SERVER_TIME}};
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &s, NULL), NFS3_OK);
	st = bed_stat(b, "a/file");
	CU_ASSERT(!before(&st.st_atim, &from));
	bed_free(b);
}

/* What cannot be set is refused, and nothing of the call is done: no nanoseconds over 999999999, no
 * id of -1, no size of what is no file or over 2^63-1, no way of setting a time that is not
 * known. */
TEST(wire_setattr, refused)
{
	nfs_fh3 fh, dir, link, fifo;
	struct bed *b = make(&fh);
	struct {
		sattr3 s;
		int want;
	} v[] = {
	    {{.mtime = {SET_TO_CLIENT_TIME, {{1, 1000000000}}}}, NFS3ERR_INVAL},
	    {{.atime = {SET_TO_CLIENT_TIME, {{1, UINT32_MAX}}}}, NFS3ERR_INVAL},
	    {{.uid = {TRUE, {UINT32_MAX}}}, NFS3ERR_INVAL},
	    {{.gid = {TRUE, {UINT32_MAX}}}, NFS3ERR_INVAL},
	    {{.size = {TRUE, {1ull << 63}}}, NFS3ERR_FBIG},
	    {{.size = {TRUE, {UINT64_MAX}}}, NFS3ERR_FBIG},
	    {{.size = {TRUE, {INT64_MAX}}}, NFS3ERR_FBIG}, /* ext4 and xfs end before */
	    {{.atime = {.set_it = 3}}, NFS3ERR_INVAL},
	    {{.mtime = {.set_it = (time_how)-1}}, NFS3ERR_INVAL},
	};
	struct stat was = bed_stat(b, "a/file");

	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		v[i].s.mode = (set_mode3){TRUE, {0}};
		CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &v[i].s, NULL), v[i].want);
	}
	struct stat is = bed_stat(b, "a/file");
	CU_ASSERT(was.st_mode == is.st_mode && was.st_size == is.st_size &&
		  was.st_ctim.tv_nsec == is.st_ctim.tv_nsec);

	sattr3 size = set_size(0), mode = set_mode(0777);
	bed_mkdir(b, "a/dir", 0700);
	CU_ASSERT_EQUAL(symlink("file", bed_path(b, "a/link")), 0);
	CU_ASSERT_EQUAL(mkfifo(bed_path(b, "a/fifo"), 0600), 0);
	dir = bed_fh(b, &b->root_a, "dir");
	link = bed_fh(b, &b->root_a, "link");
	fifo = bed_fh(b, &b->root_a, "fifo");
	CU_ASSERT_EQUAL(do_setattr(b, "a/dir", &dir, &size, NULL), NFS3ERR_ISDIR);
	CU_ASSERT_EQUAL(do_setattr(b, "a/link", &link, &size, NULL), NFS3ERR_INVAL);
	CU_ASSERT_EQUAL(do_setattr(b, "a/fifo", &fifo, &size, NULL), NFS3ERR_INVAL);
	/* what a link leads to is never touched */
	CU_ASSERT_EQUAL(do_setattr(b, "a/link", &link, &mode, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, was.st_mode);
	CU_ASSERT_EQUAL(do_setattr(b, "a/fifo", &fifo, &mode, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/fifo").st_mode, S_IFIFO | 0777);
	bed_free(b);
}

/* Who may: the owner sets mode and times, whoever may write the size and both times to now; nobody
 * else does, and nobody but root gives files away. */
TEST(wire_setattr, who)
{
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	const sattr3 mode = set_mode(0664), size = set_size(4),
		     then = {.mtime = {SET_TO_CLIENT_TIME, {{5, 0}}}},
		     now = {.atime = {.set_it = SET_TO_SERVER_TIME},
			    .mtime = {.set_it = SET_TO_SERVER_TIME}},
		     give = {.uid = {TRUE, {OTHER}}}, chgrp = {.gid = {TRUE, {GROUP}}};

	bed_give(b, "a/file", 0660, OWNER, GROUP);
	bed_as(b, OTHER, GROUP);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &mode, NULL), NFS3ERR_PERM);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &then, NULL), NFS3ERR_PERM);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &give, NULL), NFS3ERR_PERM);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &size, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &now, NULL), NFS3_OK);
	bed_as(b, OTHER, OTHER);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &size, NULL), NFS3ERR_ACCES);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &now, NULL), NFS3ERR_ACCES);
	bed_as(b, OWNER, OTHER);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &give, NULL), NFS3ERR_PERM);
	bed_give(b, "a/file", 0440, OWNER, OTHER);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &size, NULL), NFS3_OK); /* whatever the mode */
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &then, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &chgrp, NULL), NFS3ERR_PERM);
	b->gids[b->ngids++] = GROUP;
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &chgrp, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &mode, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, S_IFREG | 0664);
	bed_free(b);
}

/* setuid and setgid bits go with the size and the owner, for everybody for whom they go locally:
 * the owner is no exception, root is with the size only. */
TEST(wire_setattr, special_bits)
{
	nfs_fh3 fh;
	struct bed *b = make(&fh);
	const sattr3 size = set_size(4), chown = {.uid = {TRUE, {OTHER}}},
		     same = {.gid = {TRUE, {GROUP}}};

	bed_give(b, "a/file", 06755, OWNER, GROUP);
	bed_as(b, OWNER, GROUP);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &size, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, S_IFREG | 0755);
	bed_give(b, "a/file", 06755, OWNER, GROUP);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &same, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, S_IFREG | 0755);
	bed_as(b, 0, 0);
	bed_give(b, "a/file", 06755, OWNER, GROUP);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &size, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, S_IFREG | 06755);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &chown, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, S_IFREG | 0755);
	bed_give(b, "a/file", 02644, OWNER, GROUP); /* not executable by its group */
	bed_as(b, OWNER, GROUP);
	CU_ASSERT_EQUAL(do_setattr(b, "a/file", &fh, &size, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(bed_stat(b, "a/file").st_mode, S_IFREG | 02644);
	bed_free(b);
}
