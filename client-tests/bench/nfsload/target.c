/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Setting up, one call at a time: MNT of the export (RFC 1813 appendix I), LOOKUP of each component
 * of the rest, GETATTR for the size, FSINFO for rtmax. Which part of the path is the export need
 * not be said: from the file's directory upwards the first that the server grants is taken. Nothing
 * here is measured.
 */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NFSPROC_GETATTR = 1, NFSPROC_LOOKUP = 3, NFSPROC_FSINFO = 19, MOUNTPROC_MNT = 1 };

/* What one call of the set-up needs. */
struct session {
	const struct opts *o;
	int fd;
	uint32_t xid;
	uint8_t call[2048];
	uint8_t reply[8192];
	struct enc e;
	struct dec d;
	char *err;
};

static void
begin(struct session *s, uint32_t prog, uint32_t proc)
{
	s->e = (struct enc){.base = s->call, .cap = sizeof s->call};
	rpc_begin(&s->e, ++s->xid, prog, 3, proc, &s->o->cred);
}

/* Sends; on success *status is the first word of the results, which NFS and MOUNT share. */
static int
call(struct session *s, const char *what, uint32_t *status)
{
	char why[RPC_ERR];
	rpc_end(&s->e);
	if (rpc_call(s->fd, &s->e, s->reply, sizeof s->reply, &s->d, why)) {
		snprintf(s->err, RPC_ERR, "%.60s: %.190s", what, why);
		return -1;
	}
	*status = dec_u32(&s->d);
	return 0;
}

static int
take_fh(struct session *s, const char *what, struct fh *fh)
{
	const uint8_t *p = dec_opaque(&s->d, FH_MAX, &fh->len);
	if (!p || !fh->len) {
		snprintf(s->err, RPC_ERR, "%s: the reply holds no valid file handle", what);
		return -1;
	}
	memcpy(fh->data, p, fh->len);
	return 0;
}

/* 0, -1 with err when no answer came, else the mount status. */
static int
mnt(struct session *s, const char *path, struct fh *root)
{
	uint32_t status;
	begin(s, PROG_MOUNT, MOUNTPROC_MNT);
	enc_string(&s->e, path);
	if (call(s, "MNT", &status))
		return -1;
	if (!status)
		return take_fh(s, "MNT", root);
	snprintf(s->err, RPC_ERR, "the server refused MNT of %.120s with status %u: %s%s", path,
		 status, status_name(status),
		 status == 13 ? " (not exported to us, or it wants a port below 1024)" : "");
	return status > INT32_MAX ? INT32_MAX : (int)status;
}

static int
lookup(struct session *s, const struct fh *dir, const char *name, struct fh *fh, uint32_t *status)
{
	begin(s, PROG_NFS, NFSPROC_LOOKUP);
	enc_opaque(&s->e, dir->data, dir->len);
	enc_string(&s->e, name);
	if (call(s, "LOOKUP", status))
		return -1;
	return *status ? 0 : take_fh(s, "LOOKUP", fh);
}

static int
getattr(struct session *s, struct target *t)
{
	uint32_t status;
	begin(s, PROG_NFS, NFSPROC_GETATTR);
	enc_opaque(&s->e, t->file.fh.data, t->file.fh.len);
	if (call(s, "GETATTR", &status))
		return -1;
	uint32_t type = status ? 0 : dec_u32(&s->d);
	dec_bytes(&s->d, 16); /* mode, nlink, uid, gid */
	t->size = dec_u64(&s->d);
	if (!status && !s->d.over && type == 1)
		return 0;
	if (type == 2 && s->o->only == OP_READDIRPLUS) {
		t->dir = t->file.fh; /* this is to be listed, not what it lies in */
		return 0;
	}
	if (status)
		snprintf(s->err, RPC_ERR, "GETATTR of %.120s: status %u: %s", t->spec->path, status,
			 status_name(status));
	else
		snprintf(s->err, RPC_ERR, "%.120s is no regular file (type %u)", t->spec->path,
			 type);
	return -1;
}

/* A server without FSINFO can still be measured. */
static int
fsinfo(struct session *s, struct target *t)
{
	uint32_t status;
	begin(s, PROG_NFS, NFSPROC_FSINFO);
	enc_opaque(&s->e, t->dir.data, t->dir.len);
	if (call(s, "FSINFO", &status))
		return -1;
	if (!status && dec_u32(&s->d))
		dec_bytes(&s->d, 84);
	uint32_t rtmax = dec_u32(&s->d);
	t->rtmax = status || s->d.over ? 0 : rtmax;
	return 0;
}

/* Walks the components of rest down from *dir. Leaves the last one in *leaf and its directory in
 * *dir. */
static int
walk(struct session *s, struct fh *dir, char *rest, struct object *leaf)
{
	char *save = NULL;
	const char *last = NULL;
	for (char *name = strtok_r(rest, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		uint32_t status;
		if (last)
			*dir = leaf->fh;
		last = name;
		if (lookup(s, dir, name, &leaf->fh, &status))
			return -1;
		if (status) {
			snprintf(s->err, RPC_ERR, "LOOKUP of '%.120s' failed with status %u: %s",
				 name, status, status_name(status));
			return -1;
		}
	}
	if (!last)
		snprintf(s->err, RPC_ERR, "no file name after the export");
	else
		leaf->name = strdup(last); /* last lies in rest, which does not live as long */
	return leaf->name ? 0 : -1;
}

/* Mounts path's longest granted parent (or what stands before "//"); *rest is set to what is below
 * it. */
static int
mount_some(struct session *s, char *path, struct fh *root, char **rest)
{
	char *cut = strstr(path, "//");
	bool given = cut != NULL;
	char first[RPC_ERR] = "";
	if (!cut)
		cut = strrchr(path, '/');
	for (;;) {
		*cut = '\0';
		int rc = mnt(s, cut == path ? "/" : path, root);
		*rest = cut + 1;
		if (rc <= 0)
			return rc;
		if (!first[0])
			memcpy(first, s->err, sizeof first);
		char *up = cut == path || given ? NULL : strrchr(path, '/');
		*cut = '/';
		if (!up) {
			memcpy(s->err, first, sizeof first); /* the likeliest export says most */
			return -1;
		}
		cut = up;
	}
}

/* No f0 in the directory: --names is off for this server. */
static void
without_names(struct target *t)
{
	fprintf(stderr, "nfsload: %s has no f0 beside the file: the file itself is used\n",
		t->spec->name);
	free(t->object[0].name);
	free(t->object);
	t->object = &t->file;
	t->nobjects = 1;
}

/* --names: f0, f1, ... when the directory has them; all must be there then. */
static int
find_names(struct session *s, struct target *t)
{
	unsigned n = s->o->names;
	t->object = n ? calloc(n, sizeof *t->object) : &t->file;
	t->nobjects = n ? n : 1;
	for (unsigned i = 0; t->object && i < n; i++) {
		struct object *obj = &t->object[i];
		uint32_t status = 0;
		if (asprintf(&obj->name, "f%u", i) < 0)
			obj->name = NULL;
		if (!obj->name || lookup(s, &t->dir, obj->name, &obj->fh, &status))
			return -1;
		if (status && !i) {
			without_names(t);
			return 0;
		}
		if (status) {
			snprintf(s->err, RPC_ERR,
				 "LOOKUP of f%u failed with status %u: %s; --names %u needs "
				 "f0 to f%u",
				 i, status, status_name(status), n, n - 1);
			return -1;
		}
	}
	return t->object ? 0 : -1;
}

static int
nfs_part(struct session *s, struct target *t, char *rest)
{
	const struct server_spec *spec = t->spec;
	s->fd = rpc_connect(spec->host, spec->port, s->o->privport, 0, s->err);
	if (s->fd < 0)
		return -1;
	int rc = walk(s, &t->dir, rest, &t->file);
	if (!rc)
		rc = getattr(s, t);
	if (!rc)
		rc = fsinfo(s, t);
	if (!rc)
		rc = find_names(s, t);
	close(s->fd);
	return rc;
}

int
target_open(struct target *t, const struct server_spec *spec, const struct opts *o,
	    char err[RPC_ERR])
{
	struct session s = {.o = o, .xid = 1, .err = err};
	*t = (struct target){.spec = spec};
	char *path = strdup(spec->path);
	char *rest = NULL;
	s.fd = rpc_connect(spec->host, spec->mountport, o->privport, 0, err);
	if (!path || s.fd < 0) {
		free(path);
		return -1;
	}
	int rc = mount_some(&s, path, &t->dir, &rest);
	close(s.fd);
	if (!rc)
		rc = nfs_part(&s, t, rest);
	free(path);
	return rc;
}

void
target_close(struct target *t)
{
	if (t->object != &t->file && t->object) {
		for (unsigned i = 0; i < t->nobjects; i++)
			free(t->object[i].name);
		free(t->object);
	}
	free(t->file.name);
}
