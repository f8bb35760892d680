/* SPDX-License-Identifier: MIT */
/* One graph made ready to run on a device: its program, and memory for what the program does not
 * hold. */
#ifndef LIBNPU_RUNNER_H
#define LIBNPU_RUNNER_H

#include "cpu/cpu.h"
#include "npu/compile.h"
#include "npu/session.h"

/* Where runners of a session put their work; none of it is owned. */
struct runner_env {
	npu_device *dev; /* NULL: everything on the CPU */
	npu_weights *weights;
	npu_kv *kv;
	uint8_t *host_kv; /* dev == NULL: as npu_kv_host() for layer 0, K; then V, layer 1.. */
	struct npu_cpu *cpu;
	int strict;
};

struct runner {
	const struct runner_env *env;
	npu_graph *g;
	npu_program *program; /* NULL on the CPU */
	void **data;	      /* host address by tensor id */
	void *arena;
	size_t arena_bytes;
	uint32_t tokens, logits; /* tensor ids; logits may be NPU_NO_TENSOR */
};

/* Takes over @g, also on failure. */
npu_status runner_new(const struct runner_env *env, npu_graph *g, struct runner **out);
void runner_del(struct runner *r); /* NULL is allowed */

/*
 * Process @n <= M tokens at @pos.  Adds what it took to @stats.  The logits are then at
 * runner_logits(), one row per token of NPU_LOGITS_ALL graphs, else one.
 */
npu_status runner_run(struct runner *r, const uint32_t *tokens, uint32_t n, uint32_t pos,
		      struct npu_session_stats *stats);
const float *runner_logits(const struct runner *r);

#endif
