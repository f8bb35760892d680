/* SPDX-License-Identifier: MIT */
/*
 * Faults on demand.  A fault is a row of the table in fault_table.c; it is armed with a
 * specification and then fires on some of the events that concern it.  Blocks of the model ask at
 * each such event (sim_fi_hit) or whether a condition holds (sim_fi_state), and do themselves what
 * the fault means.
 *
 * Any thread.  A NULL engine has no faults, and one with nothing armed costs a load per event.
 * Locks: the engine's is innermost; nothing is called with it held.
 */
#ifndef NPUSIM_FAULT_INJECT_H
#define NPUSIM_FAULT_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debug_window.h"
#include "ne1_regs.h"

struct sim_fi;
struct sim_irq;
struct sim_mc;
struct sim_dma;
struct sim_mmu;
struct sim_regs;
struct sim_soc;
struct sim_trace;
struct sim_vfio;

#define SIM_FI_ARGS	4
#define SIM_FI_ANY	UINT64_MAX	/* selecting: everything; of other arguments: random */
#define SIM_FI_PPM	1000000u

/* ---- The table ---- */

struct sim_fi_arg {
	const char *name;	/* NULL: not there */
	uint64_t max;		/* highest value; SIM_FI_ANY is allowed if it is the default */
	uint64_t def;
	const char *help;
};

struct sim_fi_kind {
	const char *name;
	const char *help;
	const char *event;	/* what an event is; NULL: fired by a trigger (enum npusim_on) */
	const char *duration;	/* what duration_us means; NULL: disarms itself after it */
	bool firmware;		/* a condition that a reset of the device ends */
	bool unlimited;		/* count is 0 unless said */
	uint8_t selects;	/* so many arguments, from the first, choose events */
	uint8_t range;		/* 1 + argument that starts a range, its size is the next */
	bool by_table;		/* events know a page table: argument 0 is a queue that has it */
	struct sim_fi_arg arg[SIM_FI_ARGS];
};

extern const struct sim_fi_kind sim_fi_kinds[NPUSIM_FAULTS];
extern const char *const sim_fi_on_names[NPUSIM_ONS];

int sim_fi_find(const char *name);	/* enum npusim_fault, -1 */

/* ---- Arming ---- */

struct sim_fi_spec {
	enum npusim_fault fault;
	enum npusim_on on;
	uint64_t key;		/* which events of @on; SIM_FI_ANY: all */
	uint64_t after, count;
	uint64_t duration_us;
	uint32_t ppm;		/* probability in millionths */
	uint64_t seed;		/* 0: derived from that of all */
	uint64_t arg[SIM_FI_ARGS];
};

#define SIM_FI_DURATION_MAX_US	UINT32_MAX

/* What is wrong with a specification. */
struct sim_fi_error {
	const char *field;
	uint64_t value, limit;
};

void sim_fi_defaults(struct sim_fi_spec *spec, enum npusim_fault fault);
bool sim_fi_check(const struct sim_fi_spec *spec, struct sim_fi_error *error);

/* @spec has passed the check.  Arms anew if it was armed, its counts start from zero. */
void sim_fi_arm(struct sim_fi *fi, const struct sim_fi_spec *spec);
void sim_fi_disarm(struct sim_fi *fi, enum npusim_fault fault);
void sim_fi_disarm_all(struct sim_fi *fi);
void sim_fi_seed(struct sim_fi *fi, uint64_t seed);	/* takes effect at the next arming */

struct sim_fi_status {
	bool armed, active;	/* active: its condition holds */
	uint64_t seen, fired;	/* since it was armed */
	struct sim_fi_spec spec;
};

void sim_fi_status(struct sim_fi *fi, enum npusim_fault fault, struct sim_fi_status *status);

struct sim_fi_firing {
	uint64_t number;	/* of all firings, from 1 */
	uint64_t time_ns;	/* device time */
	enum npusim_fault fault;
	uint64_t key[2];	/* of the event: queue, vector, core ..., see the table */
};

#define SIM_FI_LOG	1024	/* firings that are remembered */

/* Up to @max firings with a number above @since, oldest first; returns how many. */
unsigned int sim_fi_log(struct sim_fi *fi, uint64_t since, struct sim_fi_firing *out,
			unsigned int max);

/* ---- Asking ---- */

struct sim_fi_shot {
	uint64_t arg[SIM_FI_ARGS];
	uint64_t key[SIM_FI_ARGS];
	uint64_t duration_ns;
	uint64_t random[4];	/* the same for the same seed */
};

struct sim_fi_fast {
	atomic_bool armed[NPUSIM_FAULTS];
	atomic_bool active[NPUSIM_FAULTS];
	atomic_uint on;			/* triggers that an armed fault waits for */
	atomic_uint mmu;		/* some fault of translations is armed */
};

const struct sim_fi_fast *sim_fi_fast(struct sim_fi *fi);
bool sim_fi_hit_slow(struct sim_fi *fi, enum npusim_fault fault, const uint64_t *key,
		     struct sim_fi_shot *shot);
bool sim_fi_state_slow(struct sim_fi *fi, enum npusim_fault fault, struct sim_fi_shot *shot);
void sim_fi_trigger_slow(struct sim_fi *fi, enum npusim_on on, uint64_t key);

/* An event of @fault with up to SIM_FI_ARGS keys; true: it fires, as @shot (may be NULL) says. */
static inline bool sim_fi_hit(struct sim_fi *fi, enum npusim_fault fault, struct sim_fi_shot *shot,
			      const uint64_t key[SIM_FI_ARGS])
{
	/* The engine begins with the part that is read without its lock. */
	const struct sim_fi_fast *fast = (const struct sim_fi_fast *)fi;

	return fi && atomic_load_explicit(&fast->armed[fault], memory_order_relaxed) &&
	       sim_fi_hit_slow(fi, fault, key, shot);
}

#define SIM_FI_KEY(...)	((const uint64_t[SIM_FI_ARGS]){ __VA_ARGS__ })

/* Whether the condition of @fault holds now. */
static inline bool sim_fi_state(struct sim_fi *fi, enum npusim_fault fault,
				struct sim_fi_shot *shot)
{
	const struct sim_fi_fast *fast = (const struct sim_fi_fast *)fi;

	return fi && atomic_load_explicit(&fast->active[fault], memory_order_relaxed) &&
	       sim_fi_state_slow(fi, fault, shot);
}

/* Something happened that may fire faults without events of their own. */
static inline void sim_fi_trigger(struct sim_fi *fi, enum npusim_on on, uint64_t key)
{
	const struct sim_fi_fast *fast = (const struct sim_fi_fast *)fi;

	if (fi && atomic_load_explicit(&fast->on, memory_order_relaxed) & 1u << on)
		sim_fi_trigger_slow(fi, on, key);
}

static inline bool sim_fi_mmu_armed(struct sim_fi *fi)
{
	const struct sim_fi_fast *fast = (const struct sim_fi_fast *)fi;

	return fi && atomic_load_explicit(&fast->mmu, memory_order_relaxed);
}

/* ---- Life ---- */

/* @who, @soc and @trace (may be NULL) outlive it.  NULL when memory is short. */
struct sim_fi *sim_fi_new(const char *who, struct sim_soc *soc, struct sim_trace *trace);
void sim_fi_free(struct sim_fi *fi);	/* after sim_fi_stop() */

/* What actions reach; all outlive sim_fi_stop(). */
struct sim_fi_parts {
	const char *who;
	struct sim_soc *soc;
	struct sim_trace *trace;
	struct sim_regs *regs;
	struct sim_irq *irq;
	struct sim_dma *dma;
	struct sim_mmu *mmu;
	struct sim_mc *mc;
	struct sim_vfio *vfio;
};

#endif
