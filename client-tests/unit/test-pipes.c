/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stock of pipes: what they all have together stays within the limit, by the kernel's word, and
 * none of them is one that the kernel has made too small to be of use.
 */
#include "box.h"
#include "check.h"
#include "pipes.h"
#include "stat.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MANY = 600 };

static unsigned long
soft_limit(void)
{
	unsigned long n = 0;
	FILE *f = fopen("/proc/sys/fs/pipe-user-pages-soft", "re");

	if (f && fscanf(f, "%lu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* Takes as many as it gets, up to MANY; their slots must be the kernel's. */
static unsigned
take_all(struct pipes *ps, struct pipe *got[MANY], unsigned long *slots)
{
	unsigned n = 0;

	*slots = 0;
	while (n < MANY && (got[n] = pipes_take(ps))) {
		WANT_EQ(fcntl(got[n]->w, F_GETPIPE_SZ), (int)got[n]->slots * PIPE_SLOT);
		WANT(got[n]->slots >= PIPE_SMALL);
		*slots += got[n++]->slots;
	}
	return n;
}

static void
give_all(struct pipes *ps, struct pipe *got[MANY], unsigned n)
{
	while (n > 0)
		pipes_give(ps, got[--n]);
}

static void
limit(void)
{
	struct pipe *got[MANY], *p;
	struct pipe_stock stock;
	struct pipe_info info;
	struct pipes ps;
	unsigned long slots;
	uint64_t refused = stat_self()->count[ST_PIPES_REFUSED];

	pipe_stock_init_limit(&stock, 4 * PIPE_LARGE);
	pipes_init(&ps, &stock, 2);
	/* three large ones; the rest small; then no more */
	WANT_EQ(take_all(&ps, got, &slots), 3 + PIPE_LARGE / PIPE_SMALL);
	WANT_EQ(slots, 4 * PIPE_LARGE);
	WANT_EQ(stat_self()->count[ST_PIPES_REFUSED], refused + 1);
	WANT(pipe_stock_take(&stock, PIPE_LARGE) == NULL);
	WANT(pipe_stock_take(&stock, 1) == NULL);
	give_all(&ps, got, 3 + PIPE_LARGE / PIPE_SMALL);
	pipe_stock_info(&stock, &info);
	WANT_EQ(info.large, 3);
	WANT_EQ(info.slots, info.large * PIPE_LARGE + info.small * PIPE_SMALL);
	/* idle ones are had again; a worker gets what it needs or nothing */
	p = pipe_stock_take(&stock, PIPE_SMALL);
	WANT(p && p->slots == PIPE_SMALL);
	pipes_adopt(&ps);
	pipes_give(&ps, p);
	pipes_fini(&ps);
	p = pipe_stock_take(&stock, PIPE_SMALL + 1);
	WANT(p && p->slots == PIPE_LARGE);
	/* bytes left in it: closed, and out of the account */
	p->bytes = 1;
	pipes_adopt(&ps);
	pipes_give(&ps, p);
	pipe_stock_info(&stock, &info);
	WANT_EQ(info.large, 2);
	WANT_EQ(ps.nout, 0);
	pipe_stock_fini(&stock);
	WANT_EQ(stock.slots, 0);
}

/* Large pipes to three quarters of the limit, small ones to all of it, then none; what comes back
 * drained is had again, what does not is closed, and the account knows. */
TEST(pipes, limit)
{
	BOXED(limit);
}

static void
ordinary_user(void)
{
	struct pipe *got[MANY];
	struct pipe_stock stock;
	struct pipes ps;
	unsigned long slots, soft = soft_limit();

	MUST(setgid(54321) == 0 && setuid(54321) == 0);
	pipe_stock_init(&stock, ident_pipes);
	WANT(stock.privilege == NULL);
	pipes_init(&ps, &stock, 4);
	unsigned n = take_all(&ps, got, &slots);
	if (soft > 0) {
		WANT(slots <= soft && slots >= soft / 2);
		WANT(n < MANY);
	}
	give_all(&ps, got, n);
	pipes_fini(&ps);
	pipe_stock_fini(&stock);
}

/* An ordinary user's server stays within what the kernel lets its user have, and so never gets a
 * pipe that was made smaller than asked for. */
TEST(pipes, ordinary_user)
{
	BOXED(ordinary_user);
}

static bool
awake(void)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t on = CAP_SET;

	MUST(caps && cap_get_flag(caps, CAP_SYS_RESOURCE, CAP_EFFECTIVE, &on) == 0);
	cap_free(caps);
	return on == CAP_SET;
}

static void
root_server(void)
{
	struct pipe *got[MANY];
	struct pipe_stock stock;
	struct pipe_info info;
	struct pipes ps;
	struct ident id;
	char err[512];
	unsigned long slots;

	MUST(ident_init(&id, BOX, err, sizeof err) == 0);
	MUST(ident_narrow(&id, err, sizeof err) == 0);
	pipe_stock_init(&stock, ident_pipes);
	pipe_stock_info(&stock, &info);
	pipes_init(&ps, &stock, 4);
	unsigned n = take_all(&ps, got, &slots);
	if (info.privileged) /* not in every container */
		WANT_EQ(slots, MANY * PIPE_LARGE);
	WANT(!awake());
	give_all(&ps, got, n);
	pipes_fini(&ps);
	pipe_stock_fini(&stock);
	/* a caller's identity does not wake it either, and cannot */
	struct cred c = box_cred(5, 5, 0, NULL);
	WANT_EQ(ident_begin(&id, &c), 0);
	WANT(!ident_pipes(true));
	WANT(!awake());
	ident_end(&id);
	WANT(!awake());
}

/* A root server has large pipes beyond its user's limit (64 by default), also after it has given up
 * its capabilities; the one for it is awake only while a pipe is made, never as a caller. */
TEST(pipes, root_server)
{
	BOXED(root_server);
}
