/* SPDX-License-Identifier: MIT */
/* Inside of the fault engine: shared by fault_*.c alone. */
#ifndef NPUSIM_FAULT_PRIV_H
#define NPUSIM_FAULT_PRIV_H

#include <pthread.h>

#include "fault_inject.h"
#include "fault_points.h"
#include "ne1_fwabi.h"

struct slot {
	struct sim_fi_spec spec;
	bool armed, active;
	uint64_t seen, fired;
	uint64_t skip, left;		/* events that still pass; firings until disarmed */
	uint64_t rng;
	uint64_t expires_ns, until_ns;	/* host time: of the arming (0: never), of the condition */
	struct sim_fi_shot shot;	/* that began the condition */
};

/* What is known of a queue from the commands that firmware took. */
struct queue_info {
	uint64_t pgd;			/* 0: no such queue */
	uint64_t ring, results;
	uint32_t entries, vm;
};

/* Where things are in the shared region; offsets from VA 0 of ASID 0. */
struct shared {
	bool known;
	uint32_t size;
	uint32_t cmd_ctl, cmd_ring, cmd_entries;
	uint32_t evt_ctl, evt_ring, evt_entries;
	uint32_t log_ctl;
	uint32_t queue_table, queue_count;
};

#define HELD_MAX	16	/* messages held back at a time */
#define KNOWN_IDS	256	/* commands whose type is remembered */
#define LATER_MAX	64	/* interrupts and stray writes under way */

struct held {
	struct ne1_msg msg;
	uint64_t due_ns;
	bool after_next;	/* due as soon as another message was published */
};

/* The event ring between firmware and host; the management core's thread alone. */
struct interposer {
	uint32_t fw_write;	/* events that firmware has published */
	uint32_t delta;		/* host's index - firmware's, modulo 2^32 */
	struct held held[HELD_MAX];
	unsigned int n_held;
	struct ne1_msg last;	/* message published before */
	uint16_t minor;		/* of the ABI that firmware says it speaks */
	uint16_t type_of[KNOWN_IDS];
	uint32_t id_of[KNOWN_IDS];
	uint32_t low[NE1_MAX_QUEUES];	/* low half of done_seqno, as firmware wrote it */
	uint64_t wrong[NE1_MAX_QUEUES];	/* what is added to it */
	struct {
		bool held;
		bool again;
		uint64_t value;
		uint64_t due_ns;
	} done[NE1_MAX_QUEUES];
};

struct later {
	bool used, irq;		/* an interrupt, else a write */
	unsigned int vector;
	uint64_t bus, value;
	uint64_t due_ns;
	unsigned int asid;	/* bus == SIM_FI_ANY: where */
	uint64_t va;
};

/* A message or a flood that the management core's thread has to put into the ring. */
struct insert {
	struct ne1_msg msg;
	uint32_t count;
	bool overrun;
};

#define INSERTS_MAX	8

struct sim_fi {
	struct sim_fi_fast fast;	/* first: sim_fi_hit() and the like */
	struct sim_fi_counters count;
	struct sim_fi_parts parts;

	pthread_mutex_t lock;		/* all below but msg */
	pthread_cond_t cond;
	uint64_t seed;
	struct slot slot[NPUSIM_FAULTS];
	struct sim_fi_firing log[SIM_FI_LOG];
	uint64_t firings;
	bool resetting, crash_wanted;
	struct sim_fi_shot crash;
	uint64_t slow_until_ns;		/* fw-slow: no instruction before */
	struct {
		atomic_bool held;	/* set by the core's thread alone */
		bool obeys;
		uint64_t until_ns, last_ns;
	} stuck[NE1_MAX_CORES];
	uint64_t reset_until_ns, boot_until_ns;
	struct queue_info queue[NE1_MAX_QUEUES];
	struct shared shared;
	struct later later[LATER_MAX];
	struct insert insert[INSERTS_MAX];
	unsigned int n_inserts;
	struct sim_fi_job job[SIM_FI_JOBS];
	uint64_t jobs;
	struct sim_fi_job totals;	/* at the end of the last job */
	bool quit;

	struct interposer msg;

	pthread_t thread;
	bool has_thread;
	pthread_mutex_t port_lock;	/* before the memory's lock, before lock */
	struct sim_mmu_port *port;
	atomic_uint_fast64_t pgd[NE1_MAX_ASIDS];
	atomic_uint_fast64_t store_va;	/* where a core stored last */
	atomic_uint store_asid;
};

uint64_t sim_fi_random(uint64_t *state);
uint64_t sim_fi_now(void);			/* host's monotonic clock, ns */

/* Fires @fault if it wants to, and does what that means. */
void sim_fi_fire(struct sim_fi *fi, enum npusim_fault fault, enum npusim_on on, uint64_t key);
void sim_fi_act(struct sim_fi *fi, enum npusim_fault fault, const struct sim_fi_shot *shot);
/* The condition of @fault begins. */
void sim_fi_begin(struct sim_fi *fi, enum npusim_fault fault, const struct sim_fi_shot *shot);
/* Makes the engine's thread and the management core look again. */
void sim_fi_wake(struct sim_fi *fi);

/* An interrupt or a write that comes by itself at @later->due_ns; dropped when too many are. */
void sim_fi_later(struct sim_fi *fi, const struct later *later);

void sim_fi_msg_reset(struct sim_fi *fi);
/* Host time at which sim_fi_work() is wanted, UINT64_MAX: not. */
uint64_t sim_fi_msg_due(struct sim_fi *fi);
void sim_fi_job_ended(struct sim_fi *fi, unsigned int queue, uint64_t seqno);

#endif
