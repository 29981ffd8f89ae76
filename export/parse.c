/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of exports(5): option lists and clients. Strict: what is not understood is an error,
 * because a typing mistake must not change who gets in. Options that a server of this kind can
 * ignore without serving more than was asked for are accepted.
 */
#include "export.h"
#include "log.h"
#include "say.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ANON 65534

void
export_opts_default(struct export_opts *o)
{
	*o = (struct export_opts){
	    .secure = true, .squash = SQUASH_ROOT, .anonuid = ANON, .anongid = ANON};
}

enum act {
	DO_RO,
	DO_RW,
	DO_SECURE,
	DO_INSECURE,
	DO_SYNC,
	DO_ASYNC,
	DO_NORDIRPLUS,
	DO_MOUNTPOINT,
	DO_ROOT_SQUASH,
	DO_NO_ROOT_SQUASH,
	DO_ALL_SQUASH,
	DO_NO_ALL_SQUASH,
	DO_ANONUID,
	DO_ANONGID,
	DO_FSID,
	DO_SEC,
	DO_XPRTSEC,
	DO_NOTHING, /* means nothing here, or is so anyway */
	DO_WARN,    /* would serve more than we do */
};
enum value { NO_VALUE, NEEDS_VALUE };

/* A row per option. */
static const struct option {
	const char *name;
	enum act act;
	enum value value;
} options[] = {
    {"ro", DO_RO, NO_VALUE},
    {"rw", DO_RW, NO_VALUE},
    {"secure", DO_SECURE, NO_VALUE},
    {"insecure", DO_INSECURE, NO_VALUE},
    {"sync", DO_SYNC, NO_VALUE},
    {"async", DO_ASYNC, NO_VALUE},
    {"root_squash", DO_ROOT_SQUASH, NO_VALUE},
    {"no_root_squash", DO_NO_ROOT_SQUASH, NO_VALUE},
    {"all_squash", DO_ALL_SQUASH, NO_VALUE},
    {"no_all_squash", DO_NO_ALL_SQUASH, NO_VALUE},
    {"anonuid", DO_ANONUID, NEEDS_VALUE},
    {"anongid", DO_ANONGID, NEEDS_VALUE},
    {"fsid", DO_FSID, NEEDS_VALUE},
    {"nordirplus", DO_NORDIRPLUS, NO_VALUE},
    {"mountpoint", DO_MOUNTPOINT, NO_VALUE},
    {"mp", DO_MOUNTPOINT, NO_VALUE},
    {"sec", DO_SEC, NEEDS_VALUE},
    {"xprtsec", DO_XPRTSEC, NEEDS_VALUE},
    {"wdelay", DO_NOTHING, NO_VALUE},
    {"no_wdelay", DO_NOTHING, NO_VALUE},
    {"hide", DO_NOTHING, NO_VALUE},
    {"nocrossmnt", DO_NOTHING, NO_VALUE},
    {"subtree_check", DO_NOTHING, NO_VALUE},
    {"no_subtree_check", DO_NOTHING, NO_VALUE},
    {"secure_locks", DO_NOTHING, NO_VALUE},
    {"insecure_locks", DO_NOTHING, NO_VALUE},
    {"auth_nlm", DO_NOTHING, NO_VALUE},
    {"no_auth_nlm", DO_NOTHING, NO_VALUE},
    {"acl", DO_NOTHING, NO_VALUE},
    {"no_acl", DO_NOTHING, NO_VALUE},
    {"pnfs", DO_NOTHING, NO_VALUE},
    {"no_pnfs", DO_NOTHING, NO_VALUE},
    {"security_label", DO_NOTHING, NO_VALUE},
    {"sign_fh", DO_NOTHING, NO_VALUE},
    {"nohide", DO_WARN, NO_VALUE},
    {"crossmnt", DO_WARN, NO_VALUE},
    {"squash_uids", DO_WARN, NEEDS_VALUE},
    {"squash_gids", DO_WARN, NEEDS_VALUE},
    {"refer", DO_WARN, NEEDS_VALUE},
    {"replicas", DO_WARN, NEEDS_VALUE},
    {"reexport", DO_WARN, NEEDS_VALUE},
};

/* A user or group number: decimal, -2 being the same as 4294967294. -1 is no identity: the kernel
 * takes it for "no change". */
static int
parse_id(const char *v, uint32_t *out)
{
	char *end;
	long long n;

	if (!isdigit((unsigned char)v[0]) && !(v[0] == '-' && isdigit((unsigned char)v[1])))
		return EINVAL;
	errno = 0;
	n = strtoll(v, &end, 10);
	if (*end || errno || n < INT32_MIN || n > UINT32_MAX || (uint32_t)n == UINT32_MAX)
		return EINVAL;
	*out = (uint32_t)n;
	return 0;
}

/* 32 hex digits with anything between them. Asked before numbers: the digits may all be decimal. */
static bool
parse_uuid(const char *v, uint8_t out[16])
{
	unsigned n = 0;

	memset(out, 0, 16);
	for (; *v; v++) {
		if (!isxdigit((unsigned char)*v))
			continue;
		if (n == 32)
			return false;
		int c = tolower((unsigned char)*v);

		out[n / 2] = (uint8_t)(out[n / 2] << 4 | (c <= '9' ? c - '0' : c - 'a' + 10));
		n++;
	}
	return n == 32;
}

static int
parse_fsid(const char *v, struct export_opts *o)
{
	char *end;
	unsigned long long n = 0;

	if (parse_uuid(v, o->fsid)) {
		o->fsid_kind = FSID_UUID;
		return 0;
	}
	if (strcmp(v, "root") != 0) {
		errno = 0;
		if (!isdigit((unsigned char)*v))
			return EINVAL;
		n = strtoull(v, &end, 0);
		if (*end || errno || n > UINT32_MAX)
			return EINVAL;
	}
	memset(o->fsid, 0, sizeof o->fsid);
	for (int i = 0; i < 4; i++)
		o->fsid[15 - i] = (uint8_t)(n >> 8 * i);
	o->fsid_kind = FSID_NUMBER;
	return 0;
}

/* Is one of these words in the colon list? *others: something else that is known is; false in *ok:
 * something unknown. */
static bool
colon_list(const char *v, const char *const *good, const char *const *known, bool *others, bool *ok)
{
	bool found = false;

	*others = false;
	*ok = true;
	while (*v) {
		size_t n = strcspn(v, ":");
		bool is_good = false, is_known = false;

		for (size_t i = 0; good[i]; i++)
			is_good |= strlen(good[i]) == n && strncmp(v, good[i], n) == 0;
		for (size_t i = 0; known[i]; i++)
			is_known |= strlen(known[i]) == n && strncmp(v, known[i], n) == 0;
		found |= is_good;
		*others |= is_known;
		*ok &= is_good || is_known;
		v += n + (v[n] == ':');
	}
	return found;
}

static int
parse_sec(const char *v, char *err, size_t errlen)
{
	static const char *const good[] = {"sys", "unix", NULL};
	static const char *const known[] = {"none", "null", "krb5", "krb5i", "krb5p", NULL};
	bool others, ok, found = colon_list(v, good, known, &others, &ok);

	if (!ok)
		return say(err, errlen, EINVAL, "sec=%s: unknown flavor; this server has sys", v);
	if (!found)
		return say(err, errlen, EINVAL,
			   "sec=%s: this server has only sys; add it to the list, or drop sec=", v);
	if (others)
		log_warn("sec=%s: only sys is served", v);
	return 0;
}

static int
parse_xprtsec(const char *v, char *err, size_t errlen)
{
	static const char *const good[] = {"none", NULL};
	static const char *const known[] = {"tls", "mtls", NULL};
	bool others, ok, found = colon_list(v, good, known, &others, &ok);

	if (!ok || !found)
		return say(
		    err, errlen, EINVAL,
		    "xprtsec=%s: this server has no TLS; only a list with none can be served", v);
	return 0;
}

static int
with_value(const struct option *op, const char *v, struct export_opts *o, char *err, size_t errlen)
{
	switch (op->act) {
	case DO_ANONUID:
	case DO_ANONGID:
		o->anon_given = true;
		if (parse_id(v, op->act == DO_ANONUID ? &o->anonuid : &o->anongid))
			return say(err, errlen, EINVAL,
				   "%s=%s: not a number from -2147483648 to 4294967294 other than "
				   "-1 (names are not "
				   "looked up)",
				   op->name, v);
		return 0;
	case DO_FSID:
		if (parse_fsid(v, o))
			return say(
			    err, errlen, EINVAL,
			    "fsid=%s: neither a number up to 4294967295, nor a UUID, nor root", v);
		return 0;
	case DO_SEC:
		return parse_sec(v, err, errlen);
	case DO_XPRTSEC:
		return parse_xprtsec(v, err, errlen);
	default:
		log_warn("option %s=%s has no effect in this server", op->name, v);
		return 0;
	}
}

static void
without_value(const struct option *op, struct export_opts *o)
{
	switch (op->act) {
	case DO_RO:
	case DO_RW:
		o->rw = op->act == DO_RW;
		break;
	case DO_SECURE:
	case DO_INSECURE:
		o->secure = op->act == DO_SECURE;
		break;
	case DO_SYNC:
	case DO_ASYNC:
		o->async = op->act == DO_ASYNC;
		break;
	case DO_ROOT_SQUASH: /* all_squash is stronger, whatever the order */
	case DO_NO_ROOT_SQUASH:
		if (o->squash != SQUASH_ALL)
			o->squash = op->act == DO_ROOT_SQUASH ? SQUASH_ROOT : SQUASH_NONE;
		break;
	case DO_ALL_SQUASH:
		o->squash = SQUASH_ALL;
		break;
	case DO_NO_ALL_SQUASH:
		if (o->squash == SQUASH_ALL)
			o->squash = SQUASH_ROOT;
		break;
	case DO_NORDIRPLUS:
		o->nordirplus = true;
		break;
	case DO_MOUNTPOINT:
		o->mountpoint = true;
		break;
	case DO_WARN:
		log_warn("option %s has no effect in this server: what is mounted below an export "
			 "is not served; "
			 "export it too",
			 op->name);
		break;
	default:
		break;
	}
}

/* One option, "name" or "name=value". */
static int
parse_option(char *text, struct export_opts *o, char *err, size_t errlen)
{
	char *v = strchr(text, '=');

	if (v)
		*v++ = '\0';
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		const struct option *op = &options[i];

		if (strcmp(op->name, text) != 0)
			continue;
		if (op->value == NEEDS_VALUE && (!v || !*v))
			return say(err, errlen, EINVAL, "option %s: needs a value, as in %s=...",
				   text, text);
		if (op->value == NO_VALUE && v)
			return say(err, errlen, EINVAL,
				   "option %s=%s: takes no value in this server", text, v);
		if (v)
			return with_value(op, v, o, err, errlen);
		without_value(op, o);
		return 0;
	}
	return say(err, errlen, EINVAL,
		   "option \"%s\": unknown (names are case-sensitive, no white space between)",
		   text);
}

int
export_parse_opts(const char *text, struct export_opts *o, char *err, size_t errlen)
{
	char *copy = strdup(text), *p = copy;
	int code = copy ? 0 : say(err, errlen, ENOMEM, "no memory");

	while (code == 0 && *p) { /* a comma at the end is fine, an empty option is not */
		char *comma = strchr(p, ',');

		if (comma)
			*comma = '\0';
		code = parse_option(p, o, err, errlen);
		p = comma ? comma + 1 : p + strlen(p);
		if (!comma)
			break;
	}
	free(copy);
	return code;
}

/* An address of either family, as IPv6 (v4-mapped). *bits: of the family. */
static bool
parse_addr(const char *text, struct in6_addr *out, unsigned *bits)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		memset(out, 0, sizeof *out);
		out->s6_addr[10] = out->s6_addr[11] = 0xff;
		memcpy(&out->s6_addr[12], &v4, 4);
		*bits = 32;
		return true;
	}
	*bits = 128;
	return inet_pton(AF_INET6, text, out) == 1;
}

static void
prefix_mask(struct in6_addr *mask, unsigned len)
{
	memset(mask, 0, sizeof *mask);
	for (unsigned i = 0; i < len; i++)
		mask->s6_addr[i / 8] |= (uint8_t)(0x80 >> i % 8);
}

/* "24", "255.255.255.0" or "ffff::", for an address of so many bits. */
static int
parse_mask(const char *text, unsigned bits, struct in6_addr *mask)
{
	unsigned mbits;
	size_t digits = strspn(text, "0123456789");

	if (digits && digits <= 3 && !text[digits]) {
		unsigned len = (unsigned)atoi(text);

		if (len > bits)
			return EINVAL;
		prefix_mask(mask, 128 - bits + len);
		return 0;
	}
	if (!parse_addr(text, mask, &mbits) || mbits != bits)
		return EINVAL;
	if (bits == 32)
		memset(mask, 0xff, 12);
	return 0;
}

/* Removes the brackets of "[v6]" and "[v6]/len". */
static int
strip_brackets(char *text)
{
	char *end;

	if (*text != '[')
		return 0;
	end = strchr(text, ']');
	if (!end || !memchr(text, ':', (size_t)(end - text)))
		return EINVAL;
	memmove(end, end + 1, strlen(end));
	memmove(text, text + 1, strlen(text));
	return 0;
}

static int
parse_host(char *buf, const char *text, struct export_client *c, char *err, size_t errlen)
{
	unsigned bits;
	char *slash;

	if (strip_brackets(buf))
		return say(err, errlen, EINVAL, "client %s: brackets go around an IPv6 address",
			   text);
	slash = strchr(buf, '/');
	if (slash)
		*slash++ = '\0';
	if (!parse_addr(buf, &c->addr, &bits))
		return say(err, errlen, EINVAL,
			   "client %s: not a full IPv4 or IPv6 address (host names, wildcards and "
			   "netgroups are not "
			   "looked up); write ADDRESS, ADDRESS/LENGTH, ADDRESS/MASK or *",
			   text);
	if (!slash)
		prefix_mask(&c->mask, 128);
	else if (parse_mask(slash, bits, &c->mask))
		return say(err, errlen, EINVAL,
			   "client %s: the part after / is neither a length up to %u nor a mask",
			   text, bits);
	for (int i = 0; i < 16; i++) /* 192.168.1.77/24 is 192.168.1.0/24 */
		c->addr.s6_addr[i] &= c->mask.s6_addr[i];
	return 0;
}

int
export_parse_client(const char *text, struct export_client *c, char *err, size_t errlen)
{
	char *buf;
	int code = 0;

	c->everyone = strcmp(text, "*") == 0;
	memset(&c->addr, 0, sizeof c->addr);
	memset(&c->mask, 0, sizeof c->mask);
	c->text = strdup(text);
	buf = strdup(text);
	if (!c->text || !buf)
		code = say(err, errlen, ENOMEM, "no memory");
	else if (!c->everyone)
		code = parse_host(buf, text, c, err, errlen);
	free(buf);
	if (code) {
		free(c->text);
		c->text = NULL;
	}
	return code;
}
