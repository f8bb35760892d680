/* SPDX-License-Identifier: MIT */
/*
 * Chip profiles: everything about an NE1 part that the contract leaves to the part.  A profile is a
 * text file of `key = value` lines (chips/, every key required exactly once, `opp` once or more);
 * those in chips/ are also compiled in.  Immutable after loading, so any thread may read one.
 */
#ifndef NPUSIM_CHIP_H
#define NPUSIM_CHIP_H

#include <stddef.h>
#include <stdint.h>

#define SIM_CHIP_NAME_SIZE	16 /* as NE1_REG_CHIP_NAME: NUL padded, may fill all but one byte */
#define SIM_CHIP_OPPS_MAX	16
#define SIM_CHIP_NODES		3	/* thermal ladder: die, board, skin */

struct sim_opp {
	uint32_t khz;
	uint32_t mv;
};

struct sim_chip_dram {
	uint32_t peak_mbps;		/* 10^6 bytes per second, all channels */
	uint32_t stream_permille;	/* of peak, one direction, long rows */
	uint32_t mixed_permille;	/* of peak, reads and writes at the same time */
	uint32_t burst_bytes;		/* a row is fetched in whole aligned bursts */
	uint32_t row_ps; /* lost on each jump to a row that does not continue the last one */
	uint32_t read_ns, write_ns;	/* latency when the engine was idle */
};

struct sim_chip_energy {
	uint32_t dram_fj_byte; /* femtojoules, at nominal voltage = that of the fastest OPP */
	uint32_t sram_fj_byte;
	uint32_t mac_fj;		/* one fp16 multiply with fp32 accumulate */
	uint32_t vx_fj;			/* one vector lane operation */
	uint32_t idle_uw;		/* clock tree and management core, always on */
	uint32_t leak_uw;		/* leakage at 25 C and nominal voltage */
	uint32_t leak_double_mc;	/* leakage doubles each so many millidegrees */
};

struct sim_chip_thermal {
	int32_t ambient_mc;
	uint32_t r_mk_w[SIM_CHIP_NODES]; /* millikelvin per watt: die-board, board-skin, skin-air */
	uint32_t c_mj_k[SIM_CHIP_NODES]; /* millijoules per kelvin of die, board, skin */
	/* firmware throttles, firmware halts, hardware switches off */
	int32_t trip_passive_mc, trip_hot_mc, trip_critical_mc;
};

struct sim_chip {
	char name[SIM_CHIP_NAME_SIZE];
	uint32_t cores;			/* 1..NE1_MAX_CORES */
	uint32_t sram_bytes;		/* per core, multiple of 64 */
	uint32_t macs_fp16;		/* per cycle and core, multiple of 32 */
	uint32_t vx_lanes;		/* elements per cycle and core */
	uint32_t formats;		/* bit n: enum ne1_type n is an MX operand type */
	uint32_t queues, asids;
	uint32_t sram_b_bytes;		/* bytes per cycle from SRAM into MX operand B */
	uint32_t fe_cycles;		/* front end, per command */
	uint32_t dma_cycles;		/* LD and ST, start of a command */
	uint32_t mx_fill_cycles, vx_fill_cycles; /* pipeline fill per command */
	unsigned int n_opps;
	struct sim_opp opp[SIM_CHIP_OPPS_MAX]; /* ascending; the last is NE1_REG_CAP_FREQ_MAX */
	struct sim_chip_dram dram;
	struct sim_chip_energy energy;
	struct sim_chip_thermal thermal;
};

/*
 * Loads a profile: a built-in one by its name ("edge"), or the file of that path (anything with a
 * '/' is a path).  0, or a negative errno with a message that names file, line, key and limit in
 * @err (always terminated, @errlen >= 1); @out is then undefined.
 */
int sim_chip_load(const char *name_or_path, struct sim_chip *out, char *err, size_t errlen);

/* The same from @text (@len bytes); @where stands for the file name in messages. */
int sim_chip_parse(const char *where, const char *text, size_t len, struct sim_chip *out, char *err,
		   size_t errlen);

/* Name of built-in profile @i, NULL past the last. */
const char *sim_chip_builtin(unsigned int i);

static inline const struct sim_opp *sim_chip_top_opp(const struct sim_chip *chip)
{
	return &chip->opp[chip->n_opps - 1];
}

#endif
