/* SPDX-License-Identifier: MIT */
/* Host threads that share the arithmetic of one command. */
#ifndef NPUSIM_POOL_H
#define NPUSIM_POOL_H

struct sim_pool;

#define SIM_POOL_ITEMS_MAX	((1u << 24) - 1024)

/* @threads counts the caller; workers start on first use.  NULL when memory is short. */
struct sim_pool *sim_pool_new(unsigned int threads);
void sim_pool_free(struct sim_pool *pool);

/* Calls @fn(@arg, i) once for each i < @n (<= SIM_POOL_ITEMS_MAX), in any order, also on other
 * threads; returns when all are done.  One caller at a time.
 */
void sim_pool_run(struct sim_pool *pool, void (*fn)(void *arg, unsigned int i), void *arg,
		  unsigned int n);
unsigned int sim_pool_threads(const struct sim_pool *pool);

#endif
