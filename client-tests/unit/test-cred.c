/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "cred.h"

/* Equal credentials have equal hashes; a change of any field, or of a group that counts, changes
 * it; a group beyond ngroups does not. */
TEST(cred, hash)
{
	struct cred a = {.uid = 1, .gid = 2, .ngroups = 2, .groups = {5, 6}}, b = a;

	cred_seal(&a);
	b.groups[2] = 99;
	cred_seal(&b);
	CU_ASSERT_EQUAL(a.hash, b.hash);
	b.groups[1] = 7;
	cred_seal(&b);
	CU_ASSERT_NOT_EQUAL(a.hash, b.hash);
	b = (struct cred){.uid = 2, .gid = 1, .ngroups = 2, .groups = {5, 6}};
	cred_seal(&b);
	CU_ASSERT_NOT_EQUAL(a.hash, b.hash);
	b = (struct cred){.uid = 1, .gid = 2, .ngroups = 1, .groups = {5}};
	cred_seal(&b);
	CU_ASSERT_NOT_EQUAL(a.hash, b.hash);
}
