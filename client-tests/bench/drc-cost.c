/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What keeping a reply costs: key, look, claim, finish of calls that all differ, as a REMOVE has
 * them, with the ring in DIR (default: a temporary directory) and in memory.
 *
 *	drc-cost [-n CALLS] [-t THREADS] [DIR]
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drc.h"
#include "rpc.h"

enum { ARGS_LEN = 48, REPLY_LEN = 148 }; /* a handle and a name; status and attributes */

struct worker {
	struct drc *d;
	unsigned long calls;
	unsigned number;
	unsigned long failures;
};

/* Of this process: what others do to the machine does not count. */
static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool
one_call(struct drc *d, const struct sockaddr_storage *peer, struct rpc_call *rc, const char *args,
	 const char *reply)
{
	char buf[RING_REPLY];
	struct drc_claim c;
	struct drc_key k;
	size_t len;
	bool failed;

	drc_key_make(d, &k, peer, false, rc, args, ARGS_LEN);
	if (drc_look(d, &k, buf, &len, &failed, NULL) != DRC_MISS || drc_claim(d, &k, &c) != 0)
		return false;
	drc_finish(d, &c, reply, REPLY_LEN, false);
	return true;
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(700)};
	struct rpc_call rc = {.prog = 100003, .vers = 3, .proc = 12, .flavor = AUTH_SYS};
	struct sockaddr_storage peer = {0};
	char args[ARGS_LEN] = "handle and name", reply[REPLY_LEN] = "status and attributes";

	in.sin_addr.s_addr = htonl(0x0a000001 + w->number);
	memcpy(&peer, &in, sizeof in);
	rc.sys.ngids = 5;
	for (unsigned long i = 0; i < w->calls; i++) {
		rc.xid++;
		args[i % ARGS_LEN]++;
		w->failures += !one_call(w->d, &peer, &rc, args, reply);
	}
	return NULL;
}

static void
measure(const char *title, const char *dir, unsigned long calls, unsigned threads)
{
	char msg[400];
	struct drc *d = drc_open(dir, NULL, msg, sizeof msg);
	struct worker w[64];
	pthread_t t[64];
	double began = cpu_seconds();
	unsigned long failures = 0;

	if (!d || *msg) {
		fprintf(stderr, "drc-cost: %s\n", msg);
		exit(1);
	}
	for (unsigned i = 0; i < threads; i++) {
		w[i] = (struct worker){d, calls, i, 0};
		pthread_create(&t[i], NULL, work, &w[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		failures += w[i].failures;
	}
	printf("%-7s %u threads  %.3f us of CPU per kept call%s\n", title, threads,
	       (cpu_seconds() - began) * 1e6 / (double)(calls * threads),
	       failures ? "  (WITH FAILURES)" : "");
	drc_close(d);
}

int
main(int argc, char **argv)
{
	unsigned long calls = 1000000, threads = 1;
	char temp[] = "/tmp/spliced-drc-cost-XXXXXX", ring[64];
	int opt;

	while ((opt = getopt(argc, argv, "n:t:")) != -1) {
		if (opt == 'n')
			calls = strtoul(optarg, NULL, 10);
		else if (opt == 't')
			threads = strtoul(optarg, NULL, 10);
		if (opt == '?' || calls == 0 || threads == 0 || threads > 64) {
			fprintf(stderr, "usage: drc-cost [-n CALLS] [-t THREADS (1-64)] [DIR]\n");
			return 2;
		}
	}
	measure("memory", NULL, calls, (unsigned)threads);
	if (optind < argc) {
		measure("file", argv[optind], calls, (unsigned)threads);
		return 0;
	}
	if (!mkdtemp(temp)) {
		perror(temp);
		return 1;
	}
	measure("file", temp, calls, (unsigned)threads);
	snprintf(ring, sizeof ring, "%s/" RING_NAME, temp);
	return remove(ring) || rmdir(temp);
}
