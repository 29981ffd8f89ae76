/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IDENT_H
#define IDENT_H
/*
 * Being a user: the only file that changes identity. A thread rests as the server;
 * ident_begin()/ident_end() bracket the few calls that must be made as the caller (permission
 * checks, later WRITE and name-space verbs), with raw per-thread system calls (glibc's wrappers
 * change every thread). Inside the bracket the effective capabilities for files are gone (the
 * kernel drops them when fsuid leaves 0, capabilities(7)), so open_by_handle_at and cachestat do
 * not belong there.
 */
#include "cred.h"
#include <stdbool.h>
#include <stddef.h>

struct ident {
	bool can_switch; /* root with CAP_SETUID/SETGID; else the server acts as its own user */
	uid_t self_uid;
	gid_t self_gid;
};

/*
 * At start, before any thread is made: decides can_switch, drops supplementary groups, sets umask
 * 0, narrows capabilities to what is needed (CAP_SYS_RESOURCE leaves the effective set, so that
 * quota and reserved blocks bind callers), and tests itself: becomes nobody and must fail to open a
 * 0000 file made in statedir, which must then open when it is 0444. A server with a user of its own
 * must fail likewise (under ambient or file capabilities it would not). 0, or errno with a message.
 *
 * Changing fsuid makes the process undumpable (prctl(2), PR_SET_DUMPABLE): no core files.
 */
int ident_init(struct ident *, const char *statedir, char *err, size_t errlen);
/*
 * Narrow further when exports have been made: CAP_SYS_ADMIN and CAP_NET_BIND_SERVICE go for good,
 * and execve(2) gains nothing. Capabilities belong to a thread:
 * this one and those made afterwards. The thread that makes exports (runtime/reload.c) is started
 * before, because a later export needs its mount cloned, too.
 */
int ident_narrow(struct ident *, char *err, size_t errlen);

/*
 * Wakes (or puts to sleep again) CAP_SYS_RESOURCE on this thread, around the making of a pipe and
 * nothing else; outside the bracket. It lifts the limits on a user's pipes (pipe(7)). False, and
 * nothing has changed: the server was not given it.
 */
bool ident_pipes(bool on);

/*
 * Becomes the caller on this thread; 0, or EPERM for an unprivileged server when the caller is not
 * its own user (nor squashed to it) or the ids cannot be had (-1), ENOMEM. Every success is
 * followed by ident_end(); brackets do not nest. A cheap no-op when the server is already that
 * user.
 */
int ident_begin(const struct ident *, const struct cred *);
/* Back to the server. Cannot fail: a thread that cannot come back ends the process. */
void ident_end(const struct ident *);

/*
 * The rule of the unprivileged server: may this caller act at all? uid equal to the server's or 0
 * (then squashed to the server), or all_squash. Always true when can_switch.
 */
bool ident_may_act(const struct ident *, uid_t claimed_uid, bool all_squash);

#endif
