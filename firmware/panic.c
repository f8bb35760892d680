/* SPDX-License-Identifier: MIT */
#include "panic.h"

#include "cores.h"
#include "hal.h"
#include "iface.h"
#include "log.h"
#include "ne1_fwabi.h"
#include "rings.h"

static bool panicking;

void panic_init(void)
{
	panicking = false;
}

/* Registers come first: host memory may be what failed, and then the writes to it trap, which leads
 * back here once more and straight to the halt.
 */
static _Noreturn void panic_stop(enum panic_code code, uint32_t pc, uint32_t addr)
{
	struct ne1_msg msg = { .type = NE1_EVT_PANIC };

	if (!panicking) {
		panicking = true;
		hal_write(NE1_MC_WATCHDOG, 0);
		hal_write(NE1_MC_BOOT_STATE, NE1_BOOT_STATE_PANIC | (uint32_t)code << 8);
		cores_stop(~0u);
		if (iface_valid()) {
			iface_set_state(NE1_FW_DEAD);
			msg.panic.code = code;
			msg.panic.pc = pc;
			msg.panic.addr = addr;
			rings_put_last_event(&msg);
		}
	}
	hal_wmb();
	hal_write(NE1_MC_HOST_IRQ, NE1_IRQ_FATAL | NE1_IRQ_EVENT);
	hal_halt();
}

void panic(enum panic_code code, uint32_t addr)
{
	if (iface_valid() && !panicking)
		log_error("panic %x, value %x", (unsigned int)code, (unsigned int)addr);
	panic_stop(code, (uint32_t)(uintptr_t)__builtin_return_address(0), addr);
}

void panic_trap(uint32_t cause, uint32_t pc, uint32_t addr)
{
	/* The log is host memory: a trap from there must not be hidden by one from here. */
	if (iface_valid() && !panicking && addr < NE1_MC_WINDOW)
		log_error("trap: cause %x pc %x addr %x", (unsigned int)cause, (unsigned int)pc,
			  (unsigned int)addr);
	panic_stop(PANIC_TRAP, pc, addr);
}
