/* SPDX-License-Identifier: MIT */
/* Units of emission: single ops, or ops that are fused. */
#ifndef LIBNPU_COMPILE_NODE_H
#define LIBNPU_COMPILE_NODE_H

#include <stdbool.h>

#include "npu/compile.h"

enum node_kind {
	NODE_OP,  /* one op */
	NODE_GLU, /* MATMUL, MATMUL, SWIGLU by column chunks: gate and up never exist as a whole */
};

struct node {
	enum node_kind kind;
	uint32_t op, n_ops;		/* graph ops */
	uint32_t gate, up;		/* NODE_GLU: the ops that compute them */
};

/* Nodes of @seg; the array has room for one per op. Returns their number. */
uint32_t npu_make_nodes(const npu_graph *g, const struct npu_segment *seg, struct node *nodes);

/* The op whose output is the node's output. */
static inline const struct npu_op *node_last_op(const npu_graph *g, const struct node *n)
{
	return npu_graph_op(g, n->op + n->n_ops - 1);
}

/* Which tensors have a row per token (scale with M): one flag per tensor of the graph. */
void npu_mark_token_rows(const npu_graph *g, bool *per_token);

#endif
