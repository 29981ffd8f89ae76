/* SPDX-License-Identifier: BSD-2-Clause */
#include "box.h"
#include "check.h"
#include "stat.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct ident id;
static char err[512];

static void
begin_server(void)
{
	int error = ident_init(&id, BOX, err, sizeof err);

	if (error)
		box_die(__FILE__, __LINE__, err);
	WANT(id.can_switch);
}

/* A line of this thread's /proc status. */
static void
status(const char *name, char *line, size_t size)
{
	FILE *f = fopen("/proc/thread-self/status", "r");

	MUST(f);
	while (fgets(line, (int)size, f))
		if (strncmp(line, name, strlen(name)) == 0)
			break;
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
}

static unsigned
fs_id(const char *name)
{
	char line[256];
	unsigned r, e, s, f = 0;

	status(name, line, sizeof line);
	MUST(sscanf(line + strlen(name), "%u %u %u %u", &r, &e, &s, &f) == 4);
	return f;
}

static bool
can_open(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool
effective(cap_value_t cap)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t on = CAP_CLEAR;

	cap_get_flag(caps, cap, CAP_EFFECTIVE, &on);
	cap_free(caps);
	return on == CAP_SET;
}

static void
as_nobody(void)
{
	struct cred c = box_cred(65534, 65534, 0, NULL);
	char line[256];

	begin_server();
	box_file(BOX "/secret", 10, 0600);
	box_file(BOX "/free", 10, 0644);
	WANT_EQ(ident_begin(&id, &c), 0);
	WANT_EQ(fs_id("Uid:"), 65534);
	WANT_EQ(fs_id("Gid:"), 65534);
	WANT(!can_open(BOX "/secret"));
	WANT(can_open(BOX "/free"));
	WANT(!effective(CAP_DAC_OVERRIDE) && !effective(CAP_DAC_READ_SEARCH));
	ident_end(&id);
	WANT_EQ(fs_id("Uid:"), 0);
	WANT_EQ(fs_id("Gid:"), 0);
	status("Groups:", line, sizeof line);
	WANT_EQ(strspn(line + 7, " \t"), strlen(line + 7));
	WANT(can_open(BOX "/secret"));
	WANT(effective(CAP_DAC_OVERRIDE) && effective(CAP_DAC_READ_SEARCH));
}

/* In the bracket a thread has the caller's ids and rights and no file capability; after it the
 * server's, with no group left behind. */
TEST(ident, bracket)
{
	BOXED(as_nobody);
}

static void
groups_count(void)
{
	gid_t many[CRED_GROUPS_MAX], one = 1000;
	struct cred c = box_cred(1000, 1000, 1, &one), last;

	for (int i = 0; i < CRED_GROUPS_MAX; i++)
		many[i] = (gid_t)(2000 + i);
	last = box_cred(1000, 1000, CRED_GROUPS_MAX, many);
	MUST(setgroups(1, &(gid_t){1}) == 0);
	begin_server();
	box_file(BOX "/daemon", 10, 0660);
	MUST(chown(BOX "/daemon", 0, 1) == 0);
	box_file(BOX "/last", 10, 0660);
	MUST(chown(BOX "/last", 0, 2000 + CRED_GROUPS_MAX - 1) == 0);
	WANT_EQ(ident_begin(&id, &c), 0);
	WANT(!can_open(BOX "/daemon"));
	WANT(!can_open(BOX "/last"));
	ident_end(&id);
	WANT_EQ(ident_begin(&id, &last), 0);
	WANT(can_open(BOX "/last"));
	WANT(!can_open(BOX "/daemon"));
	ident_end(&id);
}

/* The caller's group list counts to its 16th entry, and the groups that the server was started with
 * count for nobody. */
TEST(ident, groups)
{
	BOXED(groups_count);
}

static pthread_barrier_t both;

static void *
look_around(void *arg)
{
	unsigned *seen = arg;

	pthread_barrier_wait(&both);
	*seen = fs_id("Uid:");
	WANT(can_open(BOX "/secret"));
	return NULL;
}

static void
one_thread(void)
{
	struct cred c = box_cred(1234, 1234, 0, NULL);
	unsigned other = 99;
	pthread_t t;

	begin_server();
	box_file(BOX "/secret", 10, 0600);
	MUST(pthread_barrier_init(&both, NULL, 2) == 0);
	MUST(pthread_create(&t, NULL, look_around, &other) == 0);
	WANT_EQ(ident_begin(&id, &c), 0);
	pthread_barrier_wait(&both);
	MUST(pthread_join(t, NULL) == 0);
	WANT_EQ(fs_id("Uid:"), 1234);
	ident_end(&id);
	WANT_EQ(other, 0);
}

/* Becoming a user changes the calling thread only. */
TEST(ident, one_thread)
{
	BOXED(one_thread);
}

static void
refusals(void)
{
	struct cred c = box_cred(5, 5, 0, NULL);

	begin_server();
	uint64_t before = stat_self()->count[ST_ID_SWITCHES];
	c.uid = (uid_t)-1;
	WANT_EQ(ident_begin(&id, &c), EPERM);
	c.uid = 5, c.gid = (gid_t)-1;
	WANT_EQ(ident_begin(&id, &c), EPERM);
	c.gid = 5, c.ngroups = CRED_GROUPS_MAX + 1;
	WANT_EQ(ident_begin(&id, &c), EPERM);
	c.ngroups = 1, c.groups[0] = (gid_t)-1;
	WANT_EQ(ident_begin(&id, &c), EPERM);
	WANT_EQ(fs_id("Uid:"), 0);
	WANT_EQ(fs_id("Gid:"), 0);
	c = box_cred(0, 0, 0, NULL);
	uint64_t then = stat_self()->count[ST_ID_SWITCHES];
	WANT_EQ(ident_begin(&id, &c), 0);
	ident_end(&id);
	WANT_EQ(stat_self()->count[ST_ID_SWITCHES], then);
	c = box_cred(7, 0, 0, NULL);
	WANT_EQ(ident_begin(&id, &c), 0);
	ident_end(&id);
	WANT_EQ(stat_self()->count[ST_ID_SWITCHES], then + 1);
	WANT(then >= before);
}

/* Ids that the kernel cannot hold are refused and leave the thread the server; being oneself costs
 * no switch, being another costs one. */
TEST(ident, refusals_and_counting)
{
	BOXED(refusals);
}

static void
narrowing(void)
{
	struct k_cachestat cs;

	umask(077);
	begin_server();
	WANT_EQ(umask(0), 0);
	WANT(!effective(CAP_SYS_RESOURCE));
	WANT(!effective(CAP_SYS_PTRACE));
	WANT(effective(CAP_SYS_ADMIN));
	WANT_EQ(ident_narrow(&id, err, sizeof err), 0);
	WANT(!effective(CAP_SYS_ADMIN));
	WANT(effective(CAP_DAC_READ_SEARCH) && effective(CAP_SETUID));
	struct cred c = box_cred(5, 5, 0, NULL);
	WANT_EQ(ident_begin(&id, &c), 0);
	ident_end(&id);
	WANT(!effective(CAP_SYS_RESOURCE) && !effective(CAP_LINUX_IMMUTABLE));
	box_file(BOX "/other", 5000, 0600);
	MUST(chown(BOX "/other", 1000, 1000) == 0);
	int fd = open(BOX "/other", O_RDONLY);
	MUST(fd >= 0);
	if (k_cachestat(fd, 0, 0, &cs) != 0)
		WANT_EQ(errno, ENOSYS);
}

/* What is kept is what serving needs (cachestat of another's file included), nothing comes back
 * with the identity, and files get the modes that callers ask for. */
TEST(ident, narrowing)
{
	BOXED(narrowing);
}

static void
ordinary_user(void)
{
	struct cred self = box_cred(1000, 1000, 0, NULL), other = box_cred(1001, 1000, 0, NULL);

	MUST(chown(BOX, 1000, 1000) == 0);
	MUST(setgroups(0, NULL) == 0 && setresgid(1000, 1000, 1000) == 0 &&
	     setresuid(1000, 1000, 1000) == 0);
	WANT_EQ(ident_init(&id, BOX, err, sizeof err), 0);
	WANT(!id.can_switch);
	WANT_EQ(id.self_uid, 1000);
	WANT(ident_may_act(&id, 1000, false) && ident_may_act(&id, 0, false));
	WANT(!ident_may_act(&id, 1001, false) && ident_may_act(&id, 1001, true));
	WANT_EQ(ident_begin(&id, &self), 0);
	ident_end(&id);
	WANT_EQ(ident_begin(&id, &other), EPERM);
	WANT_EQ(ident_narrow(&id, err, sizeof err), 0);
}

/* A server that is an ordinary user acts as itself for itself (and root, squashed to it), for
 * others only under all_squash. */
TEST(ident, ordinary_user)
{
	BOXED(ordinary_user);
}

static void
ambient(void)
{
	MUST(chown(BOX, 1000, 1000) == 0);
	MUST(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setresgid(1000, 1000, 1000) == 0 &&
	     setresuid(1000, 1000, 1000) == 0);
	cap_t caps = cap_from_text("cap_dac_override,cap_setuid,cap_setgid=eip");
	MUST(caps && cap_set_proc(caps) == 0 && cap_set_ambient(CAP_DAC_OVERRIDE, CAP_SET) == 0);
	cap_free(caps);
	WANT_EQ(ident_init(&id, BOX, err, sizeof err), EPERM);
	WANT(strstr(err, "0000") != NULL);
}

/* A service of an ordinary user with file capabilities is refused: they would pass every check. */
TEST(ident, ambient_capabilities)
{
	BOXED(ambient);
}

static void
no_fixup(void)
{
	MUST(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) == 0);
	WANT_EQ(ident_init(&id, BOX, err, sizeof err), EPERM);
	WANT(strstr(err, "0000") != NULL);
}

/* Root whose capabilities do not follow fsuid (securebits) is refused by the self-test. */
TEST(ident, no_fixup)
{
	BOXED(no_fixup);
}

static void
half_root(void)
{
	cap_t caps = cap_from_text("cap_dac_override,cap_setgid=ep");

	MUST(caps && cap_set_proc(caps) == 0);
	cap_free(caps);
	WANT_EQ(ident_init(&id, BOX, err, sizeof err), EPERM);
	WANT(strstr(err, "CAP_SETUID") != NULL);
}

/* Root that cannot become another user is refused, with the remedy. */
TEST(ident, half_root)
{
	BOXED(half_root);
}

static void
no_state(void)
{
	WANT_EQ(ident_init(&id, BOX "/missing", err, sizeof err), ENOENT);
	WANT(strstr(err, "/missing") != NULL);
}

/* A state directory that cannot be written is named in the message. */
TEST(ident, no_state_directory)
{
	BOXED(no_state);
}
