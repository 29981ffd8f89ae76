/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UDP_H
#define UDP_H
/*
 * Datagrams, for the programs that clients ask over UDP (MOUNT: old mount programs, umount,
 * showmount). A datagram is one record without a mark; it runs in a worker and its reply leaves,
 * copied, from the address that was asked. What does not fit, or comes while UDP_CALLS are running,
 * is dropped: a client of UDP asks again. NFS itself is not served over UDP.
 */
#include "call.h"
#include "conf.h"
#include "pool.h"
#include <ev.h>

struct udp;

/* Binds the same addresses and port as the acceptor. NULL with a sentence in err. */
struct udp *udp_new(struct ev_loop *, const struct conf_addr *addrs, size_t n, uint16_t port,
		    struct engine *, struct pool *, char *err, size_t errlen);
/* Takes no more; call before the pool ends, and udp_free after it. */
void udp_stop(struct udp *);
void udp_free(struct udp *);

#endif
