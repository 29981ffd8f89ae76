/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapper FILE SIZE SEED: fill a file through a shared mapping, as linkers and databases do.
 *
 * The file is made, given its size, mapped, and changed at 500 places of random lengths; now and
 * then some of it is synced, cut or grown, and some is written by write() instead. What it holds at
 * the end depends on SIZE and SEED alone: two files on different file systems must be equal.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t state;

static uint32_t
below(uint64_t n)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)((state >> 33) % n);
}

static void
fill(unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)below(256);
}

/* cut the file in the middle of a page and let it grow again: what was cut reads as zeros */
static void
recut(int fd, size_t size)
{
	off_t at = (off_t)(size / 2 + below(size / 4));

	if (ftruncate(fd, at) < 0 || ftruncate(fd, (off_t)size) < 0)
		err(1, "ftruncate");
}

static void
change(int fd, unsigned char *map, size_t size)
{
	unsigned char buf[5000];
	size_t at = below(size), n = below(sizeof buf);

	if (n > size - at)
		n = size - at;
	switch (below(20)) {
	case 0:
		if (msync(map, size, MS_SYNC) < 0)
			err(1, "msync");
		break;
	case 1:
		recut(fd, size);
		break;
	case 2:
	case 3:
		fill(buf, n);
		if (pwrite(fd, buf, n, (off_t)at) != (ssize_t)n)
			err(1, "pwrite");
		break;
	default:
		fill(map + at, n);
	}
}

int
main(int argc, char **argv)
{
	if (argc != 4)
		errx(2, "usage: mapper FILE SIZE SEED");
	size_t size = strtoul(argv[2], NULL, 10);
	state = strtoul(argv[3], NULL, 10);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		err(1, "%s", argv[1]);
	unsigned char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		err(1, "mmap %s", argv[1]);
	for (int i = 0; i < 500; i++)
		change(fd, map, size);
	if (munmap(map, size) < 0 || fsync(fd) < 0 || close(fd) < 0)
		err(1, "%s", argv[1]);
	return 0;
}
