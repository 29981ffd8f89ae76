/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "hints.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static char text[8192];

static void
print(const char *path, bool local, const char *addr, unsigned port, bool rpcbind)
{
	struct sockaddr_in four = {0};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	const struct sockaddr *a = (const struct sockaddr *)&six;
	struct hint_export x = {path, local};
	struct hints h = {&x, 1, &a, 1, rpcbind};
	FILE *out = fmemopen(text, sizeof text, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	if (inet_pton(AF_INET6, addr, &six.sin6_addr) != 1) {
		four.sin_family = AF_INET;
		four.sin_port = htons((uint16_t)port);
		CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET, addr, &four.sin_addr), 1);
		a = (const struct sockaddr *)&four;
	}
	hints_print(out, &h);
	fclose(out);
}

#define SAYS(part) CU_ASSERT_PTR_NOT_NULL(strstr(text, part))

/* Each client system gets a command with this server's address, port and path. */
TEST(hints, each_system)
{
	print("/srv/data", false, "192.0.2.7", 2049, true);
	SAYS("mount -t nfs -o vers=3,proto=tcp,port=2049,mountport=2049,mountproto=tcp,nolock "
	     "192.0.2.7:/srv/data /mnt\n");
	SAYS("mount_nfs -o vers=3,tcp,port=2049,mountport=2049,locallocks,resvport "
	     "192.0.2.7:/srv/data");
	SAYS("mount -o anon,nolock,mtype=hard \\\\192.0.2.7\\srv\\data Z:\n");
	SAYS("esxcli storage nfs add -H 192.0.2.7 -s /srv/data -v data\n");
}

/* IPv6 addresses are bracketed, and the transport is named tcp6. */
TEST(hints, ipv6)
{
	print("/srv", false, "2001:db8::7", 3049, false);
	SAYS(
	    "proto=tcp6,port=3049,mountport=3049,mountproto=tcp6,nolock [2001:db8::7]:/srv /mnt\n");
	print("/srv", false, "2001:db8::7", 2049, true);
	SAYS("\\\\2001-db8--7.ipv6-literal.net\\srv Z:\n");
}

/* Systems that cannot be told a port get no command that would fail, but what the server would
 * need. */
TEST(hints, other_port)
{
	print("/srv", false, "192.0.2.7", 3049, false);
	SAYS("they need -p 2049 and rpcbind (no -R)\n");
	CU_ASSERT_PTR_NULL(strstr(text, "esxcli"));
	print("/srv", false, "192.0.2.7", 2049, false);
	SAYS("they need rpcbind (no -R)\n");
	print("/srv", false, "192.0.2.7", 3049, true);
	SAYS("they need -p 2049\n");
}

/* A path is quoted so that a shell takes it as it is, and cannot play with the terminal. */
TEST(hints, quoting)
{
	print("/a b/it's", false, "192.0.2.7", 2049, true);
	SAYS(" '192.0.2.7:/a b/it'\\''s' /mnt\n");
	SAYS("\"\\\\192.0.2.7\\a b\\it's\" Z:\n");
	SAYS("-s '/a b/it'\\''s' -v it_s\n");
	print("/a\033[2J\n", false, "192.0.2.7", 2049, true);
	CU_ASSERT_PTR_NULL(strchr(text, '\033'));
	print("/", false, "192.0.2.7", 2049, true);
	SAYS("-s / -v spliced\n");
}

/* The any-address is shown as one that a client can use; an export of this machine alone as
 * loopback, for its one client system. */
TEST(hints, any_address)
{
	print("/srv", true, "0.0.0.0", 2049, true);
	SAYS(" 127.0.0.1:/srv /mnt\n");
	CU_ASSERT_PTR_NULL(strstr(text, "Windows"));
	print("/srv", false, "::", 2049, true);
	CU_ASSERT_PTR_NULL(strstr(text, "[::]"));
	SAYS(":/srv /mnt\n");
}

/* 0.0.0.0 and :: of one server are one place. */
TEST(hints, both_any_addresses)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(2049)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(2049)};
	const struct sockaddr *a[] = {(const struct sockaddr *)&four,
				      (const struct sockaddr *)&six};
	struct hint_export x = {"/srv", true};
	struct hints h = {&x, 1, a, 2, true};
	FILE *out = fmemopen(text, sizeof text, "w");
	const char *first;

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	hints_print(out, &h);
	fclose(out);
	first = strstr(text, "Linux");
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	CU_ASSERT_PTR_NULL(strstr(first + 1, "Linux"));
}
