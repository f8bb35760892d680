// SPDX-License-Identifier: MIT
/* Dispatch of ops, and those that work row by row. */
#include "exec.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

npu_status npu_cpu_new(uint32_t n_threads, struct npu_cpu **out)
{
	struct npu_cpu *cpu;
	npu_status ret;

	*out = NULL;
	if (n_threads > NPU_CPU_MAX_THREADS)
		return npu_fail(NPU_ERR_LIMIT, "CPU executor: %u threads, limit %u", n_threads,
				NPU_CPU_MAX_THREADS);
	cpu = calloc(1, sizeof(*cpu));
	if (!cpu)
		return npu_fail(NPU_ERR_NOMEM, "CPU executor: out of memory");
	cpu->k = npu_cpu_kernels();
	ret = cpu_pool_new(n_threads ? n_threads : 1, &cpu->pool);
	if (ret) {
		free(cpu);
		return ret;
	}
	*out = cpu;
	return NPU_OK;
}

void npu_cpu_del(struct npu_cpu *cpu)
{
	if (!cpu)
		return;
	cpu_pool_del(cpu->pool);
	free(cpu->shared);
	free(cpu->local);
	free(cpu);
}

uint64_t npu_cpu_scratch_bytes(const struct npu_cpu *cpu)
{
	return (cpu->shared_floats + cpu->local_floats * cpu_pool_threads(cpu->pool)) *
	       sizeof(float);
}

/* Row ops hold two inputs and the output of a row in F32. */
static struct cpu_need row_need(const npu_graph *g, const struct npu_op *op)
{
	return (struct cpu_need) { .local = 3 * (size_t)npu_graph_tensor(g, op->out)->cols };
}

static struct cpu_need op_need(const npu_graph *g, const struct npu_op *op)
{
	switch (op->kind) {
	case NPU_OP_MATMUL: return cpu_matmul_need(g, op);
	case NPU_OP_ATTENTION: return cpu_attention_need(g, op);
	default: return row_need(g, op);
	}
}

static struct cpu_need graph_need(const npu_graph *g)
{
	struct cpu_need need = { 0 };

	for (uint32_t i = 0; i < npu_graph_n_ops(g); i++) {
		struct cpu_need n = op_need(g, npu_graph_op(g, i));

		need.shared = n.shared > need.shared ? n.shared : need.shared;
		need.local = n.local > need.local ? n.local : need.local;
	}
	need.local = (need.local + 15) & ~(size_t)15; /* threads do not share cache lines */
	return need;
}

static npu_status grow(float **mem, size_t *have, size_t want, size_t copies)
{
	float *p;

	if (want <= *have)
		return NPU_OK;
	p = aligned_alloc(64, (want * copies * sizeof(float) + 63) & ~(size_t)63);
	if (!p)
		return npu_fail(NPU_ERR_NOMEM, "CPU executor: no memory for %zu bytes of scratch",
				want * copies * sizeof(float));
	free(*mem);
	*mem = p;
	*have = want;
	return NPU_OK;
}

npu_status npu_cpu_reserve(struct npu_cpu *cpu, const npu_graph *g)
{
	struct cpu_need need = graph_need(g);
	npu_status ret = grow(&cpu->shared, &cpu->shared_floats, need.shared, 1);

	if (ret)
		return ret;
	return grow(&cpu->local, &cpu->local_floats, need.local, cpu_pool_threads(cpu->pool));
}

/* Row @row of @t in F32: in place, or widened to @scratch. */
static const float *row_in(const struct cpu_run *r, const struct npu_tensor *t, uint32_t row,
			   float *scratch)
{
	const char *data = run_data(r, t);

	data += row * npu_dtype_row_bytes(t->dtype, t->cols);
	if (t->dtype == NPU_DTYPE_F32)
		return (const float *)data;
	r->cpu->k->widen(scratch, (const uint16_t *)data, t->cols);
	return scratch;
}

/* The heads of token @row. */
static void rope_row(const struct cpu_run *r, float *out, const float *x, uint32_t row)
{
	const struct npu_rope *a = &r->op->rope;
	const float *table = run_in(r, 1)->data;

	table += (size_t)(r->pos + row) * a->head_dim;
	for (uint32_t h = 0; h < a->n_heads; h++)
		r->cpu->k->rope(out + h * a->head_dim, x + h * a->head_dim, table, a->head_dim,
				a->neox);
}

static void compute_row(const struct cpu_run *r, float *out, const float *x, const float *y,
			uint32_t row)
{
	const struct cpu_kernels *k = r->cpu->k;
	uint32_t n = run_out(r)->cols;

	switch (r->op->kind) {
	case NPU_OP_RMS_NORM: k->rms_norm(out, x, y, n, r->op->eps); break;
	case NPU_OP_ROPE: rope_row(r, out, x, row); break;
	case NPU_OP_SILU: k->silu(out, x, n); break;
	case NPU_OP_MUL: k->mul(out, x, y, n); break;
	case NPU_OP_ADD: k->add(out, x, y, n); break;
	case NPU_OP_SWIGLU: k->swiglu(out, x, y, n); break;
	default: memcpy(out, x, n * sizeof(float)); break; /* CAST */
	}
}

static void row_item(void *arg, uint32_t row, uint32_t thread)
{
	const struct cpu_run *r = arg;
	const struct npu_tensor *o = run_out(r);
	float *scratch = run_local(r, thread);
	char *dst = run_data(r, o);
	const float *x = row_in(r, run_in(r, 0), row, scratch);
	const float *y = NULL;
	float *out;

	if (r->op->kind == NPU_OP_RMS_NORM)
		y = run_in(r, 1)->data;
	else if (r->op->n_in > 1 && r->op->kind != NPU_OP_ROPE)
		y = row_in(r, run_in(r, 1), row, scratch + o->cols);
	dst += row * npu_dtype_row_bytes(o->dtype, o->cols);
	out = o->dtype == NPU_DTYPE_F32 ? (float *)dst : scratch + 2 * (size_t)o->cols;
	compute_row(r, out, x, y, row);
	if (o->dtype == NPU_DTYPE_F16)
		r->cpu->k->narrow((uint16_t *)dst, out, o->cols);
}

static npu_status get_rows(const struct cpu_run *r)
{
	const struct npu_tensor *ids = run_in(r, 0), *table = run_in(r, 1), *o = run_out(r);
	const uint32_t *id = run_data(r, ids);
	const char *rows = table->data;
	float *out = run_data(r, o);
	npu_status ret;

	for (uint32_t i = 0; i < run_rows(r, ids); i++, out += o->cols) {
		if (id[i] >= table->rows)
			return npu_fail(NPU_ERR_INVALID, "token %u: id %u, '%s' has %u rows", i,
					id[i], table->name, table->rows);
		ret = npu_dequant_row(table->weight->type,
				      rows + id[i] * npu_dtype_row_bytes(table->dtype, table->cols),
				      out, table->cols);
		if (ret)
			return ret;
	}
	return NPU_OK;
}

static npu_status kv_append(const struct cpu_run *r)
{
	const struct npu_tensor *x = run_in(r, 0), *cache = run_out(r);
	size_t row = npu_dtype_row_bytes(cache->dtype, cache->cols);

	memcpy((char *)run_data(r, cache) + r->pos * row, run_data(r, x), r->n_valid * row);
	return NPU_OK;
}

static npu_status row_select(const struct cpu_run *r)
{
	const struct npu_tensor *x = run_in(r, 0);
	size_t row = npu_dtype_row_bytes(x->dtype, x->cols);

	memcpy(run_data(r, run_out(r)), (char *)run_data(r, x) + (run_rows(r, x) - 1) * row, row);
	return NPU_OK;
}

/* Tables and caches have a row for every position. */
static npu_status check_positions(const struct cpu_run *r)
{
	for (uint32_t i = 0; i < r->op->n_in; i++) {
		const struct npu_tensor *t = run_in(r, i);

		if (t->kind != NPU_TENSOR_KV && !(r->op->kind == NPU_OP_ROPE && i == 1))
			continue;
		if (r->pos + (uint64_t)r->n_valid > t->rows)
			return npu_fail(NPU_ERR_LIMIT, "%s: positions %u..%llu, '%s' has %u",
					npu_op_name(r->op->kind), r->pos,
					(unsigned long long)r->pos + r->n_valid - 1, t->name,
					t->rows);
	}
	return NPU_OK;
}

static npu_status run_op(struct cpu_run *r)
{
	npu_status ret = check_positions(r);

	if (ret)
		return ret;
	switch (r->op->kind) {
	case NPU_OP_GET_ROWS: return get_rows(r);
	case NPU_OP_KV_APPEND: return kv_append(r);
	case NPU_OP_ROW_SELECT: return row_select(r);
	case NPU_OP_MATMUL: cpu_matmul(r); return NPU_OK;
	case NPU_OP_ATTENTION: cpu_attention(r); return NPU_OK;
	default: cpu_pool_run(r->cpu->pool, row_item, r, run_rows(r, run_out(r))); return NPU_OK;
	}
}

npu_status npu_cpu_run(struct npu_cpu *cpu, const npu_graph *g, uint32_t first, uint32_t n_ops,
		       void *const *data, uint32_t pos, uint32_t n_valid)
{
	struct cpu_run r = { .cpu = cpu, .g = g, .data = data, .pos = pos, .n_valid = n_valid };
	struct cpu_need need = graph_need(g);
	npu_status ret;

	if (need.shared > cpu->shared_floats || need.local > cpu->local_floats)
		return npu_fail(NPU_ERR_INVALID, "CPU executor: graph of %u ops was not reserved",
				npu_graph_n_ops(g));
	if (n_valid == 0 || n_valid > npu_graph_n_tokens(g))
		return npu_fail(NPU_ERR_INVALID, "CPU executor: %u tokens for a graph of %u",
				n_valid, npu_graph_n_tokens(g));
	if ((uint64_t)first + n_ops > npu_graph_n_ops(g))
		return npu_fail(NPU_ERR_INVALID, "CPU executor: ops %u..%llu of %u", first,
				(unsigned long long)first + n_ops - 1, npu_graph_n_ops(g));
	for (uint32_t i = first; i < first + n_ops; i++) {
		r.op = npu_graph_op(g, i);
		ret = run_op(&r);
		if (ret)
			return ret;
	}
	return NPU_OK;
}
