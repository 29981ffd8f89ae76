/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exports change while clients work: what is untouched is not disturbed by a thousand reloads, what
 * is gone is stale from the next call on, what is wrong changes nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

enum { SIZE = 300000, READERS = 4 };

/* Writes BASE/exports: ~ stands for the base. */
static void
write_exports(struct srv *s, const char *fmt, ...)
{
	FILE *f = fopen(srv_path(s, "exports"), "w");
	char text[2000];
	va_list ap;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (const char *p = text; *p; p++)
		if (*p == '~')
			fputs(s->base, f);
		else
			fputc(*p, f);
	CU_ASSERT_EQUAL(fclose(f), 0);
}

/* One command of the control socket; its whole answer, to be freed. */
static char *
control(struct srv *s, const char *fmt, ...)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char line[600], *text = NULL, buf[4096];
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	va_list ap;
	ssize_t n;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line - 1, fmt, ap);
	va_end(ap);
	strcat(line, "\n");
	snprintf(a.sun_path, sizeof a.sun_path, "%s", srv_path(s, "state/control"));
	CU_ASSERT_FATAL(f && fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
	CU_ASSERT_FATAL(send(fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line));
	while ((n = read(fd, buf, sizeof buf)) > 0)
		fwrite(buf, 1, (size_t)n, f);
	close(fd);
	fclose(f);
	return text;
}

/* The command succeeded (or not), and said this. */
static void
expect(struct srv *s, bool good, const char *says, const char *fmt, ...)
{
	char line[600], *text;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	text = control(s, "%s", line);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	if (strncmp(text, good ? "ok\n" : "error\n", good ? 3 : 6) != 0 || !strstr(text, says)) {
		printf("\n%s\nanswers %s\nnot %s\n", line, text, says);
		CU_FAIL("another answer");
	}
	free(text);
}

static struct srv *
bed(const char *text)
{
	struct srv *s = srv_new();

	for (const char *d = "abcd"; *d; d++) {
		char name[] = {*d, 0}, file[] = {*d, '/', 'f', 0};

		srv_mkdir(s, name);
		pattern_file(srv_path(s, file), (uint32_t)*d, SIZE);
	}
	write_exports(s, "%s", text);
	s->options = NULL;
	return s;
}

static void
start(struct srv *s)
{
	char file[300];

	snprintf(file, sizeof file, "%s", srv_path(s, "exports"));
	srv_spawn(s, (const char *[]){"-j2", "-e", file, NULL}, (const char *[]){NULL});
	CU_ASSERT_FATAL(srv_ready(s));
}

/* ---- a load that verifies ---- */

struct reader {
	pthread_t thread;
	struct srv *s;
	nfs_fh3 fh;
	bool stop; /* atomic */
	unsigned long reads, wrong;
	int64_t longest; /* us: one READ */
};

static int64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void *
read_on(void *arg)
{
	struct reader *r = arg;
	struct cl *c = cl_try(r->s->port, 0);
	uint64_t off = (uint64_t)(uintptr_t)arg % SIZE;
	READ3res res;

	while (c && !__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		uint32_t n = off % 3 ? 8192 : 100000;
		int64_t begin = now_us();
		int rc = cl_read(c, &r->fh, off, n, &res);
		int64_t took = now_us() - begin;
		const payload *p = &res.READ3res_u.resok.data;

		if (rc != NFS3_OK || !p->len || !pattern_is('a', off, p->base, p->len))
			r->wrong++;
		r->reads++;
		r->longest = took > r->longest ? took : r->longest;
		off = (off + 7919) % (SIZE - 1);
	}
	if (!c)
		r->wrong++;
	cl_free(c);
	return NULL;
}

static void
start_readers(struct srv *s, struct reader *r, const nfs_fh3 *fh)
{
	for (int i = 0; i < READERS; i++) {
		r[i] = (struct reader){.s = s, .fh = *fh};
		CU_ASSERT_FATAL(pthread_create(&r[i].thread, NULL, read_on, &r[i]) == 0);
	}
}

static void
end_readers(struct reader *r)
{
	for (int i = 0; i < READERS; i++) {
		__atomic_store_n(&r[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(r[i].thread, NULL);
		CU_ASSERT(r[i].reads > 0);
		CU_ASSERT_EQUAL(r[i].wrong, 0);
	}
}

/* A thousand reloads (250 in the small size) under load, each changing something beside: every READ
 * of the untouched export succeeds with the right bytes, a removed export is stale as soon as the
 * command has answered and the same again when it returns, and nothing is left behind. */
TEST(reload, thousand_times)
{
	static const char *const texts[] = {
	    "~/a *(insecure)\n~/b *(insecure)\n",
	    "~/a *(insecure)\n~/b *(insecure,rw)\n~/c *(insecure)\n",
	    "~/a *(insecure)\n~/c 10.0.0.0/8 *(insecure)\n",
	    "# moved\n~/d *(insecure)\n~/a 127.0.0.0/8(insecure)\n~/c *(insecure)\n",
	};
	struct srv *s = bed(texts[1]);
	struct reader r[READERS];
	struct cl *c;
	nfs_fh3 a, b, x;
	unsigned fds = 0;

	start(s);
	c = srv_client(s);
	a = cl_handle(c, srv_path(s, "a"), "f");
	b = cl_handle(c, srv_path(s, "b"), "f");
	x = cl_handle(c, srv_path(s, "c"), "f");
	start_readers(s, r, &a);
	for (int i = 0; i < (check_full() || under_sanitizer() ? 1000 : 250); i++) {
		int t = i % 4;

		write_exports(s, texts[t]);
		expect(s, true, "removed", "reload");
		CU_ASSERT_EQUAL_FATAL(cl_getattr(c, &b, NULL), t < 2 ? NFS3_OK : NFS3ERR_STALE);
		CU_ASSERT_EQUAL_FATAL(cl_getattr(c, &x, NULL), t > 0 ? NFS3_OK : NFS3ERR_STALE);
		CU_ASSERT_EQUAL_FATAL(cl_getattr(c, &a, NULL), NFS3_OK);
		if (i == 99)
			fds = srv_fds(s);
	}
	end_readers(r);
	UNTIL(srv_fds(s) <= fds + 2);
	cl_free(c);
	srv_free(s);
}

/* BASE/exports of so many: a, then BASE/many/0 and on; with odd, every second one otherwise. */
static void
write_many(struct srv *s, int n, bool odd)
{
	FILE *f = fopen(srv_path(s, "exports"), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fprintf(f, "%s/a *(insecure)\n", s->base);
	for (int i = 0; i < n; i++)
		if (i % 2 || !odd)
			fprintf(f, "%s/many/%d 10.0.0.0/8 127.0.0.1(insecure%s)\n", s->base, i,
				odd ? ",rw" : "");
	CU_ASSERT_EQUAL(fclose(f), 0);
}

/* Thousands of exports (5,000 at full size) come, change and go while four clients read one beside
 * them: no READ fails or is wrong. The longest is printed at full size. */
TEST(reload, thousands_of_exports)
{
	struct srv *s = bed("~/a *(insecure)\n");
	struct reader r[READERS];
	struct cl *c;
	nfs_fh3 a, last;
	int n = check_full() ? 5000 : 500;
	char name[40], says[60];
	int64_t longest = 0;

	srv_mkdir(s, "many");
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "many/%d", i);
		srv_mkdir(s, name);
	}
	start(s);
	c = srv_client(s);
	a = cl_handle(c, srv_path(s, "a"), "f");
	start_readers(s, r, &a);
	for (int i = 0; i < 3; i++) {
		write_many(s, n, false);
		snprintf(says, sizeof says, "%d added", i ? n / 2 : n);
		expect(s, true, says, "reload");
		snprintf(name, sizeof name, "many/%d", n - 2);
		CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, name), &last), MNT3_OK);
		write_many(s, n, true);
		snprintf(says, sizeof says, "%d changed, 0 added, %d removed", n / 2, n / 2);
		expect(s, true, says, "reload");
		CU_ASSERT_EQUAL(cl_getattr(c, &last, NULL), NFS3ERR_STALE);
	}
	end_readers(r);
	for (int i = 0; i < READERS; i++)
		longest = r[i].longest > longest ? r[i].longest : longest;
	if (check_full())
		printf("(longest READ %.1f ms) ", (double)longest / 1000);
	cl_free(c);
	srv_free(s);
}

/* Anything wrong in the files changes nothing, and all that is wrong is said. */
TEST(reload, bad_files)
{
	struct srv *s = bed("~/a *(insecure)\n");
	struct cl *c;
	nfs_fh3 a;

	start(s);
	c = srv_client(s);
	a = cl_handle(c, srv_path(s, "a"), "f");
	write_exports(s, "~/b *(insecure)\n~/a *(rwx)\n~/c 10/8");
	expect(s, false, "exports:2:", "reload");
	expect(s, false, "10/8", "reload");
	write_exports(s, "");
	expect(s, false, "exports nothing", "reload");
	unlink(srv_path(s, "exports"));
	expect(s, false, "cannot read it", "reload");
	CU_ASSERT_EQUAL(kill(s->pid, SIGHUP), 0);
	UNTIL(srv_said(s, "reload: nothing has changed"));
	CU_ASSERT_EQUAL(cl_getattr(c, &a, NULL), NFS3_OK);
	write_exports(s, "~/a *(insecure)\n~/b *(insecure)\n");
	CU_ASSERT_EQUAL(kill(s->pid, SIGHUP), 0);
	UNTIL(srv_said(s, "reload: 1 kept, 0 changed, 1 added, 0 removed"));
	CU_ASSERT_EQUAL(cl_getattr(c, &a, NULL), NFS3_OK);
	cl_free(c);
	srv_free(s);
}

/* Exports come and go by command; a reload goes back to what the files say. */
TEST(reload, at_run_time)
{
	struct srv *s = bed("~/a *(insecure)\n");
	struct cl *c;
	nfs_fh3 b;

	start(s);
	c = srv_client(s);
	CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "b"), &b), MNT3ERR_ACCES);
	expect(s, true, "added", "export 10.0.0.0/8:%s", srv_path(s, "b"));
	CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "b"), &b), MNT3ERR_ACCES);
	expect(s, true, "+ 127.0.0.1(ro,sync,insecure", "export 127.0.0.1:%s -o insecure",
	       srv_path(s, "b"));
	CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "b"), &b), MNT3_OK);
	expect(s, true, "secure -> insecure", "export 10.0.0.0/8:%s -o insecure", srv_path(s, "b"));
	expect(s, true, "/b:3", "explain 10.1.1.1 %s", srv_path(s, "b:3"));
	expect(s, true, "acts as user 65534", "explain 127.0.0.1 %s 0", srv_path(s, "b/x"));
	expect(s, true, "may mount, read only", "explain 127.0.0.1 %s 1000", srv_path(s, "b/x"));
	expect(s, true, "exports:1:", "exports");
	expect(s, true, "- 127.0.0.1(", "unexport 127.0.0.1:%s", srv_path(s, "b"));
	CU_ASSERT_EQUAL(cl_getattr(c, &b, NULL), NFS3ERR_ACCES);
	expect(s, false, "no such export", "unexport 127.0.0.1:%s", srv_path(s, "b"));
	expect(s, false, "unknown", "export *:%s -o nonsense", srv_path(s, "b"));
	expect(s, false, "No such file", "export *:%s", srv_path(s, "none"));
	expect(s, false, "Not a directory", "export *:%s", srv_path(s, "b/f"));
	expect(s, false, "not CLIENT:/PATH", "export %s", srv_path(s, "b"));
	expect(s, false, "10/8: ", "export 10/8:%s", srv_path(s, "b"));
	expect(s, false, "not a full IPv4", "export 10/8:%s", srv_path(s, "b"));
	expect(s, true, "removed", "unexport %s", srv_path(s, "b"));
	CU_ASSERT_EQUAL(cl_getattr(c, &b, NULL), NFS3ERR_STALE);
	expect(s, true, "added", "export :%s -o insecure", srv_path(s, "b"));
	CU_ASSERT_EQUAL(cl_getattr(c, &b, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "b"), &b), MNT3_OK);
	expect(s, true, "mounted by 127.0.0.1", "reload");
	CU_ASSERT_EQUAL(cl_getattr(c, &b, NULL), NFS3ERR_STALE);
	cl_free(c);
	srv_free(s);
}

/* A client is judged at every call, not at MNT alone: it loses what a reload takes from it, and the
 * rules of its connection are not remembered too long. */
TEST(reload, every_call_is_judged)
{
	struct srv *s = bed("~/a 127.0.0.0/8(insecure)\n");
	struct cl *c;
	nfs_fh3 a;

	start(s);
	c = srv_client(s);
	a = cl_handle(c, srv_path(s, "a"), "f");
	for (int i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL(cl_getattr(c, &a, NULL), NFS3_OK);
		write_exports(s, "~/a 10.0.0.0/8(insecure)\n");
		expect(s, true, "- 127.0.0.0/8", "reload");
		CU_ASSERT_EQUAL(cl_getattr(c, &a, NULL), NFS3ERR_ACCES);
		write_exports(s, "~/a *\n");
		expect(s, true, "+ *(", "reload");
		CU_ASSERT_EQUAL(cl_getattr(c, &a, NULL), NFS3ERR_PERM);
		write_exports(s, "~/a 127.0.0.0/8(insecure)\n");
		expect(s, true, "+ 127.0.0.0/8", "reload");
	}
	UNTIL(srv_said(s, "no client of the export matches"));
	UNTIL(srv_said(s, "by the rule of * ("));
	cl_free(c);
	srv_free(s);
}

/* What is not there does not stand in the way of the others, answers "no such directory", and is
 * served when it comes; a mount point is served while something is mounted, and stale before and
 * after. */
TEST(reload, comes_and_goes)
{
	struct srv *s = bed("~/late *(insecure)\n~/a *(insecure)\n~/b *(insecure,mp)\n");
	struct cl *c;
	nfs_fh3 fh;

	if (geteuid() != 0) {
		printf("(needs root) ");
		srv_free(s);
		return;
	}
	start(s);
	c = srv_client(s);
	CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "a"), &fh), MNT3_OK);
	CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "late"), &fh), MNT3ERR_NOENT);
	CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "b"), &fh), MNT3ERR_NOENT);
	srv_mkdir(s, "late");
	UNTIL(cl_mnt(c, srv_path(s, "late"), &fh) == MNT3_OK);
	CU_ASSERT_FATAL(mount("none", srv_path(s, "b"), "tmpfs", 0, NULL) == 0);
	UNTIL(cl_mnt(c, srv_path(s, "b"), &fh) == MNT3_OK);
	CU_ASSERT_EQUAL(cl_getattr(c, &fh, NULL), NFS3_OK);
	CU_ASSERT_EQUAL(umount2(srv_path(s, "b"), 0), 0);
	UNTIL(cl_getattr(c, &fh, NULL) == NFS3ERR_STALE);
	CU_ASSERT_EQUAL(cl_mnt(c, srv_path(s, "b"), &fh), MNT3ERR_NOENT);
	cl_free(c);
	srv_free(s);
}
