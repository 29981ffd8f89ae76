/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HANDLE_H
#define HANDLE_H
/*
 * The file handle on the wire: it names the object, never the path. At most 56 bytes, a multiple of
 *4:
 *
 *	0  version (1)      1  kind        2  kernel handle type   3  length of the identity
 *	4  export id, 4 bytes big-endian
 *	8  file-system id, 4 bytes big-endian
 *	12 identity: the kernel's file handle (0-36 bytes), or an 8-byte serial issued by the store;
 *zero-padded to 4
 *	.. check value: SipHash-2-4 of all that stands before, 8 bytes
 *
 * handle_parse() is the only reader of foreign handles and checks length, version and check value
 *(constant time) before anything else looks at them. RFC 1813 section 2.5 (nfs_fh3).
 */
#include "wire.h" /* nfs_fh3 */
#include <stdbool.h>
#include <stdint.h>

enum handle_kind { HANDLE_KERNEL = 1, HANDLE_SERIAL = 2 };
#define HANDLE_IDENT_MAX 36

struct handle {
	uint8_t kind, ktype, ilen;
	uint32_t export_id, fs_id;
	uint8_t ident[HANDLE_IDENT_MAX];
};

/* 16 bytes of secret, and the previous one while old handles are still accepted. */
struct handle_key {
	uint8_t now[16], old[16];
	bool has_old;
};

/*
 * Loads DIR/handle.key, or makes it: random, mode 0600, fsynced (file and directory) before it
 * returns. Refuses a key file that is a link, of the wrong size, or readable by others. 0, or an
 * errno with a message in err.
 */
int handle_key_load(struct handle_key *, const char *statedir, char *err, size_t errlen);
/* Writes the key as text for another server ("spliced-key-1 HEX..."), or takes such text and makes
 * it the key; the former key stays as the old one. */
int handle_key_export(const char *statedir, char *text, size_t size, char *err, size_t errlen);
int handle_key_import(const char *statedir, const char *text, char *err, size_t errlen);

/* Writes the handle with its check value. Cannot fail for ilen <= HANDLE_IDENT_MAX. */
void handle_seal(const struct handle_key *, const struct handle *, nfs_fh3 *out);
/* 0, or EBADF when it is not one of ours (NFS3ERR_BADHANDLE). */
int handle_parse(const struct handle_key *, const nfs_fh3 *, struct handle *out);
/* 32-bit keyed hash of bytes, never 0: export ids, file-system ids. */
uint32_t handle_hash32(const struct handle_key *, const void *data, size_t n);
uint64_t handle_hash64(const struct handle_key *, const void *data, size_t n);

#endif
