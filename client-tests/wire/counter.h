/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef COUNTER_H
#define COUNTER_H
/*
 * A program that counts how often each of its procedures was carried out, in a bed with a cache of
 * replies: that a call ran once is seen, not concluded.
 */
#include "lib/bed.h"
#include <stdbool.h>
#include <stdint.h>

enum { TOKENS = 64, REFUSED_TOKEN = 63, REFUSAL = 13, FAILURE = 42 };
/* P_PLAIN asks for no keeping; P_HOLD and P_LATER stay inside while svc->hold; P_LATER then tells
 * the caller to come again, P_FAIL fails; P_OTHER is P_ADD under another number. */
enum { P_NULL, P_ADD, P_PLAIN, P_HOLD, P_LATER, P_FAIL, P_OTHER, PROCS };
enum { ADD_RESULT = 20, ADD_REPLY = RPC_HEAD + ADD_RESULT }; /* bytes */

struct add_args {
	uint32_t token;
};
struct add_res {
	uint32_t status, ran,
	    crash; /* ran: how often this token was asked for, this call included */
	uint64_t intent;
};
bool_t xdr_add_args(XDR *, struct add_args *);
bool_t xdr_add_res(XDR *, struct add_res *);

#define ADD_ROW(n, f, k)                                                                           \
	{                                                                                          \
		.name = n, .args_xdr = (int (*)(void *, void *))xdr_add_args,                      \
		.res_xdr = (int (*)(void *, void *))xdr_add_res,                                   \
		.args_size = sizeof(struct add_args), .res_size = sizeof(struct add_res),          \
		.head = ADD_RESULT, .keep = k, .fn = f                                             \
	}
int counter_add(struct call *);

/* Of the test that runs; shared with its children. */
extern struct counted {
	unsigned ran[TOKENS], begun, inside;
	unsigned meet; /* so many must be in begin before any goes on */
	bool hold;
} * svc;
unsigned load(const unsigned *);
/* Waits until another thread or process has counted so far. */
void until(const unsigned *, unsigned least);
void set_hold(bool);

struct bed *begin_test(void);
void end_test(struct bed *);
/* The cache in the bed's state directory; nothing to say. */
struct drc *open_drc(struct bed *);
/* A call about a token, into b->rec. */
void record(struct bed *, uint32_t proc, uint32_t token);
/* Runs it as a loop, then, if it must be, a worker does. */
struct add_res run(struct bed *);

#endif
