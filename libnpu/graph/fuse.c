// SPDX-License-Identifier: MIT
/* SILU followed by MUL becomes SWIGLU. */
#include "graph_priv.h"

/* The SILU that feeds operand @side of @mul and nothing else, or NULL. */
static struct npu_op *lone_silu(npu_graph *g, const struct npu_op *mul, uint32_t side)
{
	const struct npu_tensor *t = g->tensors[mul->in[side]];
	struct npu_op *silu;

	if (t->producer == NPU_NO_OP || t->n_uses != 1 || t->kind != NPU_TENSOR_ACT ||
	    t->dtype != NPU_DTYPE_F32)
		return NULL;
	if (g->tensors[mul->in[!side]]->dtype != NPU_DTYPE_F32)
		return NULL;
	silu = &g->ops[t->producer];
	return silu->kind == NPU_OP_SILU ? silu : NULL;
}

/* Drop op @i; producers of later ops move down. */
static void remove_op(npu_graph *g, uint32_t i)
{
	g->tensors[g->ops[i].out]->producer = NPU_NO_OP;
	g->n_ops--;
	for (; i < g->n_ops; i++) {
		g->ops[i] = g->ops[i + 1];
		if (g->tensors[g->ops[i].out]->producer == i + 1)
			g->tensors[g->ops[i].out]->producer = i;
	}
}

npu_status npu_graph_fuse_swiglu(npu_graph *g, uint32_t *changed)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_ops; i++) {
		struct npu_op *mul = &g->ops[i];
		struct npu_op *silu = NULL;
		uint32_t side;

		if (mul->kind != NPU_OP_MUL)
			continue;
		for (side = 0; side < 2 && !silu; side++)
			silu = lone_silu(g, mul, side);
		if (!silu)
			continue;
		side--;
		/* The product of a float pair does not depend on their order. */
		mul->kind = NPU_OP_SWIGLU;
		mul->in[1] = mul->in[!side];
		mul->in[0] = silu->in[0];
		g->tensors[silu->out]->n_uses = 0;
		remove_op(g, silu - g->ops);
		i--;
		n++;
	}
	if (changed)
		*changed = n;
	return NPU_OK;
}
