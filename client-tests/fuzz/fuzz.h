/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FUZZ_H
#define FUZZ_H
/*
 * What the fuzz targets share. Included once by each of them (it defines functions).
 *
 * A target is LLVMFuzzerTestOneInput and FUZZ_SEEDS(fn): when the corpus directory on the command
 * line is empty, fn writes the first inputs into it. Any broken property aborts, which libFuzzer
 * reports with the input that did it.
 */
#include <CUnit/CUnit.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfs3.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static int ending; /* the fuzzer itself may have opened or closed something since the beginning */

/* The test library's assertions are the fuzzer's, too. */
CU_BOOL
CU_assertImplementation(CU_BOOL value, unsigned line, const char *cond, const char *file,
			const char *function, CU_BOOL fatal)
{
	(void)function;
	(void)fatal;
	if (!value && !ending) {
		fprintf(stderr, "%s:%u: not true: %s\n", file, line, cond);
		abort();
	}
	return value;
}

/* ---- seeds ---- */

static const char *seed_dir;
static unsigned seeds;

static void
seed(const void *p, size_t n)
{
	char name[4096];

	snprintf(name, sizeof name, "%s/seed-%03u", seed_dir, seeds++);
	FILE *f = fopen(name, "we");
	MUST(f && fwrite(p, 1, n, f) == n && fclose(f) == 0);
}

static int
is_empty_dir(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	if (!d)
		return 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n <= 2;
}

static void
seed_corpus(int argc, char **argv, void (*fn)(void))
{
	for (int i = 1; i < argc && !seed_dir; i++)
		if (argv[i][0] != '-' && is_empty_dir(argv[i])) {
			seed_dir = argv[i];
			fn();
		}
}

#define FUZZ_SEEDS(fn)                                                                             \
	int LLVMFuzzerInitialize(int *argc, char ***argv)                                          \
	{                                                                                          \
		seed_corpus(*argc, *argv, fn);                                                     \
		return 0;                                                                          \
	}

/* ---- inputs ---- */

/* The input, taken from the front. */
struct input {
	const uint8_t *p;
	size_t n;
};

static inline uint32_t
input_word(struct input *in)
{
	uint8_t b[4] = {0};
	size_t k = in->n < 4 ? in->n : 4;

	memcpy(b, in->p, k);
	in->p += k;
	in->n -= k;
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static inline uint8_t
input_byte(struct input *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

static inline uint32_t
next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* "00 ff..." to bytes; the count. */
static inline size_t
unhex(const char *hex, uint8_t *out, size_t room)
{
	size_t n = 0;
	int high = -1;

	for (; hex && *hex; hex++) {
		const char *digits = "0123456789abcdef", *at = strchr(digits, *hex);

		if (!at)
			continue;
		if (high < 0) {
			high = (int)(at - digits);
			continue;
		}
		MUST(n < room);
		out[n++] = (uint8_t)(high << 4 | (int)(at - digits));
		high = -1;
	}
	return n;
}

#endif
