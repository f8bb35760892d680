// SPDX-License-Identifier: MIT
#include "regs.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bootrom.h"
#include "chip.h"
#include "fault_points.h"
#include "irq.h"
#include "log.h"
#include "mc.h"
#include "mmu.h"
#include "ne1_regs.h"
#include "soc.h"

enum latch { LATCH_TIME, LATCH_ENERGY, LATCH_DRAM_RD, LATCH_DRAM_WR, LATCHES };

struct sim_regs {
	struct sim_regs_parts parts;
	struct sim_mc *mc;
	pthread_mutex_t lock;		/* all below */
	bool resetting;			/* raises of what is being stopped are dropped */
	uint32_t irq_status, irq_enable;
	uint32_t fault;			/* NE1_REG_MMU_FAULT */
	uint64_t fault_va;
	uint64_t image, pgd;
	uint32_t image_size;
	uint32_t high[LATCHES];		/* HI half at the last read of LO */
};

struct sim_regs *sim_regs_new(const struct sim_regs_parts *parts)
{
	struct sim_regs *regs = calloc(1, sizeof(*regs));

	if (!regs)
		return NULL;
	regs->parts = *parts;
	pthread_mutex_init(&regs->lock, NULL);
	return regs;
}

void sim_regs_free(struct sim_regs *regs)
{
	if (!regs)
		return;
	pthread_mutex_destroy(&regs->lock);
	free(regs);
}

void sim_regs_attach_mc(struct sim_regs *regs, struct sim_mc *mc)
{
	regs->mc = mc;
}

/* ---- Interrupts and faults ---- */

static void raise_locked(struct sim_regs *regs, uint32_t irqs)
{
	if (regs->resetting)
		return;
	irqs &= NE1_IRQ_ALL;
	regs->irq_status |= irqs;
	for (unsigned int v = 0; v < NE1_MSIX_VECTORS; v++)
		if (irqs & regs->irq_enable & 1u << v)
			sim_irq_raise(regs->parts.irq, v);
}

void sim_regs_raise(struct sim_regs *regs, uint32_t irqs)
{
	pthread_mutex_lock(&regs->lock);
	raise_locked(regs, irqs);
	pthread_mutex_unlock(&regs->lock);
}

void sim_regs_mmu_fault(struct sim_regs *regs, uint32_t info, uint64_t va)
{
	pthread_mutex_lock(&regs->lock);
	if (!regs->resetting && !(regs->fault & NE1_MMU_FAULT_VALID)) {
		regs->fault = info | NE1_MMU_FAULT_VALID;
		regs->fault_va = va;
		raise_locked(regs, NE1_IRQ_MMU);
	}
	pthread_mutex_unlock(&regs->lock);
}

void sim_regs_reset(struct sim_regs *regs)
{
	pthread_mutex_lock(&regs->lock);
	regs->resetting = true;
	regs->irq_status = 0;
	regs->irq_enable = 0;
	regs->fault = 0;
	regs->fault_va = 0;
	regs->image = 0;
	regs->image_size = 0;
	regs->pgd = 0;
	sim_irq_clear_pending(regs->parts.irq);
	pthread_mutex_unlock(&regs->lock);
	sim_fi_reset_asked(regs->parts.faults);
	sim_mc_reset(regs->mc);
}

void sim_regs_reset_done(struct sim_regs *regs)
{
	pthread_mutex_lock(&regs->lock);
	regs->resetting = false;
	pthread_mutex_unlock(&regs->lock);
}

/* ---- Reads ---- */

static uint32_t read_chip(const struct sim_regs_parts *parts, uint32_t offset)
{
	const struct sim_chip *chip = parts->chip;
	uint32_t word;

	if (offset >= NE1_REG_CHIP_NAME && offset < NE1_REG_CHIP_NAME + SIM_CHIP_NAME_SIZE) {
		memcpy(&word, chip->name + (offset - NE1_REG_CHIP_NAME), sizeof(word));
		return word;
	}
	switch (offset) {
	case NE1_REG_ID:
		return NE1_ID_MAGIC;
	case NE1_REG_VERSION:
		return NE1_VERSION_MAJOR << 16 | NE1_VERSION_MINOR;
	case NE1_REG_PLATFORM:
		return NE1_PLATFORM_MODEL;
	case NE1_REG_CAP_CORES:
		return chip->cores;
	case NE1_REG_CAP_SRAM:
		return chip->sram_bytes;
	case NE1_REG_CAP_MACS:
		return chip->macs_fp16;
	case NE1_REG_CAP_QUEUES:
		return chip->queues;
	case NE1_REG_CAP_ASIDS:
		return chip->asids;
	case NE1_REG_CAP_FORMATS:
		return chip->formats;
	case NE1_REG_CAP_FREQ_MAX:
		return sim_chip_top_opp(chip)->khz;
	case NE1_REG_CAP_DRAM_BW:
		return chip->dram.peak_mbps;
	case NE1_REG_CAP_VX_LANES:
		return chip->vx_lanes;
	case NE1_REG_SECURITY_MIN:
		return parts->fuses->min_security_version;
	default:
		return 0;
	}
}

static uint32_t latch_low(struct sim_regs *regs, enum latch which, uint64_t value)
{
	pthread_mutex_lock(&regs->lock);
	regs->high[which] = value >> 32;
	pthread_mutex_unlock(&regs->lock);
	return (uint32_t)value;
}

static uint32_t latched_high(struct sim_regs *regs, enum latch which)
{
	uint32_t value;

	pthread_mutex_lock(&regs->lock);
	value = regs->high[which];
	pthread_mutex_unlock(&regs->lock);
	return value;
}

static uint32_t read_telemetry(struct sim_regs *regs, uint32_t offset)
{
	struct sim_soc *soc = regs->parts.soc;

	switch (offset) {
	case NE1_REG_TIME_LO:
		return latch_low(regs, LATCH_TIME, sim_soc_time_ns(soc));
	case NE1_REG_TIME_HI:
		return latched_high(regs, LATCH_TIME);
	case NE1_REG_FREQ:
		return sim_fi_freq(regs->parts.faults, sim_soc_freq_khz(soc));
	case NE1_REG_TEMP_DIE:
		return sim_soc_temp_die_mc(soc);
	case NE1_REG_TEMP_BOARD:
		return sim_soc_temp_board_mc(soc);
	case NE1_REG_ENERGY_LO:
		return latch_low(regs, LATCH_ENERGY, sim_soc_energy_uj(soc));
	case NE1_REG_ENERGY_HI:
		return latched_high(regs, LATCH_ENERGY);
	case NE1_REG_DRAM_RD_LO:
		return latch_low(regs, LATCH_DRAM_RD, sim_soc_dram_rd_bytes(soc));
	case NE1_REG_DRAM_RD_HI:
		return latched_high(regs, LATCH_DRAM_RD);
	case NE1_REG_DRAM_WR_LO:
		return latch_low(regs, LATCH_DRAM_WR, sim_soc_dram_wr_bytes(soc));
	case NE1_REG_DRAM_WR_HI:
		return latched_high(regs, LATCH_DRAM_WR);
	default:
		return 0;
	}
}

static uint32_t read_control_locked(const struct sim_regs *regs, uint32_t offset)
{
	switch (offset) {
	case NE1_REG_BOOT_IMG_LO:
		return (uint32_t)regs->image;
	case NE1_REG_BOOT_IMG_HI:
		return regs->image >> 32;
	case NE1_REG_BOOT_IMG_SIZE:
		return regs->image_size;
	case NE1_REG_FW_PGD_LO:
		return (uint32_t)regs->pgd;
	case NE1_REG_FW_PGD_HI:
		return regs->pgd >> 32;
	case NE1_REG_IRQ_STATUS:
		return regs->irq_status;
	case NE1_REG_IRQ_ENABLE:
		return regs->irq_enable;
	case NE1_REG_MMU_FAULT:
		return regs->fault;
	case NE1_REG_MMU_FAULT_VA_LO:
		return (uint32_t)regs->fault_va;
	case NE1_REG_MMU_FAULT_VA_HI:
		return regs->fault_va >> 32;
	default:
		return 0;
	}
}

static uint32_t read_control(struct sim_regs *regs, uint32_t offset)
{
	uint32_t value;

	switch (offset) {
	case NE1_REG_BOOT_STATUS:
		return sim_mc_boot_status(regs->mc);
	case NE1_REG_RESET:
		return sim_mc_resetting(regs->mc);
	case NE1_REG_MMU_TLB_INV:
		return sim_mmu_busy(regs->parts.mmu) ? NE1_TLB_INV_BUSY : 0;
	}
	pthread_mutex_lock(&regs->lock);
	value = read_control_locked(regs, offset);
	pthread_mutex_unlock(&regs->lock);
	return value;
}

void sim_regs_read(struct sim_regs *regs, uint32_t offset, void *data, uint32_t count)
{
	uint32_t value;

	memset(data, 0, count);
	if (count != sizeof(value) || offset % sizeof(value)) {
		sim_log(SIM_LOG_WARN, regs->parts.who,
			"read of %u bytes at register offset 0x%x: only aligned 32 bits", count,
			offset);
		return;
	}
	if (offset < NE1_REG_BOOT_CTRL)
		value = read_chip(&regs->parts, offset);
	else if (offset >= NE1_REG_TIME_LO)
		value = read_telemetry(regs, offset);
	else
		value = read_control(regs, offset);
	memcpy(data, &value, sizeof(value));
}

/* ---- Writes ---- */

static void set_low(uint64_t *pair, uint32_t value)
{
	*pair = (*pair >> 32 << 32) | value;
}

static void set_high(uint64_t *pair, uint32_t value)
{
	*pair = (uint64_t)value << 32 | (uint32_t)*pair;
}

static void write_control_locked(struct sim_regs *regs, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case NE1_REG_BOOT_IMG_LO:
		set_low(&regs->image, value);
		break;
	case NE1_REG_BOOT_IMG_HI:
		set_high(&regs->image, value);
		break;
	case NE1_REG_BOOT_IMG_SIZE:
		regs->image_size = value;
		break;
	case NE1_REG_FW_PGD_LO:
		set_low(&regs->pgd, value);
		break;
	case NE1_REG_FW_PGD_HI:
		set_high(&regs->pgd, value);
		break;
	case NE1_REG_IRQ_STATUS:
		regs->irq_status &= ~value;
		break;
	case NE1_REG_IRQ_ENABLE:
		regs->irq_enable = value & NE1_IRQ_ALL;
		break;
	case NE1_REG_MMU_FAULT_CLEAR:
		if (value & 1)
			regs->fault = regs->fault_va = 0;
		break;
	}
}

static void boot(struct sim_regs *regs)
{
	struct sim_boot boot;

	pthread_mutex_lock(&regs->lock);
	boot = (struct sim_boot) { .image = regs->image,
				   .image_size = regs->image_size,
				   .pgd = regs->pgd };
	pthread_mutex_unlock(&regs->lock);
	sim_fi_boot_begin(regs->parts.faults);
	sim_mc_start(regs->mc, &boot);
}

static void write_doorbell(struct sim_regs *regs, uint32_t offset)
{
	uint32_t queue = (offset - NE1_DOORBELL_BASE) / (NE1_DOORBELL(1) - NE1_DOORBELL(0));

	if (offset == NE1_DOORBELL(queue) && queue < regs->parts.chip->queues &&
	    !sim_fi_doorbell(regs->parts.faults, queue))
		sim_mc_doorbell(regs->mc, queue);
}

void sim_regs_write(struct sim_regs *regs, uint32_t offset, const void *data, uint32_t count)
{
	uint32_t value;

	if (count != sizeof(value) || offset % sizeof(value)) {
		sim_log(SIM_LOG_WARN, regs->parts.who,
			"write of %u bytes at register offset 0x%x: only aligned 32 bits", count,
			offset);
		return;
	}
	memcpy(&value, data, sizeof(value));
	if (offset >= NE1_DOORBELL_BASE) {
		write_doorbell(regs, offset);
		return;
	}
	switch (offset) {
	case NE1_REG_BOOT_CTRL:
		if (value & NE1_BOOT_START)
			boot(regs);
		return;
	case NE1_REG_RESET:
		if (value & 1)
			sim_regs_reset(regs);
		return;
	case NE1_REG_MMU_TLB_INV:
		if (value & 1)
			sim_mmu_invalidate(regs->parts.mmu);
		return;
	case NE1_REG_MBOX_DB:
		if (!sim_fi_mailbox(regs->parts.faults))
			sim_mc_mailbox(regs->mc);
		return;
	}
	pthread_mutex_lock(&regs->lock);
	write_control_locked(regs, offset, value);
	pthread_mutex_unlock(&regs->lock);
}
