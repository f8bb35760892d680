// SPDX-License-Identifier: MIT
#include "shim.h"

#include <stdio.h>
#include <string.h>

#define SHIM_WINDOW	0x80000000u	/* bytes that NE1_MC_WINDOW can address */
#define CORE_BASE	NE1_MC_CORE(0)
#define CORE_END	NE1_MC_CORE(NE1_MAX_CORES)
#define AS_BASE		NE1_MC_AS(0)
#define AS_END		NE1_MC_AS(NE1_MAX_ASIDS)

struct shim shim;

void shim_reset(void)
{
	memset(&shim, 0, sizeof(shim));
	shim.cap_cores = 2;
	shim.cap_asids = NE1_MAX_ASIDS;
	shim.timer_ns = UINT64_MAX;
	shim.time_ns = 5000000;
}

static void violation(const char *what, uint32_t value)
{
	fprintf(stderr, "contract violation: %s (0x%x)\n", what, value);
	shim.violations++;
}

void shim_trace(enum shim_access kind, uint32_t addr, uint32_t value)
{
	if (shim.traced < SHIM_TRACE)
		shim.trace[shim.traced++] = (struct shim_write){ kind, addr, value };
}

void shim_trace_clear(void)
{
	shim.traced = 0;
	shim.reg_reads = 0;
	shim.reg_writes = 0;
	shim.win_reads = 0;
	shim.win_writes = 0;
}

uint8_t *shim_window(uint32_t va, uint32_t size)
{
	if (va >= SHIM_WINDOW || va % size)
		violation("window access outside or misaligned", va);
	return va <= SHIM_MEMORY - size ? shim.memory + va : NULL;
}

uint32_t shim_window_read(const uint8_t *at)
{
	uint32_t value;

	shim.win_reads++;
	memcpy(&value, at, sizeof(value));
	return value;
}

void shim_window_write(uint8_t *at, uint32_t value, uint32_t size)
{
	shim.win_writes++;
	if (size == 4)
		shim_trace(SHIM_WIN, (uint32_t)(at - shim.memory), value);
	memcpy(at, &value, size);
}

/* Compute cores. */

static void set64(uint32_t *regs, uint32_t lo, uint64_t value)
{
	regs[lo / 4] = (uint32_t)value;
	regs[lo / 4 + 1] = (uint32_t)(value >> 32);
}

static void core_start(unsigned int index, uint32_t value)
{
	struct shim_core *core = &shim.cores[index];
	uint32_t asid = core->regs[NE1_MC_CORE_ASID / 4];

	if (core->regs[NE1_MC_CORE_STATE / 4] == NE1_CORE_RUNNING)
		violation("START while RUNNING", index);
	if (!asid || asid >= shim.cap_asids || !shim.asids[asid].enabled)
		violation("START with a disabled ASID", asid);
	else if (core->sram_pgd && core->sram_pgd != shim.asids[asid].pgd + 1)
		violation("START with another VM's data in SRAM", asid);
	core->sram_pgd = asid < NE1_MAX_ASIDS ? shim.asids[asid].pgd + 1 : 0;
	core->starts++;
	core->continues += value & NE1_CORE_CONTINUE ? 1 : 0;
	core->pos = value & NE1_CORE_CONTINUE ? core->regs[NE1_MC_CORE_POS / 4] : 0;
	if (value & NE1_CORE_CONTINUE && !core->pos)
		violation("CONTINUE before the first YIELD", index);
	if (core->regs[NE1_MC_CORE_YIELD_REQ / 4])
		violation("START with a YIELD request from before", index);
	core->stop = false;
	core->regs[NE1_MC_CORE_STATE / 4] = NE1_CORE_RUNNING;
	set64(core->regs, NE1_MC_CORE_START_LO, shim_now());
	for (uint32_t reg = NE1_MC_CORE_RD_LO; reg <= NE1_MC_CORE_CYC_HI; reg += 4)
		core->regs[reg / 4] = 0;
	core->regs[NE1_MC_CORE_PROGRESS / 4] = 0;
	for (unsigned int i = 0; i < NE1_COUNTERS; i++)
		set64(core->regs, NE1_MC_CORE_COUNT_LO(i), 0);
}

static void core_ctrl(unsigned int index, uint32_t value)
{
	struct shim_core *core = &shim.cores[index];
	bool running = core->regs[NE1_MC_CORE_STATE / 4] == NE1_CORE_RUNNING;

	if (value & NE1_CORE_SCRUB) {
		if (running)
			violation("SCRUB while RUNNING", index);
		core->sram_pgd = 0;
		core->scrubs++;
	}
	if (value & NE1_CORE_STOP) {
		core->stops++;
		core->stop = running;
	}
	if (value & NE1_CORE_START)
		core_start(index, value);
	if (value & NE1_CORE_RESUME)
		violation("RESUME is not used by this firmware", index);
}

static void core_leave(unsigned int index, uint32_t state, uint64_t ns)
{
	struct shim_core *core = &shim.cores[index];

	shim.time_ns += ns;
	core->regs[NE1_MC_CORE_STATE / 4] = state;
	set64(core->regs, NE1_MC_CORE_END_LO, shim.time_ns);
	set64(core->regs, NE1_MC_CORE_RD_LO, 0x100000010ull + index);
	set64(core->regs, NE1_MC_CORE_WR_LO, 0x20 + index);
	set64(core->regs, NE1_MC_CORE_CYC_LO, ns + index);
	shim.irq_pending |= NE1_MC_IRQ_CORE;
}

void shim_core_yield(unsigned int index, uint32_t pos, uint64_t ns)
{
	struct shim_core *core = &shim.cores[index];

	if (core->regs[NE1_MC_CORE_STATE / 4] != NE1_CORE_RUNNING ||
	    !core->regs[NE1_MC_CORE_YIELD_REQ / 4])
		violation("the test lets a core yield that was not asked to", index);
	core_leave(index, NE1_CORE_YIELDED, ns);
	core->regs[NE1_MC_CORE_POS / 4] = pos;
}

void shim_core_progress(unsigned int index, uint32_t n)
{
	shim.cores[index].regs[NE1_MC_CORE_PROGRESS / 4] += n;
}

void shim_core_count(unsigned int index, uint64_t n)
{
	for (unsigned int i = 0; i < NE1_COUNTERS; i++)
		set64(shim.cores[index].regs, NE1_MC_CORE_COUNT_LO(i), n * 1000 + i);
}

void shim_core_end(unsigned int index, enum ne1_fault fault, uint64_t ns)
{
	struct shim_core *core = &shim.cores[index];

	core_leave(index, fault ? NE1_CORE_FAULT : NE1_CORE_DONE, ns);
	core->regs[NE1_MC_CORE_FAULT_CODE / 4] = fault;
	core->regs[NE1_MC_CORE_FAULT_CMD / 4] = fault ? 7 + index : 0;
	set64(core->regs, NE1_MC_CORE_FAULT_VA_LO, fault ? 0x1234567000 + index : 0);
	core->regs[NE1_MC_CORE_FAULT_INFO / 4] = fault ? 0x2010 + index : 0;
}

/* Registers. */

static uint32_t read_ctrl(uint32_t reg)
{
	switch (reg) {
	case NE1_MC_IRQ_PENDING:
		return shim.irq_pending;
	case NE1_MC_DB_PENDING_LO:
		return shim.db_pending[0];
	case NE1_MC_DB_PENDING_HI:
		return shim.db_pending[1];
	case NE1_MC_TIME_LO:
		shim.time_hi = (uint32_t)(shim_now() >> 32);
		return (uint32_t)shim_now();
	case NE1_MC_TIME_HI:
		return shim.time_hi;
	case NE1_MC_CAP_CORES:
		return shim.cap_cores;
	case NE1_MC_CAP_ASIDS:
		return shim.cap_asids;
	}
	violation("read of a register that tells nothing", reg);
	return 0;
}

uint32_t shim_reg_read(uint32_t reg)
{
	shim.reg_reads++;
	if (reg >= CORE_BASE && reg < CORE_END)
		return shim.cores[(reg - CORE_BASE) / 0x100].regs[(reg & 0xff) / 4];
	return read_ctrl(reg);
}

static void write_as(unsigned int asid, uint32_t reg, uint32_t value)
{
	struct shim_asid *as = &shim.asids[asid];

	if (!asid)
		violation("ASID 0 is not the firmware's to change", reg);
	if (reg == 0)
		as->pgd = (as->pgd & ~0xffffffffull) | value;
	else if (reg == 4)
		as->pgd = (as->pgd & 0xffffffffull) | (uint64_t)value << 32;
	else
		as->enabled = value & NE1_MC_AS_ENABLE;
	if (reg == 8)
		as->writes++;
	for (unsigned int c = 0; c < NE1_MAX_CORES; c++) {
		const uint32_t *regs = shim.cores[c].regs;

		if (regs[NE1_MC_CORE_STATE / 4] == NE1_CORE_RUNNING &&
		    regs[NE1_MC_CORE_ASID / 4] == asid)
			violation("ASID of a running core changed", asid);
	}
}

static void write_ctrl(uint32_t reg, uint32_t value)
{
	switch (reg) {
	case NE1_MC_IRQ_PENDING:
		shim.irq_pending &= ~value;
		break;
	case NE1_MC_IRQ_ENABLE:
		shim.irq_enable = value;
		break;
	case NE1_MC_DB_PENDING_LO:
		shim.db_pending[0] &= ~value;
		break;
	case NE1_MC_DB_PENDING_HI:
		shim.db_pending[1] &= ~value;
		break;
	case NE1_MC_HOST_IRQ:
		shim.host_irq |= value;
		break;
	case NE1_MC_BOOT_STATE:
		shim.boot_state = value;
		break;
	case NE1_MC_TIMER_LO:
		shim.timer_ns = (shim.timer_ns & ~0xffffffffull) | value;
		break;
	case NE1_MC_TIMER_HI:
		shim.timer_ns = (shim.timer_ns & 0xffffffffull) | (uint64_t)value << 32;
		break;
	case NE1_MC_WATCHDOG:
		shim.watchdog = value;
		break;
	default:
		violation("write of an unknown register", reg);
	}
}

void shim_reg_write(uint32_t reg, uint32_t value)
{
	shim.reg_writes++;
	shim_trace(SHIM_REG, reg, value);
	if (reg >= CORE_BASE && reg < CORE_END) {
		unsigned int index = (reg - CORE_BASE) / 0x100;

		shim.cores[index].regs[(reg & 0xff) / 4] = value;
		if ((reg & 0xff) == NE1_MC_CORE_CTRL)
			core_ctrl(index, value);
	} else if (reg >= AS_BASE && reg < AS_END) {
		write_as((reg - AS_BASE) / 0x10, reg & 0xf, value);
	} else {
		write_ctrl(reg, value);
	}
}

void shim_pass(uint64_t ns)
{
	shim.time_ns += ns;
	if (shim.time_ns >= shim.timer_ns)
		shim.irq_pending |= NE1_MC_IRQ_TIMER;
}
