/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "handle.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct handle_key key = {.now = "0123456789abcde", .old = "fedcba9876543210"};

static struct handle
sample(uint8_t ilen)
{
	struct handle h = {.kind = HANDLE_KERNEL,
			   .ktype = 0x81,
			   .ilen = ilen,
			   .export_id = 0x01020304,
			   .fs_id = 0xa0b0c0d0};

	for (uint8_t i = 0; i < ilen; i++)
		h.ident[i] = (uint8_t)(i * 7 + 1);
	return h;
}

/* Every identity length comes back as it went out, in at most 56 bytes, a multiple of 4. */
TEST(handle, round_trip)
{
	for (uint8_t n = 0; n <= HANDLE_IDENT_MAX; n++) {
		struct handle h = sample(n), back;
		nfs_fh3 fh;

		handle_seal(&key, &h, &fh);
		CU_ASSERT(fh.len <= 56 && fh.len % 4 == 0);
		CU_ASSERT_EQUAL(fh.len, 20U + (n + 3U) / 4 * 4);
		CU_ASSERT_EQUAL(handle_parse(&key, &fh, &back), 0);
		CU_ASSERT(memcmp(&back, &h, sizeof h) == 0);
	}
}

/* The layout of the header: what a handle of version 1 looks like may not change by accident. */
TEST(handle, layout)
{
	struct handle h = sample(6);
	nfs_fh3 fh;
	static const unsigned char want[] = {1,	   1,	 0x81, 6, 1,  2,  3,  4,  0xa0, 0xb0,
					     0xc0, 0xd0, 1,    8, 15, 22, 29, 36, 0,	0};

	handle_seal(&key, &h, &fh);
	CU_ASSERT_EQUAL(fh.len, sizeof want + 8);
	CU_ASSERT(memcmp(fh.data, want, sizeof want) == 0);
}

/* No handle with one bit changed is accepted. */
TEST(handle, every_bit_flipped)
{
	struct handle h = sample(12), back;
	nfs_fh3 good, bad;

	handle_seal(&key, &h, &good);
	for (u_int bit = 0; bit < good.len * 8; bit++) {
		bad = good;
		bad.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
		CU_ASSERT_EQUAL(handle_parse(&key, &bad, &back), EBADF);
	}
}

/* A handle is accepted at its own length only, and lengths 0 to 64 of any content do no harm. */
TEST(handle, every_length)
{
	struct handle h = sample(8), back;
	nfs_fh3 good, bad;

	handle_seal(&key, &h, &good);
	for (u_int len = 0; len <= 64; len++) {
		bad = good;
		bad.len = len;
		CU_ASSERT_EQUAL(handle_parse(&key, &bad, &back), len == good.len ? 0 : EBADF);
		memset(bad.data, 0xff, sizeof bad.data);
		CU_ASSERT_EQUAL(handle_parse(&key, &bad, &back), EBADF);
		memset(bad.data, 0, sizeof bad.data);
		CU_ASSERT_EQUAL(handle_parse(&key, &bad, &back), EBADF);
	}
}

/* Handles of the former key are accepted while it is kept, and only then. */
TEST(handle, old_key)
{
	struct handle_key before = {0}, both = key, none = key;
	struct handle h = sample(8), back;
	nfs_fh3 fh;

	memcpy(before.now, key.old, 16);
	handle_seal(&before, &h, &fh);
	both.has_old = true;
	CU_ASSERT_EQUAL(handle_parse(&both, &fh, &back), 0);
	CU_ASSERT_EQUAL(handle_parse(&none, &fh, &back), EBADF);
}

/* An unknown kind is refused even when the check value is right. */
TEST(handle, unknown_kind)
{
	struct handle h = sample(8), back;
	nfs_fh3 fh;

	h.kind = 3;
	handle_seal(&key, &h, &fh);
	CU_ASSERT_EQUAL(handle_parse(&key, &fh, &back), EBADF);
}

/* Hashes depend on the key and on the data, and a hash shown to clients is no check value. */
TEST(handle, hashes)
{
	struct handle_key other = {.now = "another key....."};
	struct handle h = sample(8);
	nfs_fh3 fh;
	uint64_t v;

	CU_ASSERT_NOT_EQUAL(handle_hash32(&key, "a", 1), 0);
	CU_ASSERT_NOT_EQUAL(handle_hash32(&key, "a", 1), handle_hash32(&key, "b", 1));
	CU_ASSERT_NOT_EQUAL(handle_hash32(&key, "a", 1), handle_hash32(&other, "a", 1));
	handle_seal(&key, &h, &fh);
	v = handle_hash64(&key, fh.data, fh.len - 8);
	CU_ASSERT(memcmp(&v, fh.data + fh.len - 8, 8) != 0);
}

struct dir {
	char path[64], key[80];
};

static struct dir
make_dir(void)
{
	struct dir d;

	snprintf(d.path, sizeof d.path, "/tmp/check-key-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(d.path));
	snprintf(d.key, sizeof d.key, "%s/handle.key", d.path);
	return d;
}

static void
drop_dir(const struct dir *d)
{
	char other[80];

	unlink(d->key);
	snprintf(other, sizeof other, "%s/target", d->path);
	unlink(other);
	CU_ASSERT_EQUAL(rmdir(d->path), 0); /* and nothing else was left */
}

static void
put_file(const char *path, size_t n, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(
	    write(fd, "................................................................", n),
	    (ssize_t)n);
	CU_ASSERT_EQUAL(fchmod(fd, mode), 0);
	close(fd);
}

/* The key is made once, private, random, and found again. */
TEST(handle, key_made_and_kept)
{
	struct dir d = make_dir(), e = make_dir();
	struct handle_key a, b, c;
	struct stat st;
	char err[256] = "";

	CU_ASSERT_EQUAL(handle_key_load(&a, d.path, err, sizeof err), 0);
	CU_ASSERT_EQUAL(handle_key_load(&b, d.path, err, sizeof err), 0);
	CU_ASSERT_EQUAL(handle_key_load(&c, e.path, err, sizeof err), 0);
	CU_ASSERT(memcmp(a.now, b.now, 16) == 0);
	CU_ASSERT(memcmp(a.now, c.now, 16) != 0);
	CU_ASSERT_FALSE(a.has_old);
	CU_ASSERT_EQUAL(stat(d.key, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 07777, 0600);
	CU_ASSERT_EQUAL(st.st_size, 16);
	drop_dir(&d);
	drop_dir(&e);
}

/* A key that others can read, of a wrong size, or that is no file of its own, is refused, not
 * replaced. */
TEST(handle, key_refused)
{
	static const struct {
		size_t size;
		mode_t mode;
		const char *says;
	} bad[] = {{16, 0640, "others may read"}, {16, 0604, "others may read"},
		   {15, 0600, "not 16 or 32"},	  {0, 0600, "not 16 or 32"},
		   {33, 0600, "not 16 or 32"},	  {17, 0600, "not 16 or 32"}};
	struct dir d = make_dir();
	struct handle_key k;
	struct stat st;
	char err[256], target[80];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put_file(d.key, bad[i].size, bad[i].mode);
		CU_ASSERT_NOT_EQUAL(handle_key_load(&k, d.path, err, sizeof err), 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(err, bad[i].says));
		CU_ASSERT_PTR_NOT_NULL(strstr(err, d.key));
		CU_ASSERT(stat(d.key, &st) == 0 && (size_t)st.st_size == bad[i].size);
	}
	unlink(d.key);
	snprintf(target, sizeof target, "%s/target", d.path);
	put_file(target, 16, 0600);
	CU_ASSERT_EQUAL(symlink("target", d.key), 0);
	CU_ASSERT_EQUAL(handle_key_load(&k, d.path, err, sizeof err), ELOOP);
	unlink(d.key);
	CU_ASSERT_EQUAL(mkdir(d.key, 0700), 0);
	CU_ASSERT_NOT_EQUAL(handle_key_load(&k, d.path, err, sizeof err), 0);
	rmdir(d.key);
	CU_ASSERT_EQUAL(mkfifo(d.key, 0600), 0); /* nobody may wait for its writer */
	CU_ASSERT_NOT_EQUAL(handle_key_load(&k, d.path, err, sizeof err), 0);
	drop_dir(&d);
}

/* A state directory that others may write to is refused: they could put their own key there. */
TEST(handle, key_dir_open_to_others)
{
	struct dir d = make_dir();
	struct handle_key k;
	char err[256] = "";

	CU_ASSERT_EQUAL(chmod(d.path, 0770), 0);
	CU_ASSERT_EQUAL(handle_key_load(&k, d.path, err, sizeof err), EPERM);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "chmod"));
	drop_dir(&d);
}

/* A key travels as text; where it arrives the former key stays as the old one, so handles of both
 * are accepted. */
TEST(handle, key_export_import)
{
	struct dir d = make_dir(), e = make_dir();
	struct handle_key a, b, c;
	char err[256], text[128], small[20];

	CU_ASSERT_EQUAL(handle_key_load(&a, d.path, err, sizeof err), 0);
	CU_ASSERT_EQUAL(handle_key_load(&b, e.path, err, sizeof err), 0);
	CU_ASSERT_EQUAL(handle_key_export(d.path, text, sizeof text, err, sizeof err), 0);
	CU_ASSERT(strncmp(text, "spliced-key-1 ", 14) == 0);
	CU_ASSERT_EQUAL(handle_key_export(d.path, small, sizeof small, err, sizeof err), ERANGE);
	for (int again = 0; again < 2; again++) { /* the second time changes nothing */
		CU_ASSERT_EQUAL(handle_key_import(e.path, text, err, sizeof err), 0);
		CU_ASSERT_EQUAL(handle_key_load(&c, e.path, err, sizeof err), 0);
		CU_ASSERT(memcmp(c.now, a.now, 16) == 0);
		CU_ASSERT(c.has_old && memcmp(c.old, b.now, 16) == 0);
	}
	drop_dir(&d);
	drop_dir(&e);
}

/* Text that is not a key changes nothing. */
TEST(handle, key_import_refused)
{
	static const char *const bad[] = {
	    "",
	    "spliced-key-1",
	    "spliced-key-1 ",
	    "spliced-key-2 00112233445566778899aabbccddeeff",
	    "spliced-key-1 00112233445566778899aabbccddeef",
	    "spliced-key-1 00112233445566778899aabbccddeefg",
	    "spliced-key-1 00112233445566778899aabbccddeeff0",
	    "spliced-key-1 00112233445566778899aabbccddeeff 0011",
	    "spliced-key-1 00112233445566778899aabbccddeeff 00112233445566778899aabbccddeeff x",
	};
	struct dir d = make_dir();
	struct handle_key a, b;
	char err[256];

	CU_ASSERT_EQUAL(handle_key_load(&a, d.path, err, sizeof err), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CU_ASSERT_EQUAL(handle_key_import(d.path, bad[i], err, sizeof err), EINVAL);
	CU_ASSERT_EQUAL(handle_key_load(&b, d.path, err, sizeof err), 0);
	CU_ASSERT(memcmp(&a, &b, sizeof a) == 0);
	drop_dir(&d);
}
