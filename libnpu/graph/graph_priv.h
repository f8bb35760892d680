/* SPDX-License-Identifier: MIT */
/* What the files of this folder share about a graph. */
#ifndef LIBNPU_GRAPH_PRIV_H
#define LIBNPU_GRAPH_PRIV_H

#include "npu/graph.h"

struct llama_consts;

struct npu_graph {
	uint32_t n_tokens;
	uint32_t layer;		     /* carried by ops that are added now */
	struct npu_tensor **tensors; /* one allocation each: pointers stay valid while building */
	uint32_t n_tensors, max_tensors;
	uint32_t *by_name; /* hash table of ids, 2 * max_tensors slots; NPU_NO_TENSOR: free */
	struct npu_op *ops;
	uint32_t n_ops, max_ops;
	struct llama_consts *consts; /* reference, or NULL */
};

/* Checks @t's size and name, assigns the id and copies @t into the graph. */
npu_status npu_graph_add_tensor(npu_graph *g, const struct npu_tensor *t, uint32_t *id);
/* Room for one more op: after that npu_graph_add_op() cannot fail. */
npu_status npu_graph_reserve_op(npu_graph *g);
/* Appends a checked op: updates the uses of its inputs and the producer of its output. */
npu_status npu_graph_add_op(npu_graph *g, const struct npu_op *op);

#endif
