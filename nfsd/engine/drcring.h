/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DRCRING_H
#define DRCRING_H
/*
 * The slots of the duplicate request cache, in a file that is mapped shared: what a killed server
 * had written is still there for the next one.
 *
 * A slot holds one call: who asked what (its key), when it began (the intent), and, once it is
 * done, the reply. The state word is the last thing written in each step, and each step has its own
 * keyed checksum. A kill therefore leaves the slot free, with an intent, or done; a slot that says
 * otherwise than its checksums (a damaged file) is worth what its checksums still prove.
 *
 * It outlives the process, not the machine's power: nothing is synced, so after a power cut slots
 * may be of any age, or damaged, and the checksums sort that out. The file is preallocated, and it
 * must not be truncated while the server runs: touching a mapped page that is gone is fatal.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_NAME "drc.ring"
#define RING_REPLY 512 /* bytes of a reply a slot can hold */

/* What makes two calls the same call. No padding: compared and hashed as bytes. */
struct drc_key {
	uint64_t client;  /* keyed hash of addr, scope, family */
	uint8_t addr[16]; /* the peer's, no port; IPv4: the first 4 */
	uint32_t scope;	  /* of a link-local IPv6 address */
	uint16_t family;
	uint8_t low_port; /* source port below 1024 */
	uint8_t datagram;
	uint32_t xid, prog, vers, proc;
	uint32_t flavor, len; /* bytes of the arguments */
	uint64_t args;	      /* keyed hash of their first DRC_HASHED bytes */
	uint64_t cred;	      /* keyed hash of the identity claimed */
};
_Static_assert(sizeof(struct drc_key) == 72, "struct drc_key has padding");

enum ring_state { RING_FREE, RING_INTENT, RING_DONE };

struct ring_slot {
	uint64_t state; /* enum ring_state; written last */
	uint64_t seq;	/* order of beginning, across restarts */
	struct drc_key key;
	uint64_t intent_ns;  /* CLOCK_REALTIME_COARSE when it began */
	uint64_t intent_sum; /* of seq, key, intent_ns */
	uint32_t len, failed;
	uint64_t reply_sum; /* of seq, len, failed, reply */
	uint64_t spare;
	char reply[RING_REPLY];
};
_Static_assert(sizeof(struct ring_slot) == 128 + RING_REPLY, "struct ring_slot has padding");

struct ring {
	struct ring_slot *slot;
	unsigned nslots;
	uint8_t key[16]; /* of all its hashes; as old as the file */
	bool lasting;	 /* a file is behind it */
	void *map;
	size_t bytes;
};

/*
 * Maps STATEDIR/drc.ring, making it when there is none or when it cannot be used (damaged, of
 * another format or shape, not ours alone); then, and when it cannot be made (disk full), msg says
 * so, else msg is "". Without a file, and for statedir NULL, the slots are plain memory. False only
 * when there is no memory. nslots and shards are the shape: another shape is another file.
 * The caller keeps other servers out of the state directory.
 */
bool ring_open(struct ring *, const char *statedir, unsigned nslots, unsigned shards, char *msg,
	       size_t size);
void ring_close(struct ring *);

/* Keyed hash (SipHash-2-4). */
uint64_t ring_hash(const struct ring *, const void *data, size_t n);

/* The steps of a slot. One thread at a time per slot; different slots are independent. */
void ring_intent(struct ring *, unsigned i, uint64_t seq, const struct drc_key *,
		 uint64_t intent_ns);
/* After ring_intent; len <= RING_REPLY. */
void ring_result(struct ring *, unsigned i, const void *reply, size_t len, bool failed);
void ring_free(struct ring *, unsigned i);
/* What a slot proves to hold. RING_INTENT also for a reply that is damaged behind a good intent;
 * the slot's state is set right. */
enum ring_state ring_read(struct ring *, unsigned i);

#endif
