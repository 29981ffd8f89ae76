/* SPDX-License-Identifier: BSD-2-Clause */
#include "hints.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#define NFS_PORT 2049
#define HOST_MAX 80
#define QUOTED_MAX 4400

struct place {
	char host[HOST_MAX]; /* numeric */
	bool v6;
	unsigned port;
};

static bool
is_any(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)a)->sin6_addr);
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Would a machine elsewhere use this address? Link-local ones need a zone that only we know. */
static bool
is_reachable(const struct ifaddrs *i)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)i->ifa_addr;

	if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK))
		return false;
	return i->ifa_addr->sa_family == AF_INET ||
	       (i->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr));
}

static void
name_host(struct place *p, const struct sockaddr *a)
{
	socklen_t len =
	    a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	p->v6 = a->sa_family == AF_INET6;
	if (getnameinfo(a, len, p->host, sizeof p->host, NULL, 0, NI_NUMERICHOST) != 0)
		strcpy(p->host, p->v6 ? "::1" : "127.0.0.1");
}

/* Stands in for the any-address: the first reachable IPv4 address, else an IPv6 one where the
 * socket takes those, else loopback. */
static void
stand_in(struct place *p, bool v6, bool local)
{
	struct ifaddrs *all = NULL;
	bool found = false;

	p->v6 = false;
	strcpy(p->host, "127.0.0.1");
	if (local || getifaddrs(&all) != 0)
		return;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		if (!is_reachable(i))
			continue;
		if (i->ifa_addr->sa_family == AF_INET) {
			name_host(p, i->ifa_addr);
			break;
		}
		if (v6 && !found)
			name_host(p, i->ifa_addr);
		found = found || v6;
	}
	freeifaddrs(all);
}

static void
place_of(struct place *p, const struct sockaddr *a, bool local)
{
	p->port = ntohs(a->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
						 : ((const struct sockaddr_in *)a)->sin_port);
	if (is_any(a))
		stand_in(p, a->sa_family == AF_INET6, local);
	else
		name_host(p, a);
}

/* Plain for every shell of ours? Backslash, quotes, blanks and wildcards are not. */
static bool
is_plain(const char *text)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("/._-+,:@%=[]", *text))
			return false;
	return true;
}

/* 'text' for a POSIX shell; a control character would move the cursor, so it is shown as '?'. */
static const char *
quote(char buf[QUOTED_MAX], const char *text)
{
	char *out = buf, *end = buf + QUOTED_MAX - 8;

	if (is_plain(text)) {
		snprintf(buf, QUOTED_MAX, "%s", text);
		return buf;
	}
	*out++ = '\'';
	for (; *text && out < end; text++) {
		if (*text == '\'') {
			memcpy(out, "'\\''", 4);
			out += 4;
		} else {
			*out++ = iscntrl((unsigned char)*text) ? '?' : *text;
		}
	}
	*out++ = '\'';
	*out = '\0';
	return buf;
}

static void
print_linux(FILE *out, const struct place *p, const char *path)
{
	const char *six = p->v6 ? "6" : "", *open = p->v6 ? "[" : "", *close = p->v6 ? "]" : "";
	char where[QUOTED_MAX], text[QUOTED_MAX];

	snprintf(where, sizeof where, "%s%s%s:%s", open, p->host, close, path);
	fprintf(out,
		"  Linux    mount -t nfs -o "
		"vers=3,proto=tcp%s,port=%u,mountport=%u,mountproto=tcp%s,nolock",
		six, p->port, p->port, six);
	fprintf(out, " %s /mnt\n", quote(text, where));
}

static void
print_macos(FILE *out, const struct place *p, const char *path)
{
	const char *open = p->v6 ? "[" : "", *close = p->v6 ? "]" : "";
	char where[QUOTED_MAX], text[QUOTED_MAX];

	snprintf(where, sizeof where, "%s%s%s:%s", open, p->host, close, path);
	fprintf(out,
		"  macOS    sudo mount_nfs -o vers=3,tcp,port=%u,mountport=%u,locallocks,resvport",
		p->port, p->port);
	fprintf(out, " %s /private/mnt\n", quote(text, where));
}

/* \\HOST\dir; an IPv6 address cannot stand in a UNC name, so that one gets its ipv6-literal.net
 * spelling. */
static void
print_windows(FILE *out, const struct place *p, const char *path)
{
	const char *mark = strpbrk(path, " &()^%!;,") ? "\"" : "";

	fprintf(out, "  Windows  mount -o anon,nolock,mtype=hard %s\\\\", mark);
	for (const char *h = p->host; *h; h++)
		fputc(p->v6 && *h == ':' ? '-' : p->v6 && *h == '%' ? 's' : *h, out);
	if (p->v6)
		fputs(".ipv6-literal.net", out);
	for (; *path; path++)
		fputc(*path == '/' ? '\\' : iscntrl((unsigned char)*path) ? '?' : *path, out);
	fprintf(out, "%s Z:\n", mark);
}

/* A datastore's name: what follows the last slash, in letters that ESXi takes, at most 42 of them.
 */
static void
print_esxi(FILE *out, const struct place *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash && slash[1] ? slash + 1 : "spliced";
	char text[QUOTED_MAX];

	fprintf(out, "  ESXi     esxcli storage nfs add -H %s -s %s -v ", p->host,
		quote(text, path));
	for (int i = 0; i < 42 && base[i]; i++)
		fputc(isalnum((unsigned char)base[i]) || strchr("._-", base[i]) ? base[i] : '_',
		      out);
	fputc('\n', out);
}

/* Neither of the two can be told a port: both ask rpcbind, and then expect NFS on 2049. */
static void
print_fixed_port(FILE *out, const struct place *p, const char *path, bool rpcbind)
{
	if (p->port == NFS_PORT && rpcbind) {
		print_windows(out, p, path);
		print_esxi(out, p, path);
		return;
	}
	fprintf(out, "  Windows, ESXi: cannot be told a port; they need %s%s%s\n",
		p->port != NFS_PORT ? "-p 2049" : "",
		p->port != NFS_PORT && !rpcbind ? " and " : "", rpcbind ? "" : "rpcbind (no -R)");
}

/* A listener whose address has been shown already: 0.0.0.0 and :: together stand for one place. */
static bool
shown_before(const struct hints *h, size_t a, const struct place *p, bool local)
{
	struct place q;

	for (size_t i = 0; i < a; i++) {
		place_of(&q, h->addrs[i], local);
		if (!strcmp(p->host, q.host) && p->port == q.port)
			return true;
	}
	return false;
}

static void
print_place(FILE *out, const struct place *p, const struct hint_export *x, bool rpcbind)
{
	print_linux(out, p, x->path);
	if (x->local) /* no other system is on this machine */
		return;
	print_macos(out, p, x->path);
	print_fixed_port(out, p, x->path, rpcbind);
}

void
hints_print(FILE *out, const struct hints *h)
{
	char text[QUOTED_MAX];

	for (size_t e = 0; e < h->nexports; e++) {
		const struct hint_export *x = &h->exports[e];

		fprintf(out, "%s%s\n", quote(text, x->path),
			x->local ? "  (for this machine only)" : "");
		for (size_t a = 0; a < h->naddrs; a++) {
			struct place p;

			place_of(&p, h->addrs[a], x->local);
			if (!shown_before(h, a, &p, x->local))
				print_place(out, &p, x, h->rpcbind);
		}
	}
}
