/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "opts.h"

static const char ops_text[] = "read, write, getattr, lookup, readdirplus, create or null";

int64_t
parse_size(const char *s)
{
	char *end;
	if (*s < '0' || *s > '9')
		return -1;
	long long v = strtoll(s, &end, 10);
	unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : 0;
	if (end[shift ? 1 : 0] || v > (INT64_MAX >> 20))
		return -1;
	return v << shift;
}

static enum op
op_of(const char *word, size_t len)
{
	for (enum op op = 0; op < OP_COUNT; op++) {
		const char *w = op_table[op].word;
		if (w && strlen(w) == len && !strncasecmp(w, word, len))
			return op;
	}
	return OP_COUNT;
}

static void
forget_mix(struct opts *o)
{
	memset(o->weight, 0, sizeof o->weight);
	o->weights = 0;
	o->only = OP_COUNT;
}

const char *
value_op(struct opts *o, const char *arg)
{
	enum op op = op_of(arg, strlen(arg));
	if (op == OP_COUNT)
		return ops_text;
	forget_mix(o);
	o->only = op;
	o->weight[op] = o->weights = 1;
	return NULL;
}

const char *
value_mix(struct opts *o, const char *arg)
{
	static const char form[] = "OP=WEIGHT,OP=WEIGHT,..., such as read=70,getattr=20,lookup=10";
	forget_mix(o);
	for (const char *p = arg; *p;) {
		const char *equals = strchr(p, '=');
		char *end;
		enum op op = equals ? op_of(p, (size_t)(equals - p)) : OP_COUNT;
		unsigned long v = equals ? strtoul(equals + 1, &end, 10) : 0;
		if (op == OP_COUNT || end == equals + 1 || (*end && *end != ',') || v > 1000000)
			return form;
		o->weights += (unsigned)v - o->weight[op];
		o->weight[op] = (unsigned)v;
		p = *end ? end + 1 : end;
	}
	return o->weights ? NULL : form;
}

const char *
value_stable(struct opts *o, const char *arg)
{
	static const char *const words[] = {"unstable", "data", "file"};
	for (uint32_t i = 0; i < 3; i++) {
		if (!strcasecmp(arg, words[i])) {
			o->stable = i;
			return NULL;
		}
	}
	return "unstable, data or file";
}

const char *
value_groups(struct opts *o, const char *arg)
{
	o->cred.ngids = 0;
	for (const char *p = arg; *p;) {
		char *end;
		unsigned long v = strtoul(p, &end, 10);
		if (end == p || (*end && *end != ',') || v > UINT32_MAX ||
		    o->cred.ngids == CRED_GROUPS)
			return "at most 16 numbers with commas between";
		o->cred.gids[o->cred.ngids++] = (uint32_t)v;
		p = *end ? end + 1 : end;
	}
	return NULL;
}
