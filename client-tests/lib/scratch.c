/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/scratch.h"
#include "check.h"
#include <stdio.h>
#include <stdlib.h>

void
scratch_make(char *dir, const char *name)
{
	snprintf(dir, 64, "/tmp/check-%s-XXXXXX", name);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
}

void
scratch_drop(const char *dir)
{
	char cmd[128];

	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	CU_ASSERT_EQUAL(system(cmd), 0);
}

void
scratch_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}
