/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMODMAKE_H
#define VMODMAKE_H
/* How something is made: what vmodmake.c (any object) and vmodcreate.c (files, exclusively too)
 * share. */
#include "vmodint.h"

#define MODE_FILE 0600
#define MODE_DIR 0700

/* One making under way. All but the text and the descriptors is the verb's to fill. */
struct making {
	const struct vfs_ctx *ctx;
	struct obj *dir;
	char text[NAME_MAX + 1];
	struct vmod_attrs a;
	mode_t type, mode;
	dev_t dev;		       /* MKNOD */
	const char *link;	       /* SYMLINK */
	const unsigned char *verifier; /* EXCLUSIVE */
	int fd;			       /* a file's, open for writing; else -1 */
	int spare; /* a descriptor kept free, to open what was made: it must not fail for that */
	struct vmod_made *made;
	struct vmod_wcc *w;
};

/* In this order: begin and end always, finish when the name is there. */
int making_begin(struct making *, const char *name, size_t len);
/* Makes it by its name, as the caller. */
int making_named(struct making *);
/* Attributes, handle, object, disk; undone when that fails. */
int making_finish(struct making *, enum sync_verb);
int making_end(struct making *, int error);

/* The object of fd (taken over), with m->fd as its descriptor for writing. fresh: nobody has known
 * it before. */
int making_adopt(struct making *, int fd, bool fresh);
/* After this error: takes the name away again, if it still leads to this. The error to tell. */
int making_undo(struct making *, const struct stat *, int error);
/* How a new file is opened. */
int making_flags(const struct making *);
mode_t making_mode(const struct vmod_attrs *, mode_t otherwise);
void making_let_go(int *fd);

#endif
