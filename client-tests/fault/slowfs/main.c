/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slowfs: a FUSE file system that delays, holds, fails and forgets, for tests.
 *
 * Happy path: mirror a directory, or serve one image file as a disk, until SIGTERM; take commands
 * on a socket (control.h). Ends cleanly whatever is going on: operations that wait are failed, the
 * mount is detached even when it is busy, then the threads are joined. After SIGKILL the mount
 * point stays and needs `umount -l`.
 */
#include "control.h"
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ender {
	struct fuse_session *session;
	struct faults *faults;
	sigset_t signals;
};

static const char usage_text[] =
    "usage: slowfs [options] DIRECTORY|IMAGE MOUNTPOINT\n"
    "       slowfs --tell SOCKET COMMAND...\n"
    "  --control SOCKET     take commands here\n"
    "  --delay OP=MS        start with this delay; OP is lookup, getattr, open, read, write, "
    "readdir, fsync,\n"
    "                       change or all; repeatable\n"
    "  --delay-ms MS        the same for every operation\n"
    "  --direct-io          files are read past the page cache\n"
    "  --timeout SECONDS    names and attributes are remembered by the kernel (0)\n"
    "  --keep-cache         pages survive the next open\n"
    "  --threads N          operations at once (64)\n"
    "Commands: delay OP MS | hold OP | release OP | fail OP EIO|ENOSPC|...|0 | cut | power | "
    "forget | stat\n";

bool
fs_refuse(fuse_req_t req, enum op op)
{
	struct fs *fs = fuse_req_userdata(req);
	int err = faults_pass(fs->faults, op);

	if (err)
		fuse_reply_err(req, err);
	return err != 0;
}

static int
usage(void)
{
	fputs(usage_text, stderr);
	return 2;
}

static int
set_delay(struct faults *f, char *arg)
{
	char *ms = strchr(arg, '=');

	if (!ms)
		return -1;
	*ms++ = '\0';
	int one = faults_op_find(arg);
	if (one < 0 && strcmp(arg, "all") != 0)
		return -1;
	for (int op = 0; op < OP_COUNT; op++)
		if (one < 0 || one == op)
			faults_delay(f, (enum op)op, (unsigned)strtoul(ms, NULL, 10));
	return 0;
}

/* the signals that end the program; no thread takes them but the one that waits for them */
static sigset_t
signals_block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return set;
}

/* waits for a signal that ends the program and takes the session down under whatever still runs */
static void *
end_on_signal(void *arg)
{
	struct ender *e = arg;
	int sig;

	sigwait(&e->signals, &sig);
	faults_cut(e->faults, true);
	fuse_session_exit(e->session);
	fuse_session_unmount(e->session); /* wakes the readers of /dev/fuse */
	return NULL;
}

static int
run(struct fs *fs, const struct fuse_lowlevel_ops *ops, size_t ops_size, const char *mountpoint,
    unsigned threads)
{
	char *argv[] = {(char[]){"slowfs"},
			(char[]){"-oallow_other,default_permissions,fsname=slowfs,dev,suid"}, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(2, argv);
	struct ender ender = {.faults = fs->faults, .signals = signals_block()};
	pthread_t thread;
	int rc = 1;

	ender.session = fuse_session_new(&args, ops, ops_size, fs);
	if (!ender.session || fuse_session_mount(ender.session, mountpoint) != 0)
		return 1;
	struct fuse_loop_config *cfg = fuse_loop_cfg_create();
	fuse_loop_cfg_set_max_threads(cfg, threads);
	fuse_loop_cfg_set_idle_threads(cfg, threads);
	if (pthread_create(&thread, NULL, end_on_signal, &ender) == 0) {
		rc = fuse_session_loop_mt(ender.session, cfg) < 0;
		/* unmounted from outside: the thread still waits */
		pthread_kill(thread, SIGTERM);
		pthread_join(thread, NULL);
	}
	fuse_loop_cfg_destroy(cfg);
	fuse_session_destroy(ender.session);
	fuse_opt_free_args(&args);
	return rc;
}

/* directory or image: fills fs, returns the operations; NULL after a message */
static const struct fuse_lowlevel_ops *
open_source(struct fs *fs, const char *source)
{
	struct stat st;

	if (stat(source, &st) < 0) {
		fprintf(stderr, "slowfs: %s: %m\n", source);
		return NULL;
	}
	int fd = open(source, S_ISDIR(st.st_mode) ? O_PATH | O_CLOEXEC : O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "slowfs: %s: %m\n", source);
		return NULL;
	}
	if (S_ISDIR(st.st_mode))
		return nodes_init(&fs->nodes, fd) == 0 ? &mirror_ops : NULL;
	fs->disk = disk_new(fd);
	return fs->disk ? &image_ops : NULL;
}

enum {
	OPT_CONTROL = 256,
	OPT_DELAY,
	OPT_DELAY_MS,
	OPT_DIRECT,
	OPT_TIMEOUT,
	OPT_KEEP,
	OPT_THREADS,
	OPT_TELL
};

static const struct option options[] = {
    {"control", required_argument, NULL, OPT_CONTROL},
    {"delay", required_argument, NULL, OPT_DELAY},
    {"delay-ms", required_argument, NULL, OPT_DELAY_MS},
    {"direct-io", no_argument, NULL, OPT_DIRECT},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"keep-cache", no_argument, NULL, OPT_KEEP},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"tell", required_argument, NULL, OPT_TELL},
    {NULL, 0, NULL, 0},
};

int
main(int argc, char **argv)
{
	struct fs fs = {.faults = faults_new()};
	struct control control = {.faults = fs.faults};
	const char *socket = NULL;
	unsigned threads = 64;
	int opt;

	if (!fs.faults)
		return 1;
	while ((opt = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (opt == OPT_TELL)
			return control_tell(optarg, argc - optind, argv + optind);
		if (opt == OPT_CONTROL)
			socket = optarg;
		else if (opt == OPT_DELAY && set_delay(fs.faults, optarg) == 0)
			continue;
		else if (opt == OPT_DELAY_MS)
			for (int op = 0; op < OP_COUNT; op++)
				faults_delay(fs.faults, (enum op)op,
					     (unsigned)strtoul(optarg, NULL, 10));
		else if (opt == OPT_DIRECT)
			fs.direct_io = true;
		else if (opt == OPT_TIMEOUT)
			fs.timeout = strtod(optarg, NULL);
		else if (opt == OPT_KEEP)
			fs.keep_cache = true;
		else if (opt == OPT_THREADS)
			threads = (unsigned)strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	if (argc - optind != 2)
		return usage();
	umask(0);
	signal(SIGPIPE, SIG_IGN);
	signals_block(); /* before there are threads */
	const struct fuse_lowlevel_ops *ops = open_source(&fs, argv[optind]);
	if (!ops)
		return 1;
	control.disk = fs.disk;
	int err = socket ? control_listen(socket, &control) : 0;
	if (err) {
		fprintf(stderr, "slowfs: %s: %s\n", socket, strerror(err));
		return 1;
	}
	int rc = run(&fs, ops, sizeof *ops, argv[optind + 1], threads);
	if (fs.disk)
		disk_free(fs.disk);
	else
		nodes_free(&fs.nodes);
	if (socket)
		unlink(socket);
	return rc; /* the control thread may still look at the faults: they end with the process */
}
