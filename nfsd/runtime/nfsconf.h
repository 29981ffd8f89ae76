/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSCONF_H
#define NFSCONF_H
/*
 * nfs.conf(5): what an administrator of nfs-utils has written already, and this server goes by
 * where its command line says nothing. Read at the start, in this order, a later value before an
 * earlier one: /usr/etc/nfs.conf, /usr/etc/nfs.conf.d/NAME.conf, /etc/nfs.conf,
 * /etc/nfs.conf.d/NAME.conf.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct nfsconf_item {
	char *section, *name, *value;
	char *file;
	unsigned line;
};
struct nfsconf {
	struct nfsconf_item *v;
	size_t n;
};

/*
 * Reads the files beneath base ("" but for tests). A file or directory that is not there is no
 * error; false after one line on err for a file that cannot be read (with what to do), or without
 * memory. To be freed in any case.
 */
bool nfsconf_read(struct nfsconf *, const char *base, FILE *err);
/* The last value of a name (sections and names without case); NULL: none, or an empty one. $NAME
 * stands for a value of section [environment], or of the environment. */
const struct nfsconf_item *nfsconf_get(const struct nfsconf *, const char *section,
				       const char *name);
void nfsconf_free(struct nfsconf *);

#endif
