/* SPDX-License-Identifier: BSD-2-Clause */
#include "task.h"

static uint64_t
xorshift(struct chooser *ch)
{
	ch->random ^= ch->random << 13;
	ch->random ^= ch->random >> 7;
	ch->random ^= ch->random << 17;
	return ch->random;
}

double
chooser_uniform(struct chooser *ch)
{
	return (double)((xorshift(ch) >> 11) + 1) / 9007199254740992.0; /* 2^53 */
}

void
chooser_init(struct chooser *ch, const struct opts *o, const struct target *t,
	     const struct calls *calls, unsigned conn_index)
{
	uint64_t blocks = t->size / o->size;
	*ch = (struct chooser){.o = o, .t = t, .calls = calls};
	ch->next_offset = blocks * conn_index / o->conns * o->size + o->shift;
	ch->next_object = (unsigned)((uint64_t)t->nobjects * conn_index / o->conns);
	ch->random = 0x9e3779b97f4a7c15u * (conn_index + 1);
}

static uint64_t
random_offset(struct chooser *ch)
{
	const struct opts *o = ch->o;
	uint64_t align = o->align ? o->align : o->size;
	uint64_t span = ch->t->size - o->shift;
	uint64_t places = span > o->size ? (span - o->size) / align + 1 : 1;
	return xorshift(ch) % places * align + o->shift;
}

static uint64_t
cyclic_offset(struct chooser *ch, bool whole)
{
	uint64_t need = whole ? ch->o->size : 1; /* a WRITE does not make the file longer */
	if (ch->next_offset + need > ch->t->size)
		ch->next_offset = ch->o->shift;
	uint64_t offset = ch->next_offset;
	ch->next_offset += ch->o->size;
	return offset;
}

static enum op
choose_op(struct chooser *ch)
{
	const struct opts *o = ch->o;
	if (o->commit && ch->uncommitted >= o->commit) {
		ch->uncommitted = 0;
		return OP_COMMIT;
	}
	if (o->only != OP_COUNT)
		return o->only;
	unsigned at = (unsigned)(xorshift(ch) % o->weights);
	enum op op = 0;
	while (at >= o->weight[op])
		at -= o->weight[op++];
	return op;
}

void
choose(struct chooser *ch, struct task *task)
{
	const struct opts *o = ch->o;
	*task = (struct task){.op = choose_op(ch)};
	if (task->op == OP_READ || task->op == OP_WRITE) {
		task->offset =
		    o->random ? random_offset(ch) : cyclic_offset(ch, task->op == OP_WRITE);
		uint64_t left = ch->t->size - task->offset;
		task->want = left < o->size ? (uint32_t)left : o->size;
	}
	if (task->op == OP_WRITE && o->stable == 0)
		ch->uncommitted += o->size;
	if (ch->calls->n[task->op] > 1) {
		if (o->random)
			ch->next_object = (unsigned)(xorshift(ch) % ch->calls->n[task->op]);
		task->index = ch->next_object++;
		if (ch->next_object >= ch->calls->n[task->op])
			ch->next_object = 0;
	}
}
