/* SPDX-License-Identifier: BSD-2-Clause */
#include "tally.h"

#include <string.h>

void
tally_failed(struct tally *t, uint32_t status, uint64_t n)
{
	unsigned i = 0;
	while (i < TALLY_STATUSES - 1 && t->failed[i].n && t->failed[i].status != status)
		i++;
	t->failed[i].status = status;
	t->failed[i].n += n;
}

void
tally_add(struct tally *to, const struct tally *from)
{
	to->calls += from->calls;
	to->tasks += from->tasks;
	to->bytes += from->bytes;
	to->entries += from->entries;
	to->sends += from->sends;
	to->wakeups += from->wakeups;
	to->recvs += from->recvs;
	to->short_reads += from->short_reads;
	to->short_writes += from->short_writes;
	to->bad_data += from->bad_data;
	to->bad_eof += from->bad_eof;
	to->no_attrs += from->no_attrs;
	to->restarts += from->restarts;
	to->unsent += from->unsent;
	for (unsigned i = 0; i < TALLY_STATUSES; i++)
		if (from->failed[i].n)
			tally_failed(to, from->failed[i].status, from->failed[i].n);
	if (!to->complaint[0])
		memcpy(to->complaint, from->complaint, sizeof to->complaint);
	for (enum op op = 0; op < OP_COUNT; op++)
		hist_merge(&to->latency[op], &from->latency[op]);
	hist_merge(&to->lag, &from->lag);
}

void
tally_latency(const struct tally *t, struct hist *sum)
{
	*sum = (struct hist){0};
	for (enum op op = 0; op < OP_COUNT; op++)
		hist_merge(sum, &t->latency[op]);
}

uint64_t
tally_errors(const struct tally *t)
{
	uint64_t n = t->bad_data + t->bad_eof;
	for (unsigned i = 0; i < TALLY_STATUSES; i++)
		n += t->failed[i].n;
	return n;
}
