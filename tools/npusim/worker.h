/* SPDX-License-Identifier: MIT */
/*
 * A compute core as the management core sees it: the register block NE1_MC_CORE(c), and the thread
 * that runs the core's jobs.
 */
#ifndef NPUSIM_WORKER_H
#define NPUSIM_WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct sim_chip;
struct sim_core_hooks;
struct sim_mem;
struct sim_soc;
struct sim_worker;

/* From the worker's thread, without locks. */
struct sim_worker_events {
	void (*left_running)(void *ctx);
	void (*mmu_fault)(void *ctx, uint32_t info, uint64_t va);
	void *ctx;
};

/* NULL with errno set.  @threads: for the arithmetic of one command. */
struct sim_worker *sim_worker_new(const struct sim_chip *chip, struct sim_soc *soc,
				  struct sim_mem *mem, unsigned int threads,
				  const struct sim_worker_events *events);
/* Before the first job; see sim_core_set_hooks(). */
void sim_worker_set_hooks(struct sim_worker *worker, const struct sim_core_hooks *hooks,
			  unsigned int index);
void sim_worker_free(struct sim_worker *worker);	/* stops a running job */

/* The rest from the management core's thread only.  @offset: NE1_MC_CORE_*. */
uint32_t sim_worker_read(struct sim_worker *worker, uint32_t offset);
void sim_worker_write(struct sim_worker *worker, uint32_t offset, uint32_t value);

/* True while a job runs in @asid. */
bool sim_worker_uses(struct sim_worker *worker, unsigned int asid);
bool sim_worker_running(struct sim_worker *worker);

/* Stops a running job, waits for its command to end, zeroes SRAM and registers. */
void sim_worker_reset(struct sim_worker *worker);

#endif
