/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_MMU_H
#define NPUEDGE_MMU_H

#include <linux/mm.h>
#include <linux/types.h>

#include "npuedge_pgtable.h"

struct npuedge_device;
struct sg_table;

/** NPUEDGE_TABLE_BYTES - what a page table takes: coherent memory comes in pages of the CPU */
#define NPUEDGE_TABLE_BYTES	PAGE_ALIGN(NPUEDGE_PAGE)

int npuedge_mmu_init_pgtable(struct npuedge_device *edev, struct npuedge_pgtable *pt);
void npuedge_mmu_free_tables(struct npuedge_device *edev);
int npuedge_mmu_need_map(struct npuedge_pt_need *need, u64 va, struct sg_table *sgt, u64 offset,
			 u64 len);
int npuedge_mmu_map(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock, u64 va,
		    struct sg_table *sgt, u64 offset, u64 len, bool readonly);
void npuedge_mmu_invalidate(struct npuedge_device *edev);
int npuedge_mmu_try_invalidate(struct npuedge_device *edev);
void npuedge_mmu_invalidate_on_resume(struct npuedge_device *edev);
void npuedge_mmu_resume(struct npuedge_device *edev);
void npuedge_mmu_report_fault(struct npuedge_device *edev);

#endif
