/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "conn.h"
#include "cross.h"
#include "explain.h"
#include "keycmd.h"
#include "log.h"
#include "plan.h"
#include "reload.h"
#include "report.h"
#include "resolver.h"
#include "stat.h"
#include "version.h"
#include "vmod.h"

/* ---- stat ---- */

static void
gauges(struct server *s, struct admin_gauges *g)
{
	struct files_info fi;
	struct store_info si = {0};
	struct pipe_info pi;

	files_info(s->files, &fi);
	store_info(s->store, &si);
	pipe_stock_info(&s->pipes, &pi);
	*g = (struct admin_gauges){.uptime = ev_time() - s->started,
				   .objects = fi.objs,
				   .store_rows = si.rows + si.notes,
				   .budget_used = budget_used(),
				   .budget_limit = budget_limit(),
				   .loops = s->nloops,
				   .workers = s->conf->workers,
				   .splice_from = s->vfs.splice_from,
				   .pipes = pi,
				   .kernel = &s->kernel};
	for (unsigned i = 0; i < s->nloops; i++)
		g->connections += __atomic_load_n(&s->loops[i]->nconns, __ATOMIC_RELAXED);
}

/* The rows of every program, by their place among the counters. */
static void
row_names(const char *names[STAT_ROWS])
{
	memset(names, 0, STAT_ROWS * sizeof *names);
	for (const struct program *const *p = call_programs; *p; p++)
		for (uint32_t v = (*p)->low; v <= (*p)->high; v++) {
			unsigned n = 0;
			const struct row *rows = (*p)->rows(v, &n);

			for (unsigned i = 0; rows && i < n; i++)
				names[rows[i].stat] = rows[i].name;
		}
}

static int
cmd_stat(void *arg, int argc, char **argv, FILE *out)
{
	struct admin_gauges g;
	const char *names[STAT_ROWS];

	gauges(arg, &g);
	row_names(names);
	return report_command(argc, argv, out, &g, names);
}

/* ---- exports, clients ---- */

static void
print_rules(const struct export_table *t, const struct rules *r, FILE *out)
{
	char opts[OPTS_TEXT], place[PATH_MAX + 32];

	for (size_t i = 0; i < r->n; i++) {
		const struct export_client *c = &r->v[i];
		struct resolver_addrs a;

		fprintf(out, "\t%s(%s)  %s", c->text, opts_text(&c->opts, opts, sizeof opts),
			place_text(t->sources, c->at, place, sizeof place));
		if (c->named && t->who && !resolver_addresses(t->who, c->text, &a))
			fputs("  (no address known)", out);
		fputc('\n', out);
	}
}

/* Of what has no line: why it is there. */
static void
print_way(const struct export_table *t, const struct export *ex, FILE *out)
{
	const struct cross *x = cross_above(t, ex);

	fprintf(out, "\tmounted in %s, with the clients of that export that have crossmnt\n",
		x ? x->c->from->path : "another export");
}

static int
cmd_exports(void *arg, int argc, char **argv, FILE *out)
{
	struct server *s = arg;
	struct export_table *t = engine_table(&s->engine);

	(void)argc;
	(void)argv;
	for (size_t i = 0; t && i < t->n; i++) {
		const struct export *ex = t->v[i];

		fprintf(out, "%s  (export %08x, file system %08x, %s%s)\n", ex->path, ex->id,
			ex->fs.id, ex->fs.khandle ? "kernel handles" : "handles from the store",
			ex->fs.local ? "" : ", always in a worker");
		if (t->crossed[i])
			print_way(t, ex, out);
		else
			print_rules(t, t->rules[i], out);
	}
	for (size_t i = 0; t && i < t->nabsent; i++) {
		fprintf(out, "%s  (not served: %s)\n", t->absent[i].path, t->absent[i].why);
		if (!t->absent[i].crossed)
			print_rules(t, t->absent[i].rules, out);
	}
	export_table_put(t);
	return 0;
}

static int
cmd_reload(void *arg, int argc, char **argv, FILE *out)
{
	struct server *s = arg;

	(void)argc;
	(void)argv;
	return reload_all(s->reload, out);
}

/* export CLIENT:PATH [-o OPTIONS], the parts in any order. */
static int
cmd_export(void *arg, int argc, char **argv, FILE *out)
{
	struct server *s = arg;
	const char *what = NULL, *options = NULL;
	bool good = true;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "-o") == 0 && i + 1 < argc && !options)
			options = argv[++i];
		else if (argv[i][0] != '-' && !what)
			what = argv[i];
		else
			good = false;
	if (!good || !what) {
		fputs("export: say `export CLIENT:/PATH -o OPTIONS`, as in: export 10.0.0.0/8:/srv "
		      "-o ro\n",
		      out);
		return EINVAL;
	}
	return reload_add(s->reload, what, options, out);
}

static int
cmd_unexport(void *arg, int argc, char **argv, FILE *out)
{
	struct server *s = arg;

	if (argc != 2) {
		fputs(
		    "unexport: say `unexport CLIENT:/PATH`, or `unexport /PATH` for all clients\n",
		    out);
		return EINVAL;
	}
	return reload_remove(s->reload, argv[1], out);
}

/* A user number; false: not one. */
static bool
read_uid(const char *text, uid_t *uid)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	*uid = (uid_t)n;
	return isdigit((unsigned char)*text) && !*end && !errno && n < UINT32_MAX;
}

static int
cmd_explain(void *arg, int argc, char **argv, FILE *out)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	struct server *s = arg;
	struct explain x = {.unprivileged = !s->ident.can_switch, .has_uid = argc == 4};
	int e;

	if (argc < 3 || argc > 4 || argv[2][0] != '/' ||
	    (argc == 4 && !read_uid(argv[3], &x.uid))) {
		fputs(
		    "explain: say `explain CLIENT /PATH [UID]`, CLIENT an address or a host name\n",
		    out);
		return EINVAL;
	}
	e = getaddrinfo(argv[1], NULL, &hints, &found);
	if (e) {
		fprintf(out, "explain: %s: %s\n", argv[1], gai_strerror(e));
		return ENOENT;
	}
	x.path = argv[2];
	x.table = engine_table(&s->engine);
	for (struct addrinfo *a = found; a; a = a->ai_next) {
		memcpy(&x.peer, a->ai_addr, a->ai_addrlen);
		explain(&x, out);
	}
	export_table_put((struct export_table *)(uintptr_t)x.table);
	freeaddrinfo(found);
	return 0;
}

static void
list_conns(struct loop *l, void *arg)
{
	FILE *out = arg;

	for (const struct conn *c = l->conns; c; c = c->next)
		if (!c->closed)
			fprintf(out,
				"%-39s %5u  loop %u  %10llu calls  %12llu in  %14llu out  %4u in "
				"the pool  %9zu unsent%s\n",
				c->peer.text, c->peer.port, l->index, (unsigned long long)c->calls,
				(unsigned long long)c->bytes_in, (unsigned long long)c->bytes_out,
				c->in_pool, c->out.unsent, c->paused ? "  paused" : "");
}

static int
print_mount(void *arg, const char *host, const char *path)
{
	FILE *out = arg;

	fprintf(out, "%s:%s\n", host, path);
	return 0;
}

static int
cmd_clients(void *arg, int argc, char **argv, FILE *out)
{
	struct server *s = arg;

	(void)argc;
	(void)argv;
	fputs("connections:\n", out);
	for (unsigned i = 0; i < s->nloops; i++)
		loop_ask(s->loops[i], list_conns, out);
	fputs("said to have mounted:\n", out);
	return store_mounts(s->store, print_mount, out);
}

/* ---- files ---- */

/* Twice: what is synced the first time can be closed the second. */
static int
cmd_settle(void *arg, int argc, char **argv, FILE *out)
{
	struct server *s = arg;

	(void)argc;
	(void)argv;
	uint64_t was = vfs_verifier(&s->vfs);
	files_settle(s->files, 0);
	files_settle(s->files, 0);
	files_sweep(s->files);
	if (vfs_verifier(&s->vfs) == was)
		return 0;
	fputs("settle: a disk failed; the log says which error, and clients write again what they "
	      "have not committed\n",
	      out);
	return EIO;
}

/* ---- handles and key ---- */

static int
hex_digit(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

/* Hex as packet tools print it: colons, spaces and 0x are skipped. False: not hex, or too long. */
static bool
read_hex(const char *text, nfs_fh3 *fh)
{
	fh->len = 0;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	while (*text) {
		if (*text == ':' || *text == ' ') {
			text++;
			continue;
		}
		int hi = hex_digit(text[0]), lo = hi < 0 ? -1 : hex_digit(text[1]);

		if (lo < 0 || fh->len == sizeof fh->data)
			return false;
		fh->data[fh->len++] = (unsigned char)(hi << 4 | lo);
		text += 2;
	}
	return fh->len > 0;
}

static int
cmd_fh(void *arg, int argc, char **argv, FILE *out)
{
	struct server *s = arg;
	struct export_table *t;
	char text[2048] = "";
	nfs_fh3 fh;
	int rc;

	if (argc != 2 || !read_hex(argv[1], &fh)) {
		fputs("fh: give the handle as hex digits, at most 64 bytes, as a packet trace "
		      "shows it\n",
		      out);
		return EINVAL;
	}
	t = engine_table(&s->engine);
	rc = resolve_describe(&s->resolve, t, &fh, text, sizeof text);
	export_table_put(t);
	fprintf(out, "%s\n", text);
	return rc;
}

static int
cmd_key(void *arg, int argc, char **argv, FILE *out)
{
	struct server *s = arg;

	if (argc == 2 && strcmp(argv[1], "export") == 0)
		return key_command(s->conf->statedir, argc, argv, out);
	fputs("key: say `key export`; a key is imported while the server is stopped, since it "
	      "takes effect at its start\n",
	      out);
	return EINVAL;
}

static int
cmd_version(void *arg, int argc, char **argv, FILE *out)
{
	(void)arg;
	(void)argc;
	(void)argv;
	fprintf(out, "spliced %s\n", SPLICED_VERSION);
	return 0;
}

static const struct admin_command commands[] = {
    {"stat", "[--json]", "calls, bytes by way, latencies, stalls", true, cmd_stat},
    {"exports", NULL, "what is served to whom, and how", false, cmd_exports},
    {"reload", NULL, "read the exports again; what changes", true, cmd_reload},
    {"export", "CLIENT:PATH [-o OPTIONS]", "export more, until the next reload", true, cmd_export},
    {"unexport", "CLIENT:PATH", "export less, until the next reload", true, cmd_unexport},
    {"explain", "CLIENT PATH [UID]", "what a client may do with a path, and why", true,
     cmd_explain},
    {"clients", NULL, "connections now, and the mount list", true, cmd_clients},
    {"settle", NULL, "sync and close what clients wrote and nobody uses", true, cmd_settle},
    {"fh", "HEX", "what a file handle means", true, cmd_fh},
    {"key", "export", "the key of the handles, for another server", false, cmd_key},
    {"version", NULL, "the server's version", false, cmd_version},
};

const struct admin_ops server_commands = {commands, sizeof commands / sizeof *commands};
