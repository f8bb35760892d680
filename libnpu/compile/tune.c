// SPDX-License-Identifier: MIT
/*
 * The choice between SRAM for activations and SRAM for the ring of weights.  Attempts go from
 * generous to frugal; the first whose ring holds enough slots is taken.
 */
#include "compile/plan.h"

#include "error.h"

#define SLOT_MAX	(128u << 10)
#define SLOT_MIN	(4u << 10)	/* a step of 32 F32 rows */

static void node_name(const struct plan *p, uint32_t node, const char **op, const char **tensor)
{
	const struct npu_op *last = node_last_op(p->g, &p->nodes[node]);

	*op = npu_op_name(last->kind);
	*tensor = npu_graph_tensor(p->g, last->out)->name;
}

/* Error for the most frugal attempt: the node with the largest need. */
static npu_status too_large(const struct plan *p)
{
	const char *op, *tensor;
	uint32_t i, node = 0;

	for (i = 0; i < p->n_nodes; i++)
		if (p->live[i] > p->live[node])
			node = i;
	node_name(p, node, &op, &tensor);
	return npu_fail(
		NPU_ERR_LIMIT,
		"%s '%s' with %u tokens needs %llu bytes of SRAM and room for weights, limit %u",
		op, tensor, p->m, (unsigned long long)p->live[node], p->sram_bytes);
}

/* Most KV heads whose two tiles of K and V, twice, take no more than @budget; at least one. */
static uint32_t kv_heads(const struct plan *p, uint32_t budget)
{
	const struct npu_op *op;
	uint32_t i, fit, heads = UINT32_MAX;

	for (i = p->seg.first_op; i < p->seg.first_op + p->seg.n_ops; i++) {
		op = npu_graph_op(p->g, i);
		if (op->kind != NPU_OP_ATTENTION)
			continue;
		fit = budget / (4 * op->attention.kv_tile * op->attention.head_dim * 2);
		if (fit > op->attention.n_kv_heads)
			fit = op->attention.n_kv_heads;
		if (fit < heads)
			heads = fit;
	}
	return heads ? heads : 1;
}

/* A score matrix has at most this many rows per command. */
static npu_status check_rows(const struct plan *p)
{
	const struct npu_op *op;
	uint64_t rows;
	uint32_t i;

	for (i = p->seg.first_op; i < p->seg.first_op + p->seg.n_ops; i++) {
		op = npu_graph_op(p->g, i);
		if (op->kind != NPU_OP_ATTENTION)
			continue;
		rows = (uint64_t)p->m * (op->attention.n_heads / op->attention.n_kv_heads);
		if (rows > 4096)
			return npu_fail(NPU_ERR_LIMIT,
					"attention '%s': %llu query rows per KV head, limit 4096",
					npu_graph_tensor(p->g, op->out)->name,
					(unsigned long long)rows);
	}
	if (p->m > 4096)
		return npu_fail(NPU_ERR_LIMIT, "%u tokens at a time, limit 4096", p->m);
	return NPU_OK;
}

/* Does the last attempt leave @slots slots of its size? */
static bool take_ring(struct plan *p, uint32_t slots)
{
	if (p->peak >= p->sram_bytes || (p->sram_bytes - p->peak) / p->tune.slot < slots)
		return false;
	p->ring_addr = p->peak;
	p->ring_slots = (p->sram_bytes - p->peak) / p->tune.slot;
	return true;
}

static const struct level {
	uint32_t kv_share;	/* of the SRAM for KV tiles: 1/n */
	uint32_t bufs;
	uint32_t stage_share;
	uint32_t slots;		/* wanted in the ring */
	uint32_t slot_min;	/* smaller ones waste time on starting commands */
} levels[] = {
	{ 4, 2, 32, 6, 32 << 10 },
	{ 8, 2, 32, 4, 16 << 10 },
	{ 8, 2, 64, 3, 12 << 10 },
	{ 32, 2, 256, 3, 8 << 10 },
	{ 1 << 20, 1, 1 << 20, 2, SLOT_MIN },
};

static bool try_slot(struct plan *p, const struct level *l, uint32_t slot)
{
	const struct tune tune = {
		.slot = slot,
		.kv_heads = kv_heads(p, p->sram_bytes / l->kv_share),
		.kv_bufs = l->bufs,
		.sp_bufs = l->bufs,
		.stage_bytes = p->sram_bytes / l->stage_share,
	};

	if (slot > p->sram_bytes / l->slots)
		return false;
	npu_plan_try(p, &tune, p->sram_bytes - l->slots * slot);
	return take_ring(p, l->slots);
}

npu_status npu_plan_search(struct plan *p, enum plan_goal goal)
{
	uint32_t i, slot, n = sizeof(levels) / sizeof(levels[0]);
	npu_status status;

	status = check_rows(p);
	if (status)
		return status;
	for (i = 0; i < (goal == PLAN_FITS_ROOMY ? n - 1 : n); i++) {
		/* What does not fit with the smallest slot needs no more attempts. */
		if (!try_slot(p, &levels[i], levels[i].slot_min))
			continue;
		if (goal != PLAN_BEST)
			return NPU_OK;
		for (slot = SLOT_MAX; slot > levels[i].slot_min; slot = slot * 3 / 4 & ~255u)
			if (try_slot(p, &levels[i], slot))
				return NPU_OK;
		try_slot(p, &levels[i], levels[i].slot_min);
		return NPU_OK;
	}
	return too_large(p);
}

void npu_plan_dump(const struct plan *p, FILE *f)
{
	const struct buf *b;
	uint32_t i;

	fprintf(f, "plan: %u tokens, %u nodes, SRAM %u: %u activations, ring %u x %u at 0x%x\n",
		p->m, p->n_nodes, p->sram_bytes, p->peak, p->ring_slots, p->tune.slot,
		p->ring_addr);
	fprintf(f, "  KV heads at a time %u, KV tiles %u, score buffers %u, staging %u bytes\n",
		p->tune.kv_heads, p->tune.kv_bufs, p->tune.sp_bufs, p->tune.stage_bytes);
	for (i = 0; i < npu_graph_n_tensors(p->g); i++) {
		if (p->places[i].buf == NO_BUF)
			continue;
		b = &p->bufs[p->places[i].buf];
		fprintf(f, "  0x%06x %8u  nodes %u..%u  %s%s%s\n", b->addr, b->size, b->first,
			b->last, npu_graph_tensor(p->g, i)->name, p->places[i].load ? " load" : "",
			p->places[i].store ? " store" : "");
	}
}
