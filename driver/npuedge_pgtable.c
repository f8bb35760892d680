// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Page tables
 *
 * Three levels of 512 entries translate 39 bits of address; a leaf is 4 KiB, or 2 MiB where
 * address and memory allow.  This file knows nothing of Linux' memory management: it works on
 * tables that its user allocates, so that the same source is tested on the host.
 *
 * A change may have to happen where memory cannot be allocated, and when other changes have
 * happened first.  So its tables are counted (npuedge_pt_need_map(), npuedge_pt_need_unmap()) and
 * reserved in a stock ahead of it, as many as it takes in the worst case, whatever the tables look
 * like then.  npuedge_pt_map() and npuedge_pt_unmap() take what they need; the rest is given back.
 *
 * Every entry goes from one valid state to the next by a single store, so that what is not part of
 * a change, and what a change replaces, is translated at every moment: a big leaf that is changed
 * in part is first exchanged for a table of small leaves that translate alike; and a table that has
 * come to translate like a big leaf is exchanged for one.
 *
 * Tables that are no longer linked are kept in the stock, as the MMU may still be walking them:
 * npuedge_pt_release() frees them after the caller has invalidated the TLB.
 */

#include <linux/errno.h>
#include <linux/minmax.h>
#include <asm/barrier.h>

#include "npuedge_pgtable.h"
#include "npuedge_slab.h"

#define NPUEDGE_PT_LAST		2
#define NPUEDGE_PT_BLOCK_LEVEL	1
/* Tables of a kind that are kept for later changes: what two small maps take. */
#define NPUEDGE_PT_SPARES	2

/**
 * npuedge_pt_index() - which entry of a level's table an address uses
 * @va: address below 2^39
 * @level: 0 for the root
 *
 * Return: index.
 */
u32 npuedge_pt_index(u64 va, u32 level)
{
	return va >> (12 + 9 * (NPUEDGE_PT_LAST - level)) & (NPUEDGE_PT_ENTRIES - 1);
}

static u64 npuedge_pt_leaf(u64 dma, bool readonly)
{
	return (dma & NE1_PTE_ADDR) | NE1_PTE_VALID | NE1_PTE_LEAF | (readonly ? NE1_PTE_RO : 0);
}

/* A big leaf fits at va if both addresses are aligned and the segment is long enough. */
static bool npuedge_pt_is_block(u64 va, u64 dma, u64 len)
{
	return !((va | dma) & (NPUEDGE_BLOCK - 1)) && len >= NPUEDGE_BLOCK;
}

/* Bytes from va to the next boundary of 2 MiB, at most len. */
static u64 npuedge_pt_step(u64 va, u64 len)
{
	return min(len, NPUEDGE_BLOCK - (va & (NPUEDGE_BLOCK - 1)));
}

static void npuedge_pt_set(struct npuedge_pgtable *pt, struct npuedge_pt_table *table, u32 index,
			   u64 entry)
{
	u64 old = table->entries[index];

	if (old == entry)
		return;

	table->used += !!entry - !!old;
	/* The MMU caches no entry that is not present. */
	pt->stale |= !!old;
	pt->writes++;
	WRITE_ONCE(table->entries[index], entry);
}

static void npuedge_pt_free_table(struct npuedge_pgtable *pt, struct npuedge_pt_table *table)
{
	pt->ops->free(pt->cookie, table);
	kfree(table->child);
	kfree(table);
}

static struct npuedge_pt_table *npuedge_pt_alloc_table(struct npuedge_pgtable *pt, int level)
{
	struct npuedge_pt_table *table;

	table = kzalloc_obj(*table, GFP_KERNEL_ACCOUNT);
	if (!table)
		return NULL;

	if (level != NPUEDGE_PT_LAST) {
		table->child = kcalloc(NPUEDGE_PT_ENTRIES, sizeof(*table->child),
				       GFP_KERNEL_ACCOUNT);
		if (!table->child)
			goto err_free;
	}

	if (pt->ops->alloc(pt->cookie, table))
		goto err_free;
	return table;

err_free:
	kfree(table->child);
	kfree(table);
	return NULL;
}

static void npuedge_pt_push(struct npuedge_pt_list *list, struct npuedge_pt_table *table)
{
	table->next = list->first;
	list->first = table;
	list->count++;
}

static struct npuedge_pt_table *npuedge_pt_pop(struct npuedge_pt_list *list)
{
	struct npuedge_pt_table *table = list->first;

	if (table) {
		list->first = table->next;
		list->count--;
	}
	return table;
}

static void npuedge_pt_link(struct npuedge_pgtable *pt, struct npuedge_pt_table *table, u32 index,
			    struct npuedge_pt_table *child)
{
	/* The MMU must not find a table before its content. */
	dma_wmb();
	npuedge_pt_set(pt, table, index, child->dma | NE1_PTE_VALID);
	table->child[index] = child;
	pt->tables++;
}

/* Put @entry in the place of a table. */
static void npuedge_pt_unlink(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
			      struct npuedge_pt_table *table, u32 index, u64 entry)
{
	npuedge_pt_set(pt, table, index, entry);
	npuedge_pt_push(&stock->discarded, table->child[index]);
	table->child[index] = NULL;
	pt->tables--;
}

static struct npuedge_pt_table *npuedge_pt_middle(const struct npuedge_pgtable *pt, u64 va)
{
	return pt->root->child[npuedge_pt_index(va, 0)];
}

/* The middle table for va, made if missing. */
static struct npuedge_pt_table *npuedge_pt_get_middle(struct npuedge_pgtable *pt,
						      struct npuedge_pt_stock *stock, u64 va)
{
	struct npuedge_pt_table *middle = npuedge_pt_middle(pt, va);

	if (middle)
		return middle;

	middle = npuedge_pt_pop(&stock->middle);
	if (middle)
		npuedge_pt_link(pt, pt->root, npuedge_pt_index(va, 0), middle);
	return middle;
}

/* The last table below entry index of a middle table; made if missing, out of a big leaf if any. */
static struct npuedge_pt_table *npuedge_pt_get_last(struct npuedge_pgtable *pt,
						    struct npuedge_pt_stock *stock,
						    struct npuedge_pt_table *middle, u32 index)
{
	u64 block = middle->entries[index];
	struct npuedge_pt_table *last;
	bool stale = pt->stale;

	if (middle->child[index])
		return middle->child[index];

	last = npuedge_pt_pop(&stock->last);
	if (!last)
		return NULL;

	for (u32 i = 0; block && i < NPUEDGE_PT_ENTRIES; i++)
		npuedge_pt_set(pt, last, i, block + i * NPUEDGE_PAGE);
	npuedge_pt_link(pt, middle, index, last);
	/* What the TLB knows of a big leaf stays true. */
	pt->stale = stale;
	return last;
}

/**
 * npuedge_pt_init() - make the root table
 * @pt: page tables
 * @ops: memory of tables
 * @cookie: first argument of @ops
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_pt_init(struct npuedge_pgtable *pt, const struct npuedge_pt_ops *ops, void *cookie)
{
	*pt = (struct npuedge_pgtable) { .ops = ops, .cookie = cookie };
	pt->root = npuedge_pt_alloc_table(pt, 0);
	if (!pt->root)
		return -ENOMEM;

	pt->tables = 1;
	return 0;
}

static void npuedge_pt_free_list(struct npuedge_pgtable *pt, struct npuedge_pt_list *list)
{
	struct npuedge_pt_table *table;

	while ((table = npuedge_pt_pop(list)))
		npuedge_pt_free_table(pt, table);
}

/**
 * npuedge_pt_fini() - free all tables
 * @pt: page tables, which the device uses no more; npuedge_pt_init() may have failed
 */
void npuedge_pt_fini(struct npuedge_pgtable *pt)
{
	struct npuedge_pt_table *middle;

	if (!pt->root)
		return;

	for (u32 i = 0; i < NPUEDGE_PT_ENTRIES; i++) {
		middle = pt->root->child[i];
		if (!middle)
			continue;

		for (u32 j = 0; j < NPUEDGE_PT_ENTRIES; j++) {
			if (middle->child[j])
				npuedge_pt_free_table(pt, middle->child[j]);
		}
		npuedge_pt_free_table(pt, middle);
	}
	npuedge_pt_free_table(pt, pt->root);
	npuedge_pt_free_list(pt, &pt->spare_middle);
	npuedge_pt_free_list(pt, &pt->spare_last);
	pt->root = NULL;
	pt->tables = 0;
}

/**
 * npuedge_pt_need_map() - count the tables that mapping contiguous memory may take
 * @need: sum so far; calls for one change go upwards in addresses
 * @va: first address, multiple of 4096
 * @dma: bus address, multiple of 4096
 * @len: bytes, multiple of 4096
 */
void npuedge_pt_need_map(struct npuedge_pt_need *need, u64 va, u64 dma, u64 len)
{
	u64 step;

	for (; len; va += step, dma += step, len -= step) {
		step = npuedge_pt_step(va, len);
		if (va >= need->middle_end) {
			need->middle++;
			need->middle_end = (va | (NPUEDGE_SPAN - 1)) + 1;
		}
		if (va >= need->last_end && !npuedge_pt_is_block(va, dma, len)) {
			need->last++;
			need->last_end = (va | (NPUEDGE_BLOCK - 1)) + 1;
		}
	}
}

/**
 * npuedge_pt_need_unmap() - count the tables that clearing a range may take
 * @need: sum so far; calls for one change go upwards in addresses
 * @va: first address, multiple of 4096
 * @len: bytes, multiple of 4096
 *
 * Those are for big leaves at the range's ends that are covered in part.
 */
void npuedge_pt_need_unmap(struct npuedge_pt_need *need, u64 va, u64 len)
{
	u64 edges[] = { va, va + len };

	for (u32 i = 0; i < 2; i++) {
		if (!(edges[i] & (NPUEDGE_BLOCK - 1)) || edges[i] < need->last_end)
			continue;
		need->last++;
		need->last_end = (edges[i] | (NPUEDGE_BLOCK - 1)) + 1;
	}
}

static void npuedge_pt_move(struct npuedge_pt_list *to, struct npuedge_pt_list *from, u32 limit)
{
	while (to->count < limit && from->count)
		npuedge_pt_push(to, npuedge_pt_pop(from));
}

/**
 * npuedge_pt_borrow() - take spare tables
 * @pt: page tables
 * @stock: gets at most @need
 * @need: what a change may take
 */
void npuedge_pt_borrow(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
		       const struct npuedge_pt_need *need)
{
	npuedge_pt_move(&stock->middle, &pt->spare_middle, need->middle);
	npuedge_pt_move(&stock->last, &pt->spare_last, need->last);
}

static int npuedge_pt_fill(struct npuedge_pgtable *pt, struct npuedge_pt_list *list, u32 count,
			   int level)
{
	struct npuedge_pt_table *table;

	while (list->count < count) {
		table = npuedge_pt_alloc_table(pt, level);
		if (!table)
			return -ENOMEM;
		npuedge_pt_push(list, table);
	}
	return 0;
}

/**
 * npuedge_pt_reserve() - allocate the tables that a change may take
 * @pt: page tables; they are not looked at, and may be changed meanwhile
 * @stock: gets @need; npuedge_pt_release() frees it, also after an error
 * @need: what the change may take
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_pt_reserve(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
		       const struct npuedge_pt_need *need)
{
	int ret;

	ret = npuedge_pt_fill(pt, &stock->middle, need->middle, NPUEDGE_PT_BLOCK_LEVEL);
	return ret ?: npuedge_pt_fill(pt, &stock->last, need->last, NPUEDGE_PT_LAST);
}

/**
 * npuedge_pt_return() - keep some of the tables that a change did not take for others
 * @pt: page tables
 * @stock: stock
 */
void npuedge_pt_return(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock)
{
	npuedge_pt_move(&pt->spare_middle, &stock->middle, NPUEDGE_PT_SPARES);
	npuedge_pt_move(&pt->spare_last, &stock->last, NPUEDGE_PT_SPARES);
}

/**
 * npuedge_pt_release() - free a stock, and the tables that its change has unlinked
 * @pt: page tables; they are not looked at.  The TLB was invalidated since the change if it left
 *	them stale
 * @stock: stock
 */
void npuedge_pt_release(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock)
{
	npuedge_pt_free_list(pt, &stock->middle);
	npuedge_pt_free_list(pt, &stock->last);
	npuedge_pt_free_list(pt, &stock->discarded);
}

/* Whether a full last table translates like a big leaf would. */
static bool npuedge_pt_is_uniform(const struct npuedge_pt_table *last)
{
	u64 first = last->entries[0];

	if (last->used < NPUEDGE_PT_ENTRIES || first & NE1_PTE_ADDR & (NPUEDGE_BLOCK - 1))
		return false;

	/* The last entry first: it tells most of those apart that are not. */
	for (u32 i = NPUEDGE_PT_ENTRIES - 1; i; i--) {
		if (last->entries[i] != first + i * NPUEDGE_PAGE)
			return false;
	}
	return true;
}

/*
 * Merge, if the memory behind the big leaf belongs to one buffer: that one is unmapped as a whole
 * when its memory is taken away, see npuedge_pt_clear().
 */
static void npuedge_pt_merge(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
			     struct npuedge_pt_table *middle, u32 index,
			     const struct npuedge_pt_segment *seg)
{
	struct npuedge_pt_table *last = middle->child[index];
	u64 dma;

	if (!npuedge_pt_is_uniform(last))
		return;

	dma = last->entries[0] & NE1_PTE_ADDR;
	if (dma + seg->before >= seg->dma &&
	    dma + NPUEDGE_BLOCK <= seg->dma + seg->len + seg->after)
		npuedge_pt_unlink(pt, stock, middle, index, last->entries[0]);
}

static int npuedge_pt_map_pages(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
				struct npuedge_pt_table *middle, u64 va, u64 dma, u64 len,
				bool readonly)
{
	u32 first = npuedge_pt_index(va, NPUEDGE_PT_LAST);
	struct npuedge_pt_table *last;

	last = npuedge_pt_get_last(pt, stock, middle, npuedge_pt_index(va, NPUEDGE_PT_BLOCK_LEVEL));
	if (!last)
		return -ENOSPC;

	for (u32 i = 0; i < len / NPUEDGE_PAGE; i++)
		npuedge_pt_set(pt, last, first + i, npuedge_pt_leaf(dma + i * NPUEDGE_PAGE,
								    readonly));
	return 0;
}

/**
 * npuedge_pt_map() - map contiguous memory, replacing what is mapped
 * @pt: page tables; @pt->stale is set if the TLB must be invalidated
 * @stock: holds what npuedge_pt_need_map() asks for
 * @va: first address, multiple of 4096
 * @seg: memory
 * @readonly: device writes fault
 *
 * Return: 0, or -ENOSPC if the stock was too small.
 */
int npuedge_pt_map(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock, u64 va,
		   const struct npuedge_pt_segment *seg, bool readonly)
{
	u64 dma = seg->dma, len = seg->len, step;
	struct npuedge_pt_table *middle;
	u32 index;
	int ret;

	for (; len; va += step, dma += step, len -= step) {
		step = npuedge_pt_step(va, len);
		index = npuedge_pt_index(va, NPUEDGE_PT_BLOCK_LEVEL);
		middle = npuedge_pt_get_middle(pt, stock, va);
		if (!middle)
			return -ENOSPC;

		if (!npuedge_pt_is_block(va, dma, len)) {
			ret = npuedge_pt_map_pages(pt, stock, middle, va, dma, step, readonly);
			if (ret)
				return ret;
			npuedge_pt_merge(pt, stock, middle, index, seg);
		} else if (middle->child[index]) {
			npuedge_pt_unlink(pt, stock, middle, index, npuedge_pt_leaf(dma, readonly));
		} else {
			npuedge_pt_set(pt, middle, index, npuedge_pt_leaf(dma, readonly));
		}
	}
	return 0;
}

/**
 * npuedge_pt_map_new() - allocate what it takes and map contiguous memory into an empty range
 * @pt: page tables
 * @va: first address, multiple of 4096
 * @dma: bus address, multiple of 4096
 * @len: bytes, multiple of 4096
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_pt_map_new(struct npuedge_pgtable *pt, u64 va, u64 dma, u64 len)
{
	const struct npuedge_pt_segment seg = { .dma = dma, .len = len };
	struct npuedge_pt_stock stock = { };
	struct npuedge_pt_need need = { };
	int ret;

	npuedge_pt_need_map(&need, va, dma, len);
	ret = npuedge_pt_reserve(pt, &stock, &need);
	ret = ret ?: npuedge_pt_map(pt, &stock, va, &seg, false);
	npuedge_pt_release(pt, &stock);
	return ret;
}

/* Clear [va, va + len), which lies within the 2 MiB of entry index.  No stock: a big leaf goes. */
static int npuedge_pt_unmap_step(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
				 struct npuedge_pt_table *middle, u64 va, u64 len)
{
	u32 index = npuedge_pt_index(va, NPUEDGE_PT_BLOCK_LEVEL);
	u32 first = npuedge_pt_index(va, NPUEDGE_PT_LAST);
	struct npuedge_pt_table *last = middle->child[index];

	if (!middle->entries[index])
		return 0;

	if (!last && (len == NPUEDGE_BLOCK || !stock)) {
		npuedge_pt_set(pt, middle, index, 0);
		return 0;
	}

	if (!last)
		last = npuedge_pt_get_last(pt, stock, middle, index);
	if (!last)
		return -ENOSPC;

	for (u32 i = 0; i < len / NPUEDGE_PAGE && last->used; i++)
		npuedge_pt_set(pt, last, first + i, 0);
	return 0;
}

static int npuedge_pt_unmap_range(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
				  u64 va, u64 len)
{
	struct npuedge_pt_table *middle;
	int ret = 0;
	u64 step;

	for (; !ret && len; va += step, len -= step) {
		middle = npuedge_pt_middle(pt, va);
		if (!middle) {
			step = min(len, NPUEDGE_SPAN - (va & (NPUEDGE_SPAN - 1)));
			continue;
		}
		step = npuedge_pt_step(va, len);
		ret = npuedge_pt_unmap_step(pt, stock, middle, va, step);
	}
	return ret;
}

/* Unlink the empty last tables in [va, end), which lies within what one middle table spans. */
static void npuedge_pt_trim_middle(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock,
				   struct npuedge_pt_table *middle, u64 va, u64 end)
{
	u32 index;

	for (; va < end; va += npuedge_pt_step(va, NPUEDGE_BLOCK)) {
		index = npuedge_pt_index(va, NPUEDGE_PT_BLOCK_LEVEL);
		if (middle->child[index] && !middle->child[index]->used)
			npuedge_pt_unlink(pt, stock, middle, index, 0);
	}
}

static void npuedge_pt_trim(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock, u64 va,
			    u64 len)
{
	u64 end = va + len, next;
	struct npuedge_pt_table *middle;

	for (; va < end; va = next) {
		next = (va | (NPUEDGE_SPAN - 1)) + 1;
		middle = npuedge_pt_middle(pt, va);
		if (!middle)
			continue;

		npuedge_pt_trim_middle(pt, stock, middle, va, min(next, end));
		if (!middle->used)
			npuedge_pt_unlink(pt, stock, pt->root, npuedge_pt_index(va, 0), 0);
	}
}

/**
 * npuedge_pt_unmap() - clear a range, whether mapped or not, and unlink the tables that get empty
 * @pt: page tables; @pt->stale is set if the TLB must be invalidated
 * @stock: holds what npuedge_pt_need_unmap() asks for
 * @va: first address, multiple of 4096
 * @len: bytes, multiple of 4096
 *
 * Return: 0, or -ENOSPC if the stock was too small.
 */
int npuedge_pt_unmap(struct npuedge_pgtable *pt, struct npuedge_pt_stock *stock, u64 va, u64 len)
{
	int ret;

	ret = npuedge_pt_unmap_range(pt, stock, va, len);
	npuedge_pt_trim(pt, stock, va, len);
	return ret;
}

/**
 * npuedge_pt_clear() - clear a range without a stock, and keep its tables
 * @pt: page tables; @pt->stale is set if the TLB must be invalidated
 * @va: first address, multiple of 4096
 * @len: bytes, multiple of 4096
 *
 * A big leaf that the range covers in part is cleared as a whole.  That is for taking a buffer's
 * memory away: all that is mapped through that leaf belongs to the same buffer.
 */
void npuedge_pt_clear(struct npuedge_pgtable *pt, u64 va, u64 len)
{
	npuedge_pt_unmap_range(pt, NULL, va, len);
}

/**
 * npuedge_pt_lookup() - walk the tables as the MMU does
 * @pt: page tables
 * @va: address below 2^39
 * @leaf_size: out: bytes that the leaf covers
 *
 * Return: the leaf entry; 0 if @va is not mapped.
 */
u64 npuedge_pt_lookup(const struct npuedge_pgtable *pt, u64 va, u64 *leaf_size)
{
	struct npuedge_pt_table *middle = npuedge_pt_middle(pt, va);
	u32 index = npuedge_pt_index(va, NPUEDGE_PT_BLOCK_LEVEL);

	*leaf_size = NPUEDGE_BLOCK;
	if (!middle)
		return 0;
	if (!middle->child[index])
		return middle->entries[index];

	*leaf_size = NPUEDGE_PAGE;
	return middle->child[index]->entries[npuedge_pt_index(va, NPUEDGE_PT_LAST)];
}

/**
 * npuedge_pt_walk() - walk the tables as the MMU does, and tell each step
 * @pt: page tables
 * @va: address
 * @entry: out: NPUEDGE_PT_LEVELS entries, from the root on
 *
 * Return: number of entries that the walk reads.
 */
u32 npuedge_pt_walk(const struct npuedge_pgtable *pt, u64 va, u64 *entry)
{
	struct npuedge_pt_table *table = pt->root;
	u32 level = 0, index;

	if (va >= 1ull << NE1_VA_BITS)
		return 0;

	while (table && level < NPUEDGE_PT_LEVELS) {
		index = npuedge_pt_index(va, level);
		entry[level++] = table->entries[index];
		table = table->child ? table->child[index] : NULL;
	}
	return level;
}
