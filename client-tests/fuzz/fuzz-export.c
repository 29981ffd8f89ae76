/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What people write about exports: files of exports(5), option lists, clients. Whatever the text, a
 * parser takes it or says what is wrong, and a client it takes by address covers only what its mask
 * says.
 */
#include "entries.h"

#include <errno.h>

#include "fuzz.h"

static int
by_address(const struct export_client *c)
{
	return (c->kind == CLIENT_HOST && !c->named) || c->kind == CLIENT_SUBNET;
}

/* Nothing of the address lies outside the mask: else it would cover nobody. */
static void
covers_somebody(const struct export_client *c)
{
	for (int i = 0; by_address(c) && i < 16; i++)
		MUST((c->addr.s6_addr[i] & ~c->mask.s6_addr[i]) == 0);
}

static void
options(const char *text)
{
	char err[512] = "";
	struct export_opts o = {0}, twice = {0};

	if (export_parse_opts(text, &o, err, sizeof err) != 0) {
		MUST(strlen(err) > 5);
		return;
	}
	MUST(o.squash == SQUASH_ROOT || o.squash == SQUASH_NONE || o.squash == SQUASH_ALL);
	MUST(export_parse_opts(text, &twice, err, sizeof err) == 0);
	MUST(twice.rw == o.rw && twice.secure == o.secure && twice.squash == o.squash &&
	     twice.anonuid == o.anonuid && twice.anongid == o.anongid);
}

static void
client(const char *text)
{
	char err[512] = "";
	struct export_client c = {0};

	if (export_parse_client(text, &c, err, sizeof err) != 0) {
		MUST(strlen(err) > 5);
		return;
	}
	covers_somebody(&c);
	MUST(c.text && (c.kind == CLIENT_EVERYONE || *c.text));
	free(c.text);
}

static void
file(const char *text, size_t n)
{
	struct entries e = {0}, copy = {0};
	struct diag d = {0};

	if (!entries_parse(&e, "exports", text, n, &d))
		MUST(d.errors > 0);
	for (size_t i = 0; i < e.n; i++) {
		MUST(e.v[i].path && e.v[i].path[0] == '/');
		covers_somebody(&e.v[i].client);
	}
	MUST(entries_copy(&copy, &e) && copy.n == e.n);
	if (copy.n > 0) {
		/* the path is compared as it is written: at least this one goes */
		MUST(entries_remove(&copy, e.v[0].path, NULL) >= 1);
		MUST(copy.n < e.n);
	}
	entries_free(&copy);
	entries_free(&e);
	diag_free(&d);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);

	memcpy(text, data, n);
	text[n] = '\0';
	file(text, n);
	options(text);
	client(text);
	free(text);
	return 0;
}

static void
first_inputs(void)
{
	static const char *const texts[] = {
	    "ro,secure",
	    "rw,insecure,no_root_squash",
	    "all_squash,anonuid=65534,anongid=-2",
	    "fsid=0,mp=/x,sec=sys:krb5,xprtsec=tls",
	    "10.0.0.1",
	    "10.0.0.0/8",
	    "10.0.0.0/255.0.0.0",
	    "::1",
	    "fe80::/10",
	    "::ffff:10.0.0.1",
	    "*",
	    "0.0.0.0/0",
	    "2001:db8::/33",
	    "*.example.org",
	    "@group",
	    "/a 10.0.0.1(rw,sync) *(ro)\n/b -ro,all_squash host1 host2(rw)\n",
	    "\"/with space\" *(ro) # comment\n/oct\\040al \\\n\t@net(rw)\n",
	    "/a (ro)\n/a gss/krb5(rw)\n/c\n",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		seed(texts[i], strlen(texts[i]));
}

FUZZ_SEEDS(first_inputs)
