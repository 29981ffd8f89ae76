/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * To become a user means three things: groups, then fsgid, then fsuid. fsuid comes last on the way
 * out (it takes the file capabilities with it) and first on the way back (it returns them), so that
 * between any two calls the thread has at most the rights of the caller, or those of the server
 * with the caller's groups, and no file is touched in between.
 *
 * setfsuid(2) reports no error; it answers with the former id. Asking for -1 changes nothing and so
 * reads the present one: every switch is verified that way. All three can fail for lack of memory
 * only. On the way out that is an error of the call; on the way back it is tried again, and a
 * thread that cannot come back must not go on serving others: the process ends.
 *
 * setfsuid(2) knows no user and group -1: those are refused here, before anything is changed.
 *
 * The self-test exists because capabilities follow fsuid only when fsuid leaves 0: a service that
 * runs under User= with ambient CAP_DAC_OVERRIDE would pass every check as every caller.
 */
#include "ident.h"
#include "idmap.h"
#include "log.h"
#include "stat.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(gid_t) == 4, "the raw setgroups call takes 32-bit ids");

#define NOBODY 65534
#define TRIES_BACK 1000

/* Is this thread away from its resting identity? */
static _Thread_local bool away;

static const cap_value_t caps_files[] = {CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_CHOWN,
					 CAP_FOWNER,	      CAP_FSETID,	CAP_MKNOD,
					 CAP_SETUID,	      CAP_SETGID};
/* wanted until the exports have been made and the sockets are bound */
static const cap_value_t caps_start[] = {CAP_SYS_ADMIN, CAP_NET_BIND_SERVICE};
/* Never effective while files are touched, or callers would pass quota and reserved blocks: raised
 * for a moment to make a pipe (ident_pipes), which no file has to do with. */
static const cap_value_t caps_asleep[] = {CAP_SYS_RESOURCE};

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

static int
fail(int error, char *err, size_t errlen, const char *what, const char *remedy)
{
	snprintf(err, errlen, "%s: %s; %s", what, strerror(error), remedy);
	return error;
}

/* Of v, those that the process has become permitted (and, if wanted, effective) in caps. */
static int
keep(cap_t caps, cap_t had, const cap_value_t *v, int n, bool effective)
{
	for (int i = 0; i < n; i++) {
		cap_flag_value_t on;

		if (cap_get_flag(had, v[i], CAP_PERMITTED, &on) != 0)
			return -1;
		if (on != CAP_SET)
			continue;
		if (cap_set_flag(caps, CAP_PERMITTED, 1, &v[i], CAP_SET) != 0 ||
		    (effective && cap_set_flag(caps, CAP_EFFECTIVE, 1, &v[i], CAP_SET) != 0))
			return -1;
	}
	return 0;
}

/* Leaves this thread the file capabilities, and at start what starting needs. */
static int
narrow(bool starting, char *err, size_t errlen)
{
	cap_t had = cap_get_proc(), caps = cap_init();
	int error = 0;

	if (!had || !caps || keep(caps, had, caps_files, COUNT(caps_files), true) != 0 ||
	    keep(caps, had, caps_asleep, COUNT(caps_asleep), false) != 0 ||
	    (starting && keep(caps, had, caps_start, COUNT(caps_start), true) != 0) ||
	    cap_set_proc(caps) != 0)
		error = fail(errno, err, errlen, "cannot narrow the capabilities",
			     "a security module may forbid capset(2)");
	cap_free(had);
	cap_free(caps);
	return error;
}

static bool
have(cap_value_t cap)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t on = CAP_CLEAR;

	if (caps)
		cap_get_flag(caps, cap, CAP_EFFECTIVE, &on);
	cap_free(caps);
	return on == CAP_SET;
}

bool
ident_pipes(bool on)
{
	cap_t caps = cap_get_proc();
	bool yes = !away && caps &&
		   cap_set_flag(caps, CAP_EFFECTIVE, COUNT(caps_asleep), caps_asleep,
				on ? CAP_SET : CAP_CLEAR) == 0 &&
		   cap_set_proc(caps) == 0;

	cap_free(caps);
	return yes;
}

/* ---- the switch ---- */

static bool
set_fsuid(uid_t uid)
{
	syscall(SYS_setfsuid, uid);
	return (uid_t)syscall(SYS_setfsuid, (uid_t)-1) == uid;
}

static bool
set_fsgid(gid_t gid)
{
	syscall(SYS_setfsgid, gid);
	return (gid_t)syscall(SYS_setfsgid, (gid_t)-1) == gid;
}

static bool
set_groups(const struct cred *c)
{
	if (c->more)
		return syscall(SYS_setgroups, (size_t)c->more->n, c->more->v) == 0;
	return syscall(SYS_setgroups, (size_t)c->ngroups, c->groups) == 0;
}

static bool
rest(const struct ident *id)
{
	return set_fsuid(id->self_uid) && set_fsgid(id->self_gid) &&
	       syscall(SYS_setgroups, (size_t)0, NULL) == 0;
}

static void
come_back(const struct ident *id)
{
	for (int i = 0; i < TRIES_BACK; i++) {
		if (rest(id)) {
			away = false;
			return;
		}
		sched_yield();
	}
	log_error("a thread cannot return from a caller's identity (%s); ending, since it "
		  "would serve others under it",
		  strerror(errno));
	abort();
}

static bool
is_self(const struct ident *id, const struct cred *c)
{
	return c->uid == id->self_uid && c->gid == id->self_gid && c->ngroups == 0 && !c->more;
}

int
ident_begin(const struct ident *id, const struct cred *c)
{
	if (c->uid == (uid_t)-1 || c->gid == (gid_t)-1 || c->ngroups > CRED_GROUPS_MAX)
		return EPERM;
	if (!id->can_switch)
		return c->uid == id->self_uid ? 0 : EPERM;
	if (is_self(id, c))
		return 0;
	away = true;
	stat_inc(ST_ID_SWITCHES);
	if (set_groups(c) && set_fsgid(c->gid) && set_fsuid(c->uid))
		return 0;
	int error = errno == ENOMEM ? ENOMEM : EPERM;
	come_back(id);
	return error;
}

void
ident_end(const struct ident *id)
{
	if (away)
		come_back(id);
}

bool
ident_may_act(const struct ident *id, uid_t claimed_uid, bool all_squash)
{
	return id->can_switch || all_squash || claimed_uid == 0 || claimed_uid == id->self_uid;
}

/* ---- the self-test ---- */

/* A nameless file of mode 0000 in dir; -1 with errno. */
static int
make_locked_file(const char *dir)
{
	char path[4096];
	int n = snprintf(path, sizeof path, "%s/.spliced-test-XXXXXX", dir);

	if (n < 0 || (size_t)n >= sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -1;
	int bad = fchmod(fd, 0) != 0;
	if (unlink(path) != 0 || bad) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Can this thread open what fd names anew? Through /proc, so that only the file itself is asked. */
static bool
opens(int fd)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int again = open(path, O_RDONLY | O_CLOEXEC);
	if (again >= 0)
		close(again);
	return again >= 0;
}

/* As nobody (or as the server's own user): 0000 must not open, 0444 must. */
static int
test_bracket(const struct ident *id, int fd, char *err, size_t errlen)
{
	struct cred c = {.uid = NOBODY, .gid = NOBODY};
	bool locked_opened, free_opened;

	if (!id->can_switch)
		c = (struct cred){.uid = id->self_uid, .gid = id->self_gid};
	int error = ident_begin(id, &c);
	if (error)
		return fail(error, err, errlen, "cannot act as another user",
			    "grant CAP_SETUID and CAP_SETGID (a user namespace must have user "
			    "and group 65534, too), or run as an ordinary user");
	locked_opened = opens(fd);
	ident_end(id);
	if (locked_opened)
		return fail(EPERM, err, errlen,
			    "self-test: a file of mode 0000 opened under a caller's identity, so "
			    "permissions would not hold",
			    "run as root (limit it by CapabilityBoundingSet=) or as an ordinary "
			    "user without ambient or file capabilities");
	if (fchmod(fd, 0444) != 0)
		return fail(errno, err, errlen, "self-test: cannot change the mode of a file",
			    "the state directory needs a file system with permissions");
	error = ident_begin(id, &c);
	if (error)
		return fail(error, err, errlen, "self-test: cannot act as another user again",
			    "memory may be short");
	free_opened = opens(fd);
	ident_end(id);
	if (!free_opened)
		return fail(EPERM, err, errlen,
			    "self-test: a file of mode 0444 did not open under a caller's identity",
			    "is /proc mounted?");
	return 0;
}

static int
self_test(const struct ident *id, const char *statedir, char *err, size_t errlen)
{
	int fd = make_locked_file(statedir);

	if (fd < 0) {
		int error = errno;

		snprintf(err, errlen,
			 "self-test: cannot make a file in the state directory %s: %s; give a "
			 "writable directory with -s",
			 statedir, strerror(error));
		return error;
	}
	int error = test_bracket(id, fd, err, errlen);
	close(fd);
	return error;
}

int
ident_init(struct ident *id, const char *statedir, char *err, size_t errlen)
{
	int error;

	umask(0);
	*id = (struct ident){.self_uid = geteuid(), .self_gid = getegid()};
	id->can_switch = id->self_uid == 0 && have(CAP_SETUID) && have(CAP_SETGID);
	if (id->self_uid == 0 && !id->can_switch)
		return fail(EPERM, err, errlen,
			    "running as root without CAP_SETUID and CAP_SETGID, so callers could "
			    "not be told apart",
			    "grant both, or run as an ordinary user");
	if (id->can_switch && setgroups(0, NULL) != 0)
		return fail(errno, err, errlen, "cannot drop the supplementary groups",
			    "the user namespace may deny setgroups(2)");
	error = narrow(true, err, errlen);
	if (!error)
		error = self_test(id, statedir, err, errlen);
	if (!error && id->can_switch)
		idmap_warn();
	return error;
}

int
ident_narrow(struct ident *id, char *err, size_t errlen)
{
	(void)id;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return fail(errno, err, errlen, "prctl(PR_SET_NO_NEW_PRIVS)",
			    "this kernel is older than 3.5");
	return narrow(false, err, errlen);
}
