/* SPDX-License-Identifier: MIT */
/* The end of the firmware: the host is shown what it cannot handle, and nothing runs after it. */
#ifndef NE1_FW_PANIC_H
#define NE1_FW_PANIC_H

#include <stdint.h>

/* Error byte of BOOT_STATUS and code of NE1_EVT_PANIC.  0xff is the core's own double fault.
 * Append only: drivers print these by name.
 */
enum panic_code {
	PANIC_TRAP = 0x01,		/* exception; addr = mtval */
	PANIC_STACK = 0x02,		/* the word below the stack was overwritten */
	PANIC_CHIP = 0x03,		/* cores or ASIDs not as in the contract; addr = number */
	/* struct ne1_fw_if as the host wrote it; addr = the offending value */
	PANIC_IF_MAGIC = 0x10,
	PANIC_IF_ABI = 0x11,		/* other major */
	PANIC_IF_SIZE = 0x12,		/* smaller than its description, or beyond the window */
	PANIC_IF_CMD = 0x13,		/* command ring: offset, alignment or entries */
	PANIC_IF_EVT = 0x14,
	PANIC_IF_LOG = 0x15,		/* log ring or log level */
	PANIC_IF_QUEUES = 0x16,		/* queue table or counter table */
	PANIC_IF_OVERLAP = 0x17,	/* two areas share bytes */
	/* while running; addr = the index read */
	PANIC_CMD_INDEX = 0x20,		/* write index more than the ring's entries ahead */
	PANIC_EVT_INDEX = 0x21,		/* read index beyond the write index or too far behind */
};

_Noreturn void panic(enum panic_code code, uint32_t addr);

/* From the trap vector. */
_Noreturn void panic_trap(uint32_t cause, uint32_t pc, uint32_t addr);

void panic_init(void);

#endif
