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

static struct cred_groups *
list(uint32_t n, const gid_t *v)
{
	struct cred_groups *g = cred_groups_new(n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(g);
	for (uint32_t i = 0; i < n; i++)
		g->v[i] = v[i];
	cred_groups_seal(g);
	return g;
}

/* A borrowed list counts as a whole, in any order, and is not mistaken for groups of the call. */
TEST(cred, long_lists)
{
	struct cred_groups *g[] = {list(3, (gid_t[]){7, 5, 6}), list(3, (gid_t[]){5, 6, 7}),
				   list(2, (gid_t[]){5, 6}), list(0, NULL)};
	struct cred c[4], own = {.uid = 1, .gid = 2, .ngroups = 2, .groups = {5, 6}};

	for (int i = 0; i < 4; i++) {
		c[i] = (struct cred){.uid = 1, .gid = 2, .more = g[i]};
		cred_seal(&c[i]);
	}
	cred_seal(&own);
	CU_ASSERT_EQUAL(c[0].hash, c[1].hash);
	CU_ASSERT(c[0].hash != c[2].hash && c[2].hash != c[3].hash && own.hash != c[2].hash);
	for (int i = 0; i < 4; i++)
		cred_groups_put(g[i]);
}
