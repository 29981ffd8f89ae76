/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "entry.h"
#include "wire.h"
#include "xdr-vectors.h"

enum { ROOM = 4096 };
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define EACH(v, a) (const struct vector *v = (a); v < (a) + COUNT(a); v++)

/* Appends the bytes of a hexadecimal text; returns how many there are then. */
static size_t
unhex(unsigned char *out, size_t n, const char *hex)
{
	unsigned hi = 16;

	for (; hex && *hex; hex++) {
		if (*hex == ' ')
			continue;
		unsigned d = (unsigned)(*hex <= '9' ? *hex - '0' : *hex - 'a' + 10);

		CU_ASSERT_FATAL(d < 16);
		if (hi == 16) {
			hi = d;
		} else {
			out[n++] = (unsigned char)(hi << 4 | d);
			hi = 16;
		}
	}
	CU_ASSERT_FATAL(hi == 16 && n <= ROOM);
	return n;
}

/* Encodes the value; returns the bytes, or SIZE_MAX if it did not fit in room. */
static size_t
encode(const struct vector *v, const void *value, unsigned char *out, size_t room)
{
	XDR x;
	unsigned char *copy = malloc(v->size);

	memcpy(copy, value, v->size);
	xdrmem_create(&x, (char *)out, (u_int)room, XDR_ENCODE);
	size_t n = v->xdr(&x, copy) ? xdr_getpos(&x) : SIZE_MAX;

	free(copy);
	return n;
}

/* Decodes a heap copy of exactly n bytes (the caller frees *rec: decoded names point into it). */
static int
decode(const struct vector *v, const unsigned char *bytes, size_t n, void *value, char **rec)
{
	XDR x;

	*rec = malloc(n ? n : 1);
	memcpy(*rec, bytes, n);
	memset(value, 0, v->size);
	xdrmem_create(&x, *rec, (u_int)n, XDR_DECODE);
	return v->xdr(&x, value) && xdr_getpos(&x) == n;
}

/* A failed vector says its name, since the assertion alone does not. */
static void
expect(const struct vector *v, int ok, const char *what)
{
	CU_ASSERT(ok);
	if (!ok)
		fprintf(stderr, "    %s: %s\n", v->name, what);
}

static void
round_trip(const struct vector *v)
{
	unsigned char want[ROOM], got[ROOM];
	size_t head = unhex(want, 0, v->hex), n = unhex(want, head, v->tail);
	void *value = malloc(v->size);
	char *rec = NULL;

	expect(v, encode(v, v->value, got, ROOM) == head && memcmp(got, want, head) == 0,
	       "encoded bytes");
	for (size_t room = 0; room < head; room++)
		expect(v, encode(v, v->value, got, room) == SIZE_MAX, "encoded without room");
	int ok = decode(v, want, n, value, &rec);

	expect(v, ok == !v->encode_only, "decode");
	if (ok)
		expect(v, encode(v, value, got, ROOM) == head && memcmp(got, want, head) == 0,
		       "decoded value encodes differently");
	if (ok)
		xdr_free(v->xdr, value);
	free(rec);
	free(value);
}

/* Arguments and results of all 22 procedures and of MOUNT have exactly the bytes of the RFC, both
 * ways, and never outgrow their room. */
TEST(xdr, vectors)
{
	for
		EACH(v, nfs_args)
	round_trip(v);
	for
		EACH(v, nfs_res)
	round_trip(v);
	for
		EACH(v, mount_args)
	round_trip(v);
	for
		EACH(v, mount_res)
	round_trip(v);
}

/* Procedure 0 has neither arguments nor results; each of the other 21 is among the vectors, with
 * both arms of its result. */
TEST(xdr, vectors_are_complete)
{
	static const char *const procs[] = {
	    "GETATTR3", "SETATTR3", "LOOKUP3",	    "ACCESS3", "READLINK3", "READ3",	 "WRITE3",
	    "CREATE3",	"MKDIR3",   "SYMLINK3",	    "MKNOD3",  "REMOVE3",   "RMDIR3",	 "RENAME3",
	    "LINK3",	"READDIR3", "READDIRPLUS3", "FSSTAT3", "FSINFO3",   "PATHCONF3", "COMMIT3"};

	CU_ASSERT_EQUAL(COUNT(procs), NFSPROC3_COMMIT);
	for (size_t i = 0; i < COUNT(procs); i++) {
		size_t n = strlen(procs[i]), args = 0, res = 0;

		for
			EACH(v, nfs_args)
		args += strncmp(v->name, procs[i], n) == 0 && strcmp(v->name + n, "args") == 0;
		for
			EACH(v, nfs_res)
		res += strncmp(v->name, procs[i], n) == 0 && strncmp(v->name + n, "res ", 4) == 0;
		CU_ASSERT(args >= 1);
		CU_ASSERT_EQUAL(res, 2);
	}
}

/* Runs f on the full bytes of everything that a server decodes. */
static void
each_args(void (*f)(const struct vector *v, unsigned char *bytes, size_t n, void *value))
{
	unsigned char bytes[ROOM];
	union {
		WRITE3args w;
		RENAME3args r;
		CREATE3args c;
		MKNOD3args m;
		SYMLINK3args s;
		SETATTR3args a;
	} value;

	for
		EACH(v, nfs_args)
		{
			CU_ASSERT_FATAL(v->size <= sizeof value);
			f(v, bytes, unhex(bytes, unhex(bytes, 0, v->hex), v->tail), &value);
		}
	for
		EACH(v, mount_args)
	f(v, bytes, unhex(bytes, 0, v->hex), &value);
}

static void
truncate_args(const struct vector *v, unsigned char *bytes, size_t n, void *value)
{
	char *rec;

	for (size_t k = 0; k < n; k++) {
		expect(v, !decode(v, bytes, k, value, &rec), "decoded although cut off");
		free(rec);
	}
}

/* Arguments cut off at any byte do not decode (and, under a sanitizer: nothing beyond them is
 * read). */
TEST(xdr, truncated_everywhere)
{
	each_args(truncate_args);
}

static void
spoil_args(const struct vector *v, unsigned char *bytes, size_t n, void *value)
{
	static const unsigned char evil[5][4] = {
	    {0}, {0, 0, 0, 1}, {0x7f, 0xff, 0xff, 0xff}, {0x80}, {0xff, 0xff, 0xff, 0xff}};

	for (size_t at = 0; at + 4 <= n; at += 4)
		for (size_t e = 0; e < 5; e++) {
			unsigned char out[ROOM], was[4];
			char *rec;

			memcpy(was, bytes + at, 4);
			memcpy(bytes + at, evil[e], 4);
			/* what decodes must be usable: encoding reads all of it */
			if (decode(v, bytes, n, value, &rec))
				expect(v, encode(v, value, out, ROOM) <= n, "grew");
			free(rec);
			memcpy(bytes + at, was, 4);
		}
}

/*
 * Any word replaced by an extreme value either fails to decode or decodes to something whose every
 * byte lies in the record; nothing is allocated (what is allocated in decoding would be missing
 * afterwards: nobody calls xdr_free).
 */
TEST(xdr, hostile_words)
{
	size_t before = mallinfo2().uordblks;

	each_args(spoil_args);
	CU_ASSERT_EQUAL(mallinfo2().uordblks, before);
}

/* Decodes one counted object of type xdr whose length word is len, in a record that holds have
 * bytes after it. */
static int
decode_counted(xdrproc_t xdr, void *value, u_int len, size_t have)
{
	XDR x;
	char *rec = calloc(1, 4 + have);

	xdrmem_create(&x, rec, 4, XDR_ENCODE);
	xdr_u_int(&x, &len);
	xdrmem_create(&x, rec, (u_int)(4 + have), XDR_DECODE);
	int ok = xdr(&x, value);

	free(rec);
	return ok;
}

/* Handles of 0 to 64 bytes decode; 65, and lengths whose padding would wrap, do not, whatever
 * follows them. */
TEST(xdr, handle_lengths)
{
	static const u_int bad[] = {65,	      66,	    68,		  128,
				    1u << 31, UINT_MAX - 3, UINT_MAX - 2, UINT_MAX};
	nfs_fh3 fh;

	for (u_int n = 0; n <= 64; n++) {
		CU_ASSERT(decode_counted((xdrproc_t)xdr_nfs_fh3, &fh, n, n + wire_pad(n)));
		CU_ASSERT_EQUAL(fh.len, n);
		if (n)
			CU_ASSERT_FALSE(
			    decode_counted((xdrproc_t)xdr_nfs_fh3, &fh, n, n + wire_pad(n) - 1));
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		CU_ASSERT_FALSE(decode_counted((xdrproc_t)xdr_nfs_fh3, &fh, bad[i], 256));
}

/* Names and data decode if and only if the record holds them, padding included. */
TEST(xdr, counted_lengths)
{
	static const u_int bad[] = {257,	  300,		1u << 31, UINT_MAX - 3,
				    UINT_MAX - 2, UINT_MAX - 1, UINT_MAX};
	wire_str s;
	payload p;

	for (u_int n = 0; n <= 256; n++) {
		CU_ASSERT(decode_counted((xdrproc_t)xdr_filename3, &s, n, 256) && s.len == n);
		CU_ASSERT(decode_counted((xdrproc_t)xdr_payload, &p, n, 256) && p.len == n);
		CU_ASSERT(p.fd == -1 && p.off == -1 && p.base != NULL);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		CU_ASSERT_FALSE(decode_counted((xdrproc_t)xdr_filename3, &s, bad[i], 256));
		CU_ASSERT_FALSE(decode_counted((xdrproc_t)xdr_payload, &p, bad[i], 256));
	}
}

/* A decoded name and decoded data lie in the record itself. */
TEST(xdr, in_place)
{
	_Alignas(8) unsigned char rec[ROOM];
	size_t n =
	    unhex(rec, 0, X_FH "0000000200000001 00000005 00000002 00000005 68656c6c6f 000000");
	WRITE3args w;
	LOOKUP3args l;
	XDR x;

	xdrmem_create(&x, (char *)rec, (u_int)n, XDR_DECODE);
	CU_ASSERT(xdr_WRITE3args(&x, &w));
	CU_ASSERT_PTR_EQUAL(w.data.base, rec + n - 8);
	CU_ASSERT_EQUAL(w.data.len, 5);
	n = unhex(rec, 0, X_WHERE);
	xdrmem_create(&x, (char *)rec, (u_int)n, XDR_DECODE);
	CU_ASSERT(xdr_LOOKUP3args(&x, &l));
	CU_ASSERT_PTR_EQUAL(l.what.name.s, rec + n - 4);
}

/* Does buf hold exactly the bytes of this text? */
static int
same(const char *buf, size_t n, const char *hex)
{
	unsigned char want[ROOM];

	return n == unhex(want, 0, hex) && memcmp(buf, want, n) == 0;
}

/* READDIR entries are the RFC's bytes for every padding, at any address; they use their size
 * exactly, or write nothing. */
TEST(xdr, entries)
{
	static const char *const hex[] = {
	    "00000001 0000000100000002 00000001 61000000 0000000300000004",
	    "00000001 0000000100000002 00000002 61620000 0000000300000004",
	    "00000001 0000000100000002 00000003 61626300 0000000300000004",
	    "00000001 0000000100000002 00000004 61626364 0000000300000004",
	    "00000001 0000000100000002 00000005 61626364 65000000 0000000300000004"};

	for (u_int len = 1; len <= 5; len++) {
		size_t need = wire_entry3_size(len);

		for (size_t room = 0; room <= need; room++) {
			char *buf = malloc(need + 4);

			memset(buf, 0x77, need + 4);
			size_t n = wire_entry3(buf + room % 4, room, 0x100000002, "abcde", len,
					       0x300000004);

			CU_ASSERT_EQUAL(n, room == need ? need : 0);
			CU_ASSERT(n ? same(buf + room % 4, n, hex[len - 1])
				    : buf[room % 4] == 0x77);
			free(buf);
		}
	}
	CU_ASSERT_EQUAL(wire_entry3_size(1), WIRE_ENTRY3_MIN);
	CU_ASSERT_EQUAL(wire_entry3_size(UINT_MAX), 24 + (1ul << 32));
}

/* READDIRPLUS entries are the RFC's bytes with and without attributes and handle, in exactly their
 * size. */
TEST(xdr, entriesplus)
{
	static const fattr3 attr = V_FATTR;
	static const nfs_fh3 fh = V_FH, broken = {.len = 65};
	static const char *const hex[] = {X_NO X_NO, X_POST X_NO, X_NO "00000001" X_FH,
					  X_POST "00000001" X_FH};
	char want[1024], buf[1024];

	for (int i = 0; i < 4; i++) {
		const fattr3 *a = i & 1 ? &attr : NULL;
		const nfs_fh3 *h = i & 2 ? &fh : NULL;
		size_t need = wire_entryplus3_size(3, a, h);

		snprintf(want, sizeof want, "00000001 0000000100000002 %s 0000000300000004 %s",
			 X_NAME, hex[i]);
		CU_ASSERT(same(buf,
			       wire_entryplus3(buf, need, 0x100000002, "foo", 3, 0x300000004, a, h),
			       want));
		CU_ASSERT_EQUAL(
		    wire_entryplus3(buf, need - 1, 0x100000002, "foo", 3, 0x300000004, a, h), 0);
	}
	buf[3] = 0x77;
	CU_ASSERT_EQUAL(wire_entryplus3(buf, sizeof buf, 1, "foo", 3, 1, NULL, &broken), 0);
	CU_ASSERT_EQUAL(buf[3], 0x77);
}

/* The ends of lists, and the entries of MOUNT's, are the RFC's bytes; none is written where it does
 * not fit. */
TEST(xdr, lists)
{
	static const wire_str host = {5, "box.a"}, dir = {4, "/srv"},
			      groups[] = {{1, "*"}, {5, "box.a"}};
	char buf[256];

	CU_ASSERT(same(buf, wire_entries_end(buf, 8, 1), "00000000 00000001"));
	CU_ASSERT(same(buf, wire_entries_end(buf, 8, 0), "00000000 00000000"));
	CU_ASSERT_EQUAL(wire_entries_end(buf, 7, 1), 0);
	CU_ASSERT(same(buf, wire_list_end(buf, 4), "00000000"));
	CU_ASSERT_EQUAL(wire_list_end(buf, 3), 0);
	CU_ASSERT(same(buf, wire_mount(buf, 24, host, dir),
		       "00000001 00000005 626f782e61 000000 00000004 2f737276"));
	CU_ASSERT_EQUAL(wire_mount(buf, 23, host, dir), 0);
	CU_ASSERT(same(buf, wire_export(buf, 44, dir, groups, 2),
		       "00000001 00000004 2f737276 00000001 00000001 2a000000 "
		       "00000001 00000005 626f782e61 000000 00000000"));
	CU_ASSERT_EQUAL(wire_export(buf, 43, dir, groups, 2), 0);
	CU_ASSERT(same(buf, wire_export(buf, sizeof buf, dir, NULL, 0),
		       "00000001 00000004 2f737276 00000000"));
}

/* The sizes that bound reply heads are the sizes of the types. */
TEST(xdr, sizes)
{
	post_op_attr post = V_POST;
	wcc_data wcc = V_WCC;
	post_op_fh3 fh = {TRUE, {{.len = WIRE_FH_MAX}}};

	CU_ASSERT_EQUAL(xdr_sizeof((xdrproc_t)xdr_fattr3, &post.post_op_attr_u.attributes),
			WIRE_FATTR3);
	CU_ASSERT_EQUAL(xdr_sizeof((xdrproc_t)xdr_post_op_attr, &post), WIRE_POST_OP);
	CU_ASSERT_EQUAL(xdr_sizeof((xdrproc_t)xdr_wcc_data, &wcc), WIRE_WCC);
	CU_ASSERT_EQUAL(xdr_sizeof((xdrproc_t)xdr_post_op_fh3, &fh), WIRE_POST_FH);
	CU_ASSERT_EQUAL(xdr_sizeof((xdrproc_t)xdr_nfs_fh3, &fh.post_op_fh3_u.handle), WIRE_FH3);
}
