/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_MMU_H
#define NPUEDGE_MMU_H

#include <linux/types.h>

struct npuedge_device;
struct npuedge_pgtable;
struct sg_table;

int npuedge_mmu_init_pgtable(struct npuedge_device *edev, struct npuedge_pgtable *pt);
int npuedge_mmu_prepare_map(struct npuedge_pgtable *pt, u64 va, struct sg_table *sgt, u64 offset,
			    u64 len);
void npuedge_mmu_map(struct npuedge_pgtable *pt, u64 va, struct sg_table *sgt, u64 offset, u64 len,
		     bool readonly);
void npuedge_mmu_invalidate(struct npuedge_device *edev);
void npuedge_mmu_report_fault(struct npuedge_device *edev);

#endif
