/* SPDX-License-Identifier: MIT */
/* How the model's compute cores reach memory: the device maps guest memory through its MMU, libnpu's
 * in-process back end through a table of buffers.
 */
#ifndef NPUSIM_MEM_H
#define NPUSIM_MEM_H

#include <stdbool.h>
#include <stdint.h>

#include "ne1_regs.h"

struct sim_mem {
	/* Translates @va of @asid.  On entry *len is what the caller wants; on success the pointer is good for
	 * the returned *len bytes (1..wanted).  NULL: *code tells why.  Called only between enter and leave.
	 */
	uint8_t *(*map)(struct sim_mem *mem, unsigned int asid, uint64_t va, uint64_t *len, bool write,
			enum ne1_mmu_code *code);
	/* Bracket every run of accesses (a command at most): pointers die at leave, so that memory can be
	 * taken away between commands.  Either may be NULL.
	 */
	void (*enter)(struct sim_mem *mem);
	void (*leave)(struct sim_mem *mem);
	/* Translations that map() did not find in its cache; stays 0 where there is no cache.  For the thread that
	 * calls map().
	 */
	uint64_t misses;
};

#endif
