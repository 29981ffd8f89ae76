/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_TARGET_H
#define NFSLOAD_TARGET_H
/* A server's side of the measurement, found once: it is mounted, the file looked up, its size
 * learned. */
#include <stdbool.h>

#include "opts.h"
#include "rpc.h"

#define FH_MAX 64

struct fh {
	uint8_t data[FH_MAX];
	size_t len;
};

/* One thing that calls refer to: a name in the directory and the handle behind it. */
struct object {
	char *name;
	struct fh fh;
};

struct target {
	const struct server_spec *spec;
	struct fh dir; /* of the file */
	struct object file;
	uint64_t size;	       /* of the file, bytes */
	uint32_t rtmax;	       /* largest READ by FSINFO; 0 when the server did not say */
	struct object *object; /* --names of them, else the file alone */
	unsigned nobjects;
};

/* Mounts and looks up what spec names. 0, or -1 with err saying which step failed and why. */
int target_open(struct target *t, const struct server_spec *spec, const struct opts *o,
		char err[RPC_ERR]);
void target_close(struct target *t);

#endif
