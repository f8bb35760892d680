/* SPDX-License-Identifier: MIT */
/*
 * A command stream under construction.  The caller adds commands in an order in which they could
 * run one after the other and says what each reads and writes; the stream makes the engines wait
 * for each other where that is needed and nowhere else.
 *
 * How.  Every ordered pair of engines has a semaphore.  When a command on engine E depends on the
 * P-th command of engine D and E cannot know yet that it has ended, command P signals D->E and the
 * new one waits for it.  Engines run in order, so the n-th wait meets the n-th signal.  What an
 * engine knows is a vector clock: for each other engine the number of the last command that is
 * known to have ended, directly or through what that command's engine knew.
 *
 * Commands that may be skipped lie in regions (one SKIP each); a group is a chain of regions in
 * which each runs only if the one before did.  Skipped commands must leave semaphores balanced,
 * therefore a region uses pair semaphores of its own and never waits for, or signals, commands
 * outside of it: what it needs from outside must be known to its engines already, and what later
 * commands need from it they get from the first command of that engine behind the group, knowledge
 * won inside being dropped.
 */
#ifndef LIBNPU_COMPILE_STREAM_H
#define LIBNPU_COMPILE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "compile/history.h"
#include "ne1_cmd.h"
#include "npu/status.h"

enum { ENG_LD, ENG_ST, ENG_MX, ENG_VX, ENGINES, ENG_NONE = ENGINES };
_Static_assert(ENGINES == HISTORY_ENGINES, "one history for all engines");

/* Semaphores: D->E is D * 4 + E outside of regions and 16 + D * 4 + E in regions; the diagonals are
 * free.
 */
#define SEM_PAIR(d, e)		((d) * ENGINES + (e))
#define SEM_REGION		16
#define SEM_USER		0	/* for the caller, with the meaning the caller gives it */

/* Bytes of SRAM a command touches: count[0] * count[1] rows of `bytes`.  Addresses from
 * stream_resource() stand for things in DRAM whose order matters.
 */
struct access {
	uint32_t addr;
	uint32_t bytes;
	uint32_t count[2];
	uint32_t stride[2];
	bool write;
	bool no_wait;		/* the caller has taken care of the order */
};

#define READ(a, n)		((struct access){ .addr = (a), .bytes = (n), .count = { 1, 1 } })
#define WRITE(a, n) ((struct access){ .addr = (a), .bytes = (n), .count = { 1, 1 }, .write = true })

struct cmd_meta {
	uint8_t engine;
	uint32_t seq;			/* number within its engine, from 1 */
	uint32_t group, region;		/* 0: none */
	uint32_t clock[ENGINES];	/* what the engine knew when it started */
};

struct group {
	uint32_t end[ENGINES];		/* seq of the last command within or before it */
	uint32_t clock[ENGINES][ENGINES]; /* at its begin */
	uint32_t first_skip;		/* index of the first SKIP */
};

/* A YIELD: its command, and the loads that its job needs to go on. */
struct stream_yield {
	uint32_t at;
	uint32_t first_load, n_loads;
};

struct stream {
	union ne1_cmd *cmds;
	struct cmd_meta *meta;
	uint32_t n, max;
	uint32_t *by_seq[ENGINES];	/* command index of each seq */
	uint32_t seq[ENGINES];
	uint32_t clock[ENGINES][ENGINES]; /* [e][d]: what e knows of d */
	uint32_t signalled[2][ENGINES][ENGINES]; /* [in region][d][e]: seq of d's last signal */

	struct history history;		/* of the SRAM, then of resources */
	uint32_t resource_base;		/* granule */

	struct group *groups;		/* [1..n_groups] */
	uint32_t n_groups, max_groups;
	uint32_t group, region;		/* open ones, 0: none */

	struct stream_yield *yields;
	union ne1_cmd *loads;		/* of all yields, one after the other */
	uint32_t n_yields, max_yields, n_loads, max_loads;

	/* Where commands that only carry semaphores have their operands. */
	uint32_t carrier_sram;		/* CARRIER_SRAM bytes */
	uint8_t carrier_base;
	uint64_t carrier_offset;

	npu_status status;		/* sticky: after a failure, adding does nothing */
};

#define CARRIER_SRAM	256u

npu_status stream_init(struct stream *s, uint32_t sram_bytes, uint32_t n_resources);
void stream_fini(struct stream *s);
/* Address of DRAM resource @i < n_resources for struct access. */
uint32_t stream_resource(const struct stream *s, uint32_t i);

/* A zeroed command without semaphores. */
union ne1_cmd stream_cmd(uint8_t opcode);
/* Semaphores already set in @cmd stay. */
void stream_add(struct stream *s, const union ne1_cmd *cmd, const struct access *acc, uint32_t n);

/* Regions; stream_region() ends the one before and skips to the end of the group if
 * value[param] <= limit.
 */
void stream_group_begin(struct stream *s);
void stream_region(struct stream *s, uint8_t param, uint32_t limit);
void stream_group_end(struct stream *s);

/* Outside of groups: a YIELD at which everything in the SRAM that later commands need can be had
 * again by the @n loads, which have no semaphores.
 */
void stream_yield(struct stream *s, const union ne1_cmd *loads, uint32_t n);

/* END; puts in what stands behind the YIELDs, after which only `cmds` and `n` mean something. */
void stream_finish(struct stream *s);

/* restore.c, for stream_finish(). */
void stream_put_restores(struct stream *s);

/* Engine of an opcode, ENG_NONE for control commands. */
unsigned int stream_engine(uint8_t opcode);

/* stream.c's, for track.c: append as it is. */
void stream_append(struct stream *s, const union ne1_cmd *cmd, unsigned int engine);

#endif
