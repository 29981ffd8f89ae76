/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/harm.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILURES_MAX = 100 };

static void
must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "harm: %s: %s\n", what, strerror(errno));
	_exit(FAILURES_MAX);
}

/* What failed in this process since; said, because the parent's summary knows only how many. */
static int
failures(unsigned before)
{
	unsigned n = 0, all = CU_get_number_of_failure_records();

	for (CU_pFailureRecord f = CU_get_failure_list(); f && n < all; f = f->pNext, n++)
		if (n >= before)
			fprintf(stderr, "\n    %s:%u: %s", f->strFileName, f->uiLineNumber,
				f->strCondition);
	return all - before > FAILURES_MAX ? FAILURES_MAX : (int)(all - before);
}

/* What the server says of the harm is not wanted, but on demand. */
static void
run_quietly(void (*fn)(void *), void *arg)
{
	int err = getenv("BED_LOG") ? -1 : dup(STDERR_FILENO), null;

	if (err >= 0) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		must(null < 0 || dup2(null, STDERR_FILENO) < 0 ? -1 : 0, "stderr");
		close(null);
	}
	fn(arg);
	if (err >= 0)
		must(dup2(err, STDERR_FILENO) < 0 ? -1 : 0, "stderr");
}

int
harm_in_child(void (*fn)(void *), void *arg)
{
	int status = 0;

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		const struct rlimit none = {0, 0};
		unsigned before = CU_get_number_of_failure_records();

		must(setrlimit(RLIMIT_CORE, &none), "core");
		run_quietly(fn, arg);
		int n = failures(before);
		fflush(NULL);
		_exit(n);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return FAILURES_MAX;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void
harm_call(const struct harm *h, int error)
{
	unsigned what = error ? SECCOMP_RET_ERRNO | (unsigned)error : SECCOMP_RET_KILL_PROCESS;
	/* low half of a 64-bit argument */
	unsigned at = (unsigned)offsetof(struct seccomp_data, args) + 8 * (unsigned)h->arg +
		      (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0);
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)h->nr, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, h->mask, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, what),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof code / sizeof *code, code};

	if (h->mask == 0) /* every one */
		code[3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0, 0, 1);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog), "seccomp");
}

void
harm_tmpfs(const char *path, const char *options)
{
	must(unshare(CLONE_NEWNS), "mount name space");
	must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
	must(mount("none", path, "tmpfs", 0, options), path);
}
