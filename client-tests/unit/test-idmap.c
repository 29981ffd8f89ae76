/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "idmap.h"
#include <stdint.h>
#include <string.h>

static bool
whole(const char *map, char *text, size_t size)
{
	FILE *f = fmemopen((void *)(uintptr_t)map, strlen(map), "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	bool yes = idmap_is_whole(f, text, size);
	fclose(f);
	return yes;
}

/* The machine's own map, and one cut in two, hold every id. */
TEST(idmap, all)
{
	char text[64];

	CU_ASSERT_TRUE(whole("         0          0 4294967295\n", text, sizeof text));
	CU_ASSERT_TRUE(whole("0 100000 65536\n65536 200000 4294901759\n", text, sizeof text));
}

/* Of a container's map it is said which ids there are; text that is too long is cut off. */
TEST(idmap, some)
{
	char text[64], cut[12];

	CU_ASSERT_FALSE(whole("0 100000 65536\n", text, sizeof text));
	CU_ASSERT_STRING_EQUAL(text, "0-65535");
	CU_ASSERT_FALSE(whole("0 0 2000\n65534 65534 1\n", text, sizeof text));
	CU_ASSERT_STRING_EQUAL(text, "0-1999, 65534");
	CU_ASSERT_FALSE(whole("0 0 2000\n65534 65534 1\n70000 1 2\n", cut, sizeof cut));
	CU_ASSERT_STRING_EQUAL(cut, "0-1999, 655");
}
