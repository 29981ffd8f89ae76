/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exports files. Any bytes are read to their end; a file is good exactly when no error was
 * reported, and every message has a place inside it. Every rule that was taken has an absolute path
 * and a client; printed as an exports file and read again it is the same rule.
 */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* A message begins with a place of a text of so many lines. */
static void
check_places(const struct diag *d, size_t lines)
{
	for (size_t i = 0; i < d->n; i++) {
		unsigned line, col;

		MUST(sscanf(d->v[i].text, "file:%u:%u: ", &line, &col) == 2);
		MUST(line >= 1 && line <= lines && col >= 1);
	}
}

static char *
printed(const struct entries *e, size_t *size)
{
	struct plan_export *v = calloc(e->n + 1, sizeof *v);
	struct rules *r = calloc(e->n + 1, sizeof *r);
	struct plan p = {.v = v, .n = e->n, .sources = e->sources};
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	MUST(v && r && f);
	for (size_t i = 0; i < e->n; i++) {
		r[i] = (struct rules){.n = 1, .v = &e->v[i].client};
		v[i] = (struct plan_export){.path = e->v[i].path, .rules = &r[i]};
	}
	plan_print(&p, f);
	fclose(f);
	free(v);
	free(r);
	return text;
}

static void
check_same(const struct entry *a, const struct entry *b)
{
	char x[OPTS_TEXT], y[OPTS_TEXT];

	MUST(strcmp(a->path, b->path) == 0);
	MUST(strcmp(a->client.text, b->client.text) == 0);
	MUST(a->client.kind == b->client.kind && a->client.named == b->client.named);
	MUST(memcmp(&a->client.addr, &b->client.addr, sizeof a->client.addr) == 0);
	MUST(memcmp(&a->client.mask, &b->client.mask, sizeof a->client.mask) == 0);
	MUST(strcmp(opts_text(&a->client.opts, x, sizeof x),
		    opts_text(&b->client.opts, y, sizeof y)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct entries e = {0}, again = {0};
	struct diag d = {0}, none = {0};
	char *text, *more;
	size_t size, lines = 1;
	bool good = entries_parse(&e, "file", (const char *)data, n, &d);

	for (size_t i = 0; i < n; i++)
		lines += data[i] == '\n';
	MUST(good == (d.errors == 0));
	check_places(&d, lines);
	for (size_t i = 0; i < e.n; i++)
		MUST(e.v[i].path[0] == '/' && e.v[i].client.text[0]);
	text = printed(&e, &size);
	more = malloc(size + 1); /* a copy of the exact size: reading beyond is seen */
	MUST(more);
	memcpy(more, text, size);
	MUST(entries_parse(&again, "again", more, size, &none));
	MUST(again.n == e.n);
	for (size_t i = 0; i < e.n; i++)
		check_same(&e.v[i], &again.v[i]);
	free(text);
	free(more);
	entries_free(&e);
	entries_free(&again);
	diag_free(&d);
	diag_free(&none);
	return 0;
}

static void
first_inputs(void)
{
	static const char *const texts[] = {
	    "/a h1(rw,sync) \\\n *.x.y(ro) # end\n/b -rw,sec=krb5 @ng(sec=sys) 10.0.0.0/8\n",
	    "\"/a b\" [fe80::1]/64(fsid=0x10,anonuid=-2,mp=/m) ::1/128(mountpoint)\n",
	    "/a\\040b \"h\"(no_root_squash,all_squash,xprtsec=none:tls,crossmnt)\r\n/c\n",
	    "/a host (rw)\n/b *(fsid=12345678123456781234567812345678,refer=/a@b,squash_uids=1-5)",
	    "/d 1.2.3.4/255.0.255.0(insecure,no_acl,nordirplus,reexport=none,anongid=7,nohide)\n",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		seed(texts[i], strlen(texts[i]));
}

FUZZ_SEEDS(first_inputs)
