/* SPDX-License-Identifier: MIT */
/*
 * Finds SRAM accesses of a stream that nothing orders, whether or not they met this time: vector
 * clocks over the four engines and the front end, carried by semaphores.  A command is ordered
 * after the one before it on its engine, after what the front end had waited for when it dispatched
 * the command, and after the commands whose signals it took.
 */
#ifndef NPUSIM_RACE_H
#define NPUSIM_RACE_H

#include "engine.h"

#define SIM_RACE_UNITS		5	/* LD, ST, MX, VX, front end */
#define SIM_RACE_FE		4
#define SIM_RACE_HISTORY	64	/* commands per engine that are compared with */

/* Entry u: as many commands of unit u are known to have ended. */
struct sim_vclock {
	uint32_t ended[SIM_RACE_UNITS];
};

struct sim_race_access {
	uint32_t seq;			/* of its engine, from 1; 0: none */
	uint32_t index;			/* in the stream */
	unsigned int n_spans;
	struct sim_span span[SIM_SPANS_MAX];
};

struct sim_race {
	struct sim_vclock unit[SIM_RACE_UNITS];	/* of the last command, or the one about to start */
	uint32_t seq[SIM_RACE_UNITS];
	struct {
		struct sim_vclock clock[NE1_FIFO_DEPTH];
		unsigned int head, count;
	} fifo[SIM_RACE_UNITS];
	struct {
		struct sim_vclock clock[NE1_SEM_MAX];
		unsigned int head, count;
	} sem[NE1_SEMS];
	struct sim_race_access history[SIM_RACE_UNITS][SIM_RACE_HISTORY];
};

void sim_race_reset(struct sim_race *race);
/* The front end puts a command into the FIFO of @engine. */
void sim_race_dispatch(struct sim_race *race, unsigned int engine);
/* The command at hand of @unit takes one of @sem. */
void sim_race_wait(struct sim_race *race, unsigned int unit, unsigned int sem);
/* The front end saw all engines idle. */
void sim_race_all_idle(struct sim_race *race);
void sim_race_signal(struct sim_race *race, unsigned int unit, unsigned int sem);

struct sim_race_pair {
	struct sim_span mine, other;
	unsigned int engine;		/* of the other */
	uint32_t index;
};

/* The next command of @engine starts, after its waits were told.  True: a race, *@pair says how. */
bool sim_race_start(struct sim_race *race, unsigned int engine, uint32_t index,
		    const struct sim_plan *plan, struct sim_race_pair *pair);

#endif
