/* SPDX-License-Identifier: MIT */
/* What the ops of the CPU executor share. */
#ifndef LIBNPU_CPU_EXEC_H
#define LIBNPU_CPU_EXEC_H

#include "cpu.h"
#include "kernels.h"
#include "pool.h"

struct npu_cpu {
	const struct cpu_kernels *k;
	struct cpu_pool *pool;
	float *shared; /* one op's common scratch */
	size_t shared_floats;
	float *local; /* local_floats for each thread */
	size_t local_floats;
};

/* One op while it runs. */
struct cpu_run {
	struct npu_cpu *cpu;
	const npu_graph *g;
	const struct npu_op *op;
	void *const *data;
	uint32_t pos, n_valid;
};

static inline const struct npu_tensor *run_in(const struct cpu_run *r, uint32_t i)
{
	return npu_graph_tensor(r->g, r->op->in[i]);
}

static inline const struct npu_tensor *run_out(const struct cpu_run *r)
{
	return npu_graph_tensor(r->g, r->op->out);
}

/* Host address of a tensor's data. */
static inline void *run_data(const struct cpu_run *r, const struct npu_tensor *t)
{
	return t->data ? (void *)t->data : r->data[t->id];
}

/* Rows of an activation that count: one per valid token, or the one row that ROW_SELECT left. */
static inline uint32_t run_rows(const struct cpu_run *r, const struct npu_tensor *t)
{
	return t->rows == npu_graph_n_tokens(r->g) ? r->n_valid : t->rows;
}

static inline float *run_local(const struct cpu_run *r, uint32_t thread)
{
	return r->cpu->local + thread * r->cpu->local_floats;
}

/* Scratch in floats: shared by the op's threads, and per thread. */
struct cpu_need {
	size_t shared, local;
};

struct cpu_need cpu_matmul_need(const npu_graph *g, const struct npu_op *op);
void cpu_matmul(struct cpu_run *r);

struct cpu_need cpu_attention_need(const npu_graph *g, const struct npu_op *op);
void cpu_attention(struct cpu_run *r);

#endif
