// SPDX-License-Identifier: MIT
/* LD and ST: strided and gathered rows between DRAM and SRAM. */
#include "engine.h"

#include <string.h>

#include "dram.h"
#include "hooks.h"
#include "pool.h"

#define PIECE		(32u << 10)	/* bytes per item when host threads share a copy */
#define SHARED_COPY	(128u << 10)	/* below, one thread is as fast */

struct copy {
	uint8_t *to;
	const uint8_t *from;
	uint64_t len;
};

static void copy_piece(void *arg, unsigned int i)
{
	const struct copy *c = arg;
	uint64_t at = (uint64_t)i * PIECE;

	memcpy(c->to + at, c->from + at, c->len - at < PIECE ? c->len - at : PIECE);
}

static void copy_run(struct sim_ctx *ctx, uint8_t *to, const uint8_t *from, uint64_t len)
{
	struct copy c = { .to = to, .from = from, .len = len };

	if (len < SHARED_COPY)
		memcpy(to, from, len);
	else
		sim_pool_run(ctx->pool, copy_piece, &c, (unsigned int)((len + PIECE - 1) / PIECE));
}

static bool in_sram(const struct sim_ctx *ctx, const uint8_t *at)
{
	return at >= ctx->sram && at < ctx->sram + ctx->chip->sram_bytes;
}

bool sim_mem_copy(struct sim_ctx *ctx, uint64_t va, void *buf, uint64_t len, bool write,
		  struct sim_fault *fault)
{
	uint8_t *at = buf, *mem;
	uint64_t n;

	for (; len; len -= n, va += n, at += n) {
		n = len;
		mem = ctx->mem->map(ctx->mem, ctx->asid, va, &n, write, &fault->mmu);
		if (!mem) {
			fault->code = NE1_FAULT_MMU;
			fault->va = va;
			fault->write = write;
			return false;
		}
		copy_run(ctx, write ? mem : at, write ? at : mem, n);
		if (write && ctx->hooks && in_sram(ctx, at))
			ctx->hooks->stored(ctx->hooks->ctx, ctx->index, ctx->asid, va, mem, n);
	}
	return true;
}

/* DRAM side of row 0. */
static uint64_t dma_base(const struct sim_ctx *ctx, const struct ne1_cmd_dma *c)
{
	uint64_t va = ctx->params.base[c->base] + c->offset;

	if (c->dyn != NE1_NO_PARAM)
		va += (uint64_t)ctx->params.value[c->dyn] * c->dyn_scale;
	return va;
}

/* Rows that are transferred; the rest is clipped. */
static uint32_t dma_rows(const struct sim_ctx *ctx, const struct ne1_cmd_dma *c)
{
	int64_t n;

	if (c->clip == NE1_NO_PARAM)
		return c->rows;
	n = (int64_t)ctx->params.value[c->clip] - c->clip_bias;
	if (n < 0)
		n = 0;
	return n < c->rows ? (uint32_t)n : c->rows;
}

static void plan_row(const struct sim_ctx *ctx, struct sim_plan *plan, uint64_t va, uint64_t bytes)
{
	uint32_t burst = ctx->chip->dram.burst_bytes;

	if (bytes)
		plan->work.dram_bursts += (va % burst + bytes + burst - 1) / burst;
}

static void plan_traffic(const struct sim_ctx *ctx, struct sim_plan *plan, bool write,
			 uint64_t bytes, uint64_t jumps)
{
	if (write)
		plan->work.dram_wr_bytes = bytes;
	else
		plan->work.dram_rd_bytes = bytes;
	plan->work.sram_bytes += bytes;
	plan->dram_ps = sim_dram_ps(ctx->chip, plan->work.dram_bursts, jumps);
	plan->cycles = ctx->chip->dma_cycles;
}

static enum ne1_fault plan_gather(const struct sim_ctx *ctx, const struct ne1_cmd_gather *c,
				  struct sim_plan *plan)
{
	uint64_t base;
	enum ne1_fault f;
	uint32_t r;

	if (c->hdr.flags || !sim_all_zero(c->pad, sizeof(c->pad)) ||
	    !sim_all_zero(c->pad1, sizeof(c->pad1)))
		return NE1_FAULT_FIELD;
	if (!c->rows || !c->row_bytes || c->row_bytes % 4 || c->base >= NE1_BASES)
		return NE1_FAULT_FIELD;
	base = ctx->params.base[c->base] + c->offset;
	if (base % 2 || c->dram_stride % 2)
		return NE1_FAULT_FIELD;
	f = sim_plan_span(ctx, plan, (struct sim_span){ .addr = c->index, .inner = 1, .outer = 1 },
			  c->rows * 4ull, 4);
	if (!f)
		f = sim_plan_span(ctx, plan, (struct sim_span){ .addr = c->sram, .inner = c->rows,
				  .stride_i = c->sram_stride, .outer = 1, .write = true },
				  c->row_bytes, 4);
	if (f)
		return f;
	for (r = 0; r < c->rows; r++)
		plan_row(ctx, plan, base, c->row_bytes);
	plan_traffic(ctx, plan, false, (uint64_t)c->rows * c->row_bytes, c->rows);
	return NE1_FAULT_NONE;
}

enum ne1_fault sim_dma_plan(const struct sim_ctx *ctx, const union ne1_cmd *cmd,
			    struct sim_plan *plan)
{
	const struct ne1_cmd_dma *c = &cmd->dma;
	bool write = c->hdr.opcode == NE1_OP_ST;
	uint32_t r, rows;
	enum ne1_fault f;
	uint64_t base;

	if (c->hdr.opcode == NE1_OP_LD_GATHER)
		return plan_gather(ctx, &cmd->gather, plan);
	if (c->hdr.flags || !sim_all_zero(c->pad, sizeof(c->pad)) ||
	    !sim_all_zero(c->pad1, sizeof(c->pad1)))
		return NE1_FAULT_FIELD;
	if (!c->rows || !c->row_bytes || c->row_bytes % 4 || c->base >= NE1_BASES ||
	    sim_bad_param(c->dyn) || sim_bad_param(c->clip))
		return NE1_FAULT_FIELD;
	base = dma_base(ctx, c);
	if (base % 2 || (c->rows > 1 && c->dram_stride % 2))
		return NE1_FAULT_FIELD;
	f = sim_plan_span(ctx, plan,
			  (struct sim_span){ .addr = c->sram,
					     .inner = c->rows,
					     .stride_i = c->sram_stride,
					     .outer = 1,
					     .write = !write },
			  c->row_bytes, 4);
	if (f)
		return f;
	rows = dma_rows(ctx, c);
	if (c->dram_stride == c->row_bytes) {
		plan_row(ctx, plan, base, (uint64_t)rows * c->row_bytes);
		plan_traffic(ctx, plan, write, (uint64_t)rows * c->row_bytes, 1);
		return NE1_FAULT_NONE;
	}
	for (r = 0; r < rows; r++)
		plan_row(ctx, plan, base + r * c->dram_stride, c->row_bytes);
	plan_traffic(ctx, plan, write, (uint64_t)rows * c->row_bytes, rows);
	return NE1_FAULT_NONE;
}

static void exec_gather(struct sim_ctx *ctx, const struct ne1_cmd_gather *c,
			struct sim_fault *fault)
{
	uint64_t base = ctx->params.base[c->base] + c->offset;
	uint32_t r, index;

	for (r = 0; r < c->rows && !sim_stopped(ctx); r++) {
		memcpy(&index, ctx->sram + c->index + r * 4, sizeof(index));
		if (index >= c->limit) {
			fault->code = NE1_FAULT_FIELD;
			return;
		}
		if (!sim_mem_copy(ctx, base + index * c->dram_stride,
				  ctx->sram + c->sram + (size_t)r * c->sram_stride, c->row_bytes,
				  false, fault))
			return;
	}
}

void sim_dma_exec(struct sim_ctx *ctx, const union ne1_cmd *cmd, struct sim_fault *fault)
{
	const struct ne1_cmd_dma *c = &cmd->dma;
	bool write = c->hdr.opcode == NE1_OP_ST;
	uint8_t *sram = ctx->sram + c->sram;
	uint32_t r, rows;
	uint64_t va;

	if (c->hdr.opcode == NE1_OP_LD_GATHER) {
		exec_gather(ctx, &cmd->gather, fault);
		return;
	}
	va = dma_base(ctx, c);
	rows = dma_rows(ctx, c);
	if (rows && c->dram_stride == c->row_bytes && c->sram_stride == c->row_bytes) {
		if (!sim_mem_copy(ctx, va, sram, (uint64_t)rows * c->row_bytes, write, fault))
			return;
	} else {
		for (r = 0; r < rows && !sim_stopped(ctx); r++)
			if (!sim_mem_copy(ctx, va + r * c->dram_stride,
					  sram + (size_t)r * c->sram_stride, c->row_bytes, write,
					  fault))
				return;
	}
	for (r = rows; !write && r < c->rows; r++)
		memset(sram + (size_t)r * c->sram_stride, 0, c->row_bytes);
}
