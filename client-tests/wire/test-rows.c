/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of procedures: what they promise about sizes is true, and the check at start finds a
 * row that does not fit. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bed.h"

/* Every handle in a result, as long as they get. */
static void
fill_handles(const struct row *row, void *res)
{
	if (strcmp(row->name, "LOOKUP") == 0)
		((LOOKUP3res *)res)->LOOKUP3res_u.resok.object.len = WIRE_FH_MAX;
	/* CREATE, MKDIR, SYMLINK and MKNOD have results of one shape */
	if (row->res_size == sizeof(CREATE3res) && row->arm == offsetof(CREATE3res, CREATE3res_u))
		((CREATE3res *)res)->CREATE3res_u.resok.obj.post_op_fh3_u.handle.len = WIRE_FH_MAX;
	if (row->res_size == sizeof(mountres3))
		((mountres3 *)res)->mountres3_u.mountinfo.fhandle.len = WIRE_FH_MAX;
}

/* The longest encoding of a result: every optional part there, every handle full. */
static size_t
longest(const struct row *row, int status)
{
	uint32_t *res = calloc(1, row->res_size + 4);
	char *buf = malloc(65536);
	int flavor = AUTH_SYS;
	XDR x;
	size_t n = SIZE_MAX;

	for (size_t i = 0; i < row->res_size / 4; i++)
		res[i] = TRUE; /* also of every "follows" */
	res[0] = (uint32_t)status;
	if (status == 0)
		fill_handles(row, res);
	if (row->res_size == sizeof(mountres3)) {
		mountres3_ok *ok = &((mountres3 *)res)->mountres3_u.mountinfo;

		ok->auth_flavors.auth_flavors_len = 1;
		ok->auth_flavors.auth_flavors_val = &flavor;
	}
	xdrmem_create(&x, buf, 65536, XDR_ENCODE);
	if (row->res_xdr(&x, res))
		n = xdr_getpos(&x);
	free(buf);
	free(res);
	return n;
}

/* The bound of each row's encoded head is the size of its longest result, not less and not more. */
TEST(wire_rows, heads_are_exact)
{
	for (const struct program *const *p = call_programs; *p; p++)
		for (uint32_t v = (*p)->low; v <= (*p)->high; v++) {
			unsigned n;
			const struct row *rows = (*p)->rows(v, &n);

			for (unsigned i = 0; i < n; i++) {
				if (!rows[i].res_xdr)
					continue;
				CU_ASSERT_EQUAL(longest(&rows[i], 0), rows[i].head);
				CU_ASSERT(longest(&rows[i], 70) <= rows[i].head);
			}
		}
}

/* All 22 procedures stand in the table, each with its own counter; those that change something need
 * a writable export. */
TEST(wire_rows, nfs_is_complete)
{
	unsigned n;
	const struct row *rows = call_programs[0]->rows(3, &n);
	static const char *const writers[] = {"SETATTR", "WRITE", "CREATE", "MKDIR",
					      "SYMLINK", "MKNOD", "REMOVE", "RMDIR",
					      "RENAME",	 "LINK",  "COMMIT"};
	unsigned nw = 0;

	CU_ASSERT_EQUAL(n, 22);
	for (unsigned i = 0; i < n; i++) {
		bool w = false;

		CU_ASSERT_EQUAL(rows[i].stat, i);
		for (size_t k = 0; k < sizeof writers / sizeof *writers; k++)
			w |= strcmp(rows[i].name, writers[k]) == 0;
		CU_ASSERT_EQUAL(rows[i].writes, w);
		nw += w;
	}
	CU_ASSERT_EQUAL(nw, 11);
}

static int
nothing(struct call *c)
{
	(void)c;
	return 0;
}

static struct row odd = {.name = "ODD", .fn = nothing};

static const struct row *
odd_rows(uint32_t version, unsigned *n)
{
	(void)version;
	*n = 1;
	return &odd;
}

/* The check at start accepts a row that just fits and names one that is a byte too big, or has no
 * counter. */
TEST(wire_rows, check_finds_what_does_not_fit)
{
	static const struct program prog = {.number = 7, .low = 1, .high = 1, .rows = odd_rows};
	const struct program *const list[] = {&prog, NULL};
	struct engine e;
	char err[200];

	engine_init(&e);
	e.programs = list;
	odd.args_size = 1000;
	odd.res_size = CALL_ARENA_ROW - 1000;
	odd.head = CALL_HEAD - RPC_HEAD;
	CU_ASSERT_EQUAL(engine_check(&e, err, sizeof err), 0);
	odd.head++;
	CU_ASSERT_NOT_EQUAL(engine_check(&e, err, sizeof err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "CALL_HEAD"));
	odd.head = 0;
	odd.args_size++;
	CU_ASSERT_NOT_EQUAL(engine_check(&e, err, sizeof err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "program 7 version 1 procedure 0"));
	odd.args_size = 0;
	odd.stat = 32;
	CU_ASSERT_NOT_EQUAL(engine_check(&e, err, sizeof err), 0);
	odd.stat = 0;
	engine_fini(&e);
}

static struct export_table *
empty_table(struct bed *b)
{
	struct export_env env = {&b->kernel, &b->key, b->store, false};
	char err[200];

	return export_table_make(&env, NULL, 0, err, sizeof err);
}

static void *
ask(void *arg)
{
	struct bed *b = arg;
	struct call *c = malloc(sizeof *c);
	uintptr_t bad = 0;

	call_init(c, &b->engine);
	for (int i = 0; i < 2000; i++) {
		c->peer = &b->peer;
		c->rec = b->rec;
		c->reclen = b->reclen;
		c->may_sleep = true;
		bad += call_run(c) != CALL_REPLY;
		call_reset(c);
	}
	free(c);
	return (void *)bad;
}

/* Tables are swapped while calls run: each call sees one whole table, and the old one goes when its
 * last call ends. */
TEST(wire_rows, swap_under_load)
{
	struct bed *b = bed_new(NULL);
	struct export_table *full = engine_table(&b->engine);
	pthread_t t[3];

	bed_any(b, NFSPROC3_GETATTR, &b->root_a, &b->root_a);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, ask, b);
	for (int i = 0; i < 500; i++)
		engine_swap_table(&b->engine, i % 2 ? export_table_ref(full) : empty_table(b));
	engine_swap_table(&b->engine, export_table_ref(full));
	for (int i = 0; i < 3; i++) {
		void *bad;

		pthread_join(t[i], &bad);
		CU_ASSERT_PTR_NULL(bad);
	}
	CU_ASSERT_EQUAL(full->refs, 2);
	export_table_put(full);
	bed_free(b);
}
