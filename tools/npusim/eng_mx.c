// SPDX-License-Identifier: MIT
/*
 * MX: matrix multiplication out of the scratchpad.
 *
 * Work is cut into strips of 32 columns (a panel of packed B).  A strip walks k in blocks of 32,
 * turns the block of B into fp32 and runs all rows of A over it, so that each result sees its k in
 * order while a block is unpacked once per SIM_MX_ROWS rows.  Strips are shared out to host
 * threads.
 */
#include <string.h>

#include "engine.h"
#include "pool.h"
#include "simd.h"

#define POOL_MACS	60000u	/* below, waking another thread costs more than it saves */

bool sim_plain_type(unsigned int type, enum ne1_fault *fault)
{
	if (type == NE1_T_F32 || type == NE1_T_F16)
		return true;
	*fault = type <= NE1_T_U4M ? NE1_FAULT_FORMAT : NE1_FAULT_FIELD;
	return false;
}

static bool is_packed(unsigned int type)
{
	return type == NE1_T_I8 || type == NE1_T_U4M;
}

static uint32_t panel_bytes(const struct ne1_cmd_mm *c)
{
	return c->btype == NE1_T_I8 ? NE1_PANEL_BYTES_I8(c->k) : NE1_PANEL_BYTES_U4M(c->k);
}

static uint32_t strips(const struct ne1_cmd_mm *c)
{
	return (uint32_t)(((uint64_t)c->n + NE1_PANEL - 1) / NE1_PANEL);
}

static enum ne1_fault check_fields(const struct sim_ctx *ctx, const struct ne1_cmd_mm *c)
{
	enum ne1_fault f = NE1_FAULT_NONE;

	if (c->hdr.flags & ~(NE1_MM_ACC | NE1_MM_B_NK) || c->pad ||
	    !sim_all_zero(c->pad1, sizeof(c->pad1)))
		return NE1_FAULT_FIELD;
	if (!sim_plain_type(c->atype, &f) || !sim_plain_type(c->ctype, &f))
		return f;
	if (c->btype > NE1_T_U4M)
		return NE1_FAULT_FIELD;
	if (!(ctx->chip->formats & 1u << c->btype))
		return NE1_FAULT_FORMAT;
	if (!c->m || c->m > 4096 || !c->k || !c->n)
		return NE1_FAULT_FIELD;
	if (c->hdr.flags & NE1_MM_ACC && c->ctype != NE1_T_F32)
		return NE1_FAULT_FIELD;
	if (is_packed(c->btype) && (c->hdr.flags & NE1_MM_B_NK || c->k % NE1_GROUP))
		return NE1_FAULT_FIELD;
	return NE1_FAULT_NONE;
}

static enum ne1_fault plan_operands(const struct sim_ctx *ctx, const struct ne1_cmd_mm *c,
				    struct sim_plan *plan)
{
	struct sim_span a = { .addr = c->a, .inner = c->m, .stride_i = c->a_stride, .outer = 1 };
	struct sim_span b = { .addr = c->b, .inner = 1, .stride_i = c->b_stride, .outer = 1 };
	struct sim_span out = { .addr = c->c, .inner = c->m, .stride_i = c->c_stride, .outer = 1,
				.write = true };
	uint64_t b_bytes;
	enum ne1_fault f;

	if (is_packed(c->btype)) {
		b.inner = strips(c);
		b_bytes = panel_bytes(c);
	} else if (c->hdr.flags & NE1_MM_B_NK) {
		b.inner = c->n;
		b_bytes = (uint64_t)c->k * sim_elem_size(c->btype);
	} else {
		b.inner = c->k;
		b_bytes = (uint64_t)c->n * sim_elem_size(c->btype);
	}
	f = sim_plan_span(ctx, plan, a, (uint64_t)c->k * sim_elem_size(c->atype), 4);
	if (!f)
		f = sim_plan_span(ctx, plan, b, b_bytes, 4);
	if (!f)
		f = sim_plan_span(ctx, plan, out, (uint64_t)c->n * sim_elem_size(c->ctype), 4);
	plan->work.sram_bytes = b.inner * b_bytes;
	return f;
}

/*
 * The array is 32 columns by macs/32 of k for one row at a time.  fp32 operands take two passes
 * each. Operand B comes once per command, and no faster than its port.
 */
static void plan_cost(const struct sim_ctx *ctx, const struct ne1_cmd_mm *c, struct sim_plan *plan)
{
	const struct sim_chip *chip = ctx->chip;
	uint32_t k_lanes = chip->macs_fp16 / NE1_PANEL;
	uint64_t steps = (c->k + k_lanes - 1) / k_lanes;
	uint64_t compute = (uint64_t)strips(c) * steps * c->m;
	uint64_t load = (plan->work.sram_bytes + chip->sram_b_bytes - 1) / chip->sram_b_bytes;
	uint64_t out = (uint64_t)c->m * c->n * sim_elem_size(c->ctype);

	if (c->atype == NE1_T_F32)
		compute *= 2;
	if (c->btype == NE1_T_F32)
		compute *= 2;
	plan->cycles = (compute > load ? compute : load) + chip->mx_fill_cycles;
	plan->work.macs = (uint64_t)c->m * c->k * c->n;
	plan->work.sram_bytes += (uint64_t)c->m * c->k * sim_elem_size(c->atype) + out;
	if (c->hdr.flags & NE1_MM_ACC)
		plan->work.sram_bytes += out;
}

enum ne1_fault sim_mx_plan(const struct sim_ctx *ctx, const union ne1_cmd *cmd,
			   struct sim_plan *plan)
{
	const struct ne1_cmd_mm *c = &cmd->mm;
	enum ne1_fault f = check_fields(ctx, c);

	if (!f)
		f = plan_operands(ctx, c, plan);
	if (!f)
		plan_cost(ctx, c, plan);
	return f;
}

/* Rows [row, row + rows) of one command; strips of it run at the same time. */
struct mx_task {
	struct sim_ctx *ctx;
	const struct ne1_cmd_mm *c;
	uint32_t row, rows;
	uint32_t first;		/* strip of item 0 */
	const float *a;		/* rows x k */
	const float *sums;	/* rows x k / 32 */
};

static uint8_t *c_at(const struct mx_task *t, uint32_t row, uint32_t col)
{
	return t->ctx->sram + t->c->c + (size_t)(t->row + row) * t->c->c_stride +
	       (size_t)col * sim_elem_size(t->c->ctype);
}

static void load_acc(const struct mx_task *t, float *acc, uint32_t col, uint32_t nc)
{
	uint32_t r;

	memset(acc, 0, t->rows * NE1_PANEL * sizeof(*acc));
	if (!(t->c->hdr.flags & NE1_MM_ACC))
		return;
	for (r = 0; r < t->rows; r++)
		memcpy(acc + r * NE1_PANEL, c_at(t, r, col), nc * sizeof(*acc));
}

static void store_acc(const struct mx_task *t, const float *acc, uint32_t col, uint32_t nc)
{
	uint32_t r;

	for (r = 0; r < t->rows; r++, acc += NE1_PANEL) {
		if (t->c->ctype == NE1_T_F32)
			memcpy(c_at(t, r, col), acc, nc * sizeof(*acc));
		else
			t->ctx->simd->f32_to_f16((sim_f16 *)c_at(t, r, col), acc, nc);
	}
}

static void strip_packed(const struct mx_task *t, float *acc, uint32_t strip)
{
	const struct sim_simd *simd = t->ctx->simd;
	const struct ne1_cmd_mm *c = t->c;
	const uint8_t *panel = t->ctx->sram + c->b + (size_t)strip * c->b_stride;
	uint32_t g, groups = c->k / NE1_GROUP;
	float block[SIM_BLOCK], p[SIM_MX_ROWS * NE1_PANEL];
	bool u4 = c->btype == NE1_T_U4M;
	const sim_f16 *sc;

	if (t->rows == 1) {
		if (u4)
			simd->gemv_u4m(acc, t->a, t->sums, panel, groups);
		else
			simd->gemv_i8(acc, t->a, panel, groups);
		return;
	}
	for (g = 0; g < groups; g++) {
		sc = (const sim_f16 *)panel;
		panel += 2 * NE1_PANEL * (u4 ? 2 : 1);
		(u4 ? simd->fill_u4 : simd->fill_i8)(block, panel);
		panel += NE1_GROUP * (u4 ? NE1_PANEL / 2 : NE1_PANEL);
		memset(p, 0, t->rows * NE1_PANEL * sizeof(*p));
		simd->dot(p, t->a + g * NE1_GROUP, c->k, t->rows, block, NE1_GROUP);
		simd->scale(acc, p, t->rows, sc, u4 ? sc + NE1_PANEL : NULL, t->sums + g, groups);
	}
}

static void strip_plain(const struct mx_task *t, float *acc, uint32_t col, uint32_t nc)
{
	const struct sim_simd *simd = t->ctx->simd;
	const struct ne1_cmd_mm *c = t->c;
	const uint8_t *b = t->ctx->sram + c->b;
	uint32_t kk, kc, size = sim_elem_size(c->btype);
	float block[SIM_BLOCK];
	bool f32 = c->btype == NE1_T_F32;

	for (kk = 0; kk < c->k; kk += kc) {
		kc = c->k - kk < NE1_GROUP ? c->k - kk : NE1_GROUP;
		if (c->hdr.flags & NE1_MM_B_NK)
			simd->fill_nk(block, b + (size_t)col * c->b_stride + kk * size, c->b_stride,
				      kc, nc, f32);
		else
			simd->fill_kn(block, b + (size_t)kk * c->b_stride + (size_t)col * size,
				      c->b_stride, kc, nc, f32);
		simd->dot(acc, t->a + kk, c->k, t->rows, block, kc);
	}
}

static void run_strip(void *arg, unsigned int i)
{
	const struct mx_task *t = arg;
	uint32_t strip = t->first + i, col = strip * NE1_PANEL;
	uint32_t nc = t->c->n - col < NE1_PANEL ? t->c->n - col : NE1_PANEL;
	_Alignas(64) float acc[SIM_MX_ROWS * NE1_PANEL];

	if (sim_stopped(t->ctx))
		return;
	load_acc(t, acc, col, nc);
	if (is_packed(t->c->btype))
		strip_packed(t, acc, strip);
	else
		strip_plain(t, acc, col, nc);
	store_acc(t, acc, col, nc);
}

/* S of the contract, shared by all columns. */
static void sum_groups(float *sums, const float *a, uint32_t k)
{
	uint32_t kk;
	float s = 0;

	for (kk = 0; kk < k; kk++) {
		s = s + a[kk];
		if (kk % NE1_GROUP == NE1_GROUP - 1) {
			*sums++ = s;
			s = 0;
		}
	}
}

static void load_rows(struct sim_ctx *ctx, const struct ne1_cmd_mm *c, struct mx_task *t)
{
	float *a = ctx->mx_a, *sums = ctx->mx_a + SIM_MX_A;
	const uint8_t *in;
	uint32_t r;

	for (r = 0; r < t->rows; r++, a += c->k) {
		in = ctx->sram + c->a + (size_t)(t->row + r) * c->a_stride;
		if (c->atype == NE1_T_F32)
			memcpy(a, in, c->k * sizeof(*a));
		else
			ctx->simd->f16_to_f32(a, (const sim_f16 *)in, c->k);
		if (c->btype == NE1_T_U4M)
			sum_groups(sums + r * (c->k / NE1_GROUP), a, c->k);
	}
	t->a = ctx->mx_a;
	t->sums = ctx->mx_a + SIM_MX_A;
}

static void run_strips(struct sim_ctx *ctx, struct mx_task *t, uint32_t n)
{
	uint64_t macs = (uint64_t)t->rows * t->c->k * t->c->n;
	uint32_t i, left = n;

	if (macs < POOL_MACS) {
		for (i = 0; i < n; i++)
			run_strip(t, i);
		return;
	}
	for (t->first = 0; left; t->first += i, left -= i) {
		i = left < SIM_POOL_ITEMS_MAX ? left : SIM_POOL_ITEMS_MAX;
		sim_pool_run(ctx->pool, run_strip, t, i);
	}
}

void sim_mx_exec(struct sim_ctx *ctx, const union ne1_cmd *cmd, struct sim_fault *fault)
{
	const struct ne1_cmd_mm *c = &cmd->mm;
	struct mx_task t = { .ctx = ctx, .c = c };
	uint32_t rows = SIM_MX_A / c->k;

	(void)fault;
	if (rows > SIM_MX_ROWS)
		rows = SIM_MX_ROWS;
	for (t.row = 0; t.row < c->m && !sim_stopped(ctx); t.row += t.rows) {
		t.rows = c->m - t.row < rows ? c->m - t.row : rows;
		t.first = 0;
		load_rows(ctx, c, &t);
		run_strips(ctx, &t, strips(c));
	}
}
