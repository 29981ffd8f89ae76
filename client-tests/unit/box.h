/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOX_H
#define BOX_H
/*
 * A box: a forked child with a mount name space of its own, in which a test may mount, switch
 * users and give up capabilities; whatever it does ends with it. In a box assertions are WANT()s:
 * CUnit's would be lost with the child. Needs root.
 */
#include "ident.h"
#include "kernel.h"
#include "vfs.h"
#include <stdbool.h>
#include <stdint.h>

/* Runs fn in a child; the number of WANTs that failed (and a crash counts). */
int box_run(void (*fn)(void));
#define BOXED(fn) CU_ASSERT_EQUAL(box_run(fn), 0)

extern int box_failed;
#define WANT(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			box_failed++;                                                              \
			fprintf(stderr, "\n    %s:%d: not so: %s", __FILE__, __LINE__, #x);        \
		}                                                                                  \
	} while (0)
#define WANT_EQ(a, b)                                                                              \
	do {                                                                                       \
		long long a_ = (long long)(a), b_ = (long long)(b);                                \
		if (a_ != b_) {                                                                    \
			box_failed++;                                                              \
			fprintf(stderr, "\n    %s:%d: %s is %lld, not %s (%lld)", __FILE__,        \
				__LINE__, #a, a_, #b, b_);                                         \
		}                                                                                  \
	} while (0)
/* For what a test cannot go on without: ends the box. */
#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			box_die(__FILE__, __LINE__, #x);                                           \
	} while (0)
void box_die(const char *file, int line, const char *what) __attribute__((noreturn));

/* In a box: a directory for the test alone, on a tmpfs; and a fresh file system of a type on
 * BOX "/" name: tmpfs, ext2, ext4, xfs, btrfs (on a loop device), ext4-seconds (whose times are
 * whole seconds), overlay (of two tmpfs directories). */
/* path: room for 64 bytes. */
#define BOX "/run/spliced-box"
void box_mount(const char *type, const char *name, char *path);
/* Makes a file of n patterned bytes (box_pattern) and syncs nothing. */
void box_file(const char *path, size_t n, mode_t mode);
unsigned char box_pattern(uint64_t at);
void box_command(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
struct cred box_cred(uid_t uid, gid_t gid, uint32_t ngroups, const gid_t *groups);

#endif
