/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRED_H
#define CRED_H
/*
 * Who asks: the identity under which the file system is asked, after squashing. Plain value, copied
 * freely. `hash` stands for the whole of the rest (a keyed hash: two credentials of one hash are
 * one credential).
 *
 * A call brings at most 16 groups. Where the server looks groups up itself (--manage-gids) there
 * may be a thousand: those lie in a list that is shared by everybody who has them, and that a
 * credential borrows.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CRED_GROUPS_MAX 16 /* AUTH_SYS: RFC 5531 appendix A */

#define CRED_MORE_MAX 1024 /* of a list; the kernel would take 65536 */

/* Sorted, never changed, counted by reference. */
struct cred_groups {
	unsigned refs; /* atomic */
	uint32_t n;
	uint64_t hash; /* of the list, by cred_groups_seal() */
	gid_t v[];
};

struct cred {
	uid_t uid;
	gid_t gid;
	uint32_t ngroups;
	gid_t groups[CRED_GROUPS_MAX];
	const struct cred_groups *more; /* instead of groups; borrowed: whoever made the credential
					   keeps it. NULL: none */
	uint64_t hash;
};

/* Room for n groups, with one reference; NULL: no memory. Fill in v, then seal. */
struct cred_groups *cred_groups_new(uint32_t n);
/* Sorts the list and sets its hash. */
void cred_groups_seal(struct cred_groups *);
struct cred_groups *cred_groups_ref(struct cred_groups *);
void cred_groups_put(struct cred_groups *); /* NULL is ignored */

/* Sets hash from the other fields. Call after the last change. */
void cred_seal(struct cred *);

#endif
