// SPDX-License-Identifier: MIT
#include "compile/node.h"

#include <string.h>

static bool is_lone_f32(const npu_graph *g, uint32_t id)
{
	const struct npu_tensor *t = npu_graph_tensor(g, id);

	return t->kind == NPU_TENSOR_ACT && t->dtype == NPU_DTYPE_F32 && t->n_uses == 1;
}

/* Ops i, i + 1 multiply the same activations and i + 2 gates one by the other? */
static bool is_glu(const npu_graph *g, uint32_t i, struct node *node)
{
	const struct npu_op *a = npu_graph_op(g, i), *b = npu_graph_op(g, i + 1);
	const struct npu_op *s = npu_graph_op(g, i + 2);

	if (a->kind != NPU_OP_MATMUL || b->kind != NPU_OP_MATMUL || s->kind != NPU_OP_SWIGLU)
		return false;
	if (a->in[0] != b->in[0] || !is_lone_f32(g, a->out) || !is_lone_f32(g, b->out))
		return false;
	if (s->in[0] == a->out && s->in[1] == b->out)
		*node = (struct node){ NODE_GLU, i, 3, i, i + 1 };
	else if (s->in[0] == b->out && s->in[1] == a->out)
		*node = (struct node){ NODE_GLU, i, 3, i + 1, i };
	else
		return false;
	return true;
}

uint32_t npu_make_nodes(const npu_graph *g, const struct npu_segment *seg, struct node *nodes)
{
	uint32_t i, n = 0, end = seg->first_op + seg->n_ops;

	for (i = seg->first_op; i < end; i += nodes[n++].n_ops) {
		if (i + 2 < end && is_glu(g, i, &nodes[n]))
			continue;
		nodes[n] = (struct node){ NODE_OP, i, 1, 0, 0 };
	}
	return n;
}

void npu_mark_token_rows(const npu_graph *g, bool *per_token)
{
	const struct npu_tensor *t;
	const struct npu_op *op;
	uint32_t i;

	for (i = 0; i < npu_graph_n_tensors(g); i++) {
		t = npu_graph_tensor(g, i);
		per_token[i] = t->kind == NPU_TENSOR_INPUT && t->rows == npu_graph_n_tokens(g);
	}
	for (i = 0; i < npu_graph_n_ops(g); i++) {
		op = npu_graph_op(g, i);
		t = npu_graph_tensor(g, op->out);
		if (t->kind != NPU_TENSOR_KV)
			per_token[op->out] = per_token[op->in[0]] && op->kind != NPU_OP_ROW_SELECT;
	}
}
