/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lists of MOUNT, encoded entry by entry into the reply's body: who has mounted what (DUMP),
 * what may be mounted (EXPORT). A list longer than its buffer ends early, but ends well.
 */
#include <string.h>

#include "buf.h"
#include "mount3proc.h"
#include "store.h"

enum {
	LIST_MAX = 256 << 10,
	LIST_END = 4,
	GROUPS_MAX = 256, /* clients named per export */
};

struct out {
	char *buf;
	size_t used;
};

static int
begin_list(struct call *c, struct out *o)
{
	o->buf = c->body_mem = buf_take(LIST_MAX);
	c->body_cap = LIST_MAX;
	o->used = 0;
	return o->buf ? 0 : -1;
}

static void
end_list(struct call *c, struct out *o)
{
	o->used += wire_list_end(o->buf + o->used, LIST_MAX - o->used);
	c->body = (payload){.len = (u_int)o->used, .fd = -1, .base = o->buf};
}

static wire_str
text(const char *s)
{
	return (wire_str){(u_int)strlen(s), s};
}

static int
dump_one(void *arg, const char *host, const char *path)
{
	struct out *o = arg;
	size_t n =
	    wire_mount(o->buf + o->used, LIST_MAX - LIST_END - o->used, text(host), text(path));

	o->used += n;
	return n == 0;
}

int
mount3_dump(struct call *c, mountlist *out)
{
	struct out o;

	(void)out; /* nothing of a list is in the result: see dirents in wire.h */
	if (begin_list(c, &o) != 0)
		return ESYSTEM;
	store_mounts(c->engine->store, dump_one, &o);
	end_list(c, &o);
	return 0;
}

/* The clients of an export as its owner wrote them; where everyone is among them, the others say
 * nothing. */
static u_int
groups_of(const struct rules *r, wire_str *groups)
{
	u_int n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct export_client *cl = &r->v[i];

		if (cl->kind == CLIENT_EVERYONE) {
			groups[0] = text("*");
			return 1;
		}
		if (n < GROUPS_MAX)
			groups[n++] = text(cl->text);
	}
	return n;
}

/* By each path that its owner wrote: he and whoever mounts it know no other. */
static void
put_export(struct out *o, const struct export *ex, const struct rules *r, wire_str *groups)
{
	u_int n = groups_of(r, groups);

	for (size_t i = 0; i < r->nwritten || (i == 0 && r->nwritten == 0); i++)
		o->used += wire_export(o->buf + o->used, LIST_MAX - LIST_END - o->used,
				       text(r->nwritten ? r->written[i] : ex->path), groups, n);
}

/* Only what the caller may mount: the list of the others is nobody's business. */
int
mount3_export(struct call *c, exports *out)
{
	const struct sockaddr *peer = (const struct sockaddr *)&c->peer->addr;
	wire_str *groups = arena_alloc(&c->arena, GROUPS_MAX * sizeof *groups);
	struct out o;

	(void)out;
	if (!groups || begin_list(c, &o) != 0)
		return ESYSTEM;
	for (size_t i = 0; i < c->table->n; i++) {
		const struct export *ex = c->table->v[i];
		const struct rules *r = c->table->rules[i];
		const struct export_client *rule;

		if (!c->table->crossed[i] && rules_match(r, c->table->who, peer, &rule) == 0)
			put_export(&o, ex, r, groups);
	}
	end_list(c, &o);
	return 0;
}
