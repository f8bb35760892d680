/* SPDX-License-Identifier: MIT */
/*
 * The CPU executor: runs ops of a graph on host tensors, bit-true to driver/hw/ne1.md.
 *
 * An executor belongs to one thread at a time (its worker threads are its own).  Nothing is
 * allocated while ops run; npu_cpu_reserve() does that once per graph.
 */
#ifndef LIBNPU_CPU_H
#define LIBNPU_CPU_H

#include "npu/graph.h"

struct npu_cpu;

#define NPU_CPU_MAX_THREADS 256

/* @n_threads 0 or 1: the calling thread only. */
npu_status npu_cpu_new(uint32_t n_threads, struct npu_cpu **out);
void npu_cpu_del(struct npu_cpu *cpu); /* NULL is allowed */

/* Make the scratch memory large enough for the ops of @g. */
npu_status npu_cpu_reserve(struct npu_cpu *cpu, const npu_graph *g);
uint64_t npu_cpu_scratch_bytes(const struct npu_cpu *cpu);

/*
 * Run ops first..first+n_ops-1 for tokens at positions pos..pos+n_valid-1.  @data[id] is the host
 * address of tensor id, dense rows; weights and constants are found in the graph.  A graph that was
 * not reserved is NPU_ERR_INVALID, so is a token id beyond the embedding; positions beyond a cache
 * are NPU_ERR_LIMIT.
 */
npu_status npu_cpu_run(struct npu_cpu *cpu, const npu_graph *g, uint32_t first, uint32_t n_ops,
		       void *const *data, uint32_t pos, uint32_t n_valid);

/*
 * Lay out tensors of @g with want[id] != 0 in one arena; those whose lifetimes do not overlap share
 * bytes.
 * @offset[id] gets multiples of 64, @total the size of the arena.  INPUT and OUTPUT tensors live
 * all the time.
 */
npu_status npu_cpu_plan(const npu_graph *g, const uint8_t *want, size_t *offset, size_t *total);

#endif
