/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "paths.h"

/* A path is below itself and what it goes through, not below what merely begins alike; everything
 * is below the root. */
TEST(paths, below)
{
	CU_ASSERT_TRUE(path_is_below("/a/b", "/a"));
	CU_ASSERT_TRUE(path_is_below("/a", "/a"));
	CU_ASSERT_FALSE(path_is_below("/ab", "/a"));
	CU_ASSERT_FALSE(path_is_below("/a", "/a/b"));
	CU_ASSERT_TRUE(path_is_below("/a", "/"));
	CU_ASSERT_TRUE(path_is_below("/", "/"));
	CU_ASSERT_FALSE(path_is_below("/", "/a"));
}
