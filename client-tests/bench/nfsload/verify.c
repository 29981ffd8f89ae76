/* SPDX-License-Identifier: BSD-2-Clause */
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opts.h"

int
verifier_open(struct verifier *v, const char *path, char err[RPC_ERR])
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		snprintf(err, RPC_ERR, "--verify %.180s: %s", path, strerror(errno));
		return -1;
	}
	if (!S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		snprintf(err, RPC_ERR, "--verify %.180s: empty or no regular file", path);
		return -1;
	}
	v->size = (uint64_t)st.st_size;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	v->copy = map != MAP_FAILED ? map : NULL;
	if (v->copy)
		return 0;
	snprintf(err, RPC_ERR, "--verify %.180s: mmap: %s", path, strerror(errno));
	return -1;
}

void
verifier_close(struct verifier *v)
{
	if (v->copy)
		munmap((void *)(uintptr_t)v->copy, v->size);
}

static uint8_t
pattern_byte(uint64_t at)
{
	return (uint8_t)((at & ~UINT64_C(7)) >> (56 - 8 * (at & 7)));
}

static size_t
first_difference(const struct verifier *v, const uint8_t *p, size_t n, uint64_t offset)
{
	size_t i = 0;
	if (v->copy) {
		if (offset + n <= v->size && !memcmp(p, v->copy + offset, n))
			return n;
		while (i < n && offset + i < v->size && p[i] == v->copy[offset + i])
			i++;
		return i;
	}
	while (i < n) {
		uint64_t at = offset + i;
		uint8_t word[8];
		put_be64(word, at);
		if (!(at & 7) && n - i >= 8 && !memcmp(word, p + i, 8))
			i += 8;
		else if (p[i] == pattern_byte(at))
			i++;
		else
			break;
	}
	return i;
}

bool
verifier_same(const struct verifier *v, const uint8_t *p, size_t n, uint64_t offset,
	      char err[RPC_ERR])
{
	size_t i = first_difference(v, p, n, offset);
	if (i == n)
		return true;
	uint64_t at = offset + i;
	size_t word = i - (size_t)(at & 7); /* wraps when the word began earlier */
	int len = snprintf(err, RPC_ERR, "wrong data at offset %" PRIu64 ": byte %02x", at, p[i]);
	if (v->pattern && word < n && n - word >= 8 && len > 0) {
		uint64_t from = (uint64_t)get_be32(p + word) << 32 | get_be32(p + word + 4);
		snprintf(err + len, RPC_ERR - (size_t)len,
			 ", the word reads as that of offset %" PRIu64, from);
	}
	return false;
}

int
pattern_write(const char *arg, char err[RPC_ERR])
{
	const char *comma = strrchr(arg, ',');
	int64_t size = comma ? parse_size(comma + 1) : -1;
	if (size <= 0) {
		snprintf(err, RPC_ERR, "--make-pattern %.180s: the form is FILE,BYTES", arg);
		return -1;
	}
	char *path = strndup(arg, (size_t)(comma - arg));
	FILE *f = path ? fopen(path, "w") : NULL;
	bool good = f != NULL;
	for (int64_t at = 0; good && at < size; at += 8) {
		uint8_t word[8];
		put_be64(word, (uint64_t)at);
		size_t n = size - at < 8 ? (size_t)(size - at) : 8;
		good = fwrite(word, 1, n, f) == n;
	}
	if (f && fclose(f))
		good = false;
	if (!good)
		snprintf(err, RPC_ERR, "--make-pattern %.180s: %s", arg, strerror(errno));
	free(path);
	return good ? 0 : -1;
}
