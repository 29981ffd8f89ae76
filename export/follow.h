/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FOLLOW_H
#define FOLLOW_H
/*
 * Handles follow what is done to names through this server: what a creation, rename, link or
 * removal means to the store. Kernel handles follow by themselves, only the memory of names is
 * told; for serials the calls return when the rows are on stable storage. They may sleep. Of a
 * store that cannot be written (ENOSPC, EIO) only who makes something hears, who can undo it;
 * whatever else was done is done, and the store owes it to its disk (store_follow).
 */
#include "resolve.h"
#include "store.h"

/* Where something is or was: a name in a directory. */
struct place {
	const struct handle *dir;
	uint64_t dir_ino;
	const char *name;
	size_t len;
};

/* An object before the change. */
struct follow {
	bool known; /* a client may have its handle, which is: */
	struct handle handle;
	uint64_t serial; /* 0: a kernel handle */
	struct store_ident id;
};

/* Who is that, behind fd (O_PATH)? Issues nothing. */
void follow_look(const struct resolve *, const struct export *, int fd, const struct stat *,
		 const struct place *, struct follow *);
/* The handle of what was just made there (resolve_name, for an object that nobody knew before). */
int follow_made(const struct resolve *, const struct export *, int fd, const struct stat *,
		const struct place *, struct handle *);
/* who (fd) went from one place to another, where over was; over NULL: nothing was there. over_gone:
 * that was its last name. */
void follow_moved(const struct resolve *, const struct export *, const struct follow *who, int fd,
		  const struct stat *, const struct place *from, const struct place *to,
		  const struct follow *over, bool over_gone);
/* The object of a handle (fd) is also there now. */
void follow_linked(const struct resolve *, const struct export *, const struct handle *, int fd,
		   const struct stat *, const struct place *);
void follow_removed(const struct resolve *, const struct export *, const struct follow *who,
		    const struct place *, bool gone);
/* The identity under which the verifier of an exclusive creation is kept: of what is at this place,
 * or (at NULL) of the object of this handle. */
int follow_ident(const struct resolve *, const struct export *, int fd, const struct place *at,
		 const struct handle *, struct store_ident *);

#endif
