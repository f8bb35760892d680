/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_PGTABLE_H
#define NPUEDGE_PGTABLE_H

#include <linux/types.h>

#include "ne1_regs.h"

/** NPUEDGE_PT_ENTRIES - entries of a table, which fills a page of the device */
#define NPUEDGE_PT_ENTRIES	512
/** NPUEDGE_PT_LEVELS - levels of tables */
#define NPUEDGE_PT_LEVELS	3
/** NPUEDGE_PAGE - bytes of the small leaf and of a table */
#define NPUEDGE_PAGE		4096ull
/** NPUEDGE_BLOCK - bytes of the big leaf */
#define NPUEDGE_BLOCK		(NPUEDGE_PAGE * NPUEDGE_PT_ENTRIES)
/** NPUEDGE_SPAN - bytes that a table of the second level covers */
#define NPUEDGE_SPAN		(NPUEDGE_BLOCK * NPUEDGE_PT_ENTRIES)

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
	/** @next: next table of a struct npuedge_pt_list */
	struct npuedge_pt_table *next;
	/** @node: for who provides @entries */
	struct list_head node;
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
 * struct npuedge_pt_list - tables that are not linked
 */
struct npuedge_pt_list {
	/** @first: by @next of struct npuedge_pt_table */
	struct npuedge_pt_table *first;
	/** @count: their number */
	u32 count;
};

/**
 * struct npuedge_pt_need - tables that a change may take; initially zero
 */
struct npuedge_pt_need {
	/** @middle: tables of the second level */
	u32 middle;
	/** @last: tables of the last level */
	u32 last;
	/** @middle_end: address up to which @middle was counted */
	u64 middle_end;
	/** @last_end: address up to which @last was counted */
	u64 last_end;
};

/**
 * struct npuedge_pt_stock - tables for one change; initially zero
 */
struct npuedge_pt_stock {
	/** @middle: for the second level */
	struct npuedge_pt_list middle;
	/** @last: for the last level */
	struct npuedge_pt_list last;
	/** @discarded: unlinked by the change; the MMU may still walk them */
	struct npuedge_pt_list discarded;
};

/**
 * struct npuedge_pt_segment - contiguous memory of a buffer
 */
struct npuedge_pt_segment {
	/** @dma: bus address, multiple of 4096 */
	u64 dma;
	/** @len: bytes, multiple of 4096 */
	u64 len;
	/** @before: bytes of the buffer that are known to lie directly before @dma */
	u64 before;
	/** @after: bytes of the buffer that are known to lie directly behind the segment */
	u64 after;
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
	/** @spare_middle: zeroed tables of the second level, for later changes */
	struct npuedge_pt_list spare_middle;
	/** @spare_last: likewise of the last level */
	struct npuedge_pt_list spare_last;
	/** @tables: number of linked tables */
	u32 tables;
	/** @writes: entries written so far */
	u64 writes;
	/** @stale: set when the TLB may know what is no longer so; cleared by who invalidates it */
	bool stale;
};

int npuedge_pt_init(struct npuedge_pgtable *pt, const struct npuedge_pt_ops *ops, void *cookie);
void npuedge_pt_fini(struct npuedge_pgtable *pt);

void npuedge_pt_need_map(struct npuedge_pt_need *need, u64 va, u64 dma, u64 len);
void npuedge_pt_need_unmap(struct npuedge_pt_need *need, u64 va, u64 len);
void npuedge_pt_borrow(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
		       const struct npuedge_pt_need *need);
int npuedge_pt_reserve(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
		       const struct npuedge_pt_need *need);
void npuedge_pt_return(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock);
void npuedge_pt_release(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock);

int npuedge_pt_map(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock, u64 va,
		   const struct npuedge_pt_segment *seg, bool readonly);
int npuedge_pt_map_new(struct npuedge_pgtable *pt, u64 va, u64 dma, u64 len);
int npuedge_pt_unmap(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock, u64 va, u64 len);
void npuedge_pt_clear(struct npuedge_pgtable *pt, u64 va, u64 len);
u32 npuedge_pt_index(u64 va, u32 level);
u32 npuedge_pt_walk(const struct npuedge_pgtable *pt, u64 va, u64 *entry);
u64 npuedge_pt_lookup(const struct npuedge_pgtable *pt, u64 va, u64 *leaf_size);

#endif
