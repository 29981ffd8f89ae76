/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables: how keys and values look, and that rows, idents and children always agree with each
 * other. Values are in the machine's byte order (an LMDB file does not travel between byte orders
 * anyway); their lengths are checked when they are read.
 */
#include "db_int.h"
#include <errno.h>
#include <sodium.h>
#include <string.h>

enum { IDENT_KEY = 32, CHILD_KEY = 20, NOTE_KEY = 12, MOUNT_KEY = 16, PATH_TEXT_MAX = 4096 };

static unsigned char *
put32(unsigned char *p, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		*p++ = (unsigned char)(v >> shift);
	return p;
}

static unsigned char *
put64(unsigned char *p, uint64_t v)
{
	return put32(put32(p, (uint32_t)(v >> 32)), (uint32_t)v);
}

static uint64_t
get64(const void *at)
{
	const unsigned char *p = at;
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | p[i];
	return v;
}

static MDB_val
ident_key(unsigned char *buf, const struct store_ident *id)
{
	put64(put64(put32(put64(put32(buf, id->fs_id), id->ino), id->type), id->extra),
	      (uint64_t)id->btime_ns);
	return (MDB_val){IDENT_KEY, buf};
}

static MDB_val
child_key(unsigned char *buf, uint32_t fs_id, uint64_t parent, uint64_t serial)
{
	put64(put64(put32(buf, fs_id), parent), serial);
	return (MDB_val){CHILD_KEY, buf};
}

/* One value as it lies in the file. */
struct row_head {
	struct store_ident id;
	uint64_t inst;
	uint32_t nlinks, unused;
};
struct link_head {
	uint64_t parent;
	uint16_t namelen, unused[3];
};
#define ROW_MAX (sizeof(struct row_head) + DB_LINKS * (sizeof(struct link_head) + STORE_NAME_MAX))

static size_t
encode_row(unsigned char *buf, const struct db_row *r)
{
	struct row_head h = {.id = r->id, .inst = r->inst, .nlinks = r->nlinks};
	unsigned char *p = buf;

	memcpy(p, &h, sizeof h);
	p += sizeof h;
	for (unsigned i = 0; i < r->nlinks; i++) {
		struct link_head l = {.parent = r->link[i].parent, .namelen = r->link[i].namelen};

		memcpy(p, &l, sizeof l);
		memcpy(p + sizeof l, r->link[i].name, l.namelen);
		p += sizeof l + l.namelen;
	}
	return (size_t)(p - buf);
}

static int
decode_row(const MDB_val *v, uint64_t serial, struct db_row *r)
{
	const unsigned char *p = v->mv_data, *end = p + v->mv_size;
	struct row_head h;
	struct link_head l;

	if (v->mv_size < sizeof h)
		return EIO;
	memcpy(&h, p, sizeof h);
	p += sizeof h;
	if (h.nlinks == 0 || h.nlinks > DB_LINKS)
		return EIO;
	r->id = h.id;
	r->inst = h.inst;
	r->serial = serial;
	r->nlinks = h.nlinks;
	for (unsigned i = 0; i < h.nlinks; i++) {
		if ((size_t)(end - p) < sizeof l)
			return EIO;
		memcpy(&l, p, sizeof l);
		p += sizeof l;
		if (l.namelen > STORE_NAME_MAX || (size_t)(end - p) < l.namelen)
			return EIO;
		r->link[i].parent = l.parent;
		r->link[i].namelen = l.namelen;
		memcpy(r->link[i].name, p, l.namelen);
		r->link[i].name[l.namelen] = '\0';
		p += l.namelen;
	}
	return 0;
}

int
db_row_get(struct db_txn *t, uint64_t serial, struct db_row *r)
{
	unsigned char kb[8];
	MDB_val k = {sizeof kb, kb}, v;
	int rc;

	put64(kb, serial);
	rc = mdb_get(db_mdb(t), t->db->t[T_ROWS], &k, &v);
	return rc ? db_errno(rc) : decode_row(&v, serial, r);
}

int
db_ident_get(struct db_txn *t, const struct store_ident *id, uint64_t *serial)
{
	unsigned char kb[IDENT_KEY];
	MDB_val k = ident_key(kb, id), v;
	int rc = mdb_get(db_mdb(t), t->db->t[T_IDENTS], &k, &v);

	if (rc)
		return db_errno(rc);
	if (v.mv_size != 8)
		return EIO;
	*serial = get64(v.mv_data);
	return 0;
}

/* New keys mostly come last in their table: then pages are filled, not halved. */
static int
put_last(struct db_txn *t, MDB_dbi dbi, MDB_val *k, MDB_val *v)
{
	int rc = mdb_put(db_mdb(t), dbi, k, v, MDB_APPEND);

	return rc == MDB_KEYEXIST ? mdb_put(db_mdb(t), dbi, k, v, 0) : rc;
}

static bool
has_parent(const struct db_row *r, uint64_t parent)
{
	for (unsigned i = 0; i < r->nlinks; i++)
		if (r->link[i].parent == parent)
			return true;
	return false;
}

/* The children table follows the links of a row: what only `from` has goes, what only `to` has
 * comes. */
static int
put_children(struct db_txn *t, const struct db_row *to, const struct db_row *from)
{
	unsigned char kb[CHILD_KEY];
	MDB_val k, none = {0, kb};
	int rc = 0;

	for (unsigned i = 0; rc == 0 && from && i < from->nlinks; i++) {
		if (to && has_parent(to, from->link[i].parent))
			continue;
		k = child_key(kb, from->id.fs_id, from->link[i].parent, from->serial);
		rc = mdb_del(db_mdb(t), t->db->t[T_CHILDREN], &k, NULL);
		if (rc == MDB_NOTFOUND) /* two links within one directory */
			rc = 0;
	}
	for (unsigned i = 0; rc == 0 && to && i < to->nlinks; i++) {
		if (from && has_parent(from, to->link[i].parent))
			continue;
		k = child_key(kb, to->id.fs_id, to->link[i].parent, to->serial);
		rc = put_last(t, t->db->t[T_CHILDREN], &k, &none);
	}
	return rc;
}

int
db_row_put(struct db_txn *t, const struct db_row *r, const struct db_row *old)
{
	unsigned char kb[8], vb[ROW_MAX], ib[IDENT_KEY];
	MDB_val k = {sizeof kb, kb}, v = {encode_row(vb, r), vb}, i = ident_key(ib, &r->id);
	MDB_val s = {sizeof kb, kb};
	int rc;

	put64(kb, r->serial);
	rc = old ? mdb_put(db_mdb(t), t->db->t[T_ROWS], &k, &v, 0)
		 : put_last(t, t->db->t[T_ROWS], &k, &v);
	if (rc == 0 && !old)
		rc = put_last(t, t->db->t[T_IDENTS], &i, &s);
	if (rc == 0)
		rc = put_children(t, r, old);
	return db_errno(rc);
}

int
db_row_del(struct db_txn *t, const struct db_row *r)
{
	unsigned char kb[8], ib[IDENT_KEY];
	MDB_val k = {sizeof kb, kb}, i = ident_key(ib, &r->id);
	uint64_t owner = 0;
	int rc;

	put64(kb, r->serial);
	rc = mdb_del(db_mdb(t), t->db->t[T_ROWS], &k, NULL);
	/* the identity may belong to a later row by now */
	if (rc == 0 && db_ident_get(t, &r->id, &owner) == 0 && owner == r->serial)
		rc = mdb_del(db_mdb(t), t->db->t[T_IDENTS], &i, NULL);
	if (rc == 0)
		rc = put_children(t, NULL, r);
	return db_errno(rc);
}

int
db_rows_after(struct db_txn *t, uint64_t serial, struct db_row *rows, size_t max, size_t *n)
{
	unsigned char kb[8];
	MDB_val k = {sizeof kb, kb}, v;
	MDB_cursor *cur;
	int rc = mdb_cursor_open(db_mdb(t), t->db->t[T_ROWS], &cur);

	*n = 0;
	if (rc)
		return db_errno(rc);
	put64(kb, serial + 1);
	rc = mdb_cursor_get(cur, &k, &v, MDB_SET_RANGE);
	while (rc == 0 && *n < max) {
		rc = k.mv_size == 8 ? decode_row(&v, get64(k.mv_data), &rows[*n]) : EIO;
		if (rc)
			break;
		++*n;
		rc = mdb_cursor_get(cur, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(cur);
	return rc == MDB_NOTFOUND ? 0 : db_errno(rc);
}

/* Does a key of the children table belong to this name space (and parent)? */
static bool
is_child(const MDB_val *k, const unsigned char *start, size_t prefix)
{
	return k->mv_size == CHILD_KEY && memcmp(k->mv_data, start, prefix) == 0;
}

int
db_children(struct db_txn *t, uint32_t fs_id, uint64_t parent, uint64_t after, uint64_t *v,
	    size_t max, size_t *n)
{
	unsigned char kb[CHILD_KEY];
	MDB_val k = child_key(kb, fs_id, parent, after + 1), none;
	MDB_cursor *cur;
	int rc = mdb_cursor_open(db_mdb(t), t->db->t[T_CHILDREN], &cur);

	*n = 0;
	if (rc)
		return db_errno(rc);
	rc = mdb_cursor_get(cur, &k, &none, MDB_SET_RANGE);
	while (rc == 0 && *n < max && is_child(&k, kb, 12)) {
		v[(*n)++] = get64((const unsigned char *)k.mv_data + 12);
		rc = mdb_cursor_get(cur, &k, &none, MDB_NEXT);
	}
	mdb_cursor_close(cur);
	return rc == MDB_NOTFOUND ? 0 : db_errno(rc);
}

int
db_parents(struct db_txn *t, uint32_t fs_id, bool first, uint64_t after, uint64_t *v, size_t max,
	   size_t *n)
{
	unsigned char kb[CHILD_KEY];
	MDB_val k = child_key(kb, fs_id, first ? 0 : after + 1, 0), none;
	MDB_cursor *cur;
	int rc = mdb_cursor_open(db_mdb(t), t->db->t[T_CHILDREN], &cur);

	*n = 0;
	if (rc)
		return db_errno(rc);
	rc = mdb_cursor_get(cur, &k, &none, MDB_SET_RANGE);
	while (rc == 0 && *n < max && is_child(&k, kb, 4)) {
		uint64_t parent = get64((const unsigned char *)k.mv_data + 4);

		v[(*n)++] = parent;
		k = child_key(kb, fs_id, parent + 1, 0);
		rc = mdb_cursor_get(cur, &k, &none, MDB_SET_RANGE);
	}
	mdb_cursor_close(cur);
	return rc == MDB_NOTFOUND ? 0 : db_errno(rc);
}

int
db_note_get(struct db_txn *t, uint32_t fs_id, uint64_t ino, struct db_link *out)
{
	unsigned char kb[NOTE_KEY];
	MDB_val k = {sizeof kb, kb}, v;
	int rc;

	put64(put32(kb, fs_id), ino);
	rc = mdb_get(db_mdb(t), t->db->t[T_NOTES], &k, &v);
	if (rc)
		return db_errno(rc);
	if (v.mv_size < 8 || v.mv_size > 8 + STORE_NAME_MAX)
		return EIO;
	memcpy(&out->parent, v.mv_data, 8);
	out->namelen = (uint16_t)(v.mv_size - 8);
	memcpy(out->name, (const char *)v.mv_data + 8, out->namelen);
	out->name[out->namelen] = '\0';
	return 0;
}

int
db_note_put(struct db_txn *t, uint32_t fs_id, uint64_t ino, const struct db_link *l)
{
	unsigned char kb[NOTE_KEY], vb[8 + STORE_NAME_MAX];
	MDB_val k = {sizeof kb, kb}, v = {(size_t)8 + l->namelen, vb};

	put64(put32(kb, fs_id), ino);
	memcpy(vb, &l->parent, 8);
	memcpy(vb + 8, l->name, l->namelen);
	return db_errno(put_last(t, t->db->t[T_NOTES], &k, &v));
}

/* As it lies in the file. */
struct excl {
	unsigned char verifier[8];
	uint64_t time;
};

static int
excl_value(const MDB_val *v, struct excl *e)
{
	if (v->mv_size != sizeof *e)
		return EIO;
	memcpy(e, v->mv_data, sizeof *e);
	return 0;
}

int
db_excl_get(struct db_txn *t, const struct store_ident *id, unsigned char verifier[8])
{
	unsigned char kb[IDENT_KEY];
	MDB_val k = ident_key(kb, id), v;
	struct excl e;
	int rc = mdb_get(db_mdb(t), t->db->t[T_EXCL], &k, &v);

	if (rc)
		return db_errno(rc);
	rc = excl_value(&v, &e);
	if (rc == 0)
		memcpy(verifier, e.verifier, sizeof e.verifier);
	return rc;
}

/* When there are too many: everything older than the middle between the oldest and now goes. */
static int
excl_thin(struct db_txn *t, uint64_t now)
{
	uint64_t oldest = now;
	struct excl e;
	MDB_val k, v;
	MDB_cursor *cur;
	int rc = mdb_cursor_open(db_mdb(t), t->db->t[T_EXCL], &cur);

	if (rc)
		return rc;
	while ((rc = mdb_cursor_get(cur, &k, &v, MDB_NEXT)) == 0)
		if (excl_value(&v, &e) == 0 && e.time < oldest)
			oldest = e.time;
	if (rc == MDB_NOTFOUND)
		rc = mdb_cursor_get(cur, &k, &v, MDB_FIRST);
	for (; rc == 0; rc = rc ? rc : mdb_cursor_get(cur, &k, &v, MDB_NEXT))
		if (excl_value(&v, &e) != 0 || e.time <= oldest + (now - oldest) / 2)
			rc = mdb_cursor_del(cur, 0);
	mdb_cursor_close(cur);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int
db_excl_put(struct db_txn *t, const struct store_ident *id, const unsigned char verifier[8],
	    uint64_t now)
{
	unsigned char kb[IDENT_KEY];
	struct excl e = {.time = now};
	MDB_val k = ident_key(kb, id), v = {sizeof e, &e};
	MDB_stat st;
	int rc = mdb_stat(db_mdb(t), t->db->t[T_EXCL], &st);

	memcpy(e.verifier, verifier, sizeof e.verifier);
	if (rc == 0 && st.ms_entries >= STORE_EXCL_MAX)
		rc = excl_thin(t, now);
	if (rc == 0)
		rc = mdb_put(db_mdb(t), t->db->t[T_EXCL], &k, &v, 0);
	return db_errno(rc);
}

int
db_excl_del(struct db_txn *t, const struct store_ident *id)
{
	unsigned char kb[IDENT_KEY];
	MDB_val k = ident_key(kb, id);

	return db_errno(mdb_del(db_mdb(t), t->db->t[T_EXCL], &k, NULL));
}

/* "host\0path\0"; its length, or 0 when it is too long. */
static size_t
mount_text(char *buf, size_t size, const char *host, const char *path)
{
	size_t h = strlen(host) + 1, p = strlen(path) + 1;

	if (h + p > size)
		return 0;
	memcpy(buf, host, h);
	memcpy(buf + h, path, p);
	return h + p;
}

int
db_mount_put(struct db_txn *t, const char *host, const char *path)
{
	unsigned char kb[MOUNT_KEY];
	char vb[PATH_TEXT_MAX + 1024];
	MDB_val k = {sizeof kb, kb}, v = {mount_text(vb, sizeof vb, host, path), vb};
	MDB_stat st;
	int rc;

	if (v.mv_size == 0)
		return ENAMETOOLONG;
	rc = mdb_stat(db_mdb(t), t->db->t[T_MOUNTS], &st);
	if (rc || st.ms_entries >= STORE_MOUNTS_MAX)
		return rc ? db_errno(rc) : EEXIST;
	crypto_generichash(kb, sizeof kb, (unsigned char *)vb, v.mv_size, NULL, 0);
	rc = mdb_put(db_mdb(t), t->db->t[T_MOUNTS], &k, &v, MDB_NOOVERWRITE);
	return rc == MDB_KEYEXIST ? EEXIST : db_errno(rc);
}

/* Splits a value into host and path; false when it is damaged. */
static bool
mount_split(const MDB_val *v, const char **host, const char **path)
{
	const char *text = v->mv_data, *nul;

	if (v->mv_size < 2 || text[v->mv_size - 1] != '\0')
		return false;
	nul = memchr(text, '\0', v->mv_size);
	if (nul == text + v->mv_size - 1)
		return false;
	*host = text;
	*path = nul + 1;
	return true;
}

int
db_mount_del(struct db_txn *t, const char *host, const char *path)
{
	const char *h, *p;
	MDB_val k, v;
	MDB_cursor *cur;
	bool any = false;
	int rc = mdb_cursor_open(db_mdb(t), t->db->t[T_MOUNTS], &cur);

	if (rc)
		return db_errno(rc);
	while ((rc = mdb_cursor_get(cur, &k, &v, MDB_NEXT)) == 0) {
		if (!mount_split(&v, &h, &p) || strcmp(h, host) != 0 ||
		    (path && strcmp(p, path) != 0))
			continue;
		rc = mdb_cursor_del(cur, 0);
		if (rc)
			break;
		any = true;
	}
	mdb_cursor_close(cur);
	if (rc && rc != MDB_NOTFOUND)
		return db_errno(rc);
	return any ? 0 : ENOENT;
}

int
db_mounts(struct db_txn *t, int (*fn)(void *, const char *, const char *), void *arg)
{
	const char *h, *p;
	MDB_val k, v;
	MDB_cursor *cur;
	int rc = mdb_cursor_open(db_mdb(t), t->db->t[T_MOUNTS], &cur);

	if (rc)
		return db_errno(rc);
	while ((rc = mdb_cursor_get(cur, &k, &v, MDB_NEXT)) == 0)
		if (mount_split(&v, &h, &p) && fn(arg, h, p))
			break;
	mdb_cursor_close(cur);
	return rc == MDB_NOTFOUND ? 0 : db_errno(rc);
}

int
db_serial_get(struct db_txn *t, uint64_t *serial)
{
	MDB_val k = {6, (void *)(uintptr_t) "serial"}, v;
	int rc = mdb_get(db_mdb(t), t->db->t[T_META], &k, &v);

	*serial = 0;
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc || v.mv_size != sizeof *serial)
		return rc ? db_errno(rc) : EIO;
	memcpy(serial, v.mv_data, sizeof *serial);
	return 0;
}

int
db_serial_put(struct db_txn *t, uint64_t serial)
{
	MDB_val k = {6, (void *)(uintptr_t) "serial"}, v = {sizeof serial, &serial};

	return db_errno(mdb_put(db_mdb(t), t->db->t[T_META], &k, &v, 0));
}
