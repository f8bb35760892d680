// SPDX-License-Identifier: MIT
/* Memory of activations: first fit by order of birth among tensors whose lifetimes overlap. */
#include "cpu.h"

#include <stdlib.h>

#include "error.h"

#define ALIGN 64u

struct life {
	uint32_t first, last; /* ops that write and last read it */
};

static struct life *lifetimes(const npu_graph *g)
{
	uint32_t n_ops = npu_graph_n_ops(g), n = npu_graph_n_tensors(g);
	struct life *life = calloc(n, sizeof(*life));

	if (!life)
		return NULL;
	for (uint32_t id = 0; id < n; id++) {
		const struct npu_tensor *t = npu_graph_tensor(g, id);

		life[id].first = t->producer == NPU_NO_OP ? 0 : t->producer;
		life[id].last = life[id].first;
		if (t->kind == NPU_TENSOR_INPUT || t->kind == NPU_TENSOR_OUTPUT)
			life[id] = (struct life) { 0, n_ops };
	}
	for (uint32_t i = 0; i < n_ops; i++) {
		const struct npu_op *op = npu_graph_op(g, i);

		for (uint32_t j = 0; j < op->n_in; j++)
			if (life[op->in[j]].last < i)
				life[op->in[j]].last = i;
	}
	return life;
}

static size_t padded(const npu_graph *g, uint32_t id)
{
	return (npu_graph_tensor(g, id)->bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Lowest offset where @id meets none of the placed tensors that live at the same time. */
static size_t first_fit(const npu_graph *g, const struct life *life, const uint8_t *placed,
			const size_t *offset, uint32_t id)
{
	size_t size = padded(g, id), at = 0;
	uint32_t other;

restart:
	for (other = 0; other < npu_graph_n_tensors(g); other++) {
		if (!placed[other] || life[other].last < life[id].first ||
		    life[other].first > life[id].last)
			continue;
		if (at < offset[other] + padded(g, other) && offset[other] < at + size) {
			at = offset[other] + padded(g, other);
			goto restart;
		}
	}
	return at;
}

npu_status npu_cpu_plan(const npu_graph *g, const uint8_t *want, size_t *offset, size_t *total)
{
	uint32_t n = npu_graph_n_tensors(g);
	struct life *life = lifetimes(g);
	uint8_t *placed = calloc(n, 1);
	npu_status ret = NPU_OK;

	if (!life || !placed) {
		ret = npu_fail(NPU_ERR_NOMEM, "memory plan: no memory for %u tensors", n);
		goto out;
	}
	*total = 0;
	for (uint32_t id = 0; id < n; id++) { /* ids ascend in order of birth */
		offset[id] = 0;
		if (!want[id])
			continue;
		offset[id] = first_fit(g, life, placed, offset, id);
		placed[id] = 1;
		if (offset[id] + padded(g, id) > *total)
			*total = offset[id] + padded(g, id);
	}
out:
	free(placed);
	free(life);
	return ret;
}
