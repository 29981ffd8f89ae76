/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "entries.h"
#include "lib/scratch.h"
#include "plan.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a text means: "PATH CLIENT(OPTIONS)" for each rule, options that are not the default only,
 * parts separated by " | ". */
static void
option(char *out, bool differs, const char *word)
{
	if (differs)
		snprintf(out + strlen(out), 2000 - strlen(out), "%s%s",
			 out[strlen(out) - 1] == '(' ? "" : ",", word);
}

static void
describe(const struct entries *e, char *out)
{
	*out = '\0';
	for (size_t i = 0; i < e->n; i++) {
		const struct export_opts *o = &e->v[i].client.opts;
		char id[40];

		snprintf(out + strlen(out), 2000 - strlen(out), "%s%s %s(", i ? " | " : "",
			 e->v[i].path, e->v[i].client.text);
		option(out, o->rw, "rw");
		option(out, o->async, "async");
		option(out, !o->secure, "insecure");
		option(out, o->squash == SQUASH_NONE, "no_root_squash");
		option(out, o->squash == SQUASH_ALL, "all_squash");
		snprintf(id, sizeof id, "anonuid=%u", o->anonuid);
		option(out, o->anonuid != 65534, id);
		snprintf(id, sizeof id, "fsid=%u", o->fsid[15]);
		option(out, o->fsid_kind == FSID_NUMBER, id);
		option(out, o->fsid_kind == FSID_UUID, "uuid");
		option(out, o->no_sys, "no_sys");
		option(out, o->tls_only, "tls_only");
		option(out, o->mountpoint, "mountpoint");
		option(out, e->v[i].mountpoint, "elsewhere");
		option(out, o->crossmnt, "crossmnt");
		option(out, o->nohide, "nohide");
		option(out, o->no_acl, "no_acl");
		option(out, o->nordirplus, "nordirplus");
		snprintf(out + strlen(out), 2000 - strlen(out), ")");
	}
}

/* A line (or more), what it means, and the places of what is wrong with it: "E1:5" an error in line
 * 1, column 5, "W" a warning. */
static const struct {
	const char *text, *means, *says;
} corpus[] = {
    /* forms of a line: every one of exports(5)'s odd ones */
    {"/a", "/a *()", "W1:1"},
    {"/a # text", "/a *()", "W1:1"},
    {"/a -rw", "/a *(rw)", "W1:1"},
    {"/a (rw)", "/a *(rw)", "W1:4"},
    {"/a host (rw)", "/a host() | /a *(rw)", "W1:9"},
    {"/a *(rw) *(ro)", "/a *(rw) | /a *()", ""},
    {"/a -rw,sec=krb5 h1(sec=sys) h2 -ro h3", "/a h1(rw) | /a h2(rw,no_sys) | /a h3(no_sys)",
     "W1:29 W1:36"},
    {"/a -rw -ro h2", "/a h2(rw)", "E1:8"},
    {"/a h()", "/a h()", ""},
    {"/a h(rw,)", "/a h(rw)", ""},
    {"/a h(rw,,sync)", "", "E1:9"},
    {"/a h(rw, sync)", "", "E1:5"},
    {"/a h( rw)", "", "E1:5"},
    {"/a h(ro", "", "E1:5"},
    {"/a h(rw)x", "", "E1:8"},
    {"/a h(rw)h2(ro)", "", "E1:8"},
    {"/a h(RW)", "", "E1:6"},
    {"/a h(ro,rw,ro)", "/a h()", ""},
    {"/a h(anonuid=nobody)", "", "E1:6"},
    {"/a h(rw)", "/a h(rw)", ""},
    {"", "", ""},
    {"\n\n# nothing\n", "", ""},
    {"/a h(rw)\n", "/a h(rw)", ""},
    {"/a h1 -ro", "/a h1()", "E1:10"},
    {"/a -rwx h1 h2", "", "E1:5"},
    {"/a -rw h1 -async h2(insecure)", "/a h1(rw) | /a h2(rw,async,insecure)", ""},
    {"/a h1(ro) h2", "/a h1() | /a h2()", ""},
    {"/a h (", "/a h()", "E1:6"},
    {"/a )", "", "E1:4"},
    {"/a h(ro))", "", "E1:8"},
    {"/a h((ro)", "", "E1:9"},
    /* words */
    {"/with\\040blank h(rw)", "/with blank h(rw)", ""},
    {"\"/with blank\" h(rw)", "/with blank h(rw)", ""},
    {"/wi\"th bla\"nk h(rw)", "/with blank h(rw)", ""},
    {"/a \"h\"(rw)", "/a h(rw)", ""},
    {"/a h(\"rw,sync\")", "/a h(rw)", ""},
    {"/a h(\"rw, sync\")", "", "E1:10"},
    {"/\\134101 h", "/\\101 h()", ""},
    {"/\\101 h", "/A h()", ""},
    {"/\\x\\9\\07 h", "/\\x\\9\\07 h()", ""},
    {"/\\000 h", "", "E1:2"},
    {"/\\777 h", "", "E1:2"},
    {"/a#b h#1(rw)", "", "E1:6"},
    {"/a#b h(rw)", "/a#b h(rw)", ""},
    {"/a h(rw) # h2(rw)", "/a h(rw)", ""},
    {"/a h(rw)\r\n/b h\r\n", "/a h(rw) | /b h()", ""},
    {"/a\th(rw)\v\fh2", "/a h(rw) | /a h2()", ""},
    {"   /a h", "/a h()", ""},
    {"/a h1 \\\n   h2(rw)\n/b h", "/a h1() | /a h2(rw) | /b h()", ""},
    {"/a h1 \\\r\n h2(rw)\r\n", "/a h1() | /a h2(rw)", ""},
    {"/a h1\\\nh2", "/a h1() | /a h2()", ""},
    {"/a h1(rw,\\\nsync)", "", "E1:6 E2:1"},
    {"\"/a h\n/b h", "/b h()", "E1:1"},
    {"/a \"\"", "", "E1:4"},
    {"# one \\\n/a h\n/b h", "/b h()", "W1:7"},
    {"/a/ h", "/a/ h()", ""},
    /* a bad line takes nothing with it, and lines are counted as an editor does */
    {"# 1\n# 2\n\n/a h(rx)\n/b h(ro)\n/c h(\n/d h(rw)", "/b h() | /d h(rw)", "E4:6 E6:5"},
    {"/a h(foo,rw,bar=1) k(baz)", "", "E1:6 E1:13 E1:22"},
    {"relative h(rw)", "", "E1:1"},
    {"(rw) h", "", "E1:1"},
    /* clients */
    {"/a fe80::1 ::1/64", "/a fe80::1() | /a ::1/64()", ""},
    {"/a [fe80::1](rw) [2001:db8::]/32", "/a [fe80::1](rw) | /a [2001:db8::]/32()", ""},
    {"/a @ng @", "/a @ng()", "E1:8"},
    {"/a *.x.y h?.x [a-c].x", "/a *.x.y() | /a h?.x() | /a [a-c].x()", ""},
    {"/a 10/8 10.0.0.0/8", "/a 10.0.0.0/8()", "E1:4"},
    {"/a 10.0.0.0/255.0.255.0 192.168.1.77/24", "/a 10.0.0.0/255.0.255.0() | /a 192.168.1.77/24()",
     ""},
    {"/a 10.0.0.0/33 10.0.0.0/24x 10.0.0.0/", "", "E1:4 E1:16 E1:29"},
    {"/a 0.0.0.0/0 ::/0", "/a 0.0.0.0/0() | /a ::/0()", "W1:4 W1:14"},
    {"/a gss/krb5", "/a gss/krb5()", "W1:4"},
    {"/a under_score.org host.", "/a under_score.org() | /a host.()", ""},
    {"/a h,k", "", "E1:4"},
    /* options */
    {"/a h(sec=krb5:krb5i,rw,sec=sys,ro,insecure)", "/a h(insecure)", ""},
    {"/a h(rw,sec=krb5,ro)", "/a h(rw,no_sys)", "W1:4"},
    {"/a h(rw,sec=krb5,ro,sec=sys)", "/a h(rw)", ""},
    {"/a h(sec=sys:krb5,rw,async)", "/a h(rw,async)", ""},
    {"/a h(sec=krb5,no_root_squash,sec=unix,all_squash)", "/a h(all_squash)", ""},
    {"/a h(sec=sys:sys:unix,rw)", "/a h(rw)", ""},
    {"/a h(sec=sys,sec=krb5,rw,all_squash,insecure)", "/a h()", ""},
    {"/a -sec=krb5 h(rw)", "/a h(rw,no_sys)", "W1:14"},
    {"/a -sec=sys,rw h(ro)", "/a h()", ""},
    {"/a h(sec=foo)", "", "E1:6"},
    {"/a h(xprtsec=tls:mtls) k(xprtsec=none:tls)", "/a h(tls_only) | /a k()", "W1:4"},
    {"/a h(fsid=root) k(fsid=0x10)", "/a h(fsid=0) | /a k(fsid=16)", ""},
    {"/a h(fsid=12345678123456781234567812345678)", "/a h(uuid)", ""},
    {"/a h(fsid=)", "", "E1:6"},
    {"/a h(anonuid=-2,anongid=4294967294)", "/a h(anonuid=4294967294)", ""},
    {"/a h(mountpoint) k(mp=/m)", "/a h(mountpoint) | /a k(mountpoint,elsewhere)", ""},
    {"/a h(mp=) k(mp=m)", "", "E1:6 E1:13"},
    {"/a h(no_root_squash,all_squash,no_all_squash)", "/a h(no_root_squash)", ""},
    {"/a h(crossmnt,nohide,no_acl,nordirplus)", "/a h(crossmnt,nohide,no_acl,nordirplus)", ""},
    {"/a h(crossmnt,nocrossmnt,nohide,hide,no_acl,acl)", "/a h()", ""},
    {"/a h(wdelay,no_wdelay,subtree_check,no_subtree_check,secure_locks,insecure_locks)", "/a h()",
     ""},
    {"/a h(auth_nlm,no_auth_nlm,pnfs,no_pnfs,security_label,sign_fh)", "/a h()", ""},
    {"/a h(refer=/x@y,replicas=/x@y)", "/a h()", "W1:6 W1:17"},
    {"/a h(fsid=1,reexport=none,reexport=none)", "", "W1:13 E1:27"},
    {"/a h(reexport=always)", "", "E1:6"},
    {"/a h(squash_uids=5,squash_gids=1-9)", "/a h()", "W1:6 W1:20"},
    {"/a h(squash_uids=1-5,10)", "", "W1:6 E1:22"},
    {"/a h(alldirs,maproot=0)", "", "E1:6 E1:14"},
    {"/a h(rw=1)", "", "E1:6"},
    {"/a h(sec)", "", "E1:6"},
};

static void
places(const struct diag *d, char *out)
{
	*out = '\0';
	for (size_t i = 0; i < d->n; i++) {
		unsigned line = 0, col = 0;

		CU_ASSERT_EQUAL(sscanf(d->v[i].text, "file:%u:%u: ", &line, &col), 2);
		sprintf(out + strlen(out), "%s%c%u:%u", i ? " " : "",
			d->v[i].level == DIAG_ERROR ? 'E' : 'W', line, col);
	}
}

/* Every line of the corpus means what it should, and each mistake is reported at its place. */
TEST(exports_file, corpus)
{
	for (size_t i = 0; i < sizeof corpus / sizeof *corpus; i++) {
		struct entries e = {0};
		struct diag d = {0};
		char means[2000], says[500];
		bool good = entries_parse(&e, "file", corpus[i].text, strlen(corpus[i].text), &d);

		describe(&e, means);
		places(&d, says);
		CU_ASSERT_EQUAL(good, strchr(corpus[i].says, 'E') == NULL);
		if (strcmp(means, corpus[i].means) != 0 || strcmp(says, corpus[i].says) != 0) {
			printf("\n%s\n\tmeans %s\n\tnot   %s\n\tsays  %s\n\tnot   %s\n",
			       corpus[i].text, means, corpus[i].means, says, corpus[i].says);
			CU_FAIL("another meaning");
		}
		entries_free(&e);
		diag_free(&d);
	}
	CU_ASSERT(sizeof corpus / sizeof *corpus >= 80);
}

/* ---- what exportfs(8) makes of the same lines ---- */

static const struct {
	const char *text, *means;
} exportfs[] = {
#include "exportfs.h"
};

/* Where this server differs, on purpose: spliced.exports(5), DIFFERENCES. */
static const struct {
	const char *text, *why;
} differences[] = {
    {"/a -rw -ro h2", "a list behind a list is a mistake, not a host"},
    {"/a h (", "a mistake, not a client that is left out"},
    {"/a 10/8 10.0.0.0/8", "an address that is not whole is a mistake, not left out"},
    {"/a h1 -ro", "a list with no client behind it is a mistake, not everybody"},
    {"/\\134101 h", "an escape is decoded once"},
    {"/\\000 h", "no byte of a path is NUL: there the path ends, and / is exported"},
    {"/\\777 h", "not a byte"},
    {"/a h(\"rw, sync\")", "no blanks in a list"},
    {"/a\th(rw)\v\fh2", "a form feed is a blank everywhere"},
    {"/a h1 \\\r\n h2(rw)\r\n", "a CR before the end of a continued line is a blank"},
    {"\"/a h\n/b h", "a quotation mark is closed on its line"},
    {"/a \"\"", "an empty client is a mistake, not everybody"},
    {"# one \\\n/a h\n/b h", "as an editor shows it: a comment is continued"},
    {"relative h(rw)", "could not be exported"},
    {"(rw) h", "could not be exported"},
    {"/a @ng @", "a netgroup has a name"},
    {"/a under_score.org host.", "a name that is not there now is kept, and asked for again"},
    {"/a 10.0.0.0/33 10.0.0.0/24x 10.0.0.0/", "a wrong length is a mistake"},
    {"/a h(rw,sec=krb5,ro,sec=sys)", "sec= begins with what stood before the first one"},
    {"/a h(sec=sys,sec=krb5,rw,all_squash,insecure)", "secure and insecure belong to flavors"},
    {"/a -sec=sys,rw h(ro)", "what a client's own list says counts"},
    {"/a h(fsid=12345678123456781234567812345678)", "32 digits are a UUID"},
    {"/a h(mp=) k(mp=m)", "a path of mountpoint= is absolute"},
    {"/a h(xprtsec=tls:mtls) k(xprtsec=none:tls)", "a later version's option"},
    {"/a h(auth_nlm,no_auth_nlm,pnfs,no_pnfs,security_label,sign_fh)", "a later version's"},
};

static const char *
difference(const char *text)
{
	for (size_t i = 0; i < sizeof differences / sizeof *differences; i++)
		if (strcmp(differences[i].text, text) == 0)
			return differences[i].why;
	return NULL;
}

static int
row_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The table of a text as exportfs.h has it: sorted; of rules for one client the first; everybody is
 * nobody named; nothing of a text with a mistake. */
static void
as_exportfs(const char *text, bool ours, char *out)
{
	char copy[2000], *v[32];
	size_t n = 0;

	snprintf(copy, sizeof copy, "%s", text);
	*out = '\0';
	for (char *w = copy, *bar; n < 32 && *w; w = bar) {
		char *star = strstr(w, " *("), *twin;

		bar = strstr(w, " | ");
		if (bar) {
			*bar = '\0';
			bar += 3;
		} else {
			bar = w + strlen(w);
		}
		if (star && star < w + strlen(w))
			memmove(star + 1, star + 2, strlen(star + 1));
		twin = strchr(w, '(');
		if (twin && strstr(w, "no_sys)"))
			strcpy(twin, "(no_sys)"); /* who cannot come in has no rights */
		for (size_t i = 0; twin && ours && i < n; i++)
			if (strncmp(v[i], w, (size_t)(twin - w) + 1) == 0)
				twin = NULL;
		if (twin)
			v[n++] = w;
	}
	qsort(v, n, sizeof *v, row_order);
	for (size_t i = 0; i < n; i++)
		sprintf(out + strlen(out), "%s%s", i ? " | " : "", v[i]);
}

/* Every line of the corpus gives the table that exportfs(8) makes of it, but for the differences
 * that the manual lists; and those are differences. */
TEST(exports_file, as_exportfs)
{
	size_t n = sizeof exportfs / sizeof *exportfs, same = 0;

	CU_ASSERT_EQUAL(n, sizeof corpus / sizeof *corpus);
	for (size_t i = 0; i < n; i++) {
		struct entries e = {0};
		struct diag d = {0};
		char means[2000], ours[2000], theirs[2000];
		bool good =
		    entries_parse(&e, "file", exportfs[i].text, strlen(exportfs[i].text), &d);

		describe(&e, means);
		as_exportfs(good ? means : "", true, ours);
		as_exportfs(exportfs[i].means, false, theirs);
		same += strcmp(ours, theirs) == 0;
		if ((strcmp(ours, theirs) != 0) != (difference(exportfs[i].text) != NULL)) {
			printf("\n%s\n\tmeans    %s\n\texportfs %s\n", exportfs[i].text, ours,
			       theirs);
			CU_FAIL("not as exportfs, or no difference any more");
		}
		entries_free(&e);
		diag_free(&d);
	}
	CU_ASSERT(same >= 70);
}

/* NUL bytes in a file are an error, not the end of it. */
TEST(exports_file, nul)
{
	static const char text[] = "/a\0b h\n/c h\n";
	struct entries e = {0};
	struct diag d = {0};

	CU_ASSERT_FALSE(entries_parse(&e, "file", text, sizeof text - 1, &d));
	CU_ASSERT(d.errors == 1 && e.n == 1 && strcmp(e.v[0].path, "/c") == 0);
	entries_free(&e);
	diag_free(&d);
}

/* A file of nothing but mistakes is read to its end, its messages counted and kept up to a limit.
 */
TEST(exports_file, many_errors)
{
	struct entries e = {0};
	struct diag d = {0};
	char *text = malloc(3 * 5000 + 1), *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	CU_ASSERT_FATAL(text && f);
	for (int i = 0; i < 5000; i++)
		memcpy(text + 3 * i, "a\n\n", 3);
	CU_ASSERT_FALSE(entries_parse(&e, "file", text, 3 * 5000, &d));
	CU_ASSERT(d.errors == 5000 && d.n == DIAG_MAX);
	diag_print(&d, f);
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "file:1:1: error: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "and 4000 more"));
	free(out);
	free(text);
	entries_free(&e);
	diag_free(&d);
}

/* ---- files and plans ---- */

struct box {
	char dir[64], path[128];
	struct entries e;
	struct diag d;
	struct plan p;
};

static const char *
at(struct box *b, const char *name)
{
	snprintf(b->path, sizeof b->path, "%s/%s", b->dir, name);
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
	memset(b, 0, sizeof *b);
	scratch_make(b->dir, "exports");
	mkdir(at(b, "d"), 0755);
}

static void
clear(struct box *b)
{
	entries_free(&b->e);
	diag_free(&b->d);
	plan_free(&b->p);
}

static void
end(struct box *b)
{
	clear(b);
	scratch_drop(b->dir);
}

static bool
read_all(struct box *b)
{
	char file[128], dir[128];

	strcpy(file, at(b, "exports"));
	strcpy(dir, at(b, "d"));
	return entries_read_all(&b->e, file, dir, &b->d);
}

/* The main file first, then NAME.exports of the directory by number; hidden ones, other names and
 * NAME missing are left alone. */
TEST(exports_file, directory)
{
	struct box b;
	char means[2000];

	begin(&b);
	put(&b, "exports", "/main h");
	put(&b, "d/10.exports", "/ten h");
	put(&b, "d/2.exports", "/two h\n");
	put(&b, "d/.hidden.exports", "/hidden h");
	put(&b, "d/.exports", "/hidden h");
	put(&b, "d/x.exports.bak", "/bak h");
	put(&b, "d/exports", "/other h");
	CU_ASSERT(read_all(&b));
	describe(&b.e, means);
	CU_ASSERT_STRING_EQUAL(means, "/main h() | /two h() | /ten h()");
	CU_ASSERT_PTR_NOT_NULL(strstr(b.e.sources->v[b.e.v[1].at.src], "/2.exports"));
	end(&b);
}

/* Neither the file nor the directory need be there; one that cannot be read is an error. */
TEST(exports_file, missing)
{
	struct box b;

	begin(&b);
	CU_ASSERT(read_all(&b) && b.e.n == 0);
	rmdir(at(&b, "d"));
	CU_ASSERT(read_all(&b) && b.e.n == 0 && b.d.errors == 0);
	CU_ASSERT_FALSE(entries_read(&b.e, at(&b, "exports"), &b.d));
	CU_ASSERT_EQUAL(b.d.errors, 1);
	mkdir(at(&b, "exports"), 0755);
	CU_ASSERT_FALSE(read_all(&b));
	end(&b);
}

static bool
plan(struct box *b, const char *fmt, ...)
{
	char text[1000], full[3000] = "";
	va_list ap;
	bool good;

	clear(b);
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (const char *p = text; *p; p++) /* ~ stands for the directory */
		snprintf(full + strlen(full), sizeof full - strlen(full), *p == '~' ? "%s" : "%.1s",
			 *p == '~' ? b->dir : p);
	good = entries_parse(&b->e, "file", full, strlen(full), &b->d);
	return plan_make(&b->p, &b->e, false, &b->d) && good;
}

static bool
said(const struct box *b, const char *text)
{
	for (size_t i = 0; i < b->d.n; i++)
		if (strstr(b->d.v[i].text, text))
			return true;
	return false;
}

/* One directory under several names and in several lines is one export with all their clients; its
 * other names are remembered. */
TEST(exports_plan, one_directory)
{
	struct box b;
	char link[128];

	begin(&b);
	strcpy(link, at(&b, "link"));
	CU_ASSERT_EQUAL(symlink("d", link), 0);
	CU_ASSERT(plan(&b, "~/d h\n~/link k(rw)\n~//d/ l\n~ m"));
	CU_ASSERT_EQUAL_FATAL(b.p.n, 2);
	CU_ASSERT(strcmp(b.p.v[0].path, b.dir) == 0 && b.p.v[0].rules->n == 1);
	CU_ASSERT(strcmp(b.p.v[1].path, at(&b, "d")) == 0 && b.p.v[1].rules->n == 3);
	CU_ASSERT(!b.p.v[0].rw && b.p.v[1].rw);
	CU_ASSERT_EQUAL(b.p.v[0].rules->nwritten, 1);
	CU_ASSERT_EQUAL_FATAL(b.p.v[1].rules->nwritten, 2);
	CU_ASSERT_STRING_EQUAL(b.p.v[1].rules->written[0], at(&b, "d"));
	CU_ASSERT_STRING_EQUAL(b.p.v[1].rules->written[1], link);
	end(&b);
}

/* The same client twice: the first rule stays, and both places are named. */
TEST(exports_plan, twins)
{
	struct box b;

	begin(&b);
	CU_ASSERT(plan(&b, "~/d *(rw) H 10.0.0.0/8\n~/d h(rw) 10.0.0.7/8 * 10.0.0.0"));
	CU_ASSERT_EQUAL_FATAL(b.p.n, 1);
	CU_ASSERT_EQUAL(b.p.v[0].rules->n, 4);
	CU_ASSERT(b.p.v[0].rules->v[0].opts.rw && !b.p.v[0].rules->v[1].opts.rw);
	CU_ASSERT_EQUAL(b.d.warnings, 3);
	CU_ASSERT(said(&b, "file:2:") && said(&b, "file:1:"));
	end(&b);
}

/* fsid= names the file system: two of one directory is an error, one stands for all its clients. */
TEST(exports_plan, fsid)
{
	struct box b;

	begin(&b);
	CU_ASSERT(plan(&b, "~/d h(fsid=3) k"));
	CU_ASSERT(b.p.v[0].opts.fsid_kind == FSID_NUMBER && b.p.v[0].opts.fsid[15] == 3);
	CU_ASSERT_FALSE(plan(&b, "~/d h(fsid=3) k(fsid=4)"));
	CU_ASSERT(said(&b, "another fsid="));
	end(&b);
}

/* What a file names and is not there, no directory, or not mounted stands aside with the reason. */
TEST(exports_plan, absent)
{
	struct box b;

	begin(&b);
	put(&b, "plain", "");
	CU_ASSERT(plan(&b, "~/none h\n~/plain h\n~/d h(mountpoint)\n~ h(mp=~/d)\n/dev h(mp)"));
	CU_ASSERT_EQUAL_FATAL(b.p.n, 5);
	CU_ASSERT(strcmp(b.p.v[0].path, "/dev") == 0 && !b.p.v[0].absent);
	CU_ASSERT(b.p.v[1].absent && !b.p.v[1].missing && b.p.v[2].absent && b.p.v[4].absent);
	CU_ASSERT(b.p.v[3].absent && b.p.v[3].missing);
	CU_ASSERT(said(&b, "file:1:1: ") && said(&b, "does not exist"));
	CU_ASSERT(said(&b, "file:2:1: ") && said(&b, "not a directory"));
	CU_ASSERT(said(&b, "nothing is mounted there") && said(&b, "path of mountpoint="));
	CU_ASSERT(b.d.errors == 0 && b.d.warnings == 4);
	end(&b);
}

/* With a rootdir, paths of files are beneath it, and so are absolute symbolic links in them;
 * nothing leads out. Clients know the path without it. */
TEST(exports_plan, rootdir)
{
	struct box b;
	char link[128], root[64];

	begin(&b);
	strcpy(root, b.dir);
	strcpy(link, at(&b, "link"));
	CU_ASSERT(symlink("/d", link) == 0 && symlink("../../../..", at(&b, "up")) == 0);
	b.e.rootdir = root;
	static const char text[] = "/link h\n/d/none k\n/d/../../up/d l(rw)\n/ h(mp=/d)\n";
	CU_ASSERT(entries_parse(&b.e, "file", text, sizeof text - 1, &b.d));
	CU_ASSERT_FATAL(plan_make(&b.p, &b.e, false, &b.d) && b.p.n == 3);
	CU_ASSERT_STRING_EQUAL(b.p.v[0].path, "/");
	CU_ASSERT_STRING_EQUAL(b.p.v[0].where, root);
	CU_ASSERT(b.p.v[0].absent && strstr(b.p.v[0].absent, "mountpoint="));
	CU_ASSERT_STRING_EQUAL(b.p.v[1].path, "/d");
	CU_ASSERT_STRING_EQUAL(b.p.v[1].where, at(&b, "d"));
	CU_ASSERT(b.p.v[1].rules->n == 2 && b.p.v[1].rw && !b.p.v[1].absent);
	CU_ASSERT_STRING_EQUAL(b.p.v[2].path, "/d/none");
	CU_ASSERT_STRING_EQUAL(b.p.v[2].where, at(&b, "d/none"));
	CU_ASSERT(b.p.v[2].missing);
	end(&b);
}

/* What is printed is an exports file again, and means the same. */
TEST(exports_plan, printed)
{
	struct box b, c;
	char *text = NULL, name[128];
	size_t size;
	FILE *f = open_memstream(&text, &size);

	begin(&b);
	strcpy(name, at(&b, "a b#\"\\"));
	mkdir(name, 0755);
	CU_ASSERT(plan(&b,
		       "~/d 10.0.0.0/8(rw,async,insecure,fsid=0x11,crossmnt) @n(sec=krb5:sys,ro)\n"
		       "\"~/a b#\\042\\\" *.x(all_squash,anonuid=7) [fe80::1](no_root_squash)"));
	CU_ASSERT_EQUAL(b.p.n, 2);
	plan_print(&b.p, f);
	fclose(f);
	memset(&c, 0, sizeof c);
	CU_ASSERT(entries_parse(&c.e, "again", text, size, &c.d) &&
		  plan_make(&c.p, &c.e, false, &c.d));
	CU_ASSERT_EQUAL_FATAL(c.p.n, b.p.n);
	for (size_t i = 0; i < b.p.n; i++) {
		char x[OPTS_TEXT], y[OPTS_TEXT];

		CU_ASSERT_STRING_EQUAL(c.p.v[i].path, b.p.v[i].path);
		CU_ASSERT_EQUAL_FATAL(c.p.v[i].rules->n, b.p.v[i].rules->n);
		for (size_t j = 0; j < b.p.v[i].rules->n; j++) {
			const struct export_client *p = &b.p.v[i].rules->v[j],
						   *q = &c.p.v[i].rules->v[j];

			CU_ASSERT_STRING_EQUAL(p->text, q->text);
			CU_ASSERT_STRING_EQUAL(opts_text(&p->opts, x, sizeof x),
					       opts_text(&q->opts, y, sizeof y));
		}
	}
	free(text);
	clear(&c);
	end(&b);
}

/* Entries can be taken away again by path and client, as they were written. */
TEST(exports_file, remove)
{
	struct entries e = {0}, f = {0};
	struct diag d = {0};
	static const char text[] = "/a h k(rw)\n/b h\n/a *";
	char means[2000];

	CU_ASSERT(entries_parse(&e, "file", text, sizeof text - 1, &d));
	CU_ASSERT(entries_copy(&f, &e));
	CU_ASSERT(entries_remove(&e, "/a", "K") == 1 && entries_remove(&e, "/a", "x") == 0);
	describe(&e, means);
	CU_ASSERT_STRING_EQUAL(means, "/a h() | /b h() | /a *()");
	CU_ASSERT_EQUAL(entries_remove(&e, "/a", NULL), 2);
	describe(&f, means);
	CU_ASSERT_STRING_EQUAL(means, "/a h() | /a k(rw) | /b h() | /a *()");
	entries_free(&e);
	entries_free(&f);
	diag_free(&d);
}
