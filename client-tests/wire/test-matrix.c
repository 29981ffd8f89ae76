/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may do what, all of it: every squash, ro and rw, every kind of caller, all procedures, every
 * kind of object. What is expected is not worked out but tried, by the user that the export makes
 * of the caller (local.h). NFS's own rules come on top, one line each (expect()): types of handles,
 * read-only exports, the owner who may read and write whatever the mode, execution that implies
 * reading. Outcome, ACCESS bits, and what the tree is afterwards must be the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/change.h"
#include "wire/local.h"

static const struct caller callers[] = {
    {0, 0, 0}, {OWNER, OWNER, 0}, {OTHER, OTHER, GROUP}, {OTHER, OTHER, 0}, {NOBODY, NOBODY, 0}};
enum { CALLERS = sizeof callers / sizeof *callers };
static const char *const kind_names[] = {"file", "dir", "link", "fifo"};
static const struct modes modes[] = {{0640, 0752}, {0666, 01777}, {0604, 0703},
				     {0171, 0711}, {0000, 0777},  {06777, 02770}};
static const uint32_t procs[OPS] = {
    NFSPROC3_GETATTR, NFSPROC3_SETATTR, NFSPROC3_SETATTR,  NFSPROC3_SETATTR, NFSPROC3_SETATTR,
    NFSPROC3_SETATTR, NFSPROC3_SETATTR, NFSPROC3_LOOKUP,   NFSPROC3_ACCESS,  NFSPROC3_READLINK,
    NFSPROC3_READ,    NFSPROC3_WRITE,	NFSPROC3_CREATE,   NFSPROC3_CREATE,  NFSPROC3_CREATE,
    NFSPROC3_MKDIR,   NFSPROC3_SYMLINK, NFSPROC3_MKNOD,	   NFSPROC3_MKNOD,   NFSPROC3_REMOVE,
    NFSPROC3_RMDIR,   NFSPROC3_RENAME,	NFSPROC3_LINK,	   NFSPROC3_READDIR, NFSPROC3_READDIRPLUS,
    NFSPROC3_FSSTAT,  NFSPROC3_FSINFO,	NFSPROC3_PATHCONF, NFSPROC3_COMMIT};

/* ---- what NFS makes of it ---- */

static bool
has_type(enum op op, enum kind kind)
{
	mode_t need = bed_kind(procs[op]);

	return !need || (need == S_IFREG && kind == K_FILE) || (need == S_IFDIR && kind == K_DIR) ||
	       (need == S_IFLNK && kind == K_LINK);
}

static int
type_status(enum op op, enum kind kind)
{
	mode_t need = bed_kind(procs[op]);

	if (need == S_IFDIR)
		return NFS3ERR_NOTDIR;
	return need == S_IFREG && kind == K_DIR ? NFS3ERR_ISDIR : NFS3ERR_INVAL;
}

static bool
changes(enum op op)
{
	unsigned n;

	return call_programs[0]->rows(3, &n)[procs[op]].writes;
}

static int
expect(enum op op, enum kind kind, const struct caller *as, bool rw, const struct outcome *local)
{
	bool owner = as->uid == OWNER;

	if (!has_type(op, kind))
		return type_status(op, kind);
	if (changes(op) && !rw)
		return NFS3ERR_ROFS;
	if (op == SIZE && kind != K_FILE)
		return kind == K_DIR ? NFS3ERR_ISDIR : NFS3ERR_INVAL;
	if (op == LINK && kind == K_DIR)
		return NFS3ERR_INVAL;
	if (op == CHMOD && kind == K_LINK)
		return NFS3_OK; /* ignored */
	if ((op == READ || op == WRITE || op == SIZE) && owner)
		return NFS3_OK;
	if (op == READ && local->error == EACCES && local->access & ACCESS3_EXECUTE)
		return NFS3_OK;
	if (op == UNCHECK) /* the file is there: to find it is enough */
		return as->uid == 0 || local->access & ACCESS3_LOOKUP ? NFS3_OK : NFS3ERR_ACCES;
	return local->error; /* the numbers are the same, for all that can happen here */
}

/* ---- by a call ---- */

static int
remotely(struct bed *b, enum op op, const nfs_fh3 *o, const nfs_fh3 *into, uint32_t *access)
{
	const diropargs3 new = {*o, {3, "new"}}, file = {*o, {4, "file"}}, sub = {*o, {3, "sub"}};
	const nfstime3 then = {1000000000, 0};
	SETATTR3args set = {*o, set_nothing(), {FALSE, {{0, 0}}}};
	CREATE3args create = {new, {GUARDED, {set_mode(0640)}}};
	MKNOD3args node = {new, {NF3FIFO, {.pipe_attributes = set_mode(0640)}}};
	union {
		SETATTR3res set;
		CREATE3res create;
		RENAME3res rename;
		LINK3res link;
		ACCESS3res access;
	} r;

	switch (op) {
	case CHMOD:
		set.new_attributes = set_mode(02700);
		return BED_DO(b, SETATTR, &set, &r.set);
	case CHOWN:
		set.new_attributes.uid = (set_uid3){TRUE, {OTHER}};
		return BED_DO(b, SETATTR, &set, &r.set);
	case CHGRP:
		set.new_attributes.gid = (set_gid3){TRUE, {GROUP}};
		return BED_DO(b, SETATTR, &set, &r.set);
	case SIZE:
		set.new_attributes = set_size(3);
		return BED_DO(b, SETATTR, &set, &r.set);
	case NOW:
		set.new_attributes.atime.set_it = SET_TO_SERVER_TIME;
		set.new_attributes.mtime.set_it = SET_TO_SERVER_TIME;
		return BED_DO(b, SETATTR, &set, &r.set);
	case THEN:
		set.new_attributes.atime = (set_atime){SET_TO_CLIENT_TIME, {then}};
		set.new_attributes.mtime = (set_mtime){SET_TO_CLIENT_TIME, {then}};
		return BED_DO(b, SETATTR, &set, &r.set);
	case ACCESS: {
		ACCESS3args a = {*o, 0x3f};
		int st = BED_DO(b, ACCESS, &a, &r.access);

		*access = r.access.ACCESS3res_u.resok.access;
		return st;
	}
	case WRITE:
		bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, (xdrproc_t)xdr_WRITE3args,
			   &(WRITE3args){*o, 0, 2, FILE_SYNC, {2, -1, -1, NULL}});
		bed_append(b, "xx\0\0", 4);
		bed_run(b, BED_LOOP);
		return bed_status(b);
	case UNCHECK:
		create.where = file;
		create.how.mode = UNCHECKED;
		return BED_DO(b, CREATE, &create, &r.create);
	case EXCL:
		create.how = (createhow3){EXCLUSIVE, {.verf = "12345678"}};
		return BED_DO(b, CREATE, &create, &r.create);
	case CREATE:
		return BED_DO(b, CREATE, &create, &r.create);
	case MKDIR:
		return BED_DO(b, MKDIR, (&(MKDIR3args){new, set_mode(0750)}), &r.create);
	case SYMLINK:
		return BED_DO(b, SYMLINK, (&(SYMLINK3args){new, {set_nothing(), {1, "x"}}}),
			      &r.create);
	case DEVICE:
		node.what.type = NF3CHR;
		node.what.mknoddata3_u.device = (devicedata3){set_mode(0640), {1, 3}};
		return BED_DO(b, MKNOD, &node, &r.create);
	case FIFO:
		return BED_DO(b, MKNOD, &node, &r.create);
	case REMOVE:
		return BED_DO(b, REMOVE, (&(REMOVE3args){file}), &r.set);
	case RMDIR:
		return BED_DO(b, RMDIR, (&(RMDIR3args){sub}), &r.set);
	case RENAME:
		return BED_DO(b, RENAME, (&(RENAME3args){file, {*into, {3, "new"}}}), &r.rename);
	case LINK:
		return BED_DO(b, LINK, (&(LINK3args){*o, {*into, {3, "new"}}}), &r.link);
	default:
		bed_any(b, procs[op], o, into);
		bed_run(b, BED_LOOP);
		return bed_status(b);
	}
}

/* ---- all of it ---- */

static const char *const squashes[] = {"no_root_squash", "root_squash", "all_squash"};

/* Whom an export makes of a caller: exports(5). The place in callers. */
static size_t
squashed(size_t who, int squash)
{
	return squash == 2 || (squash == 1 && callers[who].uid == 0) ? CALLERS - 1 : who;
}

static unsigned
compare(struct bed *b, enum op op, enum kind kind, size_t who, size_t as, const struct modes *m,
	bool rw, const struct outcome *local, const char *untouched)
{
	char path[100], tree[4096] = "";
	uint32_t access = 0, allowed = ACCESS3_READ | ACCESS3_LOOKUP | ACCESS3_EXECUTE;
	nfs_fh3 t, o, into;

	snprintf(path, sizeof path, "%s/a/t", b->base);
	bed_as(b, 0, 0);
	CU_ASSERT_EQUAL(bed_lookup(b, &b->root_a, "t", &t), NFS3_OK);
	CU_ASSERT_EQUAL(bed_lookup(b, &t, "o", &o), NFS3_OK);
	CU_ASSERT_EQUAL(bed_lookup(b, &t, "into", &into), NFS3_OK);
	bed_as(b, callers[who].uid, callers[who].gid);
	if (callers[who].group)
		b->gids[b->ngids++] = callers[who].group;
	int want = expect(op, kind, &callers[as], rw, local),
	    got = remotely(b, op, &o, &into, &access);
	local_describe(path, tree, 0, sizeof tree);
	/* what the local process could not do, and NFS lets the owner do, is as if it had */
	bool overridden = got == NFS3_OK && local->error != 0;
	bool same = overridden || strcmp(tree, got == NFS3_OK ? local->tree : untouched) == 0;
	if (op == ACCESS && got == NFS3_OK)
		same = access == (rw ? local->access : local->access & allowed);
	if (got == want && same)
		return 0;
	fprintf(stderr, "\n    op %d on a %s of %o in %o by %u as %u (%s): %d, not %d\n%s\n%s", op,
		kind_names[kind], m->obj, m->into, callers[who].uid, callers[as].uid,
		rw ? "rw" : "ro", got, want, tree, got == NFS3_OK ? local->tree : untouched);
	return 1;
}

/* All exports against what the local processes came to. */
static unsigned
all_exports(const struct outcome *local, const struct modes *m, enum kind kind)
{
	unsigned wrong = 0;

	for (int squash = 0; squash < 3; squash++)
		for (int rw = 0; rw < 2; rw++) {
			char options[64], path[100], untouched[4096] = "";
			bool fresh = false;

			snprintf(options, sizeof options, "%s,async,%s", rw ? "rw" : "ro",
				 squashes[squash]);
			struct bed *b =
			    bed_new(&(struct bed_opts){.parent = "/dev/shm", .options_a = options});
			snprintf(path, sizeof path, "%s/a/t", b->base);
			for (enum op op = 0; op < OPS; op++)
				for (size_t who = 0; who < CALLERS; who++) {
					size_t as = squashed(who, squash);

					if (!fresh) {
						local_plant(path, kind, m);
						untouched[0] = 0;
						local_describe(path, untouched, 0,
							       sizeof untouched);
					}
					wrong += compare(b, op, kind, who, as, m, rw,
							 &local[op * CALLERS + as], untouched);
					fresh = !rw || !changes(op);
					if (!fresh)
						local_uproot(path);
				}
			bed_free(b);
		}
	return wrong;
}

static void
matrix(size_t from, size_t to)
{
	size_t bytes = OPS * CALLERS * sizeof(struct outcome);
	struct outcome *local =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char base[] = "/dev/shm/spliced-matrix-XXXXXX", path[64];
	mode_t mask = umask(0);

	local_must(mkdtemp(base) ? 0 : -1);
	local_must(chmod(base, 0755));
	snprintf(path, sizeof path, "%s/t", base);
	for (size_t i = from; i < to; i++)
		for (enum kind kind = 0; kind < KINDS; kind++) {
			memset(local, 0, bytes);
			for (enum op op = 0; op < OPS; op++)
				for (size_t who = 0; who < CALLERS; who++) {
					if (!has_type(op, kind))
						continue;
					local_plant(path, kind, &modes[i]);
					local_try(path, op, kind, &callers[who],
						  &local[op * CALLERS + who]);
					local_uproot(path);
				}
			CU_ASSERT_EQUAL(all_exports(local, &modes[i], kind), 0);
		}
	umask(mask);
	local_must(rmdir(base));
	munmap(local, bytes);
}

TEST(wire_matrix, group_only)
{
	matrix(0, 1);
}

TEST(wire_matrix, everybody_sticky)
{
	matrix(1, 2);
}

/* More modes, at full size. */
TEST(wire_matrix, others)
{
	matrix(2, check_full() ? sizeof modes / sizeof *modes : 3);
}
