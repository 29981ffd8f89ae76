/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clients of exports(5): an address, a subnet, a name, a wildcard, a netgroup, everyone. The
 * kind is decided in the order of nfs-utils, except that brackets around an IPv6 address are taken
 * for what they mean (there they make a wildcard that matches no host) and that a length of 0 is
 * every address of its family (there it is one address).
 */
#include "parse.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLIENT_TEXT_MAX 511 /* as exportfs(8) takes it */
#define NAME_MAX_DNS 255

/* An address of either family, as IPv6 (v4-mapped). *bits: of the family. */
static bool
read_addr(const char *text, struct in6_addr *out, unsigned *bits)
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
static bool
read_mask(const char *text, unsigned bits, struct in6_addr *mask)
{
	unsigned mbits;
	size_t digits = strspn(text, "0123456789");

	if (digits && digits <= 3 && !text[digits]) {
		unsigned len = (unsigned)atoi(text);

		if (len > bits)
			return false;
		prefix_mask(mask, 128 - bits + len);
		return true;
	}
	if (!read_addr(text, mask, &mbits) || mbits != bits)
		return false;
	if (bits == 32)
		memset(mask, 0xff, 12);
	return true;
}

/* Removes the brackets of "[v6]" and "[v6]/len". False: none, or not around an address; then text
 * is as it was. */
static bool
strip_brackets(char *text)
{
	char *end = strchr(text, ']');
	struct in6_addr a;
	bool good;

	if (*text != '[' || !end)
		return false;
	*end = '\0';
	good = inet_pton(AF_INET6, text + 1, &a) == 1 && (!end[1] || end[1] == '/');
	*end = ']';
	if (!good)
		return false;
	memmove(end, end + 1, strlen(end));
	memmove(text, text + 1, strlen(text));
	return true;
}

struct who {
	const char *text, *file; /* as written */
	struct spot at;
	struct diag *diag;
	struct export_client *c;
};

#define WRONG(w, ...) (diag_add((w)->diag, DIAG_ERROR, (w)->file, (w)->at, __VA_ARGS__), false)
#define WARN(w, ...) diag_add((w)->diag, DIAG_WARN, (w)->file, (w)->at, __VA_ARGS__)

static bool
subnet(const struct who *w, char *addr, const char *mask)
{
	struct export_client *c = w->c;
	unsigned bits;

	c->kind = CLIENT_SUBNET;
	if (!read_addr(addr, &c->addr, &bits))
		return WRONG(w,
			     "client %s: what stands before / is not a full IPv4 or IPv6 address "
			     "(10.0.0.0/8, not 10/8)",
			     w->text);
	if (!read_mask(mask, bits, &c->mask))
		return WRONG(w,
			     "client %s: the part after / is neither a length up to %u nor a mask",
			     w->text, bits);
	for (int i = 0; i < 16; i++) /* 192.168.1.77/24 is 192.168.1.0/24 */
		c->addr.s6_addr[i] &= c->mask.s6_addr[i];
	if (strspn(mask, "0") == strlen(mask))
		WARN(w, "client %s: a length of 0 means every %s address", w->text,
		     bits == 32 ? "IPv4" : "IPv6");
	return true;
}

/* A host name, as resolvers take it. */
static bool
is_name(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	size_t n = strlen(s);

	return n && n <= NAME_MAX_DNS && s[0] != '-' && s[0] != '.' && strspn(s, letters) == n;
}

static bool
host(const struct who *w, const char *text)
{
	struct export_client *c = w->c;
	unsigned bits;

	c->kind = CLIENT_HOST;
	prefix_mask(&c->mask, 128);
	if (read_addr(text, &c->addr, &bits))
		return true;
	c->named = true;
	if (strspn(text, "0123456789.") == strlen(text) || strchr(text, ':'))
		return WRONG(w, "client %s: not a full IPv4 or IPv6 address", w->text);
	if (!is_name(text))
		return WRONG(
		    w,
		    "client %s: neither an address nor a host name; write ADDRESS, "
		    "ADDRESS/LENGTH, NAME, a pattern such as *.example.org, @NETGROUP or *",
		    w->text);
	return true;
}

static bool
judge(const struct who *w, char *buf)
{
	struct export_client *c = w->c;
	bool brackets = strip_brackets(buf);
	char *mark = strpbrk(buf, "*?[/");

	if (!*buf || strcmp(buf, "*") == 0) {
		c->kind = CLIENT_EVERYONE;
		return true;
	}
	if (strncmp(buf, "gss/", 4) == 0) {
		c->kind = CLIENT_GSS;
		WARN(w, "client %s: matches nobody; use sec=", w->text);
		return true;
	}
	if (buf[0] == '@') {
		c->kind = CLIENT_NETGROUP;
		return buf[1] || WRONG(w, "client @: the name of the netgroup is missing");
	}
	if (mark && *mark != '/') {
		c->kind = CLIENT_WILDCARD;
		if (buf[0] == '[' && (strchr(buf, ':') || strspn(buf, "[0123456789.]/") > 7))
			return WRONG(w, "client %s: brackets go around a whole IPv6 address",
				     w->text);
		return true;
	}
	if (mark) {
		*mark = '\0';
		return subnet(w, buf, mark + 1);
	}
	return host(w, buf) && (!brackets || !c->named);
}

bool
parse_client(const char *text, struct export_client *c, const char *file, struct spot at,
	     struct diag *d)
{
	struct who w = {text, file, at, d, c};
	char buf[CLIENT_TEXT_MAX + 1];

	c->named = false;
	memset(&c->addr, 0, sizeof c->addr);
	memset(&c->mask, 0, sizeof c->mask);
	if (strlen(text) > CLIENT_TEXT_MAX)
		return WRONG(&w, "client %.40s...: longer than %d bytes", text, CLIENT_TEXT_MAX);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == '(' || *p == ')')
			return WRONG(&w, "client %s: has a blank or a parenthesis in it", text);
	strcpy(buf, text);
	return judge(&w, buf);
}

int
export_parse_client(const char *text, struct export_client *c, char *err, size_t errlen)
{
	struct diag d = {0};
	bool good = *text && parse_client(text, c, NULL, (struct spot){0, 0}, &d);

	if (!*text)
		diag_add(&d, DIAG_ERROR, NULL, (struct spot){0, 0},
			 "the name of a client is empty; * means everyone");
	diag_text(&d, DIAG_ERROR, err, errlen);
	diag_free(&d);
	c->text = good ? strdup(text) : NULL;
	return !good ? EINVAL : c->text ? 0 : ENOMEM;
}
