/* SPDX-License-Identifier: BSD-2-Clause */
#include "spec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Cuts "@digits" off the end, the pid. A path may hold other '@'. */
static pid_t
cut_pid(char *s)
{
	char *at = strrchr(s, '@');
	if (!at || !at[1] || at[1 + strspn(at + 1, "0123456789")])
		return 0;
	*at = '\0';
	return (pid_t)strtol(at + 1, NULL, 10);
}

static bool
is_port(const char *s)
{
	char *end;
	unsigned long v = strtoul(s, &end, 10);
	return isdigit((unsigned char)s[0]) && !*end && v > 0 && v < 65536;
}

/* HOST:PORT[:MOUNTPORT], HOST being a name, an IPv4 address or [an IPv6 address]. */
static const char *
cut_address(struct server_spec *s, char *text)
{
	char *colon;
	if (*text == '[') {
		char *close = strchr(text, ']');
		if (!close)
			return "no ']' after the address";
		*close = '\0';
		s->host = text + 1;
		colon = close[1] == ':' ? close + 1 : NULL;
	} else {
		s->host = text;
		colon = strchr(text, ':');
	}
	if (!colon)
		return "no :PORT after the host";
	*colon = '\0';
	s->port = colon + 1;
	colon = strchr(s->port, ':');
	s->mountport = colon ? colon + 1 : s->port;
	if (colon)
		*colon = '\0';
	if (!is_port(s->port) || !is_port(s->mountport))
		return "a port is a number from 1 to 65535";
	return *s->host ? NULL : "no host";
}

const char *
spec_parse(struct server_spec *s, const char *arg)
{
	char *copy = strdup(arg);
	s->name = copy;
	if (!copy)
		return "out of memory";
	char *equals = strchr(copy, '=');
	if (!equals || equals == copy)
		return "no NAME= in front";
	*equals = '\0';
	char *address = equals + 1;
	s->pid = cut_pid(address);
	char *slash = strchr(address, '/');
	if (!slash || !slash[1])
		return "no /PATH of a file after the port";
	s->path = strdup(slash);
	*slash = '\0';
	return s->path ? cut_address(s, address) : "out of memory";
}

void
spec_free(struct server_spec *s)
{
	free(s->name); /* host and ports live in the same memory */
	free(s->path);
}
