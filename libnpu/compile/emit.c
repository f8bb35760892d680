// SPDX-License-Identifier: MIT
/* Nodes in order, and how tensors come from and go to memory. */
#include "compile/emit.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

void emit_cmd(struct emit *e, const union ne1_cmd *cmd, const struct access *acc, uint32_t n)
{
	if (e->dry || e->status)
		return;
	stream_add(e->stream, cmd, acc, n);
	/* What may be skipped takes no time that could be told here. */
	if (!e->stream->group)
		yield_count(&e->yields, cmd);
}

struct access emit_rows(uint32_t addr, uint32_t bytes, uint32_t rows, uint32_t stride, bool write)
{
	struct access a = { .addr = addr, .bytes = bytes, .count = { rows, 1 },
			    .stride = { stride, 0 }, .write = write };

	if (rows == 1 || stride == bytes) {
		a.bytes = rows * bytes;
		a.count[0] = 1;
	}
	return a;
}

union ne1_cmd emit_dma(uint8_t opcode, uint8_t base, uint64_t offset, uint32_t row_bytes,
		       uint64_t dram_stride, uint32_t sram, uint32_t sram_stride, uint32_t rows)
{
	union ne1_cmd cmd = stream_cmd(opcode);

	cmd.dma.base = base;
	cmd.dma.offset = offset;
	cmd.dma.row_bytes = row_bytes;
	cmd.dma.dram_stride = dram_stride;
	cmd.dma.sram = sram;
	cmd.dma.sram_stride = sram_stride;
	cmd.dma.rows = rows;
	cmd.dma.dyn = NE1_NO_PARAM;
	cmd.dma.clip = NE1_NO_PARAM;
	return cmd;
}

uint32_t emit_addr(const struct emit *e, uint32_t tensor)
{
	return plan_addr(e->plan, e->plan->places[tensor].buf);
}

bool emit_can_move(struct emit *e, const struct npu_tensor *t, uint32_t row_bytes)
{
	if (!e->status && row_bytes % 4)
		e->status = npu_fail(
			NPU_ERR_UNSUPPORTED,
			"tensor '%s': rows of %u bytes between memory and NPU, not a multiple of 4",
			t->name, row_bytes);
	return !e->status;
}

/* DRAM row of a tensor in the IO buffer: rows are dense there. */
static uint32_t io_row_bytes(const struct npu_tensor *t)
{
	return t->cols * (t->dtype == NPU_DTYPE_F16 ? 2 : 4);
}

/* Tensor @id between SRAM and IO buffer; rows of tokens that do not count stay behind. */
static void move_tensor(struct emit *e, uint8_t opcode, uint32_t id)
{
	const struct npu_tensor *t = npu_graph_tensor(e->plan->g, id);
	const struct place *pl = &e->plan->places[id];
	uint32_t rows = npu_plan_rows(e->plan, id), bytes = io_row_bytes(t);
	uint32_t addr = emit_addr(e, id);
	union ne1_cmd cmd =
		emit_dma(opcode, BASE_IO, e->io_offset[id], bytes, bytes, addr, pl->stride, rows);
	struct access acc = emit_rows(addr, bytes, rows, pl->stride, opcode == NE1_OP_LD);

	if (!emit_can_move(e, t, bytes))
		return;
	if (e->plan->per_token[id])
		cmd.dma.clip = VALUE_N_VALID;
	emit_cmd(e, &cmd, &acc, 1);
}

/* Rows of this step's positions of a table. */
static void load_table(struct emit *e, uint32_t id)
{
	const struct npu_tensor *t = npu_graph_tensor(e->plan->g, id);
	uint32_t stride = e->plan->places[id].stride, addr = emit_addr(e, id);
	struct access acc = WRITE(addr, e->plan->m * stride);
	const struct weight_entry *entry;
	union ne1_cmd cmd;

	if (e->status)
		return;
	e->status = npu_weights_find(e->weights, t, &entry);
	if (e->status)
		return;
	cmd = emit_dma(NE1_OP_LD, BASE_CONST, entry->offset, stride, stride, addr, stride,
		       e->plan->m);
	cmd.dma.dyn = VALUE_POS;
	cmd.dma.dyn_scale = stride;
	cmd.dma.clip = VALUE_N_VALID;
	emit_cmd(e, &cmd, &acc, 1);
}

static void load_tables(struct emit *e)
{
	const struct npu_tensor *t;
	uint32_t i;

	for (i = 0; i < npu_graph_n_tensors(e->plan->g); i++) {
		t = npu_graph_tensor(e->plan->g, i);
		if (t->kind == NPU_TENSOR_CONST && e->plan->places[i].load)
			load_table(e, i);
	}
}

/* Rows pos.. of the cache; the address of tensor KV in DRAM stands for it in dependencies. */
static void emit_kv_append(struct emit *e, const struct npu_op *op)
{
	const struct npu_tensor *t = npu_graph_tensor(e->plan->g, op->in[1]);
	const struct place *pl = &e->plan->places[op->in[0]];
	uint32_t bytes = t->cols * 2, rows = e->plan->m, addr = emit_addr(e, op->in[0]);
	struct access acc[2] = {
		emit_rows(addr, bytes, rows, pl->stride, false),
		WRITE(stream_resource(e->stream, t->id), 1),
	};
	const struct kv_entry *entry;
	union ne1_cmd cmd;

	e->status = npu_kv_find(e->kv, t, &entry);
	if (e->status)
		return;
	cmd = emit_dma(NE1_OP_ST, BASE_KV, entry->offset, bytes, bytes, addr, pl->stride, rows);
	cmd.dma.dyn = VALUE_POS;
	cmd.dma.dyn_scale = bytes;
	cmd.dma.clip = VALUE_N_VALID;
	emit_cmd(e, &cmd, acc, 2);
}

/* Row n_valid - 1, whose address in the SRAM is not known: through memory. */
static void emit_row_select(struct emit *e, const struct npu_op *op)
{
	const struct npu_tensor *t = npu_graph_tensor(e->plan->g, op->in[0]);
	const struct place *in = &e->plan->places[op->in[0]], *out = &e->plan->places[op->out];
	uint32_t rows = npu_plan_rows(e->plan, op->in[0]), bytes = io_row_bytes(t);
	uint32_t from = emit_addr(e, op->in[0]), to = emit_addr(e, op->out);
	uint32_t memory = stream_resource(e->stream, t->id);
	struct access st[2] = { emit_rows(from, bytes, rows, in->stride, false), WRITE(memory, 1) };
	struct access ld[2] = { WRITE(to, bytes), READ(memory, 1) };
	union ne1_cmd cmd;

	if (in->buf == out->buf)
		return;
	cmd = emit_dma(NE1_OP_ST, BASE_SCRATCH, 0, bytes, bytes, from, in->stride, rows);
	cmd.dma.clip = VALUE_N_VALID;
	emit_cmd(e, &cmd, st, 2);
	cmd = emit_dma(NE1_OP_LD, BASE_SCRATCH, 0, bytes, bytes, to, out->stride, 1);
	cmd.dma.dyn = VALUE_LAST_ROW;
	cmd.dma.dyn_scale = bytes;
	emit_cmd(e, &cmd, ld, 2);
}

static void emit_op(struct emit *e, uint32_t node)
{
	const struct npu_op *op = npu_graph_op(e->plan->g, e->plan->nodes[node].op);

	switch (op->kind) {
	case NPU_OP_MATMUL:
		emit_matmul(e, node);
		break;
	case NPU_OP_RMS_NORM:
		emit_norm(e, op);
		break;
	case NPU_OP_ROPE:
		emit_rope(e, op);
		break;
	case NPU_OP_KV_APPEND:
		emit_kv_append(e, op);
		break;
	case NPU_OP_ATTENTION:
		emit_attention(e, node);
		break;
	case NPU_OP_ROW_SELECT:
		emit_row_select(e, op);
		break;
	default:
		emit_elementwise(e, op);
	}
}

/* Inputs of the node that come from memory and are not here yet: those whose buffer's life begins
 * now.
 */
static void load_inputs(struct emit *e, uint32_t node)
{
	const struct plan *p = e->plan;
	const struct npu_op *op = npu_graph_op(p->g, p->nodes[node].op);
	const struct place *pl;
	uint32_t i, j;

	for (i = 0; i < op->n_in; i++) {
		pl = &p->places[op->in[i]];
		for (j = 0; j < i && op->in[j] != op->in[i]; j++)
			;
		if (j == i && pl->load && pl->buf != NO_BUF && p->bufs[pl->buf].first == node &&
		    npu_graph_tensor(p->g, op->in[i])->kind != NPU_TENSOR_CONST)
			move_tensor(e, NE1_OP_LD, op->in[i]);
	}
}

static void emit_node(struct emit *e, uint32_t node)
{
	const struct node *n = &e->plan->nodes[node];
	const struct npu_op *last = node_last_op(e->plan->g, n);
	const struct place *out = &e->plan->places[last->out];

	load_inputs(e, node);
	if (n->kind == NODE_GLU)
		emit_glu(e, node);
	else
		emit_op(e, node);
	if (out->store && !out->streamed && !e->status)
		move_tensor(e, NE1_OP_ST, last->out);
}

/* Buffers of KV tiles are free at the start: tokens for emit_attention(). */
static void prime_tokens(struct emit *e)
{
	union ne1_cmd cmd = stream_cmd(NE1_OP_NOP);
	uint32_t i;

	for (i = 0; i < e->plan->tune.kv_bufs; i++)
		cmd.hdr.signal[i] = SEM_USER;
	emit_cmd(e, &cmd, NULL, 0);
}

static void emit_pass(struct emit *e, bool dry)
{
	uint32_t i;

	e->dry = dry;
	prime_tokens(e);
	load_tables(e);
	for (i = 0; i < e->plan->n_nodes && !e->status; i++) {
		emit_node(e, i);
		if (i + 1 < e->plan->n_nodes)
			emit_yield(e, i, false);
	}
	if (!dry)
		stream_finish(e->stream);
}

npu_status npu_emit(const struct plan *plan, const struct emit_env *env, struct stream *stream,
		    struct emit_sizes *sizes)
{
	struct emit e = {
		.plan = plan,
		.weights = env->weights,
		.kv = env->kv,
		.io_offset = env->io_offset,
		.stream = stream,
		.ring = { .base = BASE_WEIGHTS, .addr = plan->ring_addr,
			  .slot = plan->tune.slot, .slots = plan->ring_slots },
		.consts = { .base = BASE_CONST, .addr = plan->const_addr,
			    .slot = plan->const_slot, .slots = CONST_SLOTS },
	};
	uint32_t i;

	e.status = stream_init(stream, plan->sram_bytes, npu_graph_n_tensors(plan->g));
	stream->carrier_sram = plan->carrier;
	stream->carrier_base = BASE_IO;
	stream->carrier_offset = env->carrier_offset;
	yield_init(&e.yields, env->chip, env->save_offset);
	if (!e.status)
		emit_pass(&e, true);
	if (!e.status)
		emit_pass(&e, false);
	if (!e.status)
		e.status = stream->status;
	*sizes = (struct emit_sizes){ .save_bytes = e.yields.save_bytes };
	for (i = 0; i < e.ring.n; i++)
		sizes->weight_bytes += (uint64_t)e.ring.items[i].rows * e.ring.items[i].row_bytes;
	free(e.yields.loads);
	free(e.ring.items);
	free(e.consts.items);
	if (e.status)
		stream_fini(stream);
	return e.status;
}
