/* SPDX-License-Identifier: MIT */
/*
 * The MMU (ne1.md section 4): page tables in host memory, walked on a miss, and one translation
 * cache per port.  A port is what one thread uses: each compute core has one, the management core's
 * window another.  Invalidation is a counter that every cached entry is checked against; it never
 * waits for a port.
 */
#ifndef NPUSIM_MMU_H
#define NPUSIM_MMU_H

#include <stdbool.h>
#include <stdint.h>

#include "mem.h"

struct sim_dma;
struct sim_fi;
struct sim_mmu;
struct sim_mmu_port;

/* NULL when memory is short. */
struct sim_mmu *sim_mmu_new(struct sim_dma *dma, unsigned int asids);
void sim_mmu_free(struct sim_mmu *mmu);	/* ports first */

/* Before ports are used.  A port has faults of its own accesses only if it is told to. */
void sim_mmu_set_faults(struct sim_mmu *mmu, struct sim_fi *faults);
void sim_mmu_port_set_faults(struct sim_mmu_port *port, struct sim_fi *faults);

struct sim_mmu_port *sim_mmu_port_new(struct sim_mmu *mmu);
void sim_mmu_port_free(struct sim_mmu_port *port);
/* What a core uses; enter, map and leave only from the port's one thread. */
struct sim_mem *sim_mmu_port_mem(struct sim_mmu_port *port);

/* Any thread.  Setting an address space drops its cached translations. */
void sim_mmu_set_asid(struct sim_mmu *mmu, unsigned int asid, uint64_t pgd, bool enable);
void sim_mmu_reset(struct sim_mmu *mmu);	/* disables and drops all */
void sim_mmu_invalidate(struct sim_mmu *mmu);	/* drops all: MMU_TLB_INV */
/* True while a port is still inside the enter/leave it was in at the last sim_mmu_invalidate(). */
bool sim_mmu_busy(struct sim_mmu *mmu);

#endif
