/* SPDX-License-Identifier: MIT */
/*
 * What the firmware sees, on the host: the management core's registers, a piece of host memory
 * behind the window, and compute cores that end when the test says so.  Rules of the contract that
 * the firmware breaks are counted in shim.violations.  An engine (engine_*.c) runs the firmware.
 */
#ifndef TESTS_FIRMWARE_SHIM_H
#define TESTS_FIRMWARE_SHIM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "ne1_fwabi.h"
#include "ne1_regs.h"

#define SHIM_MEMORY	0x80000u	/* bytes from VA 0 of ASID 0; beyond it the window traps */
#define SHIM_TRACE	1024

enum shim_access { SHIM_REG, SHIM_WIN, SHIM_WMB };

struct shim_write {
	enum shim_access kind;
	uint32_t addr, value;
};

struct shim_core {
	uint32_t regs[0x40];	/* by offset / 4 */
	bool stop;		/* STOP was written while RUNNING */
	unsigned int starts, stops, scrubs;
	unsigned int continues;	/* of the starts */
	uint32_t pos;		/* at which the last start began */
	uint64_t sram_pgd;	/* page table whose data is in SRAM; 0: clean */
};

struct shim_asid {
	uint64_t pgd;
	bool enabled;
	unsigned int writes;	/* of AS_CTRL */
};

struct shim {
	_Alignas(64) uint8_t memory[SHIM_MEMORY];
	uint32_t irq_pending, irq_enable, host_irq, boot_state, watchdog, cap_cores, cap_asids;
	uint32_t db_pending[2];
	uint64_t time_ns, timer_ns;
	uint32_t time_hi;	/* latched */
	bool stack_broken;
	struct shim_core cores[NE1_MAX_CORES];
	struct shim_asid asids[NE1_MAX_ASIDS];
	unsigned int violations;
	unsigned int reg_reads, reg_writes, win_reads, win_writes;
	struct shim_write trace[SHIM_TRACE];	/* newest writes since shim_trace_clear() */
	unsigned int traced;
	uint64_t ns_per_instruction;	/* device time of firmware, if the engine counts them */
	jmp_buf halt;		/* hal_halt() goes here */
	bool halted;
	uint64_t instructions;	/* of the last shim_run(), where the engine counts them */
};

extern struct shim shim;

/* Power-on: everything zero, two cores and 16 ASIDs. */
void shim_reset(void);

/* Core @core leaves RUNNING after @ns with @fault (NONE: DONE). */
void shim_core_end(unsigned int core, enum ne1_fault fault, uint64_t ns);

/*
 * Core @core stops at a YIELD after @ns, with POS = @pos.  It is a violation of the test's if
 * nobody asked for it.
 */
void shim_core_yield(unsigned int core, uint32_t pos, uint64_t ns);

/* Core @core started @n more commands. */
void shim_core_progress(unsigned int core, uint32_t n);

/* What the COUNT registers of core @core say after its run: @n * 1000 + counter. */
void shim_core_count(unsigned int core, uint64_t n);

/* Lets device time pass; the timer may expire. */
void shim_pass(uint64_t ns);

/* Runs boot, or serves interrupts until none is pending; false if the firmware halted. */
bool shim_boot(void);
bool shim_run(void);

void shim_trace_clear(void);

/* Device time with what the firmware has taken of it up to now. */
uint64_t shim_now(void);

/* For engines. */
extern const bool shim_sees_barriers;	/* fences are in the trace */
uint32_t shim_reg_read(uint32_t reg);
void shim_reg_write(uint32_t reg, uint32_t value);
uint8_t *shim_window(uint32_t va, uint32_t size);	/* NULL: not mapped, the access traps */
uint32_t shim_window_read(const uint8_t *at);
void shim_window_write(uint8_t *at, uint32_t value, uint32_t size);
void shim_trace(enum shim_access kind, uint32_t addr, uint32_t value);

#endif
