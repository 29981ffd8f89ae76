/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program, in the order every daemon should have: options, standard descriptors, state
 * directory, privileged set-up, narrow, ready, loop, stop. SIGTERM and SIGINT drain and stop, a
 * second one stops at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "conf.h"
#include "log.h"
#include "server.h"

#define DRAIN_SECONDS 10.

/* Descriptors 0-2 must be open: else a file of ours would get such a number, and a stray message
 * would be written into it. */
static void
safe_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

static void
on_signal(struct ev_loop *ev, ev_signal *w, int revents)
{
	(void)revents;
	log_info("%s: finishing calls and stopping (again: at once)", strsignal(w->signum));
	ev_break(ev, EVBREAK_ALL);
}

/* The mask holds for every thread made later, so signals reach the main loop alone. */
static void
set_signals(void)
{
	struct sigaction sa = {.sa_handler = SIG_IGN};

	sigaction(SIGPIPE, &sa, NULL); /* splice(2) has no MSG_NOSIGNAL */
	sigaction(SIGXFSZ, &sa, NULL);
	umask(0);
}

static int
serve(const struct conf *conf)
{
	static struct server s;
	ev_signal term, intr;
	int rc = server_start(&s, conf);

	if (rc == 0) {
		ev_signal_init(&term, on_signal, SIGTERM);
		ev_signal_init(&intr, on_signal, SIGINT);
		ev_signal_start(s.ev, &term);
		ev_signal_start(s.ev, &intr);
		log_info("ready on port %u", s.port);
		sd_notify(0, "READY=1");
		ev_run(s.ev, 0);
		sd_notify(0, "STOPPING=1");
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
	}
	server_stop(&s, DRAIN_SECONDS);
	return rc;
}

int
main(int argc, char **argv)
{
	struct conf conf;
	int rc;

	safe_descriptors();
	rc = conf_parse(&conf, argc, argv, stdout, stderr);
	if (rc >= 0)
		return rc;
	log_set_level(conf.level);
	set_signals();
	return serve(&conf);
}
