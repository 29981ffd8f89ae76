/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PEER_H
#define PEER_H
/* Addresses of peers and of ourselves. */
#include "call.h"
#include <stdint.h>
#include <sys/socket.h>

/* Fills in who is at that address; v4-mapped addresses become IPv4. */
void peer_init(struct peer *, const struct sockaddr_storage *);
/* An address of this machine itself: 127.0.0.0/8, ::1, v4-mapped or not. */
bool peer_is_local(const struct sockaddr_storage *);
/* Sets the port of an IPv4 or IPv6 address. */
void peer_set_port(struct sockaddr_storage *, uint16_t port);

#endif
