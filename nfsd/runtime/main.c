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
#include "hints.h"
#include "log.h"
#include "reload.h"
#include "server.h"

#define DRAIN_SECONDS 10.
#define HINTS_MAX 8 /* exports whose mount commands are printed at the start */

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

static void
on_reload(struct ev_loop *ev, ev_signal *w, int revents)
{
	(void)ev;
	(void)revents;
	reload_request(w->data);
}

static void
set_signals(void)
{
	struct sigaction sa = {.sa_handler = SIG_IGN};

	sigaction(SIGPIPE, &sa, NULL); /* splice(2) has no MSG_NOSIGNAL */
	sigaction(SIGXFSZ, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL); /* until there is something to reload */
	umask(0);
}

/* ---- what is said at the start ---- */

/* Only this machine may mount it when every rule names loopback. */
static bool
is_local(const struct rules *r)
{
	static const uint8_t v4[13] = {[10] = 0xff, [11] = 0xff, [12] = 127};

	for (size_t i = 0; i < r->n; i++) {
		const struct export_client *c = &r->v[i];

		if (c->kind > CLIENT_SUBNET || c->named ||
		    (!IN6_IS_ADDR_LOOPBACK(&c->addr) && memcmp(&c->addr, v4, sizeof v4) != 0))
			return false;
	}
	return true;
}

static void
say_hints(struct server *s)
{
	struct export_table *t = engine_table(&s->engine);
	struct hint_export *ex = calloc(t->n + 1, sizeof *ex);
	struct sockaddr_storage any = {.ss_family = AF_INET6}, at[CONF_ADDRS_MAX + 1];
	const struct sockaddr *addrs[CONF_ADDRS_MAX + 1];
	struct hints h = {.exports = ex,
			  .addrs = addrs,
			  .naddrs = s->conf->naddrs,
			  .rpcbind = !s->conf->no_rpcbind};

	for (size_t i = 0; ex && i < t->n && h.nexports < HINTS_MAX; i++)
		if (!t->crossed[i])
			ex[h.nexports++] = (struct hint_export){.path = t->v[i]->path,
								.local = is_local(t->rules[i])};
	for (size_t i = 0; i < h.naddrs; i++)
		at[i] = s->conf->addrs[i].addr;
	if (h.naddrs == 0)
		at[h.naddrs++] = any;
	for (size_t i = 0; i < h.naddrs; i++) {
		/* sin_port and sin6_port lie at the same place */
		((struct sockaddr_in *)&at[i])->sin_port = htons(s->port);
		addrs[i] = (struct sockaddr *)&at[i];
	}
	if (ex)
		hints_print(stderr, &h);
	free(ex);
	export_table_put(t);
}

/* ---- detaching ---- */

/* -D: the parent waits for the child's word, so that its exit status tells whether the server is
 * up. Before anything is opened. */
static int
detach(void)
{
	int p[2];
	char ok = 0;

	if (pipe2(p, O_CLOEXEC) < 0) {
		log_error("cannot detach: %s", strerror(errno));
		return -1;
	}
	pid_t pid = fork();

	if (pid < 0) {
		log_error("cannot detach: %s", strerror(errno));
		return -1;
	}
	if (pid > 0) {
		close(p[1]);
		_exit(read(p[0], &ok, 1) == 1 ? 0 : 1);
	}
	close(p[0]);
	setsid();
	return p[1];
}

static void
report_ready(int parent)
{
	sd_notify(0, "READY=1");
	if (parent < 0)
		return;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < 2; fd++) /* standard error stays: it is the log */
		dup2(null, fd);
	if (write(parent, "", 1) != 1)
		log_warn("nobody waits for this server to be ready");
	close(parent);
}

/* ---- -n ---- */

/* Checks what the command line and the exports files say, opening nothing that a running server
 * holds, and prints it as it is understood. */
static int
check(const struct conf *c)
{
	struct entries e = {0};
	struct diag d = {0};
	struct plan p = {0};
	bool good = reload_read(c, &e, &d);

	good = plan_make(&p, &e, geteuid() != 0, &d) && good;
	diag_print(&d, stderr);
	if (good)
		plan_print(&p, stdout);
	plan_free(&p);
	entries_free(&e);
	diag_free(&d);
	return good ? 0 : 1;
}

/* ---- running ---- */

static int
serve(const struct conf *conf, int parent)
{
	static struct server s;
	ev_signal term, intr, hup;
	int rc = server_start(&s, conf);

	if (rc == 0) {
		ev_signal_init(&term, on_signal, SIGTERM);
		ev_signal_init(&intr, on_signal, SIGINT);
		ev_signal_init(&hup, on_reload, SIGHUP);
		hup.data = s.reload;
		ev_signal_start(s.ev, &term);
		ev_signal_start(s.ev, &intr);
		ev_signal_start(s.ev, &hup);
		if (conf->level >= LOG_LVL_INFO)
			say_hints(&s);
		log_info("ready on port %u", s.port);
		report_ready(parent);
		ev_run(s.ev, 0);
		sd_notify(0, "STOPPING=1");
		ev_signal_stop(s.ev, &term);
		ev_signal_stop(s.ev, &intr);
		ev_signal_stop(s.ev, &hup);
		signal(SIGTERM, SIG_DFL); /* the second one ends it */
		signal(SIGINT, SIG_DFL);
	}
	server_stop(&s, DRAIN_SECONDS);
	return rc;
}

int
main(int argc, char **argv)
{
	struct conf conf;
	int rc, parent = -1;

	safe_descriptors();
	rc = conf_parse(&conf, argc, argv, stdout, stderr);
	if (rc < 0)
		rc = conf_nfs(&conf, "", stderr);
	if (rc >= 0)
		return rc;
	log_set_level(conf.level);
	if (conf.rootdir[0])
		log_info("nfs.conf, rootdir: paths of exports are beneath %s", conf.rootdir);
	set_signals();
	if (conf.check)
		return check(&conf);
	if (conf.detach && (parent = detach()) < 0)
		return 1;
	return serve(&conf, parent);
}
