/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_PGTABLE_H
#define NPUEDGE_PGTABLE_H

#include <linux/types.h>

#include "ne1_regs.h"

/** NPUEDGE_PT_ENTRIES - entries of a table, which fills a page of the device */
#define NPUEDGE_PT_ENTRIES	512
/** NPUEDGE_PAGE - bytes of the small leaf and of a table */
#define NPUEDGE_PAGE		4096ull
/** NPUEDGE_BLOCK - bytes of the big leaf */
#define NPUEDGE_BLOCK		(NPUEDGE_PAGE * NPUEDGE_PT_ENTRIES)

/**
 * struct npuedge_pt_table - one table of any level
 */
struct npuedge_pt_table {
	/** @entries: what the MMU reads; NPUEDGE_PT_ENTRIES of them */
	u64 *entries;
	/** @dma: bus address of @entries */
	u64 dma;
	/** @used: entries that are not zero */
	u32 used;
	/** @child: next tables by entry; NULL in the last level */
	struct npuedge_pt_table **child;
	/** @next: next table of the list of discarded ones */
	struct npuedge_pt_table *next;
};

/**
 * struct npuedge_pt_ops - where tables come from
 */
struct npuedge_pt_ops {
	/** @alloc: fill @entries (zeroed) and @dma of a table; 0 or -ENOMEM; may sleep */
	int (*alloc)(void *cookie, struct npuedge_pt_table *table);
	/** @free: give back what @alloc filled in */
	void (*free)(void *cookie, struct npuedge_pt_table *table);
};

/**
 * struct npuedge_pgtable - page tables of one address space
 *
 * Not thread safe.
 */
struct npuedge_pgtable {
	/** @ops: memory of tables */
	const struct npuedge_pt_ops *ops;
	/** @cookie: first argument of @ops */
	void *cookie;
	/** @root: table of the first level */
	struct npuedge_pt_table *root;
	/** @discarded: unlinked tables that the MMU may still walk */
	struct npuedge_pt_table *discarded;
	/** @tables: number of tables, the discarded included */
	u32 tables;
};

int npuedge_pt_init(struct npuedge_pgtable *pt, const struct npuedge_pt_ops *ops, void *cookie);
void npuedge_pt_fini(struct npuedge_pgtable *pt);
int npuedge_pt_prepare_map(struct npuedge_pgtable *pt, u64 va, u64 dma, u64 len);
int npuedge_pt_prepare_unmap(struct npuedge_pgtable *pt, u64 va, u64 len);
void npuedge_pt_map(struct npuedge_pgtable *pt, u64 va, u64 dma, u64 len, bool readonly);
bool npuedge_pt_unmap(struct npuedge_pgtable *pt, u64 va, u64 len);
void npuedge_pt_trim(struct npuedge_pgtable *pt, u64 va, u64 len);
void npuedge_pt_reap(struct npuedge_pgtable *pt);
u64 npuedge_pt_lookup(const struct npuedge_pgtable *pt, u64 va, u64 *leaf_size);

#endif
