/* SPDX-License-Identifier: BSD-2-Clause */
#include "drcring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

#define MAGIC "splicedR"
#define VERSION 1
#define HEAD 4096 /* bytes before the first slot: one page */

struct head {
	char magic[8];
	uint32_t version, slot_size, nslots, shards;
	uint8_t key[16];
	uint64_t sum; /* of all before; written last */
};

/*
 * Orders our stores as the compiler sees them. More is not needed: whoever reads them is either
 * this process, under a lock, or another one after this one's death, when every store that was
 * executed is visible.
 */
static void
step(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void
set_state(struct ring_slot *s, enum ring_state state)
{
	step();
	__atomic_store_n(&s->state, (uint64_t)state, __ATOMIC_RELAXED);
	step();
}

static uint64_t
hash(const uint8_t key[16], const void *data, size_t n)
{
	uint64_t h;

	_Static_assert(crypto_shorthash_BYTES == sizeof h && crypto_shorthash_KEYBYTES == 16,
		       "SipHash-2-4 is not what it was");
	crypto_shorthash((unsigned char *)&h, data, n, key);
	return h;
}

uint64_t
ring_hash(const struct ring *r, const void *data, size_t n)
{
	return hash(r->key, data, n);
}

/* ---- slots ---- */

static uint64_t
intent_sum(const struct ring *r, const struct ring_slot *s)
{
	_Static_assert(offsetof(struct ring_slot, intent_sum) - offsetof(struct ring_slot, seq) ==
			   16 + sizeof(struct drc_key),
		       "the intent is not one piece");
	return ring_hash(r, &s->seq, 16 + sizeof s->key);
}

/* The sequence number stands in for the intent: a reply proves itself for its own call only. */
static uint64_t
reply_sum(const struct ring *r, const struct ring_slot *s)
{
	const uint64_t parts[] = {s->seq, s->len, s->failed, ring_hash(r, s->reply, s->len)};

	return ring_hash(r, parts, sizeof parts);
}

void
ring_intent(struct ring *r, unsigned i, uint64_t seq, const struct drc_key *key, uint64_t intent_ns)
{
	struct ring_slot *s = &r->slot[i];

	set_state(s, RING_FREE);
	s->seq = seq;
	s->key = *key;
	s->intent_ns = intent_ns;
	s->intent_sum = intent_sum(r, s);
	set_state(s, RING_INTENT);
}

void
ring_result(struct ring *r, unsigned i, const void *reply, size_t len, bool failed)
{
	struct ring_slot *s = &r->slot[i];

	s->len = (uint32_t)len;
	s->failed = failed;
	memcpy(s->reply, reply, len);
	s->reply_sum = reply_sum(r, s);
	set_state(s, RING_DONE);
}

void
ring_free(struct ring *r, unsigned i)
{
	set_state(&r->slot[i], RING_FREE);
}

enum ring_state
ring_read(struct ring *r, unsigned i)
{
	struct ring_slot *s = &r->slot[i];
	uint64_t state = s->state;

	if ((state != RING_INTENT && state != RING_DONE) || s->intent_sum != intent_sum(r, s)) {
		ring_free(r, i);
		return RING_FREE;
	}
	if (state == RING_DONE && s->len <= RING_REPLY && s->reply_sum == reply_sum(r, s))
		return RING_DONE;
	set_state(s, RING_INTENT);
	return RING_INTENT;
}

/* ---- the file ---- */

static bool
map(struct ring *r, int fd, size_t bytes)
{
	int flags = MAP_POPULATE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		return false;
	r->map = p;
	r->bytes = bytes;
	r->slot = (struct ring_slot *)((char *)p + HEAD);
	/* if not allowed: a replay may wait for the disk */
	(void)mlock(p, bytes);
	return true;
}

static void
unmap(struct ring *r)
{
	if (r->map)
		munmap(r->map, r->bytes);
	r->map = NULL;
	r->slot = NULL;
}

static bool
check_head(const struct ring *r, const struct head *want, char *why, size_t size)
{
	struct head h;

	memcpy(&h, r->map, sizeof h);
	if (memcmp(h.magic, MAGIC, sizeof h.magic) != 0)
		return say(why, size, false, "is damaged");
	if (h.version != VERSION)
		return say(why, size, false, "has version %u, not %u", h.version, VERSION);
	if (h.sum != hash(h.key, &h, offsetof(struct head, sum)))
		return say(why, size, false, "is damaged");
	if (h.slot_size != want->slot_size || h.nslots != want->nslots || h.shards != want->shards)
		return say(why, size, false, "has another shape (%u slots of %u bytes)", h.nslots,
			   h.slot_size);
	return true;
}

/* The file there is. False: it cannot be used, because of why; "" when there is none. */
static bool
use_file(struct ring *r, int dir, const struct head *want, size_t bytes, char *why, size_t size)
{
	int fd = openat(dir, RING_NAME, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	bool ok;

	if (fd < 0)
		return errno == ENOENT
			   ? say(why, size, false, "%s", "")
			   : say(why, size, false, "cannot be opened (%s)", strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		ok = say(why, size, false, "is no regular file");
	else if (st.st_uid != geteuid() || (st.st_mode & 077) || st.st_nlink != 1)
		ok = say(why, size, false, "is not this server's alone");
	else if (st.st_size != (off_t)bytes)
		ok = say(why, size, false, "is %lld bytes long, not %zu", (long long)st.st_size,
			 bytes);
	else if (fallocate(fd, 0, 0, (off_t)bytes) < 0 && errno != EOPNOTSUPP)
		ok = say(why, size, false, "has holes (%s)", strerror(errno)); /* see reserve() */
	else if (!map(r, fd, bytes))
		ok = say(why, size, false, "cannot be mapped (%s)", strerror(errno));
	else
		ok = check_head(r, want, why, size);
	close(fd);
	if (ok)
		memcpy(r->key, ((struct head *)r->map)->key, sizeof r->key);
	else
		unmap(r);
	return ok;
}

/* Every block of the file, now: a page without one could not be written when the disk is full, and
 * the process would die of it. */
static bool
reserve(int fd, size_t bytes)
{
	static const char zeros[HEAD];

	if (fallocate(fd, 0, 0, (off_t)bytes) == 0)
		return true;
	if (errno != EOPNOTSUPP)
		return false;
	for (size_t off = 0; off < bytes; off += HEAD)
		if (pwrite(fd, zeros, bytes - off < HEAD ? bytes - off : HEAD, (off_t)off) < 0)
			return false;
	return true;
}

static void
write_head(struct ring *r, struct head *h)
{
	memcpy(h->key, r->key, sizeof h->key);
	h->sum = hash(h->key, h, offsetof(struct head, sum));
	step();
	memcpy(r->map, h, sizeof *h);
}

static bool
make_file(struct ring *r, int dir, struct head *h, size_t bytes)
{
	long nocow =
	    FS_NOCOW_FL; /* the size that the request names, though the kernel takes an int */
	int code, fd;

	if (unlinkat(dir, RING_NAME, 0) < 0 && errno != ENOENT)
		return false;
	fd = openat(dir, RING_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	/* btrfs would look for a new block at each writing; others do not know the flag */
	(void)ioctl(fd, FS_IOC_SETFLAGS, &nocow);
	if (fchmod(fd, 0600) == 0 && reserve(fd, bytes) && map(r, fd, bytes)) {
		close(fd);
		write_head(r, h);
		return true;
	}
	code = errno;
	close(fd);
	unlinkat(dir, RING_NAME, 0); /* a full disk gets its blocks back */
	errno = code;
	return false;
}

static bool
open_file(struct ring *r, const char *statedir, struct head *h, size_t bytes, char *msg,
	  size_t size)
{
	char why[120] = "";
	int dir = open(statedir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = dir >= 0 && use_file(r, dir, h, bytes, why, sizeof why);

	if (!ok && *why)
		say(msg, size, false,
		    "%s/" RING_NAME ": %s: made anew, replies given before are forgotten", statedir,
		    why);
	if (!ok && dir >= 0)
		ok = make_file(r, dir, h, bytes);
	if (!ok)
		say(msg, size, false,
		    "%s/" RING_NAME ": cannot be made (%s): after a restart of the server a "
		    "repeated call may be carried out twice; put that right (it takes %zu KiB) and "
		    "restart",
		    statedir, strerror(errno), bytes / 1024);
	if (dir >= 0)
		close(dir);
	return ok;
}

bool
ring_open(struct ring *r, const char *statedir, unsigned nslots, unsigned shards, char *msg,
	  size_t size)
{
	struct head h = {.version = VERSION,
			 .slot_size = sizeof(struct ring_slot),
			 .nslots = nslots,
			 .shards = shards};
	size_t bytes = HEAD + (size_t)nslots * sizeof(struct ring_slot);

	memset(r, 0, sizeof *r);
	say(msg, size, false, "%s", "");
	memcpy(h.magic, MAGIC, sizeof h.magic);
	if (sodium_init() < 0)
		return say(msg, size, false, "libsodium: no source of randomness");
	randombytes_buf(r->key, sizeof r->key);
	r->nslots = nslots;
	r->lasting = statedir && open_file(r, statedir, &h, bytes, msg, size);
	return r->lasting || map(r, -1, bytes);
}

void
ring_close(struct ring *r)
{
	unmap(r);
	sodium_memzero(r->key, sizeof r->key);
}
