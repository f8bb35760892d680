// SPDX-License-Identifier: MIT
/*
 * Partition: each op by what the engines can do, then runs of equal placement become segments.  A
 * job costs a submit and two crossings, so a run without a matrix product or attention goes to the
 * CPU.
 */
#include "compile/place.h"

#include <stdlib.h>

#include "compile/pack.h"
#include "error.h"
#include "ne1_cmd.h"

#define MM_ROWS_MAX	4096u

static const char *matmul_reason(const struct npu_chip_info *chip, const npu_graph *g,
				 const struct npu_op *op)
{
	struct weight_layout layout;
	const char *why;

	if (!npu_weight_layout(npu_graph_tensor(g, op->in[1]), &layout, &why))
		return why;
	if (!(chip->formats & 1u << layout.type))
		return "the chip has no such weight format";
	return NULL;
}

static const char *attention_reason(const npu_graph *g, const struct npu_attention *a)
{
	if (a->head_dim % 2)
		return "odd head_dim";
	if ((uint64_t)npu_graph_n_tokens(g) * (a->n_heads / a->n_kv_heads) > MM_ROWS_MAX)
		return "more than 4096 query rows per KV head";
	return NULL;
}

static const char *rope_reason(const struct npu_op *op)
{
	return op->rope.head_dim % 2 ? "odd head_dim" : NULL;
}

static const char *kv_reason(const npu_graph *g, const struct npu_op *op)
{
	return npu_graph_tensor(g, op->in[0])->cols % 2 ? "KV rows of an odd number of elements" :
							  NULL;
}

const char *npu_cpu_reason(const struct npu_chip_info *chip, const npu_graph *g,
			   const struct npu_op *op)
{
	switch (op->kind) {
	case NPU_OP_GET_ROWS:
		return "row lookup; the table is stored once, in matrix layout";
	case NPU_OP_MATMUL:
		return matmul_reason(chip, g, op);
	case NPU_OP_ATTENTION:
		return attention_reason(g, &op->attention);
	case NPU_OP_ROPE:
		return rope_reason(op);
	case NPU_OP_KV_APPEND:
		return kv_reason(g, op);
	case NPU_OP_RMS_NORM:
	case NPU_OP_SILU:
	case NPU_OP_MUL:
	case NPU_OP_ADD:
	case NPU_OP_SWIGLU:
	case NPU_OP_CAST:
	case NPU_OP_ROW_SELECT:
		return NULL;
	default:
		return "unknown to the compiler";
	}
}

static void place_ops(const struct npu_chip_info *chip, const npu_graph *g, uint64_t cpu_ops,
		      struct npu_op_placement *ops)
{
	const struct npu_op *op;
	uint32_t i;

	for (i = 0; i < npu_graph_n_ops(g); i++) {
		op = npu_graph_op(g, i);
		ops[i].reason = npu_cpu_reason(chip, g, op);
		ops[i].planned = op->kind == NPU_OP_GET_ROWS;
		if (!ops[i].reason && cpu_ops & 1ull << op->kind)
			ops[i].reason = "by option";
		ops[i].on_npu = !ops[i].reason;
	}
}

static bool is_heavy(const npu_graph *g, uint32_t i)
{
	const struct npu_op *op = npu_graph_op(g, i);

	return op->kind == NPU_OP_MATMUL || op->kind == NPU_OP_ATTENTION;
}

/* End of the run of equally placed ops that starts at @first. */
static uint32_t run_end(const npu_graph *g, const struct npu_op_placement *ops, uint32_t first,
			bool *heavy)
{
	uint32_t i, n = npu_graph_n_ops(g);

	*heavy = false;
	for (i = first; i < n && ops[i].on_npu == ops[first].on_npu; i++)
		*heavy |= is_heavy(g, i);
	return i;
}

static void drop_islands(const npu_graph *g, struct npu_op_placement *ops)
{
	uint32_t first, end, n = npu_graph_n_ops(g);
	bool heavy;

	for (first = 0; first < n; first = end) {
		end = run_end(g, ops, first, &heavy);
		if (!ops[first].on_npu || heavy)
			continue;
		for (; first < end; first++) {
			ops[first].on_npu = 0;
			ops[first].reason = "too little work for a job of its own";
		}
	}
}

npu_status npu_place(const struct npu_chip_info *chip, const npu_graph *g, uint64_t cpu_ops,
		     struct placement *out)
{
	uint32_t first, end, n = npu_graph_n_ops(g);
	bool heavy;

	out->n_segments = 0;
	out->ops = calloc(n + 1, sizeof(*out->ops));
	out->segments = calloc(n + 1, sizeof(*out->segments));
	if (!out->ops || !out->segments) {
		npu_placement_fini(out);
		return npu_fail(NPU_ERR_NOMEM, "placement: no memory for %u ops", n);
	}
	place_ops(chip, g, cpu_ops, out->ops);
	drop_islands(g, out->ops);
	for (first = 0; first < n; first = end) {
		end = run_end(g, out->ops, first, &heavy);
		out->segments[out->n_segments++] =
			(struct npu_segment){ out->ops[first].on_npu, first, end - first };
	}
	return NPU_OK;
}

void npu_placement_fini(struct placement *p)
{
	free(p->ops);
	free(p->segments);
	p->ops = NULL;
	p->segments = NULL;
	p->n_segments = 0;
}

void npu_placement_dump(const struct placement *p, const npu_graph *g, FILE *f)
{
	const struct npu_segment *s;
	uint32_t i, op;

	for (i = 0; i < p->n_segments; i++) {
		s = &p->segments[i];
		fprintf(f, "segment %u on the %s: ops %u..%u\n", i, s->on_npu ? "NPU" : "CPU",
			s->first_op, s->first_op + s->n_ops - 1);
		for (op = s->first_op; op < s->first_op + s->n_ops && !s->on_npu; op++)
			fprintf(f, "  op %u %s: %s\n", op, npu_op_name(npu_graph_op(g, op)->kind),
				p->ops[op].reason);
	}
}
