/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the path of a MNT to a directory. Only the export's own path is trusted: what lies below is
 * walked like any client would walk it, component by component, as the squashed caller. A server
 * that resolves the whole path as itself hands out subtrees which the caller could never reach
 * (CVE-2025-12801).
 *
 * A path that leads to an export by symbolic links, where the caller met one or nothing is exported
 * by that name, is another spelling of a path (mount3real.c): if an export has that one, it is
 * walked from the export's root in the same way. So links never lead anywhere that could not be
 * asked for by its own name, and the answer does not tell whether there is a path that is not
 * exported.
 */
#include <errno.h>
#include <string.h>

#include "log.h"
#include "lookup.h"
#include "mount3proc.h"
#include "permit.h"

enum { PATIENCE = 20 }; /* times what permit() waits */

/* The next component of *p, or NULL at the end; slashes and "." are stepped over. */
static const char *
component(const char **p, size_t *len)
{
	for (;;) {
		*p += strspn(*p, "/");
		*len = strcspn(*p, "/");
		if (*len == 0)
			return NULL;
		*p += *len;
		if (*len != 1 || (*p)[-1] != '.')
			return *p - *len;
	}
}

int
mount3_path(struct call *c, const dirpath *dir, const char **path)
{
	const char *rest, *name;
	size_t len, n = 0;
	char *text, *out;

	if (dir->len > MNTPATHLEN)
		return ENAMETOOLONG;
	if (dir->len == 0 || dir->s[0] != '/' || memchr(dir->s, 0, dir->len))
		return EINVAL;
	text = arena_alloc(&c->arena, dir->len + 1);
	out = arena_alloc(&c->arena, dir->len + 1);
	if (!text || !out)
		return ENOMEM;
	memcpy(text, dir->s, dir->len);
	for (rest = text; (name = component(&rest, &len));) {
		if (len == 2 && memcmp(name, "..", 2) == 0)
			return EINVAL;
		out[n++] = '/';
		memcpy(out + n, name, len);
		n += len;
	}
	if (n == 0)
		out[n++] = '/';
	*path = out;
	return 0;
}

static int
not_exported(const struct call *c, const char *path)
{
	static struct log_limit limit = {.burst = 10};
	const struct absent *a = export_absent(c->table, path);
	char text[128];

	if (a && log_may(&limit))
		log_warn("refused %s mounting %s: it is exported, but %s", c->peer->text,
			 log_text(text, sizeof text, path, strlen(path)), a->why);
	if (a)
		return ENOENT;
	if (log_may(&limit))
		log_warn("refused %s mounting %s: nothing is exported at or above that path",
			 c->peer->text, log_text(text, sizeof text, path, strlen(path)));
	return EACCES;
}

/* A walk goes on under the rules under which it began; the export of a mount on the way, which has
 * no line of its own, has the same. */
static bool
same_rules(const struct call *c, const struct export *ex)
{
	size_t from = export_index(c->table, c->obj[0]->ex), to = export_index(c->table, ex);

	return from == to || (from < c->table->n && to < c->table->n &&
			      c->table->rules[from] == c->table->rules[to]);
}

/* One step down; the former directory's reference goes. */
static int
step(struct call *c, const char *name, size_t len)
{
	struct obj *child = NULL;
	struct stat st;
	int e = lookup(c, name, len, &child, &st);

	if (e == 0 && !same_rules(c, child->ex)) {
		obj_put(c->engine->vfs->files, child);
		e = EACCES;
	}
	if (e != 0)
		return e;
	obj_put(c->engine->vfs->files, c->obj[0]);
	c->obj[0] = child;
	return 0;
}

/* The gate, waited for: a mount that fails is not tried again by everybody, so a slow name service
 * is given time; when that is over there is no reply, and the client asks again. */
static int
pass(struct call *c, const struct export *ex)
{
	int e = permit(c, ex);

	for (int i = 0; e == EAGAIN && i < PATIENCE; i++)
		e = permit(c, ex);
	return e == EAGAIN ? ENOREPLY : e;
}

/* The way below an export's root. *link: it ended at a symbolic link. */
static int
walk(struct call *c, struct export *ex, const char *rest, bool *link)
{
	struct vfs_ctx ctx = call_ctx(c);
	const char *name;
	struct handle h;
	size_t len;
	int e = pass(c, ex);

	if (e == 0)
		e = handle_parse(c->engine->key, &ex->root, &h);
	if (e == 0)
		e = vfs_object(&ctx, ex, &ex->root, &h, &c->obj[0]);
	while (e == 0 && S_ISDIR(c->obj[0]->type) && (name = component(&rest, &len)))
		e = step(c, name, len);
	*link = e == 0 && S_ISLNK(c->obj[0]->type);
	return e == 0 && !S_ISDIR(c->obj[0]->type) ? ENOTDIR : e;
}

/* The call as it was before the first walk. */
static void
begin_again(struct call *c, const struct cred *claimed)
{
	obj_put(c->engine->vfs->files, c->obj[0]);
	c->obj[0] = NULL;
	cred_groups_put(c->more);
	c->more = NULL;
	c->rule = NULL;
	c->cred = *claimed;
}

int
mount3_walk(struct call *c, const char *path, struct obj **dir)
{
	const char *rest, *real = path;
	struct export *ex = export_by_path(c->table, path, &rest);
	struct cred claimed = c->cred;
	bool link = false;
	int e = ex ? walk(c, ex, rest, &link) : 0;

	if (!ex || link) {
		real = export_absent(c->table, path) ? NULL : mount3_real(c, path);
		ex = real ? export_by_path(c->table, real, &rest) : NULL;
		if (ex) {
			begin_again(c, &claimed);
			e = walk(c, ex, rest, &link);
		} else if (!link) {
			e = not_exported(c, real && export_absent(c->table, real) ? real : path);
		}
	}
	*dir = c->obj[0];
	return e;
}
