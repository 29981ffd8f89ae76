/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exports as text: the language of exports(5) again, with everything spelled out.
 */
#include "plan.h"

const char *
place_text(const struct sources *s, struct origin at, char *buf, size_t size)
{
	if (!s || !at.src || at.src >= s->n)
		return "command line";
	if (at.line)
		snprintf(buf, size, "%s:%u:%u", s->v[at.src], at.line, at.col);
	else
		snprintf(buf, size, "%s", s->v[at.src]);
	return buf;
}

static void
fsid_text(const struct export_opts *o, FILE *f)
{
	if (o->fsid_kind == FSID_NUMBER) {
		unsigned n = 0;

		for (int i = 12; i < 16; i++)
			n = n << 8 | o->fsid[i];
		fprintf(f, ",fsid=%u", n);
	}
	if (o->fsid_kind != FSID_UUID)
		return;
	fputs(",fsid=", f);
	for (int i = 0; i < 16; i++)
		fprintf(f, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", o->fsid[i]);
}

static void
sec_text(const struct export_opts *o, FILE *f)
{
	static const char *const names[] = {"sys", "none", "krb5", "krb5i", "krb5p"};
	unsigned sec = o->sec ? o->sec : 1;
	const char *before = ",sec=";

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (sec & 1u << i) {
			fprintf(f, "%s%s", before, names[i]);
			before = ":";
		}
}

char *
opts_text(const struct export_opts *o, char *buf, size_t size)
{
	static const char *const squash[] = {[SQUASH_ROOT] = "root_squash",
					     [SQUASH_NONE] = "no_root_squash",
					     [SQUASH_ALL] = "all_squash"};
	FILE *f = fmemopen(buf, size, "w");

	*buf = '\0';
	if (!f)
		return buf;
	fprintf(f, "%s,%s,%s,%s", o->rw ? "rw" : "ro", o->async ? "async" : "sync",
		o->secure ? "secure" : "insecure", squash[o->squash]);
	fprintf(f, ",anonuid=%u,anongid=%u", o->anonuid, o->anongid);
	fprintf(f, "%s%s%s%s%s", o->nordirplus ? ",nordirplus" : "", o->no_acl ? ",no_acl" : "",
		o->crossmnt ? ",crossmnt" : "", o->nohide ? ",nohide" : "",
		o->mountpoint ? ",mountpoint" : "");
	sec_text(o, f);
	if (o->tls_only)
		fputs(",xprtsec=tls", f);
	fsid_text(o, f);
	fclose(f);
	return buf;
}

/* A word as an exports file needs it. */
static void
print_word(const char *s, FILE *out)
{
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == '"' || *s == '\\' || *s == '#' || *s == 0x7f)
			fprintf(out, "\\%03o", (unsigned char)*s);
		else
			fputc(*s, out);
}

void
plan_print(const struct plan *p, FILE *out)
{
	char text[OPTS_TEXT], place[PATH_MAX + 32];

	for (size_t i = 0; i < p->n; i++) {
		const struct plan_export *x = &p->v[i];

		if (x->crossed) {
			fputs("# ", out);
			print_word(x->path, out);
			fprintf(out, "  %s, mounted in %s and shown by its crossmnt\n", x->type,
				p->v[x->above].path);
			continue;
		}
		for (size_t j = 0; j < x->rules->n; j++) {
			const struct export_client *c = &x->rules->v[j];

			print_word(x->path, out);
			fputs("  ", out);
			print_word(c->text, out);
			fprintf(out, "(%s)  # %s%s%s\n", opts_text(&c->opts, text, sizeof text),
				place_text(p->sources, c->at, place, sizeof place),
				x->absent ? "; not served: " : "", x->absent ? x->absent : "");
		}
	}
}
