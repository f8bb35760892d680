// SPDX-License-Identifier: MIT
/* Row-wise ops. */
#include "compile/emit.h"

struct vx_arg emit_arg(const struct emit *e, uint32_t tensor)
{
	const struct npu_tensor *t = npu_graph_tensor(e->plan->g, tensor);

	return (struct vx_arg){ emit_addr(e, tensor), e->plan->places[tensor].stride,
				t->dtype == NPU_DTYPE_F16 ? NE1_T_F16 : NE1_T_F32 };
}

void emit_vx(struct emit *e, uint8_t opcode, uint32_t rows, uint32_t cols, const struct vx_arg *x,
	     const struct vx_arg *y, const struct vx_arg *out)
{
	union ne1_cmd cmd = stream_cmd(opcode);
	struct access acc[3];
	uint32_t n = 0;

	cmd.vx.x = x->addr;
	cmd.vx.x_si = x->stride;
	cmd.vx.xtype = x->type;
	acc[n++] = emit_rows(x->addr, cols * vx_size(x->type), rows, x->stride, false);
	if (y) {
		cmd.vx.y = y->addr;
		cmd.vx.y_si = y->stride;
		cmd.vx.ytype = y->type;
		acc[n++] = emit_rows(y->addr, cols * vx_size(y->type), rows, y->stride, false);
	}
	cmd.vx.out = out->addr;
	cmd.vx.out_si = out->stride;
	cmd.vx.otype = out->type;
	acc[n++] = emit_rows(out->addr, cols * vx_size(out->type), rows, out->stride, true);
	cmd.vx.outer = 1;
	cmd.vx.inner = rows;
	cmd.vx.cols = cols;
	emit_cmd(e, &cmd, acc, n);
}

void emit_norm(struct emit *e, const struct npu_op *op)
{
	const struct npu_tensor *w = npu_graph_tensor(e->plan->g, op->in[1]);
	struct vx_arg x = emit_arg(e, op->in[0]), out = emit_arg(e, op->out);
	uint32_t rows = npu_plan_rows(e->plan, op->out);
	const struct weight_entry *entry;
	union ne1_cmd cmd = stream_cmd(NE1_OP_RMSNORM);
	struct access acc[3];
	struct load load;

	e->status = npu_weights_find(e->weights, w, &entry);
	if (e->status)
		return;
	load = (struct load){ entry->offset, w->cols * 4, w->cols * 4, 1 };
	cmd.vx.y = ring_take(e, &e->consts, &load);
	cmd.vx.x = x.addr;
	cmd.vx.x_si = x.stride;
	cmd.vx.xtype = x.type;
	cmd.vx.ytype = NE1_T_F32;
	cmd.vx.out = out.addr;
	cmd.vx.out_si = out.stride;
	cmd.vx.otype = out.type;
	cmd.vx.outer = 1;
	cmd.vx.inner = rows;
	cmd.vx.cols = w->cols;
	cmd.vx.f0 = op->eps;
	acc[0] = emit_rows(x.addr, w->cols * vx_size(x.type), rows, x.stride, false);
	acc[1] = READ(cmd.vx.y, w->cols * 4);
	acc[2] = emit_rows(out.addr, w->cols * vx_size(out.type), rows, out.stride, true);
	emit_cmd(e, &cmd, acc, 3);
	ring_drop(e, &e->consts);
}

/* Heads [h0, h0 + n) of all tokens; the output row of a token starts at @out and is @out_so from
 * the next.
 */
static void rope_heads(struct emit *e, const struct npu_op *op, uint32_t h0, uint32_t n,
		       uint32_t out, uint32_t out_so)
{
	struct vx_arg x = emit_arg(e, op->in[0]), y = emit_arg(e, op->in[1]),
		      o = emit_arg(e, op->out);
	uint32_t hd = op->rope.head_dim, m = npu_plan_rows(e->plan, op->out);
	uint32_t osize = vx_size(o.type);
	union ne1_cmd cmd = stream_cmd(NE1_OP_ROPE);
	struct access acc[3];

	cmd.hdr.flags = op->rope.neox ? NE1_ROPE_NEOX : 0;
	cmd.vx.x = x.addr + h0 * hd * vx_size(x.type);
	cmd.vx.x_so = x.stride;
	cmd.vx.x_si = hd * vx_size(x.type);
	cmd.vx.xtype = x.type;
	cmd.vx.y = y.addr;
	cmd.vx.y_so = y.stride;
	cmd.vx.ytype = NE1_T_F32;
	cmd.vx.out = out;
	cmd.vx.out_so = out_so;
	cmd.vx.out_si = hd * osize;
	cmd.vx.otype = o.type;
	cmd.vx.outer = m;
	cmd.vx.inner = n;
	cmd.vx.cols = hd;
	acc[0] = emit_rows(cmd.vx.x, n * hd * vx_size(x.type), m, x.stride, false);
	acc[1] = READ(y.addr, m * y.stride);
	acc[2] = emit_rows(out, n * hd * osize, m, out_so, true);
	emit_cmd(e, &cmd, acc, 3);
}

void emit_rope(struct emit *e, const struct npu_op *op)
{
	uint32_t group = e->plan->places[op->out].by_group, hd = op->rope.head_dim;
	uint32_t out = emit_addr(e, op->out), m = npu_plan_rows(e->plan, op->out), g;

	if (!group) {
		rope_heads(e, op, 0, op->rope.n_heads, out, e->plan->places[op->out].stride);
		return;
	}
	/* [kv head][token][head of the group]; only F16 queries are. */
	for (g = 0; g < op->rope.n_heads / group; g++)
		rope_heads(e, op, g * group, group, out + g * m * group * hd * 2, group * hd * 2);
}

static uint8_t opcode_of(enum npu_op_kind kind)
{
	switch (kind) {
	case NPU_OP_ADD:
		return NE1_OP_ADD;
	case NPU_OP_MUL:
		return NE1_OP_MUL;
	case NPU_OP_SWIGLU:
		return NE1_OP_SWIGLU;
	case NPU_OP_SILU:
		return NE1_OP_SILU;
	default:
		return NE1_OP_CAST;
	}
}

void emit_elementwise(struct emit *e, const struct npu_op *op)
{
	const struct npu_tensor *t = npu_graph_tensor(e->plan->g, op->out);
	struct vx_arg x = emit_arg(e, op->in[0]), out = emit_arg(e, op->out), y, swap;
	uint32_t rows = npu_plan_rows(e->plan, op->out);

	if (op->n_in < 2) {
		emit_vx(e, opcode_of(op->kind), rows, t->cols, &x, NULL, &out);
		return;
	}
	y = emit_arg(e, op->in[1]);
	/* In place is defined for the first operand; ADD and MUL do not care which that is. */
	if (y.addr == out.addr) {
		swap = x;
		x = y;
		y = swap;
	}
	emit_vx(e, opcode_of(op->kind), rows, t->cols, &x, &y, &out);
}
