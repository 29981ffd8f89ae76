/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The key file, DIR/handle.key: 16 bytes of secret, followed by the 16 bytes of the former key if
 * there was one. It never changes in place: a new one is written beside it, fsynced, and given the
 * name, and the directory is fsynced too, all before the key is used. So after a crash there is the
 * old file or the new one, and no handle was sealed with a key that was lost.
 */
#include "handle.h"
#include "say.h"
#include "statedir.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "handle.key"
#define TEMP "handle.key.new"
#define MAGIC "spliced-key-1"

static int
fail(const char *dir, char *err, size_t errlen, const char *what)
{
	int code = errno;

	return say(err, errlen, code, "%s/" NAME ": cannot %s: %s", dir, what, strerror(code));
}

/* Every rule that a key file must keep. */
static int
check_file(int fd, const char *dir, char *err, size_t errlen)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail(dir, err, errlen, "examine it");
	if (!S_ISREG(st.st_mode))
		return say(err, errlen, EINVAL, "%s/" NAME ": is not a regular file", dir);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return say(err, errlen, EPERM,
			   "%s/" NAME ": belongs to user %u; it must belong to user %u", dir,
			   st.st_uid, geteuid());
	if (st.st_mode & 077)
		return say(err, errlen, EPERM,
			   "%s/" NAME
			   ": others may read it (mode %03o), so handles can be forged; remove "
			   "it to get a new key (clients must mount again), or chmod 600 it",
			   dir, st.st_mode & 0777);
	if (st.st_size != 16 && st.st_size != 32)
		return say(err, errlen, EINVAL,
			   "%s/" NAME
			   ": is %lld bytes long, not 16 or 32: damaged. Restore it from a copy, "
			   "or remove it to get a new key (clients must mount again)",
			   dir, (long long)st.st_size);
	return 0;
}

/* 0, ENOENT when there is none, or another errno with a message. */
static int
read_key(struct handle_key *k, int dirfd, const char *dir, char *err, size_t errlen)
{
	unsigned char buf[32];
	ssize_t n;
	int code, fd = openat(dirfd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return ENOENT;
	if (fd < 0 && errno == ELOOP)
		return say(err, errlen, ELOOP, "%s/" NAME ": is a symbolic link; it must be a file",
			   dir);
	if (fd < 0)
		return fail(dir, err, errlen, "open it");
	code = check_file(fd, dir, err, errlen);
	if (code == 0) {
		n = read(fd, buf, sizeof buf);
		if (n != 16 && n != 32)
			code = say(err, errlen, EIO, "%s/" NAME ": cannot read it", dir);
	}
	close(fd);
	if (code)
		return code;
	memset(k, 0, sizeof *k);
	memcpy(k->now, buf, 16);
	k->has_old = n == 32;
	if (k->has_old)
		memcpy(k->old, buf + 16, 16);
	sodium_memzero(buf, sizeof buf);
	return 0;
}

static int
write_temp(const struct handle_key *k, int dirfd)
{
	unsigned char buf[32];
	size_t len = k->has_old ? 32 : 16;
	int fd;
	bool ok;

	memcpy(buf, k->now, 16);
	memcpy(buf + 16, k->old, 16);
	unlinkat(dirfd, TEMP, 0);
	fd = openat(dirfd, TEMP, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	ok = fchmod(fd, 0600) == 0 && write(fd, buf, len) == (ssize_t)len && fsync(fd) == 0;
	sodium_memzero(buf, sizeof buf);
	close(fd);
	return ok ? 0 : -1;
}

/* replace false: two servers may start at once; the second finds the first one's key (EEXIST). */
static int
write_key(const struct handle_key *k, int dirfd, bool replace)
{
	int code = 0;

	if (write_temp(k, dirfd) < 0 ||
	    (replace ? renameat(dirfd, TEMP, dirfd, NAME) : linkat(dirfd, TEMP, dirfd, NAME, 0)) <
		0 ||
	    fsync(dirfd) < 0)
		code = errno ? errno : EIO;
	unlinkat(dirfd, TEMP, 0);
	return code;
}

static int
make_key(struct handle_key *k, int dirfd, const char *dir, char *err, size_t errlen)
{
	int code;

	memset(k, 0, sizeof *k);
	randombytes_buf(k->now, sizeof k->now);
	code = write_key(k, dirfd, false);
	if (code == EEXIST)
		return read_key(k, dirfd, dir, err, errlen);
	errno = code;
	return code ? fail(dir, err, errlen, "make the key file") : 0;
}

int
handle_key_load(struct handle_key *k, const char *statedir, char *err, size_t errlen)
{
	int code, dirfd;

	if (sodium_init() < 0)
		return say(err, errlen, EIO, "libsodium: no source of randomness");
	dirfd = statedir_open(statedir, err, errlen);
	if (dirfd < 0)
		return errno;
	code = read_key(k, dirfd, statedir, err, errlen);
	if (code == ENOENT)
		code = make_key(k, dirfd, statedir, err, errlen);
	close(dirfd);
	return code;
}

int
handle_key_export(const char *statedir, char *text, size_t size, char *err, size_t errlen)
{
	struct handle_key k = {0};
	char now[33], old[33] = "";
	int code = handle_key_load(&k, statedir, err, errlen);

	if (code)
		return code;
	sodium_bin2hex(now, sizeof now, k.now, 16);
	if (k.has_old)
		sodium_bin2hex(old, sizeof old, k.old, 16);
	if ((size_t)snprintf(text, size, MAGIC " %s%s%s\n", now, *old ? " " : "", old) >= size)
		code = say(err, errlen, ERANGE, "the text of a key needs %zu bytes",
			   sizeof MAGIC + 70);
	sodium_memzero(&k, sizeof k);
	return code;
}

/* "spliced-key-1 HEX" or "spliced-key-1 HEX HEX", then nothing but white space. */
static int
parse_text(const char *text, struct handle_key *k)
{
	const char *p = text, *end;
	size_t n;

	memset(k, 0, sizeof *k);
	if (strncmp(p, MAGIC " ", sizeof MAGIC) != 0)
		return EINVAL;
	p += sizeof MAGIC;
	if (strlen(p) < 32 || sodium_hex2bin(k->now, 16, p, 32, NULL, &n, &end) || end != p + 32)
		return EINVAL;
	p += 32;
	if (*p == ' ' && strlen(p) >= 33) {
		p++;
		if (sodium_hex2bin(k->old, 16, p, 32, NULL, &n, &end) || end != p + 32)
			return EINVAL;
		k->has_old = true;
		p += 32;
	}
	return p[strspn(p, " \t\r\n")] ? EINVAL : 0;
}

/* The former key of this directory goes before the former key of the text: its handles are out. */
int
handle_key_import(const char *statedir, const char *text, char *err, size_t errlen)
{
	struct handle_key k, mine;
	int code, dirfd;

	if (parse_text(text, &k))
		return say(err, errlen, EINVAL,
			   "not the text of a key: it begins with \"" MAGIC
			   "\" and 32 hex digits follow");
	if (sodium_init() < 0)
		return say(err, errlen, EIO, "libsodium: no source of randomness");
	dirfd = statedir_open(statedir, err, errlen);
	if (dirfd < 0)
		return errno;
	code = read_key(&mine, dirfd, statedir, err, errlen);
	if (code == 0 && sodium_memcmp(mine.now, k.now, 16) == 0) {
		k = mine; /* it is the key already */
	} else if (code == 0) {
		memcpy(k.old, mine.now, 16);
		k.has_old = true;
	}
	if (code == 0 || code == ENOENT) {
		errno = code = write_key(&k, dirfd, true);
		if (code)
			fail(statedir, err, errlen, "write the key file");
	}
	close(dirfd);
	sodium_memzero(&k, sizeof k);
	sodium_memzero(&mine, sizeof mine);
	return code;
}
