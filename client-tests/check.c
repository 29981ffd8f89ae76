/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TESTS 2000

static struct {
	const char *suite, *name;
	check_fn fn;
} tests[MAX_TESTS];
static int ntests;

void
check_add(const char *suite, const char *name, check_fn fn)
{
	if (ntests == MAX_TESTS) {
		fprintf(stderr, "check: more than %d tests; raise MAX_TESTS\n", MAX_TESTS);
		exit(1);
	}
	tests[ntests].suite = suite;
	tests[ntests].name = name;
	tests[ntests++].fn = fn;
}

int
check_full(void)
{
	const char *size = getenv("SIZE");

	return size && strcmp(size, "full") == 0;
}

/* Does "suite" or "suite/test" on the command line name this test? */
static int
wanted(int i, int argc, char **argv)
{
	char full[256];

	if (argc < 2)
		return 1;
	snprintf(full, sizeof full, "%s/%s", tests[i].suite, tests[i].name);
	for (int a = 1; a < argc; a++)
		if (strcmp(argv[a], tests[i].suite) == 0 || strcmp(argv[a], full) == 0)
			return 1;
	return 0;
}

static int
add(int i)
{
	CU_pSuite suite = CU_get_suite(tests[i].suite);

	if (!suite)
		suite = CU_add_suite(tests[i].suite, NULL, NULL);
	return suite && CU_add_test(suite, tests[i].name, tests[i].fn);
}

int
main(int argc, char **argv)
{
	int picked = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "-l") == 0) {
		for (int i = 0; i < ntests; i++)
			printf("%s/%s\n", tests[i].suite, tests[i].name);
		return 0;
	}
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	for (int i = 0; i < ntests; i++)
		if (wanted(i, argc, argv) && ++picked && !add(i)) {
			fprintf(stderr, "check: cannot add %s/%s\n", tests[i].suite, tests[i].name);
			return 1;
		}
	if (picked == 0) {
		fprintf(stderr, "check: no test of that name; -l lists them\n");
		return 1;
	}
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
