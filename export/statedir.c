/* SPDX-License-Identifier: BSD-2-Clause */
#include "statedir.h"
#include "say.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* File systems whose locks or shared mappings another machine can break. FUSE is among them: what
 * is behind it cannot be known (sshfs, a cluster). */
static const struct {
	unsigned long type;
	const char *name;
} remote[] = {
    {0x6969, "NFS"},	  {0x517b, "SMB"},	{0xff534d42, "CIFS"},  {0xfe534d42, "SMB"},
    {0x00c36400, "Ceph"}, {0x5346414f, "AFS"},	{0x01021997, "9p"},    {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"}, {0x65735546, "FUSE"}, {0x73757245, "Coda"},  {0x7461636f, "OCFS2"},
    {0x01161970, "GFS2"}, {0x6b414653, "AFS"},	{0xaad7aaea, "PanFS"},
};

static const char *
remote_name(unsigned long type)
{
	for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
		if (remote[i].type == type)
			return remote[i].name;
	return NULL;
}

static int
check_type(const char *dir, char *err, size_t errlen)
{
	struct statfs fs;
	const char *name;

	if (statfs(dir, &fs) < 0)
		return say(err, errlen, errno, "%s: cannot examine the state directory: %s", dir,
			   strerror(errno));
	name = remote_name((unsigned long)fs.f_type & 0xffffffffUL);
	if (name)
		return say(
		    err, errlen, ENOTSUP,
		    "%s: the state directory is on a %s file system, where locks and mappings "
		    "cannot be trusted; choose a directory on a local disk with -s",
		    dir, name);
	return 0;
}

static int
check_owner(const char *dir, int fd, char *err, size_t errlen)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return say(err, errlen, errno, "%s: %s", dir, strerror(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return say(
		    err, errlen, EPERM,
		    "%s: the state directory belongs to user %u, who could forge handles; it "
		    "must belong to user %u",
		    dir, st.st_uid, geteuid());
	if (st.st_mode & 022)
		return say(err, errlen, EPERM,
			   "%s: others may write to the state directory and could forge handles; "
			   "chmod go-w it",
			   dir);
	return 0;
}

int
statedir_open(const char *dir, char *err, size_t errlen)
{
	int code, fd;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST) {
		code = errno;
		say(err, errlen, code,
		    "%s: cannot make the state directory: %s; make it, or choose "
		    "another with -s",
		    dir, strerror(code));
		errno = code;
		return -1;
	}
	code = check_type(dir, err, errlen);
	if (code) {
		errno = code;
		return -1;
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		code = errno;
		say(err, errlen, code, "%s: cannot open the state directory: %s", dir,
		    strerror(code));
	} else {
		code = check_owner(dir, fd, err, errlen);
		if (code)
			close(fd);
	}
	if (code) {
		errno = code;
		return -1;
	}
	return fd;
}
