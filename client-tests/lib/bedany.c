/* SPDX-License-Identifier: BSD-2-Clause */
/* One good call of every procedure, for tests that treat all alike. */
#include <string.h>
#include <sys/stat.h>

#include "bed.h"

static const char DATA[] = "8 bytes";

/* Two-argument form of a generated coder's record. */
#define REC(T, ...)                                                                                \
	do {                                                                                       \
		T##args args_ = __VA_ARGS__;                                                       \
		bed_record(b, NFS_PROGRAM, NFS_V3, proc, (xdrproc_t)xdr_##T##args, &args_);        \
	} while (0)

static void
queries(struct bed *b, uint32_t proc, const nfs_fh3 *fh)
{
	const filename3 name = {4, "file"};

	switch (proc) {
	case NFSPROC3_GETATTR:
		REC(GETATTR3, {*fh});
		break;
	case NFSPROC3_LOOKUP:
		REC(LOOKUP3, {{*fh, name}});
		break;
	case NFSPROC3_ACCESS:
		REC(ACCESS3, {*fh, 0x3f});
		break;
	case NFSPROC3_READLINK:
		REC(READLINK3, {*fh});
		break;
	case NFSPROC3_READ:
		REC(READ3, {*fh, 0, 8});
		break;
	case NFSPROC3_READDIR:
		REC(READDIR3, {*fh, 0, {0}, 4096});
		break;
	case NFSPROC3_READDIRPLUS:
		REC(READDIRPLUS3, {*fh, 0, {0}, 4096, 8192});
		break;
	case NFSPROC3_FSSTAT:
		REC(FSSTAT3, {*fh});
		break;
	case NFSPROC3_FSINFO:
		REC(FSINFO3, {*fh});
		break;
	case NFSPROC3_PATHCONF:
		REC(PATHCONF3, {*fh});
		break;
	default:
		CU_FAIL("no such procedure");
	}
}

static void
changes(struct bed *b, uint32_t proc, const nfs_fh3 *fh, const nfs_fh3 *fh2)
{
	const diropargs3 where = {*fh, {4, "file"}};
	const diropargs3 other = {*fh2, {5, "other"}};
	const sattr3 attr = {
	    .mode = {TRUE, {0600}}, .size = {TRUE, {0}}, .mtime = {SET_TO_CLIENT_TIME, {{1, 2}}}};

	switch (proc) {
	case NFSPROC3_SETATTR:
		REC(SETATTR3, {*fh, attr, {TRUE, {{1, 2}}}});
		break;
	case NFSPROC3_WRITE:
		REC(WRITE3, {*fh, 0, 8, FILE_SYNC, {8, -1, -1, NULL}});
		bed_append(b, DATA, 8);
		break;
	case NFSPROC3_CREATE:
		REC(CREATE3, {where, {GUARDED, {attr}}});
		break;
	case NFSPROC3_MKDIR:
		REC(MKDIR3, {where, attr});
		break;
	case NFSPROC3_SYMLINK:
		REC(SYMLINK3, {where, {attr, {6, "target"}}});
		break;
	case NFSPROC3_MKNOD:
		REC(MKNOD3, {where, {NF3FIFO, {.pipe_attributes = attr}}});
		break;
	case NFSPROC3_REMOVE:
		REC(REMOVE3, {where});
		break;
	case NFSPROC3_RMDIR:
		REC(RMDIR3, {where});
		break;
	case NFSPROC3_RENAME:
		REC(RENAME3, {where, other});
		break;
	case NFSPROC3_LINK:
		REC(LINK3, {*fh, other});
		break;
	case NFSPROC3_COMMIT:
		REC(COMMIT3, {*fh, 0, 0});
		break;
	default:
		queries(b, proc, fh);
	}
}

void
bed_any(struct bed *b, uint32_t proc, const nfs_fh3 *fh, const nfs_fh3 *fh2)
{
	changes(b, proc, fh, fh2);
}

mode_t
bed_kind(uint32_t proc)
{
	switch (proc) {
	case NFSPROC3_READ:
	case NFSPROC3_WRITE:
	case NFSPROC3_COMMIT:
		return S_IFREG;
	case NFSPROC3_READLINK:
		return S_IFLNK;
	case NFSPROC3_GETATTR:
	case NFSPROC3_SETATTR:
	case NFSPROC3_ACCESS:
	case NFSPROC3_LINK:
	case NFSPROC3_FSSTAT:
	case NFSPROC3_FSINFO:
	case NFSPROC3_PATHCONF:
		return 0;
	default:
		return S_IFDIR;
	}
}

int
bed_status(const struct bed *b)
{
	size_t off;

	if (bed_outcome(b, &off) != OUT_ACCEPTED + SUCCESS || b->reply.len < off + 4)
		return -1;
	return (int)bed_get32(b->reply.buf + off);
}
