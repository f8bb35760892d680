// SPDX-License-Identifier: MIT
#include "compile/stream.h"

#include <stdlib.h>
#include <string.h>

#include "compile/track.h"
#include "error.h"

unsigned int stream_engine(uint8_t opcode)
{
	switch (opcode) {
	case NE1_OP_LD:
	case NE1_OP_LD_GATHER:
		return ENG_LD;
	case NE1_OP_ST:
		return ENG_ST;
	case NE1_OP_MM:
		return ENG_MX;
	case NE1_OP_RMSNORM ... NE1_OP_SILU:
		return ENG_VX;
	default:
		return ENG_NONE;
	}
}

npu_status stream_init(struct stream *s, uint32_t sram_bytes, uint32_t n_resources)
{
	memset(s, 0, sizeof(*s));
	s->resource_base = (sram_bytes + GRANULE - 1) / GRANULE;
	return history_init(&s->history, s->resource_base + n_resources);
}

void stream_fini(struct stream *s)
{
	unsigned int e;

	for (e = 0; e < ENGINES; e++)
		free(s->by_seq[e]);
	free(s->cmds);
	free(s->meta);
	history_fini(&s->history);
	free(s->groups);
	free(s->yields);
	free(s->loads);
	memset(s, 0, sizeof(*s));
}

uint32_t stream_resource(const struct stream *s, uint32_t i)
{
	return (s->resource_base + i) * GRANULE;
}

union ne1_cmd stream_cmd(uint8_t opcode)
{
	union ne1_cmd cmd;

	memset(&cmd, 0, sizeof(cmd));
	cmd.hdr.opcode = opcode;
	memset(cmd.hdr.wait, NE1_NO_SEM, sizeof(cmd.hdr.wait));
	memset(cmd.hdr.signal, NE1_NO_SEM, sizeof(cmd.hdr.signal));
	return cmd;
}

static bool grow(struct stream *s)
{
	uint32_t max = s->max ? 2 * s->max : 1024;
	bool ok = true;
	unsigned int e;
	void *p;

	if (s->n < s->max)
		return true;
	p = realloc(s->cmds, max * sizeof(*s->cmds));
	if (p)
		s->cmds = p;
	ok &= !!p;
	p = realloc(s->meta, max * sizeof(*s->meta));
	if (p)
		s->meta = p;
	ok &= !!p;
	for (e = 0; e < ENGINES; e++) {
		p = realloc(s->by_seq[e], (max + 1) * sizeof(*s->by_seq[e]));
		if (p)
			s->by_seq[e] = p;
		ok &= !!p;
	}
	if (!ok) {
		s->status = npu_fail(NPU_ERR_NOMEM, "stream: no memory for %u commands", max);
		return false;
	}
	s->max = max;
	return true;
}

void stream_append(struct stream *s, const union ne1_cmd *cmd, unsigned int engine)
{
	struct cmd_meta *m;

	if (s->status || !grow(s))
		return;
	m = &s->meta[s->n];
	memset(m, 0, sizeof(*m));
	m->engine = engine;
	m->group = s->group;
	m->region = s->region;
	if (engine != ENG_NONE) {
		m->seq = ++s->seq[engine];
		s->by_seq[engine][m->seq] = s->n;
		memcpy(m->clock, s->clock[engine], sizeof(m->clock));
		s->clock[engine][engine] = m->seq;
	}
	s->cmds[s->n++] = *cmd;
}

void stream_add(struct stream *s, const union ne1_cmd *cmd, const struct access *acc, uint32_t n)
{
	unsigned int engine = stream_engine(cmd->hdr.opcode);
	union ne1_cmd copy = *cmd;

	if (s->status)
		return;
	if (engine != ENG_NONE)
		track_waits(s, engine, &copy, acc, n);
	stream_append(s, &copy, engine);
	if (engine != ENG_NONE && !s->status)
		track_record(s, engine, acc, n);
}

void stream_group_begin(struct stream *s)
{
	uint32_t max = s->max_groups ? 2 * s->max_groups : 64;
	struct group *groups;

	if (s->status)
		return;
	if (s->n_groups + 1 >= s->max_groups) {
		groups = realloc(s->groups, max * sizeof(*groups));
		if (!groups) {
			s->status = npu_fail(NPU_ERR_NOMEM, "stream: no memory for %u groups", max);
			return;
		}
		s->groups = groups;
		s->max_groups = max;
	}
	s->group = ++s->n_groups;
	s->region = 0;
	memcpy(s->groups[s->group].clock, s->clock, sizeof(s->clock));
	s->groups[s->group].first_skip = s->n;
	memset(s->signalled[1], 0, sizeof(s->signalled[1]));
}

void stream_region(struct stream *s, uint8_t param, uint32_t limit)
{
	union ne1_cmd cmd = stream_cmd(NE1_OP_SKIP);

	cmd.skip.param = param;
	cmd.skip.limit = limit;
	s->region++;
	stream_append(s, &cmd, ENG_NONE);
}

void stream_group_end(struct stream *s)
{
	struct group *g;
	unsigned int e, d;
	uint32_t i;

	if (s->status)
		return;
	g = &s->groups[s->group];
	memcpy(g->end, s->seq, sizeof(g->end));
	for (e = 0; e < ENGINES; e++)
		for (d = 0; d < ENGINES; d++)
			if (d != e)
				s->clock[e][d] = g->clock[e][d];
	for (i = g->first_skip; i < s->n; i++)
		if (s->cmds[i].hdr.opcode == NE1_OP_SKIP)
			s->cmds[i].skip.count = s->n - i - 1;
	s->group = s->region = 0;
}

void stream_finish(struct stream *s)
{
	union ne1_cmd cmd = stream_cmd(NE1_OP_END);

	stream_append(s, &cmd, ENG_NONE);
	stream_put_restores(s);
}
