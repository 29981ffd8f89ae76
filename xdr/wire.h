/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_H
#define WIRE_H
/*
 * The hand-written XDR types: the ones that must not be copied, allocated or recursed over.
 * Everything else on the wire is generated from nfs3.x and mount3.x.
 *
 * They work on xdrmem streams only, and when decoding the stream must begin at a 4-aligned address
 * (rec.h promises that for records). Decoded names and payloads point into the record: they live
 * exactly as long as the record does. No routine here allocates; xdr_free is never needed. All
 * xdr_* return TRUE, or FALSE when the bytes (or the room) end too early or a bound below is
 * broken; on FALSE the value is unspecified and must not be looked at.
 */
#include <rpc/types.h>
#include <rpc/xdr.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	WIRE_FH_MAX = 64,     /* NFS3_FHSIZE, RFC 1813 2.4 */
	WIRE_FATTR3 = 84,     /* encoded sizes, for bounds of reply heads */
	WIRE_POST_OP = 88,    /* post_op_attr with attributes */
	WIRE_WCC = 116,	      /* wcc_data with both halves */
	WIRE_FH3 = 68,	      /* the longest handle with its length */
	WIRE_POST_FH = 72,    /* post_op_fh3 with the longest handle */
	WIRE_ENTRY3_MIN = 28, /* READDIR entry of a name of 1-4 bytes */
	WIRE_ENTRIES_END = 8, /* "no more entries" and eof */
};

/*
 * A file handle, held in place. Lengths 0..64 decode, and whether the handle means anything is
 * judged elsewhere (BADHANDLE); a longer one cannot be represented and fails the decode. Bytes of
 * data past len mean nothing.
 */
typedef struct nfs_fh3 {
	u_int len;
	unsigned char data[WIRE_FH_MAX];
} nfs_fh3;

/*
 * A counted string, not NUL-terminated. Decoding points into the record and accepts any length that
 * the record really holds: a name that is too long is the procedure's to answer (NAMETOOLONG), not
 * a broken call. It may contain NUL and '/'. Encoding writes length, bytes and zero padding.
 */
typedef struct wire_str {
	u_int len;
	const char *s;
} wire_str;
typedef wire_str filename3;
typedef wire_str nfspath3;
typedef wire_str dirpath;

/*
 * Bulk data: len bytes, EITHER in memory (base not NULL) OR from a descriptor (base NULL): at off
 * of the file fd, or, with off == -1, waiting in the pipe fd, which holds len bytes already. len 0
 * needs neither. Encoding writes the 4-byte length only; whoever sends the reply appends the len
 * bytes and wire_pad(len) zero bytes. Decoding (WRITE) points base into the record and sets fd and
 * off to -1.
 */
typedef struct payload {
	u_int len;
	int fd;
	off_t off;
	void *base;
} payload;

/*
 * A list that was encoded entry by entry, with its end, into memory before the reply head is
 * (wire_entry3 and friends below). Encoding writes nothing at all, not even a length: the sender
 * appends the len bytes (always a multiple of 4). Decoding fails: a server never receives one.
 */
typedef payload dirents;

bool_t xdr_nfs_fh3(XDR *x, nfs_fh3 *fh);
bool_t xdr_wire_str(XDR *x, wire_str *s);
bool_t xdr_filename3(XDR *x, filename3 *s);
bool_t xdr_nfspath3(XDR *x, nfspath3 *s);
bool_t xdr_dirpath(XDR *x, dirpath *s);
bool_t xdr_payload(XDR *x, payload *p);
bool_t xdr_dirents(XDR *x, dirents *d);

/* Bytes of padding after n bytes of opaque data: 0..3 (RFC 4506 4.9). */
static inline size_t
wire_pad(size_t n)
{
	return -n & 3;
}

/*
 * List encoders. Each writes one element into buf (any alignment) and returns the bytes written, or
 * returns 0 and writes nothing when it does not fit in room.
 *
 * wire_entry3: an entry of READDIR (RFC 1813 3.3.16): "one follows", fileid, name, cookie.
 * wire_entry3_size is what it takes. wire_entries_end: "no more", eof. Closes the list of READDIR
 * and READDIRPLUS; always leave WIRE_ENTRIES_END for it.
 */
size_t wire_entry3_size(u_int namelen);
size_t wire_entry3(char *buf, size_t room, uint64_t fileid, const char *name, u_int namelen,
		   uint64_t cookie);
size_t wire_entries_end(char *buf, size_t room, int eof);
/*
 * wire_mount: an entry of MOUNT DUMP: host and directory. wire_export: an entry of MOUNT EXPORT:
 * directory and its n groups. wire_list_end: "no more"; closes both lists (4 bytes). RFC 1813 5.2.2
 * and 5.2.5.
 */
size_t wire_mount(char *buf, size_t room, wire_str host, wire_str dir);
size_t wire_export(char *buf, size_t room, wire_str dir, const wire_str *groups, u_int n);
size_t wire_list_end(char *buf, size_t room);

#endif
