/* SPDX-License-Identifier: MIT */
/*
 * The host's registers (BAR0).  Reads and writes never wait for the model: they touch this file's
 * state under a short lock and pass the rest on to the management core.  Any thread.
 */
#ifndef NPUSIM_REGS_H
#define NPUSIM_REGS_H

#include <stdint.h>

struct sim_chip;
struct sim_fuses;
struct sim_fi;
struct sim_irq;
struct sim_mc;
struct sim_mmu;
struct sim_soc;
struct sim_regs;

/* What the registers speak for; all outlive them. */
struct sim_regs_parts {
	const char *who;
	const struct sim_chip *chip;
	struct sim_soc *soc;
	struct sim_mmu *mmu;
	struct sim_irq *irq;
	const struct sim_fuses *fuses;
	struct sim_fi *faults;		/* may be NULL */
};

struct sim_regs *sim_regs_new(const struct sim_regs_parts *parts); /* NULL when memory is short */
void sim_regs_free(struct sim_regs *regs);
/* The management core needs the registers to raise interrupts, so it comes after them. */
void sim_regs_attach_mc(struct sim_regs *regs, struct sim_mc *mc);

/* Any offset and size within BAR0; only aligned 32-bit accesses reach a register. */
void sim_regs_read(struct sim_regs *regs, uint32_t offset, void *data, uint32_t count);
void sim_regs_write(struct sim_regs *regs, uint32_t offset, const void *data, uint32_t count);

/* NE1_IRQ_* bits become pending in STATUS and, where enabled, messages. */
void sim_regs_raise(struct sim_regs *regs, uint32_t irqs);
/* The first fault since CLEAR is kept.  @info: as NE1_REG_MMU_FAULT, VALID is added. */
void sim_regs_mmu_fault(struct sim_regs *regs, uint32_t info, uint64_t va);

/* Starts a reset of the whole device (RESET register, FLR, vfio-user reset); it ends on its own. */
void sim_regs_reset(struct sim_regs *regs);
/* From the management core: everything has stopped, interrupts may rise again. */
void sim_regs_reset_done(struct sim_regs *regs);

#endif
