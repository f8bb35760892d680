// SPDX-License-Identifier: MIT
/*
 * Where a program lets others have the core.  A YIELD may stand between nodes, and between the
 * chunks of an output that is streamed.  Before it, what only the SRAM holds is stored; behind it
 * stands what loads that again and what the rings had loaded ahead.  Where nobody asks, that is
 * skipped, and the loads ahead go on across the YIELD: it costs the stores.
 */
#include <stdlib.h>

#include "compile/emit.h"
#include "error.h"

/* A YIELD at the first place that lies at least so much behind the last one.  Nodes of a decode
 * step take up to 40 us, and commands on their way when a YIELD is asked for about 30 more.
 */
#define MIN_NS		50000u
/* Stores may take this part of the time in between. */
#define STORE_SHARE	10u

void yield_init(struct yields *y, const struct npu_chip_info *chip, uint64_t save_offset)
{
	*y = (struct yields){ .save_offset = save_offset };
	/* Older chips know no YIELD with a count. */
	if ((chip->contract_version & 0xffff) < 1)
		return;
	y->bytes_per_us = chip->dram_bw_mbps;
	y->macs_per_us = (uint64_t)chip->macs_per_cycle * chip->freq_max_khz / 1000;
}

void yield_count(struct yields *y, const union ne1_cmd *cmd)
{
	switch (cmd->hdr.opcode) {
	case NE1_OP_LD:
		y->bytes += (uint64_t)cmd->dma.rows * cmd->dma.row_bytes;
		break;
	case NE1_OP_MM:
		y->macs += (uint64_t)cmd->mm.m * cmd->mm.k * cmd->mm.n;
		break;
	}
}

/* Least time that memory and matrix engine need for what was added since the last YIELD. */
static uint64_t since_ns(const struct yields *y)
{
	uint64_t bytes_ns = y->bytes * 1000 / y->bytes_per_us;
	uint64_t macs_ns = y->macs * 1000 / y->macs_per_us;

	return bytes_ns > macs_ns ? bytes_ns : macs_ns;
}

static bool is_temp(const struct plan *p, uint32_t node, uint32_t buf)
{
	uint32_t i;

	for (i = 0; i < N_TEMPS; i++)
		if (p->temps[node].buf[i] == buf)
			return true;
	return false;
}

/* Does buffer @buf hold something for what follows?  @inside: node @node is not complete. */
static bool is_live(const struct plan *p, uint32_t buf, uint32_t node, bool inside)
{
	const struct buf *b = &p->bufs[buf];

	if (b->first > node)
		return false;
	return inside ? b->last >= node && !is_temp(p, node, buf) : b->last > node;
}

static uint64_t live_bytes(const struct plan *p, uint32_t node, bool inside)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < p->n_bufs; i++)
		if (is_live(p, i, node, inside))
			bytes += p->bufs[i].size;
	return bytes;
}

static void add_load(struct yields *y, const union ne1_cmd *cmd)
{
	uint32_t max = y->max_loads ? 2 * y->max_loads : 64;
	union ne1_cmd *loads;

	if (y->n_loads == y->max_loads) {
		loads = realloc(y->loads, max * sizeof(*loads));
		if (!loads) {
			y->failed = true;
			return;
		}
		y->loads = loads;
		y->max_loads = max;
	}
	y->loads[y->n_loads++] = *cmd;
}

/* One buffer as it lies there to memory now, and back in a job that goes on. */
static void save(struct emit *e, const struct buf *b, uint64_t offset)
{
	struct access acc = READ(b->addr, b->size);
	union ne1_cmd cmd =
		emit_dma(NE1_OP_ST, BASE_SCRATCH, offset, b->size, b->size, b->addr, b->size, 1);

	emit_cmd(e, &cmd, &acc, 1);
	cmd.hdr.opcode = NE1_OP_LD;
	add_load(&e->yields, &cmd);
}

static void reload_ring(struct emit *e, const struct ring *ring)
{
	union ne1_cmd cmd;
	uint32_t i;

	for (i = ring->next; i < ring->issued; i++) {
		cmd = ring_load(ring, i);
		add_load(&e->yields, &cmd);
	}
}

void emit_yield(struct emit *e, uint32_t node, bool inside)
{
	const struct plan *p = e->plan;
	struct yields *y = &e->yields;
	uint64_t bytes, offset = y->save_offset;
	uint32_t i;

	if (e->dry || e->status || !y->bytes_per_us || since_ns(y) < MIN_NS)
		return;
	bytes = live_bytes(p, node, inside);
	if (bytes * 1000 / y->bytes_per_us * STORE_SHARE > since_ns(y))
		return;
	y->n_loads = 0;
	for (i = 0; i < p->n_bufs; i++) {
		if (!is_live(p, i, node, inside))
			continue;
		save(e, &p->bufs[i], offset);
		offset += p->bufs[i].size;
	}
	reload_ring(e, &e->consts);
	reload_ring(e, &e->ring);
	if (y->failed) {
		e->status = npu_fail(NPU_ERR_NOMEM, "yield: no memory for %u loads", y->n_loads);
		return;
	}
	stream_yield(e->stream, y->loads, y->n_loads);
	if (offset - y->save_offset > y->save_bytes)
		y->save_bytes = offset - y->save_offset;
	y->bytes = y->macs = 0;
}
