/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"

#include "disk.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct listener {
	int fd;
	struct control *control;
};

static const struct {
	const char *name;
	int err;
} errors[] = {
    {"0", 0},		{"EIO", EIO},	    {"ENOSPC", ENOSPC}, {"EACCES", EACCES},
    {"ESTALE", ESTALE}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS},
};

static int
error_find(const char *name)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (strcmp(name, errors[i].name) == 0)
			return errors[i].err;
	return -1;
}

/* a command about one kind of operation; NULL or what is wrong with it */
static const char *
command_op(struct faults *f, const char *verb, enum op op, const char *arg)
{
	if (strcmp(verb, "hold") == 0 || strcmp(verb, "release") == 0) {
		faults_hold(f, op, *verb == 'h');
		return NULL;
	}
	if (!arg)
		return "needs a value";
	if (strcmp(verb, "delay") == 0) {
		faults_delay(f, op, (unsigned)strtoul(arg, NULL, 10));
		return NULL;
	}
	if (strcmp(verb, "fail") == 0) {
		if (error_find(arg) < 0)
			return "unknown error name";
		faults_fail(f, op, error_find(arg));
		return NULL;
	}
	return "unknown command";
}

static const char *
command_world(struct control *c, const char *verb, FILE *out)
{
	bool drop = strcmp(verb, "cut") == 0 || strcmp(verb, "forget") == 0;

	if (strcmp(verb, "cut") == 0 || strcmp(verb, "power") == 0)
		faults_cut(c->faults, *verb == 'c');
	else if (strcmp(verb, "stat") == 0)
		faults_print(c->faults, out);
	else if (strcmp(verb, "forget") != 0)
		return "unknown command";
	if (drop && c->disk)
		disk_forget(c->disk);
	return NULL;
}

static const char *
command(struct control *c, char *line, FILE *out)
{
	char *save;
	char *verb = strtok_r(line, " \n", &save);
	char *name = strtok_r(NULL, " \n", &save);
	char *arg = strtok_r(NULL, " \n", &save);

	if (!verb)
		return "empty command";
	if (!name)
		return command_world(c, verb, out);
	if (strcmp(name, "all") != 0) {
		int op = faults_op_find(name);
		return op < 0 ? "unknown operation" : command_op(c->faults, verb, (enum op)op, arg);
	}
	const char *wrong = NULL;
	for (int op = 0; op < OP_COUNT && !wrong; op++)
		wrong = command_op(c->faults, verb, (enum op)op, arg);
	return wrong;
}

static void *
serve(void *arg)
{
	struct listener *l = arg;
	char line[256];

	for (;;) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
		FILE *io = fd < 0 ? NULL : fdopen(fd, "r+");
		if (!io)
			continue;
		if (fgets(line, sizeof line, io)) {
			const char *wrong = command(l->control, line, io);
			fprintf(io, "%s%s\n", wrong ? "error: " : "ok", wrong ? wrong : "");
		}
		fclose(io);
	}
	return NULL;
}

static int
address(struct sockaddr_un *sun, const char *path)
{
	memset(sun, 0, sizeof *sun);
	sun->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof sun->sun_path)
		return ENAMETOOLONG;
	strcpy(sun->sun_path, path);
	return 0;
}

int
control_listen(const char *path, struct control *control)
{
	struct sockaddr_un sun;
	pthread_t thread;
	int err = address(&sun, path);

	if (err)
		return err;
	struct listener *l = malloc(sizeof *l);
	if (!l)
		return ENOMEM;
	l->control = control;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unlink(path);
	if (l->fd < 0 || bind(l->fd, (struct sockaddr *)&sun, sizeof sun) < 0 ||
	    listen(l->fd, 8) < 0) {
		err = errno;
		close(l->fd);
		free(l);
		return err;
	}
	/* the thread owns l from here on, until the process ends */
	err = pthread_create(&thread, NULL, serve, l);
	if (!err)
		pthread_detach(thread);
	return err;
}

int
control_tell(const char *path, int argc, char **words)
{
	struct sockaddr_un sun;
	char line[256], last[256] = "";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (address(&sun, path) || fd < 0 || connect(fd, (struct sockaddr *)&sun, sizeof sun) < 0) {
		fprintf(stderr, "slowfs: nobody answers at %s: %m\n", path);
		return 2;
	}
	FILE *io = fdopen(fd, "r+");
	if (!io)
		return 2;
	for (int i = 0; i < argc; i++)
		fprintf(io, "%s%c", words[i], i + 1 < argc ? ' ' : '\n');
	fflush(io);
	while (fgets(line, sizeof line, io)) {
		memcpy(last, line, sizeof last);
		fputs(line, stdout);
	}
	fclose(io);
	return strcmp(last, "ok\n") == 0 ? 0 : 1;
}
