// SPDX-License-Identifier: MIT
/* Runs the firmware's sources as part of the test program: hal.h over the shim. */
#include "firmware/hal.h"
#include "firmware/main.h"
#include "firmware/panic.h"
#include "shim.h"

const bool shim_sees_barriers = true;

uint32_t hal_read(uint32_t reg)
{
	return shim_reg_read(reg);
}

void hal_write(uint32_t reg, uint32_t value)
{
	shim_reg_write(reg, value);
}

static uint8_t *window(uint32_t va, uint32_t size, uint32_t cause)
{
	uint8_t *at = shim_window(va, size);

	if (!at)
		panic_trap(cause, 0, NE1_MC_WINDOW + va);
	return at;
}

uint32_t hal_win_read(uint32_t va)
{
	return shim_window_read(window(va, 4, 5));
}

void hal_win_write(uint32_t va, uint32_t value)
{
	shim_window_write(window(va, 4, 7), value, 4);
}

void hal_win_write8(uint32_t va, uint8_t value)
{
	shim_window_write(window(va, 1, 7), value, 1);
}

void hal_rmb(void)
{
}

void hal_wmb(void)
{
	shim_trace(SHIM_WMB, 0, 0);
}

void hal_wait(void)
{
}

void hal_halt(void)
{
	shim.halted = true;
	longjmp(shim.halt, 1);
}

void hal_stack_arm(void)
{
	shim.stack_broken = false;
}

bool hal_stack_intact(void)
{
	return !shim.stack_broken;
}

uint64_t shim_now(void)
{
	return shim.time_ns;
}

bool shim_boot(void)
{
	if (!setjmp(shim.halt))
		fw_boot();
	return !shim.halted;
}

bool shim_run(void)
{
	if (!setjmp(shim.halt)) {
		while (!shim.halted && (shim.irq_pending & shim.irq_enable))
			fw_step();
	}
	return !shim.halted;
}
