/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of exports(5). Strict: what is not understood is an error, because a typing mistake
 * must not change who gets in. Options of other versions of NFS are accepted; where they would
 * serve more than this server does, that is said.
 *
 * Of the flavors that sec= can name, this server has AUTH_SYS. Flags that stand behind a sec= are
 * for its flavors alone, so two sets are kept: that of the entry, and that of AUTH_SYS once it was
 * named. A rule whose lists name only other flavors lets nobody in here (export_opts.no_sys): to
 * serve its clients with AUTH_SYS all the same would be less than its owner asked for.
 */
#include "parse.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ANON 65534

void
export_opts_default(struct export_opts *o)
{
	*o = (struct export_opts){
	    .secure = true, .squash = SQUASH_ROOT, .anonuid = ANON, .anongid = ANON};
}

void
optparse_init(struct optparse *p)
{
	*p = (struct optparse){.entry = {.secure = true, .root_squash = true}};
	export_opts_default(&p->o);
}

void
optparse_free(struct optparse *p)
{
	free(p->mountpoint);
	p->mountpoint = NULL;
}

bool
optparse_copy(struct optparse *to, const struct optparse *from)
{
	*to = *from;
	to->in_group = to->sys_in_group = false;
	if (from->mountpoint)
		to->mountpoint = strdup(from->mountpoint);
	return !from->mountpoint || to->mountpoint;
}

void
optparse_result(const struct optparse *p, struct export_opts *o)
{
	const struct flags *f = p->sec_given && p->sys_named ? &p->sys : &p->entry;

	*o = p->o;
	o->no_sys = p->sec_given && !p->sys_named;
	o->rw = f->rw;
	o->secure = f->secure;
	o->squash = f->all_squash ? SQUASH_ALL : f->root_squash ? SQUASH_ROOT : SQUASH_NONE;
}

/* ---- the options ---- */

/* One option being read: "name" or "name=value", split. */
struct opt {
	const char *name, *value; /* value NULL: there was no "=" */
	const char *file;
	struct spot at, value_at;
	struct diag *diag;
};

typedef bool set_fn(struct optparse *, const struct opt *);

#define WRONG(op, ...) (diag_add((op)->diag, DIAG_ERROR, (op)->file, (op)->at, __VA_ARGS__), false)
#define WARN(op, ...) diag_add((op)->diag, DIAG_WARN, (op)->file, (op)->at, __VA_ARGS__)

/* Sets a flag where it is meant to be set. */
#define SET_FLAG(fn, flag, v)                                                                      \
	static bool fn(struct optparse *p, const struct opt *op)                                   \
	{                                                                                          \
		(void)op;                                                                          \
		if (!p->in_group)                                                                  \
			p->entry.flag = v;                                                         \
		if (p->in_group ? p->sys_in_group : p->sys_named)                                  \
			p->sys.flag = v;                                                           \
		return true;                                                                       \
	}
SET_FLAG(set_ro, rw, false)
SET_FLAG(set_rw, rw, true)
SET_FLAG(set_secure, secure, true)
SET_FLAG(set_insecure, secure, false)
SET_FLAG(set_root_squash, root_squash, true)
SET_FLAG(set_no_root_squash, root_squash, false)
SET_FLAG(set_all_squash, all_squash, true)
SET_FLAG(set_no_all_squash, all_squash, false)

#define SET_FIELD(fn, field, v)                                                                    \
	static bool fn(struct optparse *p, const struct opt *op)                                   \
	{                                                                                          \
		(void)op;                                                                          \
		p->o.field = v;                                                                    \
		return true;                                                                       \
	}
SET_FIELD(set_sync, async, false)
SET_FIELD(set_async, async, true)
SET_FIELD(set_nordirplus, nordirplus, true)
SET_FIELD(set_acl, no_acl, false)
SET_FIELD(set_no_acl, no_acl, true)
SET_FIELD(set_crossmnt, crossmnt, true)
SET_FIELD(set_nocrossmnt, crossmnt, false)
SET_FIELD(set_nohide, nohide, true)
SET_FIELD(set_hide, nohide, false)

/* Means nothing here, or is so anyway. */
static bool
ignore(struct optparse *p, const struct opt *op)
{
	(void)p, (void)op;
	return true;
}

static bool
no_effect(struct optparse *p, const struct opt *op)
{
	(void)p;
	WARN(op, "%s=%s has no effect in this server", op->name, op->value);
	return true;
}

/* A user or group number: decimal, -2 being the same as 4294967294. -1 is no identity: the kernel
 * takes it for "no change". */
static bool
read_id(const struct opt *op, uint32_t *out)
{
	const char *v = op->value;
	char *end;
	long long n;

	errno = 0;
	n = strtoll(v, &end, 10);
	if (!isdigit((unsigned char)v[v[0] == '-']) || *end || errno || n < INT32_MIN ||
	    n > UINT32_MAX || (uint32_t)n == UINT32_MAX)
		return WRONG(op,
			     "%s=%s: not a number from -2147483648 to 4294967294 other than -1 "
			     "(names are not looked up)",
			     op->name, v);
	*out = (uint32_t)n;
	return true;
}

static bool
set_anonuid(struct optparse *p, const struct opt *op)
{
	p->o.anon_given = true;
	return read_id(op, &p->o.anonuid);
}

static bool
set_anongid(struct optparse *p, const struct opt *op)
{
	p->o.anon_given = true;
	return read_id(op, &p->o.anongid);
}

/* 32 hex digits with anything between them. Asked before numbers: the digits may all be decimal. */
static bool
read_uuid(const char *v, uint8_t out[16])
{
	unsigned n = 0;

	memset(out, 0, 16);
	for (; *v; v++) {
		if (!isxdigit((unsigned char)*v))
			continue;
		if (n == 32)
			return false;
		int c = tolower((unsigned char)*v);

		out[n / 2] = (uint8_t)(out[n / 2] << 4 | (c <= '9' ? c - '0' : c - 'a' + 10));
		n++;
	}
	return n == 32;
}

static bool
set_fsid(struct optparse *p, const struct opt *op)
{
	const char *v = op->value;
	char *end = NULL;
	unsigned long long n = 0;

	p->fsid_given = true;
	if (read_uuid(v, p->o.fsid)) {
		p->o.fsid_kind = FSID_UUID;
		return true;
	}
	errno = 0;
	if (strcmp(v, "root") != 0)
		n = strtoull(v, &end, 0);
	if (end && (!isdigit((unsigned char)*v) || *end || errno || n > UINT32_MAX))
		return WRONG(op, "fsid=%s: neither a number up to 4294967295, nor a UUID, nor root",
			     v);
	memset(p->o.fsid, 0, sizeof p->o.fsid);
	for (int i = 0; i < 4; i++)
		p->o.fsid[15 - i] = (uint8_t)(n >> 8 * i);
	p->o.fsid_kind = FSID_NUMBER;
	return true;
}

static bool
set_mountpoint(struct optparse *p, const struct opt *op)
{
	p->o.mountpoint = true;
	free(p->mountpoint);
	p->mountpoint = NULL;
	if (!op->value)
		return true;
	if (op->value[0] != '/')
		return WRONG(op, "%s=%s: not an absolute path", op->name, op->value);
	p->mountpoint = strdup(op->value);
	return p->mountpoint || WRONG(op, "no memory");
}

/* The words of a colon list, one by one: n bytes at v; an empty one is a word, too. */
static const char *
next_word(const char **list, size_t *n)
{
	const char *v = *list;

	if (!v)
		return NULL;
	*n = strcspn(v, ":");
	*list = v[*n] ? v + *n + 1 : NULL;
	return v;
}

static bool
among(const char *v, size_t n, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == n && memcmp(*words, v, n) == 0)
			return true;
	return false;
}

static bool
set_sec(struct optparse *p, const struct opt *op)
{
	static const char *const flavors[][3] = {
	    {"sys", "unix"}, {"none", "null"}, {"krb5"}, {"krb5i"}, {"krb5p"}};
	const char *list = op->value, *v;
	bool names_sys;
	unsigned named = 0;
	size_t n;

	while ((v = next_word(&list, &n))) {
		unsigned i = 0;

		while (i < 5 && !among(v, n, flavors[i]))
			i++;
		named |= 1u << i;
		if (i == 5)
			return WRONG(op,
				     "sec=%s: \"%.*s\" is no flavor; there are sys, none, krb5, "
				     "krb5i and krb5p",
				     op->value, (int)n, v);
	}
	names_sys = named & 1;
	p->o.sec |= (uint8_t)named;
	if (names_sys && !p->sys_named)
		p->sys = p->entry;
	p->sys_named |= names_sys;
	p->sec_given = p->in_group = true;
	p->sys_in_group = names_sys;
	return true;
}

static bool
set_xprtsec(struct optparse *p, const struct opt *op)
{
	static const char *const none[] = {"none", NULL}, *const tls[] = {"tls", "mtls", NULL};
	const char *list = op->value, *v;
	bool plain = false;
	size_t n;

	while ((v = next_word(&list, &n))) {
		if (!among(v, n, none) && !among(v, n, tls))
			return WRONG(op, "xprtsec=%s: \"%.*s\" is none of none, tls and mtls",
				     op->value, (int)n, v);
		plain |= among(v, n, none);
	}
	p->o.tls_only = !plain;
	return true;
}

/* Undocumented, and of no effect in the kernel's server either: N or N-M. */
static bool
set_squash_ids(struct optparse *p, const struct opt *op)
{
	size_t n = strspn(op->value, "0123456789");
	const char *rest = op->value + n;

	if (n && *rest == '-') {
		n = strspn(++rest, "0123456789");
		rest += n;
	}
	if (!n || *rest)
		return WRONG(op, "%s=%s: neither a number nor a range N-M", op->name, op->value);
	return no_effect(p, op);
}

static bool
set_reexport(struct optparse *p, const struct opt *op)
{
	static const char *const words[] = {"auto-fsidnum", "predefined-fsidnum", "none", NULL};

	if (!among(op->value, strlen(op->value), words))
		return WRONG(op, "reexport=%s: none of auto-fsidnum, predefined-fsidnum and none",
			     op->value);
	if (p->reexport_given)
		return WRONG(op, "reexport= is given twice");
	p->reexport_given = true;
	return no_effect(p, op);
}

/* ---- the table ---- */

enum value { NO_VALUE, NEEDS_VALUE, MAY_VALUE };

/* A row per option. */
static const struct row {
	const char *name;
	enum value value;
	set_fn *set;
} rows[] = {
    {"ro", NO_VALUE, set_ro},
    {"rw", NO_VALUE, set_rw},
    {"secure", NO_VALUE, set_secure},
    {"insecure", NO_VALUE, set_insecure},
    {"sync", NO_VALUE, set_sync},
    {"async", NO_VALUE, set_async},
    {"root_squash", NO_VALUE, set_root_squash},
    {"no_root_squash", NO_VALUE, set_no_root_squash},
    {"all_squash", NO_VALUE, set_all_squash},
    {"no_all_squash", NO_VALUE, set_no_all_squash},
    {"anonuid", NEEDS_VALUE, set_anonuid},
    {"anongid", NEEDS_VALUE, set_anongid},
    {"fsid", NEEDS_VALUE, set_fsid},
    {"mountpoint", MAY_VALUE, set_mountpoint},
    {"mp", MAY_VALUE, set_mountpoint},
    {"sec", NEEDS_VALUE, set_sec},
    {"xprtsec", NEEDS_VALUE, set_xprtsec},
    {"nordirplus", NO_VALUE, set_nordirplus},
    {"acl", NO_VALUE, set_acl},
    {"no_acl", NO_VALUE, set_no_acl},
    {"hide", NO_VALUE, set_hide},
    {"nohide", NO_VALUE, set_nohide},
    {"crossmnt", NO_VALUE, set_crossmnt},
    {"nocrossmnt", NO_VALUE, set_nocrossmnt},
    {"wdelay", NO_VALUE, ignore},
    {"no_wdelay", NO_VALUE, ignore},
    {"subtree_check", NO_VALUE, ignore}, /* handles and names are confined to the export anyway */
    {"no_subtree_check", NO_VALUE, ignore},
    {"secure_locks", NO_VALUE, ignore},
    {"insecure_locks", NO_VALUE, ignore},
    {"auth_nlm", NO_VALUE, ignore},
    {"no_auth_nlm", NO_VALUE, ignore},
    {"pnfs", NO_VALUE, ignore},
    {"no_pnfs", NO_VALUE, ignore},
    {"security_label", NO_VALUE, ignore},
    {"sign_fh", NO_VALUE, ignore}, /* handles always carry a keyed check value */
    {"squash_uids", NEEDS_VALUE, set_squash_ids},
    {"squash_gids", NEEDS_VALUE, set_squash_ids},
    {"refer", NEEDS_VALUE, no_effect},
    {"replicas", NEEDS_VALUE, no_effect},
    {"reexport", NEEDS_VALUE, set_reexport},
};

static const struct row *
find_row(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static bool
unknown(const struct opt *op)
{
	char lower[32];
	size_t i;

	for (i = 0; i < sizeof lower - 1 && op->name[i]; i++)
		lower[i] = (char)tolower((unsigned char)op->name[i]);
	lower[i] = '\0';
	if (!*op->name)
		return WRONG(op, "an empty option (two commas, or one at the beginning)");
	if (strcmp(lower, op->name) != 0 && find_row(lower))
		return WRONG(op, "option \"%s\": unknown; options are in lower case: %s", op->name,
			     lower);
	return WRONG(op, "option \"%s\": unknown", op->name);
}

/* One option of the list, at text[from..to). */
static bool
one(struct optparse *p, char *text, const struct opt *where)
{
	struct opt op = *where;
	char *eq = strchr(text, '=');
	const struct row *row;

	if (eq)
		*eq = '\0';
	op.name = text;
	op.value = eq ? eq + 1 : NULL;
	row = find_row(text);
	if (!row)
		return unknown(&op);
	if (row->value == NO_VALUE && eq)
		return WRONG(&op, "option %s=%s: takes no value", op.name, op.value);
	if ((row->value == NEEDS_VALUE && !eq) || (row->value != NO_VALUE && eq && !*op.value))
		return WRONG(&op, "option %s: needs a value, as in %s=...", op.name, op.name);
	return row->set(p, &op);
}

bool
optparse_list(struct optparse *p, const char *text, size_t n, const char *file,
	      const struct spot *at, struct diag *d)
{
	char *copy = strndup(text, n), *o = copy;
	struct opt where = {.file = file, .diag = d};
	bool good = copy != NULL;

	if (!copy)
		diag_add(d, DIAG_ERROR, file, at ? *at : (struct spot){0, 0}, "no memory");
	p->in_group = p->sys_in_group = false;
	while (o && *o) { /* a comma at the end is fine, an empty option is not */
		char *comma = strchr(o, ',');

		if (comma)
			*comma = '\0';
		if (at)
			where.at = at[o - copy];
		good &= one(p, o, &where);
		o = comma ? comma + 1 : NULL;
	}
	free(copy);
	return good;
}

int
export_parse_opts(const char *text, struct export_opts *o, char *err, size_t errlen)
{
	struct optparse p;
	struct diag d = {0};
	bool good;

	optparse_init(&p);
	good = optparse_list(&p, text, strlen(text), NULL, NULL, &d);
	diag_text(&d, DIAG_ERROR, err, errlen);
	diag_free(&d);
	optparse_result(&p, o);
	optparse_free(&p);
	return good ? 0 : EINVAL;
}
