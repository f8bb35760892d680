/* SPDX-License-Identifier: MIT */
/* Hardware ASIDs for VMs: there may be more VMs than ASIDs, so an ASID is a cache entry. */
#ifndef NE1_FW_ASID_H
#define NE1_FW_ASID_H

#include <stdbool.h>
#include <stdint.h>

/* @count: ASIDs of the chip with ASID 0, which is the firmware's own. */
void asid_init(unsigned int count);

/*
 * The ASID of VM @vm with page-table root @pgd for one turn of a job, to be given back with
 * asid_put().  Takes the one least recently used among those without a running job if the VM has
 * none; 0 if all are in use.  A job that is put aside holds none, so that many of them cannot keep
 * others out.
 */
unsigned int asid_get(uint32_t vm, uint64_t pgd);
void asid_put(unsigned int asid);

/* Changes whenever @asid is given to another VM or page table; never 0. */
uint32_t asid_binding(unsigned int asid);

/* asid_get() would find one. */
bool asid_available(uint32_t vm);

/* Forgets @vm, of which no job runs, so that its page table can be freed. */
void asid_flush(uint32_t vm);

#endif
