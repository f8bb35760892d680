// SPDX-License-Identifier: MIT
#include "runner.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

/* An op that is on the CPU unplanned, NPU_NO_OP if none.  A large op drags small neighbours along,
 * so that one names the cause.
 */
static uint32_t unplanned_op(const struct runner *r)
{
	uint32_t found = NPU_NO_OP;

	for (uint32_t i = 0; i < npu_graph_n_ops(r->g); i++) {
		const struct npu_op_placement *p = npu_program_placement(r->program, i);
		enum npu_op_kind kind = npu_graph_op(r->g, i)->kind;

		if (p->on_npu || p->planned)
			continue;
		if (kind == NPU_OP_MATMUL || kind == NPU_OP_ATTENTION)
			return i;
		if (found == NPU_NO_OP)
			found = i;
	}
	return found;
}

/* In strict mode an op on the CPU must be there by design. */
static npu_status check_strict(const struct runner *r)
{
	uint32_t i = unplanned_op(r);
	const struct npu_op *op = npu_graph_op(r->g, i);

	if (!op)
		return NPU_OK;
	return npu_fail(NPU_ERR_STRICT, "strict: %s '%s' would run on the CPU: %s",
			npu_op_name(op->kind), npu_graph_tensor(r->g, op->out)->name,
			npu_program_placement(r->program, i)->reason);
}

/* Without a program the whole graph is one CPU segment. */
static uint32_t n_segments(const struct runner *r)
{
	return r->program ? npu_program_n_segments(r->program) : 1;
}

static struct npu_segment segment(const struct runner *r, uint32_t i)
{
	if (r->program)
		return *npu_program_segment(r->program, i);
	return (struct npu_segment) { .n_ops = npu_graph_n_ops(r->g) };
}

/* want[id]: CPU segments touch the tensor and only this runner can hold it. */
static void find_own_tensors(const struct runner *r, uint8_t *want)
{
	for (uint32_t s = 0; s < n_segments(r); s++) {
		struct npu_segment seg = segment(r, s);

		if (seg.on_npu)
			continue;
		for (uint32_t i = seg.first_op; i < seg.first_op + seg.n_ops; i++) {
			const struct npu_op *op = npu_graph_op(r->g, i);

			want[op->out] = 1;
			for (uint32_t j = 0; j < op->n_in; j++)
				want[op->in[j]] = 1;
		}
	}
	for (uint32_t id = 0; id < npu_graph_n_tensors(r->g); id++)
		if (r->data[id] || npu_graph_tensor(r->g, id)->data)
			want[id] = 0;
}

/* Addresses that others provide: the program's and the cache's. */
static void find_shared_tensors(struct runner *r)
{
	uint8_t *kv = r->env->host_kv;

	for (uint32_t id = 0; id < npu_graph_n_tensors(r->g); id++) {
		const struct npu_tensor *t = npu_graph_tensor(r->g, id);

		if (t->kind == NPU_TENSOR_KV)
			r->data[id] = r->env->dev
					      ? npu_kv_host(r->env->kv, t->layer, t->is_v)
					      : kv + (2 * (size_t)t->layer + t->is_v) * t->bytes;
		else if (r->program && !t->data)
			r->data[id] = npu_program_tensor(r->program, id, NULL);
	}
}

static npu_status place_own_tensors(struct runner *r)
{
	uint32_t n = npu_graph_n_tensors(r->g);
	size_t *offset = calloc(n, sizeof(*offset));
	uint8_t *want = calloc(n, 1);
	npu_status ret;

	if (!offset || !want) {
		ret = npu_fail(NPU_ERR_NOMEM, "session: no memory for the addresses of %u tensors",
			       n);
		goto out;
	}
	find_own_tensors(r, want);
	ret = npu_cpu_plan(r->g, want, offset, &r->arena_bytes);
	if (ret)
		goto out;
	if (r->arena_bytes) {
		r->arena = aligned_alloc(64, r->arena_bytes);
		if (!r->arena) {
			ret = npu_fail(NPU_ERR_NOMEM,
				       "session: no memory for %zu bytes of activations",
				       r->arena_bytes);
			goto out;
		}
	}
	for (uint32_t id = 0; id < n; id++)
		if (want[id])
			r->data[id] = (char *)r->arena + offset[id];
out:
	free(want);
	free(offset);
	return ret;
}

static npu_status setup(struct runner *r)
{
	const struct runner_env *env = r->env;
	npu_status ret;

	if (env->dev) {
		ret = npu_program_new(env->dev, env->weights, env->kv, r->g, NULL, &r->program);
		if (ret)
			return ret;
		if (env->strict) {
			ret = check_strict(r);
			if (ret)
				return ret;
		}
	}
	r->data = calloc(npu_graph_n_tensors(r->g), sizeof(*r->data));
	if (!r->data)
		return npu_fail(NPU_ERR_NOMEM, "session: out of memory");
	find_shared_tensors(r);
	ret = place_own_tensors(r);
	if (ret)
		return ret;
	return npu_cpu_reserve(env->cpu, r->g);
}

npu_status runner_new(const struct runner_env *env, npu_graph *g, struct runner **out)
{
	struct runner *r = calloc(1, sizeof(*r));
	npu_status ret;

	*out = NULL;
	if (!r) {
		npu_graph_del(g);
		return npu_fail(NPU_ERR_NOMEM, "session: out of memory");
	}
	r->env = env;
	r->g = g;
	r->tokens = npu_graph_find(g, "tokens");
	r->logits = npu_graph_find(g, "logits");
	ret = setup(r);
	if (ret) {
		runner_del(r);
		return ret;
	}
	*out = r;
	return NPU_OK;
}

void runner_del(struct runner *r)
{
	if (!r)
		return;
	npu_program_del(r->program);
	npu_graph_del(r->g);
	free(r->arena);
	free(r->data);
	free(r);
}

static void add_stats(struct npu_session_stats *stats, const struct npu_run_stats *run)
{
	stats->device_ns += run->device_ns;
	stats->dram_read_bytes += run->dram_rd_bytes;
	stats->dram_write_bytes += run->dram_wr_bytes;
	stats->macs += run->macs;
	stats->energy_nj += run->energy_nj;
	stats->temperature_c = run->temp_die_mc / 1000.0;
	stats->jobs++;
}

npu_status runner_run(struct runner *r, const uint32_t *tokens, uint32_t n, uint32_t pos,
		      struct npu_session_stats *stats)
{
	memcpy(r->data[r->tokens], tokens, n * sizeof(*tokens));
	stats->host_copied_bytes += n * sizeof(*tokens);
	for (uint32_t i = 0; i < n_segments(r); i++) {
		struct npu_segment seg = segment(r, i);
		struct npu_run_stats run = { 0 };
		npu_status ret;

		if (!seg.on_npu) {
			ret = npu_cpu_run(r->env->cpu, r->g, seg.first_op, seg.n_ops, r->data, pos,
					  n);
			if (ret)
				return ret;
			continue;
		}
		ret = npu_program_run(r->program, i, pos, n, &run);
		if (ret)
			return ret;
		add_stats(stats, &run);
	}
	return NPU_OK;
}

const float *runner_logits(const struct runner *r)
{
	return r->data[r->logits];
}
