/* SPDX-License-Identifier: MIT */
/* The debug window (debug_window.h): registers through which a guest arms faults.  One thread. */
#ifndef NPUSIM_DBGWIN_H
#define NPUSIM_DBGWIN_H

#include <stdbool.h>
#include <stdint.h>

#include "fault_inject.h"

struct sim_window {
	struct sim_fi *faults;	/* NULL: there is no window, all reads as zero */
	uint32_t fault;
	struct sim_fi_spec spec;
	uint32_t status;
	uint32_t high;		/* HI half at the last read of LO of a counter */
};

void sim_window_init(struct sim_window *window, struct sim_fi *faults);

static inline bool sim_window_has(uint64_t offset)
{
	return offset - NPUSIM_WINDOW < NPUSIM_WINDOW_SIZE;
}

/* @offset in BAR0, within the window; only aligned 32-bit accesses reach a register. */
void sim_window_read(struct sim_window *window, uint32_t offset, void *data, uint32_t count);
void sim_window_write(struct sim_window *window, uint32_t offset, const void *data, uint32_t count);

#endif
