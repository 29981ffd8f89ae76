/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control socket.
 *
 * A client's life: accepted (peer checked) -> its line is read -> the command runs -> its reply,
 * complete in memory, is written -> closed. At each point the client has one watcher and one
 * deadline, so a client that sends nothing, sends forever or reads nothing costs a descriptor and a
 * buffer for CLIENT_SECONDS and no more; CLIENTS_MAX bounds how many.
 *
 * A command marked slow runs in a thread that owns the client meanwhile (no watcher, no deadline).
 * It ends by putting the client on the done list and waking the loop, which joins the thread and
 * writes the reply. admin_free() joins those still running.
 */
#include "admin.h"
#include "control.h"
#include "log.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLIENTS_MAX 16
#define CLIENT_SECONDS 10.
#define BACKLOG 16

struct client {
	struct admin *admin;
	struct client *next; /* of all clients */
	struct client *done; /* of the done list */
	int fd;
	ev_io io;
	ev_timer deadline;
	pthread_t thread;
	bool running; /* the thread is to be joined */
	const struct admin_command *command;
	char *argv[CONTROL_WORDS_MAX + 1];
	int argc;
	size_t in_len, out_len, out_off;
	char *out;
	char in[CONTROL_REQUEST_MAX + 1];
};

struct admin {
	pthread_mutex_t lock; /* done */
	struct client *done;
	struct ev_loop *loop;
	const struct admin_ops *ops;
	void *arg;
	char *statedir;
	struct client *clients;
	unsigned nclients;
	int fd;
	dev_t dev; /* the socket's file: removed at the end only if it is still ours */
	ino_t ino;
	ev_io accept;
	ev_timer again; /* accepts again after descriptors ran out */
	ev_async wake;
};

static void
client_close(struct client *c)
{
	struct admin *a = c->admin;
	struct client **p = &a->clients;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	a->nclients--;
	ev_io_stop(a->loop, &c->io);
	ev_timer_stop(a->loop, &c->deadline);
	close(c->fd);
	free(c->out);
	free(c);
}

static void
on_deadline(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)events;
	client_close(w->data);
}

static void
on_writable(struct ev_loop *loop, ev_io *w, int events)
{
	struct client *c = w->data;
	ssize_t n = send(c->fd, c->out + c->out_off, c->out_len - c->out_off, MSG_NOSIGNAL);

	(void)loop, (void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->out_off += (size_t)n;
	if (n <= 0 || c->out_off == c->out_len)
		client_close(c);
}

/* The reply is complete: from here on the client is written to, against a new deadline. */
static void
start_reply(struct client *c)
{
	struct ev_loop *loop = c->admin->loop;

	if (!c->out) {
		client_close(c);
		return;
	}
	ev_timer_stop(loop, &c->deadline);
	ev_timer_set(&c->deadline, CLIENT_SECONDS, 0.);
	ev_timer_start(loop, &c->deadline);
	ev_io_init(&c->io, on_writable, c->fd, EV_WRITE);
	ev_io_start(loop, &c->io);
}

static int
help(const struct admin_ops *ops, FILE *out)
{
	for (size_t i = 0; i < ops->ncommands; i++) {
		const struct admin_command *c = &ops->commands[i];
		char left[64];

		snprintf(left, sizeof left, "%s %s", c->name, c->args ? c->args : "");
		fprintf(out, "%-28s %s\n", left, c->help);
	}
	fprintf(out, "%-28s %s\n", "help", "this list");
	return 0;
}

static int
run_command(struct client *c, FILE *out)
{
	const struct admin *a = c->admin;
	char name[80];

	if (c->argc < 0)
		fprintf(
		    out,
		    "malformed request: at most %d words and %d bytes, \\ooo for unusual bytes\n",
		    CONTROL_WORDS_MAX, CONTROL_REQUEST_MAX);
	else if (c->argc == 0)
		fprintf(out, "empty request; try help\n");
	else if (c->command)
		return c->command->fn(a->arg, c->argc, c->argv, out);
	else if (!strcmp(c->argv[0], "help"))
		return help(a->ops, out);
	else
		fprintf(out, "%s: not known to this server; try help\n",
			log_text(name, sizeof name, c->argv[0], strlen(c->argv[0])));
	return EINVAL;
}

/* Runs the command and leaves the whole reply in c->out (NULL when memory is gone). In the loop or
 * in the client's thread. */
static void
make_reply(struct client *c)
{
	char *text = NULL, *reply = NULL;
	size_t text_len = 0;
	FILE *f = open_memstream(&text, &text_len);
	int status, n;

	if (!f)
		return;
	status = run_command(c, f);
	if (fclose(f) == 0) {
		reply = malloc(text_len + 8);
		if (reply) {
			n = sprintf(reply, "%s\n", status ? "error" : "ok");
			memcpy(reply + n, text, text_len);
			c->out_len = (size_t)n + text_len;
		}
	}
	free(text);
	c->out = reply;
}

static void *
slow_thread(void *arg)
{
	struct client *c = arg;
	struct admin *a = c->admin;

	make_reply(c);
	pthread_mutex_lock(&a->lock);
	c->done = a->done;
	a->done = c;
	ev_async_send(a->loop,
		      &a->wake); /* under the lock: admin_free() takes it before the watcher goes */
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static void
start_thread(struct client *c)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
	error = pthread_create(&c->thread, NULL, slow_thread, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	c->running = error == 0;
	if (error) {
		log_warn("control: cannot start a thread for %s: %s", c->command->name,
			 strerror(error));
		client_close(c);
	}
}

static void
on_wake(struct ev_loop *loop, ev_async *w, int events)
{
	struct admin *a = w->data;
	struct client *done, *next;

	(void)loop, (void)events;
	pthread_mutex_lock(&a->lock);
	done = a->done;
	a->done = NULL;
	pthread_mutex_unlock(&a->lock);
	for (; done; done = next) {
		next = done->done;
		pthread_join(done->thread, NULL);
		done->running = false;
		start_reply(done);
	}
}

static void
have_line(struct client *c)
{
	const struct admin_ops *ops = c->admin->ops;

	ev_io_stop(c->admin->loop, &c->io);
	ev_timer_stop(c->admin->loop, &c->deadline);
	c->argc = control_decode(c->in, c->argv);
	for (size_t i = 0; c->argc > 0 && i < ops->ncommands; i++)
		if (!strcmp(ops->commands[i].name, c->argv[0]))
			c->command = &ops->commands[i];
	if (c->command && c->command->slow) {
		start_thread(c);
		return;
	}
	make_reply(c);
	start_reply(c);
}

static void
on_readable(struct ev_loop *loop, ev_io *w, int events)
{
	struct client *c = w->data;
	char *from = c->in + c->in_len, *end;
	ssize_t n = recv(c->fd, from, CONTROL_REQUEST_MAX - c->in_len, 0);

	(void)loop, (void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_close(c);
		return;
	}
	c->in_len += (size_t)n;
	end = memchr(from, '\n', (size_t)n);
	if (!end && c->in_len < CONTROL_REQUEST_MAX)
		return;
	if (end)
		*end = '\0';
	else
		strcpy(c->in, "\\?"); /* longer than any request: malformed */
	have_line(c);
}

/* The server's own user and root; 0600 says the same, but a directory may have been opened up. */
static bool
may_control(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static void
turn_away(int fd, const char *why)
{
	/* a fresh socket has room for a line; a client that misses it sees the stream end */
	if (send(fd, why, strlen(why), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("control: %m");
	close(fd);
}

static void
on_accept(struct ev_loop *loop, ev_io *w, int events)
{
	struct admin *a = w->data;
	int fd = accept4(a->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *c;

	(void)events;
	if (fd < 0) {
		/* out of descriptors: the connection stays in the queue, and asking at once again
		 * would spin */
		if (errno == EMFILE || errno == ENFILE) {
			ev_io_stop(loop, &a->accept);
			ev_timer_set(&a->again, 1., 0.);
			ev_timer_start(loop, &a->again);
		}
		return;
	}
	if (!may_control(fd)) {
		turn_away(fd,
			  "error\nnot permitted: only root and the server's user may control it\n");
		return;
	}
	if (a->nclients == CLIENTS_MAX || !(c = calloc(1, sizeof *c))) {
		turn_away(fd, "error\nbusy: too many control connections; try again\n");
		return;
	}
	c->admin = a;
	c->fd = fd;
	c->next = a->clients;
	a->clients = c;
	a->nclients++;
	ev_io_init(&c->io, on_readable, fd, EV_READ);
	ev_timer_init(&c->deadline, on_deadline, CLIENT_SECONDS, 0.);
	c->io.data = c->deadline.data = c;
	ev_io_start(loop, &c->io);
	ev_timer_start(loop, &c->deadline);
}

static void
on_again(struct ev_loop *loop, ev_timer *w, int events)
{
	struct admin *a = w->data;

	(void)events;
	ev_io_start(loop, &a->accept);
}

/* Makes way for our socket: 0 when the name is free now, else an errno. Only a socket that nobody
 * answers is removed. */
static int
clear_name(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, error;

	if (lstat(addr->sun_path, &st) != 0)
		return errno == ENOENT ? 0 : errno;
	if (!S_ISSOCK(st.st_mode))
		return EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errno;
	error = connect(fd, (const struct sockaddr *)addr, sizeof *addr) == 0 ? 0 : errno;
	close(fd);
	if (error != ECONNREFUSED)
		return EADDRINUSE;
	return unlink(addr->sun_path) == 0 ? 0 : errno;
}

/* fchmod(2) on a socket sets the mode that bind(2) will give its file: there is no moment with a
 * wider one. */
static int
bind_socket(struct admin *a)
{
	struct sockaddr_un addr;
	struct stat st = {0};
	int dirfd, error = control_address(a->statedir, &addr, &dirfd);

	if (error)
		return error;
	error = clear_name(&addr);
	if (!error) {
		a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (a->fd < 0 || fchmod(a->fd, 0600) != 0 ||
		    bind(a->fd, (const struct sockaddr *)&addr, sizeof addr) != 0 ||
		    listen(a->fd, BACKLOG) != 0 || lstat(addr.sun_path, &st) != 0)
			error = errno;
	}
	if (!error) {
		a->dev = st.st_dev;
		a->ino = st.st_ino;
	}
	if (dirfd >= 0)
		close(dirfd);
	return error;
}

static void
unbind_socket(const struct admin *a)
{
	struct sockaddr_un addr;
	struct stat st;
	int dirfd;

	if (a->ino == 0 || control_address(a->statedir, &addr, &dirfd) != 0)
		return;
	if (lstat(addr.sun_path, &st) == 0 && st.st_dev == a->dev && st.st_ino == a->ino)
		unlink(addr.sun_path);
	if (dirfd >= 0)
		close(dirfd);
}

static const char *
remedy(int error)
{
	return error == EADDRINUSE
		   ? "another server runs with this state directory; stop it or give -s"
	       : error == EEXIST ? "something that is not a socket has this name; remove it"
				 : strerror(error);
}

struct admin *
admin_new(struct ev_loop *loop, const char *statedir, const struct admin_ops *ops, void *arg,
	  char *err, size_t errlen)
{
	struct admin *a = calloc(1, sizeof *a);
	int error = a && (a->statedir = strdup(statedir)) ? 0 : ENOMEM;

	if (a) {
		a->fd = -1;
		a->loop = loop;
		a->ops = ops;
		a->arg = arg;
		pthread_mutex_init(&a->lock, NULL);
		ev_io_init(&a->accept, on_accept, -1, EV_READ);
		ev_async_init(&a->wake, on_wake);
		ev_timer_init(&a->again, on_again, 1., 0.);
		a->accept.data = a->wake.data = a->again.data = a;
	}
	if (!error)
		error = bind_socket(a);
	if (error) {
		snprintf(err, errlen, "control socket %s/" CONTROL_SOCKET ": %s", statedir,
			 remedy(error));
		admin_free(a);
		return NULL;
	}
	ev_io_set(&a->accept, a->fd, EV_READ);
	ev_io_start(loop, &a->accept);
	ev_async_start(loop, &a->wake);
	return a;
}

void
admin_free(struct admin *a)
{
	if (!a)
		return;
	ev_io_stop(a->loop, &a->accept);
	ev_timer_stop(a->loop, &a->again);
	unbind_socket(a);
	if (a->fd >= 0)
		close(a->fd);
	for (struct client *c = a->clients; c; c = c->next)
		if (c->running)
			pthread_join(c->thread, NULL);
	ev_async_stop(a->loop, &a->wake);
	while (a->clients)
		client_close(a->clients); /* NOLINT: it leaves the list */
	pthread_mutex_destroy(&a->lock);
	free(a->statedir);
	free(a);
}
