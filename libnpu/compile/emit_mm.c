// SPDX-License-Identifier: MIT
/*
 * Matrix products with weights: tiles of a few units by, if possible, all of k stream through the
 * ring. Where a unit does not fit a slot, k is cut into steps that accumulate in an F32 output; the
 * bits are the same, because the accumulator of a product is F32 anyway.
 */
#include "compile/emit.h"

/* Operand A and the weight of one op. */
struct product {
	struct vx_arg a;
	uint32_t m;
	const struct weight_entry *w;
	struct tile_shape tile;
};

static bool product_init(struct emit *e, uint32_t op_index, struct product *p)
{
	const struct npu_op *op = npu_graph_op(e->plan->g, op_index);

	if (e->status)
		return false;
	e->status = npu_weights_find(e->weights, npu_graph_tensor(e->plan->g, op->in[1]), &p->w);
	if (e->status)
		return false;
	p->a = emit_arg(e, op->in[0]);
	p->m = npu_plan_rows(e->plan, op->out);
	npu_tile_shape(&p->w->layout, e->plan->tune.slot, &p->tile);
	return true;
}

/* Columns of C that units [u0, u0 + n) give. */
static uint32_t cols_of(const struct weight_layout *l, uint32_t u0, uint32_t n)
{
	uint32_t end = (u0 + n) * l->unit_cols;

	return (end < l->n ? end : l->n) - u0 * l->unit_cols;
}

/* One command: units [u0, u0 + n) by steps [s0, s0 + steps) into C at @c. */
static void emit_tile(struct emit *e, const struct product *p, uint32_t u0, uint32_t n, uint32_t s0,
		      uint32_t steps, const struct vx_arg *c)
{
	const struct weight_layout *l = &p->w->layout;
	bool all = steps >= p->tile.n_steps;
	uint32_t k0 = s0 * l->step_k, k = steps * l->step_k, row_bytes;
	uint32_t asize = vx_size(p->a.type);
	struct load load = { .offset = p->w->offset + (uint64_t)u0 * l->unit_bytes +
				       (uint64_t)s0 * l->step_bytes,
			     .stride = l->unit_bytes };
	union ne1_cmd cmd = stream_cmd(NE1_OP_MM);
	struct access acc[3];

	if (k0 + k > l->k)
		k = l->k - k0;
	row_bytes = steps * l->step_bytes;
	if (s0 * l->step_bytes + row_bytes > l->unit_bytes)
		row_bytes = l->unit_bytes - s0 * l->step_bytes;
	load.row_bytes = all ? n * l->unit_bytes : row_bytes;
	load.rows = all ? 1 : n;
	cmd.hdr.flags = (s0 ? NE1_MM_ACC : 0) | (l->packed ? 0 : NE1_MM_B_NK);
	cmd.mm.a = p->a.addr + k0 * asize;
	cmd.mm.a_stride = p->a.stride;
	cmd.mm.atype = p->a.type;
	cmd.mm.b = ring_take(e, &e->ring, &load);
	cmd.mm.b_stride = row_bytes;
	cmd.mm.btype = l->type;
	cmd.mm.c = c->addr;
	cmd.mm.c_stride = c->stride;
	cmd.mm.ctype = c->type;
	cmd.mm.m = p->m;
	cmd.mm.k = k;
	cmd.mm.n = cols_of(l, u0, n);
	acc[0] = emit_rows(cmd.mm.a, k * asize, p->m, p->a.stride, false);
	acc[1] = READ(cmd.mm.b, load.rows * load.row_bytes);
	acc[2] = emit_rows(c->addr, cmd.mm.n * vx_size(c->type), p->m, c->stride, true);
	emit_cmd(e, &cmd, acc, 3);
	ring_drop(e, &e->ring);
}

/* Units [u0, u0 + n) into C, whose first column is that of u0. */
static void emit_units(struct emit *e, const struct product *p, uint32_t u0, uint32_t n,
		       const struct vx_arg *c)
{
	uint32_t u, s, units, steps;
	struct vx_arg at = *c;

	for (u = u0; u < u0 + n; u += units) {
		units = u0 + n - u < p->tile.units ? u0 + n - u : p->tile.units;
		at.addr = c->addr + (u - u0) * p->w->layout.unit_cols * vx_size(c->type);
		for (s = 0; s < p->tile.n_steps; s += steps) {
			steps = p->tile.n_steps - s < p->tile.steps ? p->tile.n_steps - s :
								      p->tile.steps;
			emit_tile(e, p, u, units, s, steps, &at);
		}
	}
}

/* A chunk of an output that goes straight to memory. */
static void store_chunk(struct emit *e, uint32_t tensor, uint32_t col, uint32_t cols,
			const struct vx_arg *from)
{
	const struct npu_tensor *t = npu_graph_tensor(e->plan->g, tensor);
	uint32_t size = vx_size(from->type), rows = npu_plan_rows(e->plan, tensor);
	union ne1_cmd cmd =
		emit_dma(NE1_OP_ST, BASE_IO, e->io_offset[tensor] + (uint64_t)col * size,
			 cols * size, (uint64_t)t->cols * size, from->addr, from->stride, rows);
	struct access acc = emit_rows(from->addr, cols * size, rows, from->stride, false);

	if (!emit_can_move(e, t, cols * size))
		return;
	if (e->plan->per_token[tensor])
		cmd.dma.clip = VALUE_N_VALID;
	emit_cmd(e, &cmd, &acc, 1);
}

/*
 * By chunks through two staging buffers: a streamed output leaves from there; one that has to be
 * rounded behind several steps of k is cast from there.
 */
static void emit_staged(struct emit *e, uint32_t node, const struct npu_op *op,
			const struct product *p)
{
	const struct npu_tensor *t = npu_graph_tensor(e->plan->g, op->out);
	const struct node_temps *temps = &e->plan->temps[node];
	bool f16 = t->dtype == NPU_DTYPE_F16, cast = f16 && p->tile.steps < p->tile.n_steps;
	const struct place *pl = &e->plan->places[op->out];
	const struct weight_layout *l = &p->w->layout;
	struct vx_arg stage, out;
	uint32_t u, n, i, cols;

	for (u = 0, i = 0; u < l->n_units && !e->status; u += n, i ^= 1) {
		n = l->n_units - u < temps->chunk ? l->n_units - u : temps->chunk;
		cols = cols_of(l, u, n);
		stage = (struct vx_arg){ plan_addr(e->plan, temps->buf[TEMP_STAGE + i]), 0,
					 f16 && !cast ? NE1_T_F16 : NE1_T_F32 };
		stage.stride = stage.type == NE1_T_F16 ? (cols * 2 + 3) & ~3u : cols * 4;
		emit_units(e, p, u, n, &stage);
		out = stage;
		if (cast) {
			out.type = NE1_T_F16;
			out.addr = pl->streamed ?
				   plan_addr(e->plan, temps->buf[TEMP_STAGE + 2]) :
				   emit_addr(e, op->out) + u * l->unit_cols * 2;
			out.stride = pl->streamed ? (cols * 2 + 3) & ~3u : pl->stride;
			emit_vx(e, NE1_OP_CAST, p->m, cols, &stage, NULL, &out);
		}
		if (pl->streamed)
			store_chunk(e, op->out, u * l->unit_cols, cols, &out);
		if (u + n < l->n_units)
			emit_yield(e, node, true);
	}
}

void emit_matmul(struct emit *e, uint32_t node)
{
	const struct npu_op *op = npu_graph_op(e->plan->g, e->plan->nodes[node].op);
	struct vx_arg out;
	struct product p;

	if (!product_init(e, e->plan->nodes[node].op, &p))
		return;
	if (e->plan->temps[node].buf[TEMP_STAGE] != NO_BUF) {
		emit_staged(e, node, op, &p);
		return;
	}
	out = emit_arg(e, op->out);
	emit_units(e, &p, 0, p.w->layout.n_units, &out);
}

/* Columns [col, col + cols) of gate and up, then silu(gate) * up into the output. */
void emit_glu(struct emit *e, uint32_t node)
{
	const struct node *n = &e->plan->nodes[node];
	const struct node_temps *temps = &e->plan->temps[node];
	uint32_t id = node_last_op(e->plan->g, n)->out, col, cols, i;
	const struct npu_tensor *t = npu_graph_tensor(e->plan->g, id);
	struct vx_arg g, u, out = emit_arg(e, id);
	struct product gate, up;

	if (!product_init(e, n->gate, &gate) || !product_init(e, n->up, &up))
		return;
	for (col = 0, i = 0; col < t->cols && !e->status; col += cols, i ^= 1) {
		cols = t->cols - col < temps->chunk ? t->cols - col : temps->chunk;
		g = (struct vx_arg){ plan_addr(e->plan, temps->buf[TEMP_GATE + i]), cols * 4,
				     NE1_T_F32 };
		u = (struct vx_arg){ plan_addr(e->plan, temps->buf[TEMP_UP + i]), cols * 4,
				     NE1_T_F32 };
		emit_units(e, &gate, col / gate.w->layout.unit_cols,
			   (cols + gate.w->layout.unit_cols - 1) / gate.w->layout.unit_cols, &g);
		emit_units(e, &up, col / up.w->layout.unit_cols,
			   (cols + up.w->layout.unit_cols - 1) / up.w->layout.unit_cols, &u);
		out.addr = emit_addr(e, id) + col * vx_size(out.type);
		emit_vx(e, NE1_OP_SWIGLU, gate.m, cols, &g, &u, &out);
		if (col + cols < t->cols)
			emit_yield(e, node, true);
	}
}
