/* SPDX-License-Identifier: BSD-2-Clause */
/* The duplicate request cache of a server that is killed: at any instruction, and at random among
 * threads. */
#include "drcbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void *
shared_memory(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_FATAL(p != MAP_FAILED);
	return p;
}

/* ---- at any instruction ---- */

/* Two slots: the newest call of a client, the oldest, which must make room for the one that is
 * taken apart here. */
static const struct drc_opts two = {.slots = 2, .shards = 1};
enum { OLD = 11, STAYS = 12, STEPPED = 14, RING_BYTES = 4096 + 2 * sizeof(struct ring_slot) };

struct steps {
	int claimed, finished; /* the call has returned */
};

static void
be_stepped(const char *dir, struct steps *s)
{
	char msg[400], reply[RING_REPLY];
	struct drc *d = drc_open(dir, &two, msg, sizeof msg);
	struct drc_key k = key_of(d, 1, OLD);
	size_t n = reply_of(STEPPED, reply);
	struct drc_claim c;

	done(d, &k, OLD);
	k = key_of(d, 1, STAYS);
	done(d, &k, STAYS);
	k = key_of(d, 1, STEPPED);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	if (drc_claim(d, &k, &c) != 0)
		_exit(1);
	s->claimed = 1;
	drc_finish(d, &c, reply, n, STEPPED % 2);
	s->finished = 1;
	_exit(0);
}

/* What a new server makes of a call. */
enum known { UNKNOWN, LOST, DONE };

static enum known
known(struct drc *d, uint32_t xid)
{
	struct drc_key k = key_of(d, 1, xid);
	enum known what = UNKNOWN;
	struct drc_claim c;

	if (seen(d, &k, xid) == DRC_DONE)
		return DONE;
	if (drc_claim(d, &k, &c) != 0) {
		CU_FAIL("a call neither known nor free");
		return what;
	}
	what = c.after_crash ? LOST : UNKNOWN;
	drc_abandon(d, &c);
	return what;
}

struct outcome {
	enum known stepped, old;
};

/* A new server on a copy of the ring as it is now. */
static struct outcome
start_on(const struct drc_dir *copy, const char *ring)
{
	int fd = open(copy->ring, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct outcome o;
	struct drc *d;

	CU_ASSERT_EQUAL(write(fd, ring, RING_BYTES), RING_BYTES);
	close(fd);
	d = open_quiet(copy->path, &two);
	CU_ASSERT_EQUAL(known(d, STAYS), DONE);
	/* the rest in the order in which asking changes nothing of what is asked next */
	o.stepped = known(d, STEPPED);
	drc_close(d);
	fd = open(copy->ring, O_WRONLY | O_TRUNC | O_CLOEXEC);
	CU_ASSERT_EQUAL(write(fd, ring, RING_BYTES), RING_BYTES);
	close(fd);
	d = open_quiet(copy->path, &two);
	o.old = known(d, OLD);
	drc_close(d);
	return o;
}

static bool
one_step(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0)
		return false;
	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
}

/* Steps through claim and finish; the number of different rings seen. */
static unsigned
step_through(pid_t pid, const struct drc_dir *dir, const struct drc_dir *copy,
	     volatile struct steps *s)
{
	static char last[RING_BYTES];
	int fd = open(dir->ring, O_RDONLY | O_CLOEXEC);
	char *ring = mmap(NULL, RING_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	enum known was = UNKNOWN;
	unsigned rings = 0;
	int flags = -1;

	close(fd);
	CU_ASSERT_FATAL(ring != MAP_FAILED);
	do {
		if (flags == s->claimed + s->finished && memcmp(last, ring, RING_BYTES) == 0)
			continue;
		flags = s->claimed + s->finished;
		memcpy(last, ring, RING_BYTES);
		rings++;
		struct outcome o = start_on(copy, last);

		CU_ASSERT(o.stepped >= was); /* it never becomes less known */
		CU_ASSERT(o.stepped >= (s->finished ? DONE : s->claimed ? LOST : UNKNOWN));
		CU_ASSERT(o.old != LOST);
		CU_ASSERT(o.stepped == UNKNOWN || o.old == UNKNOWN);
		was = o.stepped;
	} while (one_step(pid));
	CU_ASSERT(s->claimed && s->finished);
	munmap(ring, RING_BYTES);
	return rings;
}

/* Killed after any single instruction between the beginning of a claim and the end of its finish, a
 * server leaves behind a ring from which the next one knows: the call that was pushed out, whole or
 * not at all; the new one, from the moment its claim returns, at least as begun, from the moment
 * finish returns with its reply; and never a wrong byte. */
TEST(drc_kill, after_any_instruction)
{
	struct drc_dir dir = make_drc_dir(), copy = make_drc_dir();
	struct steps *s = shared_memory(sizeof *s);
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		be_stepped(dir.path, s);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status)) {
		CU_FAIL("the child could not be traced");
	} else {
		unsigned rings = step_through(pid, &dir, &copy, s);

		CU_ASSERT(rings > 20); /* the steps were seen one by one */
	}
	munmap(s, sizeof *s);
	drop_drc_dir(&copy);
	drop_drc_dir(&dir);
}

/* ---- at random ---- */

enum { WRITERS = 3, BACK = 200 };

struct progress {
	uint32_t base; /* number of the first call, less 1 */
	struct {
		uint64_t claimed, finished; /* the newest call for which it has returned */
	} of[WRITERS];
};

struct writer {
	struct drc *d;
	struct progress *p;
	unsigned i;
};

static void *
write_on(void *arg)
{
	struct writer *w = arg;
	char reply[RING_REPLY];
	struct drc_claim c;

	for (uint32_t x = w->p->base + 1;; x++) {
		struct drc_key k = key_of(w->d, w->i, x);
		size_t n = reply_of(x, reply);

		if (drc_claim(w->d, &k, &c) != 0)
			_exit(1);
		__atomic_store_n(&w->p->of[w->i].claimed, x, __ATOMIC_RELEASE);
		drc_finish(w->d, &c, reply, n, x % 2);
		__atomic_store_n(&w->p->of[w->i].finished, x, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void
write_until_killed(const char *dir, struct progress *p)
{
	char msg[400];
	struct writer w[WRITERS];
	pthread_t t;

	/* its own cache: the parent has none open while it runs */
	struct drc *d = drc_open(dir, NULL, msg, sizeof msg);

	for (unsigned i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){d, p, i};
		if (i > 0)
			pthread_create(&t, NULL, write_on, &w[i]);
	}
	write_on(&w[0]);
}

static bool
far_enough(struct progress *p, uint64_t calls)
{
	bool all = true;

	for (unsigned i = 0; i < WRITERS; i++)
		all =
		    all && __atomic_load_n(&p->of[i].finished, __ATOMIC_ACQUIRE) >= p->base + calls;
	return all;
}

/* Kills the child when every thread has done that many calls. False: it ended by itself. */
static bool
kill_at(pid_t pid, struct progress *p, uint64_t calls)
{
	int status = 0;

	while (!far_enough(p, calls)) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return false;
		sched_yield();
	}
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

/* What the next server knows of a thread's calls; 1 when its last one was cut off. */
static unsigned
check_writer(struct drc *d, const struct progress *p, unsigned i)
{
	uint64_t claimed = p->of[i].claimed, finished = p->of[i].finished, x = p->base + 1;
	struct drc_claim c;
	unsigned cut = 0;

	for (x = finished > x + BACK ? finished - BACK : x; x <= finished; x++) {
		struct drc_key k = key_of(d, i, (uint32_t)x);

		CU_ASSERT_EQUAL(seen(d, &k, x), DRC_DONE);
	}
	struct drc_key k = key_of(d, i, (uint32_t)finished + 1);

	if (seen(d, &k, finished + 1) == DRC_MISS) {
		CU_ASSERT_EQUAL(drc_claim(d, &k, &c), 0);
		CU_ASSERT(c.after_crash || claimed == finished);
		cut = c.after_crash;
		drc_abandon(d, &c);
	}
	k = key_of(d, i, (uint32_t)finished + 2);
	CU_ASSERT_EQUAL(seen(d, &k, finished + 2), DRC_MISS);
	return cut;
}

/* Servers whose threads keep calls as fast as they can are killed at random, on one ring that they
 * inherit from each other: every reply that was kept is there, every call that had begun is known,
 * and nothing else is. */
TEST(drc_kill, at_random_among_threads)
{
	struct drc_dir dir = make_drc_dir();
	struct progress *p = shared_memory(sizeof *p);
	unsigned rounds = check_full() ? 500 : 40, cut = 0;
	struct drc_info info;

	srand(1);
	for (unsigned r = 0; r < rounds; r++) {
		p->base = r * 1000000;
		for (unsigned i = 0; i < WRITERS; i++)
			p->of[i].claimed = p->of[i].finished = p->base;
		pid_t pid = fork();

		if (pid == 0) {
			write_until_killed(dir.path, p);
			_exit(2);
		}
		CU_ASSERT_FATAL(kill_at(pid, p, (uint64_t)rand() % 3000 + 1));
		struct drc *d = open_quiet(dir.path, NULL);

		drc_info(d, &info);
		CU_ASSERT(info.unfinished <= cut + WRITERS);
		for (unsigned i = 0; i < WRITERS; i++)
			cut += check_writer(d, p, i);
		drc_close(d);
	}
	CU_ASSERT(cut > 0); /* some were hit in the middle */
	munmap(p, sizeof *p);
	drop_drc_dir(&dir);
}
