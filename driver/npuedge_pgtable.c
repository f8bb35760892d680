// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Page tables
 *
 * Three levels of 512 entries translate 39 bits of address; a leaf is 4 KiB, or 2 MiB where
 * address and memory allow.  This file knows nothing of Linux' memory management: it works on
 * tables that its user allocates, so that the same source is tested on the host.
 *
 * A change has two halves, so that it either happens or does not.  npuedge_pt_prepare_map() and
 * npuedge_pt_prepare_unmap() make the tables that the change needs, and split big leaves at its
 * edges into small ones that translate alike; they may fail, and leave all translations as they
 * were. npuedge_pt_map() and npuedge_pt_unmap() then write entries and cannot fail.
 *
 * Tables that became empty are unlinked by npuedge_pt_trim(), but the MMU may still be walking
 * them: npuedge_pt_reap() frees them after the caller has invalidated the TLB.
 */

#include <linux/errno.h>
#include <linux/minmax.h>
#include <asm/barrier.h>

#include "npuedge_pgtable.h"
#include "npuedge_slab.h"

#define PT_LAST		2
#define PT_BLOCK_LEVEL	1

static u32 pt_index(u64 va, int level)
{
	return va >> (12 + 9 * (PT_LAST - level)) & (NPUEDGE_PT_ENTRIES - 1);
}

static u64 pt_leaf(u64 dma, bool readonly)
{
	return (dma & NE1_PTE_ADDR) | NE1_PTE_VALID | NE1_PTE_LEAF | (readonly ? NE1_PTE_RO : 0);
}

/* A big leaf fits at va if both addresses are aligned and the segment is long enough. */
static bool pt_is_block(u64 va, u64 dma, u64 len)
{
	return !((va | dma) & (NPUEDGE_BLOCK - 1)) && len >= NPUEDGE_BLOCK;
}

/* Bytes from va to the next boundary of 2 MiB, at most len. */
static u64 pt_step(u64 va, u64 len)
{
	return min(len, NPUEDGE_BLOCK - (va & (NPUEDGE_BLOCK - 1)));
}

static void pt_set(struct npuedge_pt_table *table, u32 index, u64 entry)
{
	table->used += !!entry - !!table->entries[index];
	WRITE_ONCE(table->entries[index], entry);
}

static void pt_free_table(struct npuedge_pgtable *pt, struct npuedge_pt_table *table)
{
	pt->ops->free(pt->cookie, table);
	kfree(table->child);
	kfree(table);
	pt->tables--;
}

static struct npuedge_pt_table *pt_alloc_table(struct npuedge_pgtable *pt, int level)
{
	struct npuedge_pt_table *table;

	table = kzalloc_obj(*table, GFP_KERNEL_ACCOUNT);
	if (!table)
		return NULL;

	if (level != PT_LAST) {
		table->child = kcalloc(NPUEDGE_PT_ENTRIES, sizeof(*table->child),
				       GFP_KERNEL_ACCOUNT);
		if (!table->child)
			goto err_free;
	}

	if (pt->ops->alloc(pt->cookie, table))
		goto err_free;

	pt->tables++;
	return table;

err_free:
	kfree(table->child);
	kfree(table);
	return NULL;
}

static void pt_link(struct npuedge_pt_table *table, u32 index, struct npuedge_pt_table *child)
{
	/* The MMU must not find a table before its content. */
	dma_wmb();
	pt_set(table, index, child->dma | NE1_PTE_VALID);
	table->child[index] = child;
}

static void pt_discard(struct npuedge_pgtable *pt, struct npuedge_pt_table *table, u32 index)
{
	struct npuedge_pt_table *child = table->child[index];

	table->child[index] = NULL;
	child->next = pt->discarded;
	pt->discarded = child;
}

static struct npuedge_pt_table *pt_middle(const struct npuedge_pgtable *pt, u64 va)
{
	return pt->root->child[pt_index(va, 0)];
}

/* The middle table for va, made if missing. */
static struct npuedge_pt_table *pt_get_middle(struct npuedge_pgtable *pt, u64 va)
{
	struct npuedge_pt_table *middle = pt_middle(pt, va);

	if (middle)
		return middle;

	middle = pt_alloc_table(pt, PT_BLOCK_LEVEL);
	if (middle)
		pt_link(pt->root, pt_index(va, 0), middle);
	return middle;
}

/* Make sure that entry index of a middle table leads to a last table, splitting a big leaf. */
static int pt_get_last(struct npuedge_pgtable *pt, struct npuedge_pt_table *middle, u32 index)
{
	u64 block = middle->entries[index];
	struct npuedge_pt_table *last;

	if (middle->child[index])
		return 0;

	last = pt_alloc_table(pt, PT_LAST);
	if (!last)
		return -ENOMEM;

	if (block) {
		for (u32 i = 0; i < NPUEDGE_PT_ENTRIES; i++)
			pt_set(last, i, block + i * NPUEDGE_PAGE);
	}
	pt_link(middle, index, last);
	return 0;
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
	pt->root = pt_alloc_table(pt, 0);
	return pt->root ? 0 : -ENOMEM;
}

/**
 * npuedge_pt_fini() - free all tables
 * @pt: page tables, which the device uses no more; npuedge_pt_init() may have failed
 */
void npuedge_pt_fini(struct npuedge_pgtable *pt)
{
	struct npuedge_pt_table *middle;

	npuedge_pt_reap(pt);
	if (!pt->root)
		return;

	for (u32 i = 0; i < NPUEDGE_PT_ENTRIES; i++) {
		middle = pt->root->child[i];
		if (!middle)
			continue;

		for (u32 j = 0; j < NPUEDGE_PT_ENTRIES; j++) {
			if (middle->child[j])
				pt_free_table(pt, middle->child[j]);
		}
		pt_free_table(pt, middle);
	}
	pt_free_table(pt, pt->root);
	pt->root = NULL;
}

/**
 * npuedge_pt_prepare_map() - make the tables that npuedge_pt_map() of the same range will write
 * @pt: page tables
 * @va: first address, multiple of 4096
 * @dma: bus address of contiguous memory, multiple of 4096
 * @len: bytes, multiple of 4096
 *
 * Translations do not change.
 *
 * Return: 0 or -ENOMEM; then npuedge_pt_trim() frees what was made.
 */
int npuedge_pt_prepare_map(struct npuedge_pgtable *pt, u64 va, u64 dma, u64 len)
{
	struct npuedge_pt_table *middle;
	u64 step;
	int ret;

	for (; len; va += step, dma += step, len -= step) {
		step = pt_step(va, len);

		middle = pt_get_middle(pt, va);
		if (!middle)
			return -ENOMEM;
		if (pt_is_block(va, dma, len))
			continue;

		ret = pt_get_last(pt, middle, pt_index(va, PT_BLOCK_LEVEL));
		if (ret)
			return ret;
	}
	return 0;
}

static int pt_split(struct npuedge_pgtable *pt, u64 va)
{
	struct npuedge_pt_table *middle;
	u32 index = pt_index(va, PT_BLOCK_LEVEL);

	if (!(va & (NPUEDGE_BLOCK - 1)))
		return 0;

	middle = pt_middle(pt, va);
	if (!middle || !middle->entries[index])
		return 0;
	return pt_get_last(pt, middle, index);
}

/**
 * npuedge_pt_prepare_unmap() - split the big leaves that a range covers in part
 * @pt: page tables
 * @va: first address, multiple of 4096
 * @len: bytes, multiple of 4096
 *
 * Translations do not change.
 *
 * Return: 0 or -ENOMEM.
 */
int npuedge_pt_prepare_unmap(struct npuedge_pgtable *pt, u64 va, u64 len)
{
	int ret;

	ret = pt_split(pt, va);
	return ret ?: pt_split(pt, va + len);
}

/**
 * npuedge_pt_map() - map contiguous memory into an empty range
 * @pt: page tables; npuedge_pt_prepare_map() succeeded with the same arguments
 * @va: first address, multiple of 4096
 * @dma: bus address, multiple of 4096
 * @len: bytes, multiple of 4096
 * @readonly: device writes fault
 */
void npuedge_pt_map(struct npuedge_pgtable *pt, u64 va, u64 dma, u64 len, bool readonly)
{
	struct npuedge_pt_table *middle, *last;
	u32 index, first;
	u64 step;

	for (; len; va += step, dma += step, len -= step) {
		step = pt_step(va, len);
		middle = pt_middle(pt, va);
		index = pt_index(va, PT_BLOCK_LEVEL);

		if (pt_is_block(va, dma, len)) {
			if (middle->child[index])
				pt_discard(pt, middle, index);
			pt_set(middle, index, pt_leaf(dma, readonly));
			continue;
		}

		last = middle->child[index];
		first = pt_index(va, PT_LAST);
		for (u32 i = 0; i < step / NPUEDGE_PAGE; i++)
			pt_set(last, first + i, pt_leaf(dma + i * NPUEDGE_PAGE, readonly));
	}
}

/* Clear [va, va + len), which lies within the 2 MiB of entry index. */
static bool pt_unmap_step(struct npuedge_pt_table *middle, u32 index, u64 va, u64 len)
{
	struct npuedge_pt_table *last = middle->child[index];
	u32 first = pt_index(va, PT_LAST);
	u32 before;

	if (!last) {
		before = middle->used;
		pt_set(middle, index, 0);
		return middle->used != before;
	}

	before = last->used;
	for (u32 i = 0; i < len / NPUEDGE_PAGE && last->used; i++)
		pt_set(last, first + i, 0);
	return last->used != before;
}

/**
 * npuedge_pt_unmap() - clear a range, whether mapped or not
 * @pt: page tables; npuedge_pt_prepare_unmap() succeeded for a range with the same edges
 * @va: first address, multiple of 4096
 * @len: bytes, multiple of 4096
 *
 * Return: whether something was mapped, so that the TLB must be invalidated.
 */
bool npuedge_pt_unmap(struct npuedge_pgtable *pt, u64 va, u64 len)
{
	const u64 span = NPUEDGE_BLOCK * NPUEDGE_PT_ENTRIES;
	struct npuedge_pt_table *middle;
	bool changed = false;
	u64 step;

	for (; len; va += step, len -= step) {
		middle = pt_middle(pt, va);
		if (!middle) {
			step = min(len, span - (va & (span - 1)));
			continue;
		}
		step = pt_step(va, len);
		changed |= pt_unmap_step(middle, pt_index(va, PT_BLOCK_LEVEL), va, step);
	}
	return changed;
}

/**
 * npuedge_pt_trim() - unlink empty tables of a range
 * @pt: page tables
 * @va: first address
 * @len: bytes
 *
 * npuedge_pt_reap() frees them.
 */
void npuedge_pt_trim(struct npuedge_pgtable *pt, u64 va, u64 len)
{
	const u64 span = NPUEDGE_BLOCK * NPUEDGE_PT_ENTRIES;
	struct npuedge_pt_table *middle;
	u64 end = va + len, step;
	u32 index;

	for (; va < end; va += step) {
		step = span - (va & (span - 1));
		middle = pt_middle(pt, va);
		if (!middle)
			continue;

		for (u64 v = va; v < min(va + step, end); v += pt_step(v, NPUEDGE_BLOCK)) {
			index = pt_index(v, PT_BLOCK_LEVEL);
			if (!middle->child[index] || middle->child[index]->used)
				continue;
			pt_set(middle, index, 0);
			pt_discard(pt, middle, index);
		}

		if (!middle->used) {
			pt_set(pt->root, pt_index(va, 0), 0);
			pt_discard(pt, pt->root, pt_index(va, 0));
		}
	}
}

/**
 * npuedge_pt_reap() - free unlinked tables
 * @pt: page tables; the TLB was invalidated since the last npuedge_pt_map() and npuedge_pt_trim()
 */
void npuedge_pt_reap(struct npuedge_pgtable *pt)
{
	struct npuedge_pt_table *table;

	while ((table = pt->discarded)) {
		pt->discarded = table->next;
		pt_free_table(pt, table);
	}
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
	struct npuedge_pt_table *middle = pt_middle(pt, va);
	u32 index = pt_index(va, PT_BLOCK_LEVEL);

	*leaf_size = NPUEDGE_BLOCK;
	if (!middle)
		return 0;
	if (!middle->child[index])
		return middle->entries[index];

	*leaf_size = NPUEDGE_PAGE;
	return middle->child[index]->entries[pt_index(va, PT_LAST)];
}
