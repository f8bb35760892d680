// SPDX-License-Identifier: MIT
#include "graph_priv.h"

static void print_tensor(const struct npu_tensor *t, FILE *f)
{
	fprintf(f, "%s %s[%u][%u]", t->name, npu_dtype_name(t->dtype), t->rows, t->cols);
}

static void print_attributes(const struct npu_op *op, FILE *f)
{
	switch (op->kind) {
	case NPU_OP_RMS_NORM: fprintf(f, " eps=%g", (double)op->eps); break;
	case NPU_OP_ROPE:
		fprintf(f, " heads=%ux%u%s", op->rope.n_heads, op->rope.head_dim,
			op->rope.neox ? " neox" : "");
		break;
	case NPU_OP_ATTENTION:
		fprintf(f, " heads=%u/%u x%u scale=%g tile=%u window=%u", op->attention.n_heads,
			op->attention.n_kv_heads, op->attention.head_dim,
			(double)op->attention.scale, op->attention.kv_tile, op->attention.window);
		break;
	default: break;
	}
}

void npu_graph_dump(const npu_graph *g, FILE *f)
{
	fprintf(f, "graph: %u tokens, %u ops, %u tensors\n", g->n_tokens, g->n_ops, g->n_tensors);
	for (uint32_t i = 0; i < g->n_ops; i++) {
		const struct npu_op *op = &g->ops[i];

		fprintf(f, "%4u %-10s ", i, npu_op_name(op->kind));
		print_tensor(g->tensors[op->out], f);
		for (uint32_t j = 0; j < op->n_in; j++) {
			fputs(j ? ", " : " <- ", f);
			print_tensor(g->tensors[op->in[j]], f);
		}
		print_attributes(op, f);
		fputc('\n', f);
	}
}
