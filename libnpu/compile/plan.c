// SPDX-License-Identifier: MIT
/* Tensors and their lifetimes within a segment, and one attempt at a layout. */
#include "compile/plan.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

#define ALIGN		256u	/* a granule of dependency tracking */
#define CHUNK_BYTES	(2u << 20) /* of a weight whose product leaves in chunks */

static uint32_t align_up(uint32_t n)
{
	return (n + ALIGN - 1) & ~(ALIGN - 1);
}

static uint32_t elem_bytes(const struct npu_tensor *t)
{
	return t->dtype == NPU_DTYPE_F16 ? 2 : 4;
}

uint32_t npu_plan_rows(const struct plan *p, uint32_t tensor)
{
	return p->per_token[tensor] ? p->m : npu_graph_tensor(p->g, tensor)->rows;
}

void npu_attn_shape(const struct plan *p, const struct npu_op *op, struct attn_shape *out)
{
	const struct npu_attention *a = &op->attention;
	uint32_t n_ctx = npu_graph_tensor(p->g, op->in[1])->rows, n;

	out->heads = a->n_heads;
	out->kv_heads = a->n_kv_heads;
	out->group = a->n_heads / a->n_kv_heads;
	out->head_dim = a->head_dim;
	/* Even blocks. */
	n = (a->n_kv_heads + p->tune.kv_heads - 1) / p->tune.kv_heads;
	out->block = (a->n_kv_heads + n - 1) / n;
	out->flat = p->m == 1;
	out->rows = p->m * out->group;
	out->tile = a->kv_tile;
	out->n_tiles = (n_ctx + a->kv_tile - 1) / a->kv_tile;
}

void npu_tile_shape(const struct weight_layout *l, uint32_t slot, struct tile_shape *out)
{
	/* Rows of plain weights by 32, so that columns of C stay aligned. */
	uint32_t least = l->packed ? 1 : l->n_units < NE1_PANEL ? l->n_units : NE1_PANEL;
	uint32_t units, n;

	out->n_steps = (l->k + l->step_k - 1) / l->step_k;
	if ((uint64_t)least * l->unit_bytes <= slot) {
		units = slot / l->unit_bytes / least * least;
		/* Even tiles. */
		n = (l->n_units + units - 1) / units;
		units = (l->n_units + n - 1) / n;
		out->units = (units + least - 1) / least * least;
		out->steps = out->n_steps;
		return;
	}
	out->units = least;
	out->steps = slot / (least * l->step_bytes);
}

/* ---- buffers ----------------------------------------------------------------------------- */

static uint32_t add_buf(struct plan *p, uint64_t size, uint32_t first, uint32_t last)
{
	struct buf *b = &p->bufs[p->n_bufs];

	/* What is too large for any SRAM still has to be comparable. */
	b->size = size > UINT32_MAX / 4 ? UINT32_MAX / 4 : align_up((uint32_t)size);
	b->first = first;
	b->last = last;
	b->addr = 0;
	return p->n_bufs++;
}

static void temp(struct plan *p, uint32_t node, uint32_t slot, uint64_t size)
{
	p->temps[node].buf[slot] = add_buf(p, size, node, node);
}

static const struct npu_op *weight_op(const struct plan *p, const struct node *n)
{
	return npu_graph_op(p->g, n->kind == NODE_GLU ? n->gate : n->op);
}

static void layout_of(const struct plan *p, uint32_t op, struct weight_layout *l)
{
	const char *why;

	npu_weight_layout(npu_graph_tensor(p->g, npu_graph_op(p->g, op)->in[1]), l, &why);
}

/* Units of a GLU that both weights compute at a time; whole panels of both. */
static uint32_t glu_units(const struct plan *p, const struct node *n)
{
	struct weight_layout gate, up;
	struct tile_shape a, b;
	uint32_t cols_a, cols_b;

	layout_of(p, n->gate, &gate);
	layout_of(p, n->up, &up);
	npu_tile_shape(&gate, p->tune.slot, &a);
	npu_tile_shape(&up, p->tune.slot, &b);
	cols_a = a.units * gate.unit_cols;
	cols_b = b.units * up.unit_cols;
	/* In columns: units of the two may differ. */
	return cols_a < cols_b ? cols_a : cols_b;
}

static void glu_temps(struct plan *p, uint32_t node)
{
	const struct node *n = &p->nodes[node];
	uint32_t cols = glu_units(p, n), i;
	uint32_t rows = npu_plan_rows(p, weight_op(p, n)->out);

	if (cols > NE1_PANEL)
		cols -= cols % NE1_PANEL;
	else
		cols = NE1_PANEL;
	p->temps[node].chunk = cols;
	for (i = 0; i < 2; i++) {
		temp(p, node, TEMP_GATE + i, (uint64_t)rows * cols * 4);
		temp(p, node, TEMP_UP + i, (uint64_t)rows * cols * 4);
	}
}

/* Staging of a matmul whose output leaves in chunks, or is rounded behind a product in several
 * steps of k.
 */
static void matmul_temps(struct plan *p, uint32_t node)
{
	const struct npu_op *op = npu_graph_op(p->g, p->nodes[node].op);
	const struct npu_tensor *out = npu_graph_tensor(p->g, op->out);
	uint32_t rows = npu_plan_rows(p, op->out), units, unit_bytes;
	struct weight_layout l;
	struct tile_shape t;

	layout_of(p, p->nodes[node].op, &l);
	npu_tile_shape(&l, p->tune.slot, &t);
	p->temps[node].chunk = l.n_units;
	if (!p->places[op->out].streamed && (t.steps >= t.n_steps || out->dtype == NPU_DTYPE_F32))
		return;
	unit_bytes = rows * l.unit_cols * 4;
	units = p->tune.stage_bytes / unit_bytes;
	/* Others may have the core between chunks. */
	if (units > CHUNK_BYTES / l.unit_bytes)
		units = CHUNK_BYTES / l.unit_bytes;
	units = units / t.units * t.units;
	if (units < t.units)
		units = t.units;
	if (units > l.n_units)
		units = l.n_units;
	p->temps[node].chunk = units;
	temp(p, node, TEMP_STAGE, (uint64_t)units * unit_bytes);
	temp(p, node, TEMP_STAGE + 1, (uint64_t)units * unit_bytes);
	/* Streamed F16 behind several steps is rounded in a buffer of its own. */
	if (p->places[op->out].streamed && out->dtype == NPU_DTYPE_F16)
		temp(p, node, TEMP_STAGE + 2, (uint64_t)units * unit_bytes);
}

static void attn_temps(struct plan *p, uint32_t node)
{
	const struct npu_op *op = npu_graph_op(p->g, p->nodes[node].op);
	struct attn_shape a;
	uint32_t i, rows;

	npu_attn_shape(p, op, &a);
	for (i = 0; i < p->tune.kv_bufs; i++) {
		temp(p, node, TEMP_K + i, (uint64_t)a.tile * a.block * a.head_dim * 2);
		temp(p, node, TEMP_V + i, (uint64_t)a.tile * a.block * a.head_dim * 2);
	}
	rows = a.flat ? a.block * a.group : a.rows;
	for (i = 0; i < p->tune.sp_bufs; i++) {
		temp(p, node, TEMP_S + i, (uint64_t)rows * a.tile * 4);
		temp(p, node, TEMP_P + i, (uint64_t)rows * a.tile * 2);
	}
	temp(p, node, TEMP_O, (uint64_t)a.block * a.rows * a.head_dim * 4);
	temp(p, node, TEMP_STATE, (uint64_t)a.block * a.rows * 8);
	if (!a.flat && a.group > 1 && a.kv_heads > 1 && !p->places[op->in[0]].by_group)
		temp(p, node, TEMP_Q, (uint64_t)a.heads * p->m * a.head_dim * 2);
}

static void node_temps(struct plan *p, uint32_t node)
{
	const struct node *n = &p->nodes[node];

	memset(p->temps[node].buf, 0xff, sizeof(p->temps[node].buf));
	if (n->kind == NODE_GLU)
		glu_temps(p, node);
	else if (npu_graph_op(p->g, n->op)->kind == NPU_OP_MATMUL)
		matmul_temps(p, node);
	else if (npu_graph_op(p->g, n->op)->kind == NPU_OP_ATTENTION)
		attn_temps(p, node);
}

/* ---- tensors ----------------------------------------------------------------------------- */

static bool is_activation(const struct npu_tensor *t)
{
	return t->kind == NPU_TENSOR_INPUT || t->kind == NPU_TENSOR_ACT ||
	       t->kind == NPU_TENSOR_OUTPUT;
}

/* Who reads what: once per plan. */
static void find_uses(struct plan *p)
{
	uint32_t end = p->seg.first_op + p->seg.n_ops, node, i, j;
	const struct npu_op *op;

	for (i = 0; i < npu_graph_n_tensors(p->g); i++)
		p->uses[i] = (struct tensor_use){ .last_node = NO_NODE };
	for (node = 0; node < p->n_nodes; node++) {
		for (i = 0; i < p->nodes[node].n_ops; i++) {
			op = npu_graph_op(p->g, p->nodes[node].op + i);
			for (j = 0; j < op->n_in; j++)
				p->uses[op->in[j]].last_node = node;
		}
	}
	for (i = end; i < npu_graph_n_ops(p->g); i++) {
		op = npu_graph_op(p->g, i);
		for (j = 0; j < op->n_in; j++)
			p->uses[op->in[j]].behind = true;
	}
}

static void extend(struct plan *p, uint32_t tensor, uint32_t node)
{
	struct buf *b = &p->bufs[p->places[tensor].buf];

	if (node > b->last)
		b->last = node;
}

static void add_tensor(struct plan *p, uint32_t id, uint32_t node)
{
	const struct npu_tensor *t = npu_graph_tensor(p->g, id);
	struct place *pl = &p->places[id];

	pl->stride = (t->cols * elem_bytes(t) + 3) & ~3u;
	if (pl->streamed)
		return;
	pl->buf = add_buf(p, (uint64_t)npu_plan_rows(p, id) * pl->stride, node, node);
}

/* Tensor @id is an input of node @node. */
static void use_input(struct plan *p, uint32_t id, uint32_t node)
{
	const struct npu_tensor *t = npu_graph_tensor(p->g, id);
	struct place *pl = &p->places[id];

	if (pl->buf != NO_BUF) {
		extend(p, id, node);
	} else if (is_activation(t)) {
		pl->load = true;
		add_tensor(p, id, node);
	}
}

/* The table of a ROPE: rows of this step's positions, kept from the start. */
static void use_table(struct plan *p, uint32_t id, uint32_t node)
{
	struct place *pl = &p->places[id];

	if (pl->buf == NO_BUF) {
		pl->load = true;
		pl->stride = npu_graph_tensor(p->g, id)->cols * 4;
		pl->buf = add_buf(p, (uint64_t)p->m * pl->stride, 0, node);
	}
	extend(p, id, node);
}

/* An input of the op whose buffer its output may take over, or NPU_NO_TENSOR. */
static uint32_t reusable_input(const struct plan *p, const struct npu_op *op, uint32_t node)
{
	const struct npu_tensor *out = npu_graph_tensor(p->g, op->out), *in;
	uint32_t i, n = 1;

	switch (op->kind) {
	case NPU_OP_ADD:
	case NPU_OP_MUL:
		n = 2;
		break;
	case NPU_OP_SILU:
		break;
	case NPU_OP_ROW_SELECT:
		if (npu_plan_rows(p, op->in[0]) != 1)
			return NPU_NO_TENSOR;
		break;
	default:
		return NPU_NO_TENSOR;
	}
	for (i = 0; i < n; i++) {
		in = npu_graph_tensor(p->g, op->in[i]);
		if (in->dtype == out->dtype && in->cols == out->cols &&
		    npu_plan_rows(p, in->id) == npu_plan_rows(p, out->id) &&
		    p->uses[in->id].last_node == node)
			return in->id;
	}
	return NPU_NO_TENSOR;
}

/* Rotated queries that only one attention reads are written in the order that it multiplies them.
 */
static uint32_t query_group(const struct plan *p, const struct npu_op *rope)
{
	const struct npu_tensor *t = npu_graph_tensor(p->g, rope->out);
	uint32_t node = p->uses[rope->out].last_node, group;
	const struct npu_op *op;

	if (rope->kind != NPU_OP_ROPE || t->n_uses != 1 || t->kind != NPU_TENSOR_ACT || p->m == 1 ||
	    node == NO_NODE)
		return 0;
	op = npu_graph_op(p->g, p->nodes[node].op);
	if (op->kind != NPU_OP_ATTENTION || rope->rope.n_heads != op->attention.n_heads ||
	    t->dtype != NPU_DTYPE_F16)
		return 0;
	group = op->attention.n_heads / op->attention.n_kv_heads;
	return group > 1 && op->attention.n_kv_heads > 1 ? group : 0;
}

static void add_output(struct plan *p, const struct npu_op *op, uint32_t node)
{
	const struct npu_tensor *t = npu_graph_tensor(p->g, op->out);
	struct place *pl = &p->places[op->out];
	uint32_t reuse;

	if (t->kind == NPU_TENSOR_KV)
		return;
	pl->store = t->kind == NPU_TENSOR_OUTPUT || p->uses[op->out].behind;
	pl->streamed =
		pl->store && op->kind == NPU_OP_MATMUL && p->uses[op->out].last_node == NO_NODE;
	pl->by_group = query_group(p, op);
	reuse = reusable_input(p, op, node);
	if (reuse == NPU_NO_TENSOR) {
		add_tensor(p, op->out, node);
		return;
	}
	pl->buf = p->places[reuse].buf;
	pl->stride = p->places[reuse].stride;
}

static void add_node(struct plan *p, uint32_t node)
{
	const struct node *n = &p->nodes[node];
	const struct npu_op *op = npu_graph_op(p->g, n->op);
	uint32_t i;

	for (i = 0; i < op->n_in; i++) {
		if (op->kind == NPU_OP_ROPE && i == 1)
			use_table(p, op->in[i], node);
		else if (is_activation(npu_graph_tensor(p->g, op->in[i])))
			use_input(p, op->in[i], node);
	}
	add_output(p, node_last_op(p->g, n), node);
	node_temps(p, node);
}

/* ---- addresses --------------------------------------------------------------------------- */

static bool overlap(const struct buf *a, const struct buf *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* Lowest address where @b meets none of the @n placed buffers, ascending, that live at the same
 * time.
 */
static uint32_t first_fit(const struct buf *b, const struct buf_ref *placed, uint32_t n,
			  uint32_t base)
{
	uint32_t i, at = base;

	for (i = 0; i < n; i++) {
		const struct buf *other = placed[i].buf;

		if (other->addr >= at + b->size)
			break;
		if (!overlap(other, b))
			continue;
		if (other->addr + other->size > at)
			at = other->addr + other->size;
	}
	return at;
}

static void insert_by_addr(struct buf *b, struct buf_ref *placed, uint32_t n)
{
	for (; n && placed[n - 1].buf->addr > b->addr; n--)
		placed[n] = placed[n - 1];
	placed[n].buf = b;
}

static int larger_first(const void *a, const void *b)
{
	const struct buf *x = ((const struct buf_ref *)a)->buf;
	const struct buf *y = ((const struct buf_ref *)b)->buf;
	uint32_t len_x = x->last - x->first, len_y = y->last - y->first;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	if (len_x != len_y)
		return len_x > len_y ? -1 : 1;
	return x < y ? -1 : 1;
}

/* Fill p->live; returns the most. */
static uint64_t count_live(struct plan *p, uint32_t base)
{
	uint64_t most = base;
	uint32_t i;

	/* First what begins or, modulo 2^64, ends at a node, then the sums. */
	memset(p->live, 0, (p->n_nodes + 1) * sizeof(*p->live));
	p->live[0] = base;
	for (i = 0; i < p->n_bufs; i++) {
		p->live[p->bufs[i].first] += p->bufs[i].size;
		p->live[p->bufs[i].last + 1] -= p->bufs[i].size;
	}
	for (i = 0; i < p->n_nodes; i++) {
		if (i)
			p->live[i] += p->live[i - 1];
		if (p->live[i] > most)
			most = p->live[i];
	}
	return most;
}

/* Greedy by size; good for the few shapes of a decoder, whose layers repeat.  Ends where the peak
 * exceeds @limit.
 */
static void assign(struct plan *p, uint32_t base, uint32_t limit)
{
	struct buf_ref *order = p->order, *placed = p->order + p->max_bufs;
	uint64_t end, peak = count_live(p, base);
	uint32_t i;

	if (peak > limit)
		goto out;	/* wherever they lie */
	peak = base;

	for (i = 0; i < p->n_bufs; i++)
		order[i].buf = &p->bufs[i];
	qsort(order, p->n_bufs, sizeof(*order), larger_first);
	for (i = 0; i < p->n_bufs && peak <= limit; i++) {
		struct buf *b = order[i].buf;

		b->addr = first_fit(b, placed, i, base);
		insert_by_addr(b, placed, i);
		end = (uint64_t)b->addr + b->size;
		if (end > peak)
			peak = end;
	}
out:
	p->peak = peak > UINT32_MAX ? UINT32_MAX : (uint32_t)peak;
}

/* Largest row of norm weights. */
static uint32_t const_slot(const struct plan *p)
{
	const struct npu_op *op;
	uint32_t i, bytes = 0;

	for (i = p->seg.first_op; i < p->seg.first_op + p->seg.n_ops; i++) {
		op = npu_graph_op(p->g, i);
		if (op->kind == NPU_OP_RMS_NORM &&
		    npu_graph_tensor(p->g, op->in[1])->cols * 4 > bytes)
			bytes = npu_graph_tensor(p->g, op->in[1])->cols * 4;
	}
	return align_up(bytes);
}

void npu_plan_try(struct plan *p, const struct tune *tune, uint32_t limit)
{
	uint32_t i, base;

	p->tune = *tune;
	p->n_bufs = 0;
	for (i = 0; i < npu_graph_n_tensors(p->g); i++)
		p->places[i] = (struct place){ .buf = NO_BUF };
	p->carrier = 0;
	p->const_addr = CARRIER_SRAM;
	p->const_slot = const_slot(p);
	base = p->const_addr + CONST_SLOTS * p->const_slot;
	for (i = 0; i < p->n_nodes; i++)
		add_node(p, i);
	assign(p, base, limit);
}

/* ---- life -------------------------------------------------------------------------------- */

npu_status npu_plan(const npu_graph *g, const struct npu_segment *seg, uint32_t m,
		    uint32_t sram_bytes, enum plan_goal goal, struct plan *out)
{
	uint32_t n_tensors = npu_graph_n_tensors(g);
	npu_status status;

	memset(out, 0, sizeof(*out));
	out->g = g;
	out->seg = *seg;
	out->m = m;
	out->sram_bytes = sram_bytes;
	out->max_bufs = n_tensors + (seg->n_ops + 1) * N_TEMPS;
	out->nodes = calloc(seg->n_ops + 1, sizeof(*out->nodes));
	out->temps = calloc(seg->n_ops + 1, sizeof(*out->temps));
	out->per_token = calloc(n_tensors + 1, sizeof(*out->per_token));
	out->places = calloc(n_tensors + 1, sizeof(*out->places));
	out->uses = calloc(n_tensors + 1, sizeof(*out->uses));
	out->bufs = calloc(out->max_bufs, sizeof(*out->bufs));
	out->live = calloc(seg->n_ops + 2ul, sizeof(*out->live));
	out->order = calloc(2 * (size_t)out->max_bufs, sizeof(*out->order));
	if (!out->uses || !out->live || !out->order || !out->nodes || !out->temps ||
	    !out->per_token || !out->places || !out->bufs) {
		npu_plan_fini(out);
		return npu_fail(NPU_ERR_NOMEM, "plan: no memory for %u ops", seg->n_ops);
	}
	out->n_nodes = npu_make_nodes(g, seg, out->nodes);
	npu_mark_token_rows(g, out->per_token);
	find_uses(out);
	status = npu_plan_search(out, goal);
	if (status)
		npu_plan_fini(out);
	return status;
}

void npu_plan_fini(struct plan *p)
{
	free(p->nodes);
	free(p->temps);
	free(p->per_token);
	free(p->places);
	free(p->uses);
	free(p->bufs);
	free(p->live);
	free(p->order);
	memset(p, 0, sizeof(*p));
}
