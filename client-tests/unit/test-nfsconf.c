/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "conf.h"
#include "lib/scratch.h"
#include "nfsconf.h"
#include <arpa/inet.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct box {
	char dir[64], path[160], err[1000];
	struct nfsconf n;
};

static const char *
at(struct box *b, const char *name)
{
	snprintf(b->path, sizeof b->path, "%s%s", b->dir, name);
	return b->path;
}

static void
put(struct box *b, const char *name, const char *text)
{
	scratch_write(at(b, name), text);
}

static void
begin(struct box *b)
{
	static const char *const dirs[] = {"/usr", "/usr/etc", "/usr/etc/nfs.conf.d", "/etc",
					   "/etc/nfs.conf.d"};

	memset(b, 0, sizeof *b);
	scratch_make(b->dir, "nfsconf");
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		mkdir(at(b, dirs[i]), 0755);
}

static void
end(struct box *b)
{
	nfsconf_free(&b->n);
	scratch_drop(b->dir);
}

static bool
read_it(struct box *b)
{
	FILE *err = fmemopen(b->err, sizeof b->err - 1, "w");
	bool good;

	nfsconf_free(&b->n);
	memset(b->err, 0, sizeof b->err);
	good = nfsconf_read(&b->n, b->dir, err);
	fclose(err);
	return good;
}

static const char *
value(struct box *b, const char *section, const char *name)
{
	const struct nfsconf_item *i = nfsconf_get(&b->n, section, name);

	return i ? i->value : "none";
}

/* Sections and names without case, blanks, quotes, comments, variables, sections with an argument;
 * a later line counts. */
TEST(nfsconf, language)
{
	struct box b;

	begin(&b);
	put(&b, "/etc/nfs.conf",
	    "stray = 0\n# port = 1\n; port = 2\n[NFSD]\n  Port\t=  77  \nhost = \"a b\"\n"
	    "threads=$N\nudp = $GONE\ntcp=\n[environment]\nN = 5\n[nfsd \"x\"]\nport = 9\n"
	    "[exports]\nrootdir = '/r'\nrootdir=/s\nno equals sign\n[unfinished\nx = 1");
	CU_ASSERT(read_it(&b));
	CU_ASSERT_STRING_EQUAL(value(&b, "nfsd", "port"), "77");
	CU_ASSERT_STRING_EQUAL(value(&b, "nfsd", "host"), "a b");
	CU_ASSERT_STRING_EQUAL(value(&b, "nfsd", "threads"), "5");
	CU_ASSERT_STRING_EQUAL(value(&b, "nfsd", "udp"), "none");
	CU_ASSERT_STRING_EQUAL(value(&b, "nfsd", "tcp"), "none");
	CU_ASSERT_STRING_EQUAL(value(&b, "exports", "rootdir"), "/s");
	CU_ASSERT_EQUAL(nfsconf_get(&b.n, "exports", "rootdir")->line, 16);
	end(&b);
}

/* Four places in their order, each may be missing; others' names and hidden ones are not read. */
TEST(nfsconf, places)
{
	struct box b;

	begin(&b);
	CU_ASSERT(read_it(&b) && b.n.n == 0);
	put(&b, "/usr/etc/nfs.conf", "[a]\nx=1\ny=1\nz=1\nw=1\n");
	put(&b, "/usr/etc/nfs.conf.d/1.conf", "[a]\ny=2\nz=2\nw=2\n");
	put(&b, "/etc/nfs.conf", "[a]\nz=3\nw=3\n");
	put(&b, "/etc/nfs.conf.d/10.conf", "[a]\nw=10\n");
	put(&b, "/etc/nfs.conf.d/9.conf", "[a]\nw=9\n");
	put(&b, "/etc/nfs.conf.d/99.bak", "[a]\nw=bak\n");
	put(&b, "/etc/nfs.conf.d/.99.conf", "[a]\nw=hidden\n");
	CU_ASSERT(read_it(&b));
	CU_ASSERT_STRING_EQUAL(value(&b, "a", "x"), "1");
	CU_ASSERT_STRING_EQUAL(value(&b, "a", "y"), "2");
	CU_ASSERT_STRING_EQUAL(value(&b, "a", "z"), "3");
	CU_ASSERT_STRING_EQUAL(value(&b, "a", "w"), "10");
	end(&b);
}

/* Files include files, beside them; a circle and a file that is not there are errors that say
 * where. */
TEST(nfsconf, include)
{
	struct box b;

	begin(&b);
	put(&b, "/etc/nfs.conf", "[a]\nx=1\ninclude=more\ninclude=-none\nw=1\n");
	put(&b, "/etc/more", "[a]\nx=2\n");
	CU_ASSERT(read_it(&b));
	CU_ASSERT_STRING_EQUAL(value(&b, "a", "x"), "2");
	CU_ASSERT_STRING_EQUAL(value(&b, "a", "w"), "1");
	put(&b, "/etc/more", "include=nfs.conf\n");
	CU_ASSERT(!read_it(&b) && strstr(b.err, "circle"));
	put(&b, "/etc/more", "include=none\n");
	CU_ASSERT(!read_it(&b) && strstr(b.err, "/etc/none: cannot read it"));
	end(&b);
}

/* The command line, with nfs.conf beneath it. */
static int
both(struct box *b, struct conf *c, char **argv)
{
	FILE *err = fmemopen(b->err, sizeof b->err - 1, "w");
	int argc = 0, status;

	memset(b->err, 0, sizeof b->err);
	while (argv[argc])
		argc++;
	status = conf_parse(c, argc, argv, err, err);
	if (status < 0)
		status = conf_nfs(c, b->dir, err);
	fclose(err);
	return status;
}

/* Port, addresses, threads and rootdir are taken where the command line is silent. */
TEST(nfsconf, taken)
{
	char *none[] = {"spliced", NULL};
	char *all[] = {"spliced", "-p", "1", "-a", "::1", "-w", "3", "/x", NULL};
	static struct conf c;
	struct box b;
	char text[300];

	begin(&b);
	snprintf(
	    text, sizeof text,
	    "[nfsd]\nport=77\nhost=127.0.0.1,::1\nthreads=5\n[exports]\nrootdir=%s/usr/../etc\n",
	    b.dir);
	put(&b, "/etc/nfs.conf", text);
	CU_ASSERT_EQUAL(both(&b, &c, none), -1);
	CU_ASSERT(c.port == 77 && c.naddrs == 2 && c.workers == 5);
	CU_ASSERT_EQUAL(((struct sockaddr_in *)&c.addrs[0].addr)->sin_port, htons(77));
	CU_ASSERT_STRING_EQUAL(c.rootdir, at(&b, "/etc"));
	CU_ASSERT_EQUAL(both(&b, &c, all), -1);
	CU_ASSERT(c.port == 1 && c.naddrs == 1 && c.workers == 3 && !c.rootdir[0]);
	put(&b, "/etc/nfs.conf", "[exports]\nrootdir=/\n");
	CU_ASSERT(both(&b, &c, none) == -1 && !c.rootdir[0]);
	end(&b);
}

/* A value that cannot be is named with file and line, and the server does not start. */
TEST(nfsconf, bad_values)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
	    {"[nfsd]\n\nport=nfs\n", "nfs.conf:3: [nfsd] port = nfs: a port is"},
	    {"[nfsd]\nhost=server.example.org\n", "not a numeric address"},
	    {"[nfsd]\nthreads=0\n", "a number from 1 to"},
	    {"[exports]\nrootdir=/no/such/place\n", "No such file or directory; name"},
	    {"[exports]\nrootdir=tmp/../../..\n", "nfs.conf:2: [exports] rootdir"},
	};
	char *none[] = {"spliced", NULL};
	static struct conf c;
	struct box b;

	begin(&b);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put(&b, "/etc/nfs.conf", bad[i].text);
		CU_ASSERT_EQUAL(both(&b, &c, none), 2);
		if (!strstr(b.err, bad[i].says)) {
			printf("\n%s\nsays %s\n", bad[i].text, b.err);
			CU_FAIL("another message");
		}
	}
	end(&b);
}
