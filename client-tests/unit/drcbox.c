/* SPDX-License-Identifier: BSD-2-Clause */
#include "drcbox.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked
asked(unsigned client, uint32_t xid)
{
	static const char args[ARGS_MAX] = "a handle, a name and what else a call may say";
	struct asked a = {
	    .rc = {.xid = xid, .prog = 100003, .vers = 3, .proc = 12}, .args = args, .n = 60};
	struct sockaddr_in *in = (struct sockaddr_in *)&a.peer;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(0x0a000000 + client);
	asked_port(&a, 700);
	a.rc.flavor = AUTH_SYS;
	a.rc.sys = (struct rpc_authsys){
	    .uid = 1000, .gid = 100, .ngids = 2, .gids = {100, 27}, .machine = "host"};
	return a;
}

void
asked_port(struct asked *a, uint16_t port)
{
	((struct sockaddr_in *)&a->peer)->sin_port = htons(port);
}

struct drc_key
asked_key(const struct drc *d, const struct asked *a)
{
	struct drc_key k;

	drc_key_make(d, &k, &a->peer, a->datagram, &a->rc, a->args, a->n);
	return k;
}

struct drc_key
key_of(const struct drc *d, unsigned client, uint32_t xid)
{
	struct asked a = asked(client, xid);

	return asked_key(d, &a);
}

size_t
reply_of(uint64_t seed, char buf[RING_REPLY])
{
	size_t n = seed * 131 % (RING_REPLY + 1);

	for (size_t i = 0; i < n; i++)
		buf[i] = (char)((seed + 1) * 0x9E3779B97F4A7C15u >> i % 8 * 8);
	return n;
}

enum drc_seen
seen(struct drc *d, const struct drc_key *k, uint64_t seed)
{
	char buf[RING_REPLY], want[RING_REPLY];
	size_t n = 0, m = reply_of(seed, want);
	bool failed = false;
	enum drc_seen s = drc_look(d, k, buf, &n, &failed, NULL);

	if (s == DRC_DONE) {
		if (n != m || memcmp(buf, want, n) != 0 || failed != seed % 2)
			CU_FAIL("a reply is not what it was");
	}
	return s;
}

void
done(struct drc *d, const struct drc_key *k, uint64_t seed)
{
	char buf[RING_REPLY];
	size_t n = reply_of(seed, buf);
	struct drc_claim c;
	int e = drc_claim(d, k, &c);

	if (e == 0)
		drc_finish(d, &c, buf, n, seed % 2);
	else
		CU_FAIL("a new call cannot be claimed");
}

struct drc *
open_quiet(const char *dir, const struct drc_opts *o)
{
	char msg[400];
	struct drc *d = drc_open(dir, o, msg, sizeof msg);

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	CU_ASSERT_STRING_EQUAL(msg, "");
	return d;
}

struct drc_dir
make_drc_dir(void)
{
	struct drc_dir d;

	strcpy(d.path, "/tmp/spliced-drc-XXXXXX");
	if (!mkdtemp(d.path)) {
		perror(d.path);
		exit(1);
	}
	snprintf(d.ring, sizeof d.ring, "%s/" RING_NAME, d.path);
	return d;
}

void
drop_drc_dir(struct drc_dir *d)
{
	if (remove(d->ring) < 0)
		CU_FAIL("no ring in the directory");
	CU_ASSERT_EQUAL(rmdir(d->path), 0);
}
