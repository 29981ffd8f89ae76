/* SPDX-License-Identifier: BSD-2-Clause */
#include "khandle.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

enum { BTRFS_FIRST = 0x4d, BTRFS_LAST = 0x4f, BTRFS_LEAST = 20 }; /* FILEID_BTRFS_* of the kernel */

union kbuf {
	struct file_handle h;
	char room[sizeof(struct file_handle) + HANDLE_IDENT_MAX];
};

static int
get(int dirfd, const char *name, int flags, struct handle *h)
{
	union kbuf b = {.h = {.handle_bytes = HANDLE_IDENT_MAX}};
	int mnt;

	if (name_to_handle_at(dirfd, name, &b.h, &mnt, flags) < 0)
		return errno;
	if (b.h.handle_type < 0 || b.h.handle_type > UINT8_MAX || b.h.handle_bytes == 0)
		return EOPNOTSUPP;
	h->kind = HANDLE_KERNEL;
	h->ktype = (uint8_t)b.h.handle_type;
	h->ilen = (uint8_t)b.h.handle_bytes;
	memcpy(h->ident, b.h.f_handle, h->ilen);
	return 0;
}

int
khandle_get(int fd, struct handle *h)
{
	return get(fd, "", AT_EMPTY_PATH, h);
}

int
khandle_get_at(int dirfd, const char *name, struct handle *h)
{
	return get(dirfd, name, 0, h);
}

/* What open_by_handle_at() says about a handle that was good when it was given out. */
static int
open_errno(int code)
{
	switch (code) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EPERM:
	case EIO:
		return code;
	case EUCLEAN: /* the file system found itself damaged */
	case EBADMSG:
		return EIO;
	default: /* ESTALE, ENOENT, EINVAL, EOVERFLOW, ... */
		return ESTALE;
	}
}

int
khandle_open(int mountfd, const struct handle *h, int *fd)
{
	union kbuf b = {.h = {.handle_bytes = h->ilen, .handle_type = h->ktype}};

	if (h->ilen > HANDLE_IDENT_MAX)
		return ESTALE;
	memcpy(b.room + sizeof(struct file_handle), h->ident, h->ilen);
	/* O_PATH: nothing is opened in the sense of devices, FIFOs or leases; a symbolic link is
	 * itself */
	*fd = open_by_handle_at(mountfd, &b.h, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? open_errno(errno) : 0;
}

uint64_t
khandle_subvolume(const struct handle *h)
{
	uint64_t root;

	/* u64 inode, u64 subvolume, u32 generation, ... */
	if (h->kind != HANDLE_KERNEL || h->ktype < BTRFS_FIRST || h->ktype > BTRFS_LAST ||
	    h->ilen < BTRFS_LEAST)
		return 0;
	memcpy(&root, h->ident + 8, sizeof root);
	return root;
}

uint64_t
khandle_hash(const struct handle *h)
{
	static const unsigned char key[crypto_shorthash_siphash24_KEYBYTES] = "kernel's handle";
	unsigned char buf[1 + HANDLE_IDENT_MAX];
	uint64_t sum;

	buf[0] = h->ktype;
	memcpy(buf + 1, h->ident, h->ilen);
	crypto_shorthash_siphash24((unsigned char *)&sum, buf, (size_t)1 + h->ilen, key);
	return sum ? sum : 1;
}
