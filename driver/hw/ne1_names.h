/* SPDX-License-Identifier: MIT */
/*
 * What people call the codes of a fault, in messages of tools and libraries.
 *
 * Each macro is the initializer of an array of strings indexed by the code; an array made from it
 * ends with the largest code that this version of the contract knows.
 */
#ifndef NE1_NAMES_H
#define NE1_NAMES_H

#include "ne1_regs.h"

/* enum ne1_fault */
#define NE1_FAULT_NAMES { \
	[NE1_FAULT_NONE] = "no fault", \
	[NE1_FAULT_OPCODE] = "unknown opcode", \
	[NE1_FAULT_FIELD] = "field out of range", \
	[NE1_FAULT_SRAM] = "operand outside the SRAM or misaligned", \
	[NE1_FAULT_MMU] = "MMU fault", \
	[NE1_FAULT_DEADLOCK] = "deadlock of semaphores", \
	[NE1_FAULT_SEMAPHORE] = "semaphore overflow", \
	[NE1_FAULT_STREAM] = "end of stream without END", \
	[NE1_FAULT_STOPPED] = "stopped", \
	[NE1_FAULT_FORMAT] = "operand type not supported by the chip", \
	[NE1_FAULT_ECC] = "uncorrected memory error", \
}

/* NE1_MMU_FAULT_UNIT of a fault's info */
#define NE1_UNIT_NAMES { \
	[NE1_UNIT_MCU] = "management core", \
	[NE1_UNIT_FE] = "front end", \
	[NE1_UNIT_LD] = "LD", \
	[NE1_UNIT_ST] = "ST", \
	[NE1_UNIT_MX] = "MX", \
	[NE1_UNIT_VX] = "VX", \
}

/* NE1_MMU_FAULT_CODE of a fault's info */
#define NE1_MMU_NAMES { \
	[NE1_MMU_OK] = "ok", \
	[NE1_MMU_NOT_PRESENT] = "nothing mapped", \
	[NE1_MMU_READ_ONLY] = "read-only", \
	[NE1_MMU_RANGE] = "beyond the address space", \
	[NE1_MMU_BUS] = "bus error", \
}

#endif
