// SPDX-License-Identifier: MIT
/*
 * Runs the signed image itself: the model's RV32 core with the shim as its bus.  The same tests
 * then judge what the cross compiler, the linker script and start.S made of the sources.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ne1_fw_image.h"
#include "rv32.h"
#include "shim.h"

#define BUDGET	10000000u	/* instructions after which the firmware is taken to hang */

const bool shim_sees_barriers;

static struct rv32 *cpu;
static uint64_t run_start;	/* instructions when the firmware was last woken */
static bool awake;
static struct ne1_fw_header header;
static uint8_t payload[NE1_MC_TCM_SIZE];

static bool is_register(uint32_t addr, unsigned int size)
{
	return addr >= NE1_MC_CTRL && addr < NE1_MC_CORE(NE1_MAX_CORES) && size == 4;
}

static bool bus_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	uint8_t *at;

	(void)ctx;
	if (is_register(addr, size)) {
		*value = shim_reg_read(addr);
		return true;
	}
	if (addr < NE1_MC_WINDOW || size != 4)
		return false;
	at = shim_window(addr - NE1_MC_WINDOW, size);
	if (at)
		*value = shim_window_read(at);
	return at;
}

static bool bus_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	uint8_t *at;

	(void)ctx;
	if (is_register(addr, size)) {
		shim_reg_write(addr, value);
		rv32_yield(cpu);	/* the interrupt level may have changed */
		return true;
	}
	if (addr < NE1_MC_WINDOW)
		return false;
	at = shim_window(addr - NE1_MC_WINDOW, size);
	if (at)
		shim_window_write(at, value, size);
	return at;
}

static bool interrupt(void)
{
	return shim.irq_pending & shim.irq_enable;
}

/* Until the firmware sleeps and nothing is pending. */
static bool run(void)
{
	uint64_t end = rv32_retired(cpu) + BUDGET;
	enum rv32_exit exit;

	do {
		exit = rv32_run(cpu, BUDGET, interrupt());
		if (exit == RV32_DOUBLE_FAULT || rv32_retired(cpu) > end) {
			fprintf(stderr, "firmware %s at pc 0x%x\n",
				exit == RV32_DOUBLE_FAULT ? "double fault" : "hangs", rv32_pc(cpu));
			abort();
		}
	} while (exit != RV32_WFI || interrupt());
	shim.halted = (shim.boot_state & NE1_BOOT_STATE_MASK) == NE1_BOOT_STATE_PANIC;
	return !shim.halted;
}

static void load_image(void)
{
	static const struct rv32_bus bus = { .load = bus_load, .store = bus_store };
	FILE *f = fopen(FW_IMAGE, "rb");

	if (!f || fread(&header, sizeof(header), 1, f) != 1 ||
	    header.payload_size > sizeof(payload) || fread(payload, header.payload_size, 1, f) != 1) {
		fprintf(stderr, "%s: cannot be read\n", FW_IMAGE);
		exit(1);
	}
	fclose(f);
	cpu = rv32_new(&bus);
	if (!cpu) {
		fprintf(stderr, "no memory for the core\n");
		exit(1);
	}
}

bool shim_boot(void)
{
	if (!cpu)
		load_image();
	rv32_reset(cpu, header.load_addr, payload, header.payload_size, header.entry);
	return run();
}

uint64_t shim_now(void)
{
	if (!awake)
		return shim.time_ns;
	return shim.time_ns + (rv32_retired(cpu) - run_start) * shim.ns_per_instruction;
}

bool shim_run(void)
{
	bool ok;

	run_start = rv32_retired(cpu);
	awake = true;
	ok = run();
	shim.time_ns = shim_now();
	awake = false;
	shim.instructions = rv32_retired(cpu) - run_start;
	return ok;
}
