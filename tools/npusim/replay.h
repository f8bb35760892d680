/* SPDX-License-Identifier: MIT */
/* Runs the job of a core dump again, on a compute core of this process. */
#ifndef NPUSIM_REPLAY_H
#define NPUSIM_REPLAY_H

#include "coredump.h"
#include "mem.h"

/* The address space of a dump: its mappings, zero where the dump has no contents. */
struct sim_replay_memory {
	struct sim_mem mem;	/* first: callbacks cast back */
	struct sim_dump_range range[SIM_DUMP_RANGES + SIM_DUMP_SECTIONS];
	uint8_t *host[SIM_DUMP_RANGES + SIM_DUMP_SECTIONS];
	unsigned int n;
};

/* 0, or -1 with a line in @err.  To be cleared in both cases. */
int sim_replay_load(struct sim_replay_memory *memory, const struct sim_dump *dump, char *err,
		    size_t err_size);
void sim_replay_clear(struct sim_replay_memory *memory);

/*
 * Replays the dump in the file @path and says on standard output how the job ended in both.  @chip:
 * profile to use instead of the dump's, may be NULL.  0: the same, 1: not the same, 2: the file is
 * not usable, with a message on standard error.
 */
int sim_replay(const char *path, const char *chip);

#endif
