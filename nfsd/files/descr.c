/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An object's descriptors. What the cache holds is O_PATH; to read, to write or to sync, that is
 * opened again through /proc/self/fd, once, as the server, and shared by all callers: permission
 * was asked before, and whoever writes does so in a bracket of ident.c.
 *
 * NFS has no open, so the owner reads and writes whatever the mode says now (RFC 1813 4.4). Root
 * needs nothing for that; an ordinary server that owns the file must be let in by the file, and
 * changes its mode for the time of an open(2). Killed in between, it leaves the owner that right.
 */
#include "cache.h"
#include "log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RETRIES 11
#define RETRY_NS 100000000

bool
files_retry(struct files *f, int error, unsigned *tries)
{
	if ((error != EMFILE && error != ENFILE) || *tries == RETRIES)
		return false;
	if (++*tries > 1)
		nanosleep(&(struct timespec){0, RETRY_NS}, NULL);
	files_relieve(f);
	return true;
}

int
files_reopen(struct files *f, int fd, int flags)
{
	unsigned tries = 0;
	char name[16];
	int r;

	snprintf(name, sizeof name, "%d", fd);
	do
		r = openat(f->procfd, name, flags | O_CLOEXEC | O_NONBLOCK);
	while (r < 0 && files_retry(f, errno, &tries));
	return r;
}

/* With the right to read and write for the owner, which is us. */
static int
open_let_in(struct files *f, struct obj *o, int flags)
{
	char name[16];
	struct stat st;
	int fd = -1, error = 0;

	snprintf(name, sizeof name, "%d", o->fd);
	pthread_rwlock_wrlock(&o->change);
	if (fstat(o->fd, &st) != 0)
		error = errno;
	else if (st.st_uid != geteuid())
		error = EACCES;
	else if (fchmodat(f->procfd, name, (st.st_mode & 07777) | S_IRUSR | S_IWUSR, 0) != 0)
		error = errno;
	if (!error) {
		fd = openat(f->procfd, name, flags | O_CLOEXEC | O_NONBLOCK);
		error = fd < 0 ? errno : 0;
		if (fchmodat(f->procfd, name, st.st_mode & 07777, 0) != 0)
			log_error("a mode could not be put back to %04o: %s", st.st_mode & 07777,
				  strerror(errno));
	}
	pthread_rwlock_unlock(&o->change);
	errno = error;
	return fd;
}

static int
open_file(struct files *f, struct obj *o, int flags)
{
	int fd = files_reopen(f, o->fd, flags);

	if (fd < 0 && errno == EACCES && geteuid() != 0)
		fd = open_let_in(f, o, flags);
	return fd;
}

/* Keeps a descriptor in its place, unless another thread has put one there: then that one. */
static int
keep(int *place, int fd)
{
	int none = -1;

	if (__atomic_compare_exchange_n(place, &none, fd, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return fd;
	close(fd);
	return none;
}

int
obj_reader(struct files *f, struct obj *o, bool may_sleep, int *fd)
{
	*fd = __atomic_load_n(&o->rfd, __ATOMIC_ACQUIRE);
	if (*fd >= 0)
		return 0;
	if (!S_ISREG(o->type))
		return S_ISDIR(o->type) ? EISDIR : EINVAL;
	if (!may_sleep)
		return ESLEEP;
	*fd = open_file(f, o, O_RDONLY);
	if (*fd < 0)
		return errno;
	/* a loop's splice must not start readahead; where only workers read, the kernel's is good
	 */
	if (o->ex->fs.local)
		posix_fadvise(*fd, 0, 0, POSIX_FADV_RANDOM);
	*fd = keep(&o->rfd, *fd);
	return 0;
}

int
obj_writer(struct files *f, struct obj *o, int *fd)
{
	*fd = __atomic_load_n(&o->wfd, __ATOMIC_ACQUIRE);
	if (*fd >= 0)
		return 0;
	if (S_ISREG(o->type))
		*fd = open_file(f, o, O_WRONLY);
	else if (S_ISDIR(o->type))
		*fd = files_reopen(f, o->fd, O_RDONLY | O_DIRECTORY);
	else
		return EINVAL;
	if (*fd < 0)
		return errno == ETXTBSY ? EACCES : errno;
	*fd = keep(&o->wfd, *fd);
	return 0;
}

void
obj_keep(struct obj *o, int wfd, int rfd)
{
	keep(&o->wfd, wfd);
	if (rfd >= 0)
		keep(&o->rfd, rfd);
}
