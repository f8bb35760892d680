/* SPDX-License-Identifier: MIT */
/*
 * Instruction-set simulator of the management core: RV32IMC + Zicsr, machine mode, as ne1.md
 * section 3 has it.  Interprets instructions that are decoded once and cached per halfword of TCM.
 * One thread.
 */
#ifndef NPUSIM_RV32_H
#define NPUSIM_RV32_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_regs.h"

enum rv32_cause {
	RV32_FETCH_ACCESS = 1,
	RV32_ILLEGAL = 2,
	RV32_BREAKPOINT = 3,
	RV32_LOAD_MISALIGNED = 4,
	RV32_LOAD_ACCESS = 5,
	RV32_STORE_MISALIGNED = 6,
	RV32_STORE_ACCESS = 7,
	RV32_ECALL_M = 11,
	RV32_EXTERNAL_IRQ = (int)0x8000000b,
};

enum rv32_exit {
	RV32_BUDGET,		/* ran as many instructions as asked, or rv32_yield() was called */
	RV32_WFI,		/* waits: run again when the interrupt level is up */
	RV32_DOUBLE_FAULT,	/* stopped for good until rv32_reset() */
};

/* Everything outside TCM.  @size is 1, 2 or 4 and @addr a multiple of it.  False: access fault. */
struct rv32_bus {
	bool (*load)(void *ctx, uint32_t addr, unsigned int size, uint32_t *value);
	bool (*store)(void *ctx, uint32_t addr, unsigned int size, uint32_t value);
	void *ctx;
};

struct rv32;

struct rv32 *rv32_new(const struct rv32_bus *bus);	/* NULL when memory is short */
void rv32_free(struct rv32 *cpu);

/* Zeroes the state and TCM, copies @size bytes of @image to @load_addr, where they fit. */
void rv32_reset(struct rv32 *cpu, uint32_t load_addr, const void *image, uint32_t size,
		uint32_t entry);

/* @irq: level of the external interrupt, sampled here; rv32_yield() when it may have changed. */
enum rv32_exit rv32_run(struct rv32 *cpu, unsigned int budget, bool irq);
/* From a bus callback: end rv32_run() after this instruction. */
void rv32_yield(struct rv32 *cpu);

/* Goes on at @pc, which may be any; @unhandled: what it traps to is gone too. */
void rv32_jump(struct rv32 *cpu, uint32_t pc, bool unhandled);

uint32_t rv32_pc(const struct rv32 *cpu);
uint32_t rv32_reg(const struct rv32 *cpu, unsigned int index);
uint64_t rv32_retired(const struct rv32 *cpu);
const uint8_t *rv32_tcm(const struct rv32 *cpu);	/* NE1_MC_TCM_SIZE bytes */

#endif
