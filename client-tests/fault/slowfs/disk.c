/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A disk image with a volatile write cache, for tests of what survives a power cut.
 *
 * Intent: a file system on a loop device over this file sees its own flushes (FUSE_FSYNC) obeyed,
 * and loses everything since the last one when the test says so. Pages that were written are kept
 * in a tree by number until a flush writes them to the image; a read takes the cached page when
 * there is one.
 *
 * Limits: one lock for all, so slow operations overlap only in their delays; the image never grows;
 * pages reach the image in any order, and a cut between two of them cannot be asked for.
 */
#include "disk.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

struct page {
	off_t number;
	char data[PAGE];
};

struct disk {
	pthread_mutex_t lock;
	int fd;
	off_t size;
	void *pages; /* tree of struct page */
};

static int
by_number(const void *a, const void *b)
{
	off_t x = ((const struct page *)a)->number, y = ((const struct page *)b)->number;

	return (x > y) - (x < y);
}

struct disk *
disk_new(int fd)
{
	struct disk *d = calloc(1, sizeof *d);
	struct stat st;

	if (!d || fstat(fd, &st) < 0) {
		free(d);
		return NULL;
	}
	pthread_mutex_init(&d->lock, NULL);
	d->fd = fd;
	d->size = st.st_size;
	return d;
}

void
disk_free(struct disk *d)
{
	disk_flush(d);
	close(d->fd);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

off_t
disk_size(const struct disk *d)
{
	return d->size;
}

static struct page *
page_find(struct disk *d, off_t number)
{
	const off_t key = number; /* a page begins with its number */
	void **node = tfind(&key, &d->pages, by_number);

	return node ? *node : NULL;
}

/* the cached page, made from the image when it is not there yet */
static struct page *
page_get(struct disk *d, off_t number)
{
	struct page *p = page_find(d, number);

	if (p)
		return p;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->number = number;
	if (pread(d->fd, p->data, PAGE, number * PAGE) < 0 || !tsearch(p, &d->pages, by_number)) {
		free(p);
		return NULL;
	}
	return p;
}

/* how much of [at, at + len) lies in the page of `at` and in the image */
static size_t
piece(const struct disk *d, off_t at, size_t len)
{
	size_t room = PAGE - (size_t)(at % PAGE);

	if (at >= d->size)
		return 0;
	if (len > (size_t)(d->size - at))
		len = (size_t)(d->size - at);
	return len < room ? len : room;
}

ssize_t
disk_read(struct disk *d, char *buf, size_t len, off_t at)
{
	size_t done = 0, n;

	pthread_mutex_lock(&d->lock);
	for (; (n = piece(d, at + (off_t)done, len - done)) > 0; done += n) {
		off_t pos = at + (off_t)done;
		const struct page *p = page_find(d, pos / PAGE);
		if (p)
			memcpy(buf + done, p->data + pos % PAGE, n);
		else if (pread(d->fd, buf + done, n, pos) != (ssize_t)n)
			break;
	}
	pthread_mutex_unlock(&d->lock);
	return n ? -EIO : (ssize_t)done;
}

ssize_t
disk_write(struct disk *d, const char *buf, size_t len, off_t at)
{
	size_t done = 0, n;

	pthread_mutex_lock(&d->lock);
	for (; (n = piece(d, at + (off_t)done, len - done)) > 0; done += n) {
		off_t pos = at + (off_t)done;
		struct page *p = page_get(d, pos / PAGE);
		if (!p)
			break;
		memcpy(p->data + pos % PAGE, buf + done, n);
	}
	pthread_mutex_unlock(&d->lock);
	if (n)
		return -EIO;
	return done < len ? -ENOSPC : (ssize_t)done;
}

int
disk_flush(struct disk *d)
{
	int err = 0;

	pthread_mutex_lock(&d->lock);
	while (d->pages && !err) {
		struct page *p = *(struct page **)d->pages;
		size_t n = piece(d, p->number * PAGE, PAGE);
		if (pwrite(d->fd, p->data, n, p->number * PAGE) != (ssize_t)n) {
			err = errno ? errno : EIO;
			break;
		}
		tdelete(p, &d->pages, by_number);
		free(p);
	}
	pthread_mutex_unlock(&d->lock);
	return err;
}

void
disk_forget(struct disk *d)
{
	pthread_mutex_lock(&d->lock);
	tdestroy(d->pages, free);
	d->pages = NULL;
	pthread_mutex_unlock(&d->lock);
}
