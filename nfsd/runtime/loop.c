/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "conn.h"
#include "log.h"
#include "stat.h"

#define IDLE_TASKS 256
#define IDLE_PIPES 9	  /* a batch (BATCH_PIPES) and its heads */
#define STALL_NS 1000000u /* an iteration longer than this is counted with its cause */

const struct loop_limits loop_limits = {
    .record_max = (1u << 20) + 4096, /* wtmax and its header */
    .unsent_max = 4u << 20,
    .calls_max = 128,
    .kept_max = 4u << 20,
    .batch_calls = 64,
    .batch_bytes = 1u << 20,
    .turn_ns = 2000000,
    .stall_s = 1.0,
};

struct arrival {
	struct arrival *next;
	int fd;
	struct sockaddr_storage addr;
};

struct ask {
	struct ask *next;
	void (*fn)(struct loop *, void *);
	void *arg;
	bool done;
	pthread_cond_t cond;
};

uint64_t
loop_clock(struct loop *l)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	l->now_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return l->now_ns;
}

struct task *
task_take(struct loop *l)
{
	struct task *t = l->idle;

	if (t) {
		l->idle = t->next;
		l->nidle--;
	} else {
		t = malloc(sizeof *t);
		if (!t)
			return NULL;
		budget_add(sizeof *t);
		memset(&t->job, 0, offsetof(struct task, call));
		call_init(&t->call, l->engine);
		t->home = l;
	}
	t->next = NULL;
	t->msg = (struct rec_msg){0};
	return t;
}

void
task_drop_pipe(struct loop *l, struct task *t)
{
	pipes_give(&l->pipes, t->pipe);
	pipes_give(&l->pipes, t->reply.full_pipe); /* holds bytes: it is closed */
	t->pipe = t->reply.full_pipe = NULL;
	if (!t->data)
		return;
	budget_sub(t->data->bytes);
	t->data->bytes = 0;
	conn_distrust(t->data); /* a WRITE that failed has left some */
	pipes_give(&l->pipes, t->data);
	t->data = NULL;
}

static void
task_free(struct task *t)
{
	budget_sub(sizeof *t);
	free(t);
}

void
task_give(struct loop *l, struct task *t)
{
	call_reset(&t->call);
	rec_put(NULL, &t->msg);
	task_drop_pipe(l, t);
	t->conn = NULL;
	if (l->nidle >= IDLE_TASKS) {
		task_free(t);
		return;
	}
	t->next = l->idle;
	l->idle = t;
	l->nidle++;
}

void
loop_ready(struct loop *l, struct conn *c)
{
	if (c->in_ready)
		return;
	c->in_ready = true;
	c->ready_next = NULL;
	*l->ready_last = c;
	l->ready_last = &c->ready_next;
	ev_idle_start(l->ev, &l->busy); /* do not wait in poll */
}

/* ---- the inbox ---- */

/* With the lock: wakes the loop unless it is already about to look. */
static void
nudge(struct loop *l)
{
	if (l->in_woken)
		return;
	l->in_woken = true;
	ev_async_send(l->ev, &l->wake);
}

void
loop_post(struct loop *l, struct task *t)
{
	t->next = NULL;
	pthread_mutex_lock(&l->lock);
	*l->in_last = t;
	l->in_last = &t->next;
	nudge(l);
	pthread_mutex_unlock(&l->lock);
}

void
loop_adopt(struct loop *l, int fd, const struct sockaddr_storage *addr)
{
	struct arrival *a = malloc(sizeof *a);

	if (!a) {
		close(fd);
		return;
	}
	__atomic_fetch_add(&l->promised, 1, __ATOMIC_RELAXED);
	a->fd = fd;
	a->addr = *addr;
	pthread_mutex_lock(&l->lock);
	a->next = l->in_conns;
	l->in_conns = a;
	nudge(l);
	pthread_mutex_unlock(&l->lock);
}

void
loop_make_room(struct loop *l)
{
	__atomic_store_n(&l->make_room, true, __ATOMIC_RELAXED);
}

bool
loop_ask(struct loop *l, void (*fn)(struct loop *, void *), void *arg)
{
	struct ask a = {.fn = fn, .arg = arg};

	pthread_cond_init(&a.cond, NULL);
	pthread_mutex_lock(&l->lock);
	a.next = l->in_asks;
	/* cppcheck-suppress autoVariables ; we stay here until it is done */
	l->in_asks = &a;
	nudge(l);
	while (!a.done)
		pthread_cond_wait(&a.cond, &l->lock);
	pthread_mutex_unlock(&l->lock);
	pthread_cond_destroy(&a.cond);
	return true;
}

void
loop_stop(struct loop *l, double seconds)
{
	pthread_mutex_lock(&l->lock);
	l->in_stop = seconds;
	nudge(l);
	pthread_mutex_unlock(&l->lock);
}

static void
take_results(struct loop *l, struct task *t)
{
	while (t) {
		struct task *next = t->next;

		conn_result(t->conn, t);
		t = next;
	}
	while (l->touched) {
		struct conn *c = l->touched;

		l->touched = c->touched_next;
		c->in_touched = false;
		conn_touched(c);
	}
}

static void
take_arrivals(struct loop *l, struct arrival *a)
{
	while (a) {
		struct arrival *next = a->next;

		if (l->stopping)
			close(a->fd);
		else
			conn_new(l, a->fd, &a->addr);
		free(a);
		__atomic_fetch_sub(&l->promised, 1, __ATOMIC_RELAXED);
		a = next;
	}
}

static void
take_asks(struct loop *l, struct ask *a)
{
	while (a) {
		struct ask *next = a->next;

		a->fn(l, a->arg);
		pthread_mutex_lock(&l->lock);
		a->done = true;
		pthread_cond_signal(&a->cond);
		pthread_mutex_unlock(&l->lock);
		a = next;
	}
}

/* Order to end: read no more, let what runs end, or leave at once. */
static void
begin_stop(struct loop *l, double seconds)
{
	struct conn *c, *next;

	l->stopping = true;
	l->deadline = ev_now(l->ev) + seconds;
	for (c = l->conns; c; c = next) {
		next = c->next;
		if (seconds > 0)
			conn_drain(c);
		else
			conn_close(c, "the server stops");
	}
}

static void
on_wake(struct ev_loop *ev, ev_async *w, int revents)
{
	struct loop *l = w->data;

	(void)ev;
	(void)revents;
	pthread_mutex_lock(&l->lock);
	struct task *t = l->in_tasks;
	struct arrival *a = l->in_conns;
	struct ask *q = l->in_asks;
	double stop = l->in_stop;

	l->in_tasks = NULL;
	l->in_last = &l->in_tasks;
	l->in_conns = NULL;
	l->in_asks = NULL;
	l->in_stop = -1;
	l->in_woken = false;
	pthread_mutex_unlock(&l->lock);
	loop_clock(l);
	take_results(l, t);
	take_arrivals(l, a);
	take_asks(l, q);
	if (stop >= 0)
		begin_stop(l, stop);
	if (l->stopping && !l->conns)
		ev_break(l->ev, EVBREAK_ALL);
}

/* ---- the iteration ---- */

/* After the events of an iteration: connections that asked for a turn, and the account of a long
 * one. */
static void
on_prepare(struct ev_loop *ev, ev_prepare *w, int revents)
{
	struct loop *l = w->data;
	struct conn *c = l->ready;

	(void)revents;
	l->ready = NULL;
	l->ready_last = &l->ready;
	ev_idle_stop(ev, &l->busy);
	while (c) {
		struct conn *next = c->ready_next;

		c->in_ready = false;
		conn_turn(c);
		c = next;
	}
	if (l->stopping && !l->conns)
		ev_break(ev, EVBREAK_ALL);
	uint64_t began = l->lap_ns, took = loop_clock(l) - began;
	if (began != 0 && took > STALL_NS) {
		uint64_t rest = took - l->in_calls_ns - l->in_send_ns;

		if (l->in_calls_ns >= l->in_send_ns && l->in_calls_ns >= rest)
			stat_inc(ST_STALL_RUN);
		else
			stat_inc(l->in_send_ns >= rest ? ST_STALL_SEND : ST_STALL_OTHER);
	}
}

static void
on_check(struct ev_loop *ev, ev_check *w, int revents)
{
	struct loop *l = w->data;

	(void)ev;
	(void)revents;
	l->lap_ns = loop_clock(l);
	l->in_calls_ns = l->in_send_ns = 0;
	stat_inc(ST_WAKEUPS);
}

static void
on_busy(struct ev_loop *ev, ev_idle *w, int revents)
{
	(void)ev;
	(void)w;
	(void)revents; /* its being active keeps poll from waiting */
}

static void
on_tick(struct ev_loop *ev, ev_timer *w, int revents)
{
	struct loop *l = w->data;
	struct conn *c, *next;
	bool room = __atomic_exchange_n(&l->make_room, false, __ATOMIC_RELAXED);

	(void)revents;
	__atomic_store_n(&l->bytes_recent, __atomic_load_n(&l->bytes_recent, __ATOMIC_RELAXED) / 2,
			 __ATOMIC_RELAXED);
	for (c = l->conns; c; c = next) {
		next = c->next;
		if (l->stopping && ev_now(ev) >= l->deadline)
			conn_close(c, "not finished when the server had to stop");
		else
			conn_tick(c, room);
	}
	if (l->stopping && !l->conns)
		ev_break(ev, EVBREAK_ALL);
}

static void *
loop_main(void *arg)
{
	struct loop *l = arg;

	ev_run(l->ev, 0);
	return NULL;
}

static void
watch(struct loop *l)
{
	ev_async_init(&l->wake, on_wake);
	ev_prepare_init(&l->prepare, on_prepare);
	ev_check_init(&l->check, on_check);
	ev_idle_init(&l->busy, on_busy);
	ev_timer_init(&l->tick, on_tick, 1., 1.);
	l->wake.data = l->prepare.data = l->check.data = l->busy.data = l->tick.data = l;
	ev_async_start(l->ev, &l->wake);
	ev_prepare_start(l->ev, &l->prepare);
	ev_check_start(l->ev, &l->check);
	ev_timer_start(l->ev, &l->tick);
}

static void
loop_release(struct loop *l)
{
	if (l->ev)
		ev_loop_destroy(l->ev);
	while (l->idle) {
		struct task *t = l->idle;

		l->idle = t->next;
		task_free(t);
	}
	pipes_fini(&l->pipes);
	pthread_mutex_destroy(&l->lock);
	free(l->scratch);
	free(l);
}

struct loop *
loop_new(struct engine *engine, struct pool *pool, struct pipe_stock *stock, unsigned index,
	 uint32_t receive_from)
{
	struct loop *l = calloc(1, sizeof *l);
	int e = ENOMEM;

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	pipes_init(&l->pipes, stock, IDLE_PIPES);
	l->receive_from = receive_from;
	l->engine = engine;
	l->pool = pool;
	l->stock = stock;
	l->index = index;
	l->next_lane = index * 97;
	l->ready_last = &l->ready;
	l->in_last = &l->in_tasks;
	l->in_stop = -1;
	l->scratch = malloc(REC_SCRATCH);
	l->ev = ev_loop_new(EVFLAG_AUTO);
	if (l->scratch && l->ev) {
		watch(l);
		e = pthread_create(&l->thread, NULL, loop_main, l);
	}
	if (e != 0) {
		loop_release(l);
		errno = e;
		return NULL;
	}
	return l;
}

void
loop_join(struct loop *l)
{
	pthread_join(l->thread, NULL);
	take_arrivals(l, l->in_conns);
	loop_release(l);
}
