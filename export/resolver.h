/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RESOLVER_H
#define RESOLVER_H
/*
 * What only name services know: the addresses of a host name, the names of an address, who is in a
 * netgroup, the groups of a user. A question never waits: it is answered from memory, or "not yet",
 * and a helper thread goes and asks. What was not answered is asked again, later and later; what
 * was is asked anew from time to time, and an old answer stands until there is a new one, so that
 * name services may go away for hours unnoticed.
 */
#include "cred.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct resolver;

enum answer {
	ANSWER_NO,
	ANSWER_YES,
	ANSWER_SOON,  /* asked for the first time, a moment ago */
	ANSWER_LATER, /* not known; the name service does not answer */
};

#define RESOLVER_ADDRS 16 /* addresses of a name, as exportfs(8) */
#define RESOLVER_NAMES 16 /* names of an address */
#define RESOLVER_NAME 256 /* bytes of a name with its NUL */

struct resolver_addrs {
	unsigned n;
	struct in6_addr v[RESOLVER_ADDRS]; /* v4-mapped */
};
struct resolver_names { /* canonical name, then aliases, each confirmed by a forward look-up */
	unsigned n;
	char v[RESOLVER_NAMES][RESOLVER_NAME];
};

/* How to ask; each may take as long as it likes, and several run at once. 0; ENOENT: there is no
 * such name, host, user; anything else: try again later. */
struct resolver_ops {
	int (*forward)(void *arg, const char *name, struct resolver_addrs *);
	int (*reverse)(void *arg, const struct in6_addr *, struct resolver_names *);
	/* is this host (canonical name, alias, address) in the netgroup? */
	int (*netgroup)(void *arg, const char *group, const char *host);
	/* the groups of a user, at most *n */
	int (*groups)(void *arg, uid_t, gid_t *v, unsigned *n);
	/* something that was answered is answered otherwise now, or for the first time; any thread
	 */
	void (*changed)(void *arg);
	void *arg;
};
struct resolver_times {	     /* milliseconds */
	unsigned soon;	     /* how long ANSWER_SOON is said of a first question */
	unsigned again;	     /* before the second try; doubled each time */
	unsigned again_most; /* at most */
	unsigned fresh;	     /* an answer is asked anew after this */
	unsigned threads;    /* questions asked at once */
};
extern const struct resolver_times resolver_times_default;
/* getaddrinfo(3), gethostbyaddr(3), innetgr(3), getgrouplist(3); changed and arg are to be set. */
extern const struct resolver_ops resolver_ops_libc;

/*
 * Starts one thread (with the capabilities of the caller; it starts more when questions wait). NULL
 * with errno. resolver_free() does not wait for questions under way: what they need lives until
 * they end, but `changed` is not called any more once it has returned.
 */
struct resolver *resolver_new(const struct resolver_ops *, const struct resolver_times *);
void resolver_free(struct resolver *);

/* Is this one of the name's addresses? */
enum answer resolver_host(struct resolver *, const char *name, const struct in6_addr *);
/* The names of an address; ANSWER_YES: there are some, in *names. */
enum answer resolver_peer(struct resolver *, const struct in6_addr *, struct resolver_names *names);
/* Is that address (by one of these names, or as text) in the netgroup? */
enum answer resolver_netgroup(struct resolver *, const char *group, const struct in6_addr *);
/* The groups of a user; ANSWER_YES: *groups is a reference to be put; ANSWER_NO: no such user. */
enum answer resolver_user(struct resolver *, uid_t, struct cred_groups **groups);

/* Waits until something is answered, or for so long; not at all when enough wait already. For
 * workers only. */
void resolver_wait(struct resolver *, unsigned milliseconds);
/* Asks everything anew, in the background. */
void resolver_refresh(struct resolver *);
/* The addresses of a name, for a person to read: false when they are not known. */
bool resolver_addresses(struct resolver *, const char *name, struct resolver_addrs *);

#endif
