/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring file of the duplicate request cache: restarts, damage, full disks. What a kill leaves
 * behind is test-drc-kill.c's. */
#include "drcbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 4096, SLOT = sizeof(struct ring_slot) };

/* One slot after the other: where a call's slot is, is known. */
static const struct drc_opts small = {.slots = 8, .shards = 1};

/* A new server finds every reply of the former one, byte for byte, whatever its length, and goes on
 * from there: what it keeps itself is younger than what it found. */
TEST(drc_ring, restart)
{
	struct drc_dir dir = make_drc_dir();
	struct drc *d = open_quiet(dir.path, NULL);
	struct drc_info info;
	struct stat st;

	for (unsigned i = 0; i < 800; i++) {
		struct drc_key k = key_of(d, i % 7, i);

		done(d, &k, i);
	}
	drc_info(d, &info);
	CU_ASSERT(info.lasting && info.recovered == 0);
	drc_close(d);
	CU_ASSERT(stat(dir.ring, &st) == 0 && (st.st_mode & 07777) == 0600);
	CU_ASSERT_EQUAL(st.st_size, HEAD + DRC_SLOTS * SLOT);
	CU_ASSERT(st.st_blocks * 512 >= st.st_size); /* nothing of it waits for a free block */
	for (int round = 0; round < 2; round++) {
		d = open_quiet(dir.path, NULL);
		drc_info(d, &info);
		CU_ASSERT(info.recovered == 800 && info.unfinished == 0 && info.clients == 7);
		for (unsigned i = 0; i < 800; i++) {
			struct drc_key k = key_of(d, i % 7, i);

			CU_ASSERT_EQUAL(seen(d, &k, i), DRC_DONE);
		}
		drc_close(d);
	}
	drop_drc_dir(&dir);
}

/* After a restart too, the oldest goes first and a client's newest stays, though slots are filled
 * in another order by then. */
TEST(drc_ring, order_survives)
{
	struct drc_dir dir = make_drc_dir();
	struct drc *d = open_quiet(dir.path, &small);
	struct drc_key k;

	for (unsigned i = 0; i < 21; i++) {
		k = key_of(d, 1, i);
		done(d, &k, i);
	}
	for (unsigned i = 21; i < 40; i++) {
		drc_close(d);
		d = open_quiet(dir.path, &small);
		k = key_of(d, 1, i);
		done(d, &k, i);
		for (unsigned j = 0; j <= i; j++) {
			k = key_of(d, 1, j);
			CU_ASSERT_EQUAL(seen(d, &k, j) == DRC_DONE, j + 8 > i);
		}
	}
	drc_close(d);
	drop_drc_dir(&dir);
}

static uint64_t
wall_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A call that had begun when the server died is given out once more, with the time when it began,
 * for as many deaths as it takes; giving it up changes nothing of that; its reply is then kept. */
TEST(drc_ring, unfinished_is_given_out_again)
{
	struct drc_dir dir = make_drc_dir();
	struct drc *d = open_quiet(dir.path, &small);
	struct drc_key k = key_of(d, 1, 1), other;
	uint64_t from = wall_ns(CLOCK_REALTIME_COARSE), began;
	struct drc_claim c, c2;
	struct drc_info info;

	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
	CU_ASSERT_FALSE(c.after_crash);
	began = c.intent_ns;
	CU_ASSERT(began >= from && began <= wall_ns(CLOCK_REALTIME));
	for (int deaths = 0; deaths < 3; deaths++) {
		drc_close(d); /* writes nothing: the file is as after a kill */
		d = open_quiet(dir.path, &small);
		drc_info(d, &info);
		CU_ASSERT(info.unfinished == 1 && info.recovered == 0);
		CU_ASSERT_EQUAL(seen(d, &k, 0), DRC_MISS);
		CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
		CU_ASSERT(c.after_crash && c.intent_ns == began);
		CU_ASSERT_EQUAL(drc_claim(d, &k, &c2), EBUSY);
		drc_abandon(d, &c);
		CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
		CU_ASSERT(c.after_crash && c.intent_ns == began);
	}
	other = key_of(d, 1, 2);
	CU_ASSERT_EQUAL(drc_claim(d, &other, &c2), 0);
	CU_ASSERT_FALSE(c2.after_crash);
	drc_abandon(d, &c2); /* this one leaves nothing behind */
	drc_finish(d, &c, "fin", 3, false);
	drc_close(d);
	d = open_quiet(dir.path, &small);
	drc_info(d, &info);
	CU_ASSERT(info.unfinished == 0 && info.recovered == 1);
	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), EBUSY);
	drc_close(d);
	drop_drc_dir(&dir);
}

/* A reply too long for a slot: the intent stays, also over a restart. */
TEST(drc_ring, long_reply_leaves_its_intent)
{
	struct drc_dir dir = make_drc_dir();
	struct drc *d = open_quiet(dir.path, &small);
	struct drc_key k = key_of(d, 1, 1);
	char big[RING_REPLY + 1] = "";
	struct drc_claim c;

	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
	drc_finish(d, &c, big, sizeof big, false);
	drc_close(d);
	d = open_quiet(dir.path, &small);
	CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
	CU_ASSERT(c.after_crash);
	drc_abandon(d, &c);
	drc_close(d);
	drop_drc_dir(&dir);
}

/* ---- damage ---- */

static void
flip(const struct drc_dir *dir, off_t at, unsigned char bits)
{
	int fd = open(dir->ring, O_RDWR | O_CLOEXEC);
	unsigned char b = 0;

	CU_ASSERT_EQUAL(pread(fd, &b, 1, at), 1);
	b ^= bits;
	CU_ASSERT_EQUAL(pwrite(fd, &b, 1, at), 1);
	close(fd);
}

/* What became of a done call whose slot was damaged at one byte: never a wrong reply. 1: its
 * reply; 2: it may have run; 0: it is unknown. */
static int
after_damage(const struct drc_dir *dir, uint64_t seed)
{
	struct drc *d = open_quiet(dir->path, &small);
	struct drc_key k = key_of(d, 1, 1);
	struct drc_claim c;
	int what = 1;

	if (seen(d, &k, seed) == DRC_MISS && drc_claim(d, &k, &c) == 0) {
		what = c.after_crash ? 2 : 0;
		drc_abandon(d, &c);
	}
	drc_close(d);
	return what;
}

/* Any byte of a slot damaged: in the intent, the call is unknown; in the reply, it is known to have
 * begun, and the reply is not used; behind the reply, nothing is lost. */
TEST(drc_ring, damaged_slots)
{
	enum { SEED = 3 };
	struct drc_dir dir = make_drc_dir();
	char reply[RING_REPLY];
	size_t len = reply_of(SEED, reply);
	const off_t intent = offsetof(struct ring_slot, len),
		    spare = offsetof(struct ring_slot, spare),
		    body = offsetof(struct ring_slot, reply);

	for (off_t at = 0; at < SLOT; at++) {
		struct drc *d = open_quiet(dir.path, &small);
		struct drc_key k = key_of(d, 1, 1);

		done(d, &k, SEED);
		drc_close(d);
		flip(&dir, HEAD + at, (unsigned char)(1 << at % 8));
		int want = at < intent						  ? 0
			   : at < spare || (at >= body && at < body + (off_t)len) ? 2
										  : 1;
		int got = after_damage(&dir, SEED);

		if (at < 8) /* the state word: what the sums prove, when it names a state */
			CU_ASSERT(got == 0 || got == 2)
		else
			CU_ASSERT_EQUAL(got, want);
		CU_ASSERT_EQUAL(remove(dir.ring), 0);
	}
	drc_close(open_quiet(dir.path, &small));
	drop_drc_dir(&dir);
}

/* A slot of one file copied over another slot, and a reply behind another call's intent, prove
 * nothing. */
TEST(drc_ring, replies_do_not_change_places)
{
	struct drc_dir dir = make_drc_dir();
	struct drc *d = open_quiet(dir.path, &small);
	struct drc_key a = key_of(d, 1, 1), b = key_of(d, 1, 2);
	struct ring_slot slot[2];
	struct drc_claim c;
	int fd;

	done(d, &a, 10);
	done(d, &b, 20);
	drc_close(d);
	fd = open(dir.ring, O_RDWR | O_CLOEXEC);
	CU_ASSERT_EQUAL(pread(fd, slot, sizeof slot, HEAD), (ssize_t)sizeof slot);
	slot[0].len = slot[1].len;
	slot[0].failed = slot[1].failed;
	slot[0].reply_sum = slot[1].reply_sum;
	memcpy(slot[0].reply, slot[1].reply, sizeof slot[0].reply);
	CU_ASSERT_EQUAL(pwrite(fd, slot, sizeof *slot, HEAD), (ssize_t)sizeof *slot);
	close(fd);
	d = open_quiet(dir.path, &small);
	CU_ASSERT_EQUAL(seen(d, &a, 10), DRC_MISS);
	CU_ASSERT_EQUAL_FATAL(drc_claim(d, &a, &c), 0);
	CU_ASSERT(c.after_crash);
	CU_ASSERT_EQUAL(seen(d, &b, 20), DRC_DONE);
	drc_abandon(d, &c);
	drc_close(d);
	drop_drc_dir(&dir);
}

/* Opens what is no good ring: it says why, and serves, in a new file that then lasts. */
static void
made_anew(const struct drc_dir *dir, const char *why)
{
	char msg[400];
	struct drc *d = drc_open(dir->path, &small, msg, sizeof msg);
	struct drc_info info;
	struct drc_key k;

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	CU_ASSERT_PTR_NOT_NULL(strstr(msg, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(msg, dir->ring));
	CU_ASSERT_PTR_NOT_NULL(strstr(msg, "made anew"));
	drc_info(d, &info);
	CU_ASSERT(info.lasting && info.recovered == 0 && info.unfinished == 0);
	k = key_of(d, 1, 1);
	CU_ASSERT_EQUAL(seen(d, &k, 1), DRC_MISS);
	done(d, &k, 1);
	drc_close(d);
	d = open_quiet(dir->path, &small);
	CU_ASSERT_EQUAL(seen(d, &k, 1), DRC_DONE);
	drc_close(d);
}

/* A ring of another version or shape, cut short, longer, empty or with a damaged head is replaced,
 * and the log is told which. */
TEST(drc_ring, unusable_files)
{
	struct drc_dir dir = make_drc_dir();
	struct drc *d = open_quiet(dir.path, &(struct drc_opts){.slots = 16, .shards = 1});

	drc_close(d);
	made_anew(&dir, "bytes long");
	drc_close(open_quiet(dir.path, &small));
	flip(&dir, 8, 3); /* version 1 -> 2 */
	made_anew(&dir, "has version 2, not 1");
	flip(&dir, 0, 1);
	made_anew(&dir, "is damaged");
	for (off_t at = 12; at < 48; at++) {
		flip(&dir, at, 0x10);
		made_anew(&dir, "is damaged");
	}
	CU_ASSERT_EQUAL(truncate(dir.ring, HEAD + 3 * SLOT), 0);
	made_anew(&dir, "bytes long");
	CU_ASSERT_EQUAL(truncate(dir.ring, 0), 0);
	made_anew(&dir, "is 0 bytes long");
	CU_ASSERT_EQUAL(truncate(dir.ring, 1 << 20), 0);
	made_anew(&dir, "bytes long");
	/* as many slots, divided otherwise */
	CU_ASSERT_EQUAL(remove(dir.ring), 0);
	drc_close(open_quiet(dir.path, &(struct drc_opts){.slots = 8, .shards = 2}));
	made_anew(&dir, "another shape");
	drop_drc_dir(&dir);
}

/* A file that others could write or read, or that is none, is not used; it is replaced, never
 * followed. */
TEST(drc_ring, foreign_files)
{
	struct drc_dir dir = make_drc_dir();
	char other[64];
	struct stat st;

	drc_close(open_quiet(dir.path, &small));
	CU_ASSERT_EQUAL(chmod(dir.ring, 0640), 0);
	made_anew(&dir, "not this server's alone");
	snprintf(other, sizeof other, "%s/other", dir.path);
	CU_ASSERT_EQUAL(rename(dir.ring, other), 0);
	CU_ASSERT_EQUAL(symlink(other, dir.ring), 0);
	made_anew(&dir, "cannot be opened");
	CU_ASSERT(lstat(dir.ring, &st) == 0 && S_ISREG(st.st_mode));
	CU_ASSERT_EQUAL(remove(dir.ring), 0);
	CU_ASSERT_EQUAL(link(other, dir.ring), 0);
	made_anew(&dir, "not this server's alone");
	CU_ASSERT_EQUAL(remove(other), 0);
	CU_ASSERT_EQUAL(remove(dir.ring), 0);
	CU_ASSERT_EQUAL(mkfifo(dir.ring, 0600), 0);
	made_anew(&dir, "no regular file");
	drop_drc_dir(&dir);
}

/* A ring that was copied by something that leaves out zeros gets its blocks back: none of its pages
 * may wait for a free block when the disk is full. */
TEST(drc_ring, holes_are_filled)
{
	const struct drc_opts one = {.shards = 1}; /* its first call is in the first slot */
	struct drc_dir dir = make_drc_dir();
	struct drc *d = open_quiet(dir.path, &one);
	struct drc_key k = key_of(d, 1, 1);
	struct stat st;
	int fd;

	done(d, &k, 1);
	drc_close(d);
	fd = open(dir.ring, O_RDWR | O_CLOEXEC);
	CU_ASSERT_EQUAL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 20, 1 << 20),
			0);
	CU_ASSERT(fstat(fd, &st) == 0 && st.st_blocks * 512 < st.st_size);
	d = open_quiet(dir.path, &one);
	CU_ASSERT(fstat(fd, &st) == 0 && st.st_blocks * 512 >= st.st_size);
	CU_ASSERT_EQUAL(seen(d, &k, 1), DRC_DONE);
	drc_close(d);
	close(fd);
	drop_drc_dir(&dir);
}

static void
check_memory_only(const char *path, const char *why)
{
	char msg[400];
	struct drc *d = drc_open(path, NULL, msg, sizeof msg);
	struct drc_info info;
	struct drc_key k;

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	CU_ASSERT_PTR_NOT_NULL(strstr(msg, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(msg, "cannot be made"));
	drc_info(d, &info);
	CU_ASSERT_FALSE(info.lasting);
	k = key_of(d, 1, 1);
	done(d, &k, 1);
	CU_ASSERT_EQUAL(seen(d, &k, 1), DRC_DONE);
	drc_close(d);
}

/* Where no file can be, the server is told so, and keeps replies in memory. */
TEST(drc_ring, no_place_for_a_file)
{
	struct drc_dir dir = make_drc_dir();

	check_memory_only("/nonexistent/state", "No such file");
	CU_ASSERT_EQUAL(mkdir(dir.ring, 0700), 0);
	check_memory_only(dir.path, "Is a directory");
	drop_drc_dir(&dir);
}

/* In a mount namespace of its own: a disk of 1 MiB. 0 when all is right, 77 when it cannot be. */
static int
full_disk(const char *path, const char *ring)
{
	char msg[400];
	struct drc_info info;
	struct drc *d;
	int right;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", path, "tmpfs", 0, "size=1m"))
		return 77;
	d = drc_open(path, NULL, msg, sizeof msg);
	if (!d)
		return 1;
	drc_info(d, &info);
	struct drc_key k = key_of(d, 1, 1);

	done(d, &k, 4);
	right = !info.lasting && strstr(msg, "No space left") && strstr(msg, ring) &&
		access(ring, F_OK) < 0 && seen(d, &k, 4) == DRC_DONE;
	drc_close(d);
	if (mount("none", path, "tmpfs", MS_REMOUNT, "size=8m"))
		return 77;
	d = drc_open(path, NULL, msg, sizeof msg);
	drc_info(d, &info);
	right = right && info.lasting && *msg == '\0';
	drc_close(d);
	return right ? 0 : 1;
}

/* A full disk: the server says what is missing and serves from memory, and no half-made file stays
 * behind; when there is room again the next start makes it. */
TEST(drc_ring, full_disk)
{
	struct drc_dir dir = make_drc_dir();
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(full_disk(dir.path, dir.ring));
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		printf("drc_ring/full_disk: not run: needs root to mount a small disk\n");
	else
		CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CU_ASSERT_EQUAL(rmdir(dir.path), 0);
}
