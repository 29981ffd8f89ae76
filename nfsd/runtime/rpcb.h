/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCB_H
#define RPCB_H
/*
 * Telling rpcbind where NFS 3 and MOUNT 1, 2, 3 are, for clients that ask it (showmount, Windows,
 * ESXi, a mount without port=). A convenience: whatever rpcbind does, or does not, is one line in
 * the log and never delays or fails the server.
 */
#include <stdbool.h>
#include <stdint.h>

struct registrar; /* "rpcb" itself is a type of libtirpc */

/*
 * Registers in a thread of its own, for tcp and (with v6) tcp6. Entries of a server that is gone
 * are replaced; those of one that still answers are left alone and reported. NULL when not even a
 * thread can be had (said in the log).
 */
struct registrar *rpcb_start(uint16_t port, bool v6);
/* Takes back what was registered; waits for it at most two seconds. NULL is ignored. */
void rpcb_stop(struct registrar *);

#endif
