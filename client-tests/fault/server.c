/* SPDX-License-Identifier: BSD-2-Clause */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools.h"

/* Mounts of the tests are seen by nobody else, and go away with the test program. */
__attribute__((constructor)) static void
private_mounts(void)
{
	if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0)
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	signal(SIGPIPE, SIG_IGN);
}

double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void
pause_briefly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

const char *
srv_path(struct srv *s, const char *path)
{
	static char text[4][256];
	static unsigned turn;
	char *t = text[turn++ % 4];

	snprintf(t, sizeof text[0], "%s/%s", s->base, path);
	return t;
}

void
srv_mkdir(struct srv *s, const char *path)
{
	CU_ASSERT_FATAL(mkdir(srv_path(s, path), 0755) == 0);
}

static struct srv *living; /* there is never more than one */

static void discard(struct srv *);

struct srv *
srv_new(void)
{
	struct srv *s = calloc(1, sizeof *s);

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	if (living)
		discard(living); /* of a test that failed half-way */
	living = s;
	strcpy(s->base, "/dev/shm/spliced-fault.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(s->base));
	chmod(s->base, 0755);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->said, NULL);
	s->options = "ro,insecure";
	s->statedir = "state";
	return s;
}

/* ---- its life ---- */

/* Collects what it says until it ends. */
static void *
listen_to(void *arg)
{
	struct srv *s = ((void **)arg)[0];
	int fd = (int)(intptr_t)((void **)arg)[1];
	char buf[4096];
	ssize_t n;

	free(arg);
	while ((n = read(fd, buf, sizeof buf)) > 0) {
		pthread_mutex_lock(&s->lock);
		s->log = realloc(s->log, s->loglen + (size_t)n + 1);
		memcpy(s->log + s->loglen, buf, (size_t)n);
		s->loglen += (size_t)n;
		s->log[s->loglen] = '\0';
		pthread_cond_broadcast(&s->said);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_broadcast(&s->said);
	pthread_mutex_unlock(&s->lock);
	close(fd);
	return NULL;
}

static void
become_server(struct srv *s, char *const *argv, int out)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (s->nofile.rlim_max)
		setrlimit(RLIMIT_NOFILE, &s->nofile);
	if (s->preload)
		setenv("LD_PRELOAD", s->preload, 1);
	dup2(out, 2);
	dup2(out, 1);
	execv(argv[0], argv);
	fprintf(stderr, "%s: %m\n", argv[0]);
	_exit(127);
}

void
srv_spawn(struct srv *s, const char *const *options, const char *const *what)
{
	char *argv[64], dirs[SRV_EXPORTS][300], state[300];
	const char *program = getenv("SPLICED") ? getenv("SPLICED") : tool_path("spliced");
	int n = 0, p[2];

	snprintf(state, sizeof state, "%s/%s", s->base, s->statedir);
	const char *fixed[] = {program,	    "-R", "-p",	 "0",  "-a",
			       "127.0.0.1", "-s", state, "-o", s->options};
	size_t nfixed = sizeof fixed / sizeof *fixed - (s->options ? 0 : 2);
	for (size_t i = 0; i < nfixed; i++)
		argv[n++] = (char *)(uintptr_t)fixed[i];
	for (; options && *options; options++)
		argv[n++] = (char *)(uintptr_t)*options;
	for (int i = 0; what[i]; i++) {
		snprintf(dirs[i], sizeof dirs[i], "%s%s%s", *what[i] == '/' ? "" : s->base,
			 *what[i] == '/' ? "" : "/", what[i]);
		argv[n++] = dirs[i];
	}
	argv[n] = NULL;
	CU_ASSERT_FATAL(pipe2(p, O_CLOEXEC) == 0);
	free(s->log);
	s->log = NULL;
	s->loglen = 0;
	s->ended = false;
	s->port = 0;
	s->pid = fork();
	CU_ASSERT_FATAL(s->pid >= 0);
	if (s->pid == 0)
		become_server(s, argv, p[1]);
	close(p[1]);
	void **arg = calloc(2, sizeof *arg);
	arg[0] = s;
	arg[1] = (void *)(intptr_t)p[0];
	CU_ASSERT_FATAL(pthread_create(&s->listener, NULL, listen_to, arg) == 0);
}

bool
srv_ready(struct srv *s)
{
	static const char sign[] = "ready on port ";
	const char *at = NULL;

	pthread_mutex_lock(&s->lock);
	while (!(at = s->log ? strstr(s->log, sign) : NULL) && !s->ended)
		pthread_cond_wait(&s->said, &s->lock);
	/* the whole line, so that the number is whole */
	while (at && !strchr(at, '\n') && !s->ended) {
		pthread_cond_wait(&s->said, &s->lock);
		at = strstr(s->log, sign);
	}
	if (at)
		s->port = atoi(at + sizeof sign - 1);
	pthread_mutex_unlock(&s->lock);
	return at != NULL;
}

static void
show_log(struct srv *s)
{
	pthread_mutex_lock(&s->lock);
	fprintf(stderr, "\n--- what the server said:\n%s---\n", s->log ? s->log : "");
	pthread_mutex_unlock(&s->lock);
}

void
srv_start(struct srv *s, const char *const *options, const char *export, ...)
{
	const char *what[SRV_EXPORTS + 1] = {export};
	va_list ap;
	int n = 1;

	va_start(ap, export);
	while (n < SRV_EXPORTS && (what[n] = va_arg(ap, const char *)))
		n++;
	va_end(ap);
	srv_spawn(s, options, what);
	if (!srv_ready(s)) {
		show_log(s);
		CU_FAIL_FATAL("the server did not start");
	}
}

bool
srv_said(struct srv *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	bool yes = s->log && strstr(s->log, text);

	pthread_mutex_unlock(&s->lock);
	return yes;
}

bool
srv_alive(struct srv *s)
{
	siginfo_t i = {0};

	return s->pid && waitid(P_PID, (id_t)s->pid, &i, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       i.si_pid == 0;
}

int
srv_stop(struct srv *s, int sig)
{
	int status = 0;
	double deadline = now_s() + CL_SECONDS;

	if (sig)
		kill(s->pid, sig);
	while (waitpid(s->pid, &status, WNOHANG) == 0) {
		if (now_s() > deadline) {
			show_log(s);
			kill(s->pid, SIGKILL);
			waitpid(s->pid, &status, 0);
			CU_FAIL("the server did not end in time");
			break;
		}
		pause_briefly();
	}
	s->pid = 0;
	pthread_join(s->listener, NULL);
	return status;
}

struct cl *
srv_client(struct srv *s)
{
	return cl_new(s->port, 0);
}

/* It is still there, and leaves without complaint (a sanitizer's report is exit status 1 or a
 * signal). */
static void
end_server(struct srv *s)
{
	int status;

	if (!srv_alive(s)) {
		srv_stop(s, 0);
		show_log(s);
		CU_FAIL("the server died");
		return;
	}
	status = srv_stop(s, SIGTERM);
	CU_ASSERT_EQUAL(status, 0);
	if (status != 0)
		show_log(s);
}

/* Takes everything down that is left. No checks: this runs outside of tests, too. */
static void
discard(struct srv *s)
{
	living = NULL;
	if (s->pid) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
		pthread_join(s->listener, NULL);
	}
	/* what waits inside slowfs is failed, so that nothing waits for it: first, or an unmount
	 * would */
	if (s->slowfs) {
		kill(s->slowfs, SIGTERM);
		waitpid(s->slowfs, NULL, 0); /* it unmounts itself */
	}
	while (s->nmounts > 0) {
		char *m = s->mount[--s->nmounts];

		if (umount2(m, 0) != 0)
			umount2(m, MNT_DETACH);
		free(m);
	}
	run_program((const char *[]){"rm", "-rf", "--one-file-system", s->base, NULL});
	pthread_cond_destroy(&s->said);
	pthread_mutex_destroy(&s->lock);
	free(s->log);
	free(s);
}

__attribute__((destructor)) static void
discard_living(void)
{
	if (living)
		discard(living);
}

void
srv_free(struct srv *s)
{
	if (s->slowfs)
		srv_tell(s, "release all");
	if (s->pid)
		end_server(s);
	/* cleanly, while slowfs still answers */
	while (s->nmounts > (s->slowfs ? 1 : 0) && umount2(s->mount[s->nmounts - 1], 0) == 0)
		free(s->mount[--s->nmounts]);
	discard(s);
}
