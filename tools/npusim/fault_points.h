/* SPDX-License-Identifier: MIT */
/*
 * The points at which blocks of the device ask the fault engine or tell it something.  All take a
 * NULL engine.
 */
#ifndef NPUSIM_FAULT_POINTS_H
#define NPUSIM_FAULT_POINTS_H

#include <stdatomic.h>

#include "fault_inject.h"
#include "mem.h"

struct rv32;
struct sim_core_hooks;

/* ---- Counters ---- */

struct sim_fi_counters {
	atomic_uint_fast64_t mmio_reads, mmio_writes;	/* of BAR0, without the debug window */
	atomic_uint_fast64_t mmio_asleep;		/* in D3hot, not among these */
	atomic_uint_fast64_t doorbells, mailboxes;
	atomic_uint_fast64_t irqs[NE1_MSIX_VECTORS];	/* messages sent */
	atomic_uint_fast64_t walks;
	atomic_uint_fast64_t jobs;
	atomic_uint_fast64_t doorbell_ns, irq_ns;	/* host time of the last */
};

struct sim_fi_counters *sim_fi_counters(struct sim_fi *fi);

#define SIM_FI_JOBS	64	/* last jobs that are remembered */

/* A job that firmware reported, and what the host did since the one before. */
struct sim_fi_job {
	uint64_t number, queue, seqno;
	uint64_t host_ns;
	uint64_t mmio_reads, mmio_writes, doorbells, irqs;
};

unsigned int sim_fi_jobs(struct sim_fi *fi, struct sim_fi_job out[SIM_FI_JOBS]);

/* ---- Host side ---- */

void sim_fi_mmio(struct sim_fi *fi, uint32_t offset, bool write);
/* True: read as ones. */
bool sim_fi_mmio_ones(struct sim_fi *fi, uint32_t offset);
/* The bus has reset the function, in whatever way. */
void sim_fi_bus_reset(struct sim_fi *fi);
/* True: lost. */
bool sim_fi_doorbell(struct sim_fi *fi, unsigned int queue);
bool sim_fi_mailbox(struct sim_fi *fi);
/* The vector to send instead of @vector, -1: none. */
int sim_fi_irq(struct sim_fi *fi, unsigned int vector);
void sim_fi_irq_sent(struct sim_fi *fi, unsigned int vector);
/* Milliseconds for which the socket shall be silent now. */
unsigned int sim_fi_stall_ms(struct sim_fi *fi);

/* ---- Management core's thread ---- */

void sim_fi_reset_begin(struct sim_fi *fi);	/* before anything is stopped */
void sim_fi_reset_end(struct sim_fi *fi);
/* A reset was asked for (any thread); whether it has to wait still. */
void sim_fi_reset_asked(struct sim_fi *fi);
bool sim_fi_reset_held(struct sim_fi *fi);

/* Whether firmware may not run now (hang, slow). */
bool sim_fi_held(struct sim_fi *fi);
bool sim_fi_watchdog_held(struct sim_fi *fi);
/* How long the thread may sleep at most before it looks here again. */
uint64_t sim_fi_sleep_ns(struct sim_fi *fi);
/* Whether sim_fi_work() has something to do; it needs the window's memory, entered. */
bool sim_fi_due(struct sim_fi *fi);
void sim_fi_work(struct sim_fi *fi, struct sim_mem *mem);
/* True: the core shall go on from a bad address, and does. */
bool sim_fi_crash(struct sim_fi *fi, struct rv32 *cpu);
/* Around a slice of instructions. */
uint64_t sim_fi_slice_start(struct sim_fi *fi);
void sim_fi_slice_end(struct sim_fi *fi, uint64_t start);

/* Whether the ROM hangs in LOADING now. */
bool sim_fi_boot_held(struct sim_fi *fi);
void sim_fi_boot_begin(struct sim_fi *fi);
/* What the ROM read from @bus: *@ok may become false, the bytes others. */
void sim_fi_boot_copied(struct sim_fi *fi, void *buf, uint64_t len, bool *ok);
unsigned int sim_fi_boot_error(struct sim_fi *fi, unsigned int err);
/* Firmware writes BOOT_STATE; true: nobody sees it. */
bool sim_fi_boot_state(struct sim_fi *fi, uint32_t value);

/*
 * A store of firmware to VA @va of the window (memory entered): may change all three; true: it is
 * not done.  A load: may change the address, then the value.
 */
bool sim_fi_store(struct sim_fi *fi, struct sim_mem *mem, uint64_t *va, unsigned int size,
		  uint32_t *value);
void sim_fi_loaded(struct sim_fi *fi, uint64_t va, uint32_t *value);

/* ---- Compute cores and MMU ---- */

struct sim_core_hooks sim_fi_core_hooks(struct sim_fi *fi);
/* A write of CORE_CTRL; returns the bits that arrive. */
uint32_t sim_fi_core_control(struct sim_fi *fi, unsigned int core, uint32_t bits);
uint32_t sim_fi_freq(struct sim_fi *fi, uint32_t khz);

void sim_fi_set_asid(struct sim_fi *fi, unsigned int asid, uint64_t pgd);
enum ne1_mmu_code sim_fi_translate(struct sim_fi *fi, unsigned int asid, uint64_t va, bool write);
void sim_fi_walked(struct sim_fi *fi);
bool sim_fi_walk_fails(struct sim_fi *fi, unsigned int asid, uint64_t va);	/* bus error */
bool sim_fi_tlb_stale(struct sim_fi *fi);

/* ---- Life ---- */

/* Starts the engine's thread.  0 or a positive errno. */
int sim_fi_start(struct sim_fi *fi, const struct sim_fi_parts *parts);
void sim_fi_stop(struct sim_fi *fi);	/* before the parts go */

/* Lines of queues in the shared region, as they are now; false: no firmware has told where. */
bool sim_fi_read_queue(struct sim_fi *fi, unsigned int queue, void *line, uint32_t size);

#endif
