/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRED_H
#define CRED_H
/*
 * Who asks: the identity under which the file system is asked, after squashing. Plain value, copied
 * freely. `hash` stands for the whole of the rest (a keyed hash: two credentials of one hash are
 * one credential).
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CRED_GROUPS_MAX 16 /* AUTH_SYS: RFC 5531 appendix A */

struct cred {
	uid_t uid;
	gid_t gid;
	uint32_t ngroups;
	gid_t groups[CRED_GROUPS_MAX];
	uint64_t hash;
};

/* Sets hash from the other fields. Call after the last change. */
void cred_seal(struct cred *);

#endif
