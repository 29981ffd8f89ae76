/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAULT_PROXY_H
#define FAULT_PROXY_H
/*
 * A bad network: a proxy between one client at a time and a server, which does one harm to the next
 * call that passes. Every cut ends both connections, so that the client comes again from another
 * port.
 */
enum harm_to_call {
	PASS,
	DROP_REPLY, /* the call is carried out, its reply is lost with the connection */
	CUT_BEHIND, /* the connections end as soon as the call is sent */
	HALF_CALL,  /* half of the call arrives, then nothing */
	TWICE,	    /* the call arrives twice, one after the other */
	HARMS
};

struct proxy;
/* In front of a server on 127.0.0.1; a failed check when it cannot begin. */
struct proxy *proxy_new(int server_port);
void proxy_free(struct proxy *);
int proxy_port(const struct proxy *);
void proxy_harm(struct proxy *, enum harm_to_call);

#endif
