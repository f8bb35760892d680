/* SPDX-License-Identifier: MIT */
/*
 * Where something outside may make a compute core fail: every entry is called from the core's
 * thread within sim_core_run().  A core without hooks, as in libnpu, is the chip as specified.
 */
#ifndef NPUSIM_HOOKS_H
#define NPUSIM_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_cmd.h"
#include "ne1_regs.h"

struct sim_core_hooks {
	/* Command @index was fetched; may change it. */
	void (*fetched)(void *ctx, unsigned int core, uint32_t index, union ne1_cmd *cmd);
	/*
	 * @engine (0 LD, 1 ST, 2 MX, 3 VX) is about to execute a command; a fault is the command's.
	 */
	enum ne1_fault (*start)(void *ctx, unsigned int core, unsigned int engine);
	/*
	 * Called before the command is executed, again and again while it returns a time in ps that
	 * passed and that the engine is late by then.  @stopped: the job is to be abandoned.
	 */
	uint64_t (*hold)(void *ctx, unsigned int core, unsigned int engine, bool stopped);
	/* ST wrote @len bytes, which are at @mem, to @va. */
	void (*stored)(void *ctx, unsigned int core, unsigned int asid, uint64_t va, uint8_t *mem,
		       uint64_t len);
	/* Time of a transfer on the DRAM channel, and the engine clock of a run. */
	uint64_t (*dram_ps)(void *ctx, uint64_t ps);
	uint32_t (*freq_khz)(void *ctx, uint32_t khz);
	void *ctx;
};

#endif
