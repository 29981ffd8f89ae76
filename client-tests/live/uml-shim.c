/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into linux.uml, the user-mode kernel of the live tests.
 *
 * Intent: user-mode-linux keeps the floating-point state of its processes in a buffer of a fixed
 * size and hands it to PTRACE_SETREGSET. A processor whose extended state is larger than that
 * buffer (AMX) makes the host kernel refuse the short write with EFAULT, and user-mode-linux dies
 * at start: "ptrace set fp regs failed, errno = 14".
 *
 * Cure: read the tracee's whole state first, lay what the caller gave over its beginning, write the
 * whole back. The part that the caller does not know keeps the value it has.
 *
 * Limit: every other request passes through untouched; PEEK requests keep glibc's habit of
 * returning the word.
 */
#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { STATE_MAX = 64 * 1024 }; /* AMX needs about 11 KiB */

static long
set_whole_xstate(long pid, const struct iovec *given)
{
	static __thread unsigned char state[STATE_MAX] __attribute__((aligned(64)));
	struct iovec whole = {.iov_base = state, .iov_len = sizeof state};
	uintptr_t type = NT_X86_XSTATE;

	if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, type, &whole) < 0)
		return -1;
	size_t known = given->iov_len < whole.iov_len ? given->iov_len : whole.iov_len;
	memcpy(state, given->iov_base, known);
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, type, &whole);
}

long
ptrace(enum __ptrace_request req, ...)
{
	va_list ap;

	va_start(ap, req);
	long pid = va_arg(ap, int);
	void *addr = va_arg(ap, void *);
	void *data = va_arg(ap, void *);
	va_end(ap);

	if (req == PTRACE_SETREGSET && (uintptr_t)addr == NT_X86_XSTATE)
		return set_whole_xstate(pid, data);
	if (req == PTRACE_PEEKTEXT || req == PTRACE_PEEKDATA || req == PTRACE_PEEKUSER) {
		long word = 0;
		long r = syscall(SYS_ptrace, (long)req, pid, addr, &word);
		return r < 0 ? r : word;
	}
	return syscall(SYS_ptrace, (long)req, pid, addr, data);
}
