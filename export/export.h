/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXPORT_H
#define EXPORT_H
/*
 * What is served, and to whom: a snapshot made once, swapped whole, counted by reference. A call
 * takes a reference to the table when it begins and drops it when it ends; an object in the cache
 * keeps its export.
 *
 *	struct export	a directory and its file system; nothing of who may use it. The next table
 *			takes over those that have not changed, so that descriptors stay open
 *	struct rules	who may use it, and how; a new one in each table
 *	table		the two side by side, found by id (hash) and by path (sorted)
 */
#include "cred.h"
#include "handle.h"
#include "kernel.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct resolver; /* resolver.h */
struct store;
struct walk; /* walk.h */

enum fsid_kind { FSID_NONE, FSID_NUMBER, FSID_UUID };
enum squash { SQUASH_ROOT, SQUASH_NONE, SQUASH_ALL };

struct export_opts {
	bool rw, secure, async, nordirplus;
	bool no_acl, nohide, crossmnt;
	uint8_t sec;   /* flavors that sec= named, 1 << place in sys, none, krb5, krb5i, krb5p */
	bool no_sys;   /* it named some, but not sys: no caller of ours may come in */
	bool tls_only; /* xprtsec= without none: the same */
	enum squash squash;
	uid_t anonuid;
	gid_t anongid;
	bool anon_given;	  /* anonuid= or anongid= was written */
	bool mountpoint;	  /* serve only when the path is a mount point */
	enum fsid_kind fsid_kind; /* fsid= as written: a number (big-endian) or a UUID */
	uint8_t fsid[16];
};

/* Where something was written: sources.v[src], or on the command line (0). */
struct origin {
	unsigned line, col;
	unsigned src;
};
struct sources {
	unsigned refs; /* atomic */
	size_t n;
	char **v; /* names; v[0] is the command line */
};

/* In order of precedence. */
enum client_kind {
	CLIENT_HOST,
	CLIENT_SUBNET,
	CLIENT_WILDCARD,
	CLIENT_NETGROUP,
	CLIENT_EVERYONE,
	CLIENT_GSS, /* matches nobody */
};

/* One rule: who, and what they get. Addresses are IPv6; IPv4 is kept v4-mapped, prefix counted in
 * 128 bits. */
struct export_client {
	enum client_kind kind;
	bool named; /* CLIENT_HOST: by name, whose addresses the resolver knows */
	struct in6_addr addr, mask;
	struct export_opts opts;
	char *text; /* as written */
	struct origin at;
};

/* The rules of one export in one table. */
struct rules {
	unsigned refs; /* atomic */
	size_t n;
	struct export_client *v;
	unsigned kinds;	  /* 1 << kind of each */
	struct origin at; /* of the path */
	char **written;	  /* the path as it is written, in each way once */
	size_t nwritten;
};

/* A served file system, seen through a descriptor that confines it. */
struct fs {
	uint32_t id; /* keyed hash of UUID and subvolume, or of fsid=; in every handle */
	uint32_t
	    id_old; /* the same by the previous key; 0: none. In handles that were sealed with it */
	uint64_t fsid3; /* from which the wire's fsid is made: fs_fsid3() */
	int root; /* O_PATH descriptor of the export's root, inside a mount clone where there is one
		   */
	int handles; /* the same, readable: open_by_handle_at() takes no O_PATH descriptor; -1
			unless khandle */
	uint64_t root_dev, root_ino;
	uint64_t mnt_id;
	long type;    /* f_type */
	bool local;   /* on the allow-list: a loop may touch it (ext4, xfs, btrfs, tmpfs, f2fs) */
	bool khandle; /* identity is the kernel's handle; else a serial of the store */
	bool lasting; /* the kernel's handle lasts (it may be asked for by anybody, opened only with
			 khandle) */
	bool btime;   /* birth times are kept and last */
	bool paths; /* inode numbers are dealt anew all the time (vfat, exfat): objects are known by
		       where they are */
	uint64_t inst;	  /* where nothing of these lasts: which mount this is; else 0 */
	bool own_cookies; /* the file system's directory offsets are stable */
	bool btrfs;
	bool confined; /* root lies in a mount clone of ours: ro, nosuid, nodev are the kernel's; no
			  sub-mounts visible */
};

struct export
{
	uint32_t id, id_old; /* id_old: by the previous key; 0: none */
	uint32_t ns; /* name space of its serials in the store; from the same as id, but no key, so
			that it survives a new one */
	char *path;  /* canonical, as clients name it */
	char *where; /* the same on this machine: see rootdir.h */
	struct walk *walk; /* what serial walks remember */
	struct fs fs;
	nfs_fh3 root;	/* sealed handle of the root */
	bool rw;	/* some client may write: its mount is not read-only */
	uint64_t mount; /* opened because it is mounted in another: key of the mount (mounts.h) */
	struct export_opts opts; /* under which it was made: fsid= and mountpoint matter */
	unsigned refs;		 /* atomic */
};

/* What is exported, but not there now: no such path, or nothing mounted where something should be.
 */
struct absent {
	char *path; /* as of an export */
	char *why;
	bool missing; /* there is no such path */
	bool crossed; /* as in struct export_table */
	struct rules *rules;
};

struct path_key; /* index.c */
struct cross;	 /* cross.h */
struct pending;	 /* table.c */

#define EXPORTS_MAX                                                                                \
	(1u << 18) /* so that places in a table fit a word: see struct peer in call.h              \
		    */
#define RULES_MAX (1u << 18)
#define TABLE_GEN_MAX ((1u << 28) - 1)

struct export_table {
	struct export **v;    /* sorted by path */
	struct rules **rules; /* of each */
	bool *crossed;	      /* of each: it has no line, is reached through the export in which it
				 is mounted only, and by crossmnt of its rules, which are that one's */
	size_t n;
	struct cross *cross; /* ways from one export into another: cross.h */
	size_t ncross;
	struct pending *pending; /* mounts that have not answered */
	size_t npending;
	struct absent *absent;
	size_t nabsent;
	struct sources *sources;
	char *rootdir;	      /* root of all paths (rootdir.h); NULL: / */
	struct resolver *who; /* what knows names; not the table's; NULL: names match nobody */
	uint32_t gen;  /* of decisions made under it: another one when the table is swapped in, and
			  when names have changed; atomic; 0: decisions are not to be remembered */
	unsigned refs; /* atomic */
	/* indexes (index.c) */
	uint32_t *slots; /* open hash of ids: place in v plus 1 */
	uint32_t mask;
	struct path_key *paths;
	size_t npaths;
};

struct export_spec { /* what somebody wrote: one DIR, options, clients */
	const char *path;
	const char *options; /* exports(5) option list, or NULL */
	const char *clients; /* comma list of clients; or NULL for loopback */
};

struct export_env { /* what making exports needs */
	const struct kernel *kernel;
	const struct handle_key *key;
	struct store *store;
	bool unprivileged; /* not root: one identity, rules of the unprivileged server */
};

/*
 * Makes a table. Opens each root (following symbolic links in the path), clones its mount where the
 * kernel allows, finds ids. Every error of every spec is appended to err (one line each, naming
 * path and remedy), not only the first; NULL on any. The caller owns one reference. Exports files
 * and changes: plan.h, table.h.
 */
struct export_table *export_table_make(const struct export_env *, const struct export_spec *,
				       size_t n, char *err, size_t errlen);
struct export_table *export_table_ref(struct export_table *);
void export_table_put(struct export_table *);
struct export *export_ref(struct export *);
void export_put(struct export *);
struct rules *rules_ref(struct rules *);
void rules_put(struct rules *);
struct sources *sources_ref(struct sources *);
void sources_put(struct sources *);

/* By id in a handle; NULL when there is none (NFS3ERR_STALE). No reference is taken. */
struct export *export_by_id(const struct export_table *, uint32_t id);
/* Its place in v and rules; t->n when the table has no such export. */
size_t export_index(const struct export_table *, const struct export *);
/* The export whose path is the longest whole-component prefix of path; *rest points at what follows
 * ("" for the root), without a slash in front. Slashes may repeat. NULL: none, or the path is not
 * absolute or has a ".." in it; or the longest one is absent. No reference is taken. */
struct export *export_by_path(const struct export_table *, const char *path, const char **rest);
/* Where export_by_path() says NULL: the absent export that would serve the path; NULL: none. */
const struct absent *export_absent(const struct export_table *, const char *path);

/*
 * The rule for a peer (v4-mapped addresses are unmapped first): by kind, whatever the order (host,
 * subnet, wildcard, netgroup, everyone), then the first. 0; EACCES: none; EAGAIN: it depends on a
 * name that is being looked up. Never waits.
 */
int rules_match(const struct rules *, struct resolver *, const struct sockaddr *peer,
		const struct export_client **);
/* Does this one rule meet the peer? An enum answer of resolver.h. */
int rule_meets(const struct export_client *, struct resolver *, const struct sockaddr *peer);
/* The same as rules_match() for an export of a table; NULL: none, or not known yet. */
const struct export_client *export_match(const struct export_table *, const struct export *,
					 const struct sockaddr *peer);

/* exports(5) defaults: ro,secure,sync,root_squash,anonuid=65534,anongid=65534. */
void export_opts_default(struct export_opts *o);
/* Parses a comma list of options into *o; 0 or EINVAL with "what: why", a line for each error, in
 * err. */
int export_parse_opts(const char *text, struct export_opts *o, char *err, size_t errlen);
/* One client of any kind. Sets kind, named, addr, mask and text (the caller frees it); opts is left
 * alone. */
int export_parse_client(const char *text, struct export_client *c, char *err, size_t errlen);

/* Turns the caller's claim into the credential under which the file system is asked (root_squash
 * etc.). Seals it. The id -1, which system calls take for "no change", is squashed always. */
void export_squash(const struct export_opts *, struct cred *);
/* The wire's fsid for an object of this file system, from its handle (btrfs subvolumes differ),
 * never 0. */
uint64_t fs_fsid3(const struct fs *, const struct handle *);

#endif
