/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is asking, and as whom: the rule for a peer, and the credential under which the file system
 * is asked.
 */
#include "export.h"
#include "khandle.h"
#include <string.h>

static bool
is_mapped(const struct in6_addr *a)
{
	return IN6_IS_ADDR_V4MAPPED(a);
}

/* A rule for IPv4 fixes the 96 bits of the mapping; another one never meets an IPv4 peer: ::/0 is
 * all of IPv6. */
static bool
is_v4_rule(const struct export_client *c)
{
	for (int i = 0; i < 12; i++)
		if (c->mask.s6_addr[i] != 0xff)
			return false;
	return is_mapped(&c->addr);
}

static bool
meets(const struct export_client *c, const struct in6_addr *peer)
{
	if (c->everyone)
		return true;
	if (is_v4_rule(c) != is_mapped(peer))
		return false;
	for (int i = 0; i < 16; i++)
		if ((peer->s6_addr[i] & c->mask.s6_addr[i]) != c->addr.s6_addr[i])
			return false;
	return true;
}

/* How exactly a rule names a peer; the smaller the better. */
static int
rank(const struct export_client *c)
{
	if (c->everyone)
		return 2;
	for (int i = 0; i < 16; i++)
		if (c->mask.s6_addr[i] != 0xff)
			return 1;
	return 0;
}

/* The peer's address as IPv6; an IPv4 peer of a dual-stack socket comes v4-mapped already and stays
 * so. */
static bool
peer_addr(const struct sockaddr *peer, struct in6_addr *out)
{
	if (peer->sa_family == AF_INET6) {
		memcpy(out, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr,
		       sizeof *out);
		return true;
	}
	if (peer->sa_family != AF_INET)
		return false;
	memset(out, 0, sizeof *out);
	out->s6_addr[10] = out->s6_addr[11] = 0xff;
	memcpy(&out->s6_addr[12], &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
	return true;
}

const struct export_client *
export_match(const struct export *ex, const struct sockaddr *peer)
{
	const struct export_client *best = NULL;
	struct in6_addr a;

	if (!peer_addr(peer, &a))
		return NULL;
	for (size_t i = 0; i < ex->nclients; i++) {
		const struct export_client *c = &ex->clients[i];

		if (meets(c, &a) && (!best || rank(c) < rank(best)))
			best = c;
	}
	return best;
}

void
export_squash(const struct export_opts *o, struct cred *c)
{
	bool root = o->squash == SQUASH_ROOT;

	if (c->ngroups > CRED_GROUPS_MAX)
		c->ngroups = CRED_GROUPS_MAX;
	if (o->squash == SQUASH_ALL) {
		c->uid = o->anonuid;
		c->gid = o->anongid;
		c->ngroups = 0;
	}
	if ((root && c->uid == 0) || c->uid == (uid_t)-1)
		c->uid = o->anonuid;
	if ((root && c->gid == 0) || c->gid == (gid_t)-1)
		c->gid = o->anongid;
	for (uint32_t i = 0; i < c->ngroups; i++)
		if ((root && c->groups[i] == 0) || c->groups[i] == (gid_t)-1)
			c->groups[i] = o->anongid;
	for (uint32_t i = c->ngroups; i < CRED_GROUPS_MAX; i++)
		c->groups[i] = 0;
	cred_seal(c);
}

/* Inode numbers are unique within a subvolume only; clients take (fsid, fileid) for the object. */
uint64_t
fs_fsid3(const struct fs *fs, const struct handle *h)
{
	uint64_t v = fs->fsid3, subvolume = 0;

	if (fs->btrfs && h->kind == HANDLE_KERNEL)
		subvolume = khandle_subvolume(h);
	else if (fs->btrfs && h->ilen == 16)
		for (int i = 8; i < 16; i++)
			subvolume = subvolume << 8 | h->ident[i];
	/* an odd factor: different subvolumes stay different */
	v ^= subvolume * 0x9e3779b97f4a7c15ULL;
	return v ? v : 1;
}
