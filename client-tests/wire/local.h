/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LOCAL_H
#define LOCAL_H
/*
 * The local kernel as the yardstick of permissions: a small tree, and a process that really is some
 * user, doing one thing to it by system calls on what it was given open, as a handle is. The
 * numbers of errno and of NFS's statuses are the same for all that can happen here.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { OWNER = 1111, GROUP = 2222, OTHER = 3333, NOBODY = 65534 };

struct caller {
	uint32_t uid, gid, group; /* group 0: none */
};

enum kind { K_FILE, K_DIR, K_LINK, K_FIFO, KINDS };

/* Modes of the object, and of the directory that names are made in. All is OWNER's and GROUP's. */
struct modes {
	mode_t obj, into;
};

enum op {
	GETATTR,
	CHMOD,
	CHOWN,
	CHGRP,
	SIZE,
	NOW,
	THEN,
	LOOKUP,
	ACCESS,
	READLINK,
	READ,
	WRITE,
	CREATE,
	UNCHECK,
	EXCL,
	MKDIR,
	SYMLINK,
	FIFO,
	DEVICE,
	REMOVE,
	RMDIR,
	RENAME,
	LINK,
	READDIR,
	READPLUS,
	FSSTAT,
	FSINFO,
	PATHCONF,
	COMMIT,
	OPS
};

struct outcome {
	int error;
	uint32_t access;
	char tree[4096];
};

/* 0, or the end of the program. */
void local_must(int rc);
/* A tree at base: "o" of this kind, and "into", a directory; both and a directory o hold a "file"
 * and an empty "sub". */
void local_plant(const char *base, enum kind, const struct modes *);
void local_uproot(const char *base);
/* Everything of it that can be seen, as text; at: where to go on. */
size_t local_describe(const char *dir, char *text, size_t at, size_t size);
/* Does it to the tree at base, names in o, or into "into". out is shared with children. */
void local_try(const char *base, enum op, enum kind, const struct caller *, struct outcome *out);

#endif
