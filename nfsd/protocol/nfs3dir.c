/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * READDIR and READDIRPLUS (RFC 1813 sections 3.3.16 and 3.3.17). Entries are encoded one by one,
 * while the directory is read, into a buffer of exactly the room that the client's limit leaves;
 * the buffer is then the reply's body. So the limit holds to the byte, and no list of entries ever
 * exists.
 *
 * A reply has an entry or says eof; a client that got neither would ask the same for ever. Where
 * not even one entry fits the answer is TOOSMALL. The cookie verifier is zero and never checked: a
 * cookie keeps its meaning whatever happens to the directory, so BAD_COOKIE is for a number that
 * cannot be one.
 */
#include <errno.h>
#include <string.h>

#include "buf.h"
#include "entry.h"
#include "lookup.h"
#include "nfs3proc.h"
#include "vdir.h"

enum {
	/* of a result beside its entries: attributes, verifier, "no more" and eof; without the
	   status, which count leaves out */
	LIST_OVERHEAD = WIRE_POST_OP + NFS3_COOKIEVERFSIZE,
	/* a typical entry, to say beforehand how many may fit */
	TYPICAL_ENTRY = 40,
	TYPICAL_ENTRYPLUS = TYPICAL_ENTRY + WIRE_POST_OP + 36,
};

struct listing {
	struct call *c;
	bool mounts;	/* something may be mounted in the directory, or it in another */
	struct stat st; /* then: of the directory */
	char *buf;
	size_t room, used; /* room leaves place for the end of the list */
	bool plus;
	size_t dir_left; /* READDIRPLUS: bytes of fileid, name and cookie still wanted */
	unsigned n;
};

static size_t
put_plain(const struct listing *l, const struct vdir_entry *e)
{
	return wire_entry3(l->buf + l->used, l->room - l->used, nfs3_fileid(e->fileid), e->name,
			   (u_int)e->namelen, e->cookie);
}

/*
 * What is shown of a name that leads over a mount: the number of what is beneath, which is what
 * readdir(3) says of a mount point, with attributes and handle of what is mounted. Of a file system
 * that might not answer, and of a ".." that leads out, the name alone.
 */
static bool
across(const struct listing *l, const struct vdir_entry *e, struct vdir_entry *out,
       struct export **ex)
{
	struct call *c = l->c;

	*out = *e;
	out->have_st = false;
	if (e->namelen <= 2 && strncmp(e->name, "..", e->namelen) == 0) {
		*ex = NULL;
		return e->namelen == 2 && lookup_leads_out(c);
	}
	*ex = lookup_entry(c, &l->st, e->name, e->namelen);
	if (!*ex)
		return false;
	out->have_st = (*ex)->fs.local && fstat((*ex)->fs.root, &out->st) == 0 &&
		       handle_parse(c->engine->key, &(*ex)->root, &out->id) == 0;
	return true;
}

/* An object that could not be examined is listed by name alone; the client will LOOKUP. */
static size_t
put_plus(const struct listing *l, const struct vdir_entry *e)
{
	struct call *c = l->c;
	struct export *ex = c->obj[0]->ex, *other;
	struct vdir_entry mounted;
	fattr3 attr;
	nfs_fh3 fh;
	bool have_fh;

	if (l->mounts && across(l, e, &mounted, &other)) {
		e = &mounted;
		ex = other ? other : ex;
	}
	have_fh = e->have_st && e->id.ilen > 0;
	if (e->have_st)
		nfs3_fattr(ex, have_fh ? &e->id : &c->obj[0]->id, &e->st, &attr);
	if (have_fh)
		handle_seal(c->engine->key, &e->id, &fh);
	return wire_entryplus3(l->buf + l->used, l->room - l->used, nfs3_fileid(e->fileid), e->name,
			       (u_int)e->namelen, e->cookie, e->have_st ? &attr : NULL,
			       have_fh ? &fh : NULL);
}

static int
emit(void *arg, const struct vdir_entry *e)
{
	struct listing *l = arg;
	size_t names = wire_entry3_size((u_int)e->namelen);
	size_t n;

	/* dircount is a hint: the first entry always goes */
	if (l->plus && l->n > 0 && names > l->dir_left)
		return 1;
	n = l->plus ? put_plus(l, e) : put_plain(l, e);
	if (n == 0)
		return 1;
	l->dir_left -= names < l->dir_left ? names : l->dir_left;
	l->used += n;
	l->n++;
	return 0;
}

/* Reads entries after cookie into l->buf, whose size is size. An errno of the directory, or an NFS
 * status: both through *status. */
static int
fill(struct listing *l, uint64_t cookie, size_t size)
{
	struct vfs_ctx ctx = call_ctx(l->c);
	size_t hint = size / (l->plus ? TYPICAL_ENTRYPLUS : TYPICAL_ENTRY) + 1;
	bool eof = false;
	int e;

	l->room = size - WIRE_ENTRIES_END;
	e = vdir_list(&ctx, l->c->obj[0], cookie, l->plus, hint, emit, l, &eof);
	if (e != 0)
		return e == EINVAL ? NFS3ERR_BAD_COOKIE : nfs3_status(e);
	if (l->n == 0 && !eof)
		return NFS3ERR_TOOSMALL;
	l->used += wire_entries_end(l->buf + l->used, size - l->used, eof);
	return NFS3_OK;
}

/* limit: what the client lets the result take. The list becomes the call's body. */
static int
list(struct call *c, struct listing *l, uint64_t cookie, count3 limit)
{
	size_t size = limit < NFS3_DIR_MAX ? limit : NFS3_DIR_MAX;
	int status;

	if (size < LIST_OVERHEAD + WIRE_ENTRIES_END)
		return NFS3ERR_TOOSMALL;
	size -= LIST_OVERHEAD;
	l->c = c;
	l->buf = buf_take(size);
	if (!l->buf)
		return NFS3ERR_JUKEBOX;
	c->body_mem = l->buf; /* the call's from here on, whatever happens */
	c->body_cap = size;
	status = fill(l, cookie, size);
	if (status == NFS3_OK)
		c->body = (payload){.len = (u_int)l->used, .fd = -1, .base = l->buf};
	return status;
}

int
nfs3_readdir(struct call *c, const READDIR3args *a, READDIR3res *r)
{
	READDIR3resok *ok = &r->READDIR3res_u.resok;
	struct listing l = {.plus = false};

	/* attributes before entries: a listing may be newer than they are, never older */
	if (nfs3_post_op(c, c->obj[0], &ok->dir_attributes) == ESLEEP)
		return ESLEEP;
	return list(c, &l, a->cookie, a->count);
}

/* Does the table know of a mount point in this directory, or is it the root of a mount? */
static bool
may_cross(struct call *c, struct stat *st)
{
	struct vfs_ctx ctx = call_ctx(c);
	const struct obj *o = c->obj[0];

	return (cross_any(c->table, o->ex, o->ino) || lookup_leads_out(c)) &&
	       vfs_getattr(&ctx, c->obj[0], st) == 0;
}

int
nfs3_readdirplus(struct call *c, const READDIRPLUS3args *a, READDIRPLUS3res *r)
{
	READDIRPLUS3resok *ok = &r->READDIRPLUS3res_u.resok;
	struct listing l = {.plus = true, .dir_left = a->dircount};

	if (c->rule->opts.nordirplus)
		return NFS3ERR_NOTSUPP;
	l.mounts = may_cross(c, &l.st);
	if (nfs3_post_op(c, c->obj[0], &ok->dir_attributes) == ESLEEP)
		return ESLEEP;
	return list(c, &l, a->cookie, a->maxcount);
}
