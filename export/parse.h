/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PARSE_H
#define PARSE_H
/*
 * The option lists of exports(5), as a state that several lists add to: those that begin with "-"
 * on a line, then the one in the client's parentheses.
 */
#include "diag.h"
#include "export.h"

/* What sec= lists can set for some flavors only (exports(5), nfs-utils NFSEXP_SECINFO_FLAGS). */
struct flags {
	bool rw, secure, root_squash, all_squash;
};

struct optparse {
	struct export_opts o; /* all but the flags */
	struct flags entry;   /* what flavors named later begin with */
	struct flags sys;     /* of AUTH_SYS, once a sec= named it */
	bool sec_given, sys_named;
	bool in_group, sys_in_group; /* after a sec= of this list; did that one name sys? */
	bool fsid_given, reexport_given;
	char *mountpoint; /* path of mountpoint=, to be freed; NULL: none */
};

/* exports(5) defaults. */
void optparse_init(struct optparse *);
/*
 * One list of n bytes (no NUL needed). at: the place of each byte and of the end; NULL: messages
 * name no place. False when anything in it is wrong; all that is wrong was added to the diag.
 */
bool optparse_list(struct optparse *, const char *text, size_t n, const char *file,
		   const struct spot *at, struct diag *);
/* The options of a caller that comes with AUTH_SYS. */
void optparse_result(const struct optparse *, struct export_opts *);
/* An independent copy; false without memory. */
bool optparse_copy(struct optparse *to, const struct optparse *from);
void optparse_free(struct optparse *);

/* One client (no parentheses); text is a string. Sets kind, named, addr, mask; leaves the rest.
 * What is allowed but odd is warned of. */
bool parse_client(const char *text, struct export_client *, const char *file, struct spot,
		  struct diag *);

#endif
