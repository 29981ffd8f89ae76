/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"
#include "ctl.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_SECONDS 60

/* A connected socket, or -1 with errno. */
static int
dial(const struct ctl *ctl)
{
	struct timeval patience = {.tv_sec = ANSWER_SECONDS};
	struct sockaddr_un addr;
	int dirfd, fd, error = control_address(ctl->statedir, &addr, &dirfd);

	if (error) {
		errno = error;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
		error = connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0 ? 0 : errno;
	}
	if (dirfd >= 0)
		close(dirfd);
	if (fd >= 0 && error) {
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* Everything up to the end of the stream, with a NUL behind it; 0 or an errno. */
static int
read_all(int fd, char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);
	char buf[16384];
	ssize_t n = 0;
	int error = 0;

	if (!out)
		return errno;
	while ((n = recv(fd, buf, sizeof buf, 0)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			error = errno == EAGAIN ? ETIMEDOUT : errno;
			break;
		}
		fwrite(buf, 1, (size_t)n, out);
	}
	if (fclose(out) != 0 && !error)
		error = errno;
	return error;
}

/* Takes the first line off: "ok" or "error". */
static int
split_reply(struct ctl_reply *r)
{
	size_t head = r->len >= 3 && !memcmp(r->text, "ok\n", 3)      ? 3
		      : r->len >= 6 && !memcmp(r->text, "error\n", 6) ? 6
								      : 0;

	if (head == 0)
		return EPROTO;
	r->ok = head == 3;
	r->len -= head;
	memmove(r->text, r->text + head, r->len + 1);
	return 0;
}

int
ctl_ask(const struct ctl *ctl, int argc, char *const *argv, struct ctl_reply *r)
{
	char line[CONTROL_REQUEST_MAX + 1];
	int fd, error = control_encode(line, sizeof line, argc, argv);
	size_t len = strlen(line), off = 0;

	memset(r, 0, sizeof *r);
	if (error)
		return error;
	fd = dial(ctl);
	if (fd < 0)
		return errno;
	while (!error && off < len) {
		ssize_t n = send(fd, line + off, len - off, MSG_NOSIGNAL);

		if (n > 0)
			off += (size_t)n;
		else if (errno == EPIPE)
			break; /* turned away: the reason is there to be read */
		else if (errno != EINTR)
			error = errno == EAGAIN ? ETIMEDOUT : errno;
	}
	if (!error)
		error = read_all(fd, &r->text, &r->len);
	close(fd);
	if (!error)
		error = split_reply(r);
	if (error) {
		free(r->text);
		r->text = NULL;
	}
	return error;
}

int
ctl_explain(const struct ctl *ctl, int error)
{
	const char *why = strerror(error);

	if (error == ENOENT || error == ECONNREFUSED)
		why = "no server runs with this state directory; start spliced, or name another "
		      "one with -s";
	else if (error == EACCES)
		why = "not permitted; be root or the server's user";
	else if (error == ETIMEDOUT)
		why = "no answer within a minute; the server may be stopped or overloaded";
	else if (error == E2BIG)
		why = "the request is too long";
	else if (error == EPROTO)
		why = "what answered does not speak like spliced; check -s";
	fprintf(stderr, "splicectl: %s/" CONTROL_SOCKET ": %s\n", ctl->statedir, why);
	return CTL_FAILED;
}

int
ctl_pass_on(const struct ctl *ctl, int argc, char **argv)
{
	struct ctl_reply r;
	int error = ctl_ask(ctl, argc, argv, &r), status;

	if (error)
		return ctl_explain(ctl, error);
	status = r.ok ? CTL_OK : CTL_FAILED;
	if (r.ok)
		fwrite(r.text, 1, r.len, stdout);
	else
		fprintf(stderr, "splicectl: %s", r.len ? r.text : "refused\n");
	free(r.text);
	if (fflush(stdout) != 0) {
		fprintf(stderr, "splicectl: cannot write the reply: %s\n", strerror(errno));
		status = CTL_FAILED;
	}
	return status;
}
