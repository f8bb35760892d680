/* SPDX-License-Identifier: MIT */
/**
 * npu/compile.h - from a graph to command streams of an NPU.
 *
 * Three objects: npu_weights (a model's matrices and tables in device memory, in the layout that
 * the matrix engine reads), npu_kv (the KV cache of one sequence) and npu_program (one graph
 * compiled for them).  Programs of one model share weights and cache; each keeps its own
 * activations.
 *
 * A program is a list of segments in execution order.  A segment is a range of the graph's ops that
 * runs either as one job on the NPU or, op by op, on the CPU by the caller; tensors that cross the
 * border lie in memory that both see.
 *
 * Thread safety: weights may be used by several threads once built; a program and a KV cache belong
 * to one thread at a time.  Order of deletion: programs, then weights and cache, then the device; a
 * graph must outlive its programs, the model file is not needed once the weights are built.
 */
#ifndef NPU_COMPILE_H
#define NPU_COMPILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "npu/device.h"
#include "npu/graph.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct npu_weights npu_weights;
typedef struct npu_kv npu_kv;
typedef struct npu_program npu_program;

/* ---- weights ----------------------------------------------------------------------------- */

/**
 * Pack every WEIGHT that a MATMUL of @g reads on the NPU and every CONST, each once, into one
 * buffer. Q4_0 and Q4_1 become U4M, Q8_0 I8, BF16 F32; F16 and F32 keep their type.  Nothing is
 * rounded.
 * @g is the graph with the most weights (logits included); programs of other graphs of the model
 * find theirs by name.
 */
NPU_API npu_status npu_weights_new(npu_device *dev, const npu_graph *g, npu_weights **out);
/** NULL is allowed. */
NPU_API void npu_weights_del(npu_weights *w);
/** Device memory in bytes. */
NPU_API uint64_t npu_weights_bytes(const npu_weights *w);

/* ---- KV cache ---------------------------------------------------------------------------- */

/**
 * Zeroed cache for the KV tensors of @g: per layer K, then V, each F16 [n_ctx rounded up to a
 * tile][cols]. Programs of all graphs with the same n_ctx and layers may use it.
 */
NPU_API npu_status npu_kv_new(npu_device *dev, const npu_graph *g, npu_kv **out);
/** NULL is allowed. */
NPU_API void npu_kv_del(npu_kv *kv);
NPU_API uint64_t npu_kv_bytes(const npu_kv *kv);
/** Host address of the rows of K (@is_v 0) or V of @layer, for ops that run on the CPU; NULL if
 * none.
 */
NPU_API void *npu_kv_host(const npu_kv *kv, uint32_t layer, uint32_t is_v);

/* ---- programs ---------------------------------------------------------------------------- */

struct npu_compile_options {
	uint32_t struct_size;		/* sizeof(struct npu_compile_options) */
	uint64_t cpu_ops;		/* bit n: ops of enum npu_op_kind n go to the CPU */
	/* Stages that print to standard error, comma separated: graph, partition, plan, stream, all;
	 * NULL: $NPU_DUMP.
	 */
	const char *dump;
	uint64_t timeout_ns;		/* of a run, 0: 60 s */
};

/** @opt may be NULL.  NPU_ERR_LIMIT names tensor or op, need and limit if it does not fit the SRAM.
 */
NPU_API npu_status npu_program_new(npu_device *dev, npu_weights *w, npu_kv *kv, const npu_graph *g,
				   const struct npu_compile_options *opt, npu_program **out);
/** NULL is allowed. */
NPU_API void npu_program_del(npu_program *p);

/**
 * Largest number of tokens M <= @limit for which a graph like @g (M scaled, all else equal) can be
 * compiled for @chip with loads overlapping work everywhere, or, if there is none, at all; 0 if not
 * even one token fits.  Programs of somewhat more tokens may still compile, but gain nothing.  @g
 * may have any M.
 */
NPU_API uint32_t npu_compile_max_tokens(const struct npu_chip_info *chip, const npu_graph *g,
					uint32_t limit);

struct npu_segment {
	int on_npu;
	uint32_t first_op, n_ops;
};

NPU_API uint32_t npu_program_n_segments(const npu_program *p);
NPU_API const struct npu_segment *npu_program_segment(const npu_program *p, uint32_t i);

/** Why an op is where it is. */
struct npu_op_placement {
	int on_npu;
	int planned; /* on the CPU by design: no fallback in the sense of strict mode */
	const char *reason;		/* CPU: why; NPU: NULL.  Lives as long as the program. */
};

NPU_API const struct npu_op_placement *npu_program_placement(const npu_program *p, uint32_t op);

/**
 * Host address of a tensor that crosses a segment border, or of an INPUT or OUTPUT; rows are dense.
 * NULL for tensors that never leave the SRAM and for tensors that only CPU segments touch (the
 * caller keeps those).  @bytes may be NULL.
 */
NPU_API void *npu_program_tensor(const npu_program *p, uint32_t tensor, size_t *bytes);

/** What one run of a segment took; from the device's profile, modelled or measured by the device.
 */
struct npu_run_stats {
	uint64_t device_ns;
	uint64_t cycles, ld_busy, st_busy, mx_busy, vx_busy;
	uint64_t dram_rd_bytes, dram_wr_bytes;
	uint64_t macs;
	uint64_t commands, skipped;
	uint64_t energy_nj;
	int32_t temp_die_mc;
	uint32_t freq_khz;
};

/**
 * Run NPU segment @segment for tokens at positions @pos..@pos+@n_valid-1 and wait.  @stats may be
 * NULL. NPU_ERR_LIMIT: pos + n_valid beyond the cache, or n_valid beyond M.  After NPU_ERR_FAULT,
 * TIMEOUT or DEVICE_LOST the contents of outputs and of the cache rows being written are
 * unspecified; the program makes itself a new queue on the next run.
 */
NPU_API npu_status npu_program_run(npu_program *p, uint32_t segment, uint32_t pos, uint32_t n_valid,
				   struct npu_run_stats *stats);

/** Sizes and plan of a program, for reports. */
struct npu_program_info {
	uint32_t n_commands;		/* all NPU segments */
	uint64_t stream_bytes, io_bytes, scratch_bytes; /* device memory */
	uint64_t weight_bytes;		/* read per run */
	uint32_t sram_bytes;		/* of the chip */
	uint32_t sram_acts, sram_ring;	/* most used by activations; weight buffers */
	uint32_t ring_slots;
};

NPU_API npu_status npu_program_info(const npu_program *p, struct npu_program_info *out);

/** Disassemble the stream of an NPU segment, one line per command. */
NPU_API void npu_program_dump(const npu_program *p, uint32_t segment, FILE *f);

#ifdef __cplusplus
}
#endif
#endif
