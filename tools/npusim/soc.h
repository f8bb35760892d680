/* SPDX-License-Identifier: MIT */
/*
 * What the compute cores of a device share: device clock, engine frequency, DRAM counters, energy
 * and heat.  Every function may be called from any thread.
 *
 * The clock advances by modelled work while a core runs and with the host's monotonic clock while
 * none does; it never goes back.  With several cores running it is that of the core furthest ahead.
 */
#ifndef NPUSIM_SOC_H
#define NPUSIM_SOC_H

#include <stdbool.h>
#include <stdint.h>

struct sim_chip;
struct sim_soc;

enum sim_pace {
	SIM_FAST,	/* model time runs as fast as the host allows (default) */
	SIM_PACED,	/* runs sleep so that model time does not overtake host time */
};

/* NULL when memory is short.  Keeps a reference to @chip. */
struct sim_soc *sim_soc_new(const struct sim_chip *chip);
void sim_soc_free(struct sim_soc *soc);
void sim_soc_set_pace(struct sim_soc *soc, enum sim_pace pace);

uint64_t sim_soc_time_ns(struct sim_soc *soc);
uint32_t sim_soc_freq_khz(struct sim_soc *soc);
int32_t sim_soc_temp_die_mc(struct sim_soc *soc);
int32_t sim_soc_temp_board_mc(struct sim_soc *soc);
uint64_t sim_soc_energy_uj(struct sim_soc *soc);	/* since power-on, static share included */
uint64_t sim_soc_dram_rd_bytes(struct sim_soc *soc);
uint64_t sim_soc_dram_wr_bytes(struct sim_soc *soc);

/* The cores' side. */

/* What was done in a stretch of a run. */
struct sim_work {
	uint64_t dram_rd_bytes, dram_wr_bytes;	/* payload, as counted in profiles */
	uint64_t dram_bursts;			/* both ways */
	uint64_t sram_bytes;
	uint64_t macs;
	uint64_t vx_ops;
};

/* One run of a core, from start to end or yield; owned by the core. */
struct sim_run {
	uint64_t start_ns;	/* device time */
	uint64_t host_start_ns;
	uint64_t now_ps;	/* since start_ns */
	double energy_pj;	/* of this run, with the device's static power over its duration */
	uint32_t freq_khz;
};

void sim_soc_run_begin(struct sim_soc *soc, struct sim_run *run);
/* The run reached @now_ps (not before run->now_ps) and did @work since the last call. */
void sim_soc_run_advance(struct sim_soc *soc, struct sim_run *run, uint64_t now_ps,
			 const struct sim_work *work);
void sim_soc_run_end(struct sim_soc *soc, struct sim_run *run);
/* Cores running now, >= 1 within a run: they share the DRAM evenly. */
unsigned int sim_soc_running(struct sim_soc *soc);

#endif
