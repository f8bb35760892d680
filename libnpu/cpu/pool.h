/* SPDX-License-Identifier: MIT */
/* A few threads that share the items of one loop. */
#ifndef LIBNPU_CPU_POOL_H
#define LIBNPU_CPU_POOL_H

#include "npu/status.h"

#include <stdint.h>

struct cpu_pool;

/* Called once per item; @thread < the number of threads tells workers apart. */
typedef void (*cpu_pool_fn)(void *arg, uint32_t item, uint32_t thread);

npu_status cpu_pool_new(uint32_t n_threads, struct cpu_pool **out);
void cpu_pool_del(struct cpu_pool *pool); /* NULL is allowed */
uint32_t cpu_pool_threads(const struct cpu_pool *pool);

/* Returns when all items are done.  The calling thread takes part as thread 0. */
void cpu_pool_run(struct cpu_pool *pool, cpu_pool_fn fn, void *arg, uint32_t n_items);

#endif
