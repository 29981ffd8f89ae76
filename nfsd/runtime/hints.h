/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HINTS_H
#define HINTS_H
/* The mount command that works, for each client system: the server is the one who knows every port
 * and option of it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

struct hint_export {
	const char *path; /* canonical */
	bool local;	  /* only this machine may mount it */
};

struct hints {
	const struct hint_export *exports;
	size_t nexports;
	const struct sockaddr *const
	    *addrs; /* where the server listens, with the port it really has; the any-address too */
	size_t naddrs;
	bool rpcbind; /* registers with rpcbind: Windows and ESXi find a server no other way */
};

/*
 * Prints the commands. The any-address stands for the address under which other machines most
 * likely reach this one (for an export of this machine alone: loopback). Paths are quoted for the
 * shell of each system.
 */
void hints_print(FILE *out, const struct hints *);

#endif
