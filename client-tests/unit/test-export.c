/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "export.h"
#include "lib/scratch.h"
#include "store.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
parse(const char *text, struct export_opts *o)
{
	char err[256] = "";
	int rc;

	export_opts_default(o);
	rc = export_parse_opts(text, o, err, sizeof err);
	CU_ASSERT((rc == 0) == (err[0] == '\0')); /* an error is always explained */
	return rc;
}

/* What exports(5) says holds when nothing is said. */
TEST(export, option_defaults)
{
	struct export_opts o;

	CU_ASSERT_EQUAL(parse("", &o), 0);
	CU_ASSERT(!o.rw && o.secure && !o.async && !o.nordirplus && o.squash == SQUASH_ROOT);
	CU_ASSERT(o.anonuid == 65534 && o.anongid == 65534 && o.fsid_kind == FSID_NONE);
}

/* Each option does what it says; of contradicting ones the last wins; a comma may end the list. */
TEST(export, options_accepted)
{
	struct export_opts o;

	CU_ASSERT(parse("rw", &o) == 0 && o.rw);
	CU_ASSERT(parse("ro,rw,ro", &o) == 0 && !o.rw);
	CU_ASSERT(parse("rw,", &o) == 0 && o.rw);
	CU_ASSERT(parse("insecure,async,nordirplus", &o) == 0 && !o.secure && o.async &&
		  o.nordirplus);
	CU_ASSERT(parse("no_root_squash", &o) == 0 && o.squash == SQUASH_NONE);
	CU_ASSERT(parse("all_squash,no_root_squash", &o) == 0 && o.squash == SQUASH_ALL);
	CU_ASSERT(parse("no_root_squash,all_squash", &o) == 0 && o.squash == SQUASH_ALL);
	CU_ASSERT(parse("all_squash,no_all_squash", &o) == 0 && o.squash == SQUASH_ROOT);
	CU_ASSERT(parse("anonuid=-2,anongid=4294967294", &o) == 0 && o.anonuid == 4294967294U &&
		  o.anongid == 4294967294U);
	CU_ASSERT(parse("anonuid=1000", &o) == 0 && o.anonuid == 1000 && o.anongid == 65534);
	CU_ASSERT(parse("sec=sys", &o) == 0);
	CU_ASSERT(parse("sec=krb5:unix", &o) == 0);
	CU_ASSERT(parse("xprtsec=none:tls:mtls", &o) == 0);
	CU_ASSERT(parse("mountpoint", &o) == 0 && o.mountpoint);
	CU_ASSERT(parse("wdelay,no_wdelay,hide,nohide,crossmnt,nocrossmnt,subtree_check,no_subtree_"
			"check,secure_locks,"
			"insecure_locks,auth_nlm,no_auth_nlm,acl,no_acl,pnfs,no_pnfs,security_"
			"label,sign_fh,squash_uids=1-5,"
			"refer=/a@h,replicas=/b@h,reexport=none,sync",
			&o) == 0);
}

/* A typing mistake is an error, never another meaning. */
TEST(export, options_refused)
{
	static const char *const bad[] = {
	    "RW",
	    "rw,,sync",
	    ",rw",
	    "rw, sync",
	    " rw",
	    "ro rw",
	    "rwx",
	    "no_rw",
	    "rw=1",
	    "anonuid",
	    "anonuid=",
	    "anonuid=nobody",
	    "anonuid=-1",
	    "anonuid=4294967295",
	    "anonuid=4294967296",
	    "anonuid=1x",
	    "anonuid= 1",
	    "anongid=--2",
	    "fsid=",
	    "fsid=-1",
	    "fsid=4294967296",
	    "fsid=1x",
	    "fsid=abc",
	    "no_allsquash",
	    "sec=",
	    "sec=foo:sys",
	    "sec=sys:",
	    "sec=SYS",
	    "squash_uids=1-5-7",
	    "reexport=maybe",
	    "mountpoint=relative",
	    "rw\n",
	    "xprtsec=none:foo",
	    "password=x",
	};
	struct export_opts o;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (parse(bad[i], &o) != EINVAL) {
			printf("accepted: %s\n", bad[i]);
			CU_FAIL("accepted");
		}
}

/* fsid= is a number in C notation, root, or a UUID in any dress, even one of decimal digits only.
 */
TEST(export, fsid_forms)
{
	struct export_opts a, b;

	CU_ASSERT(parse("fsid=0x10", &a) == 0 && parse("fsid=16", &b) == 0);
	CU_ASSERT(a.fsid_kind == FSID_NUMBER && memcmp(a.fsid, b.fsid, 16) == 0 &&
		  a.fsid[15] == 16);
	CU_ASSERT(parse("fsid=root", &a) == 0 && parse("fsid=0", &b) == 0 &&
		  memcmp(a.fsid, b.fsid, 16) == 0);
	CU_ASSERT(parse("fsid=12345678123456781234567812345678", &a) == 0 &&
		  a.fsid_kind == FSID_UUID);
	CU_ASSERT(a.fsid[0] == 0x12 && a.fsid[15] == 0x78);
	CU_ASSERT(parse("fsid=deadBEEF-0000-1111:2222.333344445555", &a) == 0 &&
		  a.fsid_kind == FSID_UUID);
	CU_ASSERT(a.fsid[0] == 0xde && a.fsid[3] == 0xef && a.fsid[15] == 0x55);
}

static bool
client(const char *text, struct export_client *c)
{
	char err[256] = "";
	int rc = export_parse_client(text, c, err, sizeof err);

	CU_ASSERT((rc == 0) == (err[0] == '\0'));
	CU_ASSERT((rc == 0) == (c->text != NULL));
	return rc == 0;
}

static const struct export_client *
match(const struct rules *r, const char *peer)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(700)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(700)};
	const struct export_client *c = NULL;
	int rc;

	if (inet_pton(AF_INET, peer, &v4.sin_addr) == 1) {
		rc = rules_match(r, NULL, (struct sockaddr *)&v4, &c);
	} else {
		CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET6, peer, &v6.sin6_addr), 1);
		rc = rules_match(r, NULL, (struct sockaddr *)&v6, &c);
	}
	CU_ASSERT_EQUAL(rc, c ? 0 : EACCES);
	return c;
}

static struct rules
rules_of(struct export_client *c, size_t n)
{
	struct rules r = {.refs = 1, .v = c, .n = n};

	for (size_t i = 0; i < n; i++)
		r.kinds |= 1u << c[i].kind;
	return r;
}

/* One rule against one peer. */
static bool
meets(const char *rule, const char *peer)
{
	struct export_client c = {0};
	struct rules r;
	bool yes;

	CU_ASSERT_FATAL(client(rule, &c));
	r = rules_of(&c, 1);
	yes = match(&r, peer) != NULL;
	free(c.text);
	return yes;
}

/* Addresses, prefixes of both families, masks (with gaps, too), host bits set, and brackets. */
TEST(export, clients_match)
{
	CU_ASSERT(meets("10.1.2.3", "10.1.2.3") && !meets("10.1.2.3", "10.1.2.4"));
	CU_ASSERT(meets("192.168.1.77/24", "192.168.1.3") &&
		  !meets("192.168.1.0/24", "192.168.2.3"));
	CU_ASSERT(meets("10.0.0.0/255.0.255.0", "10.9.0.7") &&
		  !meets("10.0.0.0/255.0.255.0", "10.9.1.7"));
	CU_ASSERT(meets("10.0.0.5/32", "10.0.0.5") && !meets("10.0.0.5/32", "10.0.0.4"));
	CU_ASSERT(meets("10.0.0.4/31", "10.0.0.5") && !meets("10.0.0.4/31", "10.0.0.6"));
	CU_ASSERT(meets("fe80::1", "fe80::1") && !meets("fe80::1", "fe80::2"));
	CU_ASSERT(meets("[fe80::1]", "fe80::1") && meets("[2001:db8::]/32", "2001:db8:1::9"));
	CU_ASSERT(meets("2001:db8::/ffff:ffff::", "2001:db8:1::9") &&
		  !meets("2001:db8::/32", "2001:db9::"));
	CU_ASSERT(meets("::1/64", "::2") && meets("::1/128", "::1") && !meets("::1/128", "::2"));
	CU_ASSERT(meets("*", "10.1.2.3") && meets("*", "fe80::1"));
}

/* A length of 0 is everyone of that family. */
TEST(export, clients_zero_length)
{
	CU_ASSERT(meets("0.0.0.0/0", "10.1.2.3") && meets("10.0.0.0/0", "192.168.0.1"));
	CU_ASSERT(meets("0.0.0.0/0.0.0.0", "10.1.2.3") && !meets("0.0.0.0/0", "fe80::1"));
	CU_ASSERT(meets("::/0", "fe80::1") && !meets("::/0", "10.1.2.3"));
}

/* An IPv4 peer of a dual-stack socket is an IPv4 peer. */
TEST(export, clients_v4_mapped)
{
	CU_ASSERT(meets("10.0.0.0/8", "::ffff:10.1.1.1") && meets("10.1.1.1", "::ffff:10.1.1.1"));
	CU_ASSERT(!meets("::/0", "::ffff:10.1.1.1") && !meets("10.0.0.0/8", "::10.1.1.1"));
	CU_ASSERT(meets("::ffff:10.1.1.1", "10.1.1.1"));
}

/* What is none of the kinds of client is refused, not dropped. */
TEST(export, clients_refused)
{
	static const char *const bad[] = {
	    "",
	    "10/8",
	    "10.0.0",
	    "-ro",
	    ".x",
	    "a,b",
	    "@",
	    "[x:y]",
	    "fe80:::1",
	    "10.0.0/8",
	    "10.0.0.0/",
	    "10.0.0.0/33",
	    "10.0.0.0/24x",
	    "10.0.0.0/-1",
	    "10.0.0.0/ffff::",
	    "::/129",
	    "fe80::1%eth0",
	    "[10.0.0.1]",
	    "[fe80::1",
	    "fe80::1]",
	    "[::]x/1",
	    "::/255.0.0.0",
	    "10.0.0.1 ",
	    "10.0.0.1(rw)",
	    "10.0.0.0/8/8",
	};
	struct export_client c = {0};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (client(bad[i], &c)) {
			printf("accepted: %s\n", bad[i]);
			CU_FAIL("accepted");
			free(c.text);
		}
}

/* A host beats a subnet beats everyone, whatever the order; within one class the first of the file.
 */
TEST(export, match_precedence)
{
	struct export_client c[5] = {0};
	const struct export_client *none;
	struct rules r;
	static const char *const rules[] = {"*", "10.0.0.0/8", "10.1.0.0/16", "10.1.1.1",
					    "10.1.1.1/32"};
	struct sockaddr un = {.sa_family = AF_UNIX};

	for (int i = 0; i < 5; i++)
		CU_ASSERT_FATAL(client(rules[i], &c[i]));
	r = rules_of(c, 5);
	CU_ASSERT_PTR_EQUAL(match(&r, "10.1.1.1"), &c[3]);
	CU_ASSERT_PTR_EQUAL(match(&r, "10.1.1.2"), &c[1]);
	CU_ASSERT_PTR_EQUAL(match(&r, "11.1.1.2"), &c[0]);
	CU_ASSERT_PTR_EQUAL(match(&r, "::ffff:10.1.1.1"), &c[3]);
	CU_ASSERT_EQUAL(rules_match(&r, NULL, &un, &none), EACCES);
	r = rules_of(c + 1, 4);
	CU_ASSERT_PTR_NULL(match(&r, "11.1.1.2"));
	for (int i = 0; i < 5; i++)
		free(c[i].text);
}

static struct cred
squash(const char *opts, uid_t uid, gid_t gid, uint32_t n, const gid_t *groups)
{
	struct export_opts o;
	struct cred c = {.uid = uid, .gid = gid, .ngroups = n};

	for (uint32_t i = 0; i < n; i++)
		c.groups[i] = groups[i];
	CU_ASSERT_EQUAL_FATAL(parse(opts, &o), 0);
	export_squash(&o, &c);
	return c;
}

/* Root, its group and every mention of group 0 become anonymous; others stay who they are. */
TEST(export, squash_root)
{
	const gid_t groups[] = {0, 4, 0};
	struct cred c = squash("anonuid=77,anongid=88", 0, 0, 3, groups);

	CU_ASSERT(c.uid == 77 && c.gid == 88 && c.ngroups == 3);
	CU_ASSERT(c.groups[0] == 88 && c.groups[1] == 4 && c.groups[2] == 88);
	c = squash("", 1000, 100, 1, groups + 1);
	CU_ASSERT(c.uid == 1000 && c.gid == 100 && c.ngroups == 1 && c.groups[0] == 4);
	c = squash("", 1000, 0, 0, NULL);
	CU_ASSERT(c.uid == 1000 && c.gid == 65534);
	c = squash("no_root_squash", 0, 0, 3, groups);
	CU_ASSERT(c.uid == 0 && c.gid == 0 && c.groups[0] == 0);
}

/* all_squash leaves nothing of the caller, groups included. */
TEST(export, squash_all)
{
	const gid_t groups[] = {0, 4, 27};
	struct cred c = squash("all_squash,anonuid=77,anongid=88", 1000, 100, 3, groups);
	struct cred d = squash("all_squash,anonuid=77,anongid=88", 0, 0, 0, NULL);

	CU_ASSERT(c.uid == 77 && c.gid == 88 && c.ngroups == 0);
	CU_ASSERT_EQUAL(c.hash, d.hash); /* one credential */
}

/* -1 is "no change" to setfsuid and would leave the server's own identity; it is squashed even
 * where nothing else is. */
TEST(export, squash_minus_one)
{
	const gid_t groups[] = {(gid_t)-1, 5};
	struct cred c = squash("no_root_squash", (uid_t)-1, (gid_t)-1, 2, groups);

	CU_ASSERT(c.uid == 65534 && c.gid == 65534 && c.groups[0] == 65534 && c.groups[1] == 5);
}

struct env {
	char dir[64], state[80], a[80], ab[80];
	struct kernel kernel;
	struct handle_key key;
	struct export_env env;
};

/* A store, and two nested directories on whatever file system /tmp is. */
static void
begin(struct env *e)
{
	char err[512];

	memset(e, 0, sizeof *e);
	scratch_make(e->dir, "export");
	snprintf(e->state, sizeof e->state, "%s/state", e->dir);
	snprintf(e->a, sizeof e->a, "%s/a", e->dir);
	snprintf(e->ab, sizeof e->ab, "%s/a/b", e->dir);
	mkdir(e->a, 0755);
	mkdir(e->ab, 0755);
	kernel_probe(&e->kernel, e->dir);
	CU_ASSERT_EQUAL_FATAL(handle_key_load(&e->key, e->state, err, sizeof err), 0);
	e->env = (struct export_env){&e->kernel, &e->key, store_open(e->state, err, sizeof err),
				     geteuid() != 0};
	CU_ASSERT_PTR_NOT_NULL_FATAL(e->env.store);
}

static void
end(struct env *e)
{
	store_close(e->env.store);
	scratch_drop(e->dir);
}

/* A table of one or two directories; its errors in err. */
static struct export_table *
table(struct env *e, const char *a, const char *b, const char *opts, const char *clients, char *err)
{
	struct export_spec s[2] = {{a, opts, clients}, {b, opts, clients}};

	return export_table_make(&e->env, s, b ? 2 : 1, err, 2048);
}

/* Paths are matched by whole components, the longest export wins, slashes may repeat, and ".." is
 * never followed. */
TEST(export, by_path)
{
	struct env e;
	char err[2048], p[256];
	const char *rest = NULL;
	struct export_table *t;
	struct export *a, *ab;

	begin(&e);
	t = table(&e, e.ab, e.a, NULL, NULL, err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	a = export_by_path(t, e.a, &rest);
	CU_ASSERT(a && strcmp(a->path, e.a) == 0 && *rest == '\0');
	ab = export_by_path(t, e.ab, &rest);
	CU_ASSERT(ab && strcmp(ab->path, e.ab) == 0 && *rest == '\0');
	snprintf(p, sizeof p, "/%s//b///c/d/", e.a);
	CU_ASSERT_PTR_EQUAL(export_by_path(t, p, &rest), ab);
	CU_ASSERT_STRING_EQUAL(rest, "c/d/");
	snprintf(p, sizeof p, "%s/bb", e.a);
	CU_ASSERT_PTR_EQUAL(export_by_path(t, p, &rest), a);
	CU_ASSERT_STRING_EQUAL(rest, "bb");
	snprintf(p, sizeof p, "%sx", e.a);
	CU_ASSERT_PTR_NULL(export_by_path(t, p, &rest));
	snprintf(p, sizeof p, "%s/../a", e.a);
	CU_ASSERT_PTR_NULL(export_by_path(t, p, &rest));
	CU_ASSERT_PTR_NULL(export_by_path(t, e.a + 1, &rest));
	CU_ASSERT_PTR_NULL(export_by_path(t, "/", &rest));
	CU_ASSERT_PTR_NULL(export_by_path(t, "", &rest));
	CU_ASSERT_PTR_EQUAL(export_by_id(t, a->id), a);
	CU_ASSERT_PTR_EQUAL(export_by_id(t, ab->id), ab);
	CU_ASSERT_PTR_NULL(export_by_id(t, a->id ^ ab->id ^ 1));
	export_table_put(t);
	end(&e);
}

/* Every mistake of every directory is reported at once, each with its path. */
TEST(export, all_errors_at_once)
{
	struct env e;
	char err[4096], file[128], none[128];
	struct export_spec s[6];
	int fd;

	begin(&e);
	snprintf(file, sizeof file, "%s/file", e.dir);
	snprintf(none, sizeof none, "%s/none", e.dir);
	fd = open(file, O_CREAT | O_WRONLY, 0644);
	close(fd);
	s[0] = (struct export_spec){none, NULL, NULL};
	s[1] = (struct export_spec){file, NULL, NULL};
	s[2] = (struct export_spec){e.a, "rww", NULL};
	s[3] = (struct export_spec){e.ab, NULL, "10.0.0.0/33,-x"};
	s[4] = (struct export_spec){e.state, NULL, NULL};
	s[5] = (struct export_spec){"", NULL, NULL};
	CU_ASSERT_PTR_NULL(export_table_make(&e.env, s, 6, err, sizeof err));
	CU_ASSERT(strstr(err, none) && strstr(err, "does not exist"));
	CU_ASSERT(strstr(err, file) && strstr(err, "not a directory"));
	CU_ASSERT(strstr(err, "\"rww\"") && strstr(err, "10.0.0.0/33") && strstr(err, "client -x"));
	CU_ASSERT(strstr(err, "state directory") && strstr(err, "path is empty"));
	end(&e);
}

/* One directory twice, also by another name, is an error; a table that fails leaves nothing open.
 */
TEST(export, twice)
{
	struct env e;
	char err[2048], other[128], fds[64];
	int before, after;

	begin(&e);
	snprintf(other, sizeof other, "%s/link", e.dir);
	CU_ASSERT_EQUAL(symlink("a", other), 0);
	before = dup(0);
	snprintf(fds, sizeof fds, "%d", before);
	close(before);
	CU_ASSERT_PTR_NULL(table(&e, e.a, e.a, NULL, NULL, err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "twice"));
	CU_ASSERT_PTR_NULL(table(&e, e.a, other, NULL, NULL, err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "twice"));
	CU_ASSERT_PTR_NULL(table(&e, e.a, e.ab, "fsid=7", NULL, err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "fsid="));
	after = dup(0);
	CU_ASSERT_EQUAL(before, after);
	close(after);
	end(&e);
}

/* Without a list of clients only this machine is served. */
TEST(export, default_clients)
{
	struct env e;
	char err[2048];
	struct export_table *t;

	begin(&e);
	t = table(&e, e.a, NULL, NULL, NULL, err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_PTR_NOT_NULL(match(t->rules[0], "127.0.0.9"));
	CU_ASSERT_PTR_NOT_NULL(match(t->rules[0], "::1"));
	CU_ASSERT_PTR_NOT_NULL(match(t->rules[0], "::ffff:127.0.0.1"));
	CU_ASSERT_PTR_NULL(match(t->rules[0], "10.0.0.1"));
	CU_ASSERT_PTR_NULL(match(t->rules[0], "::2"));
	export_table_put(t);
	t = table(&e, e.a, NULL, "rw", "10.0.0.0/8, *", err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT(t->rules[0]->n == 2 && match(t->rules[0], "::2")->opts.rw);
	export_table_put(t);
	CU_ASSERT_PTR_NULL(table(&e, e.a, NULL, NULL, ",", err));
	end(&e);
}

/* Ids depend on the directory and the key alone: a restart, or another order, gives the same. */
TEST(export, ids_last)
{
	struct env e;
	char err[2048];
	struct export_table *t;
	uint32_t a, ab, fs;
	nfs_fh3 root;

	begin(&e);
	t = table(&e, e.a, e.ab, NULL, NULL, err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	a = t->v[0]->id;
	ab = t->v[1]->id;
	fs = t->v[0]->fs.id;
	root = t->v[1]->root;
	CU_ASSERT(a && ab && a != ab && fs && t->v[1]->fs.id == fs);
	export_table_put(t);
	t = table(&e, e.ab, e.a, NULL, NULL, err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT(t->v[0]->id == a && t->v[1]->id == ab && t->v[0]->fs.id == fs);
	CU_ASSERT(t->v[1]->root.len == root.len &&
		  memcmp(t->v[1]->root.data, root.data, root.len) == 0);
	export_table_put(t);
	end(&e);
}

/* After a new key, exports are still found by the ids in handles of the old one. */
TEST(export, ids_of_old_key)
{
	struct env e;
	char err[2048];
	struct export_table *t;
	uint32_t id;

	begin(&e);
	t = table(&e, e.a, NULL, NULL, NULL, err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	id = t->v[0]->id;
	export_table_put(t);
	memcpy(e.key.old, e.key.now, 16);
	e.key.has_old = true;
	e.key.now[3] ^= 1;
	t = table(&e, e.a, NULL, NULL, NULL, err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_NOT_EQUAL(t->v[0]->id, id);
	CU_ASSERT_PTR_EQUAL(export_by_id(t, id), t->v[0]);
	export_table_put(t);
	end(&e);
}

/* A server that is not root squashes to itself, and cannot promise anybody else. */
TEST(export, unprivileged_squash)
{
	struct env e;
	char err[2048];
	struct export_table *t;

	begin(&e);
	e.env.unprivileged = true;
	t = table(&e, e.a, NULL, "no_root_squash", NULL, err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT(t->rules[0]->v[0].opts.squash == SQUASH_ROOT &&
		  t->rules[0]->v[0].opts.anonuid == geteuid());
	CU_ASSERT_FALSE(t->v[0]->fs.confined);
	export_table_put(t);
	CU_ASSERT_PTR_NULL(table(&e, e.a, NULL, "anonuid=12345", NULL, err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "not root"));
	end(&e);
}

/* mountpoint serves only what is one. */
TEST(export, mountpoint)
{
	struct env e;
	char err[2048];
	struct export_table *t;

	begin(&e);
	CU_ASSERT_PTR_NULL(table(&e, e.a, NULL, "mountpoint", NULL, err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "nothing is mounted"));
	t = table(&e, "/dev", NULL, "mp", NULL, err);
	CU_ASSERT_PTR_NOT_NULL(t);
	export_table_put(t);
	end(&e);
}
