/* SPDX-License-Identifier: MIT */
/*
 * DRAM as a core sees it: a channel that its LD and ST share.  A transfer has a latency phase,
 * which runs beside everything, and a data phase, in which the channel's time is divided evenly
 * between the directions (less the turnaround loss) and between running cores.
 */
#ifndef NPUSIM_DRAM_H
#define NPUSIM_DRAM_H

#include <stdbool.h>
#include <stdint.h>

struct sim_chip;

/* Channel time in ps of @bursts and @jumps (rows that do not continue the last) when alone. */
uint64_t sim_dram_ps(const struct sim_chip *chip, uint64_t bursts, uint64_t jumps);

#define SIM_DRAM_NEVER	UINT64_MAX

struct sim_dram {
	const struct sim_chip *chip;
	uint64_t now_ps;
	struct {
		bool active;
		uint64_t data_ps;	/* when the data phase begins */
		uint64_t left;		/* channel time, in 1/1024 ps */
	} flow[2];
};

void sim_dram_init(struct sim_dram *dram, const struct sim_chip *chip);
void sim_dram_start(struct sim_dram *dram, bool write, uint64_t latency_ps, uint64_t channel_ps);
/* Earliest time at which something changes (a phase or transfer ends), SIM_DRAM_NEVER if idle. */
uint64_t sim_dram_next(const struct sim_dram *dram, unsigned int cores);
/* Moves on to @now_ps, at most sim_dram_next(). */
void sim_dram_advance(struct sim_dram *dram, uint64_t now_ps, unsigned int cores);
/* True once after the transfer of this direction has ended. */
bool sim_dram_ended(struct sim_dram *dram, bool write);

#endif
