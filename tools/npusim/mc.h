/* SPDX-License-Identifier: MIT */
/*
 * The management core with its peripherals (NE1_MC_*), boot ROM and the compute cores it drives, in
 * a thread of its own.  The calls below come from the host's side (any thread) and return at once.
 */
#ifndef NPUSIM_MC_H
#define NPUSIM_MC_H

#include <stdbool.h>
#include <stdint.h>

#include "bootrom.h"

struct sim_chip;
struct sim_dma;
struct sim_fi;
struct sim_mc;
struct sim_mmu;
struct sim_regs;
struct sim_soc;
struct sim_trace;

/* What the management core is connected to; all outlive it. */
struct sim_mc_parts {
	const char *who;
	const struct sim_chip *chip;
	struct sim_soc *soc;
	struct sim_dma *dma;
	struct sim_mmu *mmu;
	struct sim_regs *regs;
	struct sim_trace *trace;	/* may be NULL */
	const struct sim_fuses *fuses;
	struct sim_fi *faults;		/* may be NULL */
	unsigned int threads;		/* host threads for the arithmetic of one command */
};

/* What BOOT_CTRL.START hands to the boot ROM. */
struct sim_boot {
	uint64_t image;		/* bus address */
	uint32_t image_size;
	uint64_t pgd;		/* root of ASID 0 */
};

struct sim_mc *sim_mc_new(const struct sim_mc_parts *parts);	/* NULL with errno set */
void sim_mc_free(struct sim_mc *mc);

/* Ignored unless the state is RESET; while a reset is still under way it is done at its end. */
void sim_mc_start(struct sim_mc *mc, const struct sim_boot *boot);
void sim_mc_reset(struct sim_mc *mc);
bool sim_mc_resetting(struct sim_mc *mc);
uint32_t sim_mc_boot_status(struct sim_mc *mc);	/* NE1_REG_BOOT_STATUS */

void sim_mc_doorbell(struct sim_mc *mc, unsigned int queue);
void sim_mc_mailbox(struct sim_mc *mc);
void sim_mc_kick(struct sim_mc *mc);	/* look at the faults again */

#endif
