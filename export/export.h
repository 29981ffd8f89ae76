/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXPORT_H
#define EXPORT_H
/*
 * What is served: an immutable snapshot of exports, made once, swapped whole (later), counted by reference. A call takes a
 * reference to the table when it begins and drops it when it ends; an object in the cache keeps its export.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include "cred.h"
#include "handle.h"
#include "kernel.h"

struct store;

enum squash { SQUASH_ROOT, SQUASH_NONE, SQUASH_ALL };

struct export_opts {
	bool rw, secure, async, nordirplus;
	enum squash squash;
	uid_t anonuid;
	gid_t anongid;
};

/* One rule: who, and what they get. Addresses are IPv6; IPv4 is kept v4-mapped, prefix counted in 128 bits. */
struct export_client {
	bool everyone;
	struct in6_addr addr, mask;
	struct export_opts opts;
	char *text; /* as written */
};

/* A served file system, seen through a descriptor that confines it. */
struct fs {
	uint32_t id;      /* keyed hash of UUID and subvolume, or of fsid=; in every handle */
	uint64_t fsid3;   /* the wire's fsid of the root; see fs_fsid3() for subvolumes */
	int root;         /* O_PATH descriptor of the export's root, inside a mount clone where there is one */
	uint64_t root_dev, root_ino;
	uint64_t mnt_id;
	long type;        /* f_type */
	bool local;       /* on the allow-list: a loop may touch it (ext4, xfs, btrfs, tmpfs, f2fs) */
	bool khandle;     /* identity is the kernel's handle; else a serial of the store */
	bool own_cookies; /* the file system's directory offsets are stable */
	bool btrfs;
	bool confined;    /* root lies in a mount clone of ours: ro, nosuid, nodev are the kernel's; no sub-mounts visible */
};

struct export {
	uint32_t id;
	char *path; /* canonical */
	struct fs fs;
	nfs_fh3 root; /* sealed handle of the root */
	struct export_client *clients;
	size_t nclients;
	unsigned refs; /* atomic */
};

struct export_table {
	struct export **v; /* sorted by path */
	size_t n;
	unsigned refs; /* atomic */
};

struct export_spec { /* what somebody wrote: one DIR, options, clients */
	const char *path;
	const char *options; /* exports(5) option list, or NULL */
	const char *clients; /* comma list: addr, addr/len, addr/mask, *; or NULL for loopback */
};

struct export_env { /* what making exports needs */
	const struct kernel *kernel;
	const struct handle_key *key;
	struct store *store;
	bool unprivileged; /* not root: one identity, rules of the unprivileged server */
};

/*
 * Makes a table. Opens each root (following symbolic links in the path), clones its mount where the kernel allows, finds ids.
 * Every error of every spec is appended to err (one line each, naming path and remedy), not only the first; NULL on any.
 * The caller owns one reference.
 */
struct export_table *export_table_make(const struct export_env *, const struct export_spec *, size_t n, char *err,
				       size_t errlen);
struct export_table *export_table_ref(struct export_table *);
void export_table_put(struct export_table *);
struct export *export_ref(struct export *);
void export_put(struct export *);

/* By id in a handle; NULL when there is none (NFS3ERR_STALE). */
struct export *export_by_id(const struct export_table *, uint32_t id);
/* The export whose path is the longest whole-component prefix of path; *rest points at what follows ("" for the root). */
struct export *export_by_path(const struct export_table *, const char *path, const char **rest);
/* The rule for a peer (v4-mapped addresses are unmapped first): host before subnet before everyone, then file order. NULL: none. */
const struct export_client *export_match(const struct export *, const struct sockaddr *peer);

/* Parses a comma list of options over *o; 0 or EINVAL with "what: why" in err. */
int export_parse_opts(const char *text, struct export_opts *o, char *err, size_t errlen);
int export_parse_client(const char *text, struct export_client *c, char *err, size_t errlen);

/* Turns the caller's claim into the credential under which the file system is asked (root_squash etc.). Seals it. */
void export_squash(const struct export_opts *, struct cred *);
/* The wire's fsid for an object of this file system, from its kernel handle (btrfs subvolumes differ), never 0. */
uint64_t fs_fsid3(const struct fs *, const struct handle *);

#endif
