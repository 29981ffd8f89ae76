/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVER_H
#define SERVER_H
/*
 * Everything a running server is made of, built bottom to top by server_start() and taken down in
 * reverse by server_stop(). No part knows more of the others than what it was handed.
 */
#include "call.h"
#include "conf.h"
#include "export.h"
#include "file.h"
#include "ident.h"
#include "kernel.h"
#include "listen.h"
#include "loop.h"
#include "pool.h"
#include "resolve.h"
#include "store.h"
#include "udp.h"
#include "vfs.h"
#include <ev.h>

struct admin;
struct registrar;
struct reload;
struct resolver;
struct sweep;

struct server {
	const struct conf *conf;
	struct ev_loop *ev; /* the main thread's: acceptor, control socket, signals */
	struct kernel kernel;
	struct ident ident;
	struct handle_key key;
	struct store *store;
	struct resolve resolve;
	struct files *files;
	struct vfs vfs;
	struct engine engine;
	struct reload *reload;
	struct resolver *who;
	struct pool *pool;
	struct pipe_stock pipes;
	struct loop *loops[CONF_LOOPS_MAX];
	unsigned nloops;
	struct listener *listener;
	struct udp *udp;
	struct sweep *sweep;
	struct registrar *registrar; /* with rpcbind */
	struct admin *admin;
	uint16_t port;
	ev_tstamp started;
};

/*
 * Brings the server up to accepting connections. 0, or the exit status after one or more lines in
 * the log have said what is wrong and what to do. On failure the caller still calls server_stop().
 */
int server_start(struct server *, const struct conf *);
/* Stops accepting, lets calls end and replies leave for at most `seconds`, closes the store. */
void server_stop(struct server *, double seconds);

#endif
