/* SPDX-License-Identifier: MIT */
/*
 * Core dumps of the driver, as text (Documentation of the driver, "Core dumps"): a line
 * "npuedge-coredump 1", lines "key: value", then sections "[name bytes=N va=0x...]" with N bytes,
 * text in regs, fw_log, walk and vm, hexadecimal elsewhere.  A dump may come from anywhere: every
 * number in it is checked.
 */
#ifndef NPUSIM_COREDUMP_H
#define NPUSIM_COREDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_DUMP_SECTIONS	256u
#define SIM_DUMP_RANGES		4096u
#define SIM_DUMP_TEXT_MAX	(256u << 20)	/* bytes of a file */

struct sim_dump_section {
	char name[16];
	uint64_t va;		/* 0: none given */
	uint8_t *data;
	size_t size;
};

/* A mapping of the job's address space. */
struct sim_dump_range {
	uint64_t va, size;
	bool readonly;
};

struct sim_dump {
	char chip[32];
	char reason[32];
	bool has_job;
	uint64_t queue, vm, seqno, fault, cmd, va, info, time_ns;
	struct sim_dump_section section[SIM_DUMP_SECTIONS];
	unsigned int n_sections;
	struct sim_dump_range range[SIM_DUMP_RANGES];
	unsigned int n_ranges;	/* sorted by va, none overlaps another */
};

/* 0, or -1 with a line in @err that names what is wrong and where.  To be cleared in both cases. */
int sim_dump_parse(struct sim_dump *dump, const char *text, size_t len, char *err, size_t err_size);
void sim_dump_clear(struct sim_dump *dump);

/* The first section of this name, NULL. */
const struct sim_dump_section *sim_dump_find(const struct sim_dump *dump, const char *name);

#endif
