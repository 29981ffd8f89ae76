/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DRCBOX_H
#define DRCBOX_H
/*
 * What the tests of the duplicate request cache share: calls to make keys of, replies that show
 * whose they are, a state directory.
 */
#include "check.h"
#include "drc.h"
#include "rpc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* All that a key is made of. */
struct asked {
	struct sockaddr_storage peer;
	bool datagram;
	struct rpc_call rc;
	const char *args;
	size_t n;
};
enum { ARGS_MAX = 6000 }; /* so many may be asked for */
/* A plain call of client number `client` (an IPv4 address, port 700). */
struct asked asked(unsigned client, uint32_t xid);
void asked_port(struct asked *, uint16_t port);
struct drc_key asked_key(const struct drc *, const struct asked *);
/* Its key, in short. */
struct drc_key key_of(const struct drc *, unsigned client, uint32_t xid);

/* The bytes that answer a call: its length and content follow from the seed. */
size_t reply_of(uint64_t seed, char buf[RING_REPLY]);

/* What the cache says, without changing anything: a miss, done (with exactly reply_of(seed): else a
 * failed check), or running. */
enum drc_seen seen(struct drc *, const struct drc_key *, uint64_t seed);
/* Claims and finishes with reply_of(seed). */
void done(struct drc *, const struct drc_key *, uint64_t seed);

/* Opens; a failed check when there is something to say. */
struct drc *open_quiet(const char *dir, const struct drc_opts *);

/* A directory that goes away with drop_dir. */
struct drc_dir {
	char path[40], ring[64];
};
struct drc_dir make_drc_dir(void);
void drop_drc_dir(struct drc_dir *);

#endif
