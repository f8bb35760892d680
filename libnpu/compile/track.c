// SPDX-License-Identifier: MIT
#include "compile/track.h"

#include <stddef.h>

#include "error.h"

/* Rows between which no whole granule lies are one, as far as granules are concerned. */
static struct access join_rows(const struct access *a)
{
	struct access joined = *a;
	uint64_t bytes;
	int d;

	for (d = 0; d < 2; d++) {
		if (!joined.count[d] || (d && joined.count[0] != 1) ||
		    joined.stride[d] >= (uint64_t)joined.bytes + GRANULE)
			break;
		bytes = joined.bytes + (uint64_t)joined.stride[d] * (joined.count[d] - 1);
		if (bytes > UINT32_MAX)
			break;
		joined.bytes = (uint32_t)bytes;
		joined.count[d] = 1;
	}
	return joined;
}

/* Granules of row (i, j) of an access; false, with an error, beyond the SRAM. */
static bool row_span(struct stream *s, const struct access *a, uint32_t i, uint32_t j,
		     struct span *out)
{
	uint64_t at = a->addr + (uint64_t)i * a->stride[1] + (uint64_t)j * a->stride[0];
	uint64_t last = (at + a->bytes - 1) / GRANULE;

	if (last >= s->history.n) {
		s->status =
			npu_fail(NPU_ERR_INVALID, "internal: command %u touches SRAM 0x%llx + %u",
				 s->n, (unsigned long long)at, a->bytes);
		return false;
	}
	*out = (struct span){ (uint32_t)(at / GRANULE), (uint32_t)last + 1 };
	return true;
}

/* Raise @need to what @engine must have seen the end of before the access or, if it is NULL, note
 * the access as that of the engine's last command.
 */
static void visit(struct stream *s, unsigned int engine, const struct access *acc, uint32_t *need)
{
	const struct access a = join_rows(acc);
	struct span span;
	uint32_t i, j;

	for (i = 0; i < a.count[1] && a.bytes; i++) {
		for (j = 0; j < a.count[0]; j++) {
			if (!row_span(s, &a, i, j, &span))
				return;
			if (need)
				history_need(&s->history, engine, span, a.write, need);
			else if (a.write)
				history_write(&s->history, engine, span, s->seq[engine]);
			else
				history_read(&s->history, engine, span, s->seq[engine]);
		}
	}
}

void track_record(struct stream *s, unsigned int engine, const struct access *acc, uint32_t n)
{
	uint32_t i;

	/* Reads first: a command that does both is its granules' writer. */
	for (i = 0; i < n; i++)
		if (!acc[i].write)
			visit(s, engine, &acc[i], NULL);
	for (i = 0; i < n; i++)
		if (acc[i].write)
			visit(s, engine, &acc[i], NULL);
}

/* ---- carriers ---------------------------------------------------------------------------- */

/* The cheapest command of an engine, whose only purpose are its semaphores. */
static union ne1_cmd carrier(const struct stream *s, unsigned int engine)
{
	union ne1_cmd cmd;

	switch (engine) {
	case ENG_MX:
		cmd = stream_cmd(NE1_OP_MM);
		cmd.mm.a = s->carrier_sram;
		cmd.mm.b = s->carrier_sram + 4;
		cmd.mm.c = s->carrier_sram + 8;
		cmd.mm.a_stride = cmd.mm.b_stride = cmd.mm.c_stride = 4;
		cmd.mm.m = cmd.mm.k = cmd.mm.n = 1;
		return cmd;
	case ENG_VX:
		cmd = stream_cmd(NE1_OP_CAST);
		cmd.vx.x = cmd.vx.out = s->carrier_sram + 12;
		cmd.vx.outer = cmd.vx.inner = 1;
		cmd.vx.cols = 1;
		return cmd;
	default:
		cmd = stream_cmd(engine == ENG_LD ? NE1_OP_LD : NE1_OP_ST);
		cmd.dma.base = s->carrier_base;
		cmd.dma.offset = s->carrier_offset + (engine == ENG_LD ? 0 : 4);
		cmd.dma.sram = s->carrier_sram + (engine == ENG_LD ? 16 : 20);
		cmd.dma.row_bytes = cmd.dma.sram_stride = 4;
		cmd.dma.dram_stride = 4;
		cmd.dma.rows = 1;
		cmd.dma.dyn = cmd.dma.clip = NE1_NO_PARAM;
		return cmd;
	}
}

static int free_slot(const uint8_t *slots)
{
	if (slots[0] == NE1_NO_SEM)
		return 0;
	return slots[1] == NE1_NO_SEM ? 1 : -1;
}

/* ---- signals and waits ------------------------------------------------------------------- */

static uint32_t internal_error(struct stream *s, const char *what)
{
	s->status = npu_fail(NPU_ERR_INVALID, "internal: command %u: %s", s->n, what);
	return 0;
}

/*
 * Index of the first command of engine @d at or behind @seq that can signal what is being added
 * now.  One is made if there is none.
 */
static uint32_t find_signaller(struct stream *s, unsigned int d, uint32_t seq)
{
	const struct cmd_meta *m;
	union ne1_cmd cmd;
	uint32_t p;

	for (;;) {
		if (seq > s->seq[d]) {
			cmd = carrier(s, d);
			stream_append(s, &cmd, d);
			if (s->status)
				return 0;
		}
		p = s->by_seq[d][seq];
		m = &s->meta[p];
		if (m->group && m->group != s->group) {
			seq = s->groups[m->group].end[d] + 1;
			continue;
		}
		if (m->group != s->group || m->region != s->region)
			return internal_error(s, "a region depends on a command outside of it");
		if (free_slot(s->cmds[p].hdr.signal) >= 0)
			return p;
		seq++;
	}
}

/* Let the command *@cmd of @engine wait until command @p has ended. */
static void connect(struct stream *s, unsigned int engine, union ne1_cmd *cmd, uint32_t p)
{
	const struct cmd_meta *m = &s->meta[p];
	unsigned int x, d = m->engine, region = !!s->group;
	uint8_t sem = SEM_PAIR(d, engine) + (region ? SEM_REGION : 0);
	uint8_t *signal = s->cmds[p].hdr.signal;

	if (m->seq <= s->signalled[region][d][engine]) {
		internal_error(s, "signals of a pair out of order");
		return;
	}
	s->signalled[region][d][engine] = m->seq;
	signal[free_slot(signal)] = sem;
	cmd->hdr.wait[free_slot(cmd->hdr.wait)] = sem;
	for (x = 0; x < ENGINES; x++)
		if (m->clock[x] > s->clock[engine][x])
			s->clock[engine][x] = m->clock[x];
	if (m->seq > s->clock[engine][d])
		s->clock[engine][d] = m->seq;
}

/* Drop needs that are known, or will be by another one. */
static void reduce(const struct stream *s, unsigned int engine, uint32_t *need)
{
	const struct cmd_meta *m;
	unsigned int d, x;

	for (d = 0; d < ENGINES; d++)
		if (need[d] <= s->clock[engine][d])
			need[d] = 0;
	for (d = 0; d < ENGINES; d++) {
		if (!need[d])
			continue;
		m = &s->meta[s->by_seq[d][need[d]]];
		if (m->group != s->group)
			continue;	/* another command will stand for it */
		for (x = 0; x < ENGINES; x++)
			if (x != d && need[x] && m->clock[x] >= need[x])
				need[x] = 0;
	}
}

/* Needs of engines from @d on that @engine does not know of. */
static unsigned int count_needs(const struct stream *s, unsigned int engine, unsigned int d,
				const uint32_t *need)
{
	unsigned int n = 0;

	for (; d < ENGINES; d++)
		n += need[d] > s->clock[engine][d];
	return n;
}

static unsigned int free_slots(const uint8_t *slots)
{
	return (slots[0] == NE1_NO_SEM) + (slots[1] == NE1_NO_SEM);
}

void track_waits(struct stream *s, unsigned int engine, union ne1_cmd *cmd,
		 const struct access *acc, uint32_t n)
{
	uint32_t i, p, need[ENGINES] = { 0 };
	union ne1_cmd extra;
	unsigned int d;

	for (i = 0; i < n; i++)
		if (!acc[i].no_wait)
			visit(s, engine, &acc[i], need);
	need[engine] = 0;
	reduce(s, engine, need);
	for (d = 0; d < ENGINES && !s->status; d++) {
		if (need[d] <= s->clock[engine][d])
			continue;
		p = find_signaller(s, d, need[d]);
		if (s->status)
			return;
		/* Carriers come first, and know nothing of what @cmd behind them waits for. */
		if (count_needs(s, engine, d, need) <= free_slots(cmd->hdr.wait)) {
			connect(s, engine, cmd, p);
			continue;
		}
		extra = carrier(s, engine);
		connect(s, engine, &extra, p);
		stream_append(s, &extra, engine);
	}
}
