/* SPDX-License-Identifier: MIT */
/*
 * Between the scheduler of a core and its engines.  The life of a command: `plan` checks every
 * field and says what the command touches and costs, `exec` does it.  Neither looks at other
 * commands.
 */
#ifndef NPUSIM_ENGINE_H
#define NPUSIM_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chip.h"
#include "mem.h"
#include "ne1_cmd.h"
#include "ne1_regs.h"
#include "soc.h"

struct sim_core_hooks;
struct sim_pool;
struct sim_simd;

/* What engines see of their core. */
struct sim_ctx {
	const struct sim_chip *chip;
	struct sim_mem *mem;
	struct sim_pool *pool;
	const struct sim_simd *simd;
	uint8_t *sram;			/* chip->sram_bytes, 64-byte aligned */
	struct ne1_params params;
	unsigned int asid;
	atomic_bool stop; /* long commands look at it and give up; their result is void */
	const struct sim_core_hooks *hooks;	/* NULL: none */
	unsigned int index;		/* of the core, for hooks */
	float *mx_a;			/* SIM_MX_A floats: rows of A as fp32, then SIM_MX_SUMS */
};

#define SIM_MX_A	(1u << 18)
#define SIM_MX_SUMS	(SIM_MX_A / NE1_GROUP)

static inline bool sim_stopped(const struct sim_ctx *ctx)
{
	return atomic_load_explicit(&ctx->stop, memory_order_relaxed);
}

struct sim_fault {
	enum ne1_fault code;
	uint64_t va;			/* MMU */
	enum ne1_mmu_code mmu;
	bool write;
};

/* A set of SRAM bytes: `bytes` at addr + o*stride_o + i*stride_i. */
struct sim_span {
	uint32_t addr, bytes;
	uint32_t inner, stride_i;
	uint32_t outer, stride_o;
	bool write;
};

#define SIM_SPANS_MAX	5

struct sim_plan {
	uint64_t cycles; /* MX, VX: duration; LD, ST: start-up when the engine was idle */
	uint64_t dram_ps;		/* LD, ST: time on the DRAM channel when alone */
	struct sim_work work;
	unsigned int n_spans;
	struct sim_span span[SIM_SPANS_MAX];
};

/* Adds a span of rows [@outer x] @inner to @plan after checking it against the scratchpad and
 * @align (a power of two that address and used strides are multiples of).  NE1_FAULT_NONE or
 * NE1_FAULT_SRAM.
 */
enum ne1_fault sim_plan_span(const struct sim_ctx *ctx, struct sim_plan *plan, struct sim_span span,
			     uint64_t bytes, uint32_t align);

static inline bool sim_all_zero(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint8_t any = 0;

	while (n--)
		any |= *b++;
	return !any;
}

static inline bool sim_bad_param(uint8_t index)
{
	return index >= NE1_VALUES && index != NE1_NO_PARAM;
}

static inline uint32_t sim_elem_size(unsigned int type)
{
	return type == NE1_T_F32 ? 4 : 2;
}

/* True for F32 and F16; otherwise *@fault says why not. */
bool sim_plain_type(unsigned int type, enum ne1_fault *fault);

enum ne1_fault sim_dma_plan(const struct sim_ctx *ctx, const union ne1_cmd *cmd,
			    struct sim_plan *plan);
enum ne1_fault sim_mx_plan(const struct sim_ctx *ctx, const union ne1_cmd *cmd,
			   struct sim_plan *plan);
enum ne1_fault sim_vx_plan(const struct sim_ctx *ctx, const union ne1_cmd *cmd,
			   struct sim_plan *plan);

void sim_dma_exec(struct sim_ctx *ctx, const union ne1_cmd *cmd, struct sim_fault *fault);
void sim_mx_exec(struct sim_ctx *ctx, const union ne1_cmd *cmd, struct sim_fault *fault);
void sim_vx_exec(struct sim_ctx *ctx, const union ne1_cmd *cmd, struct sim_fault *fault);

/* Copies between @buf and @va of the job's address space; false with *@fault filled. */
bool sim_mem_copy(struct sim_ctx *ctx, uint64_t va, void *buf, uint64_t len, bool write,
		  struct sim_fault *fault);

/* True if a byte belongs to both and at least one of them is written. */
bool sim_span_conflict(const struct sim_span *a, const struct sim_span *b);

#endif
