/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_H
#define CHECK_H
/*
 * The test runner: a test file writes TEST(suite, name) { ... } and is linked in; nothing else to
 * register. A runner takes [suite[/test]] arguments to run a part, -l to list. Exit status 0 only
 * if every assertion held and at least one test ran.
 */
#include <CUnit/CUnit.h>

typedef void (*check_fn)(void);
void check_add(const char *suite, const char *name, check_fn fn);
/* The SIZE of heavy tests: true for SIZE=full (make soak), false for what every change runs. */
int check_full(void);

#define TEST(suite, name)                                                                          \
	static void test_##suite##_##name(void);                                                   \
	__attribute__((constructor)) static void add_##suite##_##name(void)                        \
	{                                                                                          \
		check_add(#suite, #name, test_##suite##_##name);                                   \
	}                                                                                          \
	static void test_##suite##_##name(void)

#endif
