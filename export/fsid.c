/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The identity of a file system: its UUID wherever one can be had, by whichever way this kernel
 * offers, always in the same form, so that a new kernel or another user gives the same answer. A
 * UUID of zeros is none. What has none (FUSE, tmpfs of old kernels, images made without) is known
 * by type, source and mount point: stable as long as the administrator mounts the same thing in the
 * same place; fsid= is the better answer there.
 */
#include "fsid.h"
#include "say.h"
#include <blkid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XFS_MAGIC 0x58465342L

/* Of headers that are newer than ours or not installed; the numbers are the kernel's interface. */
struct fsuuid2 {
	uint8_t len, uuid[16];
};
#define GETFSUUID _IOR(0x15, 0, struct fsuuid2) /* 6.9: any file system */

struct ext4_fsuuid {
	uint32_t len, flags;
	uint8_t uuid[16];
};
#define EXT4_GETFSUUID _IOC(_IOC_READ, 'f', 44, 8) /* 6.0 */

struct xfs_geom_v1 {
	uint32_t sizes[8];
	uint64_t counts[4];
	uint8_t uuid[16];
	uint32_t rest[8];
};
#define XFS_GEOMETRY _IOR('X', 100, struct xfs_geom_v1)

static bool
is_zero(const uint8_t *p, size_t n)
{
	return sodium_is_zero(p, n);
}

/* Takes n bytes as the UUID. */
static bool
take(struct fsid *id, char tag, const void *bytes, size_t n)
{
	if (n == 0 || n > sizeof id->data - 16 || is_zero(bytes, n))
		return false;
	id->data[0] = (uint8_t)tag;
	memcpy(id->data + 1, bytes, n);
	id->len = n + 1;
	return true;
}

static bool
by_ioctl(int fd, long type, struct fsid *id)
{
	struct fsuuid2 any = {0};
	struct btrfs_ioctl_fs_info_args btrfs = {0};
	struct xfs_geom_v1 xfs = {0};
	struct ext4_fsuuid ext4 = {.len = 16};

	if (ioctl(fd, GETFSUUID, &any) == 0 && any.len <= 16 && take(id, 'U', any.uuid, any.len))
		return true;
	if (type == BTRFS_SUPER_MAGIC && ioctl(fd, BTRFS_IOC_FS_INFO, &btrfs) == 0)
		return take(id, 'U', btrfs.fsid, 16);
	if (type == XFS_MAGIC && ioctl(fd, XFS_GEOMETRY, &xfs) == 0)
		return take(id, 'U', xfs.uuid, 16);
	if (type == EXT4_SUPER_MAGIC && ioctl(fd, EXT4_GETFSUUID, &ext4) == 0)
		return take(id, 'U', ext4.uuid, 16);
	return false;
}

/* A UUID as text: in the form of the ioctls if it is a proper one, else (vfat: "1234-ABCD") as it
 * is. */
static bool
by_text(const char *text, struct fsid *id)
{
	uint8_t uuid[16];
	size_t n;

	if (sodium_hex2bin(uuid, sizeof uuid, text, strlen(text), "-", &n, NULL) == 0 && n == 16)
		return take(id, 'U', uuid, 16);
	n = strlen(text);
	return take(id, 'B', text, n < 40 ? n : 40);
}

/* What the block device says; needs to read it. */
static bool
by_device(const char *dev, struct fsid *id)
{
	const char *text;
	bool found = false;
	blkid_probe pr = blkid_new_probe_from_filename(dev);

	if (!pr)
		return false;
	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_UUID);
	if (blkid_do_safeprobe(pr) == 0 && blkid_probe_lookup_value(pr, "UUID", &text, NULL) == 0)
		found = by_text(text, id);
	blkid_free_probe(pr);
	return found;
}

/* What udev says about the device, to those who may not read it. */
static bool
by_link(const char *dev, struct fsid *id)
{
	struct stat want, st;
	struct dirent *e;
	bool found = false;
	DIR *d;

	if (stat(dev, &want) < 0 || !S_ISBLK(want.st_mode))
		return false;
	d = opendir("/dev/disk/by-uuid");
	while (d && !found && (e = readdir(d)))
		if (fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISBLK(st.st_mode) &&
		    st.st_rdev == want.st_rdev)
			found = by_text(e->d_name, id);
	if (d)
		closedir(d);
	return found;
}

static bool
by_place(struct libmnt_fs *m, struct fsid *id)
{
	const char *part[] = {mnt_fs_get_fstype(m), mnt_fs_get_source(m), mnt_fs_get_target(m)};
	crypto_generichash_state h;
	uint8_t sum[32];

	crypto_generichash_init(&h, NULL, 0, sizeof sum);
	for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
		const char *text = part[i] ? part[i] : "";

		crypto_generichash_update(&h, (const unsigned char *)text, strlen(text) + 1);
	}
	crypto_generichash_final(&h, sum, sizeof sum);
	id->weak = true;
	return take(id, 'P', sum, sizeof sum);
}

static bool
by_mount(uint64_t mnt_id, struct fsid *id)
{
	struct libmnt_table *tb = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_iter *it = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *m = NULL;
	const char *dev;
	bool found = false;

	while (tb && it && !found && mnt_table_next_fs(tb, it, &m) == 0) {
		if ((uint64_t)mnt_fs_get_id(m) != mnt_id)
			continue;
		dev = mnt_fs_get_srcpath(m);
		found = (dev && *dev == '/' && (by_device(dev, id) || by_link(dev, id))) ||
			by_place(m, id);
	}
	mnt_free_iter(it);
	mnt_unref_table(tb);
	return found;
}

int
fsid_find(int fd, const char *path, long type, uint64_t mnt_id, struct fsid *id, char *err,
	  size_t errlen)
{
	memset(id, 0, sizeof *id);
	if (by_ioctl(fd, type, id) || by_mount(mnt_id, id))
		return 0;
	return say(err, errlen, ENOTSUP,
		   "%s: its file system has no identity that lasts (no UUID, and it is not in "
		   "/proc/self/mountinfo); "
		   "give it one with fsid=NUMBER",
		   path);
}

void
fsid_add_subvolume(struct fsid *id, uint64_t subvolume)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		id->data[id->len++] = (uint8_t)(subvolume >> shift);
}
