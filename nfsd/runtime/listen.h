/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LISTEN_H
#define LISTEN_H
/*
 * The acceptor: listening sockets on the main thread's loop; each new connection goes to the loop
 * that moved the least bytes lately (and among equals has the fewest connections). No SO_REUSEPORT:
 * its hash puts whole clients on one loop, and a second server could bind silently. When
 * descriptors run out it pauses instead of spinning, and says so once.
 */
#include "conf.h"
#include "loop.h"
#include <ev.h>
#include <stddef.h>
#include <stdint.h>

struct listener;

/*
 * Binds every address of addrs (n may be 0: [::] dual stack, else 0.0.0.0) to port (0: one is
 * picked, the same for all addresses; *port says which). NULL with a sentence in err.
 */
struct listener *listener_new(struct ev_loop *, const struct conf_addr *addrs, size_t n,
			      uint16_t *port, struct loop *const *loops, unsigned nloops, char *err,
			      size_t errlen);
/* Accepts no more and frees. */
void listener_free(struct listener *);
/* Sockets that listen. */
unsigned listener_count(const struct listener *);

#endif
