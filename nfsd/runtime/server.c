/* SPDX-License-Identifier: BSD-2-Clause */
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "admin.h"
#include "buf.h"
#include "commands.h"
#include "log.h"
#include "reload.h"
#include "resolver.h"
#include "rpcb.h"
#include "statedir.h"
#include "sweep.h"
#include "vdir.h"

/* Each object may take two descriptors and each connection one: take all the limit that we may
 * have. */
static void
raise_limits(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r); /* if not: fewer cached objects */
	}
}

static int
open_state(struct server *s)
{
	char err[512] = "";
	int dir =
	    statedir_open(s->conf->statedir, err, sizeof err); /* makes it at the first start */

	if (dir < 0) {
		log_error("%s", err);
		return 1;
	}
	close(dir);
	kernel_probe(&s->kernel, s->conf->statedir);
	if (s->kernel.missing[0])
		log_info("this kernel or these capabilities lack: %s; the server does without",
			 s->kernel.missing);
	if (ident_init(&s->ident, s->conf->statedir, err, sizeof err) != 0 ||
	    handle_key_load(&s->key, s->conf->statedir, err, sizeof err) != 0 ||
	    !(s->store = store_open(s->conf->statedir, err, sizeof err))) {
		log_error("%s", err);
		return 1;
	}
	s->resolve = (struct resolve){.key = &s->key, .store = s->store};
	return 0;
}

/* Addresses of names, groups of users: another answer than before makes what was decided void. */
static void
names_changed(void *arg)
{
	engine_renew_table(arg);
}

static int
open_names(struct server *s)
{
	struct resolver_ops ops = resolver_ops_libc;

	ops.changed = names_changed;
	ops.arg = &s->engine;
	s->who = resolver_new(&ops, &resolver_times_default);
	if (s->who)
		return 0;
	log_error("cannot start the thread that asks for names: %s", strerror(errno));
	return 1;
}

/* What makes exports keeps the capabilities for it; everything that is started afterwards does
 * without. */
static int
open_exports(struct server *s)
{
	char err[512] = "";
	struct export_env env = {.kernel = &s->kernel,
				 .key = &s->key,
				 .store = s->store,
				 .unprivileged = !s->ident.can_switch};

	engine_init(&s->engine);
	s->reload = reload_new(s->conf, &env, &s->engine);
	if (!s->reload)
		return 1;
	if (ident_narrow(&s->ident, err, sizeof err) != 0) {
		log_error("%s", err);
		return 1;
	}
	return open_names(s);
}

/* Replies kept for repeated calls. The state directory is ours alone: the store is open. */
static int
open_drc(struct server *s)
{
	char msg[512] = "";
	struct drc_info info;

	s->engine.drc = drc_open(s->conf->statedir, NULL, msg, sizeof msg);
	if (!s->engine.drc) {
		log_error("%s", msg);
		return 1;
	}
	if (*msg)
		log_warn("%s", msg);
	drc_info(s->engine.drc, &info);
	if (info.unfinished)
		log_info("%u calls had begun when the server ended; should a client repeat one, "
			 "its outcome is looked at",
			 info.unfinished);
	return 0;
}

static int
open_engine(struct server *s)
{
	char err[512] = "";

	s->files = files_new(&s->resolve, &s->ident, 0);
	if (!s->files) {
		log_error("out of memory");
		return 1;
	}
	s->vfs = (struct vfs){.files = s->files,
			      .ident = &s->ident,
			      .kernel = &s->kernel,
			      .resolve = &s->resolve,
			      .splice_from = s->conf->splice_from,
			      .splice_deep = s->conf->splice_from == CONF_SPLICE_AUTO
						 ? CONF_SPLICE_DEEP
						 : s->conf->splice_from};
	s->engine.vfs = &s->vfs;
	s->engine.key = &s->key;
	s->engine.store = s->store;
	s->engine.unprivileged = !s->ident.can_switch;
	s->engine.manage_gids = s->conf->manage_gids && s->ident.can_switch;
	reload_ready(s->reload, s->who, s->files);
	if (open_drc(s) != 0)
		return 1;
	if (engine_check(&s->engine, err, sizeof err) != 0) {
		log_error("internal error: %s", err);
		return 1;
	}
	return 0;
}

static int
open_runtime(struct server *s)
{
	s->pool = pool_new(s->conf->workers);
	if (s->pool)
		s->sweep = sweep_new(s->ev, s->pool, &s->engine, &s->resolve);
	if (!s->pool || !s->sweep) {
		log_error("cannot start workers: %s", strerror(errno));
		return 1;
	}
	for (; s->nloops < s->conf->loops; s->nloops++) {
		s->loops[s->nloops] =
		    loop_new(&s->engine, s->pool, &s->pipes, s->nloops, s->conf->receive_from);
		if (!s->loops[s->nloops]) {
			log_error("cannot start loop %u of %u: %s", s->nloops + 1, s->conf->loops,
				  strerror(errno));
			return 1;
		}
	}
	return 0;
}

static int
open_port(struct server *s)
{
	char err[512] = "";

	s->port = s->conf->port;
	s->listener = listener_new(s->ev, s->conf->addrs, s->conf->naddrs, &s->port, s->loops,
				   s->nloops, err, sizeof err);
	if (!s->listener) {
		log_error("%s", err);
		return 1;
	}
	s->udp = udp_new(s->ev, s->conf->addrs, s->conf->naddrs, s->port, &s->engine, s->pool, err,
			 sizeof err);
	if (!s->udp)
		log_warn("%s; MOUNT is served over TCP alone", err);
	return 0;
}

static int
open_control(struct server *s)
{
	char err[512] = "";

	s->admin = admin_new(s->ev, s->conf->statedir, &server_commands, s, err, sizeof err);
	if (!s->admin) {
		log_error("%s", err);
		return 1;
	}
	return 0;
}

/* The name of the port for clients that ask rpcbind; never in the way of serving. */
static int
open_registration(struct server *s)
{
	if (!s->conf->no_rpcbind)
		s->registrar = rpcb_start(s->port, true);
	return 0;
}

int
server_start(struct server *s, const struct conf *conf)
{
	int (*const steps[])(struct server *) = {open_state,	   open_exports, open_engine,
						 open_runtime,	   open_port,	 open_control,
						 open_registration};
	int rc = 0;

	memset(s, 0, sizeof *s);
	s->conf = conf;
	s->ev = ev_default_loop(0);
	pipe_stock_init(&s->pipes, ident_pipes);
	s->started = ev_time();
	raise_limits();
	budget_set_limit(budget_default());
	for (size_t i = 0; rc == 0 && i < sizeof steps / sizeof *steps; i++)
		rc = steps[i](s);
	return rc;
}

void
server_stop(struct server *s, double seconds)
{
	if (s->registrar)
		rpcb_stop(s->registrar);
	if (s->listener)
		listener_free(s->listener);
	if (s->udp)
		udp_stop(s->udp);
	sweep_stop(s->sweep);
	admin_free(s->admin);
	for (unsigned i = 0; i < s->nloops; i++)
		loop_stop(s->loops[i], seconds);
	for (unsigned i = 0; i < s->nloops; i++)
		loop_join(s->loops[i]);
	if (s->pool)
		pool_free(s->pool);
	if (s->udp)
		udp_free(s->udp);
	sweep_free(s->sweep);
	reload_free(s->reload);
	resolver_free(s->who);
	drc_close(s->engine.drc);
	if (s->engine.table)
		engine_fini(&s->engine);
	if (s->files)
		files_free(s->files);
	vdir_free_cache();
	if (s->store)
		store_close(s->store);
	pipe_stock_fini(&s->pipes);
	buf_trim();
}
