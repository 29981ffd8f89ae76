/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef XDR_VECTORS_H
#define XDR_VECTORS_H
/*
 * Arguments and results of every procedure, as values and as the bytes that RFC 1813 gives them,
 * written by hand: in hexadecimal, a space wherever it helps. `tail` is what the sender of the
 * reply appends to the encoded head (bulk data and its padding).
 */
#include "mount3.h"
#include "nfs3.h"

/* the tables below leave out what is zero */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct vector {
	const char *name;
	xdrproc_t xdr;
	size_t size; /* of the value */
	const void *value;
	const char *hex;  /* what encoding the value gives */
	const char *tail; /* NULL: nothing */
	int encode_only;  /* 1: directory lists, which a server never decodes */
};

/* the pieces: values, and their bytes */
/* clang-format off: it would spread every brace over a line of its own */
#define V_FH                                                                                       \
	{                                                                                          \
		.len = 5, .data = "abcde"                                                          \
	}
#define X_FH "00000005 6162636465 000000 "
#define V_FH2                                                                                      \
	{                                                                                          \
		.len = 4, .data = "wxyz"                                                           \
	}
#define X_FH2 "00000004 7778797a "
#define V_NAME                                                                                     \
	{                                                                                          \
		3, "foo"                                                                           \
	}
#define X_NAME "00000003 666f6f 00 "
#define V_WHERE                                                                                    \
	{                                                                                          \
		.dir = V_FH, .name = V_NAME                                                        \
	}
#define X_WHERE X_FH X_NAME
#define V_FATTR                                                                                    \
	{                                                                                          \
		.type = NF3DIR, .mode = 0755, .nlink = 2, .uid = 1000, .gid = 100,                 \
		.size = 0x100000002, .used = 4096, .rdev = {.specdata1 = 8, .specdata2 = 1},       \
		.fsid = 0x1122334455667788, .fileid = 42, .atime = {.seconds = 1, .nseconds = 2},  \
		.mtime = {3, 4}, .ctime = {                                                        \
			5,                                                                         \
			6                                                                          \
		}                                                                                  \
	}
#define X_FATTR                                                                                    \
	"00000002 000001ed 00000002 000003e8 00000064 0000000100000002 0000000000001000 "          \
	"00000008 00000001 1122334455667788 000000000000002a 00000001 00000002 "                   \
	"00000003 00000004 00000005 00000006 "
#define V_POST                                                                                     \
	{                                                                                          \
		.attributes_follow = TRUE, .post_op_attr_u.attributes = V_FATTR                    \
	}
#define X_POST "00000001 " X_FATTR
#define V_NOPOST                                                                                   \
	{                                                                                          \
		.attributes_follow = FALSE                                                         \
	}
#define X_NO "00000000 "
#define V_PRE                                                                                      \
	{                                                                                          \
		.attributes_follow = TRUE, .pre_op_attr_u.attributes = {                           \
			.size = 7,                                                                 \
			.mtime = {8, 9},                                                           \
			.ctime = {10, 11}                                                          \
		}                                                                                  \
	}
#define X_PRE "00000001 0000000000000007 00000008 00000009 0000000a 0000000b "
#define V_WCC                                                                                      \
	{                                                                                          \
		.before = V_PRE, .after = V_POST                                                   \
	}
#define X_WCC X_PRE X_POST
#define V_NOWCC                                                                                    \
	{                                                                                          \
		.before = {.attributes_follow = FALSE}, .after = V_POST                            \
	}
#define X_NOWCC X_NO X_POST
#define V_POSTFH                                                                                   \
	{                                                                                          \
		.handle_follows = TRUE, .post_op_fh3_u.handle = V_FH2                              \
	}
#define X_POSTFH "00000001 " X_FH2
#define V_SATTR                                                                                    \
	{                                                                                          \
		.mode = {TRUE, {0640}}, .uid = {TRUE, {7}}, .gid = {FALSE},                        \
		.size = {TRUE, {0x123456789}}, .atime = {SET_TO_SERVER_TIME}, .mtime = {           \
			SET_TO_CLIENT_TIME,                                                        \
			{{12, 13}}                                                                 \
		}                                                                                  \
	}
#define X_SATTR                                                                                    \
	"00000001 000001a0 00000001 00000007 00000000 00000001 0000000123456789 "                  \
	"00000001 00000002 0000000c 0000000d "
#define V_NOSATTR                                                                                  \
	{                                                                                          \
		.mode = { FALSE }                                                                  \
	}
#define X_NOSATTR "00000000 00000000 00000000 00000000 00000000 00000000 "
#define VERF                                                                                       \
	{                                                                                          \
		1, 2, 3, 4, 5, 6, 7, 8                                                             \
	}
#define X_VERF "0102030405060708 "
/* clang-format on */

#define VALUE(T, ...) (xdrproc_t) xdr_##T, sizeof(T), &(const T)__VA_ARGS__
#define ARGS(T, ...) #T "args", VALUE(T##args, {__VA_ARGS__})
#define OK(T, ...) #T "res ok", VALUE(T##res, {.status = NFS3_OK, .T##res_u.resok = {__VA_ARGS__}})
#define FAIL(T, st, ...)                                                                           \
#T "res " #st, VALUE(T##res, {.status = st, .T##res_u.resfail = {__VA_ARGS__}})

static const struct vector nfs_args[] = {
    {ARGS(GETATTR3, V_FH), X_FH},
    {ARGS(SETATTR3, V_FH, V_SATTR, {TRUE, {{14, 15}}}), X_FH X_SATTR "00000001 0000000e 0000000f"},
    {ARGS(SETATTR3, V_FH, V_NOSATTR, {FALSE}), X_FH X_NOSATTR X_NO},
    {ARGS(LOOKUP3, V_WHERE), X_WHERE},
    {ARGS(ACCESS3, V_FH, 0x3f), X_FH "0000003f"},
    {ARGS(READLINK3, V_FH), X_FH},
    {ARGS(READ3, V_FH, 0x100000000, 0x8000), X_FH "0000000100000000 00008000"},
    {ARGS(WRITE3, V_FH, 0x200000001, .count = 5, .stable = FILE_SYNC,
	  .data = {.len = 5, .base = "hello"}),
     X_FH "0000000200000001 00000005 00000002 00000005", "68656c6c6f 000000"},
    {ARGS(CREATE3, V_WHERE, {UNCHECKED, {V_SATTR}}), X_WHERE "00000000" X_SATTR},
    {ARGS(CREATE3, V_WHERE, {GUARDED, {V_NOSATTR}}), X_WHERE "00000001" X_NOSATTR},
    {ARGS(CREATE3, V_WHERE, {EXCLUSIVE, {.verf = VERF}}), X_WHERE "00000002" X_VERF},
    {ARGS(MKDIR3, V_WHERE, V_SATTR), X_WHERE X_SATTR},
    {ARGS(SYMLINK3, V_WHERE, {V_SATTR, {6, "../bar"}}),
     X_WHERE X_SATTR "00000006 2e2e2f626172 0000"},
    {ARGS(MKNOD3, V_WHERE, {NF3CHR, {.device = {V_SATTR, {1, 3}}}}),
     X_WHERE "00000004" X_SATTR "00000001 00000003"},
    {ARGS(MKNOD3, V_WHERE, {NF3BLK, {.device = {V_SATTR, {8, 0}}}}),
     X_WHERE "00000003" X_SATTR "00000008 00000000"},
    {ARGS(MKNOD3, V_WHERE, {NF3FIFO, {.pipe_attributes = V_SATTR}}), X_WHERE "00000007" X_SATTR},
    {ARGS(MKNOD3, V_WHERE, {NF3SOCK, {.pipe_attributes = V_SATTR}}), X_WHERE "00000006" X_SATTR},
    {ARGS(MKNOD3, V_WHERE, {NF3REG}), X_WHERE "00000001"},
    {ARGS(REMOVE3, V_WHERE), X_WHERE},
    {ARGS(RMDIR3, V_WHERE), X_WHERE},
    {ARGS(RENAME3, .from = V_WHERE, .to = {V_FH2, {4, "barr"}}), X_WHERE X_FH2 "00000004 62617272"},
    {ARGS(LINK3, V_FH2, V_WHERE), X_FH2 X_WHERE},
    {ARGS(READDIR3, V_FH, 0x1112131415161718, VERF, 4096),
     X_FH "1112131415161718" X_VERF "00001000"},
    {ARGS(READDIRPLUS3, V_FH, 0x1112131415161718, VERF, .dircount = 4096, .maxcount = 32768),
     X_FH "1112131415161718" X_VERF "00001000 00008000"},
    {ARGS(FSSTAT3, V_FH), X_FH},
    {ARGS(FSINFO3, V_FH), X_FH},
    {ARGS(PATHCONF3, V_FH), X_FH},
    {ARGS(COMMIT3, V_FH, 0x300000000, 0x10000), X_FH "0000000300000000 00010000"},
};

static const struct vector nfs_res[] = {
    {OK(GETATTR3, V_FATTR), X_NO X_FATTR},
    {"GETATTR3res STALE", VALUE(GETATTR3res, {.status = NFS3ERR_STALE}), "00000046"},
    {OK(SETATTR3, V_WCC), X_NO X_WCC},
    {FAIL(SETATTR3, NFS3ERR_NOT_SYNC, V_WCC), "00002712" X_WCC},
    {OK(LOOKUP3, V_FH2, .obj_attributes = V_POST, .dir_attributes = V_NOPOST),
     X_NO X_FH2 X_POST X_NO},
    {FAIL(LOOKUP3, NFS3ERR_NOENT, V_POST), "00000002" X_POST},
    {OK(ACCESS3, V_POST, 0x2d), X_NO X_POST "0000002d"},
    {FAIL(ACCESS3, NFS3ERR_BADHANDLE, V_NOPOST), "00002711" X_NO},
    {OK(READLINK3, V_POST, {6, "../bar"}), X_NO X_POST "00000006 2e2e2f626172 0000"},
    {FAIL(READLINK3, NFS3ERR_INVAL, V_POST), "00000016" X_POST},
    {OK(READ3, V_POST, 6, TRUE, {.len = 6, .fd = 3, .off = 12}),
     X_NO X_POST "00000006 00000001 00000006", "646174616461 0000"},
    {FAIL(READ3, NFS3ERR_IO, V_POST), "00000005" X_POST},
    {OK(WRITE3, V_WCC, 5, FILE_SYNC, VERF), X_NO X_WCC "00000005 00000002" X_VERF},
    {FAIL(WRITE3, NFS3ERR_NOSPC, V_WCC), "0000001c" X_WCC},
    {OK(CREATE3, V_POSTFH, V_POST, V_WCC), X_NO X_POSTFH X_POST X_WCC},
    {FAIL(CREATE3, NFS3ERR_EXIST, V_WCC), "00000011" X_WCC},
    {OK(MKDIR3, V_POSTFH, V_POST, V_WCC), X_NO X_POSTFH X_POST X_WCC},
    {FAIL(MKDIR3, NFS3ERR_ROFS, V_WCC), "0000001e" X_WCC},
    {OK(SYMLINK3, {FALSE}, V_NOPOST, V_NOWCC), X_NO X_NO X_NO X_NOWCC},
    {FAIL(SYMLINK3, NFS3ERR_NAMETOOLONG, V_WCC), "0000003f" X_WCC},
    {OK(MKNOD3, V_POSTFH, V_POST, V_WCC), X_NO X_POSTFH X_POST X_WCC},
    {FAIL(MKNOD3, NFS3ERR_BADTYPE, V_WCC), "00002717" X_WCC},
    {OK(REMOVE3, V_WCC), X_NO X_WCC},
    {FAIL(REMOVE3, NFS3ERR_ACCES, V_WCC), "0000000d" X_WCC},
    {OK(RMDIR3, V_WCC), X_NO X_WCC},
    {FAIL(RMDIR3, NFS3ERR_NOTEMPTY, V_WCC), "00000042" X_WCC},
    {OK(RENAME3, .fromdir_wcc = V_WCC, .todir_wcc = V_NOWCC), X_NO X_WCC X_NOWCC},
    {FAIL(RENAME3, NFS3ERR_XDEV, .fromdir_wcc = V_NOWCC, .todir_wcc = V_WCC),
     "00000012" X_NOWCC X_WCC},
    {OK(LINK3, V_POST, V_WCC), X_NO X_POST X_WCC},
    {FAIL(LINK3, NFS3ERR_MLINK, V_POST, V_WCC), "0000001f" X_POST X_WCC},
    {OK(READDIR3, V_POST, VERF, {.len = 8, .base = ""}), X_NO X_POST X_VERF, NULL, 1},
    {FAIL(READDIR3, NFS3ERR_BAD_COOKIE, V_POST), "00002713" X_POST},
    {OK(READDIRPLUS3, V_POST, VERF, {.len = 8, .base = ""}), X_NO X_POST X_VERF, NULL, 1},
    {FAIL(READDIRPLUS3, NFS3ERR_TOOSMALL, V_POST), "00002715" X_POST},
    {OK(FSSTAT3, V_POST, .tbytes = 1, .fbytes = 2, .abytes = 3, .tfiles = 4, .ffiles = 5,
	.afiles = 0x600000007, .invarsec = 8),
     X_NO X_POST "0000000000000001 0000000000000002 0000000000000003 0000000000000004 "
		 "0000000000000005 0000000600000007 00000008"},
    {FAIL(FSSTAT3, NFS3ERR_JUKEBOX, V_POST), "00002718" X_POST},
    {OK(FSINFO3, V_POST, .rtmax = 1, .rtpref = 2, .rtmult = 3, .wtmax = 4, .wtpref = 5, .wtmult = 6,
	.dtpref = 7, .maxfilesize = 0x7fffffffffffffff, .time_delta = {0, 1}, .properties = 0x1b),
     X_NO X_POST "00000001 00000002 00000003 00000004 00000005 00000006 00000007 "
		 "7fffffffffffffff 00000000 00000001 0000001b"},
    {FAIL(FSINFO3, NFS3ERR_SERVERFAULT, V_POST), "00002716" X_POST},
    {OK(PATHCONF3, V_POST, .linkmax = 32000, .name_max = 255, .no_trunc = TRUE,
	.chown_restricted = TRUE, .case_insensitive = FALSE, .case_preserving = TRUE),
     X_NO X_POST "00007d00 000000ff 00000001 00000001 00000000 00000001"},
    {FAIL(PATHCONF3, NFS3ERR_NOTSUPP, V_POST), "00002714" X_POST},
    {OK(COMMIT3, V_WCC, VERF), X_NO X_WCC X_VERF},
    {FAIL(COMMIT3, NFS3ERR_DQUOT, V_WCC), "00000045" X_WCC},
};

#define FH32 "0123456789abcdef0123456789abcdef"
#define X_FH32 "30313233343536373839616263646566 30313233343536373839616263646566"
static int flavors[] = {1, 0};

/* MOUNT: the argument of MNT, UMNT and PATHCONF, then the results of MNT (1 and 2, then 3),
 * PATHCONF, DUMP and EXPORT */
static const struct vector mount_args[] = {
    {"dirpath", VALUE(dirpath, {5, "/data"}), "00000005 2f64617461 000000"},
};
static const struct vector mount_res[] = {
    {"fhstatus ok", VALUE(fhstatus, {.fhs_status = 0, .fhstatus_u.fhs_fhandle = FH32}),
     "00000000" X_FH32},
    {"fhstatus EACCES", VALUE(fhstatus, {.fhs_status = 13}), "0000000d"},
    {"mountres3 ok",
     VALUE(mountres3, {.mountres3_u.mountinfo = {.fhandle = V_FH, .auth_flavors = {2, flavors}}}),
     "00000000" X_FH "00000002 00000001 00000000"},
    {"mountres3 ACCES", VALUE(mountres3, {.fhs_status = MNT3ERR_ACCES}), "0000000d"},
    {"mountres3 NAMETOOLONG", VALUE(mountres3, {.fhs_status = MNT3ERR_NAMETOOLONG}), "0000003f"},
    {"ppathcnf",
     VALUE(ppathcnf, {.pc_link_max = 1,
		      .pc_max_canon = 2,
		      .pc_max_input = 3,
		      .pc_name_max = 4,
		      .pc_path_max = 5,
		      .pc_pipe_buf = 6,
		      .pc_vdisable = 7,
		      .pc_mask = {8, -1}}),
     "00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000000 00000008 ffffffff"},
    {"mountlist", VALUE(mountlist, {.len = 4, .base = ""}), "", NULL, 1},
    {"exports", VALUE(exports, {.len = 4, .base = ""}), "", NULL, 1},
};

#endif
