/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is asking, and as whom: the rule for a peer, and the credential under which the file system
 * is asked.
 */
#include "export.h"
#include "khandle.h"
#include "resolver.h"
#include <errno.h>
#include <fnmatch.h>
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
in_subnet(const struct export_client *c, const struct in6_addr *peer)
{
	if (is_v4_rule(c) != is_mapped(peer))
		return false;
	for (int i = 0; i < 16; i++)
		if ((peer->s6_addr[i] & c->mask.s6_addr[i]) != c->addr.s6_addr[i])
			return false;
	return true;
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

/* One search for the rule of a peer. */
struct search {
	struct resolver *who;
	struct in6_addr peer;
	bool have_names; /* names holds what asked says */
	enum answer asked;
	struct resolver_names names;
	bool soon, later; /* some rule depends on a name that is not known yet */
};

static enum answer
meets_name(struct search *s, const char *pattern)
{
	if (!s->have_names) {
		s->have_names = true;
		s->names.n = 0;
		s->asked = resolver_peer(s->who, &s->peer, &s->names);
	}
	if (s->asked != ANSWER_YES)
		return s->asked;
	for (unsigned i = 0; i < s->names.n; i++)
		if (fnmatch(pattern, s->names.v[i], FNM_CASEFOLD) == 0)
			return ANSWER_YES;
	return ANSWER_NO;
}

static bool
meets(struct search *s, const struct export_client *c)
{
	enum answer yes = ANSWER_NO;

	switch (c->kind) {
	case CLIENT_EVERYONE:
		return true;
	case CLIENT_GSS:
		return false;
	case CLIENT_SUBNET:
		return in_subnet(c, &s->peer);
	case CLIENT_HOST:
		if (!c->named)
			return in_subnet(c, &s->peer);
		if (s->who)
			yes = resolver_host(s->who, c->text, &s->peer);
		break;
	case CLIENT_WILDCARD:
		if (s->who)
			yes = meets_name(s, c->text);
		break;
	case CLIENT_NETGROUP:
		if (s->who)
			yes = resolver_netgroup(s->who, c->text + 1, &s->peer);
		break;
	}
	s->soon |= yes == ANSWER_SOON;
	s->later |= yes == ANSWER_LATER;
	return yes == ANSWER_YES;
}

/*
 * Rules are asked kind by kind, the strongest first, so that names are asked for only where they
 * can decide. A peer that may be meant by a name which was first asked for a moment ago waits for
 * it, lest it be judged by a weaker rule; when the name service does not answer, only those go on
 * waiting whom no other rule lets in.
 */
int
rules_match(const struct rules *r, struct resolver *who, const struct sockaddr *peer,
	    const struct export_client **out)
{
	struct search s;

	s.who = who;
	s.have_names = s.soon = s.later = false;
	*out = NULL;
	if (!peer_addr(peer, &s.peer))
		return EACCES;
	for (enum client_kind k = CLIENT_HOST; !*out && k <= CLIENT_EVERYONE; k++) {
		for (size_t i = 0; !*out && r->kinds & 1u << k && i < r->n; i++)
			if (r->v[i].kind == k && meets(&s, &r->v[i]))
				*out = &r->v[i];
		if (s.soon && !*out)
			break;
	}
	if (*out && s.soon && (*out)->kind != CLIENT_HOST)
		*out = NULL;
	return *out ? 0 : s.soon || s.later ? EAGAIN : EACCES;
}

int
rule_meets(const struct export_client *c, struct resolver *who, const struct sockaddr *peer)
{
	struct search s;

	s.who = who;
	s.have_names = s.soon = s.later = false;
	if (!peer_addr(peer, &s.peer))
		return ANSWER_NO;
	if (meets(&s, c))
		return ANSWER_YES;
	return s.soon ? ANSWER_SOON : s.later ? ANSWER_LATER : ANSWER_NO;
}

const struct export_client *
export_match(const struct export_table *t, const struct export *ex, const struct sockaddr *peer)
{
	const struct export_client *c = NULL;
	size_t at = export_index(t, ex);

	if (at < t->n)
		rules_match(t->rules[at], t->who, peer, &c);
	return c;
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
