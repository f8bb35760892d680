/* SPDX-License-Identifier: MIT */
/* Compute cores of the model: run command streams bit-true (ne1.md section 5 and 6) in modelled time. */
#ifndef NPUSIM_CORE_H
#define NPUSIM_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "mem.h"
#include "ne1_cmd.h"
#include "ne1_regs.h"

struct sim_chip;	/* chip.h: the chip profile */
struct sim_soc;		/* soc.h: clock, DRAM, energy and heat shared by all cores of a device */
struct sim_core;
struct sim_core_hooks;	/* hooks.h */

struct sim_job {
	unsigned int asid;
	uint64_t stream_va;
	uint32_t stream_size;
	uint64_t param_va;
	uint64_t profile_va;	/* 0: none */
	bool continued;		/* it yielded earlier: begin at `pos`, add to the profile in memory */
	uint32_t pos;
};

struct sim_result {
	unsigned int state;	/* NE1_CORE_DONE, NE1_CORE_FAULT or NE1_CORE_YIELDED */
	enum ne1_fault fault;
	uint32_t fault_cmd;
	uint64_t fault_va;
	uint32_t fault_info;	/* as NE1_REG_MMU_FAULT without VALID for MMU faults; unit << 12 otherwise */
	uint32_t pos;		/* YIELDED: the command after the YIELD */
	uint64_t yield_gap_ns;	/* longest time that the front end took from one YIELD (or start) to the next (or end) */
	/* Since sim_core_run(), so without what was done before a job was put aside; also filled when
	 * profile_va is 0 or the job failed.
	 */
	struct ne1_profile profile;
	uint64_t count[NE1_COUNTERS];	/* likewise */
};

/* @threads: host threads that share the arithmetic of one command, >= 1 (results do not depend on it).
 * NULL when memory is short.  The core keeps references to @chip, @soc and @mem.
 */
struct sim_core *sim_core_new(const struct sim_chip *chip, struct sim_soc *soc, struct sim_mem *mem,
			      unsigned int threads);
void sim_core_free(struct sim_core *core);
/* Not while a job runs.  @hooks is kept, @index is what they are told. */
void sim_core_set_hooks(struct sim_core *core, const struct sim_core_hooks *hooks, unsigned int index);

/* Runs @job to its end, a fault or a granted yield.  One caller at a time. */
void sim_core_run(struct sim_core *core, const struct sim_job *job, struct sim_result *result);
/* Continues a yielded job, if no other ran since: SRAM, semaphores and counters are as they were. */
void sim_core_resume(struct sim_core *core, struct sim_result *result);

/* From any thread: end the running job with NE1_FAULT_STOPPED at the next command.  A stop holds, also for a job that
 * is only about to run, until it is cleared: do that where a job becomes one that others may want to stop.
 */
void sim_core_stop(struct sim_core *core);
void sim_core_clear_stop(struct sim_core *core);
/* From any thread: commands started since sim_core_run(), modulo 2^32. */
uint32_t sim_core_progress(struct sim_core *core);
/* From any thread: stop at the next YIELD (true) or run through them (false). */
void sim_core_set_yield(struct sim_core *core, bool on);

/* Zeroes the SRAM; not while a job runs. */
void sim_core_scrub(struct sim_core *core);

/* Report overlapping SRAM accesses of concurrent commands as NE1_FAULT_SRAM with a line on stderr. */
void sim_core_check_hazards(struct sim_core *core, bool on);

#endif
