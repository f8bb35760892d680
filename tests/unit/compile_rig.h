/* SPDX-License-Identifier: MIT */
/*
 * A model on the in-process device, with the hazard checker on, next to the CPU executor.  Every
 * call does the same on both and compares bits.  Failures are cmocka failures.
 */
#ifndef TESTS_UNIT_COMPILE_RIG_H
#define TESTS_UNIT_COMPILE_RIG_H

#include "cpu/cpu.h"
#include "npu/compile.h"
#include "tiny_model.h"

struct rig {
	npu_device *dev;
	npu_gguf *model;
	uint8_t *copy;
	uint32_t n_ctx, n_vocab, seed;
	npu_graph *full;	/* logits of all tokens; what weights and cache are made for */
	npu_weights *weights;
	npu_kv *kv;
	struct npu_cpu *cpu;
	uint8_t *cpu_kv;	/* in order of layers, K before V */
	uint32_t pos;
	uint32_t steps;		/* every other one is put aside at all its YIELDs */
	uint32_t put_aside;	/* how often that was */
};

/* Device "sim" with the profile "edge" but @sram_bytes of SRAM and so slow a memory that small
 * models have YIELDs.
 */
npu_device *rig_device(uint32_t sram_bytes);

void rig_open(struct rig *r, const struct tiny_spec *spec, uint32_t n_ctx, uint32_t sram_bytes);
void rig_close(struct rig *r);

/* One graph, compiled, with memory for both sides. */
struct rig_program {
	struct rig *rig;
	npu_graph *g;
	npu_program *p;
	void **npu, **cpu;	/* host addresses of tensors */
	void **owned;
};

npu_status rig_compile(struct rig *r, uint32_t m, enum npu_logits logits, uint64_t cpu_ops,
		       struct rig_program *out);
void rig_program_free(struct rig_program *p);

/* @n random tokens at the next positions: logits and cache rows must be equal. */
void rig_step(struct rig_program *p, uint32_t n);

#define assert_ok(call) assert_string_equal((call) ? npu_error_message() : "", "")

#endif
