/* SPDX-License-Identifier: BSD-2-Clause */
#include "admin.h"
#include "check.h"
#include "control.h"
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A server on a loop of its own in a temporary state directory; the loop runs in the test's thread.
 */
struct server {
	char dir[64];
	struct ev_loop *loop;
	struct admin *admin;
	char err[200];
	ev_async over;	      /* a client has its reply: the loop returns */
	pthread_mutex_t gate; /* what the slow command waits for */
	int calls;
};

static int
do_echo(void *arg, int argc, char **argv, FILE *out)
{
	((struct server *)arg)->calls++;
	for (int i = 1; i < argc; i++)
		fprintf(out, "[%s]", argv[i]);
	return argc == 1 ? EINVAL : 0;
}

static int
do_big(void *arg, int argc, char **argv, FILE *out)
{
	(void)arg, (void)argc, (void)argv;
	for (int i = 0; i < 1 << 20; i++)
		fputs("12345678", out);
	return 0;
}

static int
do_slow(void *arg, int argc, char **argv, FILE *out)
{
	struct server *s = arg;

	(void)argc, (void)argv;
	pthread_mutex_lock(&s->gate);
	pthread_mutex_unlock(&s->gate);
	fputs("slept", out);
	return 0;
}

static const struct admin_command commands[] = {
    {"echo", "WORD ...", "says it again", false, do_echo},
    {"big", NULL, "8 MiB", false, do_big},
    {"slow", NULL, "waits", true, do_slow},
};
static const struct admin_ops ops = {commands, 3};

static void
on_over(struct ev_loop *loop, ev_async *w, int events)
{
	(void)w, (void)events;
	ev_break(loop, EVBREAK_ONE);
}

static void
start(struct server *s)
{
	memset(s, 0, sizeof *s);
	strcpy(s->dir, "/tmp/spliced-admin-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(s->dir));
	s->loop = ev_loop_new(EVFLAG_AUTO);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s->loop);
	pthread_mutex_init(&s->gate, NULL);
	ev_async_init(&s->over, on_over);
	ev_async_start(s->loop, &s->over);
	s->admin = admin_new(s->loop, s->dir, &ops, s, s->err, sizeof s->err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s->admin);
}

static void
stop(struct server *s)
{
	admin_free(s->admin);
	ev_async_stop(s->loop, &s->over);
	ev_loop_destroy(s->loop);
	CU_ASSERT_EQUAL(rmdir(s->dir), 0); /* the socket is gone */
}

static int
dial(const struct server *s)
{
	struct sockaddr_un a;
	int dirfd, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CU_ASSERT_EQUAL_FATAL(control_address(s->dir, &a, &dirfd), 0);
	CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

/* One client, in its own thread: sends, reads to the end, tells the loop. */
struct talk {
	struct server *s;
	const char *request;
	size_t len;
	pthread_t thread;
	char *reply;
	size_t reply_len;
};

static void *
talk_thread(void *arg)
{
	struct talk *t = arg;
	char buf[4096];
	int fd = dial(t->s);
	FILE *f = open_memstream(&t->reply, &t->reply_len);
	ssize_t n;

	for (size_t off = 0; off < t->len; off += (size_t)n)
		if ((n = send(fd, t->request + off, t->len - off, MSG_NOSIGNAL)) <= 0)
			break;
	while ((n = read(fd, buf, sizeof buf)) > 0)
		fwrite(buf, 1, (size_t)n, f);
	fclose(f);
	close(fd);
	ev_async_send(t->s->loop, &t->s->over);
	return NULL;
}

static void
talk_begin(struct talk *t, struct server *s, const char *request, size_t len)
{
	*t = (struct talk){.s = s, .request = request, .len = len};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t->thread, NULL, talk_thread, t), 0);
}

static void
talk_end(struct talk *t)
{
	ev_run(t->s->loop, 0);
	pthread_join(t->thread, NULL);
}

static void
expect(struct server *s, const char *request, const char *reply)
{
	struct talk t;

	talk_begin(&t, s, request, strlen(request));
	talk_end(&t);
	CU_ASSERT_STRING_EQUAL(t.reply, reply);
	free(t.reply);
}

/* A request is answered with ok and the command's text; a refusal with error and its text; the
 * command sees the decoded words. */
TEST(admin, request_reply)
{
	struct server s;

	start(&s);
	expect(&s, "echo a b\\040c \\\n", "ok\n[a][b c][]");
	expect(&s, "echo\n", "error\n");
	expect(&s, "explain 10.0.0.1 /srv\n",
	       "error\nexplain: not known to this server; try help\n");
	expect(&s, "\n", "error\nempty request; try help\n");
	CU_ASSERT_EQUAL(s.calls, 2);
	stop(&s);
}

/* help lists every command of the table with its arguments. */
TEST(admin, help)
{
	struct server s;
	struct talk t;

	start(&s);
	talk_begin(&t, &s, "help\n", 5);
	talk_end(&t);
	CU_ASSERT_EQUAL(strncmp(t.reply, "ok\necho WORD ... ", 17), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(t.reply, "\nslow "));
	free(t.reply);
	stop(&s);
}

/* Malformed and endless requests are refused; none reaches a command. */
TEST(admin, hostile_requests)
{
	struct server s;
	struct talk t;
	char *endless = malloc(100000);

	CU_ASSERT_PTR_NOT_NULL_FATAL(endless);
	memset(endless, 'x', 100000);
	start(&s);
	for (int i = 0; i < 3; i++) {
		static const char *const bad[] = {"echo \\9\n", "echo \\000\n",
						  "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"};

		talk_begin(&t, &s, bad[i], strlen(bad[i]));
		talk_end(&t);
		CU_ASSERT_EQUAL(strncmp(t.reply, "error\nmalformed request", 23), 0);
		free(t.reply);
	}
	talk_begin(&t, &s, endless, CONTROL_REQUEST_MAX);
	talk_end(&t);
	CU_ASSERT_EQUAL(strncmp(t.reply, "error\nmalformed request", 23), 0);
	free(t.reply);
	talk_begin(&t, &s, endless, 100000); /* it may see a reset, the server goes on */
	talk_end(&t);
	free(t.reply);
	CU_ASSERT_EQUAL(s.calls, 0);
	expect(&s, "echo x\n", "ok\n[x]");
	free(endless);
	stop(&s);
}

/* A client that says nothing, one that stops in the middle of its line and one that reads nothing
 * keep nobody else waiting. */
TEST(admin, silent_clients)
{
	struct server s;
	int silent, half, deaf;

	start(&s);
	silent = dial(&s);
	half = dial(&s);
	deaf = dial(&s);
	CU_ASSERT_EQUAL(write(half, "echo", 4), 4);
	CU_ASSERT_EQUAL(write(deaf, "big\n", 4), 4);
	expect(&s, "echo x\n", "ok\n[x]");
	close(silent);
	close(half);
	close(deaf);
	expect(&s, "echo y\n", "ok\n[y]");
	stop(&s);
}

/* Beyond the limit of clients a new one is told so, and when one has left the next is served. */
TEST(admin, too_many)
{
	struct server s;
	int fd[16];

	start(&s);
	for (int i = 0; i < 16; i++)
		fd[i] = dial(&s);
	expect(&s, "echo x\n", "error\nbusy: too many control connections; try again\n");
	for (int i = 0; i < 16; i++)
		close(fd[i]);
	ev_run(s.loop, EVRUN_NOWAIT); /* sees them leave before the next one comes */
	expect(&s, "echo x\n", "ok\n[x]");
	stop(&s);
}

/* A reply far larger than the socket's buffer arrives whole. */
TEST(admin, big_reply)
{
	struct server s;
	struct talk t;

	start(&s);
	talk_begin(&t, &s, "big\n", 4);
	talk_end(&t);
	CU_ASSERT_EQUAL(t.reply_len, 3 + (8 << 20));
	free(t.reply);
	stop(&s);
}

/* While a slow command sleeps, others are answered; its own reply comes when it is done. */
TEST(admin, slow_command)
{
	struct server s;
	struct talk slow;

	start(&s);
	pthread_mutex_lock(&s.gate);
	talk_begin(&slow, &s, "slow\n", 5);
	expect(&s, "echo x\n", "ok\n[x]");
	expect(&s, "echo y\n", "ok\n[y]");
	pthread_mutex_unlock(&s.gate);
	talk_end(&slow);
	CU_ASSERT_STRING_EQUAL(slow.reply, "ok\nslept");
	free(slow.reply);
	stop(&s);
}

/* Ending the server while a slow command runs waits for it and leaks nothing; the client sees its
 * stream end. */
TEST(admin, free_while_slow)
{
	struct server s;
	int fd;

	start(&s);
	fd = dial(&s);
	CU_ASSERT_EQUAL(write(fd, "slow\n", 5), 5);
	expect(&s, "echo x\n", "ok\n[x]");
	stop(&s);
	close(fd);
}

/* The socket is for its owner alone; a dead server's is replaced; a live one's, and a file of that
 * name, are not touched. */
TEST(admin, socket_file)
{
	struct server s;
	struct sockaddr_un a;
	struct stat st;
	char err[300];
	int dirfd, fd;

	start(&s);
	CU_ASSERT_EQUAL_FATAL(control_address(s.dir, &a, &dirfd), 0);
	CU_ASSERT_EQUAL(stat(a.sun_path, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode, S_IFSOCK | 0600);
	CU_ASSERT_PTR_NULL(admin_new(s.loop, s.dir, &ops, &s, err, sizeof err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "another server runs"));
	CU_ASSERT_EQUAL(stat(a.sun_path, &st), 0);
	admin_free(s.admin);
	CU_ASSERT_EQUAL(stat(a.sun_path, &st), -1);

	fd = socket(AF_UNIX, SOCK_STREAM, 0); /* bound and closed: stale */
	CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	close(fd);
	s.admin = admin_new(s.loop, s.dir, &ops, &s, err, sizeof err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s.admin);
	expect(&s, "echo x\n", "ok\n[x]");
	admin_free(s.admin);

	fd = open(a.sun_path, O_CREAT | O_WRONLY, 0600);
	CU_ASSERT_PTR_NULL(s.admin = admin_new(s.loop, s.dir, &ops, &s, err, sizeof err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "not a socket"));
	CU_ASSERT_EQUAL(unlink(a.sun_path), 0);
	close(fd);
	stop(&s);
}

/* A state directory that is not there is a message that names it. */
TEST(admin, no_directory)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	char err[200] = "";

	CU_ASSERT_PTR_NULL(admin_new(loop, "/nonexistent/dir", &ops, NULL, err, sizeof err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "/nonexistent/dir/control: No such file"));
	ev_loop_destroy(loop);
}
