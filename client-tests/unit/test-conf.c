/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "conf.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS 40

/* One parse of a command line written as text, with what it said. */
struct run {
	struct conf c;
	int status;
	char line[1000], *argv[WORDS];
	char out[8192], err[1000];
};

static void
run(struct run *r, const char *line)
{
	char *save = NULL;
	int argc = 0;
	FILE *out, *err;

	memset(r->out, 0, sizeof r->out);
	memset(r->err, 0, sizeof r->err);
	out = fmemopen(r->out, sizeof r->out - 1, "w");
	err = fmemopen(r->err, sizeof r->err - 1, "w");
	CU_ASSERT_FATAL(out && err);
	snprintf(r->line, sizeof r->line, "spliced %s", line);
	for (char *w = strtok_r(r->line, " ", &save); w; w = strtok_r(NULL, " ", &save))
		r->argv[argc++] = w;
	r->argv[argc] = NULL;
	r->status = conf_parse(&r->c, argc, r->argv, out, err);
	fclose(out);
	fclose(err);
}

/* A DIR alone is enough; everything else has the default that the usage text promises. */
TEST(conf, defaults)
{
	static struct run r;

	run(&r, "/srv");
	CU_ASSERT_EQUAL(r.status, -1);
	CU_ASSERT_EQUAL_FATAL(r.c.ndirs, 1);
	CU_ASSERT_STRING_EQUAL(r.c.dirs[0], "/srv");
	CU_ASSERT_EQUAL(r.c.port, 2049);
	CU_ASSERT_EQUAL(r.c.workers, 16);
	CU_ASSERT(r.c.loops >= 1);
	CU_ASSERT_EQUAL(r.c.splice_from, CONF_SPLICE_AUTO);
	CU_ASSERT_EQUAL(r.c.receive_from, CONF_RECEIVE_AUTO);
	CU_ASSERT_EQUAL(r.c.naddrs, 0);
	CU_ASSERT_EQUAL(r.c.level, LOG_LVL_INFO);
	CU_ASSERT_PTR_NULL(r.c.options);
	CU_ASSERT_PTR_NULL(r.c.clients);
	CU_ASSERT_FALSE(r.c.check || r.c.detach || r.c.no_rpcbind);
	CU_ASSERT_STRING_EQUAL(r.err, "");
}

/* Every option arrives in its field, wherever among the DIRs it stands, and the addresses carry the
 * port. */
TEST(conf, everything)
{
	static struct run r;
	const struct sockaddr_in *four = (const struct sockaddr_in *)&r.c.addrs[0].addr;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&r.c.addrs[1].addr;

	run(&r, "/a -o rw,sync -c 10.0.0.0/8 -e /etc/exports -n -a 127.0.0.1 -a ::1 -p 3049 /b -s "
		"/tmp/x "
		"-j 3 -w 5 -Z never -z 65536 -R -D -v");
	CU_ASSERT_EQUAL(r.status, -1);
	CU_ASSERT_EQUAL_FATAL(r.c.ndirs, 2);
	CU_ASSERT_STRING_EQUAL(r.c.dirs[0], "/a");
	CU_ASSERT_STRING_EQUAL(r.c.dirs[1], "/b");
	CU_ASSERT_STRING_EQUAL(r.c.options, "rw,sync");
	CU_ASSERT_STRING_EQUAL(r.c.clients, "10.0.0.0/8");
	CU_ASSERT_STRING_EQUAL(r.c.file, "/etc/exports");
	CU_ASSERT_STRING_EQUAL(r.c.statedir, "/tmp/x");
	CU_ASSERT_EQUAL_FATAL(r.c.naddrs, 2);
	CU_ASSERT_EQUAL(four->sin_family, AF_INET);
	CU_ASSERT_EQUAL(four->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	CU_ASSERT_EQUAL(four->sin_port, htons(3049));
	CU_ASSERT_EQUAL(six->sin6_family, AF_INET6);
	CU_ASSERT_EQUAL(six->sin6_port, htons(3049));
	CU_ASSERT_EQUAL(r.c.loops, 3);
	CU_ASSERT_EQUAL(r.c.workers, 5);
	CU_ASSERT_EQUAL(r.c.splice_from, 65536);
	CU_ASSERT_EQUAL(r.c.receive_from, CONF_SPLICE_NEVER);
	CU_ASSERT(r.c.check && r.c.detach && r.c.no_rpcbind);
	CU_ASSERT_EQUAL(r.c.level, LOG_LVL_DEBUG);
}

/* Without a DIR the exports come from files, whose names are known when they are read. */
TEST(conf, exports_files)
{
	static struct run r;

	run(&r, "");
	CU_ASSERT(r.status == -1 && r.c.ndirs == 0 && r.c.file == NULL);
	run(&r, "-e /tmp/x");
	CU_ASSERT(r.status == -1 && r.c.ndirs == 0 && strcmp(r.c.file, "/tmp/x") == 0);
}

/* Long names mean the same, and "--" ends the options. */
TEST(conf, long_names)
{
	static struct run r;

	run(&r, "--port=0 --zero-copy never --splice-receive always --quiet -- -z");
	CU_ASSERT_EQUAL(r.status, -1);
	CU_ASSERT_EQUAL(r.c.port, 0);
	CU_ASSERT_EQUAL(r.c.splice_from, CONF_SPLICE_NEVER);
	CU_ASSERT_EQUAL(r.c.receive_from, CONF_RECEIVE_ALWAYS);
	CU_ASSERT_EQUAL(r.c.level, LOG_LVL_WARN);
	CU_ASSERT_EQUAL_FATAL(r.c.ndirs, 1);
	CU_ASSERT_STRING_EQUAL(r.c.dirs[0], "-z");
	run(&r, "-z always /a");
	CU_ASSERT_EQUAL(r.c.splice_from, CONF_SPLICE_ALWAYS);
}

/* Every bad command line ends with status 2 and exactly one line that names the culprit. */
TEST(conf, refusals)
{
	static const struct {
		const char *line, *says;
	} bad[] = {
	    {"-o rw", "-o rw: is for a DIR"},
	    {"-e /x -c 10.0.0.1", "-c 10.0.0.1: is for a DIR"},
	    {"-e /a -e /b", "-e /b: given twice"},
	    {"-p 65536 /a", "-p 65536: a port is"},
	    {"-p -1 /a", "-p -1: a port is"},
	    {"-p +1 /a", "-p +1: a port is"},
	    {"-p 12x /a", "-p 12x: a port is"},
	    {"-p 99999999999999999999 /a", "a port is"},
	    {"-j 0 /a", "-j 0: a number from 1"},
	    {"-j 100000 /a", "-j 100000: a number from 1"},
	    {"-w 0 /a", "-w 0: a number from 1"},
	    {"-z sometimes /a", "-z sometimes: write auto"},
	    {"-z 4294967295 /a", "-z 4294967295: write auto"},
	    {"-a example.org /a", "-a example.org: not a numeric address"},
	    {"-a 1.2.3.4 -a 1.2.3.4 /a", "-a 1.2.3.4: given twice"},
	    {"-o rw -o ro /a", "-o ro: given twice"},
	    {"-c a -c b /a", "-c b: given twice"},
	    {"-Y /a", "no such option -Y"},
	    {"/a --frobnicate", "no such option --frobnicate"},
	    {"/a -p", "port: needs a value"},
	    {"/a --quiet=yes", "quiet: takes no value"},
	};
	static struct run r;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		run(&r, bad[i].line);
		CU_ASSERT_EQUAL(r.status, 2);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.err, bad[i].says));
		CU_ASSERT_EQUAL(strncmp(r.err, "spliced: ", 9), 0);
		CU_ASSERT_PTR_EQUAL(strchr(r.err, '\n'), r.err + strlen(r.err) - 1);
	}
}

/* The 17th address is refused, not written behind the array. */
TEST(conf, too_many_addresses)
{
	static struct run r;
	char line[600] = "/a";

	for (int i = 1; i <= CONF_ADDRS_MAX + 1; i++)
		snprintf(line + strlen(line), sizeof line - strlen(line), " -a 10.0.0.%d", i);
	run(&r, line);
	CU_ASSERT_EQUAL(r.status, 2);
	CU_ASSERT_EQUAL(r.c.naddrs, CONF_ADDRS_MAX);
}

/* Usage names every letter and fits 80 columns; help and version end with status 0 and say nothing
 * on the error stream. */
TEST(conf, help)
{
	static struct run r;

	run(&r, "--help");
	CU_ASSERT_EQUAL(r.status, 0);
	CU_ASSERT_STRING_EQUAL(r.err, "");
	for (const char *p = "ocenpasjwzgRDqvh"; *p; p++) {
		char option[6] = {' ', '-', *p, ',', ' ', 0};

		CU_ASSERT_PTR_NOT_NULL(strstr(r.out, option));
	}
	for (const char *line = r.out; *line; line = strchr(line, '\n') + 1)
		CU_ASSERT(strcspn(line, "\n") <= 80);
	run(&r, "--version");
	CU_ASSERT_EQUAL(r.status, 0);
	CU_ASSERT_EQUAL(strncmp(r.out, "spliced ", 8), 0);
}

/* Without -s an ordinary user's state is under XDG_STATE_HOME (a root's under /var/lib). */
TEST(conf, statedir)
{
	static struct run r;
	const char *old = getenv("XDG_STATE_HOME");
	char *saved = old ? strdup(old) : NULL;

	setenv("XDG_STATE_HOME", "/nowhere/state", 1);
	run(&r, "/a");
	CU_ASSERT_STRING_EQUAL(r.c.statedir,
			       geteuid() == 0 ? "/var/lib/spliced" : "/nowhere/state/spliced");
	if (saved)
		setenv("XDG_STATE_HOME", saved, 1);
	else
		unsetenv("XDG_STATE_HOME");
	free(saved);
}

/* The manual page documents exactly the options that the program has. (Tests run at the top of the
 * source tree.) */
TEST(conf, manual)
{
	static struct run r;
	static char page[32768];
	FILE *f = fopen("etc/spliced.8", "r");
	unsigned options = 0, documented = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	page[fread(page, 1, sizeof page - 1, f)] = '\0';
	fclose(f);
	run(&r, "--help");
	for (const char *p = strstr(r.out, " --"); p; p = strstr(p + 3, " --")) {
		char name[40], item[80];

		snprintf(name, sizeof name, "%.*s",
			 (int)strspn(p + 3, "abcdefghijklmnopqrstuvwxyz-"), p + 3);
		if (p[-1] == ',')
			snprintf(item, sizeof item, "\n.It Fl %c , -%s", p[-2], name);
		else
			snprintf(item, sizeof item, "\n.It Fl -%s", name);
		options++;
		CU_ASSERT_PTR_NOT_NULL(strstr(page, item));
	}
	for (const char *p = strstr(page, "\n.It Fl "); p; p = strstr(p + 1, "\n.It Fl "))
		documented++;
	CU_ASSERT(options > 10);
	CU_ASSERT_EQUAL(options, documented);
}
