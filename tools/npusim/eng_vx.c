// SPDX-License-Identifier: MIT
/* VX: element-wise and row-wise operations and the online softmax, in chunks of fp32. */
#include <math.h>
#include <string.h>

#include "engine.h"
#include "simd.h"

/* Lane operations per element, for time and energy; a row costs ROW_OPS more per lane. */
static const uint8_t op_cost[] = {
	[NE1_OP_RMSNORM] = 2, [NE1_OP_ROPE] = 2,
	[NE1_OP_SWIGLU] = 9, [NE1_OP_ADD] = 1,
	[NE1_OP_MUL] = 1, [NE1_OP_SCALE] = 1,
	[NE1_OP_CAST] = 1, [NE1_OP_DIV_ROW] = 4,
	[NE1_OP_SOFTMAX] = 10, [NE1_OP_SILU] = 8,
};

#define ROW_OPS	4

enum y_use { Y_NONE, Y_ROW, Y_TABLE, Y_SAME, Y_SCALAR };

/* What operand y is: nothing, one row for all, a row per outer index, as x, one number per row. */
static enum y_use y_use(uint8_t opcode)
{
	switch (opcode) {
	case NE1_OP_RMSNORM:
		return Y_ROW;
	case NE1_OP_ROPE:
		return Y_TABLE;
	case NE1_OP_SWIGLU:
	case NE1_OP_ADD:
	case NE1_OP_MUL:
		return Y_SAME;
	case NE1_OP_DIV_ROW:
		return Y_SCALAR;
	default:
		return Y_NONE;
	}
}

static void plan_cost(const struct sim_ctx *ctx, struct sim_plan *plan, uint8_t opcode,
		      uint64_t rows, uint64_t cols)
{
	uint32_t lanes = ctx->chip->vx_lanes, cost = op_cost[opcode];
	uint64_t row = (cols + lanes - 1) / lanes * cost + ROW_OPS;

	plan->cycles += rows * row;
	plan->work.vx_ops += rows * cols * cost;
}

static enum ne1_fault plan_y(const struct sim_ctx *ctx, const struct ne1_cmd_vx *c,
			     struct sim_plan *plan)
{
	struct sim_span y = { .addr = c->y, .inner = 1, .outer = 1 };
	enum y_use use = y_use(c->hdr.opcode);
	enum ne1_fault f = NE1_FAULT_NONE;
	uint64_t bytes = 4ull * c->cols;

	if (use == Y_NONE)
		return NE1_FAULT_NONE;
	if (!sim_plain_type(c->ytype, &f))
		return f;
	if (use != Y_SAME && c->ytype != NE1_T_F32)
		return NE1_FAULT_FORMAT;
	if (use != Y_ROW) {
		y.outer = c->outer;
		y.stride_o = c->y_so;
	}
	if (use == Y_SAME || use == Y_SCALAR) {
		y.inner = c->inner;
		y.stride_i = c->y_si;
		bytes = use == Y_SCALAR ? 4 : (uint64_t)c->cols * sim_elem_size(c->ytype);
	}
	return sim_plan_span(ctx, plan, y, bytes, sim_elem_size(c->ytype));
}

static enum ne1_fault plan_rows(const struct sim_ctx *ctx, const struct ne1_cmd_vx *c,
				struct sim_plan *plan)
{
	struct sim_span x = { .addr = c->x,
			      .inner = c->inner,
			      .stride_i = c->x_si,
			      .outer = c->outer,
			      .stride_o = c->x_so };
	struct sim_span out = { .addr = c->out, .inner = c->inner, .stride_i = c->out_si,
				.outer = c->outer, .stride_o = c->out_so, .write = true };
	uint32_t xs = sim_elem_size(c->xtype), os = sim_elem_size(c->otype);
	enum ne1_fault f;

	f = sim_plan_span(ctx, plan, x, (uint64_t)c->cols * xs, xs);
	if (!f)
		f = plan_y(ctx, c, plan);
	if (!f)
		f = sim_plan_span(ctx, plan, out, (uint64_t)c->cols * os, os);
	return f;
}

static enum ne1_fault plan_vx(const struct sim_ctx *ctx, const struct ne1_cmd_vx *c,
			      struct sim_plan *plan)
{
	uint8_t flags = c->hdr.opcode == NE1_OP_ROPE ? NE1_ROPE_NEOX : 0;
	uint64_t rows = (uint64_t)c->outer * c->inner;
	enum ne1_fault f = NE1_FAULT_NONE;

	if (c->hdr.flags & ~flags || c->pad || c->pad1)
		return NE1_FAULT_FIELD;
	if (!sim_plain_type(c->xtype, &f) || !sim_plain_type(c->otype, &f))
		return f;
	if (!rows || !c->cols || (c->hdr.opcode == NE1_OP_ROPE && c->cols % 2))
		return NE1_FAULT_FIELD;
	f = plan_rows(ctx, c, plan);
	if (f)
		return f;
	plan->cycles = ctx->chip->vx_fill_cycles;
	plan_cost(ctx, plan, c->hdr.opcode, rows, c->cols);
	plan->work.sram_bytes = rows * c->cols *
				(sim_elem_size(c->xtype) + sim_elem_size(c->otype) +
				 (y_use(c->hdr.opcode) == Y_NONE ? 0 : 4));
	return NE1_FAULT_NONE;
}

static enum ne1_fault plan_softmax(const struct sim_ctx *ctx, const struct ne1_cmd_softmax *c,
				   struct sim_plan *plan)
{
	struct sim_span s = { .addr = c->s, .inner = c->rows, .stride_i = c->s_stride, .outer = 1 };
	struct sim_span p = { .addr = c->p, .inner = c->rows, .stride_i = c->p_stride, .outer = 1,
			      .write = true };
	struct sim_span o = { .addr = c->o, .inner = c->rows, .stride_i = c->o_stride, .outer = 1,
			      .write = true };
	struct sim_span state = { .addr = c->state, .inner = 1, .outer = 1, .write = true };
	enum ne1_fault f;

	if (c->hdr.flags & ~NE1_SOFTMAX_FIRST || !sim_all_zero(c->pad, sizeof(c->pad)) || c->pad1)
		return NE1_FAULT_FIELD;
	if (!c->rows || !c->rows_per_token || !c->cols || c->pos >= NE1_VALUES)
		return NE1_FAULT_FIELD;
	f = sim_plan_span(ctx, plan, s, c->cols * 4ull, 4);
	if (!f)
		f = sim_plan_span(ctx, plan, p, c->cols * 2ull, 2);
	if (!f && c->o_cols)
		f = sim_plan_span(ctx, plan, o, c->o_cols * 4ull, 4);
	if (!f)
		f = sim_plan_span(ctx, plan, state, c->rows * 8ull, 4);
	if (f)
		return f;
	plan->cycles = ctx->chip->vx_fill_cycles;
	plan_cost(ctx, plan, NE1_OP_SOFTMAX, c->rows, c->cols);
	plan_cost(ctx, plan, NE1_OP_SCALE, c->rows, c->o_cols);
	plan->work.sram_bytes = c->rows * (c->cols * 6ull + c->o_cols * 8ull + 16);
	return NE1_FAULT_NONE;
}

enum ne1_fault sim_vx_plan(const struct sim_ctx *ctx, const union ne1_cmd *cmd,
			   struct sim_plan *plan)
{
	if (cmd->hdr.opcode == NE1_OP_SOFTMAX)
		return plan_softmax(ctx, &cmd->softmax, plan);
	return plan_vx(ctx, &cmd->vx, plan);
}

/* Elements [first, first + n) of a row as fp32: where they are, or converted into @tmp. */
static const float *load(const struct sim_simd *simd, float *tmp, const uint8_t *row,
			 unsigned int type, size_t first, size_t n)
{
	if (type == NE1_T_F32)
		return (const float *)(const void *)(row + first * 4);
	simd->f16_to_f32(tmp, (const sim_f16 *)(row + first * 2), n);
	return tmp;
}

static void store(const struct sim_simd *simd, uint8_t *row, unsigned int type, size_t first,
		  const float *v, size_t n)
{
	if (type == NE1_T_F32)
		memcpy(row + first * 4, v, n * 4);
	else
		simd->f32_to_f16((sim_f16 *)(row + first * 2), v, n);
}

/* Lane sums of the contract. */
static float fold(const float lane[8])
{
	return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
	       ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

struct vx_row {
	const struct sim_simd *simd;
	const struct ne1_cmd_vx *c;
	const uint8_t *x, *y;
	uint8_t *out;
};

static size_t chunk(size_t left, size_t max)
{
	return left < max ? left : max;
}

static void row_rmsnorm(const struct vx_row *r)
{
	const struct sim_simd *simd = r->simd;
	float tmp[SIM_VX_CHUNK], out[SIM_VX_CHUNK], lane[8] = { 0 }, scale;
	size_t i, n, cols = r->c->cols;
	const float *x;

	for (i = 0; i < cols; i += n) {
		n = chunk(cols - i, SIM_VX_CHUNK);
		simd->sumsq(lane, load(simd, tmp, r->x, r->c->xtype, i, n), n);
	}
	scale = 1.0f / sqrtf(fold(lane) / (float)r->c->cols + r->c->f0);
	for (i = 0; i < cols; i += n) {
		n = chunk(cols - i, SIM_VX_CHUNK);
		x = load(simd, tmp, r->x, r->c->xtype, i, n);
		simd->norm(out, x, (const float *)(const void *)r->y + i, scale, n);
		store(simd, r->out, r->c->otype, i, out, n);
	}
}

static void rope_halves(const struct vx_row *r)
{
	float t0[SIM_VX_CHUNK], t1[SIM_VX_CHUNK], o0[SIM_VX_CHUNK], o1[SIM_VX_CHUNK];
	const float *table = (const float *)(const void *)r->y, *x0, *x1;
	const struct sim_simd *simd = r->simd;
	size_t i, n, half = r->c->cols / 2;

	for (i = 0; i < half; i += n) {
		n = chunk(half - i, SIM_VX_CHUNK);
		x0 = load(simd, t0, r->x, r->c->xtype, i, n);
		x1 = load(simd, t1, r->x, r->c->xtype, half + i, n);
		simd->rope(o0, o1, x0, x1, table + i, table + half + i, n);
		store(simd, r->out, r->c->otype, i, o0, n);
		store(simd, r->out, r->c->otype, half + i, o1, n);
	}
}

static void rope_pairs(const struct vx_row *r)
{
	float t[SIM_VX_CHUNK], x0[SIM_VX_CHUNK / 2], x1[SIM_VX_CHUNK / 2], o0[SIM_VX_CHUNK / 2],
	      o1[SIM_VX_CHUNK / 2];
	const float *table = (const float *)(const void *)r->y, *x;
	const struct sim_simd *simd = r->simd;
	size_t i, j, n, half = r->c->cols / 2;

	for (i = 0; i < half; i += n) {
		n = chunk(half - i, SIM_VX_CHUNK / 2);
		x = load(simd, t, r->x, r->c->xtype, 2 * i, 2 * n);
		for (j = 0; j < n; j++) {
			x0[j] = x[2 * j];
			x1[j] = x[2 * j + 1];
		}
		simd->rope(o0, o1, x0, x1, table + i, table + half + i, n);
		for (j = 0; j < n; j++) {
			t[2 * j] = o0[j];
			t[2 * j + 1] = o1[j];
		}
		store(simd, r->out, r->c->otype, 2 * i, t, 2 * n);
	}
}

static void elementwise(const struct vx_row *r, float *out, const float *x, const float *y,
			size_t n)
{
	const struct sim_simd *simd = r->simd;
	float silu[SIM_VX_CHUNK];

	switch (r->c->hdr.opcode) {
	case NE1_OP_SWIGLU:
		simd->silu(silu, x, n);
		simd->mul(out, silu, y, n);
		return;
	case NE1_OP_ADD:
		simd->add(out, x, y, n);
		return;
	case NE1_OP_MUL:
		simd->mul(out, x, y, n);
		return;
	case NE1_OP_SCALE:
		simd->mul1(out, x, r->c->f0, n);
		return;
	case NE1_OP_DIV_ROW:
		simd->div1(out, x, *(const float *)(const void *)r->y, n);
		return;
	case NE1_OP_SILU:
		simd->silu(out, x, n);
		return;
	default:	/* CAST */
		memcpy(out, x, n * sizeof(*out));
	}
}

static void row_elementwise(const struct vx_row *r)
{
	bool same = y_use(r->c->hdr.opcode) == Y_SAME;
	float tx[SIM_VX_CHUNK], ty[SIM_VX_CHUNK], out[SIM_VX_CHUNK];
	const struct sim_simd *simd = r->simd;
	size_t i, n, cols = r->c->cols;
	const float *x, *y = NULL;

	for (i = 0; i < cols; i += n) {
		n = chunk(cols - i, SIM_VX_CHUNK);
		x = load(simd, tx, r->x, r->c->xtype, i, n);
		if (same)
			y = load(simd, ty, r->y, r->c->ytype, i, n);
		elementwise(r, out, x, y, n);
		store(simd, r->out, r->c->otype, i, out, n);
	}
}

static void exec_vx(struct sim_ctx *ctx, const struct ne1_cmd_vx *c)
{
	enum y_use use = y_use(c->hdr.opcode);
	struct vx_row r = { .simd = ctx->simd, .c = c };
	uint32_t o, i;

	for (o = 0; o < c->outer; o++)
		for (i = 0; i < c->inner; i++) {
			if (sim_stopped(ctx))
				return;
			r.x = ctx->sram + c->x + (size_t)o * c->x_so + (size_t)i * c->x_si;
			r.out = ctx->sram + c->out + (size_t)o * c->out_so + (size_t)i * c->out_si;
			r.y = ctx->sram;
			if (use != Y_NONE)
				r.y += c->y;
			if (use == Y_TABLE || use == Y_SAME || use == Y_SCALAR)
				r.y += (size_t)o * c->y_so;
			if (use == Y_SAME || use == Y_SCALAR)
				r.y += (size_t)i * c->y_si;
			if (c->hdr.opcode == NE1_OP_RMSNORM)
				row_rmsnorm(&r);
			else if (c->hdr.opcode != NE1_OP_ROPE)
				row_elementwise(&r);
			else if (c->hdr.flags & NE1_ROPE_NEOX)
				rope_halves(&r);
			else
				rope_pairs(&r);
		}
}

struct softmax_row {
	const struct sim_simd *simd;
	const struct ne1_cmd_softmax *c;
	const sim_f32 *s;
	sim_f16 *p;
	sim_f32 *o;
	uint32_t lo, hi;	/* valid columns */
	float m, l;
};

/* The valid columns of row @i, empty as lo == hi. */
static void valid_columns(const struct sim_ctx *ctx, struct softmax_row *r, uint32_t i)
{
	const struct ne1_cmd_softmax *c = r->c;
	uint64_t limit = (uint64_t)ctx->params.value[c->pos] + i / c->rows_per_token + 1;
	uint64_t first = c->window && limit > c->window ? limit - c->window : 0;
	uint64_t start = c->tile_start, end = start + c->cols;

	r->lo = first > start ? (uint32_t)(first < end ? first - start : c->cols) : 0;
	r->hi = limit > start ? (uint32_t)(limit < end ? limit - start : c->cols) : 0;
	if (r->lo > r->hi)
		r->lo = r->hi;
}

static void scale_o(const struct softmax_row *r, float c)
{
	float out[SIM_VX_CHUNK];
	size_t i, n, cols = r->c->o_cols;

	for (i = 0; i < cols; i += n) {
		n = chunk(cols - i, SIM_VX_CHUNK);
		r->simd->mul1(out, (const float *)(const void *)(r->o + i), c, n);
		memcpy(r->o + i, out, n * sizeof(*out));
	}
}

/* Writes p and returns its lane sum.  Masked columns are +0 in both. */
static float probabilities(const struct softmax_row *r, float max)
{
	float e[SIM_VX_CHUNK], lane[8] = { 0 };
	const struct sim_simd *simd = r->simd;
	size_t i, n, j, lo, hi, cols = r->c->cols;

	for (i = 0; i < cols; i += n) {
		n = chunk(cols - i, SIM_VX_CHUNK);
		lo = r->lo > i ? chunk(r->lo - i, n) : 0;
		hi = r->hi > i ? chunk(r->hi - i, n) : 0;
		for (j = 0; j < lo; j++)
			e[j] = 0;
		if (hi > lo)
			simd->exp_scaled(e + lo, (const float *)(const void *)(r->s + i + lo),
					 r->c->f0, max, hi - lo);
		for (j = hi > lo ? hi : lo; j < n; j++)
			e[j] = 0;
		simd->f32_to_f16(r->p + i, e, n);
		simd->f16_to_f32(e, r->p + i, n);
		simd->sum(lane, e, n);
	}
	return fold(lane);
}

static void softmax_row(struct softmax_row *r, bool first)
{
	float max = r->m, t, c, sum;
	uint32_t j;

	if (r->lo == r->hi) {
		memset(r->p, 0, r->c->cols * sizeof(*r->p));
		if (first)
			memset(r->o, 0, r->c->o_cols * sizeof(*r->o));
		return;
	}
	for (j = r->lo; j < r->hi; j++) {
		t = r->s[j] * r->c->f0;
		if (t > max)
			max = t;
	}
	c = first ? 0.0f : sim_expf(r->m - max);
	sum = probabilities(r, max);
	r->l = (r->l * c) + sum;
	if (first)
		memset(r->o, 0, r->c->o_cols * sizeof(*r->o));
	else
		scale_o(r, c);
	r->m = max;
}

static void exec_softmax(struct sim_ctx *ctx, const struct ne1_cmd_softmax *c)
{
	struct softmax_row r = { .simd = ctx->simd, .c = c };
	bool first = c->hdr.flags & NE1_SOFTMAX_FIRST;
	sim_f32 *state;
	uint32_t i;

	for (i = 0; i < c->rows; i++) {
		if (sim_stopped(ctx))
			return;
		r.s = (const sim_f32 *)(ctx->sram + c->s + (size_t)i * c->s_stride);
		r.p = (sim_f16 *)(ctx->sram + c->p + (size_t)i * c->p_stride);
		r.o = (sim_f32 *)(ctx->sram + (c->o_cols ? c->o + (size_t)i * c->o_stride : 0));
		state = (sim_f32 *)(ctx->sram + c->state + (size_t)i * 8);
		r.m = first ? -0x1.fffffep+127f : state[0];
		r.l = first ? 0.0f : state[1];
		valid_columns(ctx, &r, i);
		softmax_row(&r, first);
		state[0] = r.m;
		state[1] = r.l;
	}
}

void sim_vx_exec(struct sim_ctx *ctx, const union ne1_cmd *cmd, struct sim_fault *fault)
{
	(void)fault;
	if (cmd->hdr.opcode == NE1_OP_SOFTMAX)
		exec_softmax(ctx, &cmd->softmax);
	else
		exec_vx(ctx, &cmd->vx);
}
